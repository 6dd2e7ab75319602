// The pages, by what stands after the # of the address: tokens there are not sent with requests, nor logged.

import { el, say } from "/page/dom.js";
import { offers } from "/page/net.js";

const PAGES = {
  "": () => import("/page/choose.js"),
  new: () => import("/page/setup.js"),
  mine: () => import("/page/mine.js"),
  play: () => import("/page/play.js"),
  back: () => import("/page/back.js"),
  watch: () => import("/page/watch.js"),
  pictures: () => import("/page/pictures.js"),
  position: () => import("/page/position.js"),
};
const TITLES = { "": "Play", new: "New game", mine: "My games", play: "Game", back: "Look back", watch: "Watch", pictures: "Pictures", position: "Position" };

let leave = () => {};
let visit = 0;

async function route() {
  if (location.hash === "#main") return history.replaceState(null, "", here || "#/");
  here = location.hash;
  const number = ++visit;
  leave();
  leave = () => {};
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  const main = document.getElementById("main");
  const page = el("div", { class: `page page-${name || "choose"}` });
  for (const link of document.querySelectorAll("#pages a")) {
    const same = link.getAttribute("href").split("/")[1] === name || (name === "new" && link.getAttribute("href") === "#/");
    if (same) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[name] ?? "Page"} · foglight`;
  try {
    if (!(name in PAGES)) throw new Error(`There is no page "${name}" here.`);
    const module = await PAGES[name]();
    if (number !== visit) return;
    main.replaceChildren(page);
    const left = await module.open(page, rest, new URLSearchParams(query));
    if (number !== visit) left?.();
    else leave = left ?? leave;
  } catch (error) {
    if (number !== visit) return;
    main.replaceChildren(page);
    page.replaceChildren(el("h1", {}, "That did not work"), el("p", {}, error.message), el("p", {}, el("a", { href: "#/" }, "Choose a game")));
    say(error.message);
  }
  if (number === visit && visit > 1) {
    window.scrollTo(0, 0);
    if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
}

let here = "";
const links = document.getElementById("pages");
const add = (href, text) => links.append(el("a", { href }, text));
add("#/", "Play");
add("#/mine", "My games");
offers()
  .then((given) => {
    for (const store of given.stores) add(`#/watch/${store.index}`, given.stores.length > 1 ? `Watch ${store.name}` : "Watch");
    if (given.pictures) add("#/pictures", "Pictures");
    document.getElementById("version").textContent = `foglight ${given.version}. Nothing on this page leaves your machine.`;
    for (const link of links.querySelectorAll("a")) if (link.getAttribute("href") === location.hash) link.setAttribute("aria-current", "page");
  })
  .catch(() => {});
addEventListener("hashchange", route);
route();
