"""Leaf evaluators: the payoff that each seat can expect in a world of which it knows everything.

A leaf is a NamedTuple that implements the rule `evaluate`; kernels are compiled for its type. It brings its own working
memory, since rules allocate nothing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import has_rule, implements, required
from foglight.names import BadInput
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    bounds,
    chance,
    copy_world,
    deal,
    evaluation,
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
    """Write the expected payoff of each seat in this world into `out`; the world may be changed."""


class Rollout(NamedTuple):
    """One uniformly random game to the end."""

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


class Evaluation(NamedTuple):
    """The game's own rule `evaluation`."""

    total: float  # what the payoffs of two seats sum to; the rule is then asked for seat 0 alone; NaN: for every seat


def own_evaluation(game: Game) -> Evaluation:
    """A leaf that asks the game; an error if the game has no such rule."""
    if not has_rule("evaluation", type(game)):
        raise BadInput(f"{game} has no rule 'evaluation'; give leaf=rollout, or write the rule (docs/writing_games.md)")
    total = bounds(game).total
    return Evaluation(np.nan if total is None or num_players(game) != 2 else float(total))


@implements(Evaluation, "evaluate")
def _ask_game(leaf, game, world, random, out):
    if player(game, world) == TERMINAL:
        returns(game, world, out)
    elif np.isnan(leaf.total):
        for seat in range(num_players(game)):
            out[seat] = evaluation(game, world, seat)
    else:
        out[0] = evaluation(game, world, 0)
        out[1] = leaf.total - out[0]


# Minimax ------------------------------------------------------------------------------------------------------------

_EXACT, _AT_LEAST, _AT_MOST = 1, 2, 3  # kinds of a stored value

_ACTIONS, _NEXT, _AVERAGING = range(3)  # columns of a frame: number of actions, index of the next, 1 if chance moves
_ALPHA, _BETA, _BEST, _ALPHA_ON_ENTRY, _BETA_ON_ENTRY = range(5)  # columns of the bounds
_NODES, _CUT = range(2)  # places of the tally: nodes entered, 1 if the horizon was reached


class Minimax(NamedTuple):
    """The value with perfect information and optimal play of both seats, by alpha-beta with a transposition table.

    Chance nodes are averaged. After `plies` actions one random game stands in for the rest, and no value that depends
    on one is stored. One table serves all evaluations of a search, and may also serve the next search.
    """

    stack: Any  # plies + 1 worlds
    actions: np.ndarray  # int64[plies + 1, max_legal]
    odds: np.ndarray  # float64[plies + 1, max_legal]
    frames: np.ndarray  # int64[plies + 1, 3]: columns _ACTIONS to _AVERAGING
    bounds: np.ndarray  # float64[plies + 1, 5]: columns _ALPHA to _BETA_ON_ENTRY
    keys: np.ndarray  # uint64[a power of 2]: the table, by position
    values: np.ndarray  # float64[the same]
    kinds: np.ndarray  # int8[the same]: the kind of the value, 0 if the slot is free
    room: Rollout
    tally: np.ndarray  # int64[2]: _NODES, _CUT


def minimax(game: Game, plies: int = 64, table: int = 1 << 18) -> Minimax:
    """A minimax leaf; `table` is the number of slots of its table, a power of 2."""
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
    leaf.bounds[0, _ALPHA], leaf.bounds[0, _BETA] = -np.inf, np.inf
    leaf.tally[_CUT] = 0
    level, entering, value = 0, True, 0.0
    while level >= 0:
        node, bounds, frame = leaf.stack[level], leaf.bounds[level], leaf.frames[level]
        mover = player(game, node)
        code = uint64(position(game, node))
        slot = int64(code & mask)
        settled = False
        if entering:
            leaf.tally[_NODES] += 1
            bounds[_ALPHA_ON_ENTRY], bounds[_BETA_ON_ENTRY] = bounds[_ALPHA], bounds[_BETA]
            if mover == TERMINAL:
                returns(game, node, out)
                value, settled = out[0], True
            elif level == plies:
                _roll_out(leaf.room, game, node, random, out)
                value, settled = out[0], True
                leaf.tally[_CUT] = 1
            elif leaf.keys[slot] == code:
                stored, kind = leaf.values[slot], leaf.kinds[slot]
                if (
                    kind == _EXACT
                    or (kind == _AT_LEAST and stored >= bounds[_BETA])
                    or (kind == _AT_MOST and stored <= bounds[_ALPHA])
                ):
                    value, settled = stored, True
            if settled:
                level, entering = level - 1, False
                continue
            frame[_NEXT], frame[_AVERAGING] = 0, 1 if mover == CHANCE else 0
            if mover == CHANCE:
                frame[_ACTIONS] = chance(game, node, leaf.actions[level], leaf.odds[level])
                bounds[_BEST] = 0.0
            else:
                frame[_ACTIONS] = legal(game, node, leaf.actions[level])
                bounds[_BEST] = -np.inf if mover == 0 else np.inf
        else:  # a child has returned its value
            if frame[_AVERAGING] == 1:
                bounds[_BEST] += leaf.odds[level, frame[_NEXT] - 1] * value
            elif mover == 0:
                bounds[_BEST] = max(bounds[_BEST], value)
                bounds[_ALPHA] = max(bounds[_ALPHA], value)
            else:
                bounds[_BEST] = min(bounds[_BEST], value)
                bounds[_BETA] = min(bounds[_BETA], value)
        if frame[_NEXT] == frame[_ACTIONS] or (frame[_AVERAGING] == 0 and bounds[_ALPHA] >= bounds[_BETA]):
            value = bounds[_BEST]
            if leaf.tally[_CUT] == 0:
                kind = _EXACT
                if frame[_AVERAGING] == 0 and value >= bounds[_BETA_ON_ENTRY]:
                    kind = _AT_LEAST
                elif frame[_AVERAGING] == 0 and value <= bounds[_ALPHA_ON_ENTRY]:
                    kind = _AT_MOST
                leaf.keys[slot], leaf.values[slot], leaf.kinds[slot] = code, value, kind
            level, entering = level - 1, False
            continue
        below_ = leaf.stack[level + 1]
        copy_world(game, below_, node)
        step(game, below_, leaf.actions[level, frame[_NEXT]])
        lay_open(game, below_)
        frame[_NEXT] += 1
        further = leaf.bounds[level + 1]
        further[_ALPHA], further[_BETA] = (
            (-np.inf, np.inf) if frame[_AVERAGING] == 1 else (bounds[_ALPHA], bounds[_BETA])
        )
        level, entering = level + 1, True
    out[0], out[1] = value, -value
