"""A form as plain arrays: what a device needs of a sequence form or of a factored form, and a file that carries it.

Sequences and information states are numbered for each seat from 0. A seat's first sequence is its root. The others are
ordered by information state. Both forms have these; they differ in how payoffs are stored.
"""

import json
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foglight.files import replacing
from foglight.names import BadInput
from foglight.solving.factored.form import FactoredForm
from foglight.solving.factored.symmetry import Group
from foglight.solving.whole.sequences import SequenceForm
from foglight.version import __version__

_FORMAT = 2  # 1: factored forms were numbered in another way


class Choices(NamedTuple):
    """The decisions of a seat: I information states, S sequences."""

    begins: np.ndarray  # int32[I + 1]: the sequence of an information state's first action
    link_begins: np.ndarray  # int32[I + 1]
    parents: np.ndarray  # int32[links]: the sequences that lead to an information state


class Entries(NamedTuple):
    """What a seat earns in a sequence form: E entries."""

    targets: np.ndarray  # int32[E]: the sequence that earns the payoff
    others: np.ndarray  # int32[E, seats - 1]: the sequences of the seats `others_of`
    weights: np.ndarray  # float64[E]: chance probability times payoff


class Factor(NamedTuple):
    """One seat's part of a factored form: E entries, R rows."""

    weights: np.ndarray  # float64[S]: 1 / the number of mirror images that a sequence stands for
    entry_begins: np.ndarray  # int64[S + 1]
    rows: np.ndarray  # int32[E]: the rows that a sequence fits
    num_rows: int
    turns: np.ndarray | None = None  # int8[E]: the symmetry that takes the sequence to where it fits
    fixed: np.ndarray | None = None  # int64[I]: the symmetries that leave the seat's own past as it is, as bits
    kept: np.ndarray | None = None  # int64[S]: the symmetries that leave the sequence as it is, as bits


class Coupling(NamedTuple):
    """Where the rows of two seats meet: T ends."""

    rows: np.ndarray  # int32[T, 2]
    payoffs: np.ndarray  # float32[T]
    shift: float
    turns: np.ndarray | None = None  # int8[T]: from the row of seat 0 to that of seat 1


