"""How sparse or dense a game's public states are [Solinas2023, Definition 3]: |H_S| against the observations made.

A public tree is sparse if every public state S of t public observations has at most p(t) histories, p a polynomial, and
exactly then all its public states can be enumerated in polynomial time [Solinas2023, Theorem 2]. One game has finitely
many public states, so that nothing about it is strictly exponential; what can be seen is how |H_S| grows while t does.

All histories are counted, however they merge: worlds are expanded breadth first, each with its number of histories,
and those of a public state are added up. Where the worlds are too many, the public states of random games are counted,
each by a filter.
"""

import math
import random
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import NOTHING, PUBLIC, Game, begin, new_worlds, num_words
from foglight.state import new_state
from foglight.worlds.expansion import ANYTHING, transitions
from foglight.worlds.filter import history_filter

_EXACT_UP_TO = 2.0**62  # histories that int64 can count
_FEWEST = 4  # numbers of observations that say something about growth


@dataclass(frozen=True)
class SizesAt:
    """The public states after t public observations."""

    t: int
    states: int  # how many were counted
    largest: int  # histories
    mean: float


@dataclass(frozen=True)
class PublicStateSizes:
    """How many histories public states have, by the number of public observations."""

    game: str
    exact: bool  # whether these are all public states; else those that random games went through
    uncounted: int  # public states met whose histories were too many to count
    sizes: list[SizesAt]
    growth: str  # what the largest sizes look like until they peak: polynomial, exponential, or early
    degree: float  # the slope of log |H_S| over log t
    factor: float  # what one more observation multiplies |H_S| by

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def public_state_sizes(game: str | Game, limit: int = 100_000, games: int = 10, seed: int = 0) -> PublicStateSizes:
    """How many histories the public states of a game have: all of them, or those of some random games.

    All are gone through if there are at most `limit` worlds at any depth; otherwise those that `games` random games
    lead to, which are not a fair sample of all public states.

        >>> found = fl.public_state_sizes("kuhn_poker")
        >>> found.exact, max(at.largest for at in found.sizes)  # 3 cards to one seat, and 2 to the other
        (True, 10)
    """
    game = load_game(game)
    if limit < 1 or games < 1:
        raise BadInput(f"limit and games must be at least 1, not {limit} and {games}")
    by_state = _all_sizes(game, limit)
    uncounted = 0
    exact = by_state is not None
    if by_state is None:
        by_state, uncounted = _met_sizes(game, limit, games, seed)
    by_t: dict[int, list[int]] = {}
    for t, size in by_state:
        by_t.setdefault(t, []).append(size)
    sizes = [SizesAt(t, len(found), max(found), float(sum(found) / len(found))) for t, found in sorted(by_t.items())]
    return PublicStateSizes(str(game), exact, uncounted, sizes, *_growth(sizes))


def _all_sizes(game: Game, limit: int) -> list[tuple[int, int]] | None:
    """Observations and histories of every public state; None if there are too many worlds."""
    rows = new_worlds(game, 1)
    if not isinstance(rows, np.ndarray):
        return None
    begin(game, rows[0])
    counts, times = np.ones(1, np.int64), np.zeros(1, np.int64)
    found: dict[tuple[int, int], int] = {}
    while len(rows):
        keys = rows[:, num_words(game)]  # the public's
        for t, public, count in zip(times.tolist(), keys.tolist(), counts.tolist(), strict=True):
            found[t, public] = found.get((t, public), 0) + count
        children, parents, _, _, shown = transitions(game, None, rows, PUBLIC, ANYTHING)
        if len(children) > 16 * limit:
            return None
        rows, first, which = np.unique(children, axis=0, return_index=True, return_inverse=True)
        if len(rows) > limit:
            return None
        if counts.dtype != object and float(counts.astype(float)[parents].sum()) > _EXACT_UP_TO:
            counts = counts.astype(object)
        added = np.zeros(len(rows), counts.dtype)
        np.add.at(added, which.reshape(-1), counts[parents])
        counts, times = added, (times[parents] + (shown != NOTHING))[first]
    return [(t, size) for (t, _), size in found.items()]


def _met_sizes(game: Game, limit: int, games: int, seed: int) -> tuple[list[tuple[int, int]], int]:
    """The same of the public states that random games go through, and how many of them could not be counted."""
    rng = random.Random(seed)
    met: dict[tuple[int, ...], int | None] = {}
    for _ in range(games):
        state = new_state(game)
        while state.actions():
            state.play(rng.choice(state.actions()))
        observed = state.observations(PUBLIC)
        for t in range(len(observed) + 1):
            prefix = tuple(observed[:t])
            if prefix not in met:
                try:
                    met[prefix] = history_filter(game, prefix, limit=limit).count()
                except BadInput:
                    met[prefix] = None
    counted = [(len(prefix), size) for prefix, size in met.items() if size is not None]
    return counted, len(met) - len(counted)


def _growth(sizes: list[SizesAt]) -> tuple[str, float, float]:
    """Whether a power of t or an exponential function of it fits the largest sizes better, and both slopes.

    Sizes are looked at until they peak: what is dealt and played by then only shrinks them. A peak that comes early, as
    where all is dealt before anything is observed, leaves nothing to fit.
    """
    peak = max(range(len(sizes)), key=lambda i: sizes[i].largest, default=0)
    rising = [at for at in sizes[: peak + 1] if at.t > 0]
    if len(rising) < _FEWEST:
        return "early", 0.0, 1.0
    t, logs = np.array([at.t for at in rising], float), np.array([math.log(at.largest) for at in rising])
    (degree, by_power), (slope, by_exponent) = _fit(np.log(t), logs), _fit(t, logs)
    return "polynomial" if by_power <= by_exponent else "exponential", degree, math.exp(slope)


def _fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The slope of the line of least squares, and the squares left."""
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return slope, float(((y - y.mean() - slope * (x - x.mean())) ** 2).sum())
