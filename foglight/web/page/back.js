// Look back on a finished game: the truth, what each seat saw and could know, and a verdict on moves.

import { Chart } from "/page/chart.js";
import { button, choices, el, field, number, percent, picture, say, sentence, spinner, uncaptioned } from "/page/dom.js";
import { gameName } from "/page/glyphs.js";
import { get } from "/page/net.js";
import { positionLink } from "/page/position.js";

const WORDS = { good: "good", decision: "the decision", luck: "bad luck", belief: "a wrong belief", forced: "forced" };
const SIGNS = { good: "✓", decision: "✗", luck: "☂", belief: "?", forced: "·" };

export async function open(main, [source], query) {
  const replay = await get(`/api/replay/${source}`);
  const look = new Look(main, source, replay);
  await look.go(Math.min(replay.steps.length, Math.max(0, Number(query.get("step") ?? 0) || 0)));
  look.fill();
  return () => look.close();
}

class Look {
  constructor(main, source, replay) {
    Object.assign(this, { source, replay, step: 0, positions: new Map(), beliefs: new Map() });
    this.stopped = new AbortController();
    this.last = replay.steps.length;
    this.seat = replay.seat ?? 0;
    document.title = `Look back: ${gameName(replay.game)} · foglight`;
    this.slider = el("input", { type: "range", min: "0", max: String(this.last), step: "1", value: "0", id: "step", oninput: () => this.go(Number(this.slider.value)) });
    this.where = el("p", { class: "where", id: "where" });
    this.truth = el("div", { class: "frame" });
    this.seats = replay.agents.map((agent, seat) => this.seatFigure(agent, seat));
    this.switch = el("input", { type: "checkbox", role: "switch", id: "beliefs", onchange: () => this.showBeliefs() });
    this.charts = {
      truth: new Chart("Probability of the true world", { steps: this.last, logarithmic: true, jump: (step) => this.go(step) }),
      places: new Chart("Mean probability of what was there", { steps: this.last, jump: (step) => this.go(step) }),
    };
    this.verdicts = el("ol", { class: "verdicts", "aria-live": "off" });
    this.judged = el("p", { class: "soft" });
    const seatChoice = choices(replay.agents.map((agent, seat) => [seat, this.nameOf(seat)]), this.seat);
    seatChoice.addEventListener("change", () => {
      this.seat = Number(seatChoice.value);
      this.fill();
    });
    this.judge = button("Judge these moves", () => this.judgeMoves(), { hidden: replay.seat !== null });
    const step = (text, label, to, key) => button(text, () => this.go(to()), { "aria-label": label, title: `${label} (${key})` });
    main.append(
      el(
        "div",
        { class: "headline" },
        el("div", {}, el("h1", {}, `Looking back: ${gameName(replay.game)}`), el("p", { class: "soft" }, replay.returns.map((value, seat) => `${this.nameOf(seat)}: ${number(value)}`).join(" · "))),
        el("div", { class: "row" }, el("a", { class: "button quiet", href: `/api/replay/${source}/file`, download: `${gameName(replay.game).toLowerCase().replace(/\W+/g, "_")}.sqlite` }, "Download the game")),
      ),
      el(
        "section",
        { class: "panel steps", "aria-label": "Moves" },
        el("div", { class: "row" }, step("|◀", "First position", () => 0, "Home"), step("◀", "Previous position", () => this.step - 1, "left arrow"), step("▶", "Next position", () => this.step + 1, "right arrow"), step("▶|", "Last position", () => this.last, "End"), this.where),
        el("div", { class: "field wide" }, el("label", { for: "step" }, "Move"), this.slider),
        el("div", { class: "switch" }, this.switch, el("label", { for: "beliefs" }, "What each seat could know")),
      ),
      el("div", { class: `looks seats-${replay.agents.length}` }, el("figure", { class: "truth-figure" }, el("figcaption", {}, "The truth"), this.truth), ...this.seats.map((seat) => seat.figure)),
      el(
        "div",
        { class: "two" },
        el("section", { class: "panel" }, el("h2", {}, "How likely the truth was held to be"), replay.agents.length > 1 ? field("Seat", seatChoice) : null, this.charts.truth.element, this.charts.places.element),
        el("section", { class: "panel" }, el("h2", {}, replay.seat === null ? "Verdicts" : "Your moves"), this.judge, this.judged, this.verdicts),
      ),
    );
    this.keys = (event) => this.pressed(event);
    addEventListener("keydown", this.keys);
  }

  close() {
    this.stopped.abort();
    removeEventListener("keydown", this.keys);
  }

  nameOf(seat) {
    const agent = this.replay.agents[seat];
    return seat === this.replay.seat ? "you" : `seat ${seat}, ${agent === "human" ? "a person" : agent}`;
  }

  seatFigure(agent, seat) {
    const frame = el("div", { class: "frame" });
    const said = el("p", { class: "sentence soft" });
    const log = el("ol", { class: "log", tabindex: "0", "aria-label": `What ${this.nameOf(seat)} has seen` });
    const link = el("a", { class: "small", hidden: true }, "This position as a link");
    const figure = el("figure", { class: "seat-figure" }, el("figcaption", {}, this.nameOf(seat)), frame, said, el("details", {}, el("summary", {}, "What it has seen"), log), link);
    return { figure, frame, said, log, link };
  }

