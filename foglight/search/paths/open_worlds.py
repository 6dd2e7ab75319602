"""Perfect information Monte Carlo as published [Long2010; Arjonilla2024, Algorithm 1]: each action in each world."""

import numpy as np

from foglight.compile import kernel
from foglight.randomness import unit
from foglight.rules import legal, max_legal, new_worlds, num_players, player, transition
from foglight.search.leaves import evaluate


@kernel
def try_every_action(game, leaf, rows, weights, random, n, sums):
    """In n worlds, taken by weight, play each action and evaluate what follows: add the mover's payoffs to `sums`.

    `weights` add up to 1. Worlds are taken by systematic sampling, so that each comes as often as its weight says.
    """
    room = new_worlds(game, 1)
    actions, payoffs = np.empty(max_legal(game), np.int64), np.empty(num_players(game))
    w, done = 0, weights[0]
    wanted = unit(random) / n
    for _ in range(n):
        while done <= wanted and w + 1 < len(rows):
            w += 1
            done += weights[w]
        wanted += 1.0 / n
        seat = player(game, rows[w])
        for k in range(legal(game, rows[w], actions)):
            transition(game, rows[w], actions[k], room[0])
            evaluate(leaf, game, room[0], random, payoffs)
            sums[k] += payoffs[seat]
