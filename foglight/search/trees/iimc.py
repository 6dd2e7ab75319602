"""Imperfect information Monte Carlo [Furtak2013]: playouts in which every seat searches with its own knowledge.

A playout starts from a world, drawn by its weight, with each action of the searching seat in turn. From then on the
mover imagines `samples` worlds, tries each of its actions in each of them with one leaf evaluation, and plays the
action with the best mean: perfect information Monte Carlo [Long2010], nested in itself.

The mover may imagine any world of our belief that it could not tell from the true one when the search began. That world
is played on so that the mover observes what it has observed since. Its own actions are repeated. Other seats and chance
act at random if the mover observes the same, otherwise as they did in the playout. If a few attempts fail, the mover
sees the true world. In [Furtak2013] worlds come from the mover's own inference. Ours come from our belief, so another
seat is assumed to know what follows from our observations as well: it may be too clever, but its worlds are always
possible.

    cost  a decision inside a playout takes samples * actions evaluations and about as many replays of the playout;
          a playout of d decisions with b actions takes samples * b * d evaluations for one value

The budget counts evaluations. A playout may use an equal share of it for each action of the root, and is then ended by
one evaluation, so that every action is tried even where playouts are long.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.randomness import below, first_above, unit
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    chance,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    pick,
    player,
    step,
    transition,
)
from foglight.search.leaves import evaluate

_LONGEST = 512  # most steps of a playout; one evaluation stands for the rest
_TRIES = 4  # attempts per imagined world
_UNNOTICED = 16  # steps by which an imagined world may run longer than the playout

_ACTION, _WORLD, EVALUATIONS = range(3)  # places of Tally.next


class Alike(NamedTuple):
    """For each seat, the worlds that it cannot tell apart: worlds sorted by the seat's keys."""

    members: np.ndarray  # int64[seats, n]: worlds in the order of the seat's keys
    begins: np.ndarray  # int64[seats, n]: by world, where the worlds with the same key begin in that order
    ends: np.ndarray  # int64[seats, n]: where they end
    sums: np.ndarray  # float64[seats, n + 1]: cumulative weights in that order


class Tally(NamedTuple):
    """The running totals of a search."""

    values: np.ndarray  # float64[actions]: sums of the seat's payoffs
    visits: np.ndarray  # int64[actions]: playouts
    next: np.ndarray  # int64[3]: index of the next root _ACTION, its _WORLD, EVALUATIONS so far


def alike(game: Game, rows: Any, weights: np.ndarray) -> Alike:
    """Sort worlds by each seat's information state; `weights` sum to 1."""
    seats, n = num_players(game), len(weights)
    keys = np.empty((seats, n), np.uint64)
    _read_keys(game, rows, keys)
    members = np.argsort(keys, axis=1, kind="stable")
    begins, ends = np.empty((seats, n), np.int64), np.empty((seats, n), np.int64)
    sums = np.zeros((seats, n + 1))
    for seat in range(seats):
        ordered = keys[seat, members[seat]]
        begins[seat] = np.searchsorted(ordered, keys[seat], "left")
        ends[seat] = np.searchsorted(ordered, keys[seat], "right")
        np.cumsum(weights[members[seat]], out=sums[seat, 1:])
    return Alike(members, begins, ends, sums)


def new_tally(actions: int) -> Tally:
    return Tally(np.zeros(actions), np.zeros(actions, np.int64), np.zeros(3, np.int64))


@kernel
def _read_keys(game, rows, keys):
    for seat in range(keys.shape[0]):
        for i in range(len(rows)):
            keys[seat, i] = key(game, rows[i], seat)


