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

from foglight.compile import jitable, kernel
from foglight.policies import weigh
from foglight.randomness import unit
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    chance,
    copy_world,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    player,
    record,
    step,
)
from foglight.tables import place, table_of

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

    game: Any
    viewer: int
    policy: Any
    width: int  # how many words of a row tell worlds apart; 0 if worlds are boxed

    def follow(self, rows: Any, weights: np.ndarray, observation: int, cap: int, random: np.ndarray) -> Explained:
        """The layer that follows when the viewer observes this."""
        how = _explained if self.width else _explained_boxed
        return how(self, rows, weights, observation, rows[:0], np.ones(0), cap, random)

    def close(self, rows: Any, weights: np.ndarray, cap: int, random: np.ndarray) -> Explained:
        """The layer of these worlds and all that follow from them unnoticed."""
        how = _explained if self.width else _explained_boxed
        return how(self, rows[:0], np.ones(0), NOTHING, rows, weights, cap, random)


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


# Rows of words, compiled ----------------------------------------------------------------------------------------


def _explained(
    how: Expansion,
    source: np.ndarray,
    mass: np.ndarray,
    observation: int,
    given: np.ndarray,
    shares: np.ndarray,
    cap: int,
    random: np.ndarray,
) -> Explained:
    """The children of `source` that show `observation`, and `given`, with all that follows from these unnoticed."""
    most, n = max_legal(how.game), len(given)
    full = max(2 * cap, n) + most
    size = min(full, max(_FIRST_ROOM, 2 * n, 2 * len(source)) + most)
    rows = np.empty((size, source.shape[1]), np.uint64)
    weights, pending = np.empty(size), np.empty(size)
    rows[:n], weights[:n], pending[:n] = given, shares, shares
    sieve = np.zeros(2)  # the threshold, and how much of it has been carried on
    tally = np.array([0, 0, 0, n, 0])  # next parent, whether unnoticed ones are followed, again, rows, transitions
    done = thinned = False
    while not done:
        table = table_of(rows, n, how.width)
        done = _expand(
            how.game, how.policy, source, mass, observation, how.viewer, how.width,
            rows, weights, pending, table, sieve, tally,
        )  # fmt: skip
        n = int(tally[3])
        if not done and size < full:
            size = min(full, 2 * size)
            rows, weights, pending = (np.resize(array, (size, *array.shape[1:])) for array in (rows, weights, pending))
        elif n > cap:
            thinned = True
            kept, new, threshold = thin(weights[:n], cap, unit(random))
            pending[: len(kept)] = _rescaled(pending[kept], weights[kept], new)
            rows[: len(kept)], weights[: len(kept)] = rows[kept], new
            if tally[1]:
                tally[0] = np.searchsorted(kept, tally[0])
            n = tally[3] = len(kept)
            sieve[:] = threshold, unit(random)
    return Explained(rows[:n], weights[:n], pending[:n] == _OWN_TURN, thinned, int(tally[4]))


