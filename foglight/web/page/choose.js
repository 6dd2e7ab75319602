// Choose a game.

import { button, el, sentence, spinner } from "/page/dom.js";
import { glyph, gameName } from "/page/glyphs.js";
import { games, list } from "/page/mine.js";
import { get, offers } from "/page/net.js";

export async function open(main) {
  const search = el("input", { type: "search", id: "search", placeholder: "dark, cards, dice …", autocomplete: "off" });
  const cards = el("ul", { class: "cards", "aria-label": "Games" }, Array.from({ length: 8 }, () => el("li", { class: "card ghost", "aria-hidden": "true" })));
  const none = el("p", { class: "soft", hidden: true }, "No game is called or described like that.");
  const recent = el("section", { class: "recent", hidden: true });
  const more = el("p", { class: "more" });
  main.append(
    el("div", { class: "hero" }, el("h1", {}, "What can you know?"), el("p", { class: "lead" }, "Games in which nobody sees everything. Play one, look at what may be true, and learn afterwards where it went wrong.")),
    recent,
    el("div", { class: "find" }, el("h2", {}, "Choose a game"), el("div", { class: "field search" }, el("label", { for: "search" }, "Search"), search)),
    cards,
    none,
    more,
  );
  const showRecent = () => {
    recent.hidden = !games().length;
    recent.replaceChildren(el("h2", {}, "Go on"), list(3, showRecent), games().length > 3 ? el("p", {}, el("a", { href: "#/mine" }, `All ${games().length} games`)) : "");
  };
  showRecent();
  const given = await offers();
  const shown = [];
  const fill = (offered) => {
    shown.push(...offered.map((game) => [card(game), `${game.name} ${gameName(game.name)} ${game.title}`.toLowerCase()]));
    cards.replaceChildren(...shown.map(([element]) => element));
    filter();
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const [element, text] of shown) {
      element.hidden = !words.every((word) => text.includes(word));
      found += !element.hidden;
    }
    none.hidden = found > 0;
  };
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    const first = cards.querySelector("li:not([hidden]) a");
    if (event.key === "Enter" && first) location.hash = first.getAttribute("href");
  });
  fill(given.games);
  if (given.openspiel) {
    const all = button("Show the games of OpenSpiel too", async () => {
      all.disabled = true;
      all.prepend(spinner());
      try {
        fill((await get("/api/offers/openspiel")).games);
        more.remove();
      } catch (error) {
        more.replaceChildren(error.message);
      }
    });
    more.append(all);
  }
}

function card(game) {
  return el(
    "li",
    { class: "card", "data-game": game.name },
    glyph(game.name),
    el("div", {}, el("a", { href: `#/new/${encodeURIComponent(game.name)}` }, gameName(game.name)), el("p", {}, sentence(game.title)), el("p", { class: "soft" }, `${game.players} players`)),
  );
}
