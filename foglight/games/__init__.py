"""The games: one file each, found by name. `dark_hex.py` has the class `DarkHex` and its rules."""

import functools
import importlib
import pkgutil
import sys
from typing import Any

from foglight.compile import has_rule, snake_case
from foglight.names import BadInput, Spec, checked, construct, parse_spec, unknown
from foglight.rules import Game, check


def game_names() -> list[str]:
    """The names of the games, ascending.

    >>> [name for name in fl.game_names() if "poker" in name]
    ['kuhn_poker', 'leduc_poker']
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load_game(game: Game) -> Any:
    """The game described by a text such as `dark_hex(rows=4,cols=4)`, or the given game; parameters are checked.

    >>> game = fl.load_game("dark_hex(rows=4)")
    >>> game.rows, game.cols, str(game)
    (4, 4, 'dark_hex(rows=4,cols=4)')
    >>> fl.load_game("dark_hex(rows=99)")
    Traceback (most recent call last):
    foglight.names.BadInput: dark_hex: rows must be from 1 to 8, not 99
    """
    if isinstance(game, str):
        spec = parse_spec(game)
        if ":" in spec.name:
            bridge, _, name = spec.name.partition(":")
            return _bridge(bridge).load(Spec(name, spec.arguments))
        return _checked(construct(game_class(spec.name), spec))
    if is_openspiels("Game", game):
        return importlib.import_module("foglight.bridges.openspiel").game_of(game)
    if not has_rule("num_players", type(game)):
        raise BadInput(f"{game!r} is not a game; give its text, such as 'kuhn_poker', or an instance of its class")
    return _checked(game) if isinstance(game, tuple) else game


def is_openspiels(kind: str, thing: Any) -> bool:
    """Whether a thing is a `Game` or a `State` of OpenSpiel, which nobody needs to import to find that out."""
    pyspiel = sys.modules.get("pyspiel")
    return pyspiel is not None and isinstance(thing, vars(pyspiel)[kind])


def _bridge(name: str) -> Any:
    """The bridge module of this name. It is imported by name, so that this module does not depend on it."""
    from foglight import bridges

    names = sorted(module.name for module in pkgutil.iter_modules(bridges.__path__))
    if name not in names:
        raise BadInput(unknown("bridge", name, names))
    return importlib.import_module(f"{bridges.__name__}.{name}")


def game_class(name: str) -> type:
    """The class of the game of that name."""
    if name not in game_names():
        raise BadInput(unknown("game", name, game_names()))
    module = importlib.import_module(f"{__name__}.{name}")
    return next(
        value for value in vars(module).values() if isinstance(value, type) and snake_case(value.__name__) == name
    )


@functools.cache
def _checked(game: Any) -> Game:
    # values are converted to the declared type: with 4.0 for 4, Numba would compile the same game again
    same = checked(type(game), snake_case(type(game).__name__), game._asdict())
    check(same)
    return same
