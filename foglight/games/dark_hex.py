"""Dark Hex: Hex in which neither seat sees the other's stones. x joins top and bottom, o joins left and right.

A seat that tries an occupied cell learns that it is occupied, and tries again. The other seat learns only that there
was a try, neither the cell nor the result. OpenSpiel's `dark_hex` with its defaults (`cdh`, `reveal-nothing`) puts the
number of tries into both players' information states, and we follow it. With `tries=silent` the other seat learns
nothing, as in the papers. With `abrupt=yes` a try of an occupied cell costs the turn (OpenSpiel's `adh`).

world   words 0-1: the stones of x and of o, one bit per cell; words 2-3: the stones of the other seat that x and o have
        run into; word 4: bit 0 the seat to move, bits 1-2 the winner plus one
action  cell, row by row from the top left: a1 b1 c1 ...
observe the mover the cell and whether it was occupied; everybody else that there was a try (_HEARD), or nothing
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight import bits, text
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import LABEL, LINE, MARKS, Cell, drawing_title, finished, hexagons, line, stacked
from foglight.names import Between, Variant
from foglight.randomness import below
from foglight.rules import NOTHING, TERMINAL, Bounds, game

_STONES, _MET, _TURN = 0, 2, 4
_HEARD = 1
_SILENT = 1  # of the parameter `tries`
_MOST = 8
# by number of columns: the leftmost cell of every row
_LEFT = np.array([sum(1 << i for i in range(0, 64, cols)) if cols else 0 for cols in range(_MOST + 1)], np.uint64)
_FILLS = 128  # ways to fill the board that an evaluation looks at, at least
_CERTAINTY = 3.0  # of an evaluation: the power of a share of boards
_CHANCE = np.random.default_rng(1)  # always the same, so that positions are compared under the same luck
_HALF = _CHANCE.integers(0, 2**64, _FILLS // 2, np.uint64)
_LUCK = np.stack([_HALF, ~_HALF], 1).ravel()  # empty cells that x gets: at random, then the complement
# by number of empty cells: cells of the other seat that the mover gets, with probability 1 / number
_TEMPO = np.stack(
    [
        np.packbits(_CHANCE.random((_FILLS, 64)) * max(number, 1) < 1.0, axis=1).view(np.uint64)[:, 0]
        for number in range(_MOST * _MOST + 1)
    ]
)
# by area: a bit for each board that fits into a word, where its first cell is
_FIRST = np.array([sum(1 << i for i in range(0, 64 - area + 1, area)) if area else 0 for area in range(65)], np.uint64)


@game
@constants(
    num_players=2,
    num_words=5,
    title="Hex on up to 8x8 cells; you see your own stones and those you ran into",
)
class DarkHex(NamedTuple):
    rows: Annotated[int, "of the board; x joins the first to the last", Between(1, _MOST)] = 4
    cols: Annotated[int, "columns of the board; o joins the first to the last", Between(1, _MOST)] = 4
    tries: Annotated[int, "whether the other seat hears each try", Variant("heard", "silent")] = 0
    abrupt: Annotated[int, "whether a try of an occupied cell costs the turn", Variant("no", "yes")] = 0


@jitable
def _mover(world):
    return int64(world[_TURN] & uint64(1))


@implements(DarkHex)
def num_actions(game):
    return game.rows * game.cols


@implements(DarkHex)
def player(game, world):
    return TERMINAL if world[_TURN] > uint64(1) else _mover(world)


@jitable
def _untried(game, world):
    seat = _mover(world)
    return bits.first_bits(game.rows * game.cols) & ~(world[_STONES + seat] | world[_MET + seat])


@implements(DarkHex)
def legal(game, world, out):
    return bits.members(_untried(game, world), out)


@implements(DarkHex)
def legal_bits(game, world, actions, out):
    out[0] = _untried(game, world)


@implements(DarkHex)
def pick(game, world, random, out):
    untried = _untried(game, world)
    return bits.nth(untried, below(random, bits.count(untried)))


@implements(DarkHex)
def step(game, world, action):
    seat = _mover(world)
    if bits.has(world[_STONES + 1 - seat], action):
        world[_MET + seat] |= bits.bit(action)
        if game.abrupt:
            world[_TURN] ^= uint64(1)
        return
    world[_STONES + seat] |= bits.bit(action)
    world[_TURN] ^= uint64(1)
    if _joins(game, world[_STONES + seat], bits.bit(action), seat):
        world[_TURN] |= uint64(1 + seat) << uint64(1)


@implements(DarkHex)
def lay_open(game, world):
    world[_MET] = world[_STONES + 1]
    world[_MET + 1] = world[_STONES]


@jitable
def _joins(game, stones, chain, seat):
    """Whether the stones connected to `chain` touch both of the seat's sides."""
    cols = uint64(game.cols)
    left = _LEFT[game.cols]
    right = left << (cols - uint64(1))
    if seat == 0:
        here = bits.first_bits(game.cols)
        there = here << uint64(game.cols * (game.rows - 1))
    else:
        here, there = left, right
    if stones & here == uint64(0) or stones & there == uint64(0):
        return False
    chain = _connected(stones, chain, cols, left, right, uint64(0))
    return chain & here != uint64(0) and chain & there != uint64(0)


