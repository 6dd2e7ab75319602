"""From one layer of possible worlds to the next, merging equal worlds and thinning what is too much.

A layer holds the worlds that explain the first so many observations of a viewer, with weights:

    weight(world) = sum of weight(parent) * odds(entry), over the entries that show the viewer what it saw

Without a policy every entry counts 1; with one, odds are chance's and the policy's. Equal worlds are found by a hash
table with open addressing; rows are compared in full. Weight that comes late, to a world whose own has been passed on
already, is passed on in another round, so that the order in which worlds are met does not matter.

If there are more than `cap` worlds, those heavier than a threshold stay as they are, and the others are drawn
systematically and carry the threshold as their weight (Fearnhead and Clifford, 2003). It happens while children stream
by: when room for twice the cap is full, what is there is thinned, and later children pass through the same sieve. The
expected weight of every world is its true one.
"""

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
    observe,
    player,
    record_all,
    step,
    transition,
)
from foglight.tables import place, table_of

ANYTHING = -(1 << 63)  # stands for every observation, NOTHING included
_NOBODY = -9  # no mover
_CHUNK = 4096  # worlds whose transitions are listed at once, so that room for them stays small
_FIRST_ROOM = 256  # worlds; room doubles when it runs out
_TODO = 0.0  # pending weight from here on has yet to be passed on to those that follow unnoticed
_PASSED, _OWN_TURN = -1.0, -2.0


class Explained(NamedTuple):
    """A layer: worlds, and whether any had to be left out."""

    rows: Any  # uint64[n, W], or a list of boxed worlds
    weights: np.ndarray  # float64[n]
    turns: np.ndarray  # bool[n]: whether the viewer is to move
    thinned: bool
    tried: int  # transitions


@dataclass(frozen=True)
class Expansion:
    """How layers follow each other, for one viewer of one game."""

    game: Game
    viewer: int
    policy: Any
    width: int  # how many words of a row tell worlds apart; 0 if worlds are boxed

    def follow(self, rows: Any, weights: np.ndarray, observation: int, cap: int, random: np.ndarray) -> Explained:
        """The layer that follows when the viewer observes this."""
        return self._explained(rows, weights, observation, rows[:0], np.ones(0), cap, random)

    def close(self, rows: Any, weights: np.ndarray, cap: int, random: np.ndarray) -> Explained:
        """The layer of these worlds and all that follow from them unnoticed."""
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
        """The children of `source` that show `observation`, and `given`, with all that follows from these unnoticed."""
        most, n, boxed = int(max_legal(self.game)), len(given), isinstance(source, list)
        full = max(2 * cap, n) + most
        size = full if boxed else min(full, max(_FIRST_ROOM, 2 * n, 2 * len(source)) + most)
        rows: Any = list(given) if boxed else np.empty((size, source.shape[1]), np.uint64)
        weights, pending = np.empty(size), np.empty(size)
        rows[:n], weights[:n], pending[:n] = given, shares, shares
        sieve = np.zeros(2)  # the threshold, and how much of it has been carried on
        tally = np.array([0, 0, 0, n, 0])  # next parent, whether unnoticed ones are followed, again, rows, transitions
        done = thinned = False
        while not done:
            table = table_of(rows, n, self.width, is_compiled(self.game, self.policy))
            done = _expand(
                self.game, self.policy, source, mass, observation, self.viewer, self.width, size - most,
                rows, weights, pending, table, sieve, tally,
            )  # fmt: skip
            n = int(tally[3])
            if not done and size < full:
                size = min(full, 2 * size)
                rows, weights, pending = (np.resize(old, (size, *old.shape[1:])) for old in (rows, weights, pending))
            elif n > cap:
                thinned = True
                kept, new, threshold = thin(weights[:n], cap, unit(random))
                pending[: len(kept)] = _rescaled(pending[kept], weights[kept], new)
                rows[: len(kept)], weights[: len(kept)] = chosen(rows, kept), new
                if boxed:
                    del rows[len(kept) :]
                if tally[1]:
                    tally[0] = np.searchsorted(kept, tally[0])
                n = tally[3] = len(kept)
                sieve[:] = threshold, unit(random)
        return Explained(rows[:n], weights[:n], pending[:n] == _OWN_TURN, thinned, int(tally[4]))