@kernel
def play_out(game, leaf, rows, worlds, seat, samples, root, random, last, most, tally):
    """Playouts until `last` evaluations have been made in total, at most `most` of them per playout."""
    room, seats = new_worlds(game, 5), num_players(game)
    actions, others = np.empty(max_legal(game), np.int64), np.empty(max_legal(game), np.int64)
    odds, sums, payoffs = np.empty(max_legal(game)), np.empty(max_legal(game)), np.empty(seats)
    played, movers = np.empty(_LONGEST, np.int64), np.empty(_LONGEST, np.int64)
    keys = np.empty((_LONGEST + 1, seats), np.uint64)
    while tally.next[EVALUATIONS] < last:
        if tally.next[_ACTION] == 0:
            tally.next[_WORLD] = _draw(random, worlds, seat, 0, len(rows))
        place, origin = tally.next[_ACTION], tally.next[_WORLD]
        tally.next[_ACTION] = (place + 1) % len(root)
        now, steps, spent = 0, 0, 0
        copy_world(game, room[now], rows[origin])
        for s in range(seats):
            keys[0, s] = key(game, room[now], s)
        mover, action = seat, root[place]
        while mover != TERMINAL and steps < _LONGEST:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            elif steps > 0:
                n = legal(game, room[now], actions)
                choice = 0
                if n > 1:
                    if spent + samples * n >= most:
                        break
                    for k in range(n):
                        sums[k] = 0.0
                    for _ in range(samples):
                        possible = _imagine(
                            game, rows, worlds, origin, mover, random, steps, played, movers, keys, others, odds, room
                        )
                        if not possible:
                            copy_world(game, room[2], room[now])
                        for k in range(n):
                            copy_world(game, room[3], room[2])
                            step(game, room[3], actions[k])
                            evaluate(leaf, game, room[3], random, payoffs)
                            sums[k] += payoffs[mover]
                    spent += samples * n
                    choice = _best(random, sums, n)
                action = actions[choice]
            played[steps], movers[steps] = action, mover
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            steps += 1
            for s in range(seats):
                keys[steps, s] = key(game, room[now], s)
            mover = player(game, room[now])
        evaluate(leaf, game, room[now], random, payoffs)
        tally.values[place] += payoffs[seat]
        tally.visits[place] += 1
        tally.next[EVALUATIONS] += spent + 1


@jitable
def _draw(random, worlds, seat, begin, end):
    """One of the worlds from `begin` to `end - 1` in the order of a seat's keys, by weight."""
    sums = worlds.sums[seat]
    wanted = sums[begin] + unit(random) * (sums[end] - sums[begin])
    return worlds.members[seat, first_above(sums, wanted, begin + 1, end + 1) - 1]


@jitable
def _best(random, sums, n):
    """The index of the greatest sum, uniform among equals."""
    choice, ties = 0, 1
    for k in range(1, n):
        if sums[k] > sums[choice]:
            choice, ties = k, 1
        elif sums[k] == sums[choice]:
            ties += 1
            if below(random, ties) == 0:
                choice = k
    return choice


@jitable
def _imagine(game, rows, worlds, origin, viewer, random, steps, played, movers, keys, actions, odds, room):
    """Make room[2] a world that the viewer cannot tell from the true one; returns whether that worked. Uses room[4]."""
    begin, end = worlds.begins[viewer, origin], worlds.ends[viewer, origin]
    for _ in range(_TRIES):
        copy_world(game, room[2], rows[_draw(random, worlds, viewer, begin, end)])
        at = 0  # the step of the playout up to which the viewer has observed the same
        for t in range(steps + _UNNOTICED):
            mover = player(game, room[2])
            if mover == TERMINAL:
                break
            if mover == viewer and keys[at, viewer] == keys[steps, viewer]:
                return True
            before, after = t, -1  # the step to be repeated
            if mover == viewer:
                before = at
                while before < steps and movers[before] != viewer:
                    before += 1
            for attempt in range(2):
                if attempt == 0 and mover == CHANCE:
                    action = deal(game, room[2], random, actions, odds)
                elif attempt == 0 and mover != viewer:
                    action = pick(game, room[2], random, actions)
                elif before < steps and movers[before] == mover:
                    action = played[before]
                    if not _possible(game, room[2], mover, action, actions, odds):
                        break
                else:
                    break
                transition(game, room[2], action, room[4])
                after = _follow(game, room[4], viewer, keys, at, steps)
                if after >= 0:
                    break
            if after < 0:
                break
            at = after
            copy_world(game, room[2], room[4])
    return False


@jitable
def _possible(game, world, mover, action, actions, odds):
    """Whether an action is legal, or an outcome of chance, in this world."""
    n = chance(game, world, actions, odds) if mover == CHANCE else legal(game, world, actions)
    k = 0
    while k < n and actions[k] != action:
        k += 1
    return k < n


@jitable
def _follow(game, world, viewer, keys, at, steps):
    """The step up to which the viewer has now observed the same as in the playout; -1 if the observations differ."""
    code = uint64(key(game, world, viewer))
    if code == keys[at, viewer]:
        return at
    after = at + 1
    while after <= steps and keys[after, viewer] == keys[at, viewer]:
        after += 1
    return after if after <= steps and code == keys[after, viewer] else -1
