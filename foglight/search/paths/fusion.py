"""Strategy fusion [Frank1998, Arjonilla2024]: choosing differently in worlds that the mover cannot tell apart.

    SF(policy) = the number of information states at which the policy differs between two of their histories

A search that reasons on information states down to depth d, and on open worlds below, creates strategy fusion only
below d. So in a whole game SF falls with d, and is 0 where d reaches the end.
"""

from typing import Any

import numpy as np
from numpy import uint64

from foglight.compile import kernel
from foglight.names import BadInput
from foglight.randomness import below, systematic
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
from foglight.solving.whole.tree import Tree, build_tree
from foglight.worlds.tracker import Worlds

_REPEATS = 8  # evaluations of each action at a history
_CLEAR = 1e-9  # values that differ by less are equal


def fused_states(choices: dict[int, list[frozenset[int]]]) -> int:
    """The number of information states at which no action is among the best in all of their histories."""
    return sum(1 for sets in choices.values() if not frozenset.intersection(*sets))


def open_choices(tree: Tree) -> list[frozenset[int]]:
    """By node of a two-seat game: the indices of the mover's best actions under perfect information; none elsewhere."""
    if tree.num_seats != 2:
        raise BadInput(f"strategy fusion is computed for two seats; {tree.game} has {tree.num_seats}")
    values = np.zeros(tree.num_nodes)
    values[tree.terminals] = tree.payoffs[:, 0]
    best: list[frozenset[int]] = [frozenset()] * tree.num_nodes
    for node in range(tree.num_nodes - 1, -1, -1):
        children = slice(tree.first_children[node], tree.first_children[node + 1])
        worth, mover = values[children], tree.movers[node]
        if len(worth) and mover == CHANCE:
            values[node] = worth @ tree.odds[children]
        elif len(worth):
            values[node] = worth.max() if mover == 0 else worth.min()
            best[node] = frozenset(np.flatnonzero(abs(worth - values[node]) < _CLEAR).tolist())
    return best


def strategy_fusion(game: Game, depth: int, memory: float = 1.0) -> int:
    """SF of reasoning on information states for `depth` decisions and on open worlds after that, in a small game.

    If several actions are equally good in the open, an information state counts only if no action is best in all of its
    histories. `memory` bounds the game tree, in GiB.

        >>> [fl.strategy_fusion("kuhn_poker", depth) for depth in (0, 1, 2, 3)]
        [2, 2, 1, 0]
    """
    tree = build_tree(game, memory=memory)
    best, numbers = open_choices(tree), tree.information[0]
    decisions = np.zeros(tree.num_nodes, np.int64)  # number of decisions before each node
    for node in range(tree.num_nodes):
        children = slice(tree.first_children[node], tree.first_children[node + 1])
        decisions[children] = decisions[node] + (tree.movers[node] >= 0)
    choices: dict[int, list[frozenset[int]]] = {}
    for node in tree.deciding.tolist():
        if decisions[node] >= depth:
            choices.setdefault(int(numbers[node]), []).append(best[node])
    return fused_states(choices)


def count_fusion(game: Game, leaf: Any, belief: Worlds, depth: int, worlds: int, random: np.ndarray) -> tuple[int, int]:
    """SF one decision below `depth`, on sampled worlds: the fused states, and all states reached in two worlds or more.

    Each action at each history reached is evaluated a few times; the best action has the highest mean.
    """
    n = max(worlds, 1)
    keys, best = np.zeros(n, np.uint64), np.zeros(n, np.int64)
    _probe(game, leaf, belief.rows, belief.weights, depth, _REPEATS, random, keys, best)
    by_state: dict[int, list[int]] = {}
    for code, choice in zip(keys.tolist(), best.tolist(), strict=True):
        if code:
            by_state.setdefault(code, []).append(choice)
    several = [choices for choices in by_state.values() if len(choices) > 1]
    return sum(len(set(choices)) > 1 for choices in several), len(several)


@kernel
def _probe(game, leaf, rows, weights, depth, repeats, random, keys, best):
    """Random play for `depth` decisions from worlds spread by weight, then the best action by open evaluation.

    Writes the information state and the index of the best action of each world to `keys` and `best`.
    """
    seats = num_players(game)
    room = new_worlds(game, 3)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(seats)
    choices = np.empty(max_legal(game), np.int64)
    worlds = np.empty(len(keys), np.int64)
    systematic(weights, 0.5, worlds)
    for i in range(len(keys)):
        now, d = 0, 0
        copy_world(game, room[now], rows[worlds[i]])
        mover = player(game, room[now])
        while mover != TERMINAL and (d < depth or mover == CHANCE):
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                action = actions[below(random, legal(game, room[now], actions))]
                d += 1
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            mover = player(game, room[now])
        if mover == TERMINAL:
            continue
        keys[i] = uint64(key(game, room[now], mover))
        m = legal(game, room[now], choices)
        highest = -np.inf
        for a in range(m):
            total = 0.0
            for _ in range(repeats):
                transition(game, room[now], choices[a], room[2])
                evaluate(leaf, game, room[2], random, payoffs)
                total += payoffs[mover]
            if total > highest:
                highest, best[i] = total, a
