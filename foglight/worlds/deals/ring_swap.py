"""Markov chains over deals: the TTCG Gibbs sampler with RingSwap [Solinas2023, Section 5.3], and a cheaper chain.

A deal gives each row, a hand or the undealt cards, its cards. Its suit-length matrix A holds the number of cards of
each column in each row. A ring passes through distinct rows r_0 .. r_m. Row r_i gives a card of column c_(i-1) and
takes one of column c_i, which r_(i+1) gives; r_0 gives the column that r_m takes, so that all sums stay the same.
Columns may repeat. The neighbours of a deal are all deals whose matrix is A or can be reached from A by one ring;
without A itself, a position that allows a single matrix could not move. The ring walked backwards leads from the
neighbour to A, so being a neighbour is symmetric. It would not be symmetric if a ring started at one particular row and
ended as soon as its first column came again: rings that pass that column twice would be found in one direction only. A
matrix stands for

    prod over columns of  size! / prod over rows of a_ij!

deals, counted once however many rings lead to it; |Omega| is the sum over the matrices. To draw a neighbour is to draw
a matrix in this proportion, then a uniform deal with this matrix, in a uniform order of dealing. It is accepted with
probability min(1, P(h') |Omega| / (P(h) |Omega'|)), where P is the reach probability due to the players' policies.

The neighbours of a matrix are remembered in arrays of fixed size, which are emptied when full; so memory does not
depend on the number of histories. Columns are the cards of one suit with the same possible owners.

The cheaper chain draws one ring instead of listing all of them. It rotates the cards of a few random positions, or
draws one seat's passes anew. The way back is as likely as the way there, so P(h') / P(h) alone decides. It moves less
per transition and needs no matrix; it pays where a matrix has thousands of neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import apart, jitable, kernel
from foglight.randomness import below, first_above, unit
from foglight.rules import max_legal, new_worlds
from foglight.tables import find, number_of, numbered
from foglight.worlds.deals.count import HIDDEN, DealCount, copy, shuffle
from foglight.worlds.deals.replay import draw_pattern, reach, write_history

_MATRICES = 1 << 14  # most matrices remembered
_NEIGHBOURS = 1 << 18  # most neighbours remembered, of all matrices together

# places of Matrices.sizes: matrices remembered, neighbours remembered; rows of Matrices.ring
_MATRIX_COUNT, _NEIGHBOUR_COUNT = range(2)
_CHOICE, _EXCESS = range(2)


# RingSwap ---------------------------------------------------------------------------------------------------------


class Matrices(NamedTuple):
    """A puzzle in the form RingSwap needs, and the matrices and neighbours it remembers."""

    column_begins: np.ndarray  # int64[columns + 1], into cards
    cards: np.ndarray  # int64[..]: cards with several owners, column by column
    allowed: np.ndarray  # uint8[rows, columns]
    row_begins: np.ndarray  # int64[rows + 1]: the first position of each row
    fixed_begins: np.ndarray  # int64[rows + 1], into fixed
    fixed: np.ndarray  # int64[..]: cards with one owner, row by row
    column_of: np.ndarray  # int64[64]: by card, its column, -1 if it has one owner
    owners: np.ndarray  # int64[64]: by card, the set of rows that may own it
    signs: np.ndarray  # int64[rows * columns]: the key of a matrix is 1 plus the sum of entries times signs
    sizes: np.ndarray  # int64[2]: _MATRIX_COUNT, _NEIGHBOUR_COUNT
    slots: np.ndarray  # int64[4 * _MATRICES]: table of the numbers of matrices (`foglight/tables.py`)
    keys: np.ndarray  # uint64[_MATRICES]
    begins: np.ndarray  # int64[_MATRICES + 1], into shares and neighbours
    shares: np.ndarray  # float64[_NEIGHBOURS]: cumulative numbers of deals; the last of a matrix is |Omega|
    neighbours: np.ndarray  # int8[_NEIGHBOURS, rows * columns]
    marks: np.ndarray  # uint64[2 * _NEIGHBOURS]: table of the keys of the neighbours being listed
    marked: np.ndarray  # int64[_NEIGHBOURS]: their slots in marks
    work: np.ndarray  # int8[rows * columns]: the matrix that a ring is changing
    ring: np.ndarray  # int64[2, rows + 1]: by row of the ring, _CHOICE tried and the column then in _EXCESS


def matrices(deals: DealCount, suits: Sequence[int]) -> Matrices:
    """The puzzle in the form RingSwap needs; `suits` are the suits of its cards."""
    rows = len(deals.needs)
    live = sum(1 << row for row, need in enumerate(deals.needs) if need > 0)
    columns: dict[tuple[int, int], list[int]] = {}
    fixed: list[list[int]] = [[] for _ in range(rows)]
    owners = np.zeros(64, np.int64)
    for card, mask, suit in zip(deals.cards, deals.owners, suits, strict=True):
        owners[card] = mask & live
        if (mask & live).bit_count() == 1:
            fixed[(mask & live).bit_length() - 1].append(card)
        else:
            columns.setdefault((suit, mask & live), []).append(card)
    column_of = np.full(64, -1, np.int64)
    for j, members in enumerate(columns.values()):
        column_of[members] = j
    allowed = np.array([[mask >> row & 1 for _, mask in columns] for row in range(rows)], np.uint8)
    return Matrices(
        np.cumsum([0, *map(len, columns.values())]).astype(np.int64),
        np.array([card for members in columns.values() for card in members], np.int64),
        allowed.reshape(rows, len(columns)),
        np.cumsum([0, *deals.needs]).astype(np.int64),
        np.cumsum([0, *map(len, fixed)]).astype(np.int64),
        np.array([card for members in fixed for card in members], np.int64),
        column_of,
        owners,
        np.random.default_rng(0).integers(1, 1 << 57, rows * len(columns)),
        np.zeros(2, np.int64),
        np.zeros(4 * _MATRICES, np.int64),
        np.zeros(_MATRICES, np.uint64),
        np.zeros(_MATRICES + 1, np.int64),
        np.zeros(_NEIGHBOURS),
        np.zeros((_NEIGHBOURS, rows * len(columns)), np.int8),
        np.zeros(2 * _NEIGHBOURS, np.uint64),
        np.zeros(_NEIGHBOURS, np.int64),
        np.zeros(rows * len(columns), np.int8),
        np.zeros((2, rows + 1), np.int64),
    )


@jitable
def _key(memory, matrix):
    """The key of a matrix, which identifies it."""
    key = 1  # at most 64 cards of signs below 2^57: no overflow
    for i in range(len(matrix)):
        key += int64(matrix[i]) * memory.signs[i]
    return key


@jitable
def _neighbours(memory, matrix):
    """The number under which a matrix and its neighbours are remembered; HIDDEN if there are too many to list."""
    key = _key(memory, matrix)
    number = number_of(memory.slots, 1, memory.keys, uint64(key))
    if number >= 0:
        return number
    for attempt in range(2):
        if attempt == 1 or memory.sizes[_MATRIX_COUNT] == _MATRICES:  # forget everything
            memory.slots[:] = 0
            memory.sizes[:] = 0
        if _list_rings(memory, matrix, key):
            number = numbered(memory.slots, 1, memory.keys, uint64(key), memory.sizes[_MATRIX_COUNT])
            memory.sizes[_MATRIX_COUNT] += 1
            memory.begins[number + 1] = memory.sizes[_NEIGHBOUR_COUNT]
            return number
    return HIDDEN


@jitable
@apart
def _list_rings(memory, matrix, key):
    """Append the matrix and all matrices that one ring leads to; False if they do not fit."""
    rows, columns = memory.allowed.shape
    begin, work = memory.sizes[_NEIGHBOUR_COUNT], memory.work
    copy(work, matrix)
    fits = _note(memory, begin, key)
    for start in range(rows):
        for swap in range(columns * columns):
            gained, lost = swap // columns, swap % columns
            if gained == lost or not _can_swap(memory, matrix, start, lost, gained):
                continue
            key += _swap(memory, start, lost, gained)
            # a ring has no first row, so take the lowest; search the others depth first, also past rings that close
            depth = 0
            memory.ring[_CHOICE, 0], memory.ring[_EXCESS, 0] = (start + 1) * columns, gained
            while depth >= 0 and fits:
                choice, excess = memory.ring[_CHOICE, depth], memory.ring[_EXCESS, depth]
                row, column = choice // columns, choice % columns
                memory.ring[_CHOICE, depth] += 1
                if row == rows:
                    depth -= 1
                    if depth >= 0:  # take back the swap that led here
                        back = memory.ring[_CHOICE, depth] - 1
                        key += _swap(memory, back // columns, back % columns, memory.ring[_EXCESS, depth])
                    continue
                unused = True
                for d in range(depth):
                    unused &= (memory.ring[_CHOICE, d] - 1) // columns != row
                if unused and column != excess and _can_swap(memory, matrix, row, excess, column):
                    key += _swap(memory, row, excess, column)
                    if column == lost:
                        fits = _note(memory, begin, key)
                    depth += 1
                    memory.ring[_CHOICE, depth], memory.ring[_EXCESS, depth] = (start + 1) * columns, column
            copy(work, matrix)
            key = _key(memory, matrix)
    for i in range(memory.sizes[_NEIGHBOUR_COUNT] - begin):
        memory.marks[memory.marked[i]] = uint64(0)
    if not fits:
        memory.sizes[_NEIGHBOUR_COUNT] = begin
    return fits


@jitable
def _can_swap(memory, matrix, row, lost, gained):
    """Whether a row may give a card of one column and take one of another."""
    columns = memory.allowed.shape[1]
    return memory.allowed[row, gained] == 1 and matrix[row * columns + lost] > 0


@jitable
def _swap(memory, row, lost, gained):
    """Let a row give a card of column `lost` and take one of column `gained`; returns the change of the key."""
    columns = memory.allowed.shape[1]
    memory.work[row * columns + lost] -= 1
    memory.work[row * columns + gained] += 1
    return memory.signs[row * columns + gained] - memory.signs[row * columns + lost]


@jitable
def _note(memory, begin, key):
    """Append the matrix in `work`, unless it is listed already; False if it does not fit."""
    slot = find(memory.marks, uint64(key))
    if slot >= 0:
        return True
    n = memory.sizes[_NEIGHBOUR_COUNT]
    if n == len(memory.shares):
        return False
    memory.marks[-1 - slot] = uint64(key)
    memory.marked[n - begin] = -1 - slot
    deals = 1.0  # up to the product of size!, which all matrices share
    for i in range(len(memory.work)):
        for k in range(2, memory.work[i] + 1):
            deals /= k
    copy(memory.neighbours[n], memory.work)
    memory.shares[n] = deals + (memory.shares[n - 1] if n > begin else 0.0)
    memory.sizes[_NEIGHBOUR_COUNT] = n + 1
    return True


# The chains --------------------------------------------------------------------------------------------------------


@jitable
def _propose(memory, random, matrix, cards, filled, deal):
    """Draw a uniform deal with this matrix; `cards` is a copy of `memory.cards`, in any order within its columns."""
    rows, columns = memory.allowed.shape
    for row in range(rows):
        filled[row] = memory.row_begins[row]
        for i in range(memory.fixed_begins[row], memory.fixed_begins[row + 1]):
            deal[filled[row]] = memory.fixed[i]
            filled[row] += 1
    for j in range(columns):
        at = memory.column_begins[j]
        shuffle(random, cards, at, memory.column_begins[j + 1])
        for row in range(rows):
            for _ in range(matrix[row * columns + j]):
                deal[filled[row]] = cards[at]
                filled[row] += 1
                at += 1
    for row in range(rows - 1):  # the undealt cards have no order
        shuffle(random, deal, memory.row_begins[row], memory.row_begins[row + 1])


@kernel
def _ring_swap_chain(game, policy, layout, memory, viewer, observed, random, deal, pattern, weight, thin, out):
    """Continue from `deal`, `pattern` and `weight[0]`; every `thin` transitions write them to `out`.

    Returns the number of proposals accepted, or HIDDEN if a matrix has too many neighbours.
    """
    rows, columns = memory.allowed.shape
    room = new_worlds(game, 2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    history, cards = np.empty(len(layout.actions), np.int64), memory.cards.copy()
    filled = np.empty(rows, np.int64)
    matrix, proposed = np.zeros(rows * columns, np.int8), np.zeros(rows * columns, np.int8)
    new_deal, new_pattern = deal.copy(), pattern.copy()
    for row in range(rows):
        for i in range(memory.row_begins[row], memory.row_begins[row + 1]):
            if memory.column_of[deal[i]] >= 0:
                matrix[row * columns + memory.column_of[deal[i]]] += 1
    accepted = 0
    for t in range(thin * len(out[2])):
        number = _neighbours(memory, matrix)
        if number < 0:
            return HIDDEN
        low, high = memory.begins[number], memory.begins[number + 1] - 1
        omega = memory.shares[high]
        proposed[:] = memory.neighbours[first_above(memory.shares, unit(random) * omega, low, high + 1)]
        other = _neighbours(memory, proposed)
        if other < 0:
            return HIDDEN
        new_omega = memory.shares[memory.begins[other + 1] - 1]
        _propose(memory, random, proposed, cards, filled, new_deal)
        for seat in range(len(layout.dealt)):
            if layout.free_passes[seat] == 1:
                draw_pattern(layout, random, new_pattern, seat)
        write_history(layout, new_deal, new_pattern, history)
        new_weight = reach(game, policy, history, viewer, observed, room, actions, odds)
        if _accepts(random, weight[0] * new_omega, new_weight * omega):
            deal[:] = new_deal
            pattern[:, :] = new_pattern
            matrix[:] = proposed
            weight[0] = new_weight
            accepted += 1
        if (t + 1) % thin == 0:
            _write(out, t // thin, deal, pattern, weight)
    return accepted


@jitable
def _accepts(random, old, new):
    """Whether to move to a state that is new / old times as likely: the Metropolis-Hastings rule."""
    return new > 0.0 and unit(random) * old < new


@jitable
def _write(out, i, deal, pattern, weight):
    copy(out[0][i], deal)
    for seat in range(len(pattern)):
        copy(out[1][i, seat], pattern[seat])
    out[2][i] = weight[0]


@jitable
def _draw_ring(random, rows, order):
    """Draw the positions of a ring into the front of `order`; returns how many.

    There are 2, then each further one with probability 1/2, up to the number of rows.
    """
    ring = min(2, len(order))
    while ring < min(rows, len(order)) and below(random, 2) == 0:
        ring += 1
    for i in range(ring):
        j = i + below(random, len(order) - i)
        order[i], order[j] = order[j], order[i]
    return ring


@jitable
def _turn(owners, row_of, undealt, order, ring, deal, new_deal):
    """Move the card of each position of the ring to the next one.

    Returns False if a row may not own its new card, or if nothing changes: the order of cards in the row `undealt` does
    not count.
    """
    possible, changed = True, False
    for i in range(ring):
        position = order[i + 1 if i + 1 < ring else 0]
        new_deal[position] = deal[order[i]]
        possible &= owners[deal[order[i]]] >> row_of[position] & 1 == 1
        changed |= row_of[position] != undealt
    return possible and changed


@kernel
def _swap_chain(game, policy, layout, memory, viewer, observed, random, deal, pattern, weight, thin, out):
    """As `_ring_swap_chain`, by drawn rings."""
    rows = len(memory.row_begins) - 1
    room = new_worlds(game, 2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    history = np.empty(len(layout.actions), np.int64)
    row_of = np.empty(len(deal), np.int64)
    for row in range(rows):
        row_of[memory.row_begins[row] : memory.row_begins[row + 1]] = row
    givers = np.nonzero(layout.free_passes)[0]
    new_deal, new_pattern, order = deal.copy(), pattern.copy(), np.arange(len(deal))
    accepted = 0
    for t in range(thin * len(out[2])):
        if len(givers) > 0 and below(random, 4) == 0:
            possible = True
            draw_pattern(layout, random, new_pattern, givers[below(random, len(givers))])
        else:
            ring = _draw_ring(random, rows, order)
            possible = _turn(memory.owners, row_of, rows - 1, order, ring, deal, new_deal)
        if possible:
            write_history(layout, new_deal, new_pattern, history)
            new_weight = reach(game, policy, history, viewer, observed, room, actions, odds)
            if _accepts(random, weight[0], new_weight):
                deal[:] = new_deal
                pattern[:, :] = new_pattern
                weight[0] = new_weight
                accepted += 1
        new_deal[:] = deal
        new_pattern[:, :] = pattern
        if (t + 1) % thin == 0:
            _write(out, t // thin, deal, pattern, weight)
    return accepted
