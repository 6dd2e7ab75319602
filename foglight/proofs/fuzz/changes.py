"""Good inputs made bad: changes of texts, of bytes and of JSON; and how an input may end."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

FINE, REFUSED = "fine", "refused"  # how an input should end; any other outcome says what is wrong
Input = Callable[[random.Random], tuple[str, Callable[[], str]]]  # an input as text, and a call that uses it

ODD = (
    "", " ", "(", ")", "()", ",", "=", "==", "[", "]", "[]", "[[", '"', "'", "-", "-1", "0", "1", "2", "00", "1.5",
    "1e9", "-0.0", "nan", "inf", "9" * 19, "9" * 30, "9" * 5000, "0x10", "1_0", "True", "none", "auto", "null", "{}",
    "é", "🂡", "\x00", "\n", "\t", "\\", "/", "..", "../..", "~", "%s", "{0}", ":", "a:b", "os:system", "\udcff",
    "\u202e", "--", "-h", "(" * 500, "[" * 500,
)  # fmt: skip


def changed(text: str, rng: random.Random, others: Sequence[str] = ()) -> str:
    """A text with one to four changes, or none: characters left out, doubled, exchanged, other texts put in."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        way = rng.randrange(7)
        if way == 0:
            text = text[:i] + text[j:]
        elif way == 1:
            text = text[:j] + text[i:]
        elif way == 2:
            text = text[:i] + rng.choice(ODD) + text[i:]
        elif way == 3:
            text = text[:i] + rng.choice(ODD) + text[j:]
        elif way == 4:
            text = text[:i] + chr(rng.choice((rng.randrange(32, 127), rng.randrange(1, 0x2FFF)))) + text[i + 1 :]
        elif way == 5 and others:
            other = rng.choice(others)
            text = text[:i] + other[rng.randrange(len(other) + 1) :]
        elif numbers := list(re.finditer(r"-?\d+", text)):
            number = rng.choice(numbers)
            text = text[: number.start()] + rng.choice(ODD) + text[number.end() :]
    return text


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Bytes with some wrong: cut off, flipped, overwritten, doubled, or all replaced."""
    way, i = rng.randrange(7), rng.randrange(len(content) + 1)
    if way == 0:
        return content[:i]
    if way == 1:
        return content[:i] + bytes(rng.randrange(1, 64)) + content[i + 64 :]
    if way == 2:
        return content[:i] + content[i // 2 :]
    if way == 3:
        return rng.randbytes(rng.randrange(200))
    if way == 4 and content:  # near the start, where formats say what follows
        i = rng.randrange(min(len(content), 120))
        return content[:i] + rng.randbytes(1) + content[i + 1 :]
    changed = bytearray(content)
    for _ in range(rng.choice((1, 3, 30)) if content else 0):
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def other_json(value: Any, rng: random.Random, depth: int = 0) -> Any:
    """JSON in which something is left out, added, or of another type."""
    odd: tuple[Any, ...] = (
        None,
        True,
        -1,
        0,
        1,
        2.5,
        10**30,
        -(2**63),
        float("nan"),
        "",
        "x",
        [],
        {},
        [[]],
        {"a": 1},
        "9" * 50,
    )
    if rng.random() < 0.15 or depth > 4:
        return rng.choice(odd)
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        way = rng.randrange(6)
        if way == 0:
            return {name: entry for name, entry in value.items() if name != key}
        if way == 1:
            return {**value, rng.choice(("do", "game", "seen", "x", "")): rng.choice(odd)}
        return {**value, key: other_json(value[key], rng, depth + 1)}
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        return [*value[:i], *([] if rng.random() < 0.3 else [other_json(value[i], rng, depth + 1)]), *value[i + 1 :]]
    if isinstance(value, str) and rng.random() < 0.6:
        return changed(value, rng)
    return rng.choice(odd)


def is_one_line(text: str) -> bool:
    """Whether a refusal is one line that says something."""
    return len(text.splitlines()) == 1 and len(text) > 5
