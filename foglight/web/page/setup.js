// A new game: its parameters, who plays, and on which seat.

import { favourite, playing, secondsInput } from "/page/advice.js";
import { choices, el, field, rulesOf, sentence, written } from "/page/dom.js";
import { gameName, glyph } from "/page/glyphs.js";
import { begin } from "/page/mine.js";
import { get, offers } from "/page/net.js";

export async function open(main, [name]) {
  const given = await offers();
  const game = given.games.find((one) => one.name === name) ?? (name?.startsWith("openspiel:") ? (await get("/api/offers/openspiel")).games.find((one) => one.name === name) : null);
  if (!game) throw new Error(`There is no game "${name}" here.`);
  document.title = `${gameName(name)} · foglight`;

  const parameters = new Map(game.parameters.map((parameter) => [parameter.name, parameterInput(parameter)]));
  const agents = playing(given.agents, game.name);
  const problem = el("p", { class: "bad", role: "alert" });
  const seats = el("div", { class: "seats" });
  const people = new Map(); // what was chosen for a seat, while parameters change the number of seats
  let me = 0;

  const count = () => Math.max(1, Math.min(16, Number(parameters.get("players")?.value) || game.players));
  const drawSeats = () => {
    me = Math.min(me, count() - 1);
    seats.replaceChildren(...Array.from({ length: count() }, (_, seat) => seatRow(seat)));
  };
  const seatRow = (seat) => {
    const chosen = people.get(seat) ?? { who: favourite(agents) ?? "person" };
    people.set(seat, chosen);
    const radio = el("input", { type: "radio", name: "me", value: String(seat), id: `me-${seat}`, checked: seat === me, onchange: () => ((me = seat), drawSeats(), seats.querySelector(`#me-${seat}`).focus()) });
    const row = el("fieldset", { class: `seat${seat === me ? " own" : ""}` }, el("legend", {}, `Seat ${seat}`), el("div", { class: "choice" }, radio, el("label", { for: radio.id }, "I play here")));
    if (seat === me) return row;
    const who = choices([...agents.map((agent) => [agent.name, agent.name]), ["person", "another person"]], chosen.who);
    const seconds = secondsInput(given);
    if (chosen.seconds) seconds.value = chosen.seconds;
    const about = el("p", { class: "meaning" });
    const secondsField = field("Seconds a move", seconds);
    const describe = () => {
      const agent = agents.find((one) => one.name === who.value);
      Object.assign(chosen, { who: who.value, seconds: seconds.value });
      about.replaceChildren(...written(agent ? [agent.strength, agent.what].filter(Boolean).map(sentence).join(" ") : "You get a link to hand on. Each of you sees only what your seat sees."));
      secondsField.hidden = !agent?.takes_time;
    };
    who.addEventListener("change", describe);
    seconds.addEventListener("change", describe);
    describe();
    row.append(el("div", { class: "row" }, field("Who plays here", who), secondsField), about);
    return row;
  };
  parameters.get("players")?.addEventListener("change", drawSeats);
  drawSeats();

  const start = el("button", { type: "submit", class: "primary large" }, "Play");
  const form = el(
    "form",
    {
      class: "setup",
      onsubmit: async (event) => {
        event.preventDefault();
        problem.textContent = "";
        start.disabled = true;
        const changed = [...parameters].filter(([key, input]) => input.value !== game.parameters.find((one) => one.name === key).default);
        const seat = (index) => {
          const { who, seconds } = people.get(index);
          if (index === me) return "me";
          if (who === "person") return "person";
          return { agent: who, seconds: Number(seconds), options: {} };
        };
        try {
          await begin({ game: game.name, parameters: Object.fromEntries(changed.map(([key, input]) => [key, input.value])), seats: Array.from({ length: count() }, (_, index) => seat(index)) }, gameName(game.name));
        } catch (error) {
          problem.textContent = error.message;
          start.disabled = false;
        }
      },
    },
    game.parameters.length ? el("section", { class: "panel" }, el("h2", {}, "Parameters"), el("div", { class: "parameters" }, game.parameters.map((parameter) => field(parameter.name.replaceAll("_", " "), parameters.get(parameter.name), [parameter.meaning, parameter.allowed].filter(Boolean).join("; "))))) : null,
    el("section", { class: "panel" }, el("h2", {}, "Who plays"), seats),
    problem,
    el("p", { class: "start" }, start),
  );
  main.append(
    el("p", { class: "crumb" }, el("a", { href: "#/" }, "All games")),
    el("div", { class: "headline" }, glyph(game.name), el("div", {}, el("h1", {}, gameName(game.name)), el("p", { class: "lead" }, sentence(game.title)))),
    el("div", { class: "two" }, form, game.rules ? el("section", { class: "panel rules" }, el("h2", {}, "Rules"), rulesOf(game.rules)) : null),
  );
}

function parameterInput({ name, default: usual, allowed }) {
  const range = /^(-?\d+) to (-?\d+)$/.exec(allowed || "");
  if (range && !usual.includes("[")) return el("input", { type: "number", min: range[1], max: range[2], step: Number.isInteger(Number(usual)) ? "1" : "any", value: usual, required: true, "data-parameter": name });
  const words = (allowed || "").split(", ");
  if (words.length > 1 && words.includes(usual)) {
    const input = choices(words.map((word) => [word, word]), usual);
    input.dataset.parameter = name;
    return input;
  }
  return el("input", { type: "text", value: usual, autocomplete: "off", spellcheck: "false", "data-parameter": name });
}
