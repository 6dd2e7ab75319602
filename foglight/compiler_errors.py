"""Numba's errors in one line: which rule, in which file, and what to do.

Numba reports a mistake in a rule as a chain of rejected candidates, innermost first, over several screens. The
innermost reason and the innermost line outside of Numba say all that an author of rules needs.
"""

import dis
import inspect
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

SHOW_ALL = "FOGLIGHT_NUMBA_ERRORS"  # an environment variable: if it is set, the whole of Numba's error is shown too

_SUPPORTED = ("numpy", "numba", "math", "cmath", "operator", "builtins", "random")  # their functions need no decorator
_NUMBA = f"{os.sep}numba{os.sep}"
_FAILED = re.compile(r"Failed in \w+ mode pipeline \(step: [^)]*\)\n\s*(.+)")
_PLACE = re.compile(r'File "([^"]+)", line (\d+):(?:\n\s*def (\w+))?')
_CALLEE = re.compile(r"resolving callee type: Function\(<function (\w+) at")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # Numba writes them if the package colorama can be imported
_NO_ARRAYS = ("Only accept returning of array", "NRT required")  # Numba's words where references are not counted


class _Reached(NamedTuple):
    """A function that compiled code reaches: the rule it belongs to, or the kernel, and the function that calls it."""

    function: Any
    rule: str
    caller: Any
    registered: bool  # whether compiled code may call it


def is_of_numba(error: BaseException) -> bool:
    """Whether Numba raised this error while it compiled."""
    return type(error).__module__.startswith("numba.")


def explanation(
    error: BaseException,
    kernel: Any,
    games: Sequence[type],
    rules: Mapping[str, Any],
    twins: Mapping[Any, Any],
) -> str:
    """One line about an error in the compilation of a kernel for games of these classes."""
    owner = " and ".join(game.__name__ for game in games)
    reached = list(_reached(kernel, games, twins))
    for function, rule, caller, registered in reached:
        if not registered:
            what = f"the rule '{rule}' of {owner}" if rule in rules else f"the kernel {rule}"
            through = "" if caller.__name__ == rule else f", through {caller.__name__},"
            return f"{what} calls{through} {function.__name__} ({_place(function)}), which lacks @fl.jitable"
    message = _COLOURS.sub("", str(error))
    rule, place, reason = _read(message, kernel, rules)
    if not place:
        culprit = _unreadable(reached) or next((each for each in reached if each.rule == rule), None)
        rule, place = (culprit.rule, _place(culprit.function)) if culprit else (rule, "")
    if any(words in message for words in _NO_ARRAYS):
        reason = "it makes an array, a list or a set; rules and helpers write into the arrays they are given"
    what = f"the rule '{rule}' of {owner}" if rule in rules else f"the kernel {kernel.__name__.strip('_')}"
    what += f" for {owner}" if owner and rule not in rules else ""
    return f"{what} does not compile: {reason}{f' ({place})' if place else ''}; {SHOW_ALL}=1 shows all that Numba says"


def _read(message: str, kernel: Any, rules: Mapping[str, Any]) -> tuple[str, str, str]:
    """The rule, the innermost place in a rule or helper and the innermost reason that Numba's message gives."""
    rule = next((name for name in _CALLEE.findall(message) if name in rules), "")
    outside = (_NUMBA not in file and name != kernel.__name__ for file, _, name in _PLACE.findall(message))
    places = [f"{_shown(file)}:{line}" for file, line, _ in compress(_PLACE.findall(message), outside)]
    reasons = [reason for reason in _FAILED.findall(message) if not reason.startswith("No implementation of function")]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    reason = reasons[-1] if reasons else lines[0] if lines else "no reason given"
    return rule, places[0] if places else "", re.sub(r"(, defined at .*|\.* Raised from .*|\.)$", "", reason.strip())


def _place(function: FunctionType) -> str:
    return f"{_shown(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"


def _shown(file: str) -> str:
    """The file, relative to the current folder if it is inside."""
    path = Path(os.path.abspath(file))
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _reached(kernel: Any, games: Sequence[type], twins: Mapping[Any, Any]) -> Iterator[_Reached]:
    """The functions that a kernel reaches, nearest first; what is not registered is not followed."""
    front: list[_Reached] = [_Reached(kernel, kernel.__name__.strip("_"), kernel, True)]
    seen = {kernel}
    for caller in front:  # which grows on the way
        for value in _called(caller.function):
            rule = getattr(value, "rule", None)
            if rule is not None:
                classes = [rule.implementations.get(game, rule.default) for game in games]
                found = [_Reached(one, rule.name, caller.function, True) for one in classes if one is not None]
            else:
                found = [_Reached(twins.get(value, value), caller.rule, caller.function, value in twins)]
            for one in found:
                if one.function not in seen:
                    seen.add(one.function)
                    yield one
                    if one.registered:
                        front.append(one)


def _called(function: FunctionType, code: CodeType | None = None) -> Iterator[FunctionType]:
    """The Python functions that a function's code loads by name, from its module, its closure or another module."""
    code = code or function.__code__
    closure = inspect.getclosurevars(function).nonlocals
    holder: Any = None  # the module that was loaded by the last instruction
    for instruction in dis.get_instructions(code):
        value: Any = None
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(instruction.argval)
        elif instruction.opname == "LOAD_DEREF":
            value = closure.get(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and holder is not None:
            value = getattr(holder, instruction.argval, None)
        holder = value if isinstance(value, ModuleType) else None
        if isinstance(value, FunctionType) and (value.__module__ or "").partition(".")[0] not in _SUPPORTED:
            yield value
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _called(function, constant)


def _unreadable(reached: Sequence[_Reached]) -> _Reached | None:
    """The first function whose statements Numba cannot read at all; its message then names no place."""
    from numba.core.bytecode import ByteCode, FunctionIdentity
    from numba.core.interpreter import Interpreter

    for one in reached:
        identity = FunctionIdentity.from_function(one.function)
        try:
            Interpreter(identity).interpret(ByteCode(func_id=identity))
        except Exception:
            return one
    return None
