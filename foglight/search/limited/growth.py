"""Growing the tree of a knowledge-limited search, one leaf at a time, between iterations of CFR+ [Zhang2025].

A walk begins at a root, or, half of the time, at a history that the searching seat holds possible. One seat explores;
the other follows its present strategy. The seats take turns as explorer. The explorer draws evenly from the support of
its strategy, or, half of the time, takes the action with the largest

    value + spread * sqrt(visits of the state) / (1 + tries of the action),

where the spread is the standard deviation of the values that walks have found for the action, together with the lowest
and the highest payoff. The leaf where the walk ends gets all of its children, if an iteration of CFR+ has passed it. A
new information state begins by playing the child with the best value, one at random among several. Where walks find
nothing to expand any more, as in a small game, the leaves that they never reach are expanded in order, until the tree
is complete.

Iterations and growth share the time: an iteration is due when the new nodes, which cost about `NODE_COST` times as much
as passing one, make up for the nodes that the last iteration passed.
"""

from typing import NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.randomness import below, first_above, unit, weighted
from foglight.rules import (
    CHANCE,
    TERMINAL,
    begin,
    chance,
    copy_world,
    key,
    legal,
    max_legal,
    new_worlds,
    player,
    returns,
    step,
    transition,
)
from foglight.search.leaves import evaluate
from foglight.search.limited.regret import Present, one_iteration
from foglight.search.limited.tree import (
    EVALUATIONS,
    FAILURES,
    FULL,
    ITERATIONS,
    NO_CHILD,
    NO_STATE,
    NODES,
    SLOTS,
    STATES,
    SWEPT,
    VISITED,
    add_state,
    state_of,
)

NODE_COST = 32  # the cost of a new node, in nodes that an iteration passes
_DEEPEST = 1024  # most actions of a walk
PATIENCE = 256  # walks in a row that end at leaves which cannot grow; after so many, leaves grow in order


class Habits(NamedTuple):
    """How a tree grows."""

    seat: int  # the searching seat
    gadget: int
    scale: float  # the largest payoff
    both: bool  # whether both seats explore at a time
    frozen: bool  # whether the searching seat keeps its last strategy in worlds that it knows to be false
    playouts: int  # evaluations per leaf, whose mean counts


class Starts(NamedTuple):
    """Where walks begin, with running sums of weights, which follow the last iteration."""

    present: Present
    likely: np.ndarray  # float64[h]: of its histories, by the other seat's reach
    roots: np.ndarray  # float64[roots]: by weight
    even: np.ndarray  # float64[roots]: by the share in the group


def new_starts(present: Present, share: np.ndarray) -> Starts:
    return Starts(present, np.zeros(len(present.node)), np.zeros(len(share)), np.cumsum(share))


@kernel
def describe(game, worlds, seat, own, other, movers):
    """Write the keys of the searching seat and of the other one, and the mover, of each world."""
    for i in range(len(worlds)):
        own[i], other[i] = key(game, worlds[i], seat), key(game, worlds[i], 1 - seat)
        movers[i] = player(game, worlds[i])


@kernel
def natural_reach(tree, roots, seat, nodes, out):
    """Write how likely nodes are if `seat` plays towards them and the other seat evenly, and the other way round.

    The groups of roots are as likely as they are now.
    """
    number = np.full(tree.used[NODES], -1, np.int64)
    for i in range(len(roots.node)):
        number[roots.node[i]] = i
    for i in range(len(nodes)):
        node = nodes[i]
        out[i, 0] = out[i, 1] = 1.0
        while tree.parent[node] != node:
            odds, node = tree.odds[node], tree.parent[node]
            if tree.mover[node] == CHANCE:
                out[i, 0] *= odds
                out[i, 1] *= odds
            else:
                out[i, 0 if tree.mover[node] != seat else 1] /= tree.children[node]
        if number[node] >= 0:
            out[i, 0] *= roots.share[number[node]] * roots.weight[roots.group[number[node]]]
            out[i, 1] *= roots.share[number[node]]
        else:
            out[i, 0] = out[i, 1] = 0.0


