"""Products of plans with the payoffs of a factored form, which give the gradients that solvers and best responses need.

Regret minimisation soon leaves most sequences without a plan. So each product goes over what it starts from, and leaves
out zeros.

Those of large forms are done in two parts that run on two threads. A part has its own rows, or its own sequences, and
adds up in the same order as one thread would: results are the same to the last bit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from foglight.compile import kernel

if TYPE_CHECKING:
    from foglight.solving.factored.form import FactoredForm

_LARGE = 1 << 21  # entries and ends from which on two threads pay


class Products:
    """Gradients of a form, for plans with one line or with one for each symmetry."""

    def __init__(self, form: "FactoredForm", images: int = 1) -> None:
        self.form = form
        work = len(form.ends.of[0].codes) + sum(len(side.rows) for side in form.sides)
        parts = 2 if work > _LARGE and images == 1 else 1
        rows = max(side.num_rows for side in form.sides)
        self._chances, self._values = np.zeros((images, rows)), np.zeros((images, rows))
        self._pool = ThreadPoolExecutor(parts) if parts > 1 else None
        # by seat, where to cut: rows by entries, rows by ends, sequences by entries
        self._of_chances = [_cuts(side.row_begins, parts) for side in form.sides]
        self._of_values = [_cuts(meetings.begins, parts) for meetings in form.ends.of]
        self._of_sequences = [_cuts(side.entry_begins, parts) for side in form.sides]

    def write_gradient(self, seat: int, plan: np.ndarray, gradient: np.ndarray) -> None:
        """Write what each sequence of a seat earns where it ends, given the plan of the other seat."""
        form, other, chances, values = self.form, 1 - seat, self._chances, self._values
        self._run(_write_chances, self._of_chances[other], form.sides[other], form.group, plan, chances)
        self._run(_write_row_values, self._of_values[seat], form.ends, form.group, seat, chances, values)
        self._run(_write_sequence_values, self._of_sequences[seat], form.sides[seat], form.group, values, gradient)

    def _run(self, work: Callable[..., Any], cuts: list[int], *arguments: Any) -> None:
        """Do the parts of some work: each has a first and a last row or sequence."""
        if self._pool is None:
            work(cuts[0], cuts[1], *arguments)
            return
        for future in [self._pool.submit(work, *cuts[part : part + 2], *arguments) for part in range(len(cuts) - 1)]:
            future.result()


def _cuts(begins: np.ndarray, parts: int) -> list[int]:
    """Rows or sequences at which to cut, so that all parts have about as many entries or ends."""
    inner = [int(np.searchsorted(begins, begins[-1] // 2))] if parts == 2 else []
    return [0, *inner, len(begins) - 1]


@kernel
def _write_chances(first, last, side, group, plan, chances):
    """Write the probability of each row by the seat's own play: L x."""
    for g in range(len(chances)):
        for i in range(first, last):
            chances[g, i] = 0.0
    if len(plan) == 1:
        for s in range(plan.shape[1]):
            share = plan[0, s] * side.weights[s]
            if share > 0.0:
                for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                    if first <= side.rows[e] < last:
                        chances[0, side.rows[e]] += share
    else:
        for g in range(len(plan)):
            for s in range(plan.shape[1]):
                if plan[g, s] > 0.0:
                    for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                        image = group.product[g, group.inverse[side.turns[e]]]
                        chances[image, side.rows[e]] += plan[g, s]


@kernel
def _write_row_values(first, last, ends, group, seat, chances, values):
    """Write what each row of a seat is worth to it, from the probabilities of the other seat's rows."""
    for g in range(len(values)):
        for i in range(first, last):
            values[g, i] = 0.0
    sign = 1.0 if seat == 0 else -1.0
    theirs = ends.of[1 - seat]
    for r in range(len(theirs.begins) - 1):
        if len(chances) == 1:
            if chances[0, r] > 0.0:
                for e in range(theirs.begins[r], theirs.begins[r + 1]):
                    if first <= theirs.rows[e] < last:
                        values[0, theirs.rows[e]] += sign * ends.worth[theirs.codes[e]] * chances[0, r]
        else:
            for e in range(theirs.begins[r], theirs.begins[r + 1]):
                share = sign * ends.worth[theirs.codes[e]] / len(chances)
                for g in range(len(chances)):
                    pair = g, group.product[g, ends.turns[theirs.codes[e]]]  # mirror images of both seats' rows
                    values[pair[seat], theirs.rows[e]] += share * chances[pair[1 - seat], r]


@kernel
def _write_sequence_values(first, last, side, group, values, gradient):
    """Write what each sequence earns where it ends: the transpose of L times the values of rows."""
    if len(gradient) == 1:
        for s in range(first, last):
            gradient[0, s] = 0.0
        for r in range(side.num_rows):
            if values[0, r] != 0.0:
                for e in range(side.row_begins[r], side.row_begins[r + 1]):
                    if first <= side.sequences[e] < last:
                        gradient[0, side.sequences[e]] += values[0, r]
        for s in range(first, last):
            if gradient[0, s] != 0.0:
                gradient[0, s] *= side.weights[s]
    else:
        for g in range(len(gradient)):
            for s in range(first, last):
                total = 0.0
                for t in range(len(gradient)):
                    if side.kept[s] >> t & 1:
                        image = group.product[g, t]
                        for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                            total += values[group.product[image, group.inverse[side.turns[e]]], side.rows[e]]
                gradient[g, s] = total
