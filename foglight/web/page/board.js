// A drawing of the server that can be played on: by mouse, finger and keyboard.
//
// Items carry the actions that a click may mean. A click keeps the actions of its item; an action is played when all
// items that carry it were chosen, as from square to square, so that no single click makes a move of two squares.
// What is then still ambiguous, as a promotion, is chosen by name.

import { button, el, picture, say, shape } from "/page/dom.js";

const MOST_MARKED = 3; // pieces of advice on the board

export class Board {
  constructor(label, play = null) {
    this.label = label;
    this.play = play;
    this.frame = el("div", { class: "frame", tabindex: "-1", role: "group", "aria-label": label });
    this.chooser = el("div", { class: "chooser", role: "group", "aria-label": "Which move?", hidden: true });
    this.element = el("div", { class: "board" }, this.frame, this.chooser);
    this.items = [];
    this.advice = [];
    this.pointed = -1;
    this.frame.addEventListener("click", (event) => this.clicked(event));
    this.frame.addEventListener("keydown", (event) => this.pressed(event));
    this.frame.addEventListener("focusin", () => this.mark());
    this.frame.addEventListener("focusout", () => this.mark());
  }

  // Show a drawing, after these changes to it; `moves` are pairs of action and name.
  show(svg, moves = [], ...changes) {
    const before = this.active;
    const held = this.frame.contains(before) || this.chooser.contains(before);
    const place = before?.dataset?.place;
    this.names = new Map(moves);
    this.drawing = picture(svg, this.label);
    for (const change of changes) change(this.drawing);
    this.items = [...this.drawing.querySelectorAll("[data-actions]")].map((group) => itemOf(group));
    this.carriers = new Map();
    for (const item of this.items) for (const action of item.actions) this.carriers.set(action, [...(this.carriers.get(action) ?? []), item]);
    this.starts = startsOf(this.carriers);
    this.marks = shape("g", { class: "marks", "aria-hidden": "true" });
    this.drawing.append(this.marks);
    this.frame.replaceChildren(this.drawing);
    this.advice = [];
    this.pointed = -1;
    this.begin();
    if (!held) return;
    const next = this.items.find((item) => item.group.dataset.place === place) ?? this.items[0];
    (next?.group ?? this.frame).focus({ preventScroll: true });
  }

  begin() {
    this.chosen = [];
    this.left = null; // all actions
    this.chooser.hidden = true;
    this.mark();
  }

  // What has the focus; a notebook may keep the board in a tree of its own.
  get active() {
    return this.frame.getRootNode().activeElement;
  }

  focus() {
    (this.items[0]?.group ?? this.frame).focus();
  }

  // Actions that no item carries here.
  get homeless() {
    return [...this.names].filter(([action]) => !this.carriers.has(action));
  }

  itemAt(target) {
    const group = target.closest?.("[data-actions]");
    return this.items.find((item) => item.group === group);
  }

  clicked(event) {
    const item = this.itemAt(event.target);
    if (item) this.choose(item);
    else if (this.chosen.length) this.begin();
  }

