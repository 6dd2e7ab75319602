"""The agent that plays the lowest legal action: without chance, and easy to follow in a test."""

from collections.abc import Sequence

from foglight.agents import Agent


class FirstLegal(Agent):
    """Plays the lowest legal action; for tests."""

    strength = "no opponent: always the first move"

    def act(self, actions: Sequence[int] | None = None) -> int:
        return (actions or self.legal_actions())[0]
