"""Search over sets of worlds, with and without a cache of sketches: the table of [Bernardoni2019], on many positions.

The paper has one data point: white's first turn in Reconnaissance Blind Chess at depth 3, 55.7 hours without the cache
and 19.4 with it, by a chess engine; values differ by less than 100 centipawns on average and never by more than 300.
Our values come from a static evaluation in compiled code, so time measures the cost of searching, and the number of
worlds evaluated measures what an engine would cost. `as published` is the paper's cache, with its algebra and the
direction of its bounds corrected. `accelerated` and `exact` also keep the parts of sets that make them bad
(`search/sets/bound_cache.py`).
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foglight.bench.set_comparison import WAYS, Position, compare, first_turn, positions
from foglight.blind_chess.leaves import Centipawns
from foglight.games import load_game
from foglight.pictures import panels, save
from foglight.rules import Game
from foglight.search.sets.leaves import Even
from foglight.search.sets.search import SetSearch
from foglight.studies._claims import CLOSE, Claim, claim, finding, median_of
from foglight.studies._tables import Results
from foglight.text import markdown

RBC, DARK_CHESS, PHANTOM_TTT = "rbc", "dark_chess(size=4,repetition=ignore)", "phantom_ttt"
LEAVES = {RBC: Centipawns(), DARK_CHESS: Centipawns(4), PHANTOM_TTT: Even()}
AFTER = {RBC: range(5, 40, 2), DARK_CHESS: range(4, 20), PHANTOM_TTT: range(2, 5)}  # actions before a position
MOST = 300  # worlds per position
CACHED = list(WAYS)[1:]
PUBLISHED_SPEEDUP = 55.7 / 19.4
THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0)


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for depth, moves in ((1, 0), (2, 0), (3, 0), (4, 0), (5, 3 if quick else 0)):
        result[f"first turn, depth {depth}"] = {"game": RBC, "depth": depth, "moves": moves}
    for i in range(20 if quick else 60):
        result[f"rbc, depth 3, position {i}"] = {"game": RBC, "depth": 3, "seed": 1000 * seed + i}
    for game, depths in ((DARK_CHESS, (5, 7, 9)), (PHANTOM_TTT, (3, 5, 7, 9))):
        for depth in depths:
            for i in range(5 if quick else 20):
                name = f"{game.partition('(')[0]}, depth {depth}, position {i}"
                result[name] = {"game": game, "depth": depth, "seed": 1000 * seed + i}
    for threshold in THRESHOLDS:
        for i in range(8 if quick else 40):
            result[f"threshold {threshold}, position {i}"] = {
                "game": RBC, "depth": 3, "seed": 1000 * seed + i, "threshold": threshold,
            }  # fmt: skip
    result["by moves"] = {"game": RBC, "depth": 4, "by_moves": True}
    return result


def work(
    game: str,
    depth: int,
    seed: int | None = None,
    moves: int = 0,
    threshold: float | None = None,
    by_moves: bool = False,
) -> dict[str, Any]:
    """Search one position in several ways; without a seed, white's first turn."""
    rules, leaf = load_game(game), LEAVES[game]
    position = first_turn(rules) if seed is None else _position(game, seed)
    ways = WAYS
    if threshold is not None:
        both = {"as published": {"parts": False}, "accelerated": {}}
        ways = {"baseline": WAYS["baseline"]} | {way: {"threshold": threshold, **more} for way, more in both.items()}
    compare(rules, position.seat, position.rows, 1, 1, leaf, ways)  # compiles
    if by_moves:
        return _by_moves(rules, position, depth, leaf)
    result = compare(rules, position.seat, position.rows, depth, moves, leaf, ways)
    return {
        "game": game,
        "depth": depth,
        "threshold": threshold,
        "worlds": result.worlds,
        "moves": result.moves,
        "seconds": result.seconds,
        "leaves": {way: report.leaves for way, report in result.reports.items()},
        "used": {way: report.used for way, report in result.reports.items()},
        "off": {way: [float(off) for off in result.differences(way)] for way in ways},
    }


@functools.cache
def _position(game: str, seed: int) -> Position:
    return positions(load_game(game), 1, seed, leaf=LEAVES[game], after=AFTER[game], most=MOST)[0]


def _by_moves(game: Game, position: Position, depth: int, leaf: Any) -> dict[str, Any]:
    """By way, the seconds from the start until each root move had its value."""
    seconds: dict[str, list[float]] = {}
    for way, options in WAYS.items():
        search = SetSearch(game, position.seat, turns=depth, leaf=leaf, **options)
        seconds[way] = []
        for action in search.actions(position.rows):
            search.valuations(position.rows, actions=[action])
            seconds[way].append(search.report.seconds)
    return {"seconds": seconds}


# As a table -----------------------------------------------------------------------------------------------------


def table(results: Results) -> str:
    return "\n".join([_first_turns(results), _many(results), _thresholds(results), _moves(results)])


