"""Blind row: two seats mark cells of a row without seeing each other's marks; two neighbouring marks win.

A seat that tries a marked cell learns that it is marked, and tries again. The other seat notices nothing of that, and
of a mark it notices only that its own turn comes. A full row is a draw.

world   word 0: the cells of seat 0; 1: of seat 1; 2 and 3: the cells that each seat has found marked;
        4: the fields below
action  a cell
observe the mover the cell and whether it was free; nobody else anything
"""

from typing import Annotated, NamedTuple

from numpy import uint64

import foglight as fl
from foglight.bits import bit, first_bits, get, has, members, put

MOVER, WINNER = (4, 0, 1), (4, 1, 2)  # the winner plus one, or 3 for a draw
FREE, MARKED = 1, 20  # codes of observations: a cell that was free, a cell that was not


@fl.game
@fl.constants(num_players=2, num_words=5)
class BlindRow(NamedTuple):
    cells: Annotated[int, "cells of the row", fl.Between(2, 16)] = 5


@fl.implements(BlindRow)
def num_actions(game):
    return game.cells


@fl.implements(BlindRow)
def player(game, world):
    return get(world, MOVER) if get(world, WINNER) == 0 else fl.TERMINAL


@fl.implements(BlindRow)
def legal(game, world, out):
    mover = get(world, MOVER)
    return members(first_bits(game.cells) & ~(world[mover] | world[2 + mover]), out)


@fl.implements(BlindRow)
def step(game, world, action):
    mover = get(world, MOVER)
    if has(world[1 - mover], action):
        world[2 + mover] |= bit(action)
        return
    world[mover] |= bit(action)
    if world[mover] & (world[mover] >> uint64(1)):
        put(world, WINNER, mover + 1)
    elif world[0] | world[1] == first_bits(game.cells):
        put(world, WINNER, 3)
    put(world, MOVER, 1 - mover)


@fl.implements(BlindRow)
def observe(game, before, action, after, viewer):
    mover = get(before, MOVER)
    if viewer != mover:
        return fl.NOTHING
    return (MARKED if has(before[1 - mover], action) else FREE) + action


@fl.implements(BlindRow)
def returns(game, world, out):
    winner = get(world, WINNER)
    out[0] = 0.0 if winner == 3 else 1.0 if winner == 1 else -1.0
    out[1] = -out[0]


@fl.implements(BlindRow)
def title(game):
    return f"mark two neighbours in a row of {game.cells} cells, blindly"


@fl.implements(BlindRow)
def action_names(game, world, action):
    return (str(action + 1),)


def drawn(game, marks):
    """The row as text: a letter for each marked cell."""
    return "".join(next((sign for sign, cells in marks if has(cells, i)), ".") for i in range(game.cells))


@fl.implements(BlindRow)
def board(game, world):
    return drawn(game, [("x", world[0]), ("o", world[1])])


@fl.implements(BlindRow)
def view(game, world, seat):
    return drawn(game, [("xo"[seat], world[seat]), ("?", world[2 + seat])])


@fl.implements(BlindRow)
def observation_text(game, before, action, after, viewer):
    return f"{action + 1} is {'marked' if has(before[1 - viewer], action) else 'yours'}"


@fl.implements(BlindRow)
def places(game):
    return [str(i + 1) for i in range(game.cells)], game.cells


@fl.implements(BlindRow)
def contents(game, world):
    return list(board(game, world))
