"""The parts of a factored form, put together from what a walk found.

Entries are held by sequence and by row, and ends by the rows of either seat, so that products can begin with either.
Memory decides the order here: what a walk found goes as soon as it is not needed any more.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from foglight.compile import kernel
from foglight.solving.factored.walk import Walk


class Side(NamedTuple):
    """One seat's part of a form: I information states, S sequences, of which 0 is the root, R rows."""

    begins: np.ndarray  # int32[I + 1]: the sequence of an information state's first action
    fixed: np.ndarray  # uint8[I] or int64[I]: the symmetries that leave the seat's own past as it is, as bits
    link_begins: np.ndarray  # int32[I + 1]
    parents: np.ndarray  # int32[links]: the sequences that lead to an information state
    child_begins: np.ndarray  # int32[S + 1]
    children: np.ndarray  # int32[links]: the information states that a sequence leads to
    actions: np.ndarray  # int16[S]: the action of a sequence; -1 for the root
    weights: np.ndarray  # float64[S]: 1 / the number of mirror images that a sequence stands for
    kept: np.ndarray  # uint8[S] or int64[S]: the symmetries that leave the sequence as it is, as bits
    entry_begins: np.ndarray  # int64[S + 1]
    rows: np.ndarray  # int32[E]: the rows that a sequence fits, in order
    turns: np.ndarray  # int8[E]: the symmetry that takes the sequence to where it fits
    row_begins: np.ndarray  # int32 or int64[R + 1]
    sequences: np.ndarray  # int32[E]: the sequences that fit a row
    num_rows: int


class Meetings(NamedTuple):
    """The ends of a seat's rows: row r has those from `begins[r]` on."""

    begins: np.ndarray  # int32 or int64[R + 1]
    rows: np.ndarray  # int32[T]: the row of the other seat, in order
    codes: np.ndarray  # uint8, uint16 or int32[T]: an index into `Ends.worth` and `Ends.turns`


class Ends(NamedTuple):
    """Where common histories end, except those that pay `shift`: T of them, ordered by the rows of either seat."""

    of: tuple[Meetings, Meetings]
    worth: np.ndarray  # float32: payoffs of seat 0, less the shift, times the number of mirror images
    turns: np.ndarray  # int8: the symmetry that takes the row of seat 1 to where it fits the row of seat 0
    shift: float

    @property
    def payoffs(self) -> np.ndarray:
        """The payoff of each end, ordered by the rows of seat 0, float32[T]."""
        return self.worth[self.of[0].codes]

    @property
    def rows(self) -> np.ndarray:
        """The rows of both seats at each end, in the same order, int32[T, 2]."""
        first = np.repeat(np.arange(len(self.of[0].begins) - 1, dtype=np.int32), np.diff(self.of[0].begins))
        return np.stack([first, self.of[0].rows], axis=1)