@kernel
def add_roots(game, leaf, source, chosen, true, rows, tree, habits, random):
    """Add the worlds that `chosen` names as leaves without a parent; there must be room."""
    spare, payoffs = new_worlds(game, 1), np.empty(2)
    for i in range(len(chosen)):
        node = tree.used[NODES]
        tree.used[NODES] += 1
        copy_world(game, rows[node], source[chosen[i]])
        _describe(game, leaf, rows, tree, node, habits, random, spare, payoffs)
        tree.parent[node], tree.odds[node], tree.true[node] = node, 1.0, true


@kernel
def expand_whole(game, leaf, rows, tree, habits, random):
    """Expand every leaf, level by level, as far as there is room; leaves on the way are not evaluated."""
    spare, payoffs = new_worlds(game, 1), np.empty(2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    bare = Habits(habits.seat, habits.gadget, habits.scale, habits.both, habits.frozen, 0)
    while _has_room(tree, len(actions)):
        node = unexpanded(tree)
        if node == tree.used[NODES]:
            break
        _expand(game, leaf, rows, tree, node, bare, random, spare, payoffs, actions, odds)


@kernel
def count_nodes(game, most):
    """The number of histories of a game, those before chance and at the end included; `most` if there are as many."""
    if most < 2:
        return most
    rows, n, k = new_worlds(game, most), 1, 0
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    begin(game, rows[0])
    while k < n:
        mover = player(game, rows[k])
        if mover != TERMINAL:
            size = chance(game, rows[k], actions, odds) if mover == CHANCE else legal(game, rows[k], actions)
            if n + size >= most:
                return most
            for c in range(size):
                copy_world(game, rows[n + c], rows[k])
                step(game, rows[n + c], actions[c])
            n += size
        k += 1
    return n


@kernel
def expand_all(game, leaf, nodes, rows, tree, habits, random):
    """Expand these leaves, as far as there is room; returns how many were done."""
    spare, payoffs = new_worlds(game, 1), np.empty(2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(nodes)):
        if not _has_room(tree, len(actions)):
            return i
        if tree.first[nodes[i]] == NO_CHILD and tree.mover[nodes[i]] != TERMINAL:
            _expand(game, leaf, rows, tree, nodes[i], habits, random, spare, payoffs, actions, odds)
    return len(nodes)


@kernel
def grow(game, leaf, rows, tree, roots, starts, habits, room, until, random):
    """Grow and iterate until the tree has made `until` evaluations, or has no room left, unless it is FULL for good."""
    spare, payoffs = new_worlds(game, 1), np.empty(2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    slots, owners = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    work, explorer = 0, habits.seat
    while tree.used[EVALUATIONS] < until:
        settled = tree.used[FULL] != 0
        if not settled:
            if not _has_room(tree, len(actions)):
                break
            before, depth = tree.used[NODES], 0
            if tree.used[FAILURES] < PATIENCE:
                explorer = 1 - explorer
                node, depth = _walk(tree, roots, starts, habits, explorer, random, slots, owners)
                grows = tree.first[node] == NO_CHILD and tree.mover[node] != TERMINAL and tree.stamp[node] > 0
                tree.used[FAILURES] = 0 if grows else tree.used[FAILURES] + 1
            else:
                node = unexpanded(tree)
                grows = node < before
                settled = not grows
            if grows:
                _expand(game, leaf, rows, tree, node, habits, random, spare, payoffs, actions, odds)
            if not settled:
                _credit(tree, habits, tree.value[node], depth, slots, owners)
                work += NODE_COST * max(tree.used[NODES] - before, 1)
        if work >= tree.used[VISITED] or settled:
            one_iteration(tree, roots, starts.present, habits.seat, habits.gadget, room)
            _follow(tree, roots, starts)
            work = 0
            if settled:
                tree.used[EVALUATIONS] += max(1, tree.used[VISITED] // NODE_COST)


@kernel
def next_leaf(tree, roots, starts, habits, explorer, random):
    """Walk to a leaf; returns its node if it can be expanded and an iteration has passed it, else NO_CHILD."""
    slots, owners = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    node, depth = _walk(tree, roots, starts, habits, explorer, random, slots, owners)
    _credit(tree, habits, tree.value[node], depth, slots, owners)
    grows = tree.first[node] == NO_CHILD and tree.mover[node] != TERMINAL and tree.stamp[node] > 0
    return node if grows else NO_CHILD


@kernel
def settle(tree, roots, starts, habits, room):
    """One iteration, and what follows from it for the next walks."""
    one_iteration(tree, roots, starts.present, habits.seat, habits.gadget, room)
    _follow(tree, roots, starts)


@kernel
def set_values(tree, node, values, seat, fresh):
    """Give the children of a node values, which are those of seat 0; a `fresh` state begins by playing the best one."""
    mover, first, best = tree.mover[node], tree.first[node], 0
    sign = 1.0 if mover == seat else -1.0
    for c in range(tree.children[node]):
        tree.value[first + c] = values[c] if seat == 0 else -values[c]
        if sign * tree.value[first + c] > sign * tree.value[first + best]:
            best = c
    if fresh and mover != CHANCE:
        begin = tree.begin[tree.state[node]]
        for c in range(tree.children[node]):
            tree.strategy[begin + c] = 1.0 if c == best else 0.0
            tree.since[begin + c] = tree.used[ITERATIONS] if c == best else -1


@jitable
def unexpanded(tree):
    """The first leaf that can be expanded, after those expanded in order; the number of nodes if there is none."""
    node = tree.used[SWEPT]
    while node < tree.used[NODES] and (tree.first[node] != NO_CHILD or tree.mover[node] == TERMINAL):
        node += 1
    tree.used[SWEPT] = node
    return node


@jitable
def _has_room(tree, most):
    return (
        tree.used[NODES] + most <= len(tree.first)
        and tree.used[STATES] < len(tree.owner)
        and 2 * tree.used[STATES] < len(tree.table)
        and tree.used[SLOTS] + most <= len(tree.action)
    )


@jitable
def _describe(game, leaf, rows, tree, node, habits, random, spare, payoffs):
    """Fill in what is known about a new leaf, and evaluate it."""
    mover = player(game, rows[node])
    value = 0.0
    if mover == TERMINAL:
        returns(game, rows[node], payoffs)
        value = payoffs[habits.seat] - payoffs[1 - habits.seat]
    else:
        for _ in range(habits.playouts):
            copy_world(game, spare[0], rows[node])
            evaluate(leaf, game, spare[0], random, payoffs)
            value += (payoffs[habits.seat] - payoffs[1 - habits.seat]) / habits.playouts
    tree.used[EVALUATIONS] += habits.playouts
    tree.first[node], tree.children[node], tree.mover[node], tree.state[node] = NO_CHILD, 0, mover, NO_STATE
    tree.value[node] = min(max(0.5 * value, -habits.scale), habits.scale)
    for seat in range(2):
        tree.keys[node, seat] = key(game, rows[node], seat)
    tree.reach[node], tree.stamp[node] = 0.0, 0


@jitable
def _expand(game, leaf, rows, tree, node, habits, random, spare, payoffs, actions, odds):
    """Give a leaf all of its children."""
    mover, first = tree.mover[node], tree.used[NODES]
    n = chance(game, rows[node], actions, odds) if mover == CHANCE else legal(game, rows[node], actions)
    sign, best, ties = 1.0 if mover == habits.seat else -1.0, 0, 0
    for c in range(n):
        child = first + c
        transition(game, rows[node], actions[c], rows[child])
        _describe(game, leaf, rows, tree, child, habits, random, spare, payoffs)
        tree.parent[child], tree.odds[child] = node, odds[c] if mover == CHANCE else 1.0
        tree.true[child] = tree.true[node]
        if tree.value[child] == tree.value[first + best]:
            ties += 1
            best = c if below(random, ties) == 0 else best  # each of the best ones is as likely
        elif sign * tree.value[child] > sign * tree.value[first + best]:
            best, ties = c, 1
    tree.used[NODES] += n
    tree.first[node], tree.children[node] = first, n
    if mover != CHANCE:
        code = tree.keys[node, mover]
        state = state_of(tree, code)
        if state < 0:
            frozen = 1 if habits.frozen and mover == habits.seat and tree.true[node] == 0 else 0
            state = add_state(tree, -1 - state, code, mover, frozen, actions, n)
            tree.strategy[tree.begin[state] + best] = 1.0
            tree.since[tree.begin[state] + best] = tree.used[ITERATIONS]
        tree.state[node] = state


@jitable
def _walk(tree, roots, starts, habits, explorer, random, slots, owners):
    """Walk from a start to a leaf; returns the leaf and the number of actions of seats on the way."""
    node, depth = _start(tree, roots, starts, habits, explorer, random), 0
    while tree.first[node] != NO_CHILD and depth < _DEEPEST:
        mover, first, n = tree.mover[node], tree.first[node], tree.children[node]
        if mover == CHANCE:
            node = first + weighted(random, tree.odds[first : first + n], n)
            continue
        state = tree.state[node]
        begin = tree.begin[state]
        if mover == explorer or habits.both:
            choice = _explored(tree, habits, state, random)
        else:
            choice = weighted(random, tree.strategy[begin : begin + n], n)
        slots[depth], owners[depth] = begin + choice, state
        depth += 1
        node = first + choice
    return node, depth


@jitable
def _start(tree, roots, starts, habits, explorer, random):
    """The node where a walk begins."""
    here = starts.present.node
    if len(here) > 0 and unit(random) < 0.5:
        total = starts.likely[-1]
        if total > 0.0 and (explorer == habits.seat or unit(random) < 0.5):
            return here[first_above(starts.likely, unit(random) * total, 0, len(here))]
        return here[below(random, len(here))]
    total = starts.roots[-1]
    if total > 0.0 and (explorer == habits.seat or unit(random) < 0.5):
        return roots.node[first_above(starts.roots, unit(random) * total, 0, len(roots.node))]
    return roots.node[first_above(starts.even, unit(random) * starts.even[-1], 0, len(roots.node))]


@jitable
def _explored(tree, habits, state, random):
    """The explorer's choice at an information state."""
    begin, n = tree.begin[state], tree.actions[state]
    if unit(random) < 0.5:
        support = 0
        for k in range(n):
            if tree.strategy[begin + k] > 0.0:
                support += 1
        left = below(random, support)
        for k in range(n):
            if tree.strategy[begin + k] > 0.0:
                if left == 0:
                    return k
                left -= 1
    best, choice, root = -np.inf, 0, np.sqrt(float(tree.visits[state]))
    for k in range(n):
        i = begin + k
        samples = tree.tries[i] + 2.0
        mean = tree.total[i] / samples
        spread = np.sqrt(max((tree.square[i] + 2.0 * habits.scale**2) / samples - mean * mean, 0.0))
        worth = tree.worth[i]
        if np.isnan(worth):
            worth = mean
        bound = worth + spread * root / (1.0 + tree.tries[i])
        if bound > best:
            best, choice = bound, k
    return choice


@jitable
def _credit(tree, habits, value, depth, slots, owners):
    """Add the value at the end of a walk to the actions on the way."""
    for d in range(depth):
        state, i = owners[d], slots[d]
        own = value if tree.owner[state] == habits.seat else -value
        tree.visits[state] += 1
        tree.tries[i] += 1
        tree.total[i] += own
        tree.square[i] += own * own


@jitable
def _follow(tree, roots, starts):
    """Renew the running sums after an iteration."""
    total = 0.0
    for i in range(len(roots.node)):
        total += roots.share[i] * roots.weight[roots.group[i]]
        starts.roots[i] = total
    total = 0.0
    for i, node in enumerate(starts.present.node):
        if tree.stamp[node] == tree.used[ITERATIONS]:
            total += tree.reach[node]
        starts.likely[i] = total


@kernel
def ready(tree, roots, starts):
    """Running sums for the first walks."""
    _follow(tree, roots, starts)
