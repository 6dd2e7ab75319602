"""Phantom Tic-Tac-Toe: noughts and crosses in which neither seat sees the other's marks.

A seat that tries an occupied cell learns that it is occupied, and tries again; the other seat learns nothing of it. The
rules and the observations are those of OpenSpiel's `phantom_ttt` with its default `reveal-nothing`. With `abrupt=yes`
the try costs the turn. The other seat is not told of that either; it only notices that it is to move.

world   word 0: bits 0-8 crosses, 9-17 noughts, 18-26 noughts that x has run into, 27-35 crosses that o has run into,
        36 the seat to move, 37-38 the winner plus one, or 3 for a draw
action  cell, row by row from the top left: a1 b1 c1 a2 ...
observe the mover the cell and whether it was free; everybody else nothing
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight import bits, text
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import MARKS, Cell, board_drawing, drawing_title
from foglight.names import Variant
from foglight.randomness import below
from foglight.rules import NOTHING, TERMINAL, Bounds, World, game

_MARKS, _MET, _MOVER, _RESULT = 0, 18, 36, 37
_BOARD = 0x1FF
_DRAW = 3
_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
_MEMBERS = np.array([[i for i in range(9) if cells >> i & 1] + [0] * (9 - cells.bit_count()) for cells in range(512)])
_WON = np.array([any(cells & line == line for line in _LINES) for cells in range(512)])
_TERNARY = np.array([sum(3**i for i in range(9) if cells >> i & 1) for cells in range(512)])


def _random_values() -> np.ndarray:
    """By mover and board, what x earns if both play at random; a board is a number in base 3, crosses are ones."""
    boards = np.arange(3**9)
    digits = boards[:, None] // 3 ** np.arange(9) % 3
    won = [_WON[((digits == mark) << np.arange(9)).sum(1)] for mark in (1, 2)]
    values = np.where(won[0], 1.0, np.where(won[1], -1.0, 0.0))[None].repeat(2, 0)
    empty = (digits == 0).sum(1)
    for n in range(1, 10):
        level = boards[(empty == n) & ~won[0] & ~won[1]]
        for mover in range(2):
            after = level[:, None] + (1 + mover) * 3 ** np.arange(9)
            free = digits[level] == 0
            values[mover, level] = np.where(free, values[1 - mover, np.where(free, after, 0)], 0.0).sum(1) / n
    return values


_RANDOM_VALUES = _random_values()


@game
@constants(
    num_players=2,
    num_words=1,
    num_actions=9,
    num_sight_features=18,
    num_recalled=9,  # the order of the seat's tries
    observation_bits=5,
    title="Tic-Tac-Toe; you see your own marks and those you ran into",
)
class PhantomTtt(NamedTuple):
    abrupt: Annotated[int, "whether a try of an occupied cell costs the turn", Variant("no", "yes")] = 0


@jitable
def _cells(world, first_bit, seat):
    return int64(world[0] >> uint64(first_bit + 9 * seat)) & _BOARD


@jitable
def _mover(world):
    return int64(world[0] >> uint64(_MOVER)) & 1


@implements(PhantomTtt)
def player(game, world):
    return TERMINAL if world[0] >> uint64(_RESULT) != uint64(0) else _mover(world)


@jitable
def _untried(world):
    seat = _mover(world)
    return uint64(_BOARD & ~(_cells(world, _MARKS, seat) | _cells(world, _MET, seat)))


@implements(PhantomTtt)
def legal(game, world, out):
    return bits.members(_untried(world), out)


@implements(PhantomTtt)
def legal_bits(game, world, actions, out):
    out[0] = _untried(world)


@implements(PhantomTtt)
def pick(game, world, random, out):
    untried = _untried(world)
    return _MEMBERS[untried, below(random, bits.count(untried))]


@implements(PhantomTtt)
def step(game, world, action):
    seat = _mover(world)
    cell = uint64(1) << uint64(action)
    theirs = _cells(world, _MARKS, 1 - seat)
    if bits.has(uint64(theirs), action):
        world[0] |= cell << uint64(_MET + 9 * seat)
        if game.abrupt:
            world[0] ^= uint64(1) << uint64(_MOVER)
        return
    world[0] |= cell << uint64(_MARKS + 9 * seat)
    world[0] ^= uint64(1) << uint64(_MOVER)
    mine = _cells(world, _MARKS, seat)
    if _WON[mine]:
        world[0] |= uint64(1 + seat) << uint64(_RESULT)
    elif mine | theirs == _BOARD:
        world[0] |= uint64(_DRAW) << uint64(_RESULT)


@implements(PhantomTtt)
def lay_open(game, world):
    marks = world[0] & uint64((1 << _MET) - 1)
    noughts, crosses = marks >> uint64(9), marks & uint64(_BOARD)
    met = noughts | crosses << uint64(9)
    world[0] = marks | met << uint64(_MET) | world[0] >> uint64(_MOVER) << uint64(_MOVER)


@implements(PhantomTtt)
def observe(game, before, action, after, viewer):
    if viewer != _mover(before):
        return NOTHING
    return 1 + 2 * action + (_cells(before, _MARKS, 1 - viewer) >> action & 1)


@implements(PhantomTtt)
def returns(game, world, out):
    result = int64(world[0] >> uint64(_RESULT))
    for seat in range(2):
        out[seat] = 0.0 if result == _DRAW else (1.0 if result == 1 + seat else -1.0)


@implements(PhantomTtt)
def sight_features(game, world, seat, out):
    # by cell, whether the seat's mark is there; whether it has run into the other's
    mine, met = _cells(world, _MARKS, seat), _cells(world, _MET, seat)
    for cell in range(9):
        out[cell] = mine >> cell & 1
        out[9 + cell] = met >> cell & 1


@implements(PhantomTtt)
def evaluation(game, world, seat):
    """The expected payoff if both seats see everything and play at random."""
    board = _TERNARY[_cells(world, _MARKS, 0)] + 2 * _TERNARY[_cells(world, _MARKS, 1)]
    value = _RANDOM_VALUES[_mover(world), board]
    return value if seat == 0 else -value


@implements(PhantomTtt)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 18)


@implements(PhantomTtt)
def symmetries(game):
    turned, mirrored = [2, 5, 8, 1, 4, 7, 0, 3, 6], [2, 1, 0, 5, 4, 3, 8, 7, 6]
    return turned, mirrored


@implements(PhantomTtt)
def how_to_play(game):
    taken = "your turn is over" if game.abrupt else "try another"
    return f"""Three of your marks in a row, a column or a diagonal win. Seat 0 is x and begins, seat 1 is o.
