"""Two bots that play any game."""

from dataclasses import dataclass
from typing import Annotated

import foglight as fl


@dataclass
class Greedy(fl.Agent):
    """plays the highest legal action, or the lowest"""

    low: Annotated[bool, "whether it plays the lowest"] = False

    def act(self, actions=None):
        actions = actions or self.legal_actions()
        return actions[0] if self.low else actions[-1]


@dataclass
class Prober(fl.Agent):
    """plays the action after which random games end best, in worlds that agree with what it has observed"""

    worlds: Annotated[int, "worlds that are looked at", fl.Between(1, 1000)] = 20
    games: Annotated[int, "random games per world and action", fl.Between(1, 1000)] = 20

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.tracker = fl.Tracker(self.game, seat, seed=seed)

    def observe(self, observation):
        super().observe(observation)
        self.tracker.observe(observation)

    def act(self, actions=None):
        actions = actions or self.legal_actions()
        belief = self.tracker.worlds()
        likeliest = belief.weights.argsort()[-self.worlds :]
        totals = dict.fromkeys(actions, 0.0)
        for i in likeliest:
            for action in actions:
                state = fl.state_of(self.game, belief.rows[i])
                state.play(action)
                means, _ = fl.random_playouts(state, games=self.games, seed=self.seed)
                totals[action] += belief.weights[i] * means[self.seat]
        return max(actions, key=totals.get)
