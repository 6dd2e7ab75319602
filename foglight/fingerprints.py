"""Fingerprints of the code that plays: a game by an edited bot must not pass for one by the bot of yesterday.

The fingerprint of a class is a digest of the bytecode and constants of its methods and, for a game, of its rules; of
the functions and classes that these name, and so on; and of the constants they read. Comments, docstrings and the
order of definitions do not count. A module that is imported inside a function counts by the text of its file. Code of
the standard library and of other installed packages counts by name only, since editing it is not what people do between
two matches. Another version of Python has other bytecode, so its games count as games of other code.
"""

import dis
import functools
import hashlib
import importlib.util
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from foglight.compile import rules_of

_DIGITS = 16  # hexadecimal digits of a fingerprint
_DEEPEST = 20  # containers within containers that are looked into
_CHUNK = 1 << 20  # bytes of a file read at a time
_ADDRESS = re.compile(r"\b([A-Za-z_][\w.]*):([A-Za-z_]\w*)")  # package.module:Class
_CONSTANTS = (str, bytes, int, float, complex, bool, type(None), type(...))


# Taken once per process: what a bot keeps in a list of its module grows while it plays, and is no edit.
_prints: dict[type | FunctionType, str] = {}


def code_of(made: type | FunctionType) -> str:
    """The fingerprint of the code behind a class of games or agents, or behind a function."""
    if made not in _prints:
        _prints[made] = _digest(sorted(_parts(made)))
    return _prints[made]


def addressed_code(text: str) -> str:
    """A digest of the code of all classes whose addresses, `package.module:Class`, occur in a text; empty if none."""
    made = _addressed(text, "")
    return _digest(map(code_of, made)) if made else ""


def addressed_modules(text: str) -> list[str]:
    """The names of the modules of all addresses, `package.module:Class`, in a text."""
    return sorted({module for module, _ in _ADDRESS.findall(text)})


def _addressed(text: str, own: str) -> list[type]:
    """The classes whose addresses occur in a text, apart from those that are installed."""
    made = []
    for module, name in sorted(set(_ADDRESS.findall(text))):
        if _top(module) == own or _is_local(_top(module)):
            try:
                value = vars(importlib.import_module(module)).get(name)
            except Exception:  # it cannot be imported, so that nothing of it plays
                continue
            made += [value] if isinstance(value, type) else []
    return made


def _parts(made: type | FunctionType) -> set[str]:
    """Everything that the fingerprint depends on, as texts."""
    parts: set[str] = set()
    seen: dict[int, Any] = {}  # by identity, which an object must be kept alive for
    own = _top(made.__module__)
    front: list[Any] = [made]
    while front:
        value = front.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        wrapped = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)  # a kernel; a cached function
        if isinstance(value, type | FunctionType) and not _is_ours(value.__module__, own):
            parts.add(name)
        elif isinstance(value, FunctionType):
            constants, further = _read(value.__code__, value.__globals__, own)
            rule = getattr(value, "rule", None)  # a rule's implementations are found from the game
            further += [] if rule is None else [rule.default]
            bound = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
            given = [value.__defaults__, value.__kwdefaults__, *bound]
            parts.add(f"{name} {constants} {_constant(given)}")
            front += [*further, *given, wrapped]
        elif isinstance(value, type):
            parts.add(f"{name} {sorted(base.__qualname__ for base in value.__bases__)}")
            # pictures are for people alone: no agent sees one
            front += [*value.__bases__, *(rule for name, rule in rules_of(value).items() if name != "drawing")]
            for attribute, content in vars(value).items():
                # names such as __doc__ and __slotnames__ belong to Python, which adds some of them at any time
                if not attribute.startswith("__") or isinstance(content, FunctionType | classmethod):
                    parts.add(f"{name}.{attribute} {_constant(content)}")
                    front.append(content)
        elif isinstance(value, property):
            front += [value.fget, value.fset]
        elif isinstance(value, classmethod | staticmethod) or wrapped is not None:
            front.append(wrapped or value.__func__)
        elif isinstance(value, Mapping):
            front += [*value.keys(), *value.values()]
        elif isinstance(value, tuple | list | set | frozenset):
            front += value
        elif not isinstance(value, (*_CONSTANTS, np.ndarray, ModuleType)):  # whoever reads a constant has noted it
            front.append(type(value))
    return parts


