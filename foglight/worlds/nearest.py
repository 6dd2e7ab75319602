"""The nearest worlds of a seat that has lost its belief: none that it holds possible explains what it has observed.

Though all of them are wrong, most of what they say is right. So the seat goes on from them:

- `moved_on`: one transition further, whatever it would have shown. The seat's key becomes that of what it did observe,
  so that all these worlds are one information state. What it observes later is filtered as ever.
- `allowing`: at a decision the seat knows its legal actions. Worlds in which it is to move and exactly these are legal
  are the nearest. If there are none, worlds are played on at random until they are such worlds.
- `random_values`: if there is none to be found, actions are valued by random play in worlds that allow some of them,
  perhaps after they have been played on.
"""

from typing import Any

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.policies import Uniform
from foglight.randomness import fold, systematic, unit
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    num_words,
    pick,
    player,
    returns,
    step,
    transition,
)
from foglight.worlds.expansion import ANYTHING, as_array, chosen, transitions

_SOURCES = 5000  # worlds whose transitions are listed
_FURTHEST = 64  # actions that a world is played on
_ROUNDS = 16  # times that each world is played on
_ENOUGH = 1000  # worlds found by playing on


def moved_on(
    game: Game, seat: int, rows: Any, weights: np.ndarray, observations: list[int], random: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Worlds one transition after these; `observations` are all that the seat has made, the last one unexplained.

    Transitions that the seat would not have noticed, or that end the game, are left out if there are others.
    """
    boxed = isinstance(rows, list)
    some = _drawn(weights, _SOURCES, random)
    steps = transitions(game, Uniform(), as_array(rows)[some], seat, ANYTHING)
    if len(steps.parents) == 0:  # the game is over in all of them
        return rows, weights
    going = _movers(game, steps.rows, np.empty(len(steps.rows), np.int64)) != TERMINAL
    noticed = steps.shown != NOTHING
    which = next(fits for fits in (noticed & going, noticed, going, ~going) if fits.any())
    after, shares = steps.rows[which], steps.odds[which]
    return (list(after) if boxed else with_observations(game, after, seat, observations)), shares / shares.sum()


def with_observations(game: Game, rows: np.ndarray, seat: int, observations: list[int]) -> np.ndarray:
    """The same worlds, as if the seat had observed this; unchanged in a game that stores keys in a way of its own."""
    code = uint64(0)
    for observation in observations:
        code = fold(code, observation)
    changed = rows.copy()
    changed[:, num_words(game) + 1 + seat] = code
    same = len(rows) == 0 or int(key(game, changed[0], seat)) == int(fold(code, seat))
    return changed if same else rows


def allowing(
    game: Game, seat: int, rows: Any, weights: np.ndarray, actions: list[int], random: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Worlds with their weights in which the seat is to move and exactly these actions are legal; perhaps none."""
    wanted = np.array(actions, np.int64)
    fits = _fitting(game, rows, seat, wanted, np.zeros(len(rows), np.bool_))
    if fits.any():
        kept, shares = np.flatnonzero(fits), weights[fits]
        equal = np.full(len(kept), 1.0 / len(kept))
        return chosen(rows, kept), shares / shares.sum() if shares.sum() > 0.0 else equal
    found = new_worlds(game, _ENOUGH)
    n = _play_on(game, rows, seat, wanted, random, found)
    return found[:n], np.full(n, 1.0 / max(n, 1))


def random_values(game: Game, seat: int, rows: Any, actions: list[int], random: np.ndarray) -> np.ndarray:
    """By action, the seat's mean payoff if all play at random after it, over worlds that allow it; nan without any.

    Worlds that allow none of the actions are played on at random until they do.
    """
    sums, counts = np.zeros(len(actions)), np.zeros(len(actions), np.int64)
    _try_everywhere(game, rows, seat, np.array(actions, np.int64), random, sums, counts)
    return np.divide(sums, counts, out=np.full(len(actions), np.nan), where=counts > 0)


def _drawn(weights: np.ndarray, most: int, random: np.ndarray) -> np.ndarray:
    """Indices drawn by weight, each once; all of them if there are at most `most`."""
    if len(weights) <= most:
        return np.arange(len(weights))
    places = np.empty(most, np.int64)
    systematic(weights, unit(random), places)
    return np.unique(places)


@kernel
def _movers(game, rows, out):
    for i in range(len(rows)):
        out[i] = player(game, rows[i])
    return out


@kernel
def _fitting(game, rows, seat, wanted, out):
    """Whether the seat is to move in each world, and may do exactly what is wanted."""
    actions = np.empty(max_legal(game), np.int64)
    for i in range(len(rows)):
        out[i] = player(game, rows[i]) == seat
        if out[i]:
            n = legal(game, rows[i], actions)
            out[i] = n == len(wanted)
            for k in range(min(n, len(wanted))):
                out[i] = out[i] and actions[k] == wanted[k]
    return out


@kernel
def _play_on(game, rows, seat, wanted, random, found):
    """Play worlds on at random until they fit; write those that do into `found`, and return how many."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    room = new_worlds(game, 2)
    count = 0
    for trial in range(_ROUNDS * len(rows)):
        now = 0
        copy_world(game, room[now], rows[trial % len(rows)])
        for _ in range(_FURTHEST):
            mover = player(game, room[now])
            if mover == TERMINAL or count == len(found):
                break
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                action = pick(game, room[now], random, actions)
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            if player(game, room[now]) == seat:
                n = legal(game, room[now], actions)
                fits = n == len(wanted)
                for k in range(min(n, len(wanted))):
                    fits = fits and actions[k] == wanted[k]
                if fits:
                    copy_world(game, found[count], room[now])
                    count += 1
                    break
    return count


@kernel
def _try_everywhere(game, rows, seat, wanted, random, sums, counts):
    """Add the payoffs of each wanted action, followed by random play, where a world that goes on allows it first."""
    most, payoffs = max_legal(game), np.empty(num_players(game))
    actions, odds, allowed = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    room = new_worlds(game, 2)
    for i in range(len(rows)):
        copy_world(game, room[0], rows[i])
        tried = False
        for _ in range(_FURTHEST):
            mover = player(game, room[0])
            n = legal(game, room[0], allowed) if mover == seat else 0
            for j in range(n):
                for k in range(len(wanted)):
                    if allowed[j] == wanted[k]:
                        tried = True
                        copy_world(game, room[1], room[0])
                        step(game, room[1], wanted[k])
                        _play_out(game, room[1], random, actions, odds)
                        returns(game, room[1], payoffs)
                        sums[k] += payoffs[seat]
                        counts[k] += 1
            if tried or mover == TERMINAL:
                break
            _step_at_random(game, room[0], random, actions, odds)


@jitable
def _play_out(game, world, random, actions, odds):
    while player(game, world) != TERMINAL:
        _step_at_random(game, world, random, actions, odds)


@jitable
def _step_at_random(game, world, random, actions, odds):
    if player(game, world) == CHANCE:
        step(game, world, deal(game, world, random, actions, odds))
    else:
        step(game, world, pick(game, world, random, actions))
