"""How sparse or dense a game's public states are [Solinas2023, Definition 3]: |H_S| as a function of the observations.

A public tree is sparse if every public state S after t public observations has at most p(t) histories, for some
polynomial p. Exactly then all its public states can be enumerated in polynomial time [Solinas2023, Theorem 2]. A single
game has finitely many public states, so its growth is never strictly exponential; what can be measured is how |H_S|
grows with t.

Histories are counted without listing them. Worlds are expanded breadth first, each with its number of histories, and
the numbers are added up by public state. If there are too many worlds, the public states of random games are counted
instead, each by a filter.
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

_EXACT_UP_TO = 2.0**62  # histories up to which int64 counts them
_FEWEST = 4  # points that a fit of the growth needs


@dataclass(frozen=True)
class SizesAt:
    """The public states after t public observations."""

    t: int
    states: int  # public states counted
    largest: int  # histories of the largest of them
    mean: float  # histories per public state


@dataclass(frozen=True)
class PublicStateSizes:
    """How many histories public states have, by the number of public observations."""

    game: str
    exact: bool  # whether these are all public states; else those of random games
    uncounted: int  # public states of random games with too many histories to count
    sizes: list[SizesAt]
    growth: str  # of the largest sizes up to their peak: polynomial, exponential, or early (too few points)
    degree: float  # the slope of log |H_S| over log t
    factor: float  # the factor by which |H_S| grows per observation

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def public_state_sizes(game: str | Game, limit: int = 100_000, games: int = 10, seed: int = 0) -> PublicStateSizes:
    """The number of histories of each public state of a game: of all public states, or of those in some random games.

    All are counted if there are at most `limit` worlds at any depth. Otherwise the public states of `games` random
    games are counted, which are not a fair sample of all.

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
        by_state, uncounted = _sizes_in_random_games(game, limit, games, seed)
    by_t: dict[int, list[int]] = {}
    for t, size in by_state:
        by_t.setdefault(t, []).append(size)
    sizes = [SizesAt(t, len(of_t), max(of_t), float(sum(of_t) / len(of_t))) for t, of_t in sorted(by_t.items())]
    return PublicStateSizes(str(game), exact, uncounted, sizes, *_growth(sizes))


def _all_sizes(game: Game, limit: int) -> list[tuple[int, int]] | None:
    """Public observations and histories of every public state, (t, histories); None if there are too many worlds."""
    rows = new_worlds(game, 1)
    if not isinstance(rows, np.ndarray):
        return None
    begin(game, rows[0])
    counts, times = np.ones(1, np.int64), np.zeros(1, np.int64)
    sizes: dict[tuple[int, int], int] = {}
    while len(rows):
        keys = rows[:, num_words(game)]  # the public key
        for t, public, count in zip(times.tolist(), keys.tolist(), counts.tolist(), strict=True):
            sizes[t, public] = sizes.get((t, public), 0) + count
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
    return [(t, size) for (t, _), size in sizes.items()]


def _sizes_in_random_games(game: Game, limit: int, games: int, seed: int) -> tuple[list[tuple[int, int]], int]:
    """The same for the public states of random games, and how many of them could not be counted."""
    rng = random.Random(seed)
    sizes: dict[tuple[int, ...], int | None] = {}
    for _ in range(games):
        state = new_state(game)
        while state.actions():
            state.play(rng.choice(state.actions()))
        observations = state.observations(PUBLIC)
        for t in range(len(observations) + 1):
            prefix = tuple(observations[:t])
            if prefix not in sizes:
                try:
                    sizes[prefix] = history_filter(game, prefix, limit=limit).count()
                except BadInput:
                    sizes[prefix] = None
    counted = [(len(prefix), size) for prefix, size in sizes.items() if size is not None]
    return counted, len(sizes) - len(counted)


def _growth(sizes: list[SizesAt]) -> tuple[str, float, float]:
    """Whether a power of t or an exponential function of t fits the largest sizes better, and the two slopes.

    Only sizes up to their peak count: after it, further play shrinks them. An early peak, as in games that deal
    everything before anything is observed, leaves too few points to fit.
    """
    peak = max(range(len(sizes)), key=lambda i: sizes[i].largest, default=0)
    rising = [at for at in sizes[: peak + 1] if at.t > 0]
    if len(rising) < _FEWEST:
        return "early", 0.0, 1.0
    t, logs = np.array([at.t for at in rising], float), np.array([math.log(at.largest) for at in rising])
    (degree, by_power), (slope, by_exponent) = _fit(np.log(t), logs), _fit(t, logs)
    return "polynomial" if by_power <= by_exponent else "exponential", degree, math.exp(slope)


def _fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The slope of the least-squares line, and the sum of squared residuals."""
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return slope, float(((y - y.mean() - slope * (x - x.mean())) ** 2).sum())