@jitable
def _connected(stones, chain, cols, left, right, bottom):
    """The stones connected to `chain`; `left` and `right` are the cells of the first and of the last column.

    A word may hold several boards, if `chain` has all stones of their first rows; `bottom` are the cells of their last
    rows then, which nothing from the next board may reach.
    """
    grown = uint64(0)
    while chain != grown:
        grown = chain
        chain |= stones & (
            (chain << uint64(1) | chain >> (cols - uint64(1)) & ~bottom) & ~left
            | (chain >> uint64(1) | chain << (cols - uint64(1))) & ~right
            | chain << cols
            | chain >> cols & ~bottom
        )
    return chain


@implements(DarkHex)
def observe(game, before, action, after, viewer):
    if viewer != _mover(before):
        return NOTHING if game.tries == _SILENT else _HEARD
    return 2 + 2 * action + bits.has(before[_STONES + 1 - viewer], action)


@implements(DarkHex)
def returns(game, world, out):
    winner = int64(world[_TURN] >> uint64(1)) - 1
    out[winner] = 1.0
    out[1 - winner] = -1.0


@implements(DarkHex)
def num_sight_features(game):
    return 2 * game.rows * game.cols


@implements(DarkHex)
def observation_bits(game):
    return (1 + 2 * game.rows * game.cols).bit_length()


@implements(DarkHex)
def sight_features(game, world, seat, out):
    # by cell, whether the seat's stone is there; whether it has run into the other's
    area = game.rows * game.cols
    for cell in range(area):
        out[cell] = bits.has(world[_STONES + seat], cell)
        out[area + cell] = bits.has(world[_MET + seat], cell)


@implements(DarkHex)
def evaluation(game, world, seat):
    """How sure the seat may be to win, from the share p of boards, filled at random, that it wins.

        p^3 - (1 - p)^3
        ---------------
        p^3 + (1 - p)^3

    Every empty cell goes to either seat with probability 1/2; of the other seat's cells the mover gets half of one on
    average. Players do better than chance, so whoever wins two boards of three is taken to win eight games of nine. The
    power of 3 is a guess that plays well. A full board has one winner, so that only x is asked. As many boards as fit
    into a word are filled at a time.
    """
    area, cols, mover = game.rows * game.cols, uint64(game.cols), _mover(world)
    first = _FIRST[area]
    empty = first * (bits.first_bits(area) & ~(world[_STONES] | world[_STONES + 1]))
    stones = first * world[_STONES]
    left, top = first * (_LEFT[game.cols] & bits.first_bits(area)), first * bits.first_bits(game.cols)
    right = left << (cols - uint64(1))
    bottom = top << uint64(area - game.cols)
    tempo = _TEMPO[bits.count(bits.first_bits(area) & empty)]
    fitting, won = bits.count(first), 0
    words = (_FILLS + fitting - 1) // fitting
    for word in range(words):
        luck = _LUCK[word] | tempo[word] if mover == 0 else _LUCK[word] & ~tempo[word]
        own = stones | luck & empty
        chain = _connected(own, own & top, cols, left, right, bottom)
        won += bits.count(_any(chain & bottom, game.cols) & bottom & left)
    share = won / (words * fitting)
    ahead, behind = share**_CERTAINTY, (1.0 - share) ** _CERTAINTY
    value = (ahead - behind) / (ahead + behind)
    return value if seat == 0 else -value


