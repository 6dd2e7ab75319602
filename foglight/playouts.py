"""Random playouts: games of uniformly random actions."""

import numpy as np

from foglight.compile import jitable, kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import generator
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
from foglight.state import State, new_state


def random_playouts(game: str | Game, games: int = 1_000_000, seed: int = 0) -> tuple[list[float], int]:
    """Play uniformly random games from the start or from a `State`.

    The result is the mean return of each seat, and the number of actions played, outcomes of chance included.

        >>> means, steps = fl.random_playouts("kuhn_poker", games=10_000, seed=0)
        >>> len(means), sum(means), 4 * 10_000 <= steps <= 5 * 10_000
        (2, 0.0, True)
    """
    if games < 1:
        raise BadInput(f"games must be at least 1, not {games}")
    state = game if isinstance(game, State) else new_state(load_game(game))
    totals = np.zeros(state.num_players)
    steps = _playouts(state.game, state.world, games, generator(seed), totals)
    return [float(total) / games for total in totals], int(steps)


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
