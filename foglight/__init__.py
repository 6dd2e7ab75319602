"""foglight plays, solves and measures games in which players cannot see everything."""

from foglight.agents import agent_names, load_agent
from foglight.arena.match import MatchResult, play_match
from foglight.games import game_names, load_game
from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL
from foglight.state import State, new_state
from foglight.version import __version__

__all__ = [
    "CHANCE",
    "NOTHING",
    "PUBLIC",
    "TERMINAL",
    "BadInput",
    "MatchResult",
    "State",
    "__version__",
    "agent_names",
    "game_names",
    "load_agent",
    "load_game",
    "new_state",
    "play_match",
    "random_playouts",
]
