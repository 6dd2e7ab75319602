"""Fuzz: nonsense as input. Each must end in success or in one helpful line; nothing may hang, and no file may be lost.

    games, agents    texts of games and agents, with moves by their names
    observations     what a filter, a tracker and the page are told that a seat has seen
    commands         command lines, run in this process
    files            policies, networks, data sets, stores, saved games: truncated, with wrong bits, with other JSON
    orders           what a page sends on the socket of a seat
    requests         what the server is asked by HTTP, through the guard
    engines          what a chess engine answers; positions in Forsyth-Edwards notation
    lines            what a server says to an agent that speaks JSON lines

Inputs are good ones, changed at random places. Numbers in commands are cut to two digits: a command that does a lot of
work is no nonsense. An input is a finding if it ends in an exception that is not meant for users, in a refusal of
several lines, in an exit code other than 0, 1 and 2, after more than `_PATIENCE` seconds, or if a file that was refused
is not what it was before.
"""

import contextlib
import random
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foglight.names import BadInput
from foglight.proofs.fuzz import commands, files, lines, page, texts
from foglight.proofs.fuzz.changes import FINE, REFUSED, Input, is_one_line

_PATIENCE = 300  # seconds that an input may take; kernels are compiled in some of them, on a busy machine
_SHOWN = 5  # findings that are kept of a cell
_CELL = 1000  # inputs

KINDS: dict[str, Callable[[], contextlib.AbstractContextManager[Input]]] = {
    "games": texts.games,
    "agents": texts.agents,
    "observations": texts.observations,
    "commands": commands.commands,
    "files": files.files,
    "orders": page.orders,
    "requests": page.requests,
    "engines": texts.engines,
    "lines": lines.lines,
}
SHARES = {  # of all inputs; what is fast comes first
    "games": 25,
    "agents": 20,
    "engines": 15,
    "requests": 15,
    "orders": 9,
    "files": 12,
    "lines": 3,
    "commands": 3,
    "observations": 1,  # a wrong one may take a search, and so some tenths of a second
}


def cells(inputs: int, seed: int) -> dict[str, dict[str, Any]]:
    """Cells of at most a thousand inputs, some for each kind in proportion to its share."""
    whole = sum(SHARES.values())
    found = {}
    for kind, share in SHARES.items():
        left, block = max(1, round(inputs * share / whole)), 0
        while left > 0:
            count = min(left, _CELL)
            name = f"{kind}, block {block} of {count}, seed {seed}"
            found[name] = {"kind": kind, "block": block, "inputs": count, "seed": seed}
            left, block = left - count, block + 1
    return found


def work(kind: str, block: int, inputs: int, seed: int) -> dict[str, Any]:
    """How the inputs of a cell ended, and what was wrong."""
    began = time.process_time()
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with KINDS[kind]() as make:
        for number in range(inputs):
            rng = random.Random(f"{kind} {seed} {block} {number}")
            text, use = make(rng)
            outcome = _outcome(use)
            counts[outcome if outcome in (FINE, REFUSED) else "findings"] += 1
            if outcome not in (FINE, REFUSED) and len(findings) < _SHOWN:
                findings.append(f"{text[:500]!r} ({block}, {number}): {outcome}")
    seconds = time.process_time() - began
    return {"inputs": inputs, **{key: counts[key] for key in (FINE, REFUSED)}, "seconds": seconds, "findings": findings,
            "found": counts["findings"]}  # fmt: skip


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each kind of input."""
    rows: dict[str, dict[str, Any]] = {}
    for cell, result in results.items():
        kind = cell.partition(",")[0]
        row = rows.setdefault(kind, {"kind": kind, "inputs": 0, FINE: 0, REFUSED: 0, "found": 0, "seconds": 0.0})
        for key in ("inputs", FINE, REFUSED, "found", "seconds"):
            row[key] += result[key]
    return list(rows.values())


class _Late(BaseException):
    """An input takes too long."""


def _outcome(use: Callable[[], str]) -> str:
    """How a call ended: FINE, REFUSED, or what is wrong."""

    def late(*_: object) -> None:
        raise _Late

    alarm = "SIGALRM" in vars(signal)  # Windows has none: there nothing ends an input that takes too long
    before = signal.signal(signal.SIGALRM, late) if alarm else None
    if alarm:
        signal.alarm(_PATIENCE)
    try:
        return use()
    except BadInput as error:
        return REFUSED if is_one_line(str(error)) else f"not one helpful line: {str(error)!r}"
    except _Late:
        return f"nothing after {_PATIENCE} s"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
    finally:
        if alarm:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
