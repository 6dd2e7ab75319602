"""Information set search [Parker2006] on sampled paths: information states are settled from the deepest level up.

At each information state the mover takes the action with the best mean of its own payoff over the paths that took it.
The subgame is one of histories [Arjonilla2024, Section III]: after that, every seat values a history by its own paths
under this choice. It is not worth the mean of its information state: another seat above may know which history it is,
and choose accordingly. But few paths pass through most histories, and the chosen action may not have been tried there.
So

    if it was tried     the history's paths take its mean there, and count m/k times: k of the m actions were tried
    if it was not       they are dropped; those of other histories stand for them

Each action is equally likely to be among the k that were tried. So in expectation a history counts as often as paths
passed through it, and with more and more paths the values converge to those of the whole subgame. Where all m actions
were tried, nothing is dropped; with every path of random play recorded, the values are exactly those of the whole
subgame.

A state here is an information state after a given number of decisions: where decisions go unnoticed, one information
state is settled once on each level.
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.randomness import fold
from foglight.search.paths.sampling import Paths
from foglight.tables import numbered, slots_for


class Solution(NamedTuple):
    """The values at the root, and how far the paths suffice."""

    values: np.ndarray  # float64[actions]: mean payoff of the mover for each action at the root; nan if never tried
    visits: np.ndarray  # int64[actions]: number of paths
    states: np.ndarray  # int64[depth]: number of information states at each level
    settled: np.ndarray  # int64[depth]: number of these at which an action was chosen
    support: np.ndarray  # float64[depth]: mean number of paths per action of a state, at each level


def search(paths: Paths, seat: int, least: float = 0.0) -> Solution:
    """Settle all states for a seat that is to move at the root.

    States with fewer than `least` paths per action stay as they were played, at random.
    """
    depth, actions = paths.depth, int(paths.sizes[0, 0])
    sums, weights, visits = np.zeros(actions), np.zeros(actions), np.zeros(actions, np.int64)
    states, settled, total = np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    states[0], settled[0], total[0] = 1, 1, actions
    _settle(paths, seat, least, sums, weights, visits, states, settled, total)
    reached = np.count_nonzero(paths.lengths[:, None] > np.arange(depth), axis=0)
    support = np.divide(reached, total, out=np.zeros(depth), where=total > 0)
    with np.errstate(invalid="ignore"):
        return Solution(sums / weights, visits, states, settled, support)


@jitable
def _choose(sums, taken, first, n, mover):
    """The action with the best mean for the mover; -1 if none was tried."""
    best, choice = 0.0, -1
    for k in range(n):
        if taken[first + k] > 0.0:
            mean = sums[first + k, mover] / taken[first + k]
            if choice < 0 or mean > best:
                best, choice = mean, k
    return choice


@kernel
def _settle(paths, seat, least, root_sums, root_weights, visits, states, settled, total):
    """Settle the states of all levels below the root, then add up values, weights and paths by action of the root."""
    n, depth = paths.keys.shape
    seats = paths.values.shape[1]
    values, weights = np.empty((n, seats)), np.ones(n)
    for i in range(n):
        for s in range(seats):
            values[i, s] = paths.values[i, s]
    states_of, codes = np.empty(n, np.int32), np.empty(n, np.uint64)  # by path, its state's number; by state, its key
    sizes, movers = np.empty(n, np.int32), np.empty(n, np.int32)
    begins, counts, chosen = np.empty(n + 1, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    histories_of, names = np.empty(n, np.int32), np.empty(n, np.uint64)  # the same of histories and their hashes
    followed, tried = np.empty(n, np.int32), np.empty(n, np.int32)  # paths that took the chosen action; actions tried
    kept, own = np.empty(n), np.empty((n, seats))  # the weight of the paths that took it, and the sum of their values
    edges = np.empty(n, np.uint64)
    table, mark = np.zeros(slots_for(n), np.int64), 0
    for level in range(depth - 1, 0, -1):
        mark, num_keys = mark + 1, 0
        for i in range(n):
            states_of[i] = -1
            if level < paths.lengths[i]:
                k = numbered(table, mark, codes, paths.keys[i, level], num_keys)
                if k == num_keys:
                    sizes[k], movers[k], counts[k] = paths.sizes[i, level], paths.movers[i, level], 0
                    num_keys += 1
                states_of[i] = k
                counts[k] += 1
        begins[0] = 0
        for k in range(num_keys):
            begins[k + 1] = begins[k] + sizes[k]
        sums, taken = np.zeros((begins[num_keys], seats)), np.zeros(begins[num_keys])
        for i in range(n):
            if states_of[i] >= 0:
                at = begins[states_of[i]] + paths.choices[i, level]
                taken[at] += weights[i]
                for s in range(seats):
                    sums[at, s] += weights[i] * values[i, s]
        for k in range(num_keys):
            chosen[k] = -1
            if counts[k] >= least * sizes[k]:
                chosen[k] = _choose(sums, taken, begins[k], sizes[k], movers[k])
                settled[level] += chosen[k] >= 0
        states[level] = num_keys
        total[level] = begins[num_keys]
        mark, num_keys = mark + 1, 0
        for i in range(n):
            if states_of[i] >= 0:
                h = numbered(table, mark, names, paths.histories[i, level], num_keys)
                if h == num_keys:
                    followed[h], tried[h], kept[h], own[h, :] = 0, 0, 0.0, 0.0
                    num_keys += 1
                histories_of[i] = h
                if paths.choices[i, level] == chosen[states_of[i]]:
                    followed[h] += 1
                    kept[h] += weights[i]
                    for s in range(seats):
                        own[h, s] += weights[i] * values[i, s]
        mark, num_keys = mark + 1, 0
        for i in range(n):
            if states_of[i] >= 0:
                edge = uint64(fold(paths.histories[i, level], paths.choices[i, level]))
                if numbered(table, mark, edges, edge, num_keys) == num_keys:
                    tried[histories_of[i]] += 1
                    num_keys += 1
        for i in range(n):
            if states_of[i] >= 0 and chosen[states_of[i]] >= 0:
                k, h = states_of[i], histories_of[i]
                weights[i] = 0.0
                if kept[h] > 0.0:
                    weights[i] = sizes[k] / tried[h] * kept[h] / followed[h]
                    for s in range(seats):
                        values[i, s] = own[h, s] / kept[h]
    for i in range(n):
        visits[paths.choices[i, 0]] += 1
        root_weights[paths.choices[i, 0]] += weights[i]
        root_sums[paths.choices[i, 0]] += weights[i] * values[i, seat]
