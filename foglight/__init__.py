"""foglight plays, solves and measures games in which players cannot see everything."""

from typing import Any

from foglight.agent_policies import agent_policy
from foglight.agents import agent_names, load_agent
from foglight.arena.match import MatchResult, play_match
from foglight.games import game_names, load_game
from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL
from foglight.solving.whole.solved import Solved
from foglight.solving.whole.solver import best_response, exploitability, game_value, nash_conv, policy_values, solve
from foglight.state import State, new_state
from foglight.version import __version__
from foglight.worlds.filter import HistoryFilter, history_filter
from foglight.worlds.sparsity import public_state_sizes


def as_openspiel_bot(agent: str, game: Any, seat: int, seed: int = 0) -> Any:
    """An agent as a `pyspiel.Bot` for OpenSpiel's own loops, which looks at its seat's observations only."""
    from foglight.bridges import openspiel  # says what to install, if OpenSpiel is not there
    from foglight.bridges.openspiel_bot import AgentBot

    assert openspiel
    return AgentBot(agent, game, seat, seed)


__all__ = [
    "CHANCE",
    "NOTHING",
    "PUBLIC",
    "TERMINAL",
    "BadInput",
    "HistoryFilter",
    "MatchResult",
    "Solved",
    "State",
    "__version__",
    "agent_names",
    "agent_policy",
    "as_openspiel_bot",
    "best_response",
    "exploitability",
    "game_names",
    "game_value",
    "history_filter",
    "load_agent",
    "load_game",
    "nash_conv",
    "new_state",
    "play_match",
    "policy_values",
    "public_state_sizes",
    "random_playouts",
    "solve",
]
