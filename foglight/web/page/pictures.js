// Pictures of studies.

import { el } from "/page/dom.js";
import { get } from "/page/net.js";

export async function open(main) {
  const pictures = await get("/api/pictures");
  main.append(
    el("h1", {}, "Pictures"),
    el("div", { class: "gallery" }, pictures.map(({ index, name }) => el("figure", {}, el("a", { href: `/api/pictures/${index}` }, el("img", { src: `/api/pictures/${index}`, alt: name, loading: "lazy" })), el("figcaption", {}, name)))),
  );
}