def _read(code: CodeType, names: Mapping[str, Any], own: str) -> tuple[str, list[Any]]:
    """The bytecode of a function and its constants as text, and the values of the global names in it."""
    text, values, modules = [code.co_code.hex()], [], []
    for constant in code.co_consts[1:] if _has_docstring(code) else code.co_consts:
        if isinstance(constant, CodeType):
            inner, further = _read(constant, names, own)
            text.append(inner)
            values += further
        else:
            text.append(_constant(constant))
            values += _addressed(constant, own) if isinstance(constant, str) else []
    for name in code.co_names:
        text.append(name)
        value = names.get(name)
        if isinstance(value, ModuleType):
            modules += [value] if _is_ours(value.__name__, own) else []
        elif isinstance(value, dict | list | set) and _top(names.get("__name__")) == "foglight":
            pass  # memory of our own, such as `_prints`, which grows while games are played
        elif value is not None:
            text.append(_constant(value))
            values.append(value)
        elif _is_ours(name, own) and (source := _source(name)):  # imported inside the function, perhaps later
            text.append(source)
    for module in modules:  # `bits.get` is the name `get` in `bits`
        values += [_attribute(module, name) for name in code.co_names if name in _names(module)]
    return " ".join(text), values


def _names(module: ModuleType) -> Mapping[str, Any] | list[str]:
    """The names in a module; of one that imports names at their first use, those that it says it has."""
    return vars(module)["__all__"] if {"__all__", "__getattr__"} <= vars(module).keys() else vars(module)


def _attribute(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except Exception:  # what it imports at the first use may not be installed
        return None


def _has_docstring(code: CodeType) -> bool:
    """Whether the first constant is a docstring: a text that the code does not load."""
    first = code.co_consts[0] if code.co_consts else None
    return isinstance(first, str) and not any(
        step.opname == "LOAD_CONST" and step.arg == 0 for step in dis.get_instructions(code)
    )


@functools.cache
def _source(module: str) -> str:
    """A digest of a module's file; empty if there is no such module. It is not imported, which might take long."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    return _content(Path(found.origin)) if found and found.origin and Path(found.origin).is_file() else ""


def _constant(value: Any, depth: int = 0) -> str:
    """A constant as text; the type of anything else, whose text might hold an address in memory."""
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, tuple | list):
        return f"({' '.join(_constant(item, depth + 1) for item in value)})"
    if isinstance(value, set | frozenset):
        return f"({' '.join(sorted(_constant(item, depth + 1) for item in value))})"
    if isinstance(value, dict):
        items = (f"{_constant(key, depth + 1)}:{_constant(item, depth + 1)}" for key, item in value.items())
        return f"({' '.join(sorted(items))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value) if isinstance(value, (*_CONSTANTS, np.generic)) else type(value).__qualname__


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_ours(module: str | None, own: str) -> bool:
    """Whether the code of a module counts: it belongs to foglight, to the package `own`, or is not installed."""
    if module == "foglight.compile":  # what it knows grows with every import
        return False
    return _top(module) in ("foglight", own) or (_top(module) in sys.modules and not _is_installed(_top(module)))


@functools.cache
def _is_installed(package: str) -> bool:
    """Whether a package is part of Python or was installed beside it."""
    if package in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    return file is None or any(Path(file).is_relative_to(folder) for folder in _folders())


def _is_local(package: str) -> bool:
    """Whether there is a package or module of this name that is neither part of Python nor installed."""
    return _local_path(package) is not None


@functools.cache
def _local_path(package: str) -> Path | None:
    """The folder or the file of a package or module that is neither part of Python nor installed."""
    if package in sys.stdlib_module_names:
        return None
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    files = [*(found.submodule_search_locations or ()), found.origin][:1] if found else []
    return next(
        (Path(file) for file in files if file and not any(Path(file).is_relative_to(folder) for folder in _folders())),
        None,
    )


def local_paths(modules: Iterable[str]) -> list[Path]:
    """The folders and files of the packages and modules that these modules belong to or use, apart from installed ones.

    What a module uses is seen by the modules, classes and functions among its global names.
    """
    paths: dict[str, Path] = {}
    front = {_top(module) for module in modules} - {"foglight", "__main__"}
    while front:
        package = front.pop()
        if package not in paths and (path := _local_path(package)):
            paths[package] = path
            used = [
                value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
                for name, module in list(sys.modules.items())
                if _top(name) == package
                for value in list(vars(module).values())
            ]
            front |= {_top(name) for name in used if isinstance(name, str)} - {"foglight", "__main__", ""}
    return list(paths.values())


@functools.cache
def _folders() -> list[str]:
    return [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib")]


# Files ----------------------------------------------------------------------------------------------------------


def files_of(values: Iterable[Any]) -> str:
    """A digest of the contents of all files that are named by these values or inside of them; empty if none is."""
    paths = sorted(set(paths_of(values)))
    return _digest(map(_content, paths)) if paths else ""


def paths_of(values: Iterable[Any]) -> Iterator[Path]:
    """The files that are named by these values or inside of them."""
    for value in values:
        if isinstance(value, str | Path):
            path = Path(value)
            try:
                if value and path.is_file():
                    yield path
            except (OSError, ValueError):  # a text that cannot be a path
                pass
        elif isinstance(value, tuple | list):
            yield from paths_of(value)
        elif hasattr(value, "arguments"):  # a Spec, such as value(FILE)
            yield from paths_of(argument for _, argument in value.arguments)


def _content(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
