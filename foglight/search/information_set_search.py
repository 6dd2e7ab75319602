"""Information set search [Parker2006] on sampled paths: information states are settled from the deepest level up.

At each the mover takes the action with the best mean. What then becomes of a path that went elsewhere?

    own      it takes the mean of its information state under the chosen action: what the seat would get there
    follow   it is dropped; those that went there stand for it, weighted by how unlikely they were to

The seat that searches knows its own information state, so `own` is right for its states and keeps all paths. Another
seat's state pools histories that differ in what it cannot see, our own move among them, so a mean over it would wipe
out just the difference we ask about: there paths have to `follow`.
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
    weighed = np.zeros(actions)
    states, settled, total = np.ones(depth, np.int64), np.ones(depth, np.int64), np.zeros(depth, np.int64)
    _settle(paths, seat, least, sums, weighed, visits, states, settled, total)
    total[0] = actions
    support = np.divide(n, total, out=np.zeros(depth), where=total > 0)
    with np.errstate(invalid="ignore"):
        return Solution(sums / weighed, visits, states, settled, support)


@jitable
def _choose(sums, weights, first, n, mover):
    """The action with the best mean for the mover; -1 if none was tried."""
    best, choice = 0.0, -1
    for k in range(n):
        if weights[first + k] > 0.0:
            mean = sums[first + k, mover] / weights[first + k]
            if choice < 0 or mean > best:
                best, choice = mean, k
    return choice


@kernel
def _settle(paths, seat, least, root_sums, root_weights, visits, states, settled, total):
    n, depth = paths.keys.shape
    seats = paths.values.shape[1]
    values = np.empty((n, seats))
    weights = np.ones(n)
    for i in range(n):
        for s in range(seats):
            values[i, s] = paths.values[i, s]
    places = np.empty(n, np.int32)  # of each path: the number of its state on this level
    codes, sizes, movers = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.int32)
    begins, counts = np.empty(n + 1, np.int32), np.empty(n, np.int32)
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
        sums, weighed = np.zeros((begins[found], seats)), np.zeros(begins[found])
        for i in range(n):
            if places[i] >= 0 and weights[i] > 0.0:
                at = begins[places[i]] + paths.choices[i, level]
                weighed[at] += weights[i]
                for s in range(seats):
                    sums[at, s] += weights[i] * values[i, s]
        for k in range(found):
            choice = -1
            if counts[k] >= least * sizes[k]:
                choice = _choose(sums, weighed, begins[k], sizes[k], movers[k])
            counts[k] = choice
            if choice >= 0:
                settled[level] += 1
                for s in range(seats):  # from now on the mean
                    sums[begins[k] + choice, s] /= weighed[begins[k] + choice]
        states[level] = found
        total[level] = begins[found]
        for i in range(n):
            if places[i] >= 0:
                choice = counts[places[i]]
                if choice < 0:
                    continue
                at = begins[places[i]] + choice
                if movers[places[i]] == seat:
                    for s in range(seats):
                        values[i, s] = sums[at, s]
                elif paths.choices[i, level] == choice:
                    weights[i] *= paths.sizes[i, level]
                else:
                    weights[i] = 0.0
    for i in range(n):
        visits[paths.choices[i, 0]] += 1
        root_weights[paths.choices[i, 0]] += weights[i]
        root_sums[paths.choices[i, 0]] += weights[i] * values[i, seat]
