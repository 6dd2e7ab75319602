"""The referee: the only holder of the true world. Agents are told what their seat observes, and asked to act."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foglight.agents import Agent
from foglight.randomness import weighted
from foglight.rules import CHANCE, TERMINAL
from foglight.state import State


class IllegalAction(RuntimeError):
    """An agent broke the rules; the message says who, when and how."""


@dataclass(frozen=True)
class Record:
    """One finished game."""

    returns: tuple[float, ...]  # per seat
    actions: tuple[int, ...]  # outcomes of chance included


def play_game(game: Any, agents: Sequence[Agent], seed: Sequence[int]) -> tuple[Record, State]:
    """Play one game with an agent on each seat; everything random in it follows from the seed."""
    state = State(game)
    words = np.random.SeedSequence(list(seed)).generate_state(1 + state.num_players, np.uint64)
    nature, seat_seeds = words[:1], [int(word >> np.uint64(1)) for word in words[1:]]
    for seat, agent in enumerate(agents):
        agent.start(state.game, seat, seat_seeds[seat])
    told = [0] * state.num_players
    while state.player != TERMINAL:
        if state.player == CHANCE:
            outcomes = state.chance()
            action = outcomes[weighted(nature, [odds for _, odds in outcomes], len(outcomes))][0]
        else:
            action = _ask(agents[state.player], state)
        state.play(action)
        for seat, agent in enumerate(agents):
            observed = state.observations(seat)
            for observation in observed[told[seat] :]:
                agent.observe(observation)
            told[seat] = len(observed)
    return Record(tuple(state.returns()), tuple(state.history())), state


def _ask(agent: Agent, state: State) -> int:
    actions = state.actions()
    if hasattr(agent, "read"):
        agent.read(state.information(state.player), state.choices())
    action = agent.act(list(actions))
    if action not in actions:
        raise IllegalAction(
            f"{type(agent).__name__} on seat {state.player} played {action!r} after {len(state.history())} actions, "
            f"where only {actions} are legal"
        )
    return int(action)