You do not see the other's marks, and do not hear when or how often it tries a cell.
Write a cell, a letter for the column and a number for the row: `b2` is the middle.
If the cell is taken you learn that, and {taken}; nobody else notices."""


@implements(PhantomTtt)
def why_not(game, world, action):
    seat = _mover(world)
    if _cells(world, _MARKS, seat) >> action & 1:
        return f"your own mark is on {text.cell(action, 3)}"
    return f"{'ox'[seat]} is on {text.cell(action, 3)}, as you have found out"


@implements(PhantomTtt)
def action_names(game, world, action):
    return (text.cell(action, 3),)


@implements(PhantomTtt)
def places(game):
    return [text.cell(i, 3) for i in range(9)], 3


@implements(PhantomTtt)
def contents(game, world):
    return text.marks(9, {"x": _cells(world, _MARKS, 0), "o": _cells(world, _MARKS, 1)})


@implements(PhantomTtt)
def board(game, world):
    return text.grid(3, 3, {"x": _cells(world, _MARKS, 0), "o": _cells(world, _MARKS, 1)})


@implements(PhantomTtt)
def view(game, world, seat):
    mine, theirs = "xo" if seat == 0 else "ox"
    return f"you are {mine}\n" + text.grid(3, 3, {mine: _cells(world, _MARKS, seat), theirs: _cells(world, _MET, seat)})


@implements(PhantomTtt)
def drawing(game, world, seat):
    crosses, noughts = _cells(world, _MARKS, 0), _cells(world, _MARKS, 1)
    if seat is not None:  # the seat's own marks, and those that it has run into
        known = _cells(world, _MET, seat)
        crosses, noughts = (crosses, known) if seat == 0 else (known, noughts)
    marks = text.marks(9, {"x": crosses, "o": noughts})
    open_to = _open_cells(world, seat)
    cells = [Cell(mark, actions=(i,) if open_to >> i & 1 else ()) for i, mark in enumerate(marks)]
    below = f"you are {'xo'[seat]}" if seat is not None else "x is seat 0, o is seat 1"
    return board_drawing(places(game)[0], 3, cells, drawing_title(game, seat), MARKS, [below])


def _open_cells(world: World, seat: int | None) -> int:
    """The cells that a seat has not tried; with None, all."""
    tried = 0 if seat is None else _cells(world, _MARKS, seat) | _cells(world, _MET, seat)
    return _BOARD & ~int(tried)


@implements(PhantomTtt)
def observation_text(game, before, action, after, viewer):
    taken = _cells(before, _MARKS, 1 - _mover(before)) >> action & 1
    return text.cell(action, 3) + (" taken" if taken else "")
