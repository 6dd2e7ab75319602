"""Worlds that are alike: equal positions in which both seats have observed the same. One stands for all of them.

A game whose rule `position` says that different worlds have the same future, such as the same dice in another order,
has fewer worlds to search. In other games no two worlds are alike.
"""

from typing import Any

import numpy as np

from foglight.compile import has_rule, kernel
from foglight.randomness import fold
from foglight.rules import CHANCE, Game, begin, chance, key, max_legal, new_worlds, player, position, transition
from foglight.worlds.expansion import chosen
from foglight.worlds.tracker import Worlds


def names(game: Game, rows: Any) -> np.ndarray:
    """A number for each world, uint64[worlds]; worlds that are alike have the same one."""
    out = np.zeros(len(rows), np.uint64)
    _name(game, rows, out)
    return out


@kernel
def _name(game, rows, out):
    for i in range(len(rows)):
        out[i] = fold(fold(position(game, rows[i]), key(game, rows[i], 0)), key(game, rows[i], 1))


def merged(game: Game, worlds: Worlds) -> Worlds:
    """The same belief with one world for all that are alike, the first of them; it has the weight of all."""
    if not (isinstance(worlds.rows, np.ndarray) and has_rule("position", type(game))):
        return worlds
    _, first, group = np.unique(names(game, worlds.rows), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return Worlds(chosen(worlds.rows, first[order]), np.bincount(group, worlds.weights)[order], worlds.exact)


def deals(game: Game, most: int) -> Worlds:
    """The worlds after all that chance does before the first decision; the start alone, if they are over `most`."""
    rows, odds, n = _deal(game, most)
    return merged(game, Worlds(rows[:n], odds[:n], True))


@kernel
def _deal(game, most):
    """Worlds with the probability of each, and their number."""
    rows, odds = new_worlds(game, most), np.ones(most)
    actions, shares = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    begin(game, rows[0])
    n, k, left = 1, 0, 0
    while k < n:
        if player(game, rows[k]) == CHANCE:
            size = chance(game, rows[k], actions, shares)
            if n + size > most:
                return rows, odds, 1
            for c in range(size):
                transition(game, rows[k], actions[c], rows[n + c])
                odds[n + c] = odds[k] * shares[c]
            n += size
        k += 1
    for k in range(n):
        if player(game, rows[k]) != CHANCE:
            rows[left], odds[left] = rows[k], odds[k]
            left += 1
    return rows, odds, left
