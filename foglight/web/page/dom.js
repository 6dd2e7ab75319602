// Small helpers for elements. Text from the server always becomes text, never HTML; only its SVG is parsed, as XML.

export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function shape(tag, given = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A drawing of the server as an element. Whatever could act by itself is taken out, though the server never sends it.
export function picture(text, label = "") {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return el("p", { class: "soft" }, "This picture cannot be shown.");
  for (const part of parsed.querySelectorAll("script, style, foreignObject, a, image, use")) part.remove();
  const drawn = document.adoptNode(parsed);
  const title = drawn.querySelector(":scope > title");
  drawn.setAttribute("role", "group");
  drawn.setAttribute("aria-label", [label, title?.textContent].filter(Boolean).join(": ") || "a position");
  title?.remove(); // as a title it would cover the whole board with one tooltip
  const wide = Number(drawn.getAttribute("width")) || 320;
  const tall = Number(drawn.getAttribute("height")) || 200;
  const board = drawn.querySelector(".square, .hexagon");
  drawn.style.setProperty("--limit", board ? 2.3 : 1.6); // what is mostly text need not be that large
  drawn.style.setProperty("--wide", wide);
  drawn.style.setProperty("--tall", tall);
  drawn.classList.toggle("broad", wide > 1.5 * tall);
  drawn.removeAttribute("width");
  drawn.removeAttribute("height");
  return drawn;
}

// The drawing of a belief says at its end what stands beside it on the page, too; take that line out.
export const uncaptioned = (sentence) => (drawing) => {
  const last = [];
  for (let element = drawing.lastElementChild; element?.matches("text.say") && last.length < 6; element = element.previousElementSibling) {
    last.unshift(element);
    if (last.map((line) => line.textContent).join(" ") !== sentence) continue;
    const tall = Number(drawing.style.getPropertyValue("--tall")) - 20 * last.length;
    drawing.style.setProperty("--tall", tall);
    drawing.setAttribute("viewBox", `0 0 ${drawing.style.getPropertyValue("--wide")} ${tall}`);
    for (const line of last) line.remove();
    return;
  }
};

export const percent = (share) =>
  share >= 0.1 || share === 0 ? `${Math.round(share * 100)} %` : share >= 0.001 ? `${(share * 100).toFixed(1)} %` : `1 in ${Math.round(1 / share).toLocaleString("en")}`;

export const number = (value) => (Number.isInteger(value) ? String(value) : value.toFixed(2)).replace("-", "−");

let waiting;
let listener = null;
// Where `say` writes, if not into the element of the page.
export function hear(element) {
  listener = element;
}

// For screen readers: what has just happened.
export function say(text) {
  const live = listener ?? document.getElementById("live");
  clearTimeout(waiting);
  live.textContent = "";
  waiting = setTimeout(() => (live.textContent = text), 60);
}

export function button(text, action, given = {}) {
  return el("button", { type: "button", onclick: action, ...given }, text);
}

export async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    note(from, "Copied");
  } catch {
    // No clipboard, as on a plain http address of another machine: show the text to copy it by hand.
    const field = el("input", { class: "by-hand", value: text, readonly: true, "aria-label": "Link to copy" });
    from.replaceWith(field);
    field.select();
  }
}

function note(from, text) {
  const before = from.textContent;
  from.textContent = text;
  say(text);
  setTimeout(() => (from.textContent = before), 1500);
}

export function spinner() {
  return el("span", { class: "spinner", "aria-hidden": "true" });
}

// A text as a sentence: with a capital and a full stop.
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return !whole || /[.!?:]$/.test(whole) ? whole : `${whole}.`;
}

// Text in which `code` stands between backticks.
export const written = (text) => text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));

// The rules as paragraphs: one for each line, but a line that begins with a small letter goes on with the one before.
export const rulesOf = (text) => text.replace(/\n(?=[a-z])/g, " ").split("\n").filter(Boolean).map((line) => el("p", {}, written(line)));

let names = 0;
// A labelled control: the label, the control, and a line that explains it.
export function field(label, control, meaning = "") {
  const id = `field-${++names}`;
  control.id = id;
  const about = meaning ? el("p", { class: "meaning", id: `${id}-about` }, meaning) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return el("div", { class: "field" }, el("label", { for: id }, label), control, about);
}

export function choices(options, chosen) {
  return el("select", {}, options.map(([value, text]) => el("option", { value: String(value), selected: value === chosen }, text)));
}
