// Matches of a store, with their tables, while they grow; each game can be replayed.

import { button, el, number, percent, spinner } from "/page/dom.js";
import { gameName } from "/page/glyphs.js";
import { get } from "/page/net.js";

const EVERY = 2000; // milliseconds

export async function open(main, [index]) {
  const title = el("h1", {}, "Watch");
  const state = el("p", { class: "soft" }, spinner(), "Reading …");
  const ratings = el("div");
  const matches = el("div", { class: "matches" });
  main.append(title, state, ratings, matches);
  const shown = new Map();
  let tag = "";
  let timer;
  let left = false;
  const refresh = async () => {
    try {
      const store = await get(`/api/stores/${index}${tag ? `?tag=${encodeURIComponent(tag)}` : ""}`);
      if (store && !left) {
        tag = store.tag;
        title.textContent = store.name;
        state.textContent = `${store.games.toLocaleString("en")} games in ${store.matches.length} matches. This page follows them while they are played.`;
        ratings.replaceChildren(...store.ratings.filter(({ rows }) => rows.length).map(ratingTable));
        for (const match of store.matches) {
          if (!shown.has(match.match)) {
            shown.set(match.match, new Match(index, match.match));
            matches.append(shown.get(match.match).element);
          }
          shown.get(match.match).show(match);
        }
      }
    } catch (error) {
      state.textContent = error.message;
      if (!tag && error.status >= 400) return;
    }
    if (!left) timer = setTimeout(refresh, EVERY);
  };
  await refresh();
  return () => {
    left = true;
    clearTimeout(timer);
  };
}

function table(caption, heads, rows) {
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, column) => (column ? el("td", {}, cell) : el("th", { scope: "row" }, cell))))))),
  );
}

const between = (interval, write) => (interval ? `${write(interval[0])} to ${write(interval[1])}` : "");

const ratingTable = ({ game, rows }) =>
  el("section", { class: "panel" }, el("h2", {}, `Ratings: ${gameName(game)}`), table(game, ["Agent", "Rating", "95 % interval"], rows.map(({ agent, rating, interval }) => [agent, number(Math.round(rating)), between(interval, (value) => number(Math.round(value)))])));

class Match {
  constructor(index, match) {
    Object.assign(this, { index, match, from: 0, of: 0, listed: false });
    this.body = el("div");
    this.games = el("ul", { class: "games" });
    this.more = button("More games", () => this.list());
    this.details = el("details", { ontoggle: () => this.details.open && !this.listed && this.list() }, el("summary", {}, "Games"), this.games, this.more);
    this.element = el("section", { class: "panel match" }, this.body, this.details);
  }

  show(match) {
    const rows = match.table.map((row) => [row.agent, String(row.games), percent(row.win_rate), between(row.interval, percent), row.mean_return === null || row.mean_return === undefined ? "" : number(row.mean_return)]);
    this.body.replaceChildren(
      el("h2", {}, gameName(match.game)),
      table(`${match.game}, ${match.games} games`, ["Agent", "Games", "Win rate", "95 % interval", "Mean return"], rows),
    );
    this.of = match.games;
    this.more.hidden = this.listed && this.from >= this.of;
  }

  async list() {
    this.listed = true;
    try {
      const { games, of } = await get(`/api/stores/${this.index}/${this.match}?from=${this.from}`);
      this.of = of;
      this.from += games.length;
      this.games.append(...games.map((game) => el("li", {}, el("a", { href: `#/back/s.${this.index}.${this.match}.${game.number}` }, `Game ${game.number}`), el("span", { class: "soft" }, ` ${game.moves} moves, returns ${game.returns.map(number).join(" ")}`))));
      this.more.hidden = this.from >= this.of || !games.length;
    } catch (error) {
      this.games.append(el("li", {}, error.message));
    }
  }
}
