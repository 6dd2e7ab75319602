"""The parts of a factored form, put together from what a walk found.

Entries are held by sequence and by row, and ends by the rows of either seat, so that products can begin with either.
Memory decides the order here: what a walk found goes as soon as it is not needed any more.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from foglight.compile import kernel
from foglight.solving.factored.arrays import ITEMS, LINKS, ROWS, SEQUENCES, STATES, code_type
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


class _Numbers(NamedTuple):
    """How the information states, sequences and rows of a part are numbered among all of its seat.

    The trunk, with which every part begins, comes first; then what the parts have of their own, one part after another.
    """

    trunk: Any  # by kind, how many the parts have in common; the others are shifted by
    shift: Any  # int64[3]

    def __call__(self, kind: int, numbers: np.ndarray) -> np.ndarray:
        """The numbers among all of a seat, int32."""
        return numbers + np.where(numbers < self.trunk[kind], 0, self.shift[kind]).astype(np.int32)


def _numbers(outcome: Walk, seat: int) -> list[_Numbers]:
    """By part, how it is numbered."""
    kinds = [STATES, SEQUENCES, ROWS]
    trunk, shift, result = outcome.trunk[seat][kinds], np.zeros(3, np.int64), []
    for part in outcome.parts[seat]:
        result.append(_Numbers(dict(zip(kinds, trunk, strict=True)), dict(zip(kinds, shift.copy(), strict=True))))
        shift += part.counts[kinds] - trunk
    return result


def _joined(arrays: list[np.ndarray], trunk: int) -> np.ndarray:
    """An array of all parts: the trunk, and what each has of its own."""
    return np.concatenate([array if number == 0 else array[trunk:] for number, array in enumerate(arrays)])


def side_of(outcome: Walk, seat: int, symmetries: int) -> tuple[Side, np.ndarray, np.ndarray]:
    """One seat's part, with histories that lead to its information states, and their lengths."""
    parts, numbers = outcome.parts[seat], _numbers(outcome, seat)
    trunk = {kind: int(outcome.trunk[seat][kind]) for kind in (STATES, SEQUENCES, LINKS)}

    def of_states(name: str) -> np.ndarray:
        return _joined([getattr(part.states, name) for part in parts], trunk[STATES])

    def of_sequences(name: str) -> np.ndarray:
        return _joined([getattr(part.sequences, name) for part in parts], trunk[SEQUENCES])

    def renumbered(kind: int, arrays: Any, first: int) -> np.ndarray:
        return _joined([number(kind, array) for number, array in zip(numbers, arrays, strict=True)], first)

    actions, kept = of_sequences("actions"), of_sequences("kept")
    begins = renumbered(SEQUENCES, [part.states.begins for part in parts], trunk[STATES])
    first = renumbered(SEQUENCES, [part.states.parents for part in parts], trunk[STATES])
    link_begins, parents = _parents(
        first,
        renumbered(STATES, [part.links.states for part in parts], trunk[LINKS]),
        renumbered(SEQUENCES, [part.links.parents for part in parts], trunk[LINKS]),
    )
    fixed = kept[first]
    del first
    child_begins, children = _children(link_begins, parents, len(actions))
    entries, rows = (sum(int(part.counts[kind]) for part in parts) for kind in (ITEMS, ROWS))
    entry_begins, row_begins = np.zeros(len(actions) + 1, np.int64), np.zeros(rows + 1, _number(entries))
    of_parts = [
        (part.lists, part.items.codes, n.trunk[SEQUENCES], n.shift[SEQUENCES], n.shift[ROWS])
        for part, n in zip(parts, numbers, strict=True)
    ]
    for own in of_parts:
        _count_entries(*own, symmetries, entry_begins, row_begins)
    np.cumsum(entry_begins, out=entry_begins)
    np.cumsum(row_begins, out=row_begins)
    free = entry_begins[:-1].copy()
    fitting, fits, turns = np.empty(entries, np.int32), np.empty(entries, np.int32), np.empty(entries, np.int8)
    for own in of_parts:
        _write_entries(*own, symmetries, row_begins, free, fits, turns, fitting)
    side = Side(
        np.append(begins, np.int32(len(actions))),
        fixed,
        link_begins,
        parents,
        child_begins,
        children,
        actions,
        np.asarray(sum((kept >> t & 1) for t in range(symmetries)) / symmetries),
        kept,
        entry_begins,
        fits,
        turns,
        row_begins,
        fitting,
        rows,
    )
    lengths, pasts = of_states("lengths"), of_states("pasts")
    parts.clear()
    return side, pasts, lengths


@kernel
def _parents(first, states, parents):
    """The sequences that lead to each information state, in order: the first, and those of further links.

    Mirror images give the same link more than once.
    """
    begins = np.zeros(len(first) + 1, np.int32)
    for i in range(len(first)):
        begins[i + 1] = 1
    for k in range(len(states)):
        begins[states[k] + 1] += 1
    for i in range(len(first)):
        begins[i + 1] += begins[i]
    sorted_parents, free = np.empty(begins[-1], np.int32), begins[:-1].copy()
    for i in range(len(first)):
        sorted_parents[free[i]] = first[i]
        free[i] += 1
    for k in range(len(states)):
        sorted_parents[free[states[k]]] = parents[k]
        free[states[k]] += 1
    left, start = 0, 0
    for i in range(len(first)):
        first_left, last = left, begins[i + 1]
        for k in range(start, last):  # a few: each goes to its place among those before
            parent, place = sorted_parents[k], left
            while place > first_left and sorted_parents[place - 1] > parent:
                place -= 1
            if place > first_left and sorted_parents[place - 1] == parent:
                continue
            for m in range(left, place, -1):
                sorted_parents[m] = sorted_parents[m - 1]
            sorted_parents[place] = parent
            left += 1
        start, begins[i + 1] = last, left
    return begins, sorted_parents[:left].copy()


