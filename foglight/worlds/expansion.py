"""From one layer of possible worlds to the next: equal worlds are merged, and layers above a cap are thinned.

A layer holds the worlds that explain the first t observations of a viewer, with weights:

    weight(world) = sum of weight(parent) * odds(transition), over the transitions that show the viewer its observation

Without a policy the odds are 1; with one, they are the probabilities given by chance and by the policy. Equal worlds
are found by a hash table with open addressing; rows are compared in full. A world can receive more weight after its
weight has already been passed on to its successors. That weight is passed on in another round, so the result does not
depend on the order in which worlds are reached.

Two kinds of transitions are not tried. A seat observes its own actions: where the viewer moves, the first world that
explains the observation says which action it was, and the others try only that one. If a game says that nothing goes
unnoticed (`notices_all`), unnoticed transitions are not looked for.

If there are more than `cap` worlds, those heavier than a threshold keep their weights; the others are drawn
systematically, and each one drawn gets the threshold as its weight (Fearnhead and Clifford, 2003). Thinning happens
while children are generated: when there are more than twice the cap, they are thinned, and later children pass through
a sieve with the same threshold. The expected weight of every world is its true weight.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foglight.compile import compiled_twin, is_compiled, jitable, kernel
from foglight.policies import weigh
from foglight.randomness import unit
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    chance,
    copy_world,
    legal,
    max_legal,
    new_worlds,
    notices_all,
    observe,
    player,
    record_all,
    step,
    transition,
)
from foglight.tables import place, table_of

ANYTHING = -(1 << 63)  # stands for every observation, NOTHING included
_NOBODY = -9  # a viewer that never moves
_UNKNOWN = -1  # in place of an action
_CHUNK = 4096  # worlds whose transitions are listed in one call, to bound the memory
_FIRST_ROOM = 256  # worlds that fit at first; the arrays double in size when they are full
# `pending` of a world: weight not yet passed on to its unnoticed successors, if at least _TODO; else one of two marks
_TODO = 0.0
_PASSED, _OWN_TURN = -1.0, -2.0
_THRESHOLD, _CARRIED = 0, 1  # places of the sieve: smaller shares are thinned; their sum so far, in thresholds
# places of the tally: the next parent, 1 while unnoticed transitions are followed, 1 if another round is needed,
# the number of rows, transitions tried
_NEXT_PARENT, _FOLLOWING, _AGAIN, _ROWS, _TRIED = range(5)


class Explained(NamedTuple):
    """A layer of worlds that explain the observations so far."""

    rows: Any  # uint64[n, W], or a list of boxed worlds
    weights: np.ndarray  # float64[n]
    turns: np.ndarray  # bool[n]: whether the viewer is to move
    thinned: bool  # whether any world had to be left out
    tried: int  # transitions tried for this layer


class TooLong(RuntimeError):
    """A layer has taken more transitions than one has patience for."""


@dataclass(frozen=True)
class Expansion:
    """Computes layer after layer for one viewer of one game."""

    game: Game
    viewer: int
    policy: Any
    width: int  # worlds are equal if the first `width` words of their rows are; 0 if worlds are boxed
    patience: float = math.inf  # transitions of one layer after which thinning stops, and TooLong is raised

    def follow(self, rows: Any, weights: np.ndarray, observation: int, cap: int, random: np.ndarray) -> Explained:
        """The layer after the viewer's next observation."""
        return self._explained(rows, weights, observation, rows[:0], np.ones(0), cap, random)

    def close(self, rows: Any, weights: np.ndarray, cap: int, random: np.ndarray) -> Explained:
        """The layer of these worlds and of all worlds that unnoticed transitions lead to from them."""
        return self._explained(rows[:0], np.ones(0), NOTHING, rows, weights, cap, random)

    def _explained(
        self,
        source: Any,
        mass: np.ndarray,
        observation: int,
        given: Any,
        shares: np.ndarray,
        cap: int,
        random: np.ndarray,
    ) -> Explained:
        """The children of `source` that show `observation`, the worlds `given`, and all their unnoticed successors.

        `mass` and `shares` are the weights of `source` and of `given`.
        """
        most, n, boxed = int(max_legal(self.game)), len(given), isinstance(source, list)
        full = max(2 * cap, n) + most
        size = full if boxed else min(full, max(_FIRST_ROOM, 2 * n, 2 * len(source)) + most)
        rows: Any = list(given) if boxed else np.empty((size, source.shape[1]), np.uint64)
        weights, pending = np.empty(size), np.empty(size)
        rows[:n], weights[:n], pending[:n] = given, shares, shares
        sieve = np.zeros(2)
        tally = np.array([0, 0, 0, n, 0])
        done = thinned = False
        while not done:
            table = table_of(rows, n, self.width, is_compiled(self.game, self.policy))
            done = _expand(
                self.game, self.policy, source, mass, observation, self.viewer, self.width, size - most,
                rows, weights, pending, table, sieve, tally,
            )  # fmt: skip
            n = int(tally[_ROWS])
            if not done and size < full:
                size = min(full, 2 * size)
                rows, weights, pending = (np.resize(old, (size, *old.shape[1:])) for old in (rows, weights, pending))
            elif n > cap:
                if tally[_TRIED] > self.patience:
                    raise TooLong(f"there are too many possibilities in {self.game} to keep track of")
                thinned = True
                kept, new, threshold = thin(weights[:n], cap, unit(random))
                pending[: len(kept)] = _rescaled(pending[kept], weights[kept], new)
                rows[: len(kept)], weights[: len(kept)] = chosen(rows, kept), new
                if boxed:
                    del rows[len(kept) :]
                if tally[_FOLLOWING]:
                    tally[_NEXT_PARENT] = np.searchsorted(kept, tally[_NEXT_PARENT])
                n = tally[_ROWS] = len(kept)
                sieve[:] = threshold, unit(random)
        return Explained(rows[:n], weights[:n], pending[:n] == _OWN_TURN, thinned, int(tally[_TRIED]))


