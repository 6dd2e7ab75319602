"""The referee: the only holder of the true world. Agents are told what their seat observes, and asked to act."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foglight.agents import Agent
from foglight.randomness import generator, weighted
from foglight.rules import CHANCE, TERMINAL
from foglight.state import State


class IllegalAction(RuntimeError):
    """An agent broke the rules; the message says who, when and how."""


@dataclass(frozen=True)
class Record:
    """One finished game."""

    returns: tuple[float, ...]  # per seat
    actions: tuple[int, ...]  # outcomes of chance included


def play_game(game: Any, agents: Sequence[Agent], seed: int, number: int = 0) -> tuple[Record, State]:
    """Play one game with an agent on each seat; everything random in it follows from the seed and the game's number."""
    state = State(game)
    nature = generator(seed, number, 0)
    for seat, agent in enumerate(agents):
        agent.start(state.game, seat, int(generator(seed, number, 1 + seat)[0]))
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
