"""Random playouts: games of uniformly random actions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.randomness import generator, systematic, unit
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    copy_world,
    deal,
    max_legal,
    new_worlds,
    num_players,
    pick,
    player,
    returns,
    step,
)
from foglight.state import State, new_state, state_of


def random_playouts(
    game: str | Game | State,
    games: int = 1_000_000,
    seed: int = 0,
    *,
    rows: Any = None,
    weights: Sequence[float] | np.ndarray | None = None,
) -> tuple[list[float], int]:
    """Play uniformly random games from the start of a game, from a `State`, or from the worlds `rows` of a game.

    The games are spread over the worlds in proportion to `weights`, or evenly: each world gets its share, rounded up
    or down at random. The result is the mean return of each seat, and the number of actions played, outcomes of chance
    included.

        >>> means, steps = fl.random_playouts("kuhn_poker", games=10_000, seed=0)
        >>> len(means), sum(means), 4 * 10_000 <= steps <= 5 * 10_000
        (2, 0.0, True)
        >>> tracker = fl.Tracker("kuhn_poker", seat=0)
        >>> tracker.observe(3)  # the king: it wins every showdown
        >>> worlds = tracker.worlds()
        >>> means, steps = fl.random_playouts("kuhn_poker", games=10_000, rows=worlds.rows, weights=worlds.weights)
        >>> means[0] > 0.5
        True
    """
    if games < 1:
        raise BadInput(f"games must be at least 1, not {games}")
    random = generator(seed)
    if rows is None:
        state = game if isinstance(game, State) else new_state(game)
        rows, counts = [state.world], [games]
    else:
        if isinstance(game, State):
            raise BadInput("give a game with rows, or a state without them")
        rows = rows[None] if isinstance(rows, np.ndarray) and rows.ndim == 1 else rows
        counts = _shares(len(rows), games, weights, random)
        state = state_of(game, rows[0])  # refuses what is not a world
        rows = rows.astype(np.uint64) if isinstance(rows, np.ndarray) else rows
    totals, steps = np.zeros(state.num_players), 0
    for row, count in zip(rows, counts, strict=True):
        if count:
            steps += int(_playouts(state.game, row, count, random, totals))
    return [float(total) / games for total in totals], steps


def _shares(rows: int, games: int, weights: Sequence[float] | np.ndarray | None, random: np.ndarray) -> list[int]:
    """How many games begin at each of the rows."""
    given = np.ones(rows) if weights is None else np.asarray(weights, np.float64)
    if given.shape != (rows,) or not rows or not (given >= 0.0).all() or not 0.0 < given.sum() < np.inf:
        raise BadInput(f"playouts need at least one row and, for each, a weight that is not negative; got {rows} rows")
    starts = np.empty(games, np.int64)
    systematic(given / given.sum(), unit(random), starts)
    shares: list[int] = np.bincount(starts, minlength=rows).tolist()
    return shares


@kernel
def _playouts(game, origin, games, random, totals):
    world = new_worlds(game, 1)[0]
    actions = np.empty(max_legal(game), np.int64)
    odds = np.empty(max_legal(game))
    payoffs = np.empty(num_players(game))
    steps = 0
    for _ in range(games):
        copy_world(game, world, origin)
        steps += play_out(game, world, random, actions, odds)
        returns(game, world, payoffs)
        for seat in range(len(totals)):
            totals[seat] += payoffs[seat]
    return steps


@jitable
def play_out(game, world, random, actions, odds):
    """Play a world to its end at random in place, and return the number of actions."""
    steps = 0
    mover = player(game, world)
    while mover != TERMINAL:
        if mover == CHANCE:
            action = deal(game, world, random, actions, odds)
        else:
            action = pick(game, world, random, actions)
        step(game, world, action)
        steps += 1
        mover = player(game, world)
    return steps
