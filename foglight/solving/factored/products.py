"""Products of plans with the payoffs of a factored form, which give the gradients that solvers and best responses need.

Those of large forms are done in two parts that run on two threads. The parts are the same however many cores there are,
and so are the results.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from foglight.compile import jitable, kernel

if TYPE_CHECKING:
    from foglight.solving.factored.form import FactoredForm

_LARGE = 1 << 21  # entries and ends from which on two threads pay


class Products:
    """Gradients of a form, for plans with one line or with one for each symmetry."""

    def __init__(self, form: "FactoredForm", images: int = 1) -> None:
        self.form = form
        work = len(form.ends.payoffs) + sum(len(side.rows) for side in form.sides)
        self.parts = 2 if work > _LARGE and images == 1 else 1
        rows = max(side.num_rows for side in form.sides)
        self._chances, self._values = (np.zeros((self.parts, images, rows)) for _ in range(2))
        self._pool = ThreadPoolExecutor(self.parts) if self.parts > 1 else None
        self._cuts = [_cuts(side.entry_begins, self.parts) for side in form.sides]

    def write_gradient(self, seat: int, plan: np.ndarray, gradient: np.ndarray) -> None:
        """Write what each sequence of a seat earns where it ends, given the plan of the other seat."""
        form, other, chances, values = self.form, 1 - seat, self._chances, self._values
        rows = [np.linspace(0, side.num_rows, self.parts + 1).astype(np.int64) for side in form.sides]
        ends = np.linspace(0, len(form.ends.payoffs), self.parts + 1).astype(np.int64)
        self._run(_write_chances, self._cuts[other], form.sides[other], form.group, plan, chances)
        self._run(_add_up, rows[other], chances)
        self._run(_write_row_values, ends, form.ends, form.group, seat, chances[0], values)
        self._run(_add_up, rows[seat], values)
        self._run(_write_sequence_values, self._cuts[seat], form.sides[seat], form.group, values[0], gradient)

    def _run(self, work: Callable[..., Any], cuts: np.ndarray, *arguments: Any) -> None:
        """Do the parts of some work: each has its number, where it begins and where it ends."""
        parts = [(part, int(cuts[part]), int(cuts[part + 1])) for part in range(self.parts)]
        if self._pool is None:
            work(*parts[0], *arguments)
            return
        for future in [self._pool.submit(work, *part, *arguments) for part in parts]:
            future.result()


def _cuts(begins: np.ndarray, parts: int) -> np.ndarray:
    """Sequences at which to cut, so that all parts have about as many entries."""
    cuts = np.searchsorted(begins, np.linspace(0, begins[-1], parts + 1))
    cuts[0], cuts[-1] = 0, len(begins) - 1
    return cuts


@kernel
def _add_up(part, first, last, arrays):
    """Add the other parts to part 0."""
    for k in range(1, len(arrays)):
        for g in range(arrays.shape[1]):
            for i in range(first, last):
                arrays[0, g, i] += arrays[k, g, i]


@kernel
def _write_chances(part, first, last, side, group, plan, chances):
    """Write the probability of each row by the seat's own play: L x."""
    _add_chances(first, last, side, group, plan, chances[part])


@jitable
def _add_chances(first, last, side, group, plan, chances):
    chances[:] = 0.0
    if len(plan) == 1:
        for s in range(first, last):
            share = plan[0, s] * side.weights[s]
            if share > 0.0:
                for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                    chances[0, side.rows[e]] += share
    else:
        for g in range(len(plan)):
            for s in range(first, last):
                if plan[g, s] > 0.0:
                    for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                        image = group.product[g, group.inverse[side.turns[e]]]
                        chances[image, side.rows[e]] += plan[g, s]


@kernel
def _write_row_values(part, first, last, ends, group, seat, chances, values):
    """Write what each row of a seat is worth to it, from the probabilities of the other seat's rows."""
    _add_row_values(first, last, ends, group, seat, chances, values[part])


@jitable
def _add_row_values(first, last, ends, group, seat, chances, values):
    values[:] = 0.0
    sign = 1.0 if seat == 0 else -1.0
    if len(chances) == 1:
        for e in range(first, last):
            values[0, ends.rows[e, seat]] += sign * ends.payoffs[e] * chances[0, ends.rows[e, 1 - seat]]
    else:
        for g in range(len(chances)):
            for e in range(first, last):
                own, other = group.product[g, ends.turns[e, seat]], group.product[g, ends.turns[e, 1 - seat]]
                share = sign * ends.payoffs[e] / len(chances)
                values[own, ends.rows[e, seat]] += share * chances[other, ends.rows[e, 1 - seat]]


@kernel
def _write_sequence_values(part, first, last, side, group, values, gradient):
    """Write what each sequence earns where it ends: the transpose of L times the values of rows."""
    if len(gradient) == 1:
        for s in range(first, last):
            total = 0.0
            for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                total += values[0, side.rows[e]]
            gradient[0, s] = side.weights[s] * total
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
