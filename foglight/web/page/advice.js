// "What would an agent do here, and why?": a form, and its answer as bars.

import { button, choices, el, field, number, percent, sentence, spinner, written } from "/page/dom.js";

const MOST_BARS = 8;

export class Advice {
  // `ask` gets the name of an agent and seconds; `stop` ends the asking; `point` gets the action of a bar, or -1.
  constructor(offers, game, { ask, stop = null, point = () => {} }) {
    const agents = playing(offers.agents, game).filter((agent) => agent.takes_time);
    this.agents = agents.length ? agents : playing(offers.agents, game);
    this.point = point;
    this.agent = choices(this.agents.map((agent) => [agent.name, agent.name]), favourite(this.agents));
    this.seconds = secondsInput(offers);
    this.about = el("p", { class: "soft hint" });
    this.button = button("Ask", () => ask(this.agent.value, Number(this.seconds.value)), { class: "primary" });
    this.stop = stop && button("Stop", () => (stop(), this.idle()), { class: "quiet", hidden: true });
    this.answer = el("div", { class: "answer", "aria-live": "polite" });
    this.agent.addEventListener("change", () => this.describe());
    this.describe();
    this.element = el(
      "section",
      { class: "panel" },
      el("h2", {}, "What would an agent do?"),
      el("div", { class: "row ask" }, field("Agent", this.agent), field("Seconds", this.seconds), this.button, this.stop),
      this.about,
      this.answer,
    );
    this.element.hidden = !this.agents.length;
  }

  describe() {
    const agent = this.agents.find(({ name }) => name === this.agent.value);
    this.about.replaceChildren(...written(agent ? `${sentence(agent.what)} It knows what you know.` : ""));
    this.seconds.disabled = !agent?.takes_time;
  }

  idle() {
    this.button.disabled = false;
    if (this.stop) this.stop.hidden = true;
    this.answer.querySelector(".thinking")?.remove();
  }

  clear(possible) {
    this.idle();
    this.answer.replaceChildren();
    this.button.disabled = !possible;
  }

  thinking() {
    this.button.disabled = true;
    if (this.stop) this.stop.hidden = false;
    this.answer.replaceChildren(el("p", { class: "thinking" }, spinner(), "It thinks …"));
  }

  // Actions from the best on, by number.
  told(advice) {
    this.idle();
    const ranked = rankedActions(advice);
    const share = shareOf(ranked);
    const best = ranked.find(({ action }) => action === advice.action) ?? ranked[0];
    this.answer.replaceChildren(
      el("p", {}, el("strong", {}, best ? best.name : "nothing"), ` is what ${advice.agent} would play.`),
      el(
        "ol",
        { class: "bars" },
        ranked.slice(0, MOST_BARS).map((one, index) => {
          const bar = el("span", { class: "bar", "aria-hidden": "true" });
          bar.style.width = `${Math.max(1.5, 100 * share(one))}%`;
          return el(
            "li",
            { class: index < 3 ? `rank-${index + 1}` : "", tabindex: "0", onmouseenter: () => this.point(one.action), onmouseleave: () => this.point(-1), onfocus: () => this.point(one.action), onblur: () => this.point(-1) },
            el("span", { class: "name" }, one.name),
            el("span", { class: "groove" }, bar),
            el("span", { class: "says" }, told(one)),
          );
        }),
      ),
      ranked.length > MOST_BARS ? el("p", { class: "soft" }, `and ${ranked.length - MOST_BARS} more`) : "",
      advice.facts?.length ? el("dl", { class: "facts" }, advice.facts.flatMap(([what, value]) => [el("dt", {}, what), el("dd", {}, String(value))])) : "",
    );
    return ranked.map(({ action }) => action);
  }

  failed(text) {
    this.idle();
    this.answer.replaceChildren(el("p", { class: "bad" }, text));
  }
}

export const playing = (agents, game) => agents.filter((agent) => !agent.plays || agent.plays.includes(game.split("(")[0]));

export const favourite = (agents) => ["epimc", "ismcts", "pimc", "random"].find((name) => agents.some((agent) => agent.name === name)) ?? agents[0]?.name;

export function secondsInput(offers) {
  const { default: usual = 1, most = 10 } = offers.seconds ?? {};
  return el("input", { type: "number", min: "0.1", max: String(most), step: "0.1", value: String(usual), inputmode: "decimal" });
}

function rankedActions(advice) {
  const worth = ({ odds, visits, value }) => odds ?? visits ?? value ?? 0;
  const first = (one) => (one.action === advice.action ? 1 : 0);
  return advice.actions.toSorted((one, other) => first(other) - first(one) || worth(other) - worth(one) || (other.value ?? 0) - (one.value ?? 0));
}

function shareOf(actions) {
  const values = (name) => actions.map((one) => one[name]).filter((value) => value !== null && value !== undefined);
  if (values("odds").length) return (one) => one.odds ?? 0;
  if (values("visits").length) {
    const most = Math.max(1, ...values("visits"));
    return (one) => (one.visits ?? 0) / most;
  }
  const [low, high] = [Math.min(...values("value")), Math.max(...values("value"))];
  return (one) => (high > low ? ((one.value ?? low) - low) / (high - low) : 1);
}

function told({ value, visits, odds }) {
  const parts = [];
  if (odds !== undefined && odds !== null) parts.push(percent(odds));
  if (value !== undefined && value !== null) parts.push(`value ${number(value)}`);
  if (visits !== undefined && visits !== null) parts.push(`${visits.toLocaleString("en")} visits`);
  return parts.join(" · ");
}
