"""Beliefs tracked move by move: transitions tried per second, time per observation, and the sizes of the sets.

Games are random, and every seat of every game is tracked. There is no peer, since OpenSpiel tracks no beliefs.
`plot` draws the picture in `docs/results/beliefs.md`.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from foglight.bench.figures import Row
from foglight.pictures import panels, save
from foglight.rules import TERMINAL, num_players
from foglight.state import new_state
from foglight.worlds.tracker import Tracker

CASES = (  # a game, and whether worlds that differ only in the observations of others are merged
    ("phantom_ttt", False),
    ("phantom_ttt", True),
    ("dark_hex(rows=4,cols=4)", False),
    ("dark_hex(rows=4,cols=4)", True),
    ("dark_chess(size=4,repetition=ignore)", False),
    ("battleship", False),
    ("leduc_poker", False),
    ("goofspiel(cards=5)", False),
    ("goofspiel(cards=13)", False),
    ("goofspiel(cards=13)", True),
)


@dataclass(frozen=True)
class Tracked(Row):
    """The beliefs of one game, over random games and all seats."""

    game: str
    positions: bool  # as in CASES
    children: float  # transitions tried per second
    milliseconds: float  # mean per observation
    slowest: float  # most milliseconds for an observation
    largest: int  # most worlds in a set
    exact: float  # the share of observations after which the set was exact


def tasks(games: int = 20, cap: int = 100_000, seed: int = 0) -> list[Callable[[], list[Tracked]]]:
    """The tasks, each over `games` random games; `cap` is the most worlds of a tracker."""
    return [partial(_tracked, game, positions, games, cap, seed) for game, positions in CASES]


def _tracked(game: str, positions: bool, games: int, cap: int, seed: int) -> list[Tracked]:
    rng = random.Random(seed)
    played = [_observations(game, rng) for _ in range(games)]
    _follow(game, 0, played[0][0], cap, positions)  # compiles, and warms the caches
    times, sizes, exact, tried = [], [], [], 0
    for observations in played:
        for seat, codes in enumerate(observations):
            seconds, tracker_sizes, tracker_exact, tracker = _follow(game, seat, codes, cap, positions)
            times += seconds
            sizes += tracker_sizes
            exact += tracker_exact
            tried += tracker.tried
    mean, slowest = 1000 * sum(times) / len(times), 1000 * max(times)
    share = sum(exact) / len(exact)
    return [Tracked(game, positions, tried / sum(times), mean, slowest, max(sizes), share)]


def sizes(game: str, positions: bool = False, games: int = 100, cap: int = 100_000, seed: int = 0) -> dict[int, Any]:
    """By number of observations, the sizes of the sets of all seats in random games."""
    rng = random.Random(seed)
    by_time: dict[int, list[int]] = {}
    for _ in range(games):
        for seat, codes in enumerate(_observations(game, rng)):
            for t, size in enumerate(_follow(game, seat, codes, cap, positions)[1]):
                by_time.setdefault(t + 1, []).append(size)
    return dict(sorted(by_time.items()))


def plot(path: Path, games: int = 100, cap: int = 100_000) -> None:
    """Draw the median and largest sizes by number of observations, one panel for each game."""
    names = list(dict.fromkeys(game for game, _ in CASES))
    figure, parts = panels(len(names), 14, 6.4, columns=4, sharey=True)
    for axes, game in zip(parts, names, strict=True):
        for positions, colour in ((False, "tab:blue"), (True, "tab:orange")):
            if (game, positions) not in CASES:
                continue
            by_time = {t: s for t, s in sizes(game, positions, games, cap).items() if len(s) >= games // 5}
            what = "positions" if positions else "worlds"
            axes.plot(by_time.keys(), [np.median(s) for s in by_time.values()], color=colour, label=f"{what}, median")
            axes.plot(by_time.keys(), [max(s) for s in by_time.values()], ":", color=colour, label=f"{what}, largest")
        axes.set_title(game, fontsize=9)
        axes.set(yscale="log", ylim=(0.8, 2 * cap), xlabel="observations of the seat")
        axes.axhline(cap, color="grey", linewidth=0.5)
    for axes in parts[::4]:
        axes.set_ylabel("worlds held possible")
    handles, labels = parts[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", bbox_to_anchor=(0.98, 0.12), frameon=False)
    save(figure, path)


def _observations(game: str, rng: random.Random) -> list[list[int]]:
    """Each seat's observations in a game where all actions, those of chance too, are uniformly random."""
    state = new_state(game)
    while state.player != TERMINAL:
        state.play(rng.choice(state.actions()))
    return [state.observations(seat) for seat in range(num_players(state.game))]


def _follow(
    game: str, seat: int, observations: list[int], cap: int, positions: bool
) -> tuple[list[float], list[int], list[bool], Tracker]:
    """Track one game: seconds, size and exactness by observation, and the tracker."""
    tracker = Tracker(game, seat, cap=cap, positions=positions)
    seconds, sizes, exact = [], [], []
    for observation in observations:
        begin = time.perf_counter()
        tracker.observe(observation)
        seconds.append(time.perf_counter() - begin)
        sizes.append(len(tracker))
        exact.append(tracker.exact)
    return seconds, sizes, exact, tracker