def thin(weights: np.ndarray, target: int, offset: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Which of the weights to keep, their new weights, and the threshold: about `target` of them, none biased.

    Weights above the threshold stay, the others are drawn systematically and become the threshold.
    """
    if not weights.any():
        weights = np.ones(len(weights))
    threshold = weights.sum() / target
    if weights.max() > threshold:
        ordered = np.sort(weights)
        rests = np.cumsum(ordered)[::-1][:target]  # of all but the k heaviest
        thresholds = rests / (target - np.arange(target))
        threshold = thresholds[np.argmax(ordered[::-1][:target] <= thresholds)]
    heavy = weights > threshold
    carried = np.floor(np.cumsum(np.where(heavy, 0.0, weights / threshold)) + offset)
    kept = np.flatnonzero(heavy | (np.diff(carried, prepend=0.0) > 0.0))[:target]
    return kept, np.maximum(weights[kept], threshold), float(threshold)


def chosen(rows: Any, which: np.ndarray) -> Any:
    """Some of the worlds."""
    return rows[which] if isinstance(rows, np.ndarray) else [rows[i] for i in which]


def _rescaled(pending: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What is pending grows like the weight of which it is a part."""
    scale = np.divide(new, old, out=np.ones(len(new)), where=old > 0.0)
    return np.where(pending >= _TODO, pending * scale, pending)


@jitable
def list_choices(game, policy, world, mover, viewer, actions, odds):
    """Write what may happen in a world into `actions`, and how likely it is into `odds`; how many.

    Without a policy, and where the viewer moves, only the outcomes of chance have odds.
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
    """Make row n equal to a world; of boxed worlds there are n, and one more is made."""
    if isinstance(rows, list):
        rows += new_worlds(game, 1)
    copy_world(game, rows[n], world)


@compiled_twin(hold)
def _hold(game, rows, n, world):
    copy_world(game, rows[n], world)


@jitable
def sifted(share, sieve):
    """The weight with which a share goes on, below 0 if it is dropped; the sieve is a threshold and what is carried."""
    if share >= sieve[0]:
        return share
    sieve[1] += share / sieve[0]
    if sieve[1] < 1.0:
        return -1.0
    sieve[1] -= 1.0
    return sieve[0]


@kernel
def _expand(game, policy, source, mass, observation, viewer, width, room, rows, weights, pending, table, sieve, tally):
    """Add children to `rows` until all is done (True), or there are more than `room` (False)."""
    actions = np.empty(max_legal(game), np.int64)
    odds = np.empty(max_legal(game))
    after = new_worlds(game, 1)[0]
    next_parent, following, again, n, tried = tally[0], tally[1], tally[2], tally[3], tally[4]
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
            moves = list_choices(game, policy, parent, mover, viewer, actions, odds)
            tried += moves
            for j in range(moves):
                copy_world(game, after, parent)
                step(game, after, actions[j])
                if observe(game, parent, actions[j], after, viewer) != wanted:
                    continue
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
    tally[0], tally[1], tally[2], tally[3], tally[4] = next_parent, following, again, n, tried
    return done


# Every transition by itself -------------------------------------------------------------------------------------


class Transitions(NamedTuple):
    """Some transitions from worlds of a layer."""

    rows: Any  # the worlds that follow: uint64[n, W], or an array of boxed worlds
    parents: np.ndarray  # int64[n], places of worlds in the layer
    actions: np.ndarray  # int64[n]
    odds: np.ndarray  # float64[n]: of chance and of all seats; 1 without a policy
    shown: np.ndarray  # int64[n]: what the viewer observes


def transitions(game: Game, policy: Any, rows: np.ndarray, viewer: int, observation: int) -> Transitions:
    """The transitions from some worlds that show the viewer this observation; ANYTHING stands for all of them.

    With a policy, those that it rules out are left out. Boxed worlds come in an array of objects.
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
    """Rows of words as they are; boxed worlds as an array of objects."""
    if isinstance(worlds, np.ndarray):
        return worlds
    boxes = np.empty(len(worlds), object)
    boxes[:] = worlds
    return boxes


@kernel
def _list_transitions(game, policy, worlds, viewer, observation, rows, numbers, shares):
    """Write every transition that shows the observation; how many. `numbers` are parents, actions, observations."""
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
