// A small line chart over the moves of a game, with the same numbers as a table.

import { button, el, percent, shape } from "/page/dom.js";

const USUAL = 640; // wide, before it is known how wide the page has it
const TALL = 150;
const LEFT = 62;
const BELOW = 22;
const LEAST = 1e-9; // probabilities below are drawn there

// `values` has a probability, null (none) or undefined (not known yet) for each position 0 … steps.
export class Chart {
  constructor(title, { steps, logarithmic = false, jump }) {
    Object.assign(this, { title, steps, logarithmic, jump, values: [], step: 0 });
    this.drawing = shape("svg", { class: "chart", role: "img" });
    this.wide = USUAL;
    new ResizeObserver(() => {
      this.wide = Math.max(240, this.drawing.clientWidth || USUAL);
      this.draw();
    }).observe(this.drawing);
    this.drawing.addEventListener("click", (event) => {
      const box = this.drawing.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.wide;
      jump(Math.max(0, Math.min(steps, Math.round(((x - LEFT) / (this.wide - LEFT - 10)) * steps))));
    });
    this.rows = el("tbody");
    this.element = el(
      "div",
      { class: "chart-box" },
      el("h3", {}, title),
      this.drawing,
      el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `${title}, as a table` }, el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "After move"), el("th", { scope: "col" }, title))), this.rows))),
    );
    this.draw();
  }

  set(step, value) {
    this.values[step] = value;
    this.draw();
  }

  at(step) {
    this.step = step;
    this.draw();
  }

  draw() {
    const known = this.values.filter((value) => typeof value === "number");
    const least = this.logarithmic ? Math.floor(Math.log10(Math.max(LEAST, Math.min(0.1, ...known.filter((value) => value > 0))))) : 0;
    const x = (step) => LEFT + ((this.wide - LEFT - 10) * step) / Math.max(1, this.steps);
    const height = (value) => (this.logarithmic ? 1 - Math.log10(Math.max(value, 10 ** least)) / least : value);
    const y = (value) => 10 + (TALL - BELOW - 10) * (1 - height(value));
    const parts = [];
    this.drawing.setAttribute("viewBox", `0 0 ${this.wide} ${TALL}`);
    const levels = this.logarithmic ? [0, Math.round(least / 2), least].filter((power, index, all) => all.indexOf(power) === index).map((power) => 10 ** power) : [0, 0.5, 1];
    for (const level of levels) parts.push(shape("path", { class: "level", d: `M${LEFT} ${y(level)}H${this.wide - 10}` }), text(LEFT - 6, y(level), percent(level), "end"));
    for (let step = 0, by = Math.max(1, Math.ceil((this.steps * 36) / this.wide)); step <= this.steps; step += by) parts.push(text(x(step), TALL - 8, String(step), "middle"));
    parts.push(shape("path", { class: "now", d: `M${x(this.step)} 6V${TALL - BELOW}` }));
    let path = "";
    let pen = "M";
    for (let step = 0; step <= this.steps; step += 1) {
      const value = this.values[step];
      if (typeof value !== "number") pen = "M";
      else [path, pen] = [`${path}${pen}${x(step).toFixed(1)} ${y(value).toFixed(1)}`, "L"];
    }
    parts.push(shape("path", { class: "curve", d: path || "M0 0" }));
    if (this.steps <= 80) for (const [step, value] of this.values.entries()) if (typeof value === "number") parts.push(shape("circle", { class: value > 0 ? "point" : "point none", cx: x(step), cy: y(value), r: step === this.step ? 5 : 3 }));
    const now = this.values[this.step];
    this.drawing.setAttribute("aria-label", `${this.title}, after ${this.step} of ${this.steps} moves: ${typeof now === "number" ? percent(now) : "not known"}`);
    this.drawing.replaceChildren(...parts);
    this.rows.replaceChildren(
      ...[...this.values.entries()]
        .filter(([, value]) => value !== undefined)
        .map(([step, value]) => el("tr", {}, el("td", {}, button(String(step), () => this.jump(step), { class: "quiet small" })), el("td", {}, value === null ? "–" : percent(value)))),
    );
  }
}

function text(x, y, said, anchor) {
  const made = shape("text", { x, y, dy: ".35em", "text-anchor": anchor });
  made.textContent = said;
  return made;
}
