"""Ways to search sets of worlds side by side, and sets met in play to do it on.

Both seats know what a player would know. Half of their decisions are random, the others the best of a search of one's
own turn in a few of the worlds held possible.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foglight.chess.blind import NO_SENSE
from foglight.compile import kernel
from foglight.rules import NOTHING, TERMINAL, Game, begin, new_worlds, num_words, observe, player, step, transition
from foglight.search.sets.search import Report, SetSearch
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker

_FEW, _CAP = 20, 3000  # worlds that a player looks at, and of which it keeps track
_ROUNDS, _SHORT = 5, 2.0  # rounds of timing where the baseline takes less than so many seconds


WAYS: dict[str, dict[str, Any]] = {  # options of SetSearch; `as published` lacks what we have added, parts of sets
    "baseline": {"mode": "baseline"},
    "as published": {"mode": "accelerated", "parts": False},
    "accelerated": {"mode": "accelerated"},
    "exact": {"mode": "exact"},
}


class Met(NamedTuple):
    """Whose turn it is, the worlds that this seat holds possible, and after how many actions."""

    seat: int
    rows: np.ndarray  # uint64[n, words]
    after: int


def first_turn(game: Game) -> Met:
    """White's first turn in blind chess, after a sense that tells nothing."""
    rows = np.zeros((1, int(num_words(game))), np.uint64)
    begin(game, rows[0])
    step(game, rows[0], NO_SENSE)
    return Met(1, rows, 1)


def positions(game: Game, n: int, seed: int, *, leaf: Any, after: Sequence[int], most: int) -> list[Met]:
    """n positions, each of another game, after one of these numbers of actions, of at most so many worlds."""
    rng = random.Random(seed)
    found: list[Met] = []
    while len(found) < n:
        met = _play(game, rng.choice(after), rng, leaf)
        if met is not None and len(met.rows) <= most:
            found.append(met)
    return found


def _play(game: Game, actions: int, rng: random.Random, leaf: Any) -> Met | None:
    """The position after so many actions; None if the game is over by then, or a belief is no longer exact."""
    words = int(num_words(game))
    worlds = new_worlds(game, 2)
    begin(game, worlds[0])
    trackers = [Tracker(game, seat, positions=True, cap=_CAP) for seat in range(2)]
    searches = [SetSearch(game, seat, turns=1, mode="baseline", leaf=leaf) for seat in range(2)]
    for _ in range(actions):
        seat = int(player(game, worlds[0]))
        if seat == TERMINAL:
            return None
        held = trackers[seat].worlds().rows[:, :words]
        action = rng.choice(searches[seat].actions(held))
        if rng.random() < 0.5:
            some = held[rng.sample(range(len(held)), min(_FEW, len(held)))]
            found = searches[seat].valuations(some, only_best=True)
            action = found.best
        for viewer, seen in enumerate(_seen(game, worlds[0], action, worlds[1])):
            if seen != NOTHING:
                try:
                    trackers[viewer].observe(int(seen))
                except BeliefLost:
                    return None
        worlds[0] = worlds[1]
    seat = int(player(game, worlds[0]))
    if seat == TERMINAL:
        return None
    held = trackers[seat].worlds()
    return Met(seat, np.unique(held.rows[:, :words], axis=0), actions) if held.exact else None


@kernel
def _seen(game, before, action, after):
    """Play an action; what the seats observe."""
    transition(game, before, action, after)
    return observe(game, before, action, after, 0), observe(game, before, action, after, 1)


# Side by side ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """One position searched in several ways: seconds, values of the root moves, and reports."""

    worlds: int
    moves: int
    seconds: dict[str, float]
    values: dict[str, list[float]]
    reports: dict[str, Report]

    def speed_up(self, way: str) -> float:
        return self.seconds["baseline"] / self.seconds[way]

    def differences(self, way: str) -> np.ndarray:
        """By how much the root moves' values are off."""
        return np.abs(np.array(self.values[way]) - self.values["baseline"])


def compare(
    game: Game, seat: int, rows: np.ndarray, depth: int, moves: int, leaf: Any, ways: dict[str, dict[str, Any]]
) -> Compared:
    """Search a position in all ways, in turns, and keep the best time of each."""
    seconds = dict.fromkeys(ways, np.inf)
    values, reports, actions = {}, {}, []
    for _ in range(_ROUNDS):
        for way, options in ways.items():
            search = SetSearch(game, seat, turns=depth, leaf=leaf, **options)
            actions = search.actions(rows)[: moves or None]
            begun = time.perf_counter()
            found = search.valuations(rows, actions=actions)
            seconds[way] = min(seconds[way], time.perf_counter() - begun)
            values[way], reports[way] = found.values, found.report
        if seconds["baseline"] > _SHORT:
            break
    return Compared(len(rows), len(actions), seconds, values, reports)
