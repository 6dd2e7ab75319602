"""A policy for weighing worlds: seats prefer actions after which the game's own `evaluation` is better for them.

    probability of an action = (1 - DOUBT) * exp(value / SHARPNESS) / sum + DOUBT / number of actions

The value is the mover's evaluation of the world after the action, or its payoff if the game is over, in units of the
largest payoff. The mover is taken to see the whole world, so this is no policy that a seat could play. It says which
worlds a careful player would rather have led to, and that is far better than nothing: docs/results/search.md.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from foglight.compile import implements
from foglight.rules import (
    TERMINAL,
    Game,
    bounds,
    copy_world,
    evaluation,
    new_worlds,
    num_players,
    player,
    returns,
    step,
)

SHARPNESS, DOUBT = 0.05, 0.1


class Sensible(NamedTuple):
    """How a careful player chooses, who sees everything and looks one action ahead."""

    scale: float  # of payoffs
    world: Any  # uint64[1, W]: working memory
    payoffs: np.ndarray  # float64[seats]: working memory


def sensible(game: Game) -> Sensible:
    """The policy for a game that has the rule `evaluation`."""
    limits = bounds(game)
    scale = max(abs(limits.low), abs(limits.high))
    return Sensible(float(scale if np.isfinite(scale) else 1.0), new_worlds(game, 1), np.zeros(num_players(game)))


@implements(Sensible, "weigh")
def _weigh(policy, game, world, seat, actions, n, out):
    after, best = policy.world[0], -np.inf
    for i in range(n):
        copy_world(game, after, world)
        step(game, after, actions[i])
        if player(game, after) == TERMINAL:
            returns(game, after, policy.payoffs)
            out[i] = policy.payoffs[seat] / policy.scale
        else:
            out[i] = evaluation(game, after, seat) / policy.scale
        best = max(best, out[i])
    total = 0.0
    for i in range(n):
        out[i] = math.exp((out[i] - best) / SHARPNESS)
        total += out[i]
    for i in range(n):
        out[i] = (1.0 - DOUBT) * out[i] / total + DOUBT / n
