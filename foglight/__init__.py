"""foglight plays, solves and measures games in which players cannot see everything."""

from foglight.games import game_names, load_game
from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL
from foglight.state import State, new_state

__version__ = "0.1.0"
__all__ = [
    "CHANCE",
    "NOTHING",
    "PUBLIC",
    "TERMINAL",
    "BadInput",
    "State",
    "game_names",
    "load_game",
    "new_state",
    "random_playouts",
]
