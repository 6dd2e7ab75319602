"""Steered paths: learn how all seats continue, then find the first move that is best against that.

Uniform sampling wastes nearly all paths on play that nobody would choose, the more so the deeper it goes. Here the
information states below the root learn while paths are sampled: each is a bandit with upper confidence bounds
[Auer2002] on its own mover's payoffs. Three rules keep this from going wrong.

- The first move is not steered. Seats that do not see it learn one answer to all first moves. If it were steered, the
  other seats would learn to answer the very move we settle on, as if they had seen it.
- A state plays at random until it has been visited a few times for each of its actions. A mean of a handful of paths is
  noise, and to maximise over noise is worse than not to choose at all. So the depth of the reasoning depends on how far
  the paths suffice, state by state.
- After some learning the worse half of the first moves is dropped, again and again [Karnin2013]. The other states keep
  learning.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.randomness import below, systematic, unit
from foglight.rules import CHANCE, TERMINAL, copy_world, deal, key, legal, max_legal, new_worlds, num_players, player
from foglight.search.leaves import evaluate
from foglight.search.paths.sampling import advance
from foglight.tables import find, slots_for

_SQUARES = 4096  # entries of the tables of square roots
_LEVELS = 16  # most decisions of a path
_LEARNING = 0.3  # share of the budget before first moves are dropped

STATES, _NUMBERS, REFUSED = range(3)  # places of the tally: states, actions of all states, visits that found no room
_LEAST, _MOST = range(2)  # places of the spread


class States(NamedTuple):
    """What the information states have learned: a hash table, and for each state a stretch of numbers by action."""

    keys: np.ndarray  # uint64[T], a power of 2; 0 where free
    begins: np.ndarray  # int64[T]: where the state's actions begin in counts and sums
    visits: np.ndarray  # int64[T]
    counts: np.ndarray  # int64[M]: visits by action
    sums: np.ndarray  # float64[M]: sums of the mover's payoffs by action
    tally: np.ndarray  # int64[3]: STATES, _NUMBERS, REFUSED
    visited: np.ndarray  # int64[levels]: visits to states, by the number of decisions before
    settled: np.ndarray  # int64[levels]: visits among these to states that no longer play at random
    spread: np.ndarray  # float64[2]: the _LEAST and the _MOST payoff so far
    rise: np.ndarray  # float64[_SQUARES]: sqrt(log n)
    fall: np.ndarray  # float64[_SQUARES]: 1 / sqrt(n)


def new_states(most: int, actions: int) -> States:
    """Room for `most` states with `actions` actions on average; further states play at random."""
    size = slots_for(most)
    n = np.arange(1, _SQUARES + 1)
    return States(
        np.zeros(size, np.uint64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(most * actions, np.int64),
        np.zeros(most * actions),
        np.zeros(3, np.int64),
        np.zeros(_LEVELS, np.int64),
        np.zeros(_LEVELS, np.int64),
        np.array([np.inf, -np.inf]),
        np.sqrt(np.log(n)),
        1.0 / np.sqrt(n),
    )


def is_crowded(states: States, most: int) -> bool:
    """Whether there is no more room for `most` states, or less than half of the room for their actions."""
    return 2 * int(states.tally[STATES] + most) > len(states.keys) or 2 * states.tally[_NUMBERS] > len(states.counts)


def halve(
    n: int, depth: int, run: Callable[[np.ndarray, float], None], sums: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Drop the worse half of n first moves, again and again, until two are left; returns these, the better one first.

    `run(moves, share)` samples paths that begin with these moves until that share of the budget is used. It adds
    payoffs and numbers of paths to `sums` and `counts`, by first move.
    """
    moves, learning = np.arange(n), _LEARNING if depth > 1 else 0.0
    if learning:
        run(moves, learning)
    rounds = max(1, int(np.ceil(np.log2(n))))
    for r in range(rounds):
        run(moves, learning + (1.0 - learning) * (r + 1) / rounds)
        means = np.where(counts[moves] > 0, sums[moves] / np.maximum(counts[moves], 1), -np.inf)
        moves = moves[np.argsort(-means, kind="stable")[: max(2, (len(moves) + 1) // 2)]]
    return moves


@jitable
def _find(states, code, m):
    """The slot of a state with m actions, added if there is room; -1 if there is none."""
    slot = find(states.keys, code)
    if slot < 0:
        slot = -1 - slot
        if states.tally[_NUMBERS] + m > len(states.counts) or 2 * states.tally[STATES] >= len(states.keys):
            states.tally[REFUSED] += 1
            return -1
        states.keys[slot] = code
        states.begins[slot] = states.tally[_NUMBERS]
        states.tally[STATES] += 1
        states.tally[_NUMBERS] += m
    return slot


@jitable
def _promising(states, slot, m, explore, random):
    """The action with the highest upper confidence bound; an action never tried comes first."""
    first = states.begins[slot]
    bonus = explore * (states.spread[_MOST] - states.spread[_LEAST]) * 0.5
    bonus *= states.rise[min(states.visits[slot], _SQUARES) - 1]
    best, choice = -np.inf, 0
    start = below(random, m)
    for k in range(m):
        a = start + k if start + k < m else start + k - m
        count = states.counts[first + a]
        if count == 0:
            return a
        score = states.sums[first + a] / count + bonus * states.fall[min(count, _SQUARES) - 1]
        if score > best:
            best, choice = score, a
    return choice


@kernel
def walk(game, leaf, states, rows, weights, random, n, depth, least, explore, first_moves, sums, counts):
    """Sample n paths from worlds drawn by weight, and add up payoffs by first move, which is uniform in `first_moves`.

    A state is steered after `least` visits per action; `explore` scales its confidence bounds.
    """
    seats = num_players(game)
    room = new_worlds(game, 2)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(seats)
    slots, choices, movers = np.empty(depth, np.int64), np.empty(depth, np.int64), np.empty(depth, np.int64)
    worlds = np.empty(n, np.int64)
    systematic(weights, unit(random), worlds)
    for w in worlds:
        now, d = 0, 0
        copy_world(game, room[now], rows[w])
        seat = player(game, room[now])
        mover = seat
        while mover != TERMINAL and d < depth:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                m = legal(game, room[now], actions)
                slots[d], movers[d] = -1, mover
                if d == 0:
                    choices[d] = first_moves[below(random, len(first_moves))]
                else:
                    slot = _find(states, uint64(key(game, room[now], mover)), m)
                    settled = slot >= 0 and states.visits[slot] >= least * m
                    states.visited[d] += 1
                    states.settled[d] += settled
                    slots[d] = slot
                    if not settled:
                        choices[d] = below(random, m)
                    else:
                        choices[d] = _promising(states, slot, m, explore, random)
                action = actions[choices[d]]
                d += 1
            advance(game, room[now], action, room[1 - now], depth - d)
            now = 1 - now
            mover = player(game, room[now])
        evaluate(leaf, game, room[now], random, payoffs)
        counts[choices[0]] += 1
        sums[choices[0]] += payoffs[seat]
        for s in range(seats):
            states.spread[_LEAST] = min(states.spread[_LEAST], payoffs[s])
            states.spread[_MOST] = max(states.spread[_MOST], payoffs[s])
        for k in range(1, d):
            if slots[k] >= 0:
                at = states.begins[slots[k]] + choices[k]
                states.visits[slots[k]] += 1
                states.counts[at] += 1
                states.sums[at] += payoffs[movers[k]]
