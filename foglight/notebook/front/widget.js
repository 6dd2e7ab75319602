// A game in a cell of a notebook. The model has what the seat may see; clicks become orders.
//
// The page's `dom.js` and `board.js` stand above this, in the same module.

import { Board, overlay } from "/page/board.js";
import { button, el, hear, number, sentence, spinner, uncaptioned } from "/page/dom.js";

class Game {
  constructor(model, root) {
    this.model = model;
    this.title = el("strong", { class: "title" });
    this.status = el("span", { class: "status" });
    this.trouble = el("p", { class: "trouble", role: "alert", hidden: true });
    this.board = new Board("Your view", (action) => this.act(action));
    this.beliefBoard = new Board("What may be true", (action) => this.act(action));
    this.caption = el("figcaption", {}, "What may be true");
    this.sentence = el("p", { class: "sentence" });
    this.beliefFigure = el("figure", { hidden: true }, this.caption, this.beliefBoard.element, this.sentence);
    this.boards = el("div", { class: "boards" }, el("figure", {}, el("figcaption", {}, "What you see"), this.board.element), this.beliefFigure);
    this.wish = el("input", { type: "checkbox", onchange: () => this.wanted() });
    this.again = button("Play again", () => this.order({ do: "again" }), { hidden: true });
    this.log = el("ol", { class: "log" });
    this.seen = el("details", {}, el("summary", {}, "What you have seen so far"), this.log);
    const live = el("div", { class: "unseen-text", role: "status", "aria-live": "polite" });
    hear(live);
    root.append(
      el(
        "div",
        { class: "foglight-widget" },
        el("div", { class: "headline" }, this.title, this.status, this.again, (this.switch = el("label", {}, this.wish, " what may be true"))),
        this.trouble,
        this.boards,
        this.seen,
        live,
      ),
    );
    this.listeners = { "change:view": () => this.showView(), "change:belief": () => this.showBelief(), "change:trouble": () => this.showTrouble(), "change:belief_on": () => this.showWish() };
    for (const [event, listener] of Object.entries(this.listeners)) model.on(event, listener);
    this.showWish();
    this.showView();
    this.showBelief();
    this.showTrouble();
  }

  close() {
    for (const [event, listener] of Object.entries(this.listeners)) this.model.off(event, listener);
  }

  get view() {
    return this.model.get("view");
  }

  order(given) {
    this.model.send(given);
  }

  act(action) {
    for (const board of [this.board, this.beliefBoard]) board.rest();
    this.status.replaceChildren(spinner(), "one moment …");
    this.order({ do: "act", action, seen: this.view.seen });
  }

  wanted() {
    this.model.set("belief_on", this.wish.checked);
    this.model.save_changes();
  }

  showWish() {
    this.wish.checked = this.model.get("belief_on");
  }

  showView() {
    const view = this.view;
    if (!view.svg) return;
    this.title.textContent = `${view.game}: you are seat ${view.seat}, against ${view.players.filter((who) => who !== "you").join(", ")}`;
    this.title.title = view.title;
    this.board.element.classList.remove("resting");
    this.board.show(view.svg, view.moves);
    this.log.replaceChildren(...view.log.map((line) => el("li", {}, line)));
    this.again.hidden = !view.over;
    this.switch.hidden = Boolean(view.over);
    if (view.over) this.showTruth(view);
    else if (view.turn === "yours") this.status.replaceChildren(el("strong", {}, "your turn"));
    else this.status.replaceChildren(spinner(), "waiting …");
  }

  showTruth(view) {
    const payoff = view.over.returns[view.seat];
    const result = payoff > 0 ? "you win" : payoff < 0 ? "you lose" : "nobody wins";
    this.status.replaceChildren(el("strong", {}, `the game is over: ${result} (${number(payoff)})`));
    this.caption.textContent = "What was true";
    this.sentence.textContent = "";
    this.beliefBoard.element.classList.remove("resting");
    this.beliefBoard.show(view.over.svg);
    this.beliefFigure.hidden = false;
  }

  showBelief() {
    const view = this.view;
    const belief = this.model.get("belief");
    if (view.over) return;
    const fits = belief.seen === view.seen;
    this.beliefFigure.hidden = !(fits && (belief.svg || belief.none));
    if (!fits) return;
    this.caption.textContent = "What may be true";
    this.sentence.textContent = sentence(belief.none ?? belief.sentence ?? "");
    this.beliefBoard.element.hidden = !belief.svg;
    this.beliefBoard.element.classList.remove("resting");
    if (belief.svg) this.beliefBoard.show(belief.svg, view.moves, overlay(this.board), uncaptioned(belief.sentence));
  }

  showTrouble() {
    this.trouble.textContent = this.model.get("trouble");
    this.trouble.hidden = !this.trouble.textContent;
  }
}

export default {
  render({ model, el: root }) {
    const game = new Game(model, root);
    return () => game.close();
  },
};
