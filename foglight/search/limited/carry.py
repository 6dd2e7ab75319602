"""From one decision to the next: the part of the last tree that still matters, and what the last search says about it.

Let I be the searching seat's information state. The histories of the tree in I are of order 1: what the seat holds
possible. Histories that the other seat cannot tell from one of them are of order 2: what the seat thinks that the
other one may hold possible. Histories further out are dropped. The paper keeps all histories of order 1. Of too many,
either the likeliest are kept, by the reach of both seats and of chance in the last search, or some are drawn evenly.
For a group J of histories that look alike to the other seat,

    share of h in J    ~ reach of h by our own strategy and chance in the last search
    alternative of J   = our mean value in J - gift / our reach of J
    gift               = what the other seat gave away on its way to J: for each of its actions, the value of its
                         strategy minus that of the action, where positive, both weighted by our reach
    likelihood of J    ~ reach of its histories by both seats and chance

all by the strategies at the end of the last search [Zhang2025].
"""

from typing import Any, NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.randomness import draw
from foglight.rules import CHANCE, TERMINAL
from foglight.search.limited.regret import Roots
from foglight.search.limited.tree import NO_CHILD, NODES, SLOTS, STATES, Tree, add_state, new_tree, state_of
from foglight.worlds.expansion import chosen

_NOBODY = -9


class Carried(NamedTuple):
    """The new tree, and what the last search says about its roots."""

    tree: Tree
    rows: Any  # the worlds of its nodes
    nodes: np.ndarray  # int64[roots]: the roots
    group: np.ndarray  # int64[roots]
    share: np.ndarray  # float64[roots]
    possible: np.ndarray  # bool[roots]: of order 1
    keys: np.ndarray  # uint64[groups]: the other seat's keys
    alternative: np.ndarray  # float64[groups]
    likelihood: np.ndarray  # float64[groups], sum 1


def carry(
    tree: Tree,
    rows: Any,
    roots: Roots,
    seat: int,
    key: int,
    order: int,
    scale: float,
    frozen: bool,
    plan: np.ndarray,
    most: int,
    likeliest: bool,
    random: np.ndarray,
) -> Carried | None:
    """What remains of a tree when the searching seat is to move at the information state `key`; None if nothing does.

    At most `most` histories of order 1 remain: with `likeliest` these, and some of those that are equally likely, else
    some drawn evenly.
    With `frozen`, the seat's strategy in histories of order 2 changes no more. Alternatives are not below -scale.
    `plan` has the strategies of both seats, by slot.
    """
    n = int(tree.used[NODES])
    ours = (tree.mover[:n] == seat) & (tree.keys[:n, seat] == np.uint64(key))
    if not ours.any():
        return None
    own, theirs, value, gift = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    _assess(tree, roots, seat, plan, own, theirs, value, gift)
    possible = np.flatnonzero(ours)
    if len(possible) > most:
        draw(random, possible, len(possible))
        if likeliest:
            possible = possible[np.argsort(-(own * theirs)[possible], kind="stable")]
    dropped = possible[most:]
    ours[dropped] = False
    other = tree.keys[:n, 1 - seat]
    groups = np.unique(other[ours])
    wanted = ours.copy()
    if order > 1:
        alike = (tree.mover[:n] == seat) & np.isin(other, groups)
        alike[dropped] = False
        _keep_apart(tree, ours, alike, wanted)
    old = np.flatnonzero(wanted)
    group = np.searchsorted(groups, other[old])
    mass = np.bincount(group, own[old], len(groups))
    members = np.bincount(group, minlength=len(groups))
    share = np.where(mass[group] > 0.0, own[old] / np.where(mass > 0.0, mass, 1.0)[group], 1.0 / members[group])
    mean = np.bincount(group, share * value[old], len(groups))
    given = np.bincount(group, share * gift[old], len(groups)) / np.where(mass > 0.0, mass, np.inf)
    likelihood = np.bincount(group, own[old] * theirs[old], len(groups))
    total = likelihood.sum()
    likelihood = likelihood / total if total > 0.0 else np.full(len(groups), 1.0 / len(groups))
    size = int(_size(tree, old))
    smaller = new_tree(size, max(1, int(tree.used[STATES])), max(1, int(tree.used[SLOTS])))
    origin = np.empty(size, np.int64)
    _copy(tree, old, ours, seat if frozen else _NOBODY, smaller, origin)
    return Carried(
        smaller, chosen(rows, origin), np.arange(len(old)), group, share, ours[old], groups,
        np.maximum(mean - given, -scale), likelihood,
    )  # fmt: skip


@kernel
def _keep_apart(tree, ours, alike, wanted):
    """Add histories of order 2 that lie neither above nor below another root.

    A history lies above another with the same keys of the other seat if our tries go unnoticed; only the upper one is
    taken, unless a possible history lies below it.
    """
    n = len(ours)
    above = np.zeros(n, np.bool_)  # has a possible history below it
    for node in range(n - 1, -1, -1):
        if (ours[node] or above[node]) and tree.parent[node] != node:
            above[tree.parent[node]] = True
    below = np.zeros(n, np.bool_)  # lies below a root
    for node in range(n):
        parent = tree.parent[node]
        if parent != node and (below[parent] or wanted[parent]):
            below[node] = True
        if alike[node] and not above[node] and not below[node]:
            wanted[node] = True


