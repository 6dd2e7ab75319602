"""The games: one file each, found by name. `dark_hex.py` has the class `DarkHex` and its rules."""

import difflib
import functools
import importlib.util
import sys
from typing import Any

from foglight.addresses import GAMES, class_text, is_from_file, named_class, names_of
from foglight.compile import has_rule
from foglight.names import BadInput, Spec, checked, construct, parse_spec, unknown
from foglight.rules import Game, check

_BRIDGES = ("openspiel",)  # modules of foglight.bridges that load games; by name, since games do not depend on them

_FILE = "efg:"


def game_names() -> list[str]:
    """The names of the games, ascending: the native ones, and those that installed packages offer.

    >>> [name for name in fl.game_names() if "poker" in name]
    ['kuhn_poker', 'leduc_poker']
    """
    return names_of(GAMES)


def load_game(game: Game) -> Any:
    """The game described by a text such as `dark_hex(rows=4,cols=4)`, or the given game; parameters are checked.

    A game of your own is given as an instance or as `package.module:Class(options)`, one of OpenSpiel as
    `openspiel:NAME`, one in a file of Gambit as `efg:PATH`.

        >>> game = fl.load_game("dark_hex(rows=4)")
        >>> game.rows, game.cols, str(game)
        (4, 4, 'dark_hex(rows=4,cols=4)')
        >>> fl.load_game("dark_hex(rows=99)")
        Traceback (most recent call last):
        foglight.names.BadInput: dark_hex: rows must be from 1 to 8, not 99
    """
    if isinstance(game, str):
        if game.startswith(_FILE):  # whatever a path consists of, it needs no quotes
            game = str(Spec("efg", (("file", game.removeprefix(_FILE)),)))
        spec = parse_spec(game)
        bridge, _, name = spec.name.partition(":")
        if name and bridge in _BRIDGES:
            return importlib.import_module(f"foglight.bridges.{bridge}").load(Spec(name, spec.arguments))
        alike = name and "." not in bridge and difflib.get_close_matches(bridge, _BRIDGES)
        if alike and importlib.util.find_spec(bridge) is None:
            raise BadInput(unknown("bridge", bridge, _BRIDGES))
        return _loaded(construct(game_class(spec.name), spec))
    if isinstance(game, type):
        raise BadInput(f"{game.__name__} is a class; give an instance of it, such as {game.__name__}()")
    if is_openspiels("Game", game):
        return importlib.import_module("foglight.bridges.openspiel").game_of(game)
    return _loaded(game)


def _loaded(game: Any) -> Any:
    if not has_rule("num_players", type(game)):
        raise BadInput(f"{game!r} is not a game; give its text, such as 'kuhn_poker', or an instance of its class")
    if not isinstance(game, tuple) or is_from_file(type(game)):  # a file may have changed since it was read
        return game
    return _checked(game)


def is_openspiels(kind: str, thing: Any) -> bool:
    """Whether a thing is a `Game` or a `State` of OpenSpiel, which nobody needs to import to find that out."""
    pyspiel = sys.modules.get("pyspiel")
    return pyspiel is not None and isinstance(thing, vars(pyspiel)[kind])


def game_class(name: str) -> type:
    """The class of the game of that name or address."""
    return named_class(GAMES, name)


@functools.cache
def _checked(game: Any) -> Game:
    # values are converted to the declared type: with 4.0 for 4, Numba would compile the same game again
    same = checked(type(game), class_text(type(game)), game._asdict())
    check(same)
    return same
