// A game in progress, or just over, from one seat.

import { Advice } from "/page/advice.js";
import { Belief } from "/page/belief.js";
import { Board, overlay } from "/page/board.js";
import { button, copy, el, number, rulesOf, say, spinner, uncaptioned } from "/page/dom.js";
import { gameName } from "/page/glyphs.js";
import { begin, find, invitations, keep, update } from "/page/mine.js";
import { Line, offers } from "/page/net.js";
import { positionLink } from "/page/position.js";

const PATIENCE = 1500; // milliseconds for a belief that nobody looks at any more
const STALE = 400; // milliseconds after which an old belief gives way

export async function open(main, [token]) {
  const given = await offers();
  const game = new Play(main, token, given);
  return () => game.close();
}

class Play {
  constructor(main, token, given) {
    this.main = main;
    this.token = token;
    this.given = given;
    this.view = null;
    this.head = el("div", { class: "headline" }, el("h1", {}, "Game"));
    this.status = el("p", { class: "status" }, spinner(), "Opening the game …");
    this.trouble = el("p", { class: "trouble", role: "alert", hidden: true });
    this.board = new Board("Your view", (action) => this.act(action));
    this.beliefBoard = new Board("What may be true", (action) => this.act(action));
    this.others = el("div", { class: "others row" });
    this.caption = el("figcaption", {}, "What may be true");
    this.beliefFigure = el("figure", { class: "belief-figure", hidden: true }, this.caption, this.beliefBoard.element, this.others);
    this.ownFigure = el("figure", { class: "own-figure" }, el("figcaption", {}, "What you see"), this.board.element);
    this.boards = el("div", { class: "boards" }, this.ownFigure, this.beliefFigure);
    this.over = el("section", { class: "panel over", hidden: true, "aria-label": "Result" });
    this.belief = new Belief({ wanted: () => this.askBelief(), leaf: (index) => this.leaf(index) });
    this.belief.input.checked = sessionStorage.getItem("foglight.belief") === "on";
    this.filter = el("input", { type: "search", id: "filter", autocomplete: "off", oninput: () => this.listMoves() });
    this.moves = el("ul", { class: "moves" });
    this.movesPanel = el("details", { class: "panel" }, (this.movesTitle = el("summary", {}, "Moves by name")), el("div", { class: "field" }, el("label", { for: "filter" }, "Filter"), this.filter), this.moves);
    this.log = el("ol", { class: "log", tabindex: "0", "aria-label": "What you have seen" });
    this.side = el("aside", { class: "side", "aria-label": "About this game" });
    this.keys = (event) => this.pressed(event);
    addEventListener("keydown", this.keys);
    this.stage = el("section", { class: "stage", "aria-label": "Board" }, this.status, this.trouble, this.over, this.boards);
    main.append(this.head, el("div", { class: "table" }, this.stage, this.side));
    this.line = new Line(token, {
      message: (told) => this.told(told),
      lost: (wait, tries) => this.lost(wait, tries),
      refused: (text) => this.refused(text),
    });
  }

  close() {
    removeEventListener("keydown", this.keys);
    clearTimeout(this.counting);
    clearTimeout(this.standing);
    this.line.close();
  }

  told(message) {
    const parts = { view: "see", belief: "seeBelief", world: "seeWorld", advice: "seeAdvice", error: "seeError", wait: "seeWait" };
    if (!this.view && message.is === "view") this.furnish(message);
    if (message.is !== "error") this.trouble.hidden = true;
    if (message.is === "belief" || message.about === "belief") this.counted();
    if (message.is === "view" || message.is === "error" || message.is === "wait" || message.seen === this.view?.seen) this[parts[message.is]]?.(message);
  }

  // All that does not change during a game.
  furnish(view) {
    const name = gameName(view.game);
    document.title = `${name} · foglight`;
    const others = view.players.map((player, seat) => [player, seat]).filter(([, seat]) => seat !== view.seat);
    if (!find(this.token)) keep({ token: this.token, game: view.game, title: name, when: Date.now(), against: [...new Set(others.map(([player]) => player))].join(", "), links: [] });
    const rules = this.given.games.find((game) => game.name === view.game.split("(")[0])?.rules;
    this.head.replaceChildren(
      el("div", {}, el("h1", {}, name), el("p", { class: "soft" }, `You are seat ${view.seat}, against ${others.map(([player, seat]) => (view.players.length > 2 ? `${player} (seat ${seat})` : player)).join(", ")}. `, el("code", {}, view.game))),
      (this.link = button("Link to this position", () => copy(positionLink(this.view.game, this.view.seat, this.view.observations), this.link), { class: "quiet", hidden: true })),
    );
    this.advice = new Advice(this.given, view.game, {
      ask: (agent, seconds) => this.line.send({ do: "ask", seen: this.view.seen, agent, seconds }) && this.advice.thinking(),
      stop: () => this.line.send({ do: "stop" }),
      point: (action) => this.bothBoards((board) => board.point(action)),
    });
    this.side.replaceChildren(
      ...[
        invitations(find(this.token)),
        this.belief.element,
        this.advice.element,
        this.movesPanel,
        el("section", { class: "panel" }, el("h2", {}, "What you have seen"), this.log),
        rules ? el("details", { class: "panel rules" }, el("summary", {}, "Rules"), rulesOf(rules)) : null,
        el("details", { class: "panel" }, el("summary", {}, "Keys"), keyHelp()),
      ].filter(Boolean),
    );
  }

