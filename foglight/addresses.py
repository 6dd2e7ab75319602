"""Classes of games and agents by their text: native names, names offered by installed packages, and addresses.

An address is `package.module:Class`. Whatever can be imported can be named so. A package that is installed may also
offer shorter names, as entry points of the groups `foglight.games` and `foglight.agents`:

    [project.entry-points."foglight.games"]
    hidden_coin = "mypackage.games:HiddenCoin"
"""

import functools
import hashlib
import importlib.util
import inspect
import pickle
import pkgutil
import sys
from typing import Any

from foglight.compile import snake_case
from foglight.names import BadInput, Spec, as_written, is_variant, type_hints, unknown

GAMES, AGENTS = "foglight.games", "foglight.agents"  # our packages of this kind, and the groups of entry points

# Classes of games that are read from files: they have no game by default, so `game_names` does not list them.
FROM_FILES = {"efg": "foglight.bridges.efg:Efg"}
_PLAIN = (bool, int, float, str, list, tuple, Spec)  # values that the text form can write


@functools.cache
def native_names(package: str) -> tuple[str, ...]:
    """The names of the modules in one of our packages, ascending; each holds the class of its name."""
    modules = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


@functools.cache
def installed(group: str) -> dict[str, str]:
    """The addresses of the classes that installed packages offer, by name; a native name cannot be taken."""
    from importlib.metadata import entry_points  # takes as long to import as half of this library

    offers = sorted((point.name, point.value) for point in entry_points(group=group))
    return {name: address for name, address in offers if name not in native_names(group)}


def names_of(group: str) -> list[str]:
    """All names of this kind, ascending: native ones, and those that installed packages offer."""
    return sorted({*native_names(group), *installed(group)})


def named_class(group: str, name: str) -> type:
    """The class of this name or address."""
    what = group.rpartition(".")[2].removesuffix("s")
    if ":" in name:
        return _imported(what, name)
    if name in native_names(group):
        module = importlib.import_module(f"{group}.{name}")
        return next(
            value for value in vars(module).values() if isinstance(value, type) and snake_case(value.__name__) == name
        )
    if name in installed(group):
        return _imported(what, installed(group)[name])
    if group == GAMES and name in FROM_FILES:
        return _imported(what, FROM_FILES[name])
    if name not in sys.stdlib_module_names and importlib.util.find_spec(name.partition(".")[0]) is not None:
        raise BadInput(f"unknown {what} {name!r}; write {name.removesuffix('.py')}:Class for one of that module")
    if "." in name:
        raise BadInput(f"unknown {what} {name!r}; write package.module:Class for one of your own")
    raise BadInput(unknown(what, name, names_of(group)))


def _imported(what: str, address: str) -> type:
    """The class at `package.module:Class`."""
    module_name, _, path = address.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        missing = getattr(error, "name", None) or module_name
        known = module_name == missing or module_name.startswith(f"{missing}.")
        why = f"there is no module {missing}" if known else f"importing it failed: {_one_line(error)}"
        raise BadInput(f"cannot load the {what} {address}: {why}; run where Python can import it") from None
    except Exception as error:  # whatever a module of somebody else's raises
        raise BadInput(f"cannot load the {what} {address}: importing it failed: {_one_line(error)}") from error
    for part in path.split("."):
        classes = [name for name, kind in vars(value).items() if isinstance(kind, type)]
        if not hasattr(value, part):
            raise BadInput(f"cannot load the {what} {address}: {unknown('class', part, classes)}")
        value = getattr(value, part)
    if not isinstance(value, type):
        raise BadInput(f"cannot load the {what} {address}: it is no class")
    return value


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


# The other way: the text of a class and of an instance ----------------------------------------------------------


def class_text(made: type) -> str:
    """The name of a class in texts: `dark_hex` for a native one, otherwise a name on offer or its address."""
    group, _, name = made.__module__.rpartition(".")
    if group in (GAMES, AGENTS) and name == snake_case(made.__name__):
        return name
    address = f"{made.__module__}:{made.__qualname__}"
    offers = {text: name for name, text in FROM_FILES.items()}
    offers |= {text: name for group in (GAMES, AGENTS) for name, text in installed(group).items()}
    return offers.get(address, address)


def is_from_file(made: type) -> bool:
    """Whether this is a class of games that are read from files."""
    return f"{made.__module__}:{made.__qualname__}" in FROM_FILES.values()


def text_of(thing: Any) -> str:
    """The text of a game or an agent with the options that differ from their defaults."""
    return str(spec_of(thing))


def spec_of(thing: Any, *, complete: bool = False) -> Spec:
    """The name and the options of a game or an agent, from which it can be made again: `dark_hex(rows=4,cols=4)`.

    It has the options that differ from their defaults; if it is to be `complete`, also those others that are no
    variants. A value that cannot be written as text is replaced by a digest. Such a text tells things apart, but
    nothing can be made from it. BadInput if the object does not keep its options as attributes.
    """
    made = type(thing)
    hints = type_hints(made)
    pairs = []
    for key, parameter in inspect.signature(made).parameters.items():
        if not hasattr(thing, key):
            raise BadInput(
                f"{made.__name__} does not keep its option {key} as an attribute; keep it, or set the attribute `name`"
            )
        value = getattr(thing, key)
        if (complete and not is_variant(hints.get(key))) or not _same(value, parameter.default):
            pairs.append((key, as_written(hints.get(key), value) if isinstance(value, _PLAIN) else _digest(value)))
    return Spec(class_text(made), tuple(pairs))


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and isinstance(value, (*_PLAIN, type(None))) and bool(value == default)


def _digest(value: Any) -> str:
    try:
        return "#" + hashlib.sha256(pickle.dumps(value)).hexdigest()[:12]
    except Exception:  # whatever pickle raises about somebody else's object
        raise BadInput(f"{type(value).__name__} cannot be written as text; set the attribute `name`") from None


def game_text(game: Any) -> str:
    """The text of a game with all its parameters, which `load_game` reads back to an equal game."""
    return str(spec_of(game, complete=True))
