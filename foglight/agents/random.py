"""The agent that plays a uniformly random legal action."""

from collections.abc import Sequence

import numpy as np

from foglight.agents import Agent
from foglight.policies import Uniform
from foglight.randomness import below
from foglight.rules import Game


class Random(Agent):
    """Plays a uniformly random legal action."""

    strength = "a beginner: any legal move"

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = actions or self.legal_actions()
        return actions[below(self.random(), len(actions))]

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        actions = actions or self.legal_actions()
        return np.full(len(actions), 1.0 / len(actions))

    def exact_policy(self, game: Game) -> Uniform:
        return Uniform()