  fetch(path) {
    return get(`/api/replay/${this.source}/${path}`, this.stopped.signal);
  }

  position(step) {
    if (!this.positions.has(step)) this.positions.set(step, this.fetch(step));
    return this.positions.get(step);
  }

  belief(step, seat) {
    const key = `${step}/belief/${seat}`;
    if (!this.beliefs.has(key)) this.beliefs.set(key, this.fetch(key).catch((error) => ({ none: error.message, truth: null, places_right: null })));
    return this.beliefs.get(key);
  }

  async go(step) {
    this.step = Math.max(0, Math.min(this.last, step));
    this.slider.value = String(this.step);
    const move = this.replay.steps[this.step - 1];
    const said = move ? `${move.mover < 0 ? "chance" : this.nameOf(move.mover)}: ${move.action}` : "The beginning";
    this.where.textContent = `${this.step} of ${this.last} · ${said}`;
    this.slider.setAttribute("aria-valuetext", this.where.textContent);
    history.replaceState(null, "", `#/back/${this.source}?step=${this.step}`);
    for (const chart of Object.values(this.charts)) chart.at(this.step);
    for (const row of this.verdicts.children) row.classList.toggle("now", Number(row.dataset.step) === this.step || Number(row.dataset.step) === this.step - 1);
    const wanted = this.step;
    const position = await this.position(wanted);
    if (wanted !== this.step) return;
    this.truth.replaceChildren(picture(position.truth, "The truth"));
    this.seats.forEach(({ frame, log, link }, seat) => {
      const shown = position.seats[seat];
      if (!this.switch.checked) frame.replaceChildren(picture(shown.svg, this.nameOf(seat)));
      log.replaceChildren(...shown.log.map((line) => el("li", {}, line)));
      log.scrollTop = log.scrollHeight;
      link.hidden = shown.observations === undefined;
      if (!link.hidden) link.href = positionLink(this.replay.game, seat, shown.observations);
    });
    this.showBeliefs();
    if (this.step < this.last) this.position(this.step + 1).catch(() => {});
  }

  async showBeliefs() {
    const wanted = this.step;
    const position = await this.position(wanted);
    await Promise.all(
      this.seats.map(async ({ frame, said }, seat) => {
        if (!this.switch.checked) {
          said.textContent = "";
          return frame.replaceChildren(picture(position.seats[seat].svg, this.nameOf(seat)));
        }
        said.textContent = "Counting worlds …";
        const belief = await this.belief(wanted, seat);
        if (wanted !== this.step || !this.switch.checked) return undefined;
        const held = typeof belief.truth === "number" ? ` The truth was held to be ${percent(belief.truth)} likely.` : "";
        said.textContent = sentence(belief.none ?? belief.sentence) + held;
        const drawing = picture(belief.svg ?? position.seats[seat].svg, `What ${this.nameOf(seat)} could know`);
        uncaptioned(belief.sentence)(drawing);
        return frame.replaceChildren(drawing);
      }),
    );
  }

  // Charts and verdicts, one question after the other.
  async fill() {
    const seat = this.seat;
    for (const chart of Object.values(this.charts)) chart.values = [];
    this.judge.hidden = this.replay.seat !== null && this.replay.seat === seat;
    this.verdicts.replaceChildren();
    if (this.judge.hidden) this.judgeMoves();
    for (let step = 0; step <= this.last; step += 1) {
      const belief = await this.belief(step, seat);
      if (this.stopped.signal.aborted || seat !== this.seat) return;
      this.charts.truth.set(step, belief.truth ?? null);
      this.charts.places.set(step, belief.places_right ?? null);
    }
  }

  async judgeMoves() {
    const seat = this.seat;
    this.judge.hidden = true;
    this.verdicts.replaceChildren();
    const own = this.replay.steps.map((move, step) => [move, step]).filter(([move]) => move.mover === seat);
    for (const [count, [move, step]] of own.entries()) {
      this.judged.replaceChildren(spinner(), `An agent thinks about move ${count + 1} of ${own.length} …`);
      const verdict = await this.fetch(`${step}/verdict`).catch((error) => ({ played: move.action, verdict: "", sentence: error.message }));
      if (this.stopped.signal.aborted || seat !== this.seat) return;
      this.verdicts.append(this.row(verdict, step));
    }
    this.judged.textContent = own.length ? summary(this.verdicts) : "No moves to judge.";
    say(this.judged.textContent);
  }

  row(verdict, step) {
    return el(
      "li",
      { class: `verdict ${verdict.verdict}`, "data-step": String(step), "data-verdict": verdict.verdict },
      button([el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[verdict.verdict] ?? "–"), el("span", {}, el("strong", {}, verdict.played), verdict.verdict ? ` · ${WORDS[verdict.verdict] ?? verdict.verdict}` : ""), el("span", { class: "soft" }, `move ${step + 1}`)], () => this.go(step)),
      el("p", {}, verdict.sentence),
    );
  }

  pressed(event) {
    if (event.target.matches?.("input:not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowLeft: this.step - 1, ArrowRight: this.step + 1, Home: 0, End: this.last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(to);
  }
}

function summary(list) {
  const counts = new Map();
  for (const row of list.children) counts.set(row.dataset.verdict, (counts.get(row.dataset.verdict) ?? 0) + 1);
  return [...counts].map(([verdict, count]) => `${WORDS[verdict] ?? "no verdict"}: ${count}`).join(" · ");
}