  pressed(event) {
    if (event.key === "Escape" && this.chosen.length) {
      this.begin();
      say("Nothing chosen");
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const item = this.itemAt(event.target);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(item);
    }
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way) {
      event.preventDefault();
      event.stopPropagation();
      nearest(this.items, item, way)?.group.focus();
    }
  }

  choose(item) {
    if (!this.play) return;
    if (this.chosen.includes(item)) return this.begin();
    let left = this.left ? this.left.filter((action) => item.actions.includes(action)) : item.actions;
    if (!left.length) {
      this.begin();
      left = item.actions;
    }
    this.chosen.push(item);
    this.left = left;
    const whole = left.filter((action) => this.carriers.get(action).every((other) => this.chosen.includes(other)));
    if (whole.length === 1 && left.length === 1) return this.finish(whole[0]);
    this.offer(whole);
    this.mark();
    const seconds = new Set(left.flatMap((action) => this.carriers.get(action)).filter((other) => !this.chosen.includes(other)));
    if (seconds.size) say(`${item.name} chosen. Then: ${[...seconds].map((other) => other.name).join("; ")}. Escape takes it back.`);
  }

  // Moves that are told apart by their names alone.
  offer(actions) {
    this.chooser.hidden = !actions.length;
    this.chooser.replaceChildren(
      el("span", {}, "Which move?"),
      ...actions.map((action) => button(this.names.get(action) ?? String(action), () => this.finish(action))),
      button("Take back", () => (this.begin(), this.focus()), { class: "quiet" }),
    );
    if (actions.length) this.chooser.querySelector("button").focus();
  }

  finish(action) {
    if (this.chooser.contains(this.active)) this.frame.focus({ preventScroll: true });
    this.begin();
    this.play(action);
  }

  // No more moves until the next drawing.
  rest() {
    for (const item of this.items) item.group.setAttribute("aria-disabled", "true");
    this.element.classList.add("resting");
    for (const item of this.items) item.group.classList.remove("may");
    this.items = [];
    this.begin();
  }

  advise(actions) {
    this.advice = actions.slice(0, MOST_MARKED);
    this.mark();
  }

  // Point at one action, as its bar is looked at.
  point(action) {
    this.pointed = action;
    this.mark();
  }

  mark() {
    if (!this.marks) return;
    const made = [];
    const focused = this.itemAt(this.active ?? this.frame);
    const seconds = this.chosen.length ? new Set((this.left ?? []).flatMap((action) => this.carriers.get(action) ?? [])) : null;
    for (const item of this.items) {
      const chosen = this.chosen.includes(item);
      const possible = !chosen && (seconds ? seconds.has(item) : this.starts.has(item));
      if (chosen) made.push(item.ring("chosen"));
      else if (possible && item.onBoard) made.push(item.legal(Boolean(seconds)));
      item.group.classList.toggle("may", possible); // cards lie over each other, so they are marked themselves
    }
    const shown = this.advice.filter((action) => (this.pointed < 0 || action === this.pointed) && (this.left?.includes(action) ?? true));
    if (this.pointed >= 0 && !shown.length) shown.push(this.pointed);
    for (const action of shown.toReversed()) made.push(...this.hint(action, this.advice.indexOf(action) + 1));
    if (focused) made.push(focused.ring("focus"));
    this.marks.replaceChildren(...made.filter(Boolean));
  }

  hint(action, rank) {
    const carriers = this.carriers.get(action) ?? [];
    if (!carriers.length) return [];
    const kind = `advice rank-${rank || 1}`;
    if (carriers.length === 1) return [carriers[0].ring(kind), ...badge(carriers[0].corner, rank, kind)];
    const ordered = carriers.toSorted((one, other) => this.starts.has(other) - this.starts.has(one));
    return arrow(ordered[0].centre, ordered[1].centre, rank, kind);
  }
}

function itemOf(group) {
  const outline = group.querySelector(OUTLINE);
  const title = group.querySelector(":scope > title");
  const box = boxOf(outline);
  const name = title?.textContent || group.textContent;
  group.setAttribute("aria-label", name);
  const full = group.querySelectorAll("text, path:not(.hatch), circle, .ship").length > 0;
  const ring = (kind) => {
    const made = outline.cloneNode(false);
    made.setAttribute("class", `mark ${kind}`);
    return made;
  };
  const [x, y, wide, tall] = box;
  const board = outline.matches(".square, .hexagon");
  return {
    group,
    name,
    full,
    look: group.querySelector("text")?.getAttribute("class") ?? "",
    ring,
    onBoard: board,
    actions: group.dataset.actions.split(" ").map(Number),
    centre: [x + wide / 2, y + tall / 2],
    corner: outline.matches(".hexagon") ? [x + wide / 2, y + 4] : [x + wide - 2, y + 2],
    // What can be chosen: a dot on an empty place, an outline around what stands there.
    legal: (second) => (!full ? shape("circle", { class: `mark dot${second ? " second" : ""}`, cx: x + wide / 2, cy: y + tall / 2, r: second ? 6 : 3.5 }) : ring(second ? "can-be second" : "can-be")),
  };
}