def _first_turns(results: Results) -> str:
    columns = ["depth", "moves", "baseline", *CACHED, "worlds evaluated: baseline", *CACHED, "most off"]
    rows = []
    for result in _of(results, "first turn"):
        seconds, leaves = result["seconds"], result["leaves"]
        times = [f"{_time(seconds[way])} ({_times(seconds['baseline'] / seconds[way])})" for way in CACHED]
        counts = [f"{leaves[way]:,}" for way in WAYS]
        off = max(max(result["off"][way]) for way in CACHED)
        rows.append([result["depth"], result["moves"], _time(seconds["baseline"]), *times, *counts, f"{off:g}"])
    title = "White's first turn in Reconnaissance Blind Chess. Published, at depth 3: 55.7 h, 19.4 h, 2.87×."
    return f"{title}\n\n{markdown(columns, rows, left=())}"


def _many(results: Results) -> str:
    rows = []
    for (game, depth), group in _grouped(results).items():
        for way in CACHED:
            worlds = f"{np.median([result['worlds'] for result in group]):.0f}"
            rows.append([game.partition("(")[0], depth, len(group), worlds, way, *_speed_and_error(group, way)])
    title = "Positions of play: median speed-up (95 % interval of the median), of time and of worlds evaluated."
    return f"{title}\n\n{markdown(['game', 'depth', 'positions', 'worlds', 'way', *_MEASURED], rows, left=(0, 4))}"


_MEASURED = ("time", "worlds evaluated", "mean off", "most off", "values the same")


def _speed_and_error(group: list[dict[str, Any]], way: str) -> list[str]:
    """Median speed-ups in time and in worlds evaluated, and the errors of values: mean, largest, share without one."""
    off = np.concatenate([result["off"][way] for result in group])
    ups = [_interval([_ratio(result, what, way) for result in group]) for what in ("seconds", "leaves")]
    return [*ups, f"{off.mean():.3g}", f"{off.max():g}", f"{np.mean(off == 0):.1%}"]


def _thresholds(results: Results) -> str:
    rows = []
    for threshold in THRESHOLDS:
        group = [result for result in _of(results, "threshold") if result["threshold"] == threshold]
        rows += [[threshold, way, *_speed_and_error(group, way)] for way in CACHED[:2]]
    title = "The threshold, rbc at depth 3: median speed-up, and how far values of root moves are off, in centipawns."
    return f"{title}\n\n{markdown(['threshold', 'way', *_MEASURED], rows, left=(1,))}"


def _moves(results: Results) -> str:
    seconds = results["by moves"]["seconds"]
    n = len(seconds["baseline"])
    shown = [i for i in (1, 2, 5, 10, 20, n) if i <= n]
    rows = [[way, *(_times(seconds["baseline"][i - 1] / seconds[way][i - 1]) for i in shown)] for way in CACHED]
    title = "Speed-up after so many root moves, white's first turn at depth 4."
    return f"{title}\n\n{markdown(['way', *map(str, shown)], rows)}"


def _of(results: Results, kind: str) -> list[dict[str, Any]]:
    return [result for name, result in results.items() if name.startswith(kind)]


def _grouped(results: Results) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Positions of play by game and depth."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for name, result in results.items():
        if ", position " in name and not name.startswith("threshold"):
            groups.setdefault((result["game"], result["depth"]), []).append(result)
    return groups


def _ratio(result: dict[str, Any], what: str, way: str) -> float:
    return float(result[what]["baseline"] / max(result[what][way], 1e-9))


def _interval(values: Sequence[float]) -> str:
    """The median, and its 95 % confidence interval by order statistics."""
    median = median_of(values)
    return f"{median.value:.3g}× ({median.low:.3g}–{median.high:.3g})"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


# As claims ------------------------------------------------------------------------------------------------------


def kept(results: Results) -> Results:
    """White's first turn, and what the positions of blind chess took."""
    few = {name: result for name, result in results.items() if name.startswith("first turn")}
    for name, result in results.items():
        if name.startswith("rbc, "):
            few[name] = {**result, "off": {way: [max(off)] for way, off in result["off"].items()}, "used": {}}
    return few


def claims(results: Results) -> list[Claim]:
    turn = results["first turn, depth 3"]
    paper, ours = CACHED[:2]
    ups = {way: _ratio(turn, "seconds", way) for way in CACHED}
    fewer = {way: _ratio(turn, "leaves", way) for way in CACHED}
    off = turn["off"][paper]
    play = _grouped(results)[RBC, 3]
    median = {way: median_of([_ratio(one, "seconds", way) for one in play]) for way in (paper, ours)}
    return [
        claim(
            "Table",
            "The cache makes the search of white's first turn at depth 3 2.87 times as fast.",
            "2.87× (55.7 h, 19.4 h)",
            f"the paper's cache {ups[paper]:.1f}× ({_time(turn['seconds']['baseline'])}, "
            f"{_time(turn['seconds'][paper])}), {fewer[paper]:.1f}× fewer worlds evaluated",
            [ups[paper] > PUBLISHED_SPEEDUP / (1 + CLOSE)],
            "With the algebra and the direction of bounds corrected, and a static evaluation instead of an engine.",
            "A static evaluation costs as little as looking up, so the time saved is less than with an engine.",
        ),
        claim(
            "Table",
            "Values differ by less than 100 centipawns on average and by no more than 300.",
            "< 100; ≤ 300 cp",
            f"mean {np.mean(off):.3g}, most {max(off):g} cp",
            [bool(np.mean(off) < 100), max(off) <= 300],
            "The paper's engine was itself noisy by 200 to 300 centipawns; ours is not.",
        ),
        *_wrong_formulas(),
        finding(
            "Does the paper's cache speed up positions of play, and does ours?",
            f"median over {len(play)} positions of blind chess at depth 3: the paper's {median[paper].text(2, '×')}, "
            f"ours {median[ours].text(1, '×')}",
            "Ours also keeps the parts of sets that make them bad.",
        ),
    ]