  bothBoards(action) {
    action(this.board);
    if (!this.beliefFigure.hidden) action(this.beliefBoard);
  }

  see(view) {
    const before = this.view;
    const same = before && before.seen === view.seen && before.turn === view.turn;
    this.view = view;
    Object.assign(this.stage.dataset, { seen: String(view.seen), turn: view.turn });
    this.board.element.classList.remove("resting");
    this.board.show(view.svg, view.moves);
    this.boards.classList.toggle("broad", this.board.drawing.matches(".broad"));
    this.link.hidden = view.observations === undefined;
    const yours = view.turn === "yours";
    this.advice.clear(yours);
    this.advice.element.hidden = view.turn === "over" || !this.advice.agents.length;
    this.listMoves();
    this.log.replaceChildren(...view.log.map((line) => el("li", {}, line)));
    this.log.scrollTop = this.log.scrollHeight;
    if (view.turn === "over") this.showEnd(view);
    else this.status.replaceChildren(...(yours ? [el("strong", {}, "Your move"), el("span", { class: "soft" }, " · choose what is marked")] : [spinner(), "The others are at it …"]));
    this.status.classList.toggle("yours", yours);
    if (!same) this.announce(before, view);
    this.movesPanel.hidden = view.turn === "over";
    if (view.turn === "over") {
      this.belief.element.hidden = true;
      this.showTruth(view);
    } else if (same && !this.beliefFigure.hidden) this.showBelief(this.believed);
    else {
      this.askBelief();
      this.standBy();
    }
  }

  // Until the new belief is there the old one stands by, but it does not keep a narrow screen from its board for long.
  standBy() {
    clearTimeout(this.standing);
    if (this.beliefFigure.hidden) return;
    this.beliefBoard.rest();
    this.others.replaceChildren();
    this.standing = setTimeout(() => this.boards.classList.remove("laid"), STALE);
  }

  announce(before, view) {
    const news = before ? view.log.slice(before.log.length) : view.log.slice(-1);
    const turn = view.over ? this.ending(view) : view.turn === "yours" ? "Your move." : "Waiting for the others.";
    say([...news, turn].join(". ").replaceAll("..", "."));
  }

  ending(view) {
    const own = view.over.returns[view.seat];
    const best = Math.max(...view.over.returns);
    const result = own === best ? (view.over.returns.filter((value) => value === best).length > 1 ? "A draw" : "You have won") : "You have lost";
    return `${result}: ${number(own)} for you`;
  }

  showEnd(view) {
    const ending = this.ending(view);
    this.status.replaceChildren(el("strong", {}, "The game is over"));
    update(this.token, { result: ending.split(":")[0].replace("You have ", "") });
    const known = find(this.token);
    const news = this.over.hidden;
    this.over.hidden = false;
    this.over.replaceChildren(
      el("h2", {}, ending),
      el("ul", { class: "returns" }, view.over.returns.map((value, seat) => el("li", {}, el("span", {}, seat === view.seat ? "you" : `${view.players[seat]}, seat ${seat}`), el("strong", {}, number(value))))),
      el(
        "p",
        { class: "row" },
        el("a", { class: "button primary", href: `#/back/t.${this.token}` }, "Look back"),
        known?.order ? button("Play again", () => begin(known.order, known.title).catch((error) => this.complain(error.message))) : null,
        el("a", { class: "button quiet", href: "#/" }, "Another game"),
        el("a", { class: "button quiet", href: `/api/replay/t.${this.token}/file`, download: `${(known?.title ?? "game").toLowerCase().replace(/\W+/g, "_")}.sqlite` }, "Download the game"),
      ),
    );
    if (news) this.over.scrollIntoView({ block: "nearest" });
  }

  showTruth(view) {
    clearTimeout(this.standing);
    this.beliefBoard.element.classList.remove("resting");
    this.caption.textContent = "What was true";
    this.beliefBoard.label = "What was true";
    this.beliefBoard.show(view.over.svg);
    this.others.replaceChildren();
    this.beliefFigure.hidden = false;
    this.boards.classList.remove("laid");
    this.boards.classList.add("both");
  }

  act(action) {
    if (!this.line.send({ do: "act", action, seen: this.view.seen })) return;
    this.bothBoards((board) => board.rest());
    this.others.replaceChildren();
    this.moves.replaceChildren();
    this.status.classList.remove("yours");
    this.status.replaceChildren(spinner(), "One moment …");
  }