function boxOf(outline) {
  const value = (name) => Number(outline.getAttribute(name));
  if (outline.tagName === "rect") return [value("x"), value("y"), value("width"), value("height")];
  if (outline.tagName === "circle") return [value("cx") - value("r"), value("cy") - value("r"), 2 * value("r"), 2 * value("r")];
  const points = outline.getAttribute("points").split(" ").map((point) => point.split(",").map(Number));
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
}

// The items at which a move begins: of two that carry an action, that on which something stands.
function startsOf(carriers) {
  const starts = new Set();
  const undecided = [];
  for (const items of carriers.values()) {
    const full = items.filter((item) => item.full);
    if (items.length === 1) starts.add(items[0]);
    else if (full.length === 1) starts.add(full[0]);
    else undecided.push(items);
  }
  const looks = new Set([...starts].map((item) => item.look)); // of one's own pieces, where something is captured
  for (const items of undecided) {
    if (items.some((item) => starts.has(item))) continue;
    const own = items.filter((item) => looks.has(item.look));
    for (const item of own.length ? own : items) starts.add(item);
  }
  return starts;
}

function nearest(items, from, [dx, dy]) {
  let best = null;
  let least = Infinity;
  for (const item of items) {
    const [x, y] = [item.centre[0] - from.centre[0], item.centre[1] - from.centre[1]];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    const cost = along + 2.5 * aside;
    if (item !== from && along > 1 && cost < least) [best, least] = [item, cost];
  }
  return best;
}

function badge([x, y], rank, kind) {
  if (!rank) return [];
  const text = shape("text", { class: `mark rank ${kind}`, x, y, dy: ".35em" });
  text.textContent = String(rank);
  return [shape("circle", { class: `mark badge ${kind}`, cx: x, cy: y, r: 7 }), text];
}

function arrow([x, y], [endX, endY], rank, kind) {
  const long = Math.hypot(endX - x, endY - y) || 1;
  const [ux, uy] = [(endX - x) / long, (endY - y) / long];
  const at = (along, aside) => `${(x + ux * along - uy * aside).toFixed(1)} ${(y + uy * along + ux * aside).toFixed(1)}`;
  const head = long - 13;
  const path = `M${at(8, 2.5)}L${at(head, 2.5)}L${at(head, 7)}L${at(long, 0)}L${at(head, -7)}L${at(head, -2.5)}L${at(8, -2.5)}Z`;
  return [shape("path", { class: `mark arrow ${kind}`, d: path }), ...badge([x + ux * 10, y + uy * 10], rank, kind)];
}

// Lay the moves of the board over the drawing of a belief, if that has all that the board shows at the same places:
// then one can play on it, and it says so. Buttons of the board are left out.
export function overlay(board) {
  return (drawing) => {
    const found = outlines(drawing);
    const shown = outlines(board.drawing);
    if (!shown.size || ![...shown.keys()].every((where) => found.has(where))) return;
    drawing.dataset.laid = "yes";
    for (const item of board.items) {
      const group = found.get(whereabouts(item.group.querySelector(OUTLINE)));
      if (!group) continue;
      group.classList.add("can");
      for (const [name, value] of [["tabindex", "0"], ["role", "button"], ["data-actions", item.actions.join(" ")]]) group.setAttribute(name, value);
    }
  };
}

const OUTLINE = "rect, polygon, circle";

function outlines(drawing) {
  const groups = [...drawing.querySelectorAll(":scope > g:not(.marks)")].map((group) => [group.querySelector(OUTLINE), group]);
  return new Map(groups.filter(([outline]) => outline && !outline.matches(".button")).map(([outline, group]) => [whereabouts(outline), group]));
}

const whereabouts = (outline) => ["x", "y", "width", "height", "points", "cx", "cy"].map((name) => outline.getAttribute(name)).join(" ");