def _wrong_formulas() -> list[Claim]:
    """Two formulas of the paper, by sets that can be counted on one's fingers."""
    left, right = {1, 2}, {2, 3}
    jaccard = len(left & right) / len(left | right)
    sizes = len(left) + len(right)
    printed, derived = jaccard * sizes / (1 - jaccard), jaccard * sizes / (1 + jaccard)
    worst, whole, part = min, {1, 2, 3}, {2, 3}  # worlds that are worth their number
    promised = 1 - (len(part) - len(part & whole)) / len(part)
    return [
        claim(
            "Section 5.2",
            "The size of an intersection follows from J, the Jaccard index: |A∩B| = J(|A|+|B|)/(1−J).",
            "1−J",
            f"{{1, 2}} and {{2, 3}} share {len(left & right)} member; 1−J gives {printed:g}, 1+J gives {derived:g}",
            [abs(printed - len(left & right)) < 1e-9],
            "It follows from |A∪B| = |A|+|B|−|A∩B|.",
            "From |A∪B| = |A|+|B|−|A∩B| follows 1+J.",
            "Section 5.2, |A∩B| = J(|A|+|B|)/(1−J). It has to be 1+J: {1, 2} and {2, 3} have J = 1/3 and share 1 "
            f"member, and the printed formula gives {printed:g}. That is arithmetic.",
        ),
        claim(
            "Section 6",
            "A set q is a lower bound of X with a probability of at least |q∩X|/|q|, an upper bound with |q∩X|/|X|.",
            "|q∩X|/|q| for lower bounds",
            f"q = {{2, 3}} within X = {{1, 2, 3}}: a lower bound with probability {promised:g}, yet its least value is "
            f"{worst(part)}, above {worst(whole)}",
            [promised < 1 or worst(part) <= worst(whole)],
            "The value of a set is that of its worst world.",
            "The value of a set is that of its worst world, so a subset bounds from above.",
            "Section 6, the probabilities that q is a lower or an upper bound of X are exchanged. By the paper's own "
            "inequality, X ⊆ Y implies v(X) ≥ v(Y), so a subset q of X bounds X from above, and the printed formula "
            "calls it a lower bound for certain. That is logic.",
        ),
    ]


# As a picture ---------------------------------------------------------------------------------------------------


def draw(results: Results, path: Path) -> None:
    figure, (turns, play, thresholds, moves) = panels(4, 11, 7, columns=2)
    first = _of(results, "first turn")
    for way in CACHED:
        turns.semilogy([one["depth"] for one in first], [_ratio(one, "seconds", way) for one in first], "o-", label=way)
    turns.set(
        title="white's first turn", xlabel="depth in turns", ylabel="speed-up", xticks=[o["depth"] for o in first]
    )
    turns.legend()
    group = _grouped(results)[RBC, 3]
    for way in CACHED:
        play.loglog([one["worlds"] for one in group], [_ratio(one, "seconds", way) for one in group], "o", label=way)
    play.axhline(1, color="grey", linewidth=0.8)
    play.set(title="positions of play, depth 3", xlabel="worlds held possible", ylabel="speed-up")
    for way in CACHED[:2]:
        points = []
        for threshold in THRESHOLDS:
            some = [one for one in _of(results, "threshold") if one["threshold"] == threshold]
            off = np.concatenate([one["off"][way] for one in some]).mean()
            points.append((off, np.median([_ratio(one, "leaves", way) for one in some]), threshold))
        thresholds.plot([off for off, _, _ in points], [ratio for _, ratio, _ in points], "o-", label=way)
        for off, ratio, threshold in points:
            thresholds.annotate(f"{threshold:g}", (off, ratio), textcoords="offset points", xytext=(4, 4), fontsize=8)
    thresholds.set(
        title="the threshold, depth 3", xlabel="mean error, centipawns", ylabel="fewer worlds evaluated, times"
    )
    thresholds.set_yscale("log")
    thresholds.legend()
    seconds = results["by moves"]["seconds"]
    for way in CACHED:
        ratios = np.array(seconds["baseline"]) / np.array(seconds[way])
        moves.plot(range(1, len(ratios) + 1), ratios, label=way)
    moves.set(title="white's first turn, depth 4", xlabel="root moves valued", ylabel="speed-up so far")
    save(figure, path)
