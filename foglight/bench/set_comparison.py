"""Comparing ways to search sets of worlds, and positions of play to compare them on.

Positions come from games in which each seat tracks its own belief. Half of the decisions are random; the others are the
best action of a one-turn search in a few of the worlds that the seat believes possible.
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

_FEW, _CAP = 20, 3000  # most worlds that a seat searches, and that it tracks
_ROUNDS, _SHORT = 5, 2.0  # rounds of timing; only one if the baseline takes longer than this many seconds


WAYS: dict[str, dict[str, Any]] = {  # options of SetSearch; `as published` is without our addition, parts of sets
    "baseline": {"mode": "baseline"},
    "as published": {"mode": "accelerated", "parts": False},
    "accelerated": {"mode": "accelerated"},
    "exact": {"mode": "exact"},
}


class Position(NamedTuple):
    """A position of play as its mover sees it."""

    seat: int  # whose turn it is
    rows: np.ndarray  # uint64[n, words]: the worlds that the seat believes possible
    after: int  # actions played before


def first_turn(game: Game) -> Position:
    """White's first turn in blind chess, after white has sensed nothing."""
    rows = np.zeros((1, int(num_words(game))), np.uint64)
    begin(game, rows[0])
    step(game, rows[0], NO_SENSE)
    return Position(1, rows, 1)


def positions(game: Game, n: int, seed: int, *, leaf: Any, after: Sequence[int], most: int) -> list[Position]:
    """n positions from different games, after one of the numbers of actions `after`, with at most `most` worlds."""
    rng = random.Random(seed)
    result: list[Position] = []
    while len(result) < n:
        position = _play(game, rng.choice(after), rng, leaf)
        if position is not None and len(position.rows) <= most:
            result.append(position)
    return result


def _play(game: Game, actions: int, rng: random.Random, leaf: Any) -> Position | None:
    """The position after this many actions; None if the game is over before, or the mover's belief is not exact."""
    words = int(num_words(game))
    worlds = new_worlds(game, 2)
    begin(game, worlds[0])
    trackers = [Tracker(game, seat, positions=True, cap=_CAP) for seat in range(2)]
    searches = [SetSearch(game, seat, turns=1, mode="baseline", leaf=leaf) for seat in range(2)]
    for _ in range(actions):
        seat = int(player(game, worlds[0]))
        if seat == TERMINAL:
            return None
        rows = trackers[seat].worlds().rows[:, :words]
        action = rng.choice(searches[seat].actions(rows))
        if rng.random() < 0.5:
            some = rows[rng.sample(range(len(rows)), min(_FEW, len(rows)))]
            action = searches[seat].valuations(some, only_best=True).best
        for viewer, observation in enumerate(_seen(game, worlds[0], action, worlds[1])):
            if observation != NOTHING:
                try:
                    trackers[viewer].observe(int(observation))
                except BeliefLost:
                    return None
        worlds[0] = worlds[1]
    seat = int(player(game, worlds[0]))
    if seat == TERMINAL:
        return None
    belief = trackers[seat].worlds()
    return Position(seat, np.unique(belief.rows[:, :words], axis=0), actions) if belief.exact else None


@kernel
def _seen(game, before, action, after):
    """Play an action; returns the observations of both seats."""
    transition(game, before, action, after)
    return observe(game, before, action, after, 0), observe(game, before, action, after, 1)


# Side by side ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """One position searched in several ways: by way, the seconds, the values of the root moves, and the report."""

    worlds: int  # of the position
    moves: int  # root moves that were searched
    seconds: dict[str, float]
    values: dict[str, list[float]]
    reports: dict[str, Report]

    def speed_up(self, way: str) -> float:
        return self.seconds["baseline"] / self.seconds[way]

    def differences(self, way: str) -> np.ndarray:
        """The absolute errors of the root moves' values, compared with the baseline's."""
        return np.abs(np.array(self.values[way]) - self.values["baseline"])


def compare(
    game: Game, seat: int, rows: np.ndarray, depth: int, moves: int, leaf: Any, ways: dict[str, dict[str, Any]]
) -> Compared:
    """Search a position in all ways, in turns, and keep the best time of each; `moves` at the root, 0: all."""
    seconds = dict.fromkeys(ways, np.inf)
    values, reports, actions = {}, {}, []
    for _ in range(_ROUNDS):
        for way, options in ways.items():
            search = SetSearch(game, seat, turns=depth, leaf=leaf, **options)
            actions = search.actions(rows)[: moves or None]
            begun = time.perf_counter()
            valuation = search.valuations(rows, actions=actions)
            seconds[way] = min(seconds[way], time.perf_counter() - begun)
            values[way], reports[way] = valuation.values, valuation.report
        if seconds["baseline"] > _SHORT:
            break
    return Compared(len(rows), len(actions), seconds, values, reports)
