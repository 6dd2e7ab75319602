"""Agents that explain each of their moves at the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from foglight.agents import Agent, View
from foglight.analysis import account, account_text
from foglight.cli._app import out
from foglight.rules import Game


class Explained(Agent):
    """A wrapper of an agent that prints each of its moves and the explanation at the terminal."""

    at_terminal = True

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name, self.remembers = agent, name, agent.remembers

    def __str__(self) -> str:
        return self.name

    def check(self, game: Game) -> None:
        self.agent.check(game)

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.choices: Mapping[int, Sequence[str]] = {}  # empty where nobody reads: at decisions before a resumed game
        self.agent.start(game, seat, seed)

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self.agent.observe(observation)

    def read(self, view: View) -> None:
        self.choices = view.choices
        self.agent.read(view)

    def act(self, actions: Sequence[int] | None = None) -> int:
        action = self.agent.act(actions)
        if not self.choices:
            return action
        out.print(f"\nseat {self.seat}, {self.name}, plays {self.choices[action][0]}")
        if self.agent.gives_reasons:
            tell(account(self.agent, self.choices))
        else:
            out.print("it does not say why")
        return action


def tell(facts: dict[str, Any]) -> None:
    """Print an account of an agent's move."""
    out.print(account_text(facts), soft_wrap=True)
