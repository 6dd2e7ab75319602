"""Search over sets of worlds with and without its cache, in Reconnaissance Blind Chess [Bernardoni2019, Section 8].

The paper gives values to white's moves on the first turn at depth 3. We read this as white's turn, black's, and one
more of white's; white's first sense tells nothing, so the moves are at the root. The bench does the same at positions
of play. All root moves get values, not bounds. Times are the best of several, taken in turns with the other ways.
`as published` is the cache without our addition, the parts of sets (`foglight/search/sets/bound_cache.py`).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from foglight.bench.figures import Figure
from foglight.bench.set_comparison import WAYS, Compared, compare, first_turn, positions
from foglight.blind_chess.leaves import Centipawns
from foglight.games import load_game
from foglight.names import BadInput
from foglight.search.sets.search import SetSearch
from foglight.search.sets.sketches import jaccard, signature

GAME = "rbc"
DEPTH = 3  # turns
AFTER, MOST = range(5, 40, 2), 300  # actions before a position, the last one a sense; most worlds per position
SPEED_UP, SECONDS, MEAN, WORST = 2.87, 600, 100, 300  # the bars: ratio, seconds, and errors in centipawns


def tasks(depth: int, moves: int, n: int, seed: int) -> list[tuple[str, Callable[[], list[Figure]]]]:
    """The tasks, each with its title; `n` positions of play; `moves` limits the root moves, 0: all."""
    if not 1 <= depth <= 9:
        raise BadInput(f"depth must be from 1 to 9 turns, not {depth}")
    if moves < 0 or n < 0:
        raise BadInput("moves and positions must not be negative")
    result: list[tuple[str, Callable[[], list[Figure]]]] = [
        (f"white's first turn, depth {depth}", partial(_first_turn, depth, moves))
    ]
    if n:
        result.append((f"{n} positions of play, depth {depth}", partial(_positions, depth, moves, n, seed)))
    result.append(("estimates from signatures", partial(_estimates, seed)))
    return result


def _first_turn(depth: int, moves: int) -> list[Figure]:
    game = load_game(GAME)
    rows, leaf = first_turn(game).rows, Centipawns()
    compare(game, 1, rows, 1, 1, leaf, WAYS)  # compiles
    compared = compare(game, 1, rows, depth, moves, leaf, WAYS)
    shallow = min(depth, DEPTH)  # every bound is checked by a search of its own
    checked = SetSearch(game, 1, turns=shallow, leaf=leaf, check=True)
    report = checked.valuations(rows, actions=checked.actions(rows)[: moves or None]).report
    figures = [
        Figure(f"baseline, {compared.moves} moves", compared.seconds["baseline"], " s"),
        Figure("accelerated", compared.seconds["accelerated"], " s", at_most=SECONDS),
        Figure("exact", compared.seconds["exact"], " s"),
        Figure("as published", compared.seconds["as published"], " s"),
    ]
    figures += [Figure(f"speed-up, {way}", compared.speed_up(way), "×", at_least=_bar(way)) for way in list(WAYS)[1:]]
    leaves = {way: compared.reports[way].leaves for way in WAYS}
    figures += [Figure(f"worlds evaluated, {way}", number, "") for way, number in leaves.items()]
    figures += _differences([compared])
    figures.append(Figure(f"bounds used, accelerated, depth {shallow}", report.used, ""))
    figures.append(Figure("of them wrong", report.wrong, ""))
    return figures


def _positions(depth: int, moves: int, n: int, seed: int) -> list[Figure]:
    game, leaf = load_game(GAME), Centipawns()
    several = positions(game, n, seed, leaf=leaf, after=AFTER, most=MOST)
    compared = [compare(game, one.seat, one.rows, depth, moves, leaf, WAYS) for one in several]
    sizes = [one.worlds for one in compared]
    figures = [Figure("worlds of a position, median", float(np.median(sizes)), "")]
    for way in list(WAYS)[1:]:
        ups = np.array([one.speed_up(way) for one in compared])
        figures.append(Figure(f"speed-up, {way}, median", float(np.median(ups)), "×", at_least=_bar(way)))
        figures.append(Figure(f"speed-up, {way}, least", float(ups.min()), "×"))
        total = sum(one.seconds["baseline"] for one in compared) / sum(one.seconds[way] for one in compared)
        figures.append(Figure(f"speed-up, {way}, all positions together", total, "×"))
    return figures + _differences(compared)


def _bar(way: str) -> float | None:
    return None if way == "as published" else SPEED_UP


def _differences(compared: list[Compared]) -> list[Figure]:
    off = np.concatenate([one.differences("accelerated") for one in compared])
    other = sum(int((one.differences("exact") > 0).sum()) for one in compared)
    return [
        Figure("values off, accelerated, mean", float(off.mean()), " cp", at_most=MEAN),
        Figure("values off, accelerated, most", float(off.max()), " cp", at_most=WORST),
        Figure("values that differ, exact", other, "", at_most=0),
    ]


def _estimates(seed: int) -> list[Figure]:
    """The errors of estimates of J, the Jaccard index, for random pairs of sets."""
    rng, figures = np.random.default_rng(seed), []
    for k in (16, 32, 64, 256):
        errors = []
        for _ in range(300):
            n, m = rng.integers(300, 3000, 2)
            both = int(rng.integers(0, min(n, m) + 1))
            drawn = rng.integers(0, 2**64, n + m - both, dtype=np.uint64)
            one, other = drawn[:n], drawn[n - both :]
            errors.append(jaccard(signature(one, k), n, signature(other, k), m, k) - both / (n + m - both))
        figures.append(Figure(f"error of J, k = {k}, root mean square", float(np.sqrt(np.mean(np.square(errors)))), ""))
    return figures