def thin(weights: np.ndarray, target: int, offset: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Thin weights to about `target` of them, without bias: the indices kept, their new weights, and the threshold.

    Weights above the threshold stay. The others are drawn systematically and, if drawn, become the threshold.
    """
    if not weights.any():
        weights = np.ones(len(weights))
    threshold = weights.sum() / target
    if weights.max() > threshold:
        ordered = np.sort(weights)
        rests = np.cumsum(ordered)[::-1][:target]  # by k: the sum of all but the k heaviest
        thresholds = rests / (target - np.arange(target))
        threshold = thresholds[np.argmax(ordered[::-1][:target] <= thresholds)]
    heavy = weights > threshold
    carried = np.floor(np.cumsum(np.where(heavy, 0.0, weights / threshold)) + offset)
    kept = np.flatnonzero(heavy | (np.diff(carried, prepend=0.0) > 0.0))[:target]
    return kept, np.maximum(weights[kept], threshold), float(threshold)


def chosen(rows: Any, which: np.ndarray) -> Any:
    """The worlds at these indices."""
    return rows[which] if isinstance(rows, np.ndarray) else [rows[i] for i in which]


def _rescaled(pending: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Scale pending weight by the same factor as the weight it is part of."""
    scale = np.divide(new, old, out=np.ones(len(new)), where=old > 0.0)
    return np.where(pending >= _TODO, pending * scale, pending)


@jitable
def list_choices(game, policy, world, mover, viewer, actions, odds):
    """Write the actions possible in a world into `actions` and their probabilities into `odds`; returns how many.

    Without a policy, and where the viewer moves, only outcomes of chance get probabilities.
    """
    if mover == TERMINAL:
        return 0
    if mover == CHANCE:
        return chance(game, world, actions, odds)
    n = legal(game, world, actions)
    if policy is not None and mover != viewer:
        weigh(policy, game, world, mover, actions, n, odds)
    return n


def hold(game, rows, n, world):
    """Copy a world into row n. A list holds n boxed worlds and gets one more."""
    if isinstance(rows, list):
        rows += new_worlds(game, 1)
    copy_world(game, rows[n], world)


@compiled_twin(hold)
def _hold(game, rows, n, world):
    copy_world(game, rows[n], world)


@jitable
def sifted(share, sieve):
    """The weight with which a share passes the sieve; negative if it is dropped."""
    if share >= sieve[_THRESHOLD]:
        return share
    sieve[_CARRIED] += share / sieve[_THRESHOLD]
    if sieve[_CARRIED] < 1.0:
        return -1.0
    sieve[_CARRIED] -= 1.0
    return sieve[_THRESHOLD]


@kernel
def _expand(game, policy, source, mass, observation, viewer, width, room, rows, weights, pending, table, sieve, tally):
    """Add children to `rows`. Returns True when all parents are done, False when there are more than `room` rows."""
    actions = np.empty(max_legal(game), np.int64)
    odds = np.empty(max_legal(game))
    after = new_worlds(game, 1)[0]
    next_parent, following, again = tally[_NEXT_PARENT], tally[_FOLLOWING], tally[_AGAIN]
    n, tried = tally[_ROWS], tally[_TRIED]
    own = _UNKNOWN  # the viewer's own action, which is part of what it observes
    done = False
    while not done and n <= room:
        if following == 0 and next_parent == len(source):
            following, next_parent = 1, 0
        elif following == 1 and next_parent == n:
            done = again == 0
            next_parent, again = 0, 0
        else:
            i = next_parent
            next_parent += 1
            if following == 0:
                parent, weight, wanted = source[i], mass[i], observation
            else:
                parent, weight, wanted = rows[i], pending[i], NOTHING
                if weight < _TODO:
                    continue
                pending[i] = _PASSED
            mover = player(game, parent)
            if following == 1 and mover == viewer:
                pending[i] = _OWN_TURN  # its own action would not go unnoticed
                continue
            if following == 1 and notices_all(game):
                continue
            moves = list_choices(game, policy, parent, mover, viewer, actions, odds)
            for j in range(moves):
                if mover == viewer and own != _UNKNOWN and own != actions[j]:
                    continue
                tried += 1
                copy_world(game, after, parent)
                step(game, after, actions[j])
                if observe(game, parent, actions[j], after, viewer) != wanted:
                    continue
                if mover == viewer:
                    own = actions[j]
                share = weight
                if policy is not None and mover != viewer:
                    share *= odds[j]
                share = sifted(share, sieve)
                if share < 0.0:
                    continue
                record_all(game, parent, actions[j], after)
                at = place(after, width, rows, n, table)
                if at == n:
                    n += 1
                    hold(game, rows, at, after)
                    weights[at] = pending[at] = share
                else:
                    weights[at] += share
                    if pending[at] >= _TODO:
                        pending[at] += share
                    else:
                        pending[at] = share
                        again = 1
    tally[_NEXT_PARENT], tally[_FOLLOWING], tally[_AGAIN] = next_parent, following, again
    tally[_ROWS], tally[_TRIED] = n, tried
    return done


# Single transitions ---------------------------------------------------------------------------------------------


class Transitions(NamedTuple):
    """Transitions from the worlds of a layer, one per row."""

    rows: Any  # the worlds after them: uint64[n, W], or an array of boxed worlds
    parents: np.ndarray  # int64[n]: indices of worlds in the layer
    actions: np.ndarray  # int64[n]
    odds: np.ndarray  # float64[n]: probabilities by chance and by the policy; 1 without a policy
    shown: np.ndarray  # int64[n]: the viewer's observation


def transitions(game: Game, policy: Any, rows: np.ndarray, viewer: int, observation: int) -> Transitions:
    """The transitions from these worlds that show the viewer this observation; ANYTHING stands for every observation.

    With a policy, transitions of probability 0 are left out. Boxed worlds come in an array of objects.
    """
    parts = []
    for first in range(0, max(1, len(rows)), _CHUNK):
        part = rows[first : first + _CHUNK]
        size = len(part) * int(max_legal(game))
        worlds: Any = [] if rows.dtype == object else new_worlds(game, size)
        numbers, odds = np.empty((3, size), np.int64), np.empty(size)
        n = _list_transitions(game, policy, part, viewer, observation, worlds, numbers, odds)
        parents, actions, shown = numbers[:, :n].copy()
        parts.append(Transitions(as_array(worlds)[:n].copy(), parents + first, actions, odds[:n].copy(), shown))
    return parts[0] if len(parts) == 1 else Transitions(*map(np.concatenate, zip(*parts, strict=True)))


def as_array(worlds: Any) -> np.ndarray:
    """Rows of words unchanged; boxed worlds as an array of objects."""
    if isinstance(worlds, np.ndarray):
        return worlds
    boxes = np.empty(len(worlds), object)
    boxes[:] = worlds
    return boxes


@kernel
def _list_transitions(game, policy, worlds, viewer, observation, rows, numbers, shares):
    """Write every transition that shows the observation; returns how many.

    The rows of `numbers` are parents, actions and observations.
    """
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    after = new_worlds(game, 1)[0]
    n = 0
    for i in range(len(worlds)):
        moves = list_choices(game, policy, worlds[i], player(game, worlds[i]), _NOBODY, actions, odds)
        for j in range(moves):
            share = 1.0
            if policy is not None:
                share = odds[j]
                if share == 0.0:
                    continue
            transition(game, worlds[i], actions[j], after)
            shown = observe(game, worlds[i], actions[j], after, viewer)
            if shown == observation or observation == ANYTHING:
                hold(game, rows, n, after)
                numbers[0, n], numbers[1, n], numbers[2, n], shares[n] = i, actions[j], shown, share
                n += 1
    return n