@kernel
def _assess(tree, roots, seat, plan, own, theirs, value, gift):
    """By node: our reach with chance, the other seat's reach, our value; and gifts, weighted by our reach."""
    n = tree.used[NODES]
    for i in range(len(roots.node)):
        own[roots.node[i]], theirs[roots.node[i]] = roots.share[i], roots.weight[roots.group[i]]
    for node in range(n):
        first = tree.first[node]
        if first == NO_CHILD:
            continue
        mover = tree.mover[node]
        begin = 0 if mover == CHANCE else tree.begin[tree.state[node]]
        for c in range(tree.children[node]):
            child = first + c
            own[child], theirs[child] = own[node], theirs[node]
            if mover == CHANCE:
                own[child] *= tree.odds[child]
            elif mover == seat:
                own[child] *= plan[begin + c]
            else:
                theirs[child] *= plan[begin + c]
    sums = np.zeros(tree.used[SLOTS])  # the other seat's values of actions, weighted by our reach
    for node in range(n - 1, -1, -1):
        first, mover = tree.first[node], tree.mover[node]
        if first == NO_CHILD:
            value[node] = tree.value[node]
            continue
        begin = 0 if mover == CHANCE else tree.begin[tree.state[node]]
        for c in range(tree.children[node]):
            child = first + c
            value[node] += (tree.odds[child] if mover == CHANCE else plan[begin + c]) * value[child]
            if mover == 1 - seat:
                sums[begin + c] -= own[node] * value[child]
    for node in range(n):
        first, mover = tree.first[node], tree.mover[node]
        if first == NO_CHILD:
            continue
        expected, begin = 0.0, 0
        if mover == 1 - seat:
            begin = tree.begin[tree.state[node]]
            for c in range(tree.children[node]):
                expected += plan[begin + c] * sums[begin + c]
        for c in range(tree.children[node]):
            gift[first + c] = gift[node]
            if mover == 1 - seat:
                gift[first + c] += max(expected - sums[begin + c], 0.0)


@kernel
def _size(tree, roots):
    """The number of nodes at and below these roots."""
    count = 0
    inside = np.zeros(tree.used[NODES], np.bool_)
    for i in range(len(roots)):
        inside[roots[i]] = True
    for node in range(len(inside)):
        if inside[node] or inside[tree.parent[node]]:
            inside[node] = True
            count += 1
    return count


@kernel
def _copy(tree, roots, ours, frozen, smaller, origin):
    """Copy the parts below these roots, the roots first, then level by level; `origin` gets the old nodes.

    Strategies of the seat `frozen` are frozen where histories are not possible.
    """
    states = np.full(max(tree.used[STATES], 1), -1, np.int64)  # old to new
    n = len(roots)
    for i in range(n):
        origin[i] = roots[i]
        smaller.parent[i], smaller.odds[i], smaller.true[i] = i, 1.0, 1 if ours[roots[i]] else 0
    k = 0
    while k < n:
        node = origin[k]
        smaller.mover[k], smaller.value[k], smaller.children[k] = (
            tree.mover[node],
            tree.value[node],
            tree.children[node],
        )
        smaller.keys[k, 0], smaller.keys[k, 1] = tree.keys[node, 0], tree.keys[node, 1]
        smaller.reach[k], smaller.stamp[k], smaller.state[k], smaller.first[k] = 0.0, 0, -1, NO_CHILD
        first, mover = tree.first[node], tree.mover[node]
        if first != NO_CHILD:
            smaller.first[k] = n
            if mover != CHANCE and mover != TERMINAL:
                state = tree.state[node]
                if states[state] < 0:
                    states[state] = _copy_state(tree, state, tree.keys[node, mover], smaller)
                    smaller.frozen[states[state]] = 1 if mover == frozen and smaller.true[k] == 0 else 0
                smaller.state[k] = states[state]
            for c in range(tree.children[node]):
                origin[n] = first + c
                smaller.parent[n], smaller.odds[n] = k, tree.odds[first + c]
                smaller.true[n] = smaller.true[k]
                n += 1
        k += 1
    smaller.used[NODES] = n


@jitable
def _copy_state(tree, state, code, smaller):
    begin = tree.begin[state]
    slot = -1 - state_of(smaller, code)
    n = tree.actions[state]
    new = add_state(smaller, slot, code, tree.owner[state], 0, tree.action[begin : begin + n], n)
    target = smaller.begin[new]
    smaller.visits[new] = tree.visits[state]
    total = 0.0
    for i in range(begin, begin + n):
        total += tree.average[i]
    for k in range(n):
        i, j = begin + k, target + k
        smaller.regret[j], smaller.guess[j], smaller.strategy[j] = tree.regret[i], tree.guess[i], tree.strategy[i]
        smaller.worth[j], smaller.tries[j] = tree.worth[i], tree.tries[i]
        smaller.total[j], smaller.square[j] = tree.total[i], tree.square[i]
        smaller.average[j] = 1e-6 * tree.average[i] / total if total > 0.0 else 0.0
        smaller.since[j] = 0 if tree.strategy[i] > 0.0 else -1
    return new
