"""Perfect information Monte Carlo as published [Long2010; Arjonilla2024, Algorithm 1]: every action in every world."""

import numpy as np

from foglight.compile import kernel
from foglight.randomness import systematic, unit
from foglight.rules import legal, max_legal, new_worlds, num_players, player, transition
from foglight.search.leaves import evaluate


@kernel
def try_every_action(game, leaf, rows, weights, random, n, sums):
    """Play every action in n worlds and evaluate the world after it; add the mover's payoffs to `sums`, by action.

    `weights` sum to 1. Worlds are drawn by systematic sampling, so that each occurs in proportion to its weight.
    """
    room = new_worlds(game, 1)
    actions, payoffs = np.empty(max_legal(game), np.int64), np.empty(num_players(game))
    worlds = np.empty(n, np.int64)
    systematic(weights, unit(random), worlds)
    for w in worlds:
        seat = player(game, rows[w])
        for k in range(legal(game, rows[w], actions)):
            transition(game, rows[w], actions[k], room[0])
            evaluate(leaf, game, room[0], random, payoffs)
            sums[k] += payoffs[seat]


@kernel
def every_child(game, rows, weights, random, n, k):
    """The worlds after each of the k actions in n worlds, one world's after the other's, drawn likewise."""
    children, actions = new_worlds(game, n * k), np.empty(max_legal(game), np.int64)
    worlds = np.empty(n, np.int64)
    systematic(weights, unit(random), worlds)
    for i in range(n):
        legal(game, rows[worlds[i]], actions)
        for j in range(k):
            transition(game, rows[worlds[i]], actions[j], children[i * k + j])
    return children


@kernel
def try_action(game, leaf, rows, weights, action, random, n, totals):
    """Play one action in n worlds and evaluate the world after it; add the mover's payoffs and their squares to totals.

    Worlds are drawn as in `try_every_action`. The action must be legal in all of them, and the same seat to move.
    """
    room, payoffs = new_worlds(game, 1), np.empty(num_players(game))
    worlds = np.empty(n, np.int64)
    systematic(weights, unit(random), worlds)
    for w in worlds:
        seat = player(game, rows[w])
        transition(game, rows[w], action, room[0])
        evaluate(leaf, game, room[0], random, payoffs)
        totals[0] += payoffs[seat]
        totals[1] += payoffs[seat] * payoffs[seat]
