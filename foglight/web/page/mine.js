// The games of this browser: their tokens are kept here and nowhere else.

import { button, copy, el } from "/page/dom.js";
import { post } from "/page/net.js";

const KEY = "foglight.games";
const MOST = 200;
const LOCAL = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

export function games() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) || "[]");
    return Array.isArray(kept) ? kept.filter((game) => game && typeof game.token === "string") : [];
  } catch {
    return [];
  }
}

function write(list) {
  try {
    localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)));
  } catch {
    // Storage is full or forbidden: the game goes on, its address is the way back to it.
  }
}

export const find = (token) => games().find((game) => game.token === token);

export function keep(game) {
  write([{ ...find(game.token), ...game }, ...games().filter((other) => other.token !== game.token)]);
}

export function update(token, changes) {
  write(games().map((game) => (game.token === token ? { ...game, ...changes } : game)));
}

export const drop = (token) => write(games().filter((game) => game.token !== token));

export const linkOf = (token) => `${location.origin}/#/play/${token}`;

// Begin a game and go there. `order` is what the server is told; it is kept, so that the same can be played again.
export async function begin(order, title) {
  const made = await post("/api/games", order);
  const mine = made.seats.find((one) => one.who === "me");
  const others = order.seats.filter((who) => who !== "me").map((who) => (who === "person" ? "a person" : who.agent));
  keep({
    token: mine.token,
    game: made.game,
    title,
    order,
    when: Date.now(),
    against: [...new Set(others)].join(", "),
    links: made.seats.filter((one) => one.who !== "me").map(({ seat, token }) => ({ seat, token })),
  });
  location.hash = `#/play/${mine.token}`;
}

const dates = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

export function list(most = MOST, changed = () => {}) {
  return el(
    "ul",
    { class: "mine" },
    games()
      .slice(0, most)
      .map((game) =>
        el(
          "li",
          {},
          el("a", { href: `#/play/${game.token}` }, el("strong", {}, game.title || game.game), el("span", { class: "soft" }, game.against ? ` against ${game.against}` : "")),
          el("span", { class: "soft" }, `${game.result ? `${game.result} · ` : ""}${dates.format(game.when)}`),
          game.result ? el("a", { class: "small", href: `#/back/t.${game.token}` }, "Look back") : null,
          button("Forget", () => (drop(game.token), changed()), { class: "quiet small", "aria-label": `Forget ${game.title || game.game} of ${dates.format(game.when)}` }),
        ),
      ),
  );
}

// Links for the other people of a game.
export function invitations(game) {
  if (!game?.links?.length) return null;
  return el(
    "section",
    { class: "panel invite" },
    el("h2", {}, game.links.length > 1 ? "Links for the other players" : "A link for the other player"),
    el("p", { class: "soft" }, "Who opens it sits on that seat and sees what that seat sees. Do not open it yourself.", LOCAL ? "" : " The other player first opens the link with which this server was started."),
    game.links.map(({ seat, token }) => {
      const copied = button("Copy the link", () => copy(linkOf(token), copied), { "data-link": linkOf(token) });
      return el("p", { class: "row" }, el("span", {}, `Seat ${seat}`), copied);
    }),
  );
}

export function open(main) {
  const body = el("div");
  const show = () =>
    body.replaceChildren(games().length ? list(MOST, show) : el("p", { class: "soft" }, "No games yet. ", el("a", { href: "#/" }, "Choose one.")));
  show();
  main.append(el("h1", {}, "My games"), el("p", { class: "soft" }, "This list is kept in this browser alone. The games themselves are kept by the server."), body);
}
