"""Values of public belief states under uniformly random play: an evaluator without a network."""

from collections.abc import Sequence

import numpy as np

from foglight.compile import kernel
from foglight.playouts import play_out
from foglight.randomness import generator
from foglight.rules import copy_world, max_legal, new_worlds, num_players, returns
from foglight.solving.depth_limited.public import PublicState
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.whole.sequences import Ranges


class RandomPlay(Evaluator):
    """An evaluator that averages the payoffs of `games` random games from every history."""

    def __init__(self, games: int = 8, seed: int = 0) -> None:
        self._games, self._seed = games, seed

    def start(self, publics: Sequence[PublicState]) -> None:
        super().start(publics)
        self._worth = []  # by public state, float64[n, seats]: chance probability times mean payoff
        for public in publics:
            means = np.zeros((len(public.rows), num_players(public.game)))
            _mean(public.game, public.rows, self._games, generator(self._seed + (public.key >> 1)), means)
            self._worth.append(means * public.chance[:, None])

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        return [
            _counterfactual(public, worth, by_seat)
            for public, worth, by_seat in zip(self.publics, self._worth, ranges, strict=True)
        ]


def _counterfactual(public: PublicState, worth: np.ndarray, ranges: Ranges) -> list[np.ndarray]:
    """By seat, the counterfactual values of its information states."""
    reach = np.stack([own[states] for own, states in zip(ranges, public.states.T, strict=True)], 1)
    values = []
    for seat, keys in enumerate(public.keys):
        others = np.delete(reach, seat, 1).prod(1)
        values.append(np.bincount(public.states[:, seat], worth[:, seat] * others, len(keys)))
    return values


@kernel
def _mean(game, rows, games, random, means):
    """Add each seat's mean payoff in random games from each row to `means`."""
    world, payoffs = new_worlds(game, 1)[0], np.empty(means.shape[1])
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(rows)):
        for _ in range(games):
            copy_world(game, world, rows[i])
            play_out(game, world, random, actions, odds)
            returns(game, world, payoffs)
            for seat in range(len(payoffs)):
                means[i, seat] += payoffs[seat] / games
