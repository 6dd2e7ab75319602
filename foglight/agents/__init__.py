"""Agents: one file each, found by name. An agent gets observations and never a state."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.compile import snake_case
from foglight.games import load_game
from foglight.names import BadInput, Spec, construct, parse_spec, unknown
from foglight.randomness import fold
from foglight.worlds.consistent import legal_actions


class Agent:
    """Somebody who plays: told what its seat observes, asked for an action.

    What it does depends on the game, the seat, the seed and the observations alone, so that an agent to which the same
    observations are replayed goes on as the first one would.
    """

    def start(self, game: Any, seat: int, seed: int) -> None:
        """A new game begins."""
        self.game = load_game(game)
        self.seat = seat
        self.seed = seed
        self.observations: list[int] = []
        self._hash = 0

    def observe(self, observation: int) -> None:
        """The seat learns something, its own actions included."""
        self.observations.append(observation)
        self._hash = fold(self._hash, observation)

    def act(self, actions: Sequence[int] | None = None) -> int:
        """The action to play. The referee passes the legal ones, which the observations determine anyway."""
        raise NotImplementedError

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        """How likely each legal action is at this decision; an agent that only acts is sure of what it does."""
        actions = actions or self.legal_actions()
        chosen = self.act(actions)
        return np.array([float(action == chosen) for action in actions])

    @property
    def key(self) -> int:
        """The identity of the information state, the same as in the worlds of a native game."""
        return fold(self._hash, self.seat)

    def legal_actions(self) -> list[int]:
        """The legal actions, worked out from the observations, for when nobody says."""
        return legal_actions(self.game, self.observations, self.seat)

    def random(self) -> np.ndarray:
        """This decision's random generator, the same whenever seed and information state are."""
        return np.array([fold(self.key, self.seed)], np.uint64)


def agent_names() -> list[str]:
    """The names of the agents, ascending."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def agent_class(name: str) -> type[Agent]:
    """The class of the agent of that name."""
    if name not in agent_names():
        raise BadInput(unknown("agent", name, agent_names()))
    module = importlib.import_module(f"{__name__}.{name}")
    return next(
        value for value in vars(module).values() if isinstance(value, type) and snake_case(value.__name__) == name
    )


def load_agent(agent: str | Spec) -> Agent:
    """The agent of a text such as `epimc(depth=3)`, its options checked."""
    spec = parse_spec(agent) if isinstance(agent, str) else agent
    loaded = construct(agent_class(spec.name), spec)
    assert isinstance(loaded, Agent)
    return loaded
