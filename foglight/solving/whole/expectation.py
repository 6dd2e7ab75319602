"""Exact expected payoffs when every seat follows one policy, computed from all histories that can follow."""

from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.names import BadInput
from foglight.policies import weigh
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    chance,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    returns,
    transition,
)


def expected_returns(game: Game, policy: Any, worlds: np.ndarray, depth: int = 64) -> np.ndarray:
    """Each seat's expected payoff from each world, float64[n, seats]; games may last `depth` more actions at most."""
    out = np.zeros((len(worlds), num_players(game)))
    if not _expected_returns(game, policy, worlds, depth, out):
        raise BadInput(f"games go on for more than {depth} actions; give a greater depth")
    return out


@kernel
def _expected_returns(game, policy, worlds, depth, out):
    """Depth-first traversal with an explicit stack; False if a game is not over after `depth` actions.

    Each level holds a world, its actions with their probabilities, the next action to take, and the world's reach
    probability (`share`).
    """
    stack = new_worlds(game, depth + 1)
    actions = np.empty((depth + 1, max_legal(game)), np.int64)
    odds = np.empty((depth + 1, max_legal(game)))
    sizes, nexts = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    share, payoffs = np.ones(depth + 1), np.zeros(num_players(game))
    for w in range(len(worlds)):
        stack[0, :] = worlds[w]
        level, fresh = 0, True
        while level >= 0:
            if fresh:
                mover = player(game, stack[level])
                sizes[level], nexts[level] = 0, 0
                if mover == TERMINAL:
                    returns(game, stack[level], payoffs)
                    for seat in range(len(payoffs)):
                        out[w, seat] += share[level] * payoffs[seat]
                elif level == depth:
                    return False
                elif mover == CHANCE:
                    sizes[level] = chance(game, stack[level], actions[level], odds[level])
                else:
                    sizes[level] = legal(game, stack[level], actions[level])
                    weigh(policy, game, stack[level], mover, actions[level], sizes[level], odds[level])
            i = nexts[level]
            fresh = i < sizes[level]
            if fresh:
                nexts[level] += 1
                share[level + 1] = share[level] * odds[level, i]
                transition(game, stack[level], actions[level, i], stack[level + 1])
                level += 1
            else:
                level -= 1
    return True
