"""The tree of a knowledge-limited search: histories as nodes, information states of both seats, regrets of actions.

A node is a history. Its children lie side by side, after it. An expanded node of a seat belongs to an information
state, which is known by the mover's key; all histories that look alike to the mover share one. Values are payoffs to
the searching seat, half the difference between both seats' payoffs.

A *root* is a history where the search begins. Roots that look alike to the other seat form a *group*. Before the first
decision the only root is the start of the game, or a sample of worlds that are drawn by their weights. Later on, the
other seat chooses among groups by two gadgets (`regret.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.rules import Game, copy_world, new_worlds
from foglight.tables import find, grown

NO_CHILD, NO_STATE = -1, -1
NODES, STATES, SLOTS, ITERATIONS, VISITED, EVALUATIONS, FAILURES, FULL, SWEPT = range(9)  # places of Tree.used


class Tree(NamedTuple):
    """Arrays that grow by doubling; `used` says how far they are filled."""

    used: np.ndarray  # int64[9]: NODES to SWEPT
    # by node
    parent: np.ndarray  # int32; the node itself for a root
    first: np.ndarray  # int32: the first child; NO_CHILD for a leaf
    children: np.ndarray  # int32: their number
    mover: np.ndarray  # int8: a seat, CHANCE or TERMINAL
    state: np.ndarray  # int32: the mover's information state; NO_STATE for leaves and for chance
    odds: np.ndarray  # float32: the probability of a child of a chance node
    value: np.ndarray  # float32: the value of a leaf
    keys: np.ndarray  # uint64[2]: both seats' keys
    reach: (
        np.ndarray
    )  # float32: the other seat's reach probability when regrets of the searching seat were updated last
    stamp: np.ndarray  # int32: the iteration of that update; 0: no iteration has seen the node
    true: np.ndarray  # int8: 1 if the searching seat holds the history possible, or one above it
    # by information state
    owner: np.ndarray  # int8
    begin: np.ndarray  # int32: the first of its actions' slots
    actions: np.ndarray  # int32: the number of its actions
    mass: np.ndarray  # float64: the others' reach of the last update, summed over its histories
    visits: np.ndarray  # int32: passages of walks
    frozen: np.ndarray  # int8: 1 if its strategy does not change
    # by slot: an action at an information state
    action: np.ndarray  # int32
    regret: np.ndarray  # float64
    strategy: np.ndarray  # float64: the present strategy
    guess: np.ndarray  # float64: the last regret, which predicts the next one
    sums: np.ndarray  # float64: in an update, counterfactual values; 0 outside
    worth: np.ndarray  # float64: the action's value to its owner in the last update; nan before
    tries: np.ndarray  # int32: walks that took the action
    total: np.ndarray  # float64: the sum of the owner's values at the ends of these walks
    square: np.ndarray  # float64: the sum of their squares
    average: np.ndarray  # float64: the sum of its owner's reach * strategy * (iteration squared)
    since: np.ndarray  # int32: the iteration since which the action has a positive probability; -1: it has none
    # the table of information states by key
    table: np.ndarray  # uint64[slots], a power of 2
    number: np.ndarray  # int32[the same]: the information state


_BY_NODE, _BY_STATE, _BY_SLOT = range(1, 12), range(12, 18), range(18, 29)
_TABLE, _NUMBER = 29, 30


def new_tree(nodes: int, states: int, slots: int) -> Tree:
    """An empty tree with room for so many nodes, information states and actions."""
    by_node: list[np.ndarray] = [
        np.zeros(nodes, np.int32), np.full(nodes, NO_CHILD, np.int32), np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int8), np.full(nodes, NO_STATE, np.int32), np.zeros(nodes, np.float32),
        np.zeros(nodes, np.float32), np.zeros((nodes, 2), np.uint64), np.zeros(nodes, np.float32),
        np.zeros(nodes, np.int32), np.zeros(nodes, np.int8),
    ]  # fmt: skip
    by_state: list[np.ndarray] = [
        np.zeros(states, np.int8), np.zeros(states, np.int32), np.zeros(states, np.int32), np.zeros(states),
        np.zeros(states, np.int32), np.zeros(states, np.int8),
    ]  # fmt: skip
    by_slot: list[np.ndarray] = [
        np.zeros(slots, np.int32), np.zeros(slots), np.zeros(slots), np.zeros(slots), np.zeros(slots),
        np.full(slots, np.nan), np.zeros(slots, np.int32), np.zeros(slots), np.zeros(slots), np.zeros(slots),
        np.full(slots, -1, np.int32),
    ]  # fmt: skip
    size = 1 << max(4, (2 * states - 1).bit_length())
    table = [np.zeros(size, np.uint64), np.zeros(size, np.int32)]
    return Tree(np.zeros(9, np.int64), *by_node, *by_state, *by_slot, *table)


def with_room(tree: Tree, nodes: int, states: int, slots: int) -> Tree:
    """The same tree with room for so many more; the same arrays where there is room already."""
    arrays = list(tree)
    for indices, place, more in ((_BY_NODE, NODES, nodes), (_BY_STATE, STATES, states), (_BY_SLOT, SLOTS, slots)):
        wanted, size = int(tree.used[place]) + more, len(arrays[indices[0]])
        if wanted > size:
            for i in indices:
                arrays[i] = _longer(arrays[i], wanted)
    size = len(tree.table)
    if 2 * (int(tree.used[STATES]) + states) > size:
        while 2 * (int(tree.used[STATES]) + states) > size:
            size *= 2
        keys, before, after = grown(tree.table, size)
        number = np.zeros(size, np.int32)
        number[after] = tree.number[before]
        arrays[_TABLE], arrays[_NUMBER] = keys, number
    return Tree(*arrays)


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    longer = np.zeros((size, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def longer_rows(game: Game, rows: Any, used: int, size: int) -> Any:
    """Worlds with room for `size` of them; the first `used` are kept."""
    if isinstance(rows, np.ndarray):
        return _longer(rows, size)
    longer = new_worlds(game, size)
    for i in range(used):
        copy_world(game, longer[i], rows[i])
    return longer


@jitable
def state_of(tree, key):
    """The information state with this key, or -1 minus the free slot where it would go."""
    slot = find(tree.table, key)
    return int(tree.number[slot]) if slot >= 0 else slot


@jitable
def add_state(tree, slot, key, owner, frozen, actions, n):
    """A new information state at a free slot of the table, with these actions."""
    state, begin = tree.used[STATES], tree.used[SLOTS]
    tree.used[STATES] += 1
    tree.used[SLOTS] += n
    tree.table[slot], tree.number[slot] = key, state
    tree.owner[state], tree.begin[state], tree.actions[state] = owner, begin, n
    tree.mass[state], tree.visits[state], tree.frozen[state] = 0.0, 0, frozen
    for k in range(n):
        i = begin + k
        tree.action[i] = actions[k]
        tree.regret[i] = tree.strategy[i] = tree.guess[i] = tree.sums[i] = tree.total[i] = tree.square[i] = 0.0
        tree.worth[i], tree.tries[i], tree.average[i], tree.since[i] = np.nan, 0, 0.0, -1
    return state


@kernel
def find_state(tree, key):
    """`state_of` for Python; negative if there is none."""
    return state_of(tree, key)


@kernel
def profile(tree, averaged, out):
    """The strategies of all information states: the averages, or the present ones where there are none or not asked."""
    for state in range(tree.used[STATES]):
        begin, total = tree.begin[state], 0.0
        end = begin + tree.actions[state]
        if averaged:
            for i in range(begin, end):
                total += tree.average[i]
        for i in range(begin, end):
            out[i] = tree.average[i] / total if total > 0.0 else tree.strategy[i]
