"""Plays any legal action, each as likely as the others."""

from collections.abc import Sequence

from foglight.agents import Agent
from foglight.randomness import below


class Random(Agent):
    """any legal action, each as likely"""

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = actions or self.legal_actions()
        return actions[below(self.random(), len(actions))]