@jitable
def _any(row, cols):
    """Bits of which the first one of each row is set if any one of that row is; other bits are arbitrary."""
    union = row
    for col in range(1, cols):
        union |= row >> uint64(col)
    return union


@implements(DarkHex)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 2 * game.rows * game.cols)


@implements(DarkHex)
def symmetries(game):
    return (range(game.rows * game.cols - 1, -1, -1),)  # half a turn


@implements(DarkHex)
def how_to_play(game):
    last = text.cell(game.rows * game.cols - 1, game.cols)
    taken = "your turn is over" if game.abrupt else "try another"
    heard = "nobody else notices" if game.tries == _SILENT else "the other hears each try, but not where"
    return f"""Hex on {game.rows} rows of {game.cols} cells, each row half a cell further right than the one above.
Seat 0 is x, begins, and joins the top row to the bottom row. Seat 1 is o and joins the left column to the right one.
A cell touches its neighbours left and right, above and above right, below and below left.
You do not see the other's stones. Write a cell to place a stone, column and row: `a1` to `{last}`.
If the cell is taken you learn that, and {taken}; {heard}."""


@implements(DarkHex)
def why_not(game, world, action):
    seat = _mover(world)
    if bits.has(world[_STONES + seat], action):
        return f"your own stone is on {text.cell(action, game.cols)}"
    return f"{'ox'[seat]} is on {text.cell(action, game.cols)}, as you have found out"


@implements(DarkHex)
def action_names(game, world, action):
    return (text.cell(action, game.cols),)


@implements(DarkHex)
def places(game):
    return [text.cell(i, game.cols) for i in range(game.rows * game.cols)], game.cols


@implements(DarkHex)
def contents(game, world):
    return text.marks(game.rows * game.cols, {"x": world[_STONES], "o": world[_STONES + 1]})


@implements(DarkHex)
def board(game, world):
    return text.grid(game.rows, game.cols, {"x": world[_STONES], "o": world[_STONES + 1]}, slant=1)


@implements(DarkHex)
def view(game, world, seat):
    mine, theirs = "xo" if seat == 0 else "ox"
    goal = "top to bottom" if seat == 0 else "left to right"
    stones = {mine: world[_STONES + seat], theirs: world[_MET + seat]}
    return f"you are {mine}, {goal}\n{text.grid(game.rows, game.cols, stones, slant=1)}"


@implements(DarkHex)
def drawing(game, world, seat):
    stones = [world[_STONES], world[_STONES + 1]]
    if seat is not None:
        stones[1 - seat] = world[_MET + seat]
    names, columns = places(game)
    marks = text.marks(len(names), {"x": stones[0], "o": stones[1]})
    cells = [Cell(mark, actions=(i,) if mark == "." else ()) for i, mark in enumerate(marks)]
    below = "x joins top and bottom, o joins left and right" if seat is None else f"you are {'xo'[seat]}"
    board_ = hexagons(names, columns, cells, MARKS)
    return finished(stacked(board_, [line(LABEL, LINE / 2, below)]), drawing_title(game, seat), MARKS)


@implements(DarkHex)
def observation_text(game, before, action, after, viewer):
    seat = _mover(before)
    if viewer != seat:
        return f"{'xo'[seat]} tries"
    taken = bits.has(before[_STONES + 1 - seat], action)
    return text.cell(action, game.cols) + (" taken" if taken else "")
