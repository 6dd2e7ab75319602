"""Paths: random play for a few decisions from sampled worlds, then one leaf evaluation [Arjonilla2024].

For each decision of a path these are recorded: the mover, the history, the mover's information state, the number of
legal actions and the one played; and at the end the value of the leaf. Chance is played through and does not count as a
decision. Worlds are drawn by systematic sampling and used in order, each in proportion to its weight: this gives less
noise than independent draws, and memory is read in order.
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.randomness import below, fold, systematic, unit
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    player,
    record,
    step,
)
from foglight.search.leaves import evaluate


class Paths(NamedTuple):
    """n paths of at most d decisions."""

    lengths: np.ndarray  # int8[n]
    keys: np.ndarray  # uint64[n, d]: the mover's information state
    histories: np.ndarray  # uint64[n, d]: hash of the first world and all actions since, chance included
    movers: np.ndarray  # int8[n, d]
    sizes: np.ndarray  # int16[n, d]: number of legal actions
    choices: np.ndarray  # int16[n, d]: index of the one played
    values: np.ndarray  # float32[n, seats]: the leaf's value to each seat

    @property
    def depth(self) -> int:
        return self.keys.shape[1]


def new_paths(n: int, depth: int, seats: int) -> Paths:
    return Paths(
        np.zeros(n, np.int8),
        np.zeros((n, depth), np.uint64),
        np.zeros((n, depth), np.uint64),
        np.zeros((n, depth), np.int8),
        np.zeros((n, depth), np.int16),
        np.zeros((n, depth), np.int16),
        np.zeros((n, seats), np.float32),
    )


def first_of(paths: Paths, n: int) -> Paths:
    """The first n paths."""
    return Paths(*(column[:n] for column in paths))


@jitable
def advance(game, before, action, after, left):
    """`transition` as far as `left` more decisions need it: keys that no later decision reads are not updated."""
    copy_world(game, after, before)
    step(game, after, action)
    if left > 0:
        mover = player(game, after)
        alone = left == 1 and mover >= 0
        for seat in range(mover if alone else 0, mover + 1 if alone else num_players(game)):
            shown = observe(game, before, action, after, seat)
            if shown != NOTHING:
                record(game, after, seat, shown)


@kernel
def sample(game, leaf, rows, weights, random, first, last, paths):
    """Fill the paths from `first` to `last - 1`; `weights` sum to 1."""
    depth, seats = paths.keys.shape[1], num_players(game)
    room = new_worlds(game, 2)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(seats)
    worlds = np.empty(last - first, np.int64)
    systematic(weights, unit(random), worlds)
    for i in range(first, last):
        now, w = 0, worlds[i - first]
        copy_world(game, room[now], rows[w])
        mover, d = player(game, room[now]), 0
        history = uint64(fold(uint64(0), w))
        while mover != TERMINAL and d < depth:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                n = legal(game, room[now], actions)
                choice = below(random, n)
                paths.keys[i, d] = uint64(key(game, room[now], mover))
                paths.histories[i, d] = history
                paths.movers[i, d], paths.sizes[i, d] = mover, n
                paths.choices[i, d] = choice
                action = actions[choice]
                d += 1
            history = uint64(fold(history, action))
            advance(game, room[now], action, room[1 - now], depth - d)
            now = 1 - now
            mover = player(game, room[now])
        paths.lengths[i] = d
        evaluate(leaf, game, room[now], random, payoffs)
        for seat in range(seats):
            paths.values[i, seat] = payoffs[seat]
