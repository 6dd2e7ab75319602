"""Information set Monte Carlo tree search [Cowling2012]: one tree for all worlds, grown by UCB, one action at a time.

Each iteration draws a world in proportion to its weight and descends the tree with it; only actions that are legal in
this world are considered. The mover takes the action with the largest

    mean + c * spread * sqrt(ln(available) / visits),

where `available` counts how often the action was legal when its node was passed, and `spread` is half the range of the
mover's payoffs so far, so that c means the same at any stakes. If payoffs are 1 and -1, this is the formula of the
paper. The first action that is not in the tree is added, and evaluated as a leaf.

    single  one observer: a node is the searching seat's information state, with the mover and the number of actions
            unnoticed since. Other seats choose as if they had the searching seat's knowledge instead of their own.
    multi   a node is the mover's own information state: every seat chooses by its own knowledge.

Nodes hold no data; the tree is a hash table of actions at nodes, with open addressing. The actions of one node start
from neighbouring slots, so that a scan over them reads memory once. Where hidden moves look alike to the observer, the
paper lets chance pick among them; here the mover chooses, and all of them lead to one node.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.randomness import below, fold, systematic, unit
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    transition,
)
from foglight.search.leaves import evaluate
from foglight.tables import find, grown, slots_for

SINGLE, MULTI = range(2)
_DEEPEST = 1024  # most actions of one descent; a leaf evaluation stands for the rest
_BLOCK = 1 << 14  # most iterations whose worlds are drawn together
_FIRST_ROOM = 1 << 10  # actions that fit at first
_LEAST, _MOST = range(2)  # columns of Growth.ranges


class Tree(NamedTuple):
    """Actions at nodes: slots of a hash table, a power of 2 of them, at most half of them used."""

    keys: np.ndarray  # uint64[slots]; 0 where free
    visits: np.ndarray  # int32[slots]
    available: np.ndarray  # int32[slots]: how often the action was legal at its node
    sums: np.ndarray  # float64[slots]: sums of the mover's payoffs


class Growth:
    """A tree that grows with the search, up to `nodes` actions."""

    def __init__(self, game: Game, seat: int, observers: int, exploration: float, nodes: int) -> None:
        self.game, self.seat, self.observers, self.exploration, self.nodes = game, seat, observers, exploration, nodes
        self.tree = _new_tree(max(8, slots_for(min(_FIRST_ROOM, nodes))))
        self.used = np.zeros(1, np.int64)  # the number of actions in the tree, for kernels to change
        self.ranges = np.tile([np.inf, -np.inf], (num_players(game), 1))  # by seat, the _LEAST and _MOST payoff so far

    def run(self, leaf: Any, rows: Any, weights: np.ndarray, random: np.ndarray, n: int) -> None:
        """n iterations from these worlds; `weights` sum to 1."""
        while n > 0:
            block = min(n, _BLOCK)
            self._make_room(block)
            most = min(self.nodes, len(self.tree.keys) // 2)
            simulate(
                self.game, leaf, rows, weights, self.seat, self.observers, self.exploration, random, block, most,
                self.tree, self.used, self.ranges,
            )  # fmt: skip
            n -= block

    def root(self, row: Any, actions: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """For each action at the root, the mean payoff, nan if it was never tried, and the number of visits."""
        node = int(key(self.game, row, self.seat))
        slots = [int(find_action(self.tree, node, action)) for action in actions]
        visits = np.array([self.tree.visits[slot] if slot >= 0 else 0 for slot in slots], np.int64)
        sums = np.array([self.tree.sums[slot] if slot >= 0 else 0.0 for slot in slots])
        return np.divide(sums, visits, out=np.full(len(actions), np.nan), where=visits > 0), visits

    def _make_room(self, more: int) -> None:
        """Enlarge the table for `more` further actions, as far as `nodes` allows."""
        wanted, slots = min(self.nodes, int(self.used[0]) + more), len(self.tree.keys)
        while slots < 2 * wanted:
            slots *= 2
        if slots > len(self.tree.keys):
            keys, before, after = grown(self.tree.keys, slots)
            larger = _new_tree(slots)._replace(keys=keys)
            for old, new in zip(self.tree[1:], larger[1:], strict=True):
                new[after] = old[before]
            self.tree = larger


def _new_tree(slots: int) -> Tree:
    return Tree(np.zeros(slots, np.uint64), np.zeros(slots, np.int32), np.zeros(slots, np.int32), np.zeros(slots))


@jitable
def find_action(tree, node, action):
    """The slot of an action at a node, or -1 minus the free slot where it would go."""
    return find(tree.keys, uint64(node) ^ uint64(action))


@jitable
def _draw_order(random, weights, order):
    """The world of each iteration: each world in proportion to its weight, in random order."""
    systematic(weights, unit(random), order)
    for i in range(len(order)):
        j = below(random, i + 1)
        order[i], order[j] = order[j], order[i]


@kernel
def simulate(game, leaf, rows, weights, seat, observers, exploration, random, n, most, tree, used, ranges):
    """Grow the tree by n iterations, as long as it has fewer than `most` actions."""
    seats = num_players(game)
    order = np.empty(n, np.int64)
    room = new_worlds(game, 2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    payoffs = np.empty(seats)
    slots, movers = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    _draw_order(random, weights, order)
    for i in range(n):
        now, depth, unnoticed = 0, 0, 0
        copy_world(game, room[now], rows[order[i]])
        mover, inside = player(game, room[now]), True
        own_key = uint64(key(game, room[now], seat))
        while inside and mover != TERMINAL and depth < _DEEPEST:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                m = legal(game, room[now], actions)
                node = own_key
                if observers == MULTI and mover != seat:
                    node = uint64(key(game, room[now], mover))
                elif mover != seat:
                    node = uint64(fold(fold(own_key, mover), unnoticed))
                spread = exploration
                if ranges[mover, _MOST] > ranges[mover, _LEAST]:
                    spread *= 0.5 * (ranges[mover, _MOST] - ranges[mover, _LEAST])
                action, slot = _select(random, tree, node, actions, m, spread, used[0] < most)
                inside = slot >= 0
                if slot < 0 and used[0] < most:
                    slot = -1 - slot
                    tree.keys[slot] = node ^ uint64(action)
                    tree.available[slot] = 1
                    used[0] += 1
                if slot >= 0:
                    slots[depth], movers[depth] = slot, mover
                    depth += 1
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            mover = player(game, room[now])
            new_key = uint64(key(game, room[now], seat))
            unnoticed = unnoticed + 1 if new_key == own_key else 0
            own_key = new_key
        evaluate(leaf, game, room[now], random, payoffs)
        for s in range(seats):
            ranges[s, _LEAST], ranges[s, _MOST] = min(ranges[s, _LEAST], payoffs[s]), max(ranges[s, _MOST], payoffs[s])
        for d in range(depth):
            tree.visits[slots[d]] += 1
            tree.sums[slots[d]] += payoffs[movers[d]]


@jitable
def _select(random, tree, node, actions, n, spread, growing):
    """An action and its slot; a growing tree first takes an action that is not in it, whose slot is negative."""
    fresh, new, new_slot = 0, 0, -1
    choice, place, best = -1, -1, 0.0
    seen, log = -1, 0.0
    for k in range(n):
        slot = find_action(tree, node, actions[k])
        if slot < 0:
            fresh += 1
            if below(random, fresh) == 0:
                new, new_slot = k, slot
            continue
        tree.available[slot] += 1
        if fresh > 0 and growing:
            continue
        if tree.available[slot] != seen:
            seen = tree.available[slot]
            log = np.log(seen)
        score = tree.sums[slot] / tree.visits[slot] + spread * np.sqrt(log / tree.visits[slot])
        if choice < 0 or score > best:
            best, choice, place = score, k, slot
    if fresh > 0 and (growing or choice < 0):
        return actions[new], new_slot
    return actions[choice], place