def _rescaled(pending: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What is pending grows like the weight of which it is a part."""
    scale = np.divide(new, old, out=np.ones(len(new)), where=old > 0.0)
    return np.where(pending >= _TODO, pending * scale, pending)


@jitable
def _note(game, before, action, after):
    """Take what everybody observes into the keys, which `step` leaves as they were."""
    for viewer in range(PUBLIC, num_players(game)):
        shown = observe(game, before, action, after, viewer)
        if shown != NOTHING:
            record(game, after, viewer, shown)


@kernel
def _expand(game, policy, source, mass, observation, viewer, width, rows, weights, pending, table, sieve, tally):
    """Add children to `rows` until all is done (True), or there may be no room for another parent's (False)."""
    actions = np.empty(max_legal(game), np.int64)
    odds = np.empty(max_legal(game))
    after = new_worlds(game, 1)[0]
    room = len(rows) - max_legal(game)
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
            if mover == TERMINAL:
                continue
            if mover == CHANCE:
                moves = chance(game, parent, actions, odds)
            else:
                moves = legal(game, parent, actions)
                if policy is not None and mover != viewer:
                    weigh(policy, game, parent, mover, actions, moves, odds)
            tried += moves
            for j in range(moves):
                copy_world(game, after, parent)
                step(game, after, actions[j])
                if observe(game, parent, actions[j], after, viewer) != wanted:
                    continue
                share = weight
                if policy is not None and mover != viewer:
                    share *= odds[j]
                if share < sieve[0]:
                    sieve[1] += share / sieve[0]
                    if sieve[1] < 1.0:
                        continue
                    sieve[1] -= 1.0
                    share = sieve[0]
                _note(game, parent, actions[j], after)
                at = place(after, width, rows, n, table)
                if at == n:
                    n += 1
                    for k in range(len(after)):
                        rows[at, k] = after[k]
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


# The same in plain Python, for worlds that are not rows of words ------------------------------------------------


def _explained_boxed(
    how: Expansion,
    source: list[Any],
    mass: np.ndarray,
    observation: int,
    given: list[Any],
    shares: np.ndarray,
    cap: int,
    random: np.ndarray,
) -> Explained:
    """As `_explained`; a world is known by its `tobytes`."""
    game, policy, viewer = how.game, how.policy, how.viewer
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    rows, weights, pending = list(given), list(shares), list(shares)
    places = {row.tobytes(): i for i, row in enumerate(rows)}
    threshold, carried, thinned, tried = 0.0, 0.0, False, 0
    front = [(world, weight, observation) for world, weight in zip(source, mass, strict=True)]
    while front or any(weight >= _TODO for weight in pending):
        for parent, weight, wanted in front:
            mover, moves = player(game, parent), 0
            if mover == CHANCE:
                moves = chance(game, parent, actions, odds)
            elif mover != TERMINAL:
                moves = legal(game, parent, actions)
                if policy is not None and mover != viewer:
                    weigh(policy, game, parent, mover, actions, moves, odds)
            tried += moves
            for j in range(moves):
                after = new_worlds(game, 1)[0]
                copy_world(game, after, parent)
                step(game, after, actions[j])
                if observe(game, parent, actions[j], after, viewer) != wanted:
                    continue
                share = weight if policy is None or mover == viewer else weight * odds[j]
                if share < threshold:
                    carried += share / threshold
                    if carried < 1.0:
                        continue
                    carried, share = carried - 1.0, threshold
                _note(game, parent, actions[j], after)
                at = places.setdefault(after.tobytes(), len(rows))
                if at == len(rows):
                    rows.append(after)
                    weights.append(0.0)
                    pending.append(_TODO)
                weights[at] += share
                pending[at] = max(pending[at], _TODO) + share
            if len(rows) > 2 * cap:
                rows, weights, pending, threshold = _thinned_boxed(rows, weights, pending, cap, random)
                places = {row.tobytes(): i for i, row in enumerate(rows)}
                carried, thinned = unit(random), True
        front = []
        for i, weight in enumerate(pending):
            if weight >= _TODO:
                own = player(game, rows[i]) == viewer
                pending[i] = _OWN_TURN if own else _PASSED
                if not own:
                    front.append((rows[i], weight, NOTHING))
    if len(rows) > cap:
        rows, weights, pending, _ = _thinned_boxed(rows, weights, pending, cap, random)
        thinned = True
    return Explained(rows, np.array(weights), np.array(pending) == _OWN_TURN, thinned, tried)


def _thinned_boxed(
    rows: list[Any], weights: list[float], pending: list[float], cap: int, random: np.ndarray
) -> tuple[list[Any], list[float], list[float], float]:
    old = np.array(weights)
    kept, new, threshold = thin(old, cap, unit(random))
    return chosen(rows, kept), new.tolist(), _rescaled(np.array(pending)[kept], old[kept], new).tolist(), threshold