  listMoves() {
    const wanted = this.filter.value.toLowerCase();
    const moves = this.view.moves.filter(([, name]) => name.toLowerCase().includes(wanted));
    this.movesTitle.textContent = `Moves by name (${this.view.moves.length})`;
    this.moves.replaceChildren(...moves.map(([action, name]) => el("li", {}, button(name, () => this.act(action), { class: "small", "data-action": String(action) }))));
  }

  // Belief -----------------------------------------------------------------------------------------------------------

  askBelief() {
    try {
      sessionStorage.setItem("foglight.belief", this.belief.on ? "on" : "off");
    } catch {
      // The switch is then off after a reload.
    }
    this.belief.waiting();
    if (!this.belief.on) {
      this.beliefFigure.hidden = true;
      this.boards.classList.remove("both", "laid");
    } else if (this.view && !this.counting) {
      this.line.send({ do: "belief", seen: this.view.seen });
      // One question at a time: the server answers them one after the other.
      this.counting = setTimeout(() => this.counted(), PATIENCE);
      this.countedFor = this.view.seen;
    }
  }

  counted() {
    clearTimeout(this.counting);
    this.counting = null;
    if (this.belief.on && this.view.turn !== "over" && this.countedFor !== this.view.seen) this.askBelief();
  }

  seeBelief(belief) {
    if (!this.belief.on || this.view.turn === "over") return;
    this.believed = belief;
    this.belief.told(belief);
    this.showBelief(belief);
  }

  showBelief(belief) {
    if (!belief?.svg) {
      this.beliefFigure.hidden = true;
      this.boards.classList.remove("both", "laid");
      return;
    }
    clearTimeout(this.standing);
    this.caption.textContent = "What may be true";
    this.beliefBoard.element.classList.remove("resting");
    this.beliefBoard.show(belief.svg, this.view.moves, overlay(this.board), uncaptioned(belief.sentence));
    const laid = this.beliefBoard.drawing.dataset.laid === "yes"; // one can play on it, so a narrow screen needs no other board
    this.others.replaceChildren(...(laid ? this.beliefBoard.homeless.map(([action, name]) => button(name, () => this.act(action))) : []));
    this.beliefFigure.hidden = false;
    this.boards.classList.add("both");
    this.boards.classList.toggle("laid", laid);
    this.beliefBoard.advise(this.board.advice);
  }

  leaf(index) {
    if (index === null) this.seeBelief(this.believed);
    else this.line.send({ do: "world", seen: this.view.seen, index });
  }

  seeWorld(world) {
    if (!this.belief.on) return;
    this.belief.world(world);
    this.caption.textContent = `One world that may be true, ${world.index + 1} of ${world.of}`;
    this.beliefBoard.show(world.svg);
  }

  // The rest ---------------------------------------------------------------------------------------------------------

  seeAdvice(advice) {
    const ranked = this.advice.told(advice);
    this.bothBoards((board) => board.advise(ranked));
    const best = advice.actions.find(({ action }) => action === advice.action);
    say(`${advice.agent} would play ${best?.name ?? "nothing"}`);
  }

  seeError({ text, about, gone }) {
    if (gone || !this.view) return this.refused(text);
    if (about === "advice") this.advice.failed(text);
    else if (about === "belief" || about === "world") this.belief.sentence.textContent = text;
    else this.complain(text);
  }

  seeWait({ text }) {
    this.status.replaceChildren(spinner(), `${text} …`);
    say(text);
  }

  complain(text) {
    this.trouble.hidden = false;
    this.trouble.textContent = text;
  }

  lost(wait, tries) {
    this.complain(`The connection to the server is lost. Trying again in ${(wait / 1000).toFixed(1)} s (${tries}).`);
    this.bothBoards((board) => board.rest());
  }

  refused(text) {
    this.line.close();
    this.status.replaceChildren(el("strong", {}, "This game cannot be opened"));
    this.complain(text);
    this.boards.replaceChildren(el("p", {}, el("a", { href: "#/" }, "Choose a game")));
  }

  pressed(event) {
    const typing = event.target.matches?.("input:not([type=checkbox]), select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.view) return;
    const visible = getComputedStyle(this.ownFigure).display === "none" ? this.beliefBoard : this.board;
    if (event.key === "b") visible.focus();
    else if (event.key === "k") this.belief.input.click();
    else if (event.key === "m") {
      this.movesPanel.open = true;
      this.filter.focus();
      event.preventDefault();
    } else if (event.key === "Escape") this.bothBoards((board) => board.begin());
  }
}

function keyHelp() {
  const rows = [
    ["Tab, arrows", "from place to place on the board"],
    ["Enter, Space", "choose a place, and play"],
    ["Escape", "take back what is chosen"],
    ["b", "to the board"],
    ["m", "to the moves by name"],
    ["k", "what may be true, on or off"],
  ];
  return el("dl", { class: "facts" }, rows.flatMap(([key, what]) => [el("dt", {}, key.split(", ").map((one, index) => [index ? ", " : "", el("kbd", {}, one)])), el("dd", {}, what)].flat()));
}