@kernel
def _children(link_begins, parents, sequences):
    """The information states that each sequence leads to, and where those of a sequence begin."""
    begins, children = np.zeros(sequences + 1, np.int32), np.empty(len(parents), np.int32)
    for k in range(len(parents)):
        begins[parents[k] + 1] += 1
    for s in range(sequences):
        begins[s + 1] += begins[s]
    free = begins[:-1].copy()
    for i in range(len(link_begins) - 1):
        for k in range(link_begins[i], link_begins[i + 1]):
            children[free[parents[k]]] = i
            free[parents[k]] += 1
    return begins, children


@kernel
def _count_entries(lists, items, trunk, shift, first_row, symmetries, entry_begins, row_begins):
    """Count the entries of each sequence and of each row, in the place after it."""
    for i in range(len(lists.rows) - 1):
        row_begins[first_row + lists.rows[i]] = int64(lists.begins[i + 1]) - int64(lists.begins[i])
    for k in range(len(items)):
        s = items[k] // symmetries
        entry_begins[s + 1 if s < trunk else s + 1 + shift] += 1


@kernel
def _write_entries(lists, items, trunk, shift, first_row, symmetries, row_begins, free, rows, turns, sequences):
    """Write the rows that each sequence of a part fits, with their turns, and the sequences that fit each row."""
    of_row = np.empty(len(lists.rows) - 1, np.int32)
    for i in range(len(of_row)):
        of_row[lists.rows[i] - 1] = i
    for r in range(len(of_row)):
        n = int64(row_begins[first_row + r])
        for k in range(int64(lists.begins[of_row[r]]), int64(lists.begins[of_row[r] + 1])):
            own = items[k] // symmetries
            s = own if own < trunk else own + shift
            rows[free[s]], turns[free[s]], sequences[n] = first_row + r, items[k] - own * symmetries, s
            free[s] += 1
            n += 1


def _number(most: int) -> Any:
    """The kind of whole numbers up to `most`."""
    return np.int32 if most <= np.iinfo(np.int32).max else np.int64


def ends_of(outcome: Walk, symmetries: int, shift: float) -> Ends:
    """The ends ordered by the rows of either seat; takes them out of the walk."""
    regions = outcome.regions
    worths = dict.fromkeys(worth for region in regions for worth in region.payoffs.worth.tolist())
    index, total = {worth: number for number, worth in enumerate(worths)}, sum(len(one.ends.codes) for one in regions)
    kind = code_type(len(worths) * symmetries)
    rows = [sum(int(part.counts[ROWS]) for part in parts) for parts in outcome.parts]
    first, second = (
        Meetings(np.zeros(n + 1, _number(total)), np.empty(total, np.int32), np.empty(total, kind)) for n in rows
    )
    firsts = [[int(n.shift[ROWS]) for n in _numbers(outcome, seat)] for seat in range(2)]
    for numbers, ends, _ in regions:
        _count_ends(ends.rows, firsts[0][numbers[0]], firsts[1][numbers[1]], first.begins, second.begins)
    np.cumsum(first.begins, out=first.begins)
    np.cumsum(second.begins, out=second.begins)
    free = second.begins[:-1].copy()
    while regions:
        (one, other), ends, payoffs = regions.pop()
        codes = np.array([index[w] * symmetries + t for w in payoffs.worth.tolist() for t in range(symmetries)], kind)
        _sort_by_second(ends.rows, ends.codes, codes, firsts[0][one], firsts[1][other], free, second.rows, second.codes)
    _turn_over(*second, *first)
    _turn_over(*first, *second)
    worth = np.repeat(np.array(list(worths), np.float32), symmetries)
    turns = (np.arange(len(worth)) % symmetries).astype(np.int8)
    return Ends((first, second), worth, turns, shift)


@kernel
def _count_ends(rows, first_row, second_row, first, second):
    """Count the ends of each row of either seat, in the place after it."""
    for e in range(len(rows)):
        first[first_row + rows[e, 0] + 1] += 1
        second[second_row + rows[e, 1] + 1] += 1


@kernel
def _sort_by_second(rows, codes, new_codes, first_row, second_row, free, others, sorted_codes):
    for e in range(len(codes)):
        r = second_row + rows[e, 1]
        others[free[r]], sorted_codes[free[r]] = first_row + rows[e, 0], new_codes[codes[e]]
        free[r] += 1


@kernel
def _turn_over(begins, others, codes, new_begins, new_others, new_codes):
    """Order ends by the other seat's rows, and there by those of this seat."""
    free = new_begins[:-1].copy()
    for r in range(len(begins) - 1):
        for e in range(begins[r], begins[r + 1]):
            place = free[others[e]]
            new_others[place], new_codes[place] = r, codes[e]
            free[others[e]] += 1
