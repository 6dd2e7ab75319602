"""One turn in each of n games, compiled: a decision, the chance that follows it, and what the next seat to move sees.

The games lie in arrays with one row for each. A row of an observation is, in this order,

    the seat, one-hot | `sight_features` of the game | the seat's last K observations, newest first, as bits

where K is `num_recalled` unless given, and the lowest bit comes first. All three parts are functions of the information
state of the seat.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight import bits
from foglight.bits import has, lowest, without_lowest
from foglight.compile import jitable, kernel
from foglight.randomness import below
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    begin,
    copy_world,
    deal,
    legal_bits,
    max_legal,
    new_worlds,
    num_actions,
    num_players,
    num_sight_features,
    observation_bits,
    observe,
    pick,
    player,
    returns,
    sight_features,
    step,
)

RANDOM, BEGIN = -1, -2  # instead of an action: a random one; a new game
MOST_BEGINNINGS = 10_000  # games in a row that end before anybody has decided anything


class Rows(NamedTuple):
    """The arrays of n games: what is kept from turn to turn."""

    worlds: Any  # uint64[n, W]; a list of worlds if the game is interpreted
    origin: Any  # the world at which games begin
    random: np.ndarray  # uint64[n]: a generator for each game
    legal: np.ndarray  # uint64[n, ceil(actions / 64)]: the legal actions as bits
    recalled: np.ndarray  # int64[n, seats, K]: the last observations of each seat, newest first
    bits: int  # of a recalled observation


class Outputs(NamedTuple):
    """The arrays that a turn fills; those with no columns are left alone."""

    movers: np.ndarray  # int64[n]: the seat to move, or TERMINAL
    masks: np.ndarray  # bool[n, actions]
    observations: np.ndarray  # float32[n, 1, F]: of the seat to move; or float32[n, seats, F]: of every seat
    rewards: np.ndarray  # float64[n, seats]
    terminated: np.ndarray  # bool[n]


def new_rows(game: Game, n: int, recall: int) -> Rows:
    """Arrays for n games, none of which has begun; the generators are to be set."""
    origin = new_worlds(game, 1)[0]
    begin(game, origin)
    words = -(-num_actions(game) // 64)
    recalled = np.zeros((n, num_players(game), recall), np.int64)
    bits_of_one = int(observation_bits(game))
    return Rows(
        new_worlds(game, n), origin, np.zeros(n, np.uint64), np.zeros((n, words), np.uint64), recalled, bits_of_one
    )


def new_outputs(game: Game, n: int, *, masks: bool, seats: int, size: int) -> Outputs:
    """Arrays for n games to fill, with the observations of so many seats, each of this size."""
    return Outputs(
        np.empty(n, np.int64),
        np.empty((n, num_actions(game) if masks else 0), np.bool_),
        np.empty((n, seats, size), np.float32),
        np.empty((n, num_players(game)), np.float64),
        np.empty(n, np.bool_),
    )


def observation_size(game: Game, recall: int) -> int:
    """The length of an observation."""
    return int(num_players(game)) + int(num_sight_features(game)) + int(observation_bits(game)) * recall


@kernel
def take_turns(game, rows, out, actions, rounds, again, totals):
    """Take `rounds` turns in each game, with these actions, which are legal, or BEGIN or RANDOM.

    If `again`, a game that is over is followed by a new one at once. The payoffs of finished games are added to
    `totals`. Returns the number of these games; -1 if games end without any decision.
    """
    choices, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    payoffs, before = np.zeros(num_players(game)), new_worlds(game, 1)[0]
    finished = 0
    for _ in range(rounds):
        for i in range(len(actions)):
            ended = _turn(game, rows, out, i, actions[i], again, choices, odds, payoffs, before)
            if ended < 0:
                return -1
            if ended > 0:
                finished += 1
                for seat in range(len(payoffs)):
                    totals[seat] += payoffs[seat]
    return finished


@jitable
def _turn(game, rows, out, i, action, again, choices, odds, payoffs, before):
    """The turn of game i; returns whether it has ended the game, or -1 if no new one can be begun."""
    world, random = rows.worlds[i], rows.random[i : i + 1]
    ended = 0
    if action == BEGIN:
        mover = _begin(game, rows, i, world, random, choices, odds, before)
    else:
        if action == RANDOM:
            action = pick(game, world, random, choices)
        _play(game, rows, i, world, action, before)
        mover = _settle(game, rows, i, world, random, choices, odds, before)
        if mover == TERMINAL:
            ended = 1
            returns(game, world, payoffs)
    for seat in range(len(payoffs)):
        out.rewards[i, seat] = payoffs[seat] if ended else 0.0
    out.terminated[i] = ended == 1
    if again and mover == TERMINAL:
        for _ in range(MOST_BEGINNINGS):
            mover = _begin(game, rows, i, world, random, choices, odds, before)
            if mover != TERMINAL:
                break
        if mover == TERMINAL:
            return -1
    out.movers[i] = mover
    _show(game, rows, out, i, world, mover, choices)
    return ended


@jitable
def _begin(game, rows, i, world, random, choices, odds, before):
    copy_world(game, world, rows.origin)
    for seat in range(rows.recalled.shape[1]):
        for k in range(rows.recalled.shape[2]):
            rows.recalled[i, seat, k] = NOTHING
    return _settle(game, rows, i, world, random, choices, odds, before)


@jitable
def _settle(game, rows, i, world, random, choices, odds, before):
    """Play chance until a seat is to move or the game is over; returns who is."""
    mover = player(game, world)
    while mover == CHANCE:
        _play(game, rows, i, world, deal(game, world, random, choices, odds), before)
        mover = player(game, world)
    return mover


@jitable
def _play(game, rows, i, world, action, before):
    recall = rows.recalled.shape[2]
    if recall == 0:
        step(game, world, action)
        return
    copy_world(game, before, world)
    step(game, world, action)
    for seat in range(rows.recalled.shape[1]):
        code = observe(game, before, action, world, seat)
        if code != NOTHING:
            for k in range(recall - 1, 0, -1):
                rows.recalled[i, seat, k] = rows.recalled[i, seat, k - 1]
            rows.recalled[i, seat, 0] = code


@jitable
def _show(game, rows, out, i, world, mover, choices):
    """Write the legal actions of the mover, and the observations."""
    words = rows.legal[i]
    if mover != TERMINAL:
        legal_bits(game, world, choices, words)
    else:
        for k in range(len(words)):
            words[k] = uint64(0)
    if out.masks.shape[1] > 0:
        if num_actions(game) <= 64:
            word = words[0]
            for k in range(num_actions(game)):
                out.masks[i, k] = has(word, k)
        else:  # few of many
            for k in range(num_actions(game)):
                out.masks[i, k] = False
            for w in range(len(words)):
                word = words[w]
                while word != uint64(0):
                    out.masks[i, 64 * w + lowest(word)] = True
                    word = without_lowest(word)
    shown = out.observations.shape[1]
    for j in range(shown):
        seat = j if shown > 1 else max(mover, 0)
        _see(game, rows, i, world, seat, out.observations[i, j])


@jitable
def _see(game, rows, i, world, seat, out):
    seats, recall = rows.recalled.shape[1], rows.recalled.shape[2]
    end = len(out) - rows.bits * recall
    for k in range(len(out)):
        out[k] = 0.0
    out[seat] = 1.0
    sight_features(game, world, seat, out[seats:end])
    for k in range(recall):
        code = uint64(rows.recalled[i, seat, k])
        if code == uint64(NOTHING):
            break  # no more observations
        for b in range(rows.bits):
            out[end + rows.bits * k + b] = (code >> uint64(b)) & uint64(1)


@kernel
def first_illegal(rows, actions, bound):
    """The number of the first game in which the action is not legal; -1 if all are legal."""
    for i in range(len(actions)):
        action = actions[i]
        if action < 0 or action >= bound:
            return i
        if (rows.legal[i, action >> 6] >> uint64(action & 63)) & uint64(1) == uint64(0):
            return i
    return -1


@kernel
def sample_legal(rows, random, out):
    """Write a uniformly random legal action of each game into `out`."""
    for i in range(len(out)):
        size = 0
        for k in range(rows.legal.shape[1]):
            size += bits.count(rows.legal[i, k])
        rank = below(random, size)
        for k in range(rows.legal.shape[1]):
            here = bits.count(rows.legal[i, k])
            if rank < here:
                out[i] = 64 * k + bits.nth(rows.legal[i, k], int64(rank))
                break
            rank -= here
