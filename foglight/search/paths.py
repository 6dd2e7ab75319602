"""Paths: random play for a few decisions from sampled worlds, then one leaf evaluation [Arjonilla2024].

A path is recorded by what matters for reasoning about it: at each decision who moved, in which information state, what
was chosen among how many, with which probability; and what the leaf was worth. Chance is played through and is no
decision. Worlds are taken in order, each as often as its weight says, by systematic sampling: less noise than drawing
them one by one, and memory is read as it lies.
"""

from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import kernel
from foglight.randomness import below, unit
from foglight.rules import (
    CHANCE,
    TERMINAL,
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


class Paths(NamedTuple):
    """n paths of at most d decisions."""

    lengths: np.ndarray  # int8[n]
    keys: np.ndarray  # uint64[n, d]: the mover's information state
    movers: np.ndarray  # int8[n, d]
    sizes: np.ndarray  # int16[n, d]: how many actions were legal
    choices: np.ndarray  # int16[n, d]: which of them was played
    odds: np.ndarray  # float32[n, d]: how likely it was to be
    values: np.ndarray  # float32[n, seats]

    @property
    def depth(self) -> int:
        return self.keys.shape[1]


def new_paths(n: int, depth: int, seats: int) -> Paths:
    return Paths(
        np.zeros(n, np.int8),
        np.zeros((n, depth), np.uint64),
        np.zeros((n, depth), np.int8),
        np.zeros((n, depth), np.int16),
        np.zeros((n, depth), np.int16),
        np.zeros((n, depth), np.float32),
        np.zeros((n, seats), np.float32),
    )


def first_of(paths: Paths, n: int) -> Paths:
    """The first n paths."""
    return Paths(*(column[:n] for column in paths))


class Guide(NamedTuple):
    """What earlier paths have shown to be best: a hash table from information states to choices."""

    keys: np.ndarray  # uint64[size], a power of 2; 0 where free
    choices: np.ndarray  # int16[size]
    explore: float  # how often a decision is random all the same


def no_guide() -> Guide:
    return Guide(np.zeros(1, np.uint64), np.zeros(1, np.int16), 1.0)


@kernel
def sample(game, leaf, guide, rows, weights, random, first, last, paths):
    """Fill the paths from `first` to `last`; `weights` add up to 1."""
    depth, seats = paths.keys.shape[1], num_players(game)
    room = new_worlds(game, 2)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(seats)
    mask = len(guide.keys) - 1
    w, done = 0, weights[0]
    spacing = 1.0 / (last - first)
    wanted = unit(random) * spacing
    for i in range(first, last):
        while done <= wanted and w + 1 < len(rows):
            w += 1
            done += weights[w]
        wanted += spacing
        now = 0
        copy_world(game, room[now], rows[w])
        mover, d = player(game, room[now]), 0
        while mover != TERMINAL and d < depth:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                n = legal(game, room[now], actions)
                known, share = -1, 1.0 / n
                place = uint64(key(game, room[now], mover))
                paths.keys[i, d] = place
                if guide.explore < 1.0 and d > 0:
                    slot = int64(place & uint64(mask))
                    while guide.keys[slot] != uint64(0) and guide.keys[slot] != place:
                        slot = (slot + 1) & mask
                    if guide.keys[slot] == place:
                        known = guide.choices[slot]
                if known >= 0 and unit(random) >= guide.explore:
                    choice = known
                else:
                    choice = below(random, n)
                if known >= 0:
                    share = guide.explore / n + (1.0 - guide.explore if choice == known else 0.0)
                paths.movers[i, d], paths.sizes[i, d] = mover, n
                paths.choices[i, d], paths.odds[i, d] = choice, share
                action = actions[choice]
                d += 1
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            mover = player(game, room[now])
        paths.lengths[i] = d
        evaluate(leaf, game, room[now], random, payoffs)
        for seat in range(seats):
            paths.values[i, seat] = payoffs[seat]
