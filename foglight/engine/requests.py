"""Reading requests: each line becomes a request whose fields are checked, or BadInput says what is wrong with it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from foglight.names import BadInput, unknown

LONGEST = 1 << 20  # bytes of a line
_MOST = 50_000  # observations or decisions in one request
_WORDS = 2000  # characters of a text
_DAY = 86_400_000  # milliseconds
_INT64 = 2**63

Check = Callable[[Any], Any]  # from the value of a field to the value that is used; BadInput says what it must be


@dataclass(frozen=True)
class Request:
    """A request and its fields; those that were not given are missing."""

    do: str
    fields: dict[str, Any] = field(default_factory=dict)


def read(line: bytes) -> dict[str, Any]:
    """The JSON object on a line."""
    if len(line) > LONGEST:
        raise BadInput(f"a line has at most {LONGEST:,} bytes; send fewer observations at a time")
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise BadInput("a line is text in UTF-8, and this one is not") from None
    except RecursionError:
        raise BadInput("this line is nested too deep for a request") from None
    except ValueError as error:
        raise BadInput(f"this line is not JSON ({error}); write one object, such as {_EXAMPLE}") from None
    if not isinstance(message, dict):
        raise BadInput(f"a request is one JSON object, such as {_EXAMPLE}")
    return message


def identity(message: dict[str, Any]) -> dict[str, Any]:
    """The `id` of a message, which its answer repeats; nothing if there is none, or one that cannot be repeated."""
    given = message.get("id")
    fits = (isinstance(given, str) and len(given) <= _WORDS) or (type(given) is int and -_INT64 <= given < _INT64)
    return {"id": given} if fits else {}


def checked(message: dict[str, Any]) -> Request:
    """The request that a message makes."""
    do = message.get("do")
    if not isinstance(do, str) or do not in _FIELDS:
        if "do" not in message:
            raise BadInput(f"a request says what to do, such as {_EXAMPLE}")
        raise BadInput(unknown("request", str(do)[:40], _FIELDS))
    if "id" in message and not identity(message):
        raise BadInput("id must be a whole number or a text")
    needed, allowed = _FIELDS[do]
    given = {name: value for name, value in message.items() if name not in ("do", "id")}
    for name in given:
        if name not in allowed:
            raise BadInput(unknown(f"field of {do}", name[:40], allowed))
    for name in needed:
        if name not in given:
            raise BadInput(f"{do} needs {name}")
    fields = {}
    for name, value in given.items():
        try:
            fields[name] = allowed[name](value)
        except BadInput as error:
            raise BadInput(f"{name} must be {error}") from None
    return Request(do, fields)


def is_stop(line: bytes) -> bool:
    """Whether a line asks to stop; said before its turn to be answered has come."""
    if b"stop" not in line:
        return False
    try:
        return checked(read(line)).do == "stop"
    except BadInput:
        return False


# What fields may hold -----------------------------------------------------------------------------------------------


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise BadInput(f"a whole number from {low} to {high}")
        return value

    return check


def _milliseconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _DAY:
        raise BadInput(f"milliseconds, from 0 to {_DAY}")
    return float(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise BadInput("true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _WORDS:
        raise BadInput(f"a text of 1 to {_WORDS} characters")
    return value


def _observations(value: Any) -> list[int | str]:
    codes = [value] if isinstance(value, int | str) else value
    if not isinstance(codes, list) or len(codes) > _MOST:
        raise BadInput(f"a list of at most {_MOST} codes or texts")
    for code in codes:
        is_code = type(code) is int and -_INT64 <= code < _INT64
        if not is_code and not (isinstance(code, str) and 0 < len(code) <= _WORDS):
            raise BadInput("a list of codes, whole numbers of 64 bits, or of texts")
    return codes


def _actions(value: Any) -> list[int]:
    fine = isinstance(value, list) and 0 < len(value) <= _MOST and all(type(action) is int for action in value)
    if not fine or len(set(value)) < len(value):
        raise BadInput("a list of different actions, which are whole numbers, and not empty")
    return sorted(value)


def _decisions(value: Any) -> list[tuple[int, list[int]]]:
    what = BadInput(
        "a list of pairs: how many observations came before a decision, ascending, and a list of the actions that were "
        "legal"
    )
    if not isinstance(value, list) or len(value) > _MOST:
        raise what
    found: list[tuple[int, list[int]]] = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or pair[0] < 0:
            raise what
        try:
            found.append((pair[0], _actions(pair[1])))
        except BadInput:
            raise what from None
    if any(one[0] >= two[0] for one, two in pairwise(found)):
        raise what
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_EXAMPLE = '{"do": "hello"}'
_SEATED: dict[str, Check] = {"seat": _whole(0, 1000), "seed": _whole(0, 2**64 - 1), "game": _text}
_FIELDS: dict[str, tuple[tuple[str, ...], dict[str, Check]]] = {  # by request: fields that it needs, all that it takes
    "hello": ((), {}),
    "start": (("seat",), _SEATED),
    "restore": (("seat", "observations"), {**_SEATED, "observations": _observations, "decisions": _decisions}),
    "observe": (("observations",), {"observations": _observations}),
    "act": (
        (),
        {
            "actions": _actions,
            "movetime": _milliseconds,
            "remaining": _milliseconds,
            "increment": _milliseconds,
            "text": _flag,
            "explain": _flag,
        },
    ),
    "explain": ((), {}),
    "stop": ((), {}),
    "quit": ((), {}),
}
