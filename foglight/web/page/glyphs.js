// Names of games as one writes them, and a small sign for each; a game without one gets a die in fog.

import { shape } from "/page/dom.js";

const NAMES = {
  phantom_ttt: "Phantom Tic-Tac-Toe",
  rbc: "Reconnaissance Blind Chess",
  three_sat: "3-SAT",
  unseen_rps: "Unseen Rock-Paper-Scissors",
  liars_dice: "Liar's Dice",
  oh_hell: "Oh Hell",
};

export function gameName(name) {
  const bare = name.split("(")[0];
  const whole = NAMES[bare] ?? bare.split(":").at(-1).replaceAll("_", " ").replace(/(^|\s)\w/g, (letter) => letter.toUpperCase());
  return bare.startsWith("openspiel:") ? `${whole} (OpenSpiel)` : whole;
}

const CARD = (x, y, turn) => `<rect x="${x}" y="${y}" width="15" height="21" rx="2.500" transform="rotate(${turn} ${x + 7} ${y + 20})"/>`;
const HAND = CARD(7, 10, -14) + CARD(13, 8, 0) + CARD(19, 10, 14);
const GRID = '<path d="M15 6v28M25 6v28M6 15h28M6 25h28"/>';
const DRAWN = {
  phantom_ttt: `${GRID}<path class="a" d="m8 8 5 5m0-5-5 5"/><circle class="a" cx="20" cy="20" r="3"/><circle class="f" cx="30" cy="30" r="3"/>`,
  dark_hex: '<path d="m14 5 7 4v8l-7 4-7-4V9zM28 5l7 4v8l-7 4-7-4V9zM21 17l7 4v8l-7 4-7-4v-8z"/><circle class="b" cx="14" cy="13" r="3"/><circle class="f" cx="28" cy="13" r="3"/><circle class="a" cx="21" cy="25" r="3"/>',
  dark_chess: '<rect x="6" y="6" width="28" height="28" rx="2"/><path class="q" d="M6 6h7v7H6zM20 6h7v7h-7zM13 13h7v7h-7zM27 13h7v7h-7zM6 20h7v7H6zM20 20h7v7h-7zM13 27h7v7h-7zM27 27h7v7h-7z"/>',
  rbc: '<rect x="6" y="6" width="28" height="28" rx="2"/><path class="q" d="M6 6h7v7H6zM20 6h7v7h-7zM6 20h7v7H6zM20 20h7v7h-7z"/><rect class="a" x="13" y="13" width="21" height="21"/>',
  battleship: '<path d="M5 26h30l-4 7H10zM13 26v-6h9v6M18 20v-8h8"/><path class="f" d="M4 37c4-3 6 2 10 0s6 2 10 0 6 2 12-1"/>',
  liars_dice: '<rect x="5" y="13" width="17" height="17" rx="4"/><rect class="f" x="24" y="9" width="12" height="12" rx="3"/><g class="b"><circle cx="10" cy="18" r="1.600"/><circle cx="17" cy="25" r="1.600"/><circle cx="13.500" cy="21.500" r="1.600"/></g>',
  goofspiel: `${CARD(6, 9, -8)}${CARD(20, 9, 8)}<path class="a" d="M20 5v5M17.500 7.500h5"/>`,
  kuhn_poker: `${CARD(6, 9, -6)}<g class="f">${CARD(20, 9, 6)}</g><circle class="b" cx="20" cy="33" r="3"/>`,
  leduc_poker: `${CARD(4, 11, -10)}${CARD(13, 6, 0)}<g class="f">${CARD(22, 11, 10)}</g><circle class="b" cx="20" cy="34" r="3"/>`,
  hearts: `${HAND}<path class="b" d="M20.500 24c-6-4-4.500-8.500-1.800-8.500 1 0 1.800 1 1.800 1.800 0-.8.8-1.800 1.800-1.800 2.700 0 4.200 4.500-1.800 8.500z"/>`,
  spades: `${HAND}<path class="b" d="M20.500 13c-6 5-4.500 8.500-2 8.500 1.200 0 2-1 2-1.800 0 .8.800 1.800 2 1.800 2.500 0 4-3.500-2-8.500zm0 7-1.500 4.500h3z"/>`,
  oh_hell: `${HAND}<path class="b" d="m20.500 13 4 6-4 6-4-6z"/>`,
  card_game: `${HAND}<path class="a" d="M17 19h7"/>`,
  three_sat: '<path d="M6 12h28M6 20h28M6 28h28"/><circle class="b" cx="12" cy="12" r="3.500"/><circle class="b" cx="27" cy="20" r="3.500"/><circle class="f" cx="18" cy="28" r="3.500"/>',
  unseen_rps: '<circle cx="13" cy="15" r="7"/><path d="M24 8h10v13H24z"/><path class="a" d="m13 35 14-9m-14 0 14 9"/>',
};
const FOG = '<rect x="8" y="6" width="22" height="22" rx="5"/><circle class="b" cx="19" cy="17" r="2.500"/><path class="f" d="M5 33h12m4 0h14"/>';

export function glyph(name) {
  const parsed = new DOMParser().parseFromString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">${DRAWN[name.split("(")[0]] ?? FOG}</svg>`, "image/svg+xml");
  const made = shape("svg", { class: "glyph", viewBox: "0 0 40 40", "aria-hidden": "true", focusable: "false" });
  made.append(...document.adoptNode(parsed.documentElement).childNodes);
  return made;
}