def side_of(outcome: Walk, seat: int, symmetries: int) -> Side:
    """One seat's part, with its information states and sequences numbered anew; takes its rows out of the walk."""
    own = outcome.states.seats == seat
    numbers = np.cumsum(own, dtype=np.int32) - 1
    sizes = np.diff(np.append(outcome.states.begins, np.int32(len(outcome.sequences.actions))))
    own_sequences = np.concatenate([[seat == 0, seat == 1], np.repeat(own, sizes)])
    states, sequences = int(own.sum()), int(own_sequences.sum())
    renumbered = np.cumsum(own_sequences, dtype=np.int32) - 1
    further = own[outcome.links.states]
    owners = np.append(np.arange(states, dtype=np.int32), numbers[outcome.links.states[further]])
    parents = np.append(outcome.states.parents[own], outcome.links.parents[further])
    links = np.unique(owners * np.int64(sequences) + renumbered[parents])  # mirror images give the same ones
    parents, owners = (links % sequences).astype(np.int32), (links // sequences).astype(np.int32)
    del links, numbers, sizes, further
    by_parent = np.argsort(parents, kind="stable")
    child_begins = np.searchsorted(parents[by_parent], np.arange(sequences + 1, dtype=np.int32)).astype(np.int32)
    children = owners[by_parent]
    del by_parent
    entry_begins = np.zeros(sequences + 1, np.int64)
    (lists, items), outcome.rows[seat] = outcome.rows[seat], None
    row_begins = np.zeros(int(lists.rows.max(initial=0)) + 1, _number(len(items.codes)))
    rows, turns, fitting = _entries(lists, items.codes, renumbered, symmetries, entry_begins, row_begins)
    kept = outcome.sequences.kept[own_sequences]
    return Side(
        np.append(renumbered[outcome.states.begins[own]], np.int32(sequences)),
        outcome.sequences.kept[outcome.states.parents[own]],
        np.searchsorted(owners, np.arange(states + 1, dtype=np.int32)).astype(np.int32),
        parents,
        child_begins,
        children,
        outcome.sequences.actions[own_sequences],
        sum((kept >> t & 1) for t in range(symmetries)) / symmetries,
        kept,
        entry_begins,
        rows,
        turns,
        row_begins,
        fitting,
        len(row_begins) - 1,
    )


@kernel
def _entries(lists, items, numbers, symmetries, begins, row_begins):
    """The rows that each sequence of a seat fits, with their turns, and the sequences that fit each row.

    Writes where those of a sequence and of a row begin.
    """
    of_row = np.zeros(len(row_begins) - 1, np.int32)
    for i in range(len(lists.rows) - 1):
        if lists.rows[i]:
            of_row[lists.rows[i] - 1] = i
            row_begins[lists.rows[i]] = int64(lists.begins[i + 1]) - int64(lists.begins[i])
            for k in range(int64(lists.begins[i]), int64(lists.begins[i + 1])):
                begins[numbers[items[k] // symmetries] + 1] += 1
    for r in range(len(of_row)):
        row_begins[r + 1] += row_begins[r]
    for s in range(len(begins) - 1):
        begins[s + 1] += begins[s]
    rows, turns, free = np.zeros(begins[-1], np.int32), np.zeros(begins[-1], np.int8), begins[:-1].copy()
    sequences, n = np.zeros(begins[-1], np.int32), 0
    for r in range(len(of_row)):
        for k in range(int64(lists.begins[of_row[r]]), int64(lists.begins[of_row[r] + 1])):
            s = numbers[items[k] // symmetries]
            rows[free[s]], turns[free[s]], sequences[n] = r, items[k] % symmetries, s
            free[s] += 1
            n += 1
    return rows, turns, sequences


def _number(most: int) -> Any:
    """The kind of whole numbers up to `most`."""
    return np.int32 if most <= np.iinfo(np.int32).max else np.int64


def meetings_of(outcome: Walk, sides: Any) -> tuple[Meetings, Meetings]:
    """The ends ordered by the rows of either seat; takes them out of the walk."""
    rows, codes = outcome.ends.pop()
    first, second = (
        Meetings(np.zeros(side.num_rows + 1, _number(len(codes))), np.empty(len(codes), np.int32), np.empty_like(codes))
        for side in sides
    )
    _write_begins(rows, first.begins, second.begins)
    _sort_by_second(rows, codes, *second)
    del rows, codes
    _turn_over(*second, *first)
    _turn_over(*first, *second)
    return first, second


@kernel
def _write_begins(rows, first, second):
    for e in range(len(rows)):
        first[rows[e, 0] + 1] += 1
        second[rows[e, 1] + 1] += 1
    for begins in (first, second):
        for r in range(len(begins) - 1):
            begins[r + 1] += begins[r]


@kernel
def _sort_by_second(rows, codes, begins, others, sorted_codes):
    free = begins[:-1].copy()
    for e in range(len(codes)):
        place = free[rows[e, 1]]
        others[place], sorted_codes[place] = rows[e, 0], codes[e]
        free[rows[e, 1]] += 1


@kernel
def _turn_over(begins, others, codes, new_begins, new_others, new_codes):
    """Order ends by the other seat's rows, and there by those of this seat."""
    free = new_begins[:-1].copy()
    for r in range(len(begins) - 1):
        for e in range(begins[r], begins[r + 1]):
            place = free[others[e]]
            new_others[place], new_codes[place] = r, codes[e]
            free[others[e]] += 1
