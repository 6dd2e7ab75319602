"""Legality: hidden worlds that the library samples, judged by the rules (`foglight/bench/legality.py`).

Every kind of sampler is judged in every native game that it is for. Kinds that draw histories get a share of the
samples in proportion to their speed. Kinds that follow whole games are given games, for their sets have any size.
"""

import time
from dataclasses import astuple, fields
from typing import Any

from foglight.bench.legality import Legality, _counted

_COLUMNS = [field.name for field in fields(Legality)][2:]
_EACH = 2000  # samples at a position
_CELL = 10  # positions or games


def cells(samples: int, seed: int) -> dict[str, dict[str, Any]]:
    """Cells of some positions or games each."""
    sizes = _sizes(samples)
    return {
        f"{row}, from {first} of {several}, {samples} samples, seed {seed}": {
            "row": row, "first": first, "count": min(_CELL, several - first), "samples": samples, "seed": seed,
        }
        for row, (_, several) in enumerate(_counted(*sizes, seed))
        for first in range(0, several, _CELL)
    }  # fmt: skip


def _sizes(samples: int) -> tuple[int, int, int]:
    """Samples, positions and games of a row: three quarters of what is judged come from the eleven rows of cards."""
    each = max(1, samples // 12)
    return each, max(1, each // _EACH), max(1, samples // 200_000)


def work(row: int, first: int, count: int, samples: int, seed: int) -> dict[str, Any]:
    """What was judged in the positions or games of a row from number `first` on."""
    began = time.process_time()
    (judged,) = _counted(*_sizes(samples), seed)[row][0](numbers=range(first, first + count))
    counts = dict(zip(_COLUMNS, astuple(judged)[2:], strict=True))
    wrong = {key: counts[key] for key in ("forbidden", "unlike", "untrue") if counts[key]}
    findings = [f"{judged.game}, {judged.what}, from {first}: {wrong}"] if wrong else []
    seconds = time.process_time() - began
    return {"game": judged.game, "what": judged.what, **counts, "seconds": seconds, "findings": findings}


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each game and kind of sampler."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for result in results.values():
        which = {"game": result["game"], "what": result["what"]}
        row = rows.setdefault(tuple(which.values()), {**which, **dict.fromkeys(_COLUMNS, 0), "seconds": 0.0})
        for key in (*_COLUMNS, "seconds"):
            row[key] += result[key]
    return list(rows.values())
