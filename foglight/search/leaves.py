"""Leaf evaluators: what a world is worth to each seat if all cards lay open.

A leaf is a NamedTuple that implements the rule `evaluate`; kernels are compiled for its type. It brings the room it
works in, since rules allocate nothing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import implements, required
from foglight.names import BadInput
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    chance,
    copy_world,
    deal,
    lay_open,
    legal,
    max_legal,
    new_worlds,
    num_players,
    pick,
    player,
    position,
    returns,
    step,
)


@required
def evaluate(leaf: Any, game: Game, world: Any, random: Any, out: Any) -> None:
    """Write what each seat can expect in this world into `out`; the world may be changed."""


class Rollout(NamedTuple):
    """One random game to the end."""

    actions: np.ndarray  # int64[max_legal]
    odds: np.ndarray  # float64[max_legal]


def rollout(game: Game) -> Rollout:
    return Rollout(np.empty(max_legal(game), np.int64), np.empty(max_legal(game)))


@implements(Rollout, "evaluate")
def _roll_out(leaf, game, world, random, out):
    lay_open(game, world)
    mover = player(game, world)
    while mover != TERMINAL:
        if mover == CHANCE:
            step(game, world, deal(game, world, random, leaf.actions, leaf.odds))
        else:
            step(game, world, pick(game, world, random, leaf.actions))
        mover = player(game, world)
    returns(game, world, out)


# Minimax ------------------------------------------------------------------------------------------------------------

_EXACT, _AT_LEAST, _AT_MOST = 1, 2, 3


class Minimax(NamedTuple):
    """The value with all cards open and both seats playing best, by alpha-beta with a table of positions.

    Chance is averaged over. After `plies` further actions one random game stands for the rest, and nothing that rests
    on it is remembered. One table serves all evaluations of a search, and may go on to serve the next.
    """

    stack: Any  # worlds, one for each ply and one more
    actions: np.ndarray  # int64[plies + 1, max_legal]
    odds: np.ndarray  # float64[plies + 1, max_legal]
    frames: np.ndarray  # int64[plies + 1, 3]: actions, the next of them, whether chance moves
    bounds: np.ndarray  # float64[plies + 1, 5]: alpha, beta, best so far, alpha and beta on entry
    keys: np.ndarray  # uint64[a power of 2]
    values: np.ndarray  # float64[the same]
    kinds: np.ndarray  # int8[the same]: what the value is; 0: nothing
    room: Rollout
    tally: np.ndarray  # int64[2]: nodes, and 1 if the horizon was met


def minimax(game: Game, plies: int = 64, table: int = 1 << 18) -> Minimax:
    """`table` is how many positions are remembered, a power of 2."""
    if num_players(game) != 2:
        raise BadInput(f"minimax leaves are for two seats; {game} has {num_players(game)}")
    return Minimax(
        new_worlds(game, plies + 1),
        np.empty((plies + 1, max_legal(game)), np.int64),
        np.empty((plies + 1, max_legal(game))),
        np.zeros((plies + 1, 3), np.int64),
        np.zeros((plies + 1, 5)),
        np.zeros(table, np.uint64),
        np.zeros(table),
        np.zeros(table, np.int8),
        rollout(game),
        np.zeros(2, np.int64),
    )


@implements(Minimax, "evaluate")
def _search_minimax(leaf, game, world, random, out):
    mask, plies = uint64(len(leaf.keys) - 1), len(leaf.frames) - 1
    copy_world(game, leaf.stack[0], world)
    lay_open(game, leaf.stack[0])
    leaf.bounds[0, 0], leaf.bounds[0, 1] = -np.inf, np.inf
    leaf.tally[1] = 0
    level, entering, value = 0, True, 0.0
    while level >= 0:
        node, bounds, frame = leaf.stack[level], leaf.bounds[level], leaf.frames[level]
        mover = player(game, node)
        code = uint64(position(game, node))
        slot = int64(code & mask)
        settled = False
        if entering:
            leaf.tally[0] += 1
            bounds[3], bounds[4] = bounds[0], bounds[1]
            if mover == TERMINAL:
                returns(game, node, out)
                value, settled = out[0], True
            elif level == plies:
                _roll_out(leaf.room, game, node, random, out)
                value, settled = out[0], True
                leaf.tally[1] = 1
            elif leaf.keys[slot] == code:
                known, kind = leaf.values[slot], leaf.kinds[slot]
                if (
                    kind == _EXACT
                    or (kind == _AT_LEAST and known >= bounds[1])
                    or (kind == _AT_MOST and known <= bounds[0])
                ):
                    value, settled = known, True
            if settled:
                level, entering = level - 1, False
                continue
            frame[1], frame[2] = 0, 1 if mover == CHANCE else 0
            if mover == CHANCE:
                frame[0] = chance(game, node, leaf.actions[level], leaf.odds[level])
                bounds[2] = 0.0
            else:
                frame[0] = legal(game, node, leaf.actions[level])
                bounds[2] = -np.inf if mover == 0 else np.inf
        else:  # a child has come back with its value
            if frame[2] == 1:
                bounds[2] += leaf.odds[level, frame[1] - 1] * value
            elif mover == 0:
                bounds[2] = max(bounds[2], value)
                bounds[0] = max(bounds[0], value)
            else:
                bounds[2] = min(bounds[2], value)
                bounds[1] = min(bounds[1], value)
        if frame[1] == frame[0] or (frame[2] == 0 and bounds[0] >= bounds[1]):
            value = bounds[2]
            if leaf.tally[1] == 0:
                kind = _EXACT
                if frame[2] == 0 and value >= bounds[4]:
                    kind = _AT_LEAST
                elif frame[2] == 0 and value <= bounds[3]:
                    kind = _AT_MOST
                leaf.keys[slot], leaf.values[slot], leaf.kinds[slot] = code, value, kind
            level, entering = level - 1, False
            continue
        below_ = leaf.stack[level + 1]
        copy_world(game, below_, node)
        step(game, below_, leaf.actions[level, frame[1]])
        lay_open(game, below_)
        frame[1] += 1
        further = leaf.bounds[level + 1]
        further[0], further[1] = (-np.inf, np.inf) if frame[2] == 1 else (bounds[0], bounds[1])
        level, entering = level + 1, True
    out[0], out[1] = value, -value
