// A position by its link: what a seat had observed, and what follows from that.

import { Advice } from "/page/advice.js";
import { Belief } from "/page/belief.js";
import { Board, overlay } from "/page/board.js";
import { el, spinner, uncaptioned } from "/page/dom.js";
import { gameName } from "/page/glyphs.js";
import { offers, post } from "/page/net.js";

export const positionLink = (game, seat, seen) => `${location.origin}/#/position?${new URLSearchParams({ game, seat, seen })}`;

export async function open(main, _, query) {
  const given = await offers();
  const order = { game: query.get("game") ?? "", seat: Number(query.get("seat")) };
  const seen = (query.get("seen") ?? "").split(".").filter(Boolean);
  if (!seen.every((code) => /^-?\d{1,20}$/.test(code))) throw new Error("This link does not say what was seen.");
  // Written by hand: observations may be larger than the whole numbers of JavaScript.
  const ask = (path, more = {}) => post(path, JSON.stringify({ ...order, ...more }).replace(/}$/, `,"seen":[${seen.join(",")}]}`));
  const status = el("p", { class: "status" }, spinner(), "Reading the position …");
  main.append(el("h1", {}, gameName(order.game)), el("p", { class: "soft" }, `What seat ${order.seat} of ${order.game} saw.`), status);
  const found = await ask("/api/position");
  status.remove();
  const board = new Board("What the seat sees");
  const beliefBoard = new Board("What may be true");
  board.show(found.svg, found.moves ?? []);
  const belief = new Belief({ wanted: () => show(), leaf: () => {} });
  belief.input.checked = true;
  const figure = el("figure", { class: "belief-figure" }, el("figcaption", {}, "What may be true"), beliefBoard.element);
  const boards = el("div", { class: "boards both" }, el("figure", { class: "own-figure" }, el("figcaption", {}, "What it sees"), board.element), figure);
  const show = () => {
    figure.hidden = !belief.on || !found.belief?.svg;
    boards.classList.toggle("both", !figure.hidden);
    boards.classList.toggle("broad", board.drawing.matches(".broad"));
  };
  if (found.belief) {
    belief.told(found.belief);
    if (found.belief.svg) beliefBoard.show(found.belief.svg, found.moves ?? [], overlay(board), uncaptioned(found.belief.sentence));
  }
  belief.leaves.hidden = true;
  show();
  const advice = new Advice(given, order.game, {
    ask: async (agent, seconds) => {
      advice.thinking();
      try {
        const ranked = advice.told(await ask("/api/position/ask", { agent, seconds }));
        for (const one of [board, beliefBoard]) one.advise(ranked);
      } catch (error) {
        advice.failed(error.message);
      }
    },
    point: (action) => [board, beliefBoard].forEach((one) => one.point(action)),
  });
  advice.clear(Boolean(found.moves?.length));
  main.append(
    el(
      "div",
      { class: "table" },
      el("section", { class: "stage", "aria-label": "Board" }, boards),
      el(
        "aside",
        { class: "side", "aria-label": "About this position" },
        belief.element,
        advice.element,
        found.log?.length ? el("section", { class: "panel" }, el("h2", {}, "What it has seen"), el("ol", { class: "log", tabindex: "0", "aria-label": "What it has seen" }, found.log.map((line) => el("li", {}, line)))) : "",
        el("section", { class: "panel" }, el("h2", {}, "As text"), el("pre", { tabindex: "0" }, found.text ?? "")),
      ),
    ),
  );
}
