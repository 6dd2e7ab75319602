// What may be true: the belief of a seat as a picture, a sentence, and worlds to leaf through.

import { button, el, percent, sentence } from "/page/dom.js";

export class Belief {
  // `wanted` is called when the switch is turned, `leaf` with the index of a world to show or null for all of them.
  constructor({ wanted, leaf }) {
    this.index = null;
    this.of = 0;
    this.input = el("input", { type: "checkbox", role: "switch", id: "belief", onchange: () => wanted(this.input.checked) });
    this.sentence = el("p", { class: "sentence", "aria-live": "polite" });
    this.where = el("span", { class: "where" });
    this.buttons = {
      before: button("Previous", () => leaf(this.step(-1)), { class: "small", "aria-label": "Previous world" }),
      after: button("Next", () => leaf(this.step(1)), { class: "small", "aria-label": "Next world" }),
      all: button("All together", () => leaf(null), { class: "quiet small" }),
    };
    this.leaves = el("div", { class: "leaves row", hidden: true }, this.buttons.before, this.buttons.after, this.where, this.buttons.all);
    this.element = el(
      "section",
      { class: "panel belief-panel" },
      el("div", { class: "switch" }, this.input, el("label", { for: "belief" }, "What may be true")),
      el("p", { class: "soft hint" }, "Lays over the board what may be there, as far as you can know it."),
      this.sentence,
      this.leaves,
    );
  }

  get on() {
    return this.input.checked;
  }

  step(by) {
    if (this.index === null) return by > 0 ? 0 : this.of ? this.of - 1 : 0;
    return this.of ? (this.index + by + this.of) % this.of : this.index + by;
  }

  waiting() {
    this.sentence.textContent = this.on ? "Counting worlds …" : "";
    this.leaves.hidden = true;
    this.index = null;
  }

  told(belief) {
    this.index = null;
    this.sentence.textContent = sentence(belief.none ?? belief.sentence ?? "");
    this.leaves.hidden = Boolean(belief.none);
    this.where.textContent = "the worlds one by one";
    this.buttons.all.hidden = true;
  }

  world({ index, of, weight }) {
    this.index = index;
    this.of = of;
    this.where.textContent = `world ${index + 1} of ${of}${weight === undefined || weight === null ? "" : `, ${percent(weight)}`}`;
    this.buttons.all.hidden = false;
  }
}
