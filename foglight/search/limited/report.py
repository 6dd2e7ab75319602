"""What a knowledge-limited search found: the strategy at the present, its values, and which bluffs it considered.

A bluff is an action that is worth more because the other seat does not know what we hold. For each action, let the
other seat answer at its next decision as if only our possible worlds were possible to it, too; afterwards both play on
as they do. The difference to the value of the action is what it owes to worlds that we know to be false.
"""

from typing import Any, NamedTuple

import numpy as np

from foglight.compile import kernel
from foglight.rules import CHANCE
from foglight.search.limited.regret import NONE, RESOLVE
from foglight.search.limited.search import LimitedSearch
from foglight.search.limited.tree import ITERATIONS, NO_CHILD, NODES, STATES

_LEAST_BLUFF = 0.02  # of the scale: smaller differences are not told


class Report(NamedTuple):
    strategy: np.ndarray  # float64[actions]
    stable: np.ndarray  # bool[actions]: in the support during the whole second half
    values: np.ndarray  # float64[actions]: payoffs; nan if unknown
    visits: np.ndarray  # int64[actions]
    unsafe: float  # how far resolve counts, from 0 to 1
    value: float  # of the present, less half of the constant sum of payoffs
    notes: dict[str, Any]


def report(search: LimitedSearch) -> Report:
    """The result of a search at its information state."""
    tree, roots, habits = search.tree, search.roots, search.habits
    assert tree is not None
    state = search.state()
    begin = int(tree.begin[state])
    slots = slice(begin, begin + int(tree.actions[state]))
    plan = search.profile()
    strategy = plan[slots] / plan[slots].sum()
    half = int(tree.used[ITERATIONS]) // 2
    stable = (strategy > 0.0) & (tree.since[slots] >= 0) & (tree.since[slots] <= half)
    worth = tree.worth[slots].copy()
    value = float(np.nansum(strategy * np.nan_to_num(worth)))
    unsafe = 0.0
    if habits.gadget != NONE:
        unsafe = 1.0 if habits.gadget == RESOLVE else float(roots.enter.max())
    n = int(tree.used[NODES])
    depths = np.zeros(n, np.int32)
    known = np.full(len(strategy), np.nan)
    deepest, mean = _depths(tree, depths)
    _known(tree, search.starts.present.node, search.seat, plan, known)
    notes: dict[str, Any] = {
        "possible": len(search.starts.present.node),
        "roots": len(roots.node),
        "other's states": len(roots.prior),
        "nodes": n,
        "states": int(tree.used[STATES]),
        "cfr iterations": int(tree.used[ITERATIONS]),
        "depth": round(float(mean), 1),
        "deepest": int(deepest),
    }
    if habits.gadget != NONE:
        notes["margin"] = round(float((roots.value - roots.alternative).min()), 4)
        notes["entered"] = round(float(roots.enter.max()), 4)
    gains = worth - known
    bluffs = {
        int(tree.action[begin + k]): round(float(gains[k]), 3)
        for k in range(len(strategy))
        if strategy[k] > 0.0 and gains[k] > _LEAST_BLUFF * habits.scale
    }
    if bluffs:
        notes["bluffs"] = bluffs
    return Report(strategy, stable, worth + search.centre, tree.tries[slots].astype(np.int64), unsafe, value, notes)


@kernel
def _depths(tree, depths):
    """The largest depth of a node below the roots, and the mean depth of leaves."""
    deepest, total, leaves = 0, 0.0, 0
    for node in range(len(depths)):
        parent = tree.parent[node]
        if parent != node:
            depths[node] = depths[parent] + 1
        deepest = max(deepest, depths[node])
        if tree.first[node] == NO_CHILD:
            total += depths[node]
            leaves += 1
    return deepest, total / max(leaves, 1)


@kernel
def _known(tree, here, seat, plan, out):
    """The value of each of our actions if the other seat's next answer were the best one against these worlds alone.

    Below that decision both play their present strategies.
    """
    n = tree.used[NODES]
    value = np.zeros(n)
    for node in range(n - 1, -1, -1):
        first, mover = tree.first[node], tree.mover[node]
        if first == NO_CHILD:
            value[node] = tree.value[node]
            continue
        begin = 0 if mover == CHANCE else tree.begin[tree.state[node]]
        for c in range(tree.children[node]):
            value[node] += (tree.odds[first + c] if mover == CHANCE else plan[begin + c]) * value[first + c]
    mass = 0.0
    for i in range(len(here)):
        mass += tree.reach[here[i]]
    if mass <= 0.0:
        return
    out[:] = 0.0
    sums = np.zeros(len(tree.action))  # our values of the other seat's answers, by the reach of our possible worlds
    passed = np.zeros(len(tree.owner), np.bool_)
    for i in range(len(here)):
        node, weight = here[i], tree.reach[here[i]] / mass
        for c in range(tree.children[node]):
            child = tree.first[node] + c
            if tree.mover[child] == 1 - seat and tree.first[child] != NO_CHILD:
                state = tree.state[child]
                passed[state] = True
                for d in range(tree.children[child]):
                    sums[tree.begin[state] + d] += weight * value[tree.first[child] + d]
            else:
                out[c] += weight * value[child]
    for i in range(len(here)):
        node = here[i]
        for c in range(tree.children[node]):
            child = tree.first[node] + c
            if tree.mover[child] == 1 - seat and tree.first[child] != NO_CHILD and passed[tree.state[child]]:
                state = tree.state[child]
                passed[state] = False
                best = np.inf
                for d in range(tree.children[child]):
                    best = min(best, sums[tree.begin[state] + d])
                out[c] += best
