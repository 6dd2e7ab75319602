"""Information set search [Parker2006] on sampled paths: information states are settled from the deepest level up.

At each the mover takes the action with the best mean of its own payoff over the paths that took it. The subgame is one
of histories [Arjonilla2024, Section III]: after that, a history is worth what it is worth itself under this choice, to
every seat. It is not worth the mean of its information state: another seat above may know which history it is, and
choose accordingly. But few paths share a history, and most have gone elsewhere. So, with m actions and the mean of the
chosen one over the whole state,

    a path that took it         is worth    mean + m (its value - mean)
    a path that went elsewhere  is worth    mean

The choice was one of m, so in expectation that is the value of the path's own history under the chosen action; with
every path recorded as often as random play takes it, it is so exactly. The mean, a baseline [Schmid2019], keeps all
paths and takes away much of the noise that following single ones would bring.

A state is what a seat knows after so many decisions: where time passes unnoticed, one information state is settled once
on each level.
"""

from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.search.paths import Paths


class Solution(NamedTuple):
    """What the paths show."""

    values: np.ndarray  # float64[actions]: what each action at the root is worth to the mover; nan if never tried
    visits: np.ndarray  # int64[actions]
    states: np.ndarray  # int64[depth]: how many information states were met at each level
    settled: np.ndarray  # int64[depth]: of these, where an action was chosen
    support: np.ndarray  # float64[depth]: paths to an action of a state, on average, at each level


def search(paths: Paths, seat: int, least: float = 0.0) -> Solution:
    """Settle all states for a seat that is to move at the root; states with fewer than `least` paths an action stay
    as they were played, at random."""
    n, depth = len(paths.lengths), paths.depth
    actions = int(paths.sizes[0, 0])
    sums, visits = np.zeros(actions), np.zeros(actions, np.int64)
    states, settled, total = np.ones(depth, np.int64), np.ones(depth, np.int64), np.zeros(depth, np.int64)
    _settle(paths, seat, least, sums, visits, states, settled, total)
    total[0] = actions
    support = np.divide(n, total, out=np.zeros(depth), where=total > 0)
    with np.errstate(invalid="ignore"):
        return Solution(sums / visits, visits, states, settled, support)


@jitable
def _choose(sums, taken, first, n, mover):
    """The action with the best mean for the mover; -1 if none was tried."""
    best, choice = 0.0, -1
    for k in range(n):
        if taken[first + k] > 0:
            mean = sums[first + k, mover] / taken[first + k]
            if choice < 0 or mean > best:
                best, choice = mean, k
    return choice


@kernel
def _settle(paths, seat, least, root_sums, visits, states, settled, total):
    n, depth = paths.keys.shape
    seats = paths.values.shape[1]
    values = np.empty((n, seats))
    for i in range(n):
        for s in range(seats):
            values[i, s] = paths.values[i, s]
    places = np.empty(n, np.int32)  # of each path: the number of its state on this level
    codes, sizes, movers = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.int32)
    begins, counts, chosen = np.empty(n + 1, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    small = 1
    while small < 2 * n:
        small *= 2
    table, table_mask = np.zeros(small, np.int32), small - 1
    for level in range(depth - 1, 0, -1):
        table[:] = 0
        found = 0
        for i in range(n):
            places[i] = -1
            if level < paths.lengths[i]:
                code = paths.keys[i, level]
                slot = int64(code & uint64(table_mask))
                while table[slot] != 0 and codes[table[slot] - 1] != code:
                    slot = (slot + 1) & table_mask
                if table[slot] == 0:
                    codes[found] = code
                    sizes[found], movers[found], counts[found] = paths.sizes[i, level], paths.movers[i, level], 0
                    found += 1
                    table[slot] = found
                places[i] = table[slot] - 1
                counts[places[i]] += 1
        begins[0] = 0
        for k in range(found):
            begins[k + 1] = begins[k] + sizes[k]
        sums, taken = np.zeros((begins[found], seats)), np.zeros(begins[found], np.int64)
        for i in range(n):
            if places[i] >= 0:
                at = begins[places[i]] + paths.choices[i, level]
                taken[at] += 1
                for s in range(seats):
                    sums[at, s] += values[i, s]
        for k in range(found):
            chosen[k] = -1
            if counts[k] >= least * sizes[k]:
                chosen[k] = _choose(sums, taken, begins[k], sizes[k], movers[k])
                settled[level] += 1
        states[level] = found
        total[level] = begins[found]
        for i in range(n):
            if places[i] >= 0 and chosen[places[i]] >= 0:
                k = places[i]
                at = begins[k] + chosen[k]
                for s in range(seats):
                    mean = sums[at, s] / taken[at]
                    if paths.choices[i, level] == chosen[k]:
                        mean += sizes[k] * (values[i, s] - mean)
                    values[i, s] = mean
    for i in range(n):
        visits[paths.choices[i, 0]] += 1
        root_sums[paths.choices[i, 0]] += values[i, seat]
