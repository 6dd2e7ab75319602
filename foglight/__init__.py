"""foglight plays, solves and measures games in which players cannot see everything."""

from typing import Any

from foglight.agents import agent_names, load_agent
from foglight.arena.match import MatchResult, play_match
from foglight.games import game_names, load_game
from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL
from foglight.state import State, new_state
from foglight.version import __version__
from foglight.worlds.filter import HistoryFilter, history_filter


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
    "State",
    "__version__",
    "agent_names",
    "as_openspiel_bot",
    "game_names",
    "history_filter",
    "load_agent",
    "load_game",
    "new_state",
    "play_match",
    "random_playouts",
]