class PlainForm:
    """A whole game as plain arrays. It has entries for each seat, or factors and a coupling."""

    group: Group | None = None  # the symmetries, for plans that are not symmetric; not part of the file

    def __init__(
        self,
        game: str,
        zero_sum: bool,
        choices: Sequence[Choices],
        entries: Sequence[Entries] = (),
        factors: Sequence[Factor] = (),
        coupling: Coupling | None = None,
    ) -> None:
        self.game, self.zero_sum, self.choices = game, zero_sum, tuple(choices)
        self.entries, self.factors, self.coupling = tuple(entries), tuple(factors), coupling

    @property
    def num_states(self) -> int:
        return sum(len(own.begins) - 1 for own in self.choices)

    def save(self, path: str | Path) -> None:
        """Write the form to a file, whole or not at all."""
        header = {"foglight": __version__, "form": _FORMAT, "game": self.game, "zero_sum": self.zero_sum}
        header |= {"seats": len(self.choices), "rows": [factor.num_rows for factor in self.factors]}
        header |= {"shift": self.coupling.shift if self.coupling else 0.0}
        arrays: dict[str, np.ndarray] = {"header": np.array(json.dumps(header))}
        parts = {"choices": self.choices, "entries": self.entries, "factor": self.factors}
        for name, seats in parts.items():
            for seat, part in enumerate(seats):
                arrays |= {f"{name}{seat}.{key}": _packed(key, part) for key in _STORED[name]}
        if self.coupling:
            arrays |= {f"coupling.{key}": _packed(key, self.coupling) for key in _STORED["coupling"]}
        with replacing(Path(path)) as part_file, part_file.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> "PlainForm":
        """Read a form from a file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            header = json.loads(str(arrays["header"]))
            if header["form"] != _FORMAT:
                raise BadInput(f"{path} was written by foglight {header['foglight']} in another format")
            seats = range(header["seats"])
            choices = [Choices(*_unpacked(arrays, f"choices{seat}", "choices")) for seat in seats]
            if not header["rows"]:
                entries = [Entries(*_unpacked(arrays, f"entries{seat}", "entries")) for seat in seats]
                return cls(header["game"], header["zero_sum"], choices, entries)
            factors = []
            for seat in seats:
                weights, begins, rows = _unpacked(arrays, f"factor{seat}", "factor")
                factors.append(Factor(weights, begins, rows, header["rows"][seat]))
            ends, payoffs = _unpacked(arrays, "coupling", "coupling")
            coupling = Coupling(ends, payoffs, header["shift"])
            return cls(header["game"], header["zero_sum"], choices, (), factors, coupling)
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror or error}") from None
        except BadInput:
            raise
        except _DAMAGE:
            raise BadInput(f"{path} is not a form that foglight solve --prepare has written, or damaged") from None


_STORED = {
    "choices": ("begins", "link_begins", "parents"),
    "entries": ("targets", "others", "weights"),
    "factor": ("weights", "entry_begins", "rows"),
    "coupling": ("rows", "payoffs"),
}
_DAMAGE = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError, OverflowError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def _packed(key: str, part: Any) -> np.ndarray:
    """An array as it is stored: integers as differences, in as few bytes as they fit into, which compresses well."""
    array = getattr(part, key)
    if array.dtype.kind == "f":
        return array
    steps = np.diff(array, axis=0, prepend=np.zeros_like(array[:1]))
    low, high = int(steps.min(initial=0)), int(steps.max(initial=0))
    kinds = (np.int8, np.int16, np.int32) if low < 0 else (np.uint8, np.uint16, np.int32)
    return steps.astype(next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max))


def _unpacked(arrays: dict[str, np.ndarray], prefix: str, kind: str) -> list[np.ndarray]:
    result = []
    for key in _STORED[kind]:
        array = arrays[f"{prefix}.{key}"]
        if array.dtype.kind != "f":
            array = np.cumsum(array, axis=0, dtype=np.int64 if key == "entry_begins" else np.int32)
        result.append(array)
    return result


def others_of(seat: int, seats: int) -> list[int]:
    """The other seats in the order in which their plans are multiplied: the next one, then the rest."""
    leader = (seat + 1) % seats
    return [leader, *(other for other in range(seats) if other not in (seat, leader))][: seats - 1]


def plain_form(form: SequenceForm | FactoredForm, turns: bool = False) -> PlainForm:
    """The plain arrays of a form; `turns`: with what plans that are not symmetric need."""
    if isinstance(form, FactoredForm):
        return _factored(form, turns)
    arrays, seats = form.form, form.tree.num_seats
    firsts, states = arrays.sequence_begins, arrays.state_begins
    leaders = np.repeat(np.arange(form.num_sequences, dtype=np.int32), np.diff(arrays.entry_begins))
    choices, entries = [], []
    for seat in range(seats):
        own, last = slice(states[seat], states[seat + 1]), firsts[seat + 1] - firsts[seat]
        begins = np.append(arrays.begins[own] - firsts[seat], last).astype(np.int32)
        links = np.arange(len(begins), dtype=np.int32)
        choices.append(Choices(begins, links, arrays.parents[own] - firsts[seat].astype(np.int32)))
        leader, *rest = others_of(seat, seats) or [seat]
        here = slice(*arrays.entry_begins[firsts[[leader, leader + 1]]])
        columns = [leaders[here] - firsts[leader]] if seats > 1 else []
        columns += [arrays.others[here, k] - firsts[other] for k, other in enumerate(rest)]
        table = np.array(columns, np.int32).reshape(seats - 1, -1).T
        targets = (arrays.targets[here] - firsts[seat]).astype(np.int32)
        entries.append(Entries(targets, np.ascontiguousarray(table), arrays.weights[here]))
    return PlainForm(str(form.tree.game), bool(form.tree.is_zero_sum), choices, entries)


def _factored(form: FactoredForm, turns: bool) -> PlainForm:
    choices = [Choices(side.begins, side.link_begins, side.parents) for side in form.sides]
    factors = [
        Factor(
            side.weights, side.entry_begins, side.rows, side.num_rows,
            *((side.turns, side.fixed, side.kept) if turns else ()),
        )
        for side in form.sides
    ]  # fmt: skip
    ends = form.ends
    coupling = Coupling(ends.rows, ends.payoffs, ends.shift, ends.turns[ends.of[0].codes] if turns else None)
    plain = PlainForm(str(form.game), True, choices, (), factors, coupling)
    plain.group = form.group if turns else None
    return plain
