"""Common parts of the EPIMC studies: matches of agents against `pimc` at growing budgets, as a table and a picture.

A budget is a ratio of iterations, ours : PIMC's. The paper's budgets are seconds, one of them for PIMC. What a second
buys depends on the code; what a ratio buys does not. A line is one agent over all budgets.

In the full form a match comes in blocks of games, and each block is a cell. The first games of all matches come before
the later ones, and those at the largest ratio, which take most of the time, after the others. So a study that is
stopped early has wider intervals, and no gaps. What is stored of a match is one result, with its spans of games.
"""

import math
import re
from collections.abc import Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

from foglight.arena.intervals import wilson
from foglight.arena.match import play_match
from foglight.arena.report import win_rate_axes
from foglight.pictures import panels, save
from foglight.studies._claims import Estimate
from foglight.studies._tables import Results
from foglight.text import markdown

CARD_GAME, BATTLESHIP = "card_game", "battleship"
DARK_CHESS = "dark_chess(size=4,repetition=ignore)"
PHANTOM_TTT = "phantom_ttt"
DARK_HEX, SMALL_HEX = "dark_hex(rows=4,cols=4)", "dark_hex(rows=3,cols=3)"
QUICK_BASE = {PHANTOM_TTT: 2000}  # iterations of PIMC in the quick form; 200 in other games
FULL_BASE = 2000  # iterations of PIMC in the full form
PUBLISHED_GAMES = 500
LARGEST = 1000  # published ratio, ours : PIMC's
ENOUGH = 60  # games from which on a match counts in a claim: the fewest of a quick form
MARGIN = 0.1  # win rates that differ by no more than this count as equal
BLOCKS = {100: 20, LARGEST: 10}  # games in a block by ratio, so that seats change evenly; 50 at smaller ratios

Cells = dict[str, dict[str, Any]]  # the arguments of `meet` by the cell's name


def cells_of(
    games: Mapping[str, Sequence[float]], lines: Mapping[str, str], each: int, seed: int, base: int | None = None
) -> Cells:
    """One match for each game, line and ratio.

    `games` has the ratios of each game, `lines` each line's agent without its budget, such as `epimc(depth=1`. A match
    has `each` games. PIMC has `base` iterations, or those of the quick form.
    """
    cells = {}
    for game, ratios in games.items():
        iterations = base or QUICK_BASE.get(game, 200)
        for line, agent in lines.items():
            for ratio in ratios:
                cells[f"{game}, {line}, {ratio_text(ratio)}"] = {
                    "game": game,
                    "line": line,
                    "ratio": ratio,
                    "agent": f"{agent},iterations={round(iterations * ratio)})",
                    "opponent": f"pimc(iterations={iterations})",
                    "games": each,
                    "seed": seed,
                }
    return cells


def published_cells(games: Mapping[str, Sequence[float]], lines: Mapping[str, str], seed: int) -> Cells:
    """The matches of the full form, in blocks."""
    return in_blocks(cells_of(games, lines, PUBLISHED_GAMES, seed, FULL_BASE))


def in_blocks(cells: Cells) -> Cells:
    """The same matches, divided into blocks of games.

    First come the blocks up to the number of games that counts in a claim, then the same at the largest ratio, then the
    others in the same order; each time the first games of all matches before the later ones.
    """
    blocks = []
    for cell, arguments in cells.items():
        size = BLOCKS.get(arguments["ratio"], 50)
        for number, begin in enumerate(range(0, arguments["games"], size)):
            end = min(begin + size, arguments["games"])
            block = {**arguments, "games": end - begin, "seed": 1000 * arguments["seed"] + number}
            stage = 2 * (begin >= ENOUGH) + (arguments["ratio"] == LARGEST)
            blocks.append((stage, begin, f"{cell}, games {begin + 1} to {end}", block))
    return {cell: block for _, _, cell, block in sorted(blocks, key=lambda entry: entry[:2])}


def meet(game: str, line: str, ratio: float, agent: str, opponent: str, games: int, seed: int) -> dict[str, Any]:
    """Play a match; returns its score, and both agents' mean time in ms and overruns."""
    result = play_match(game, [agent, opponent], games, seed)
    times = [timing.summary() if (timing := result.timing(k)) else None for k in (0, 1)]
    return {
        "game": game,
        "line": line,
        "ratio": ratio,
        "agent": agent,
        "opponent": opponent,
        "score": result.score(0),
        "games": games,
        "ms": [time and round(time["mean_ms"], 3) for time in times],
        "overruns": [time and time["overruns"] for time in times],
    }


def ratio_text(ratio: float) -> str:
    return f"1:{1 / ratio:g}" if ratio < 1 else f"{ratio:g}:1"


def table_of(results: Results, published: Mapping[tuple[str, str], str], note: str = "") -> str:
    """A table of win rates with their intervals by ratio, beside the paper's statements about them."""
    ratios = sorted({result["ratio"] for result in results.values()})
    columns = ["game", "agent", *map(ratio_text, ratios), "ms a move", "published"]
    rows = []
    for (game, line), points in grouped(results).items():
        by_ratio = {point["ratio"]: point for point in points}
        rates = [rate_text(by_ratio[ratio]) if ratio in by_ratio else "" for ratio in ratios]
        ms = by_ratio[max(by_ratio)]["ms"][0]
        rows.append([short(game), line, *rates, f"{ms:.3g}", published.get((game, line), "")])
    played = sorted({point["games"] for points in grouped(results).values() for point in points})
    counts = " or ".join(map(str, played)) if len(played) < 3 else f"{played[0]} to {played[-1]}"
    head = f"{counts} games a cell; 95 % intervals; ms a move at the largest budget. {_bases(results)} {note}"
    return markdown(columns, rows, left=(0, 1, len(columns) - 1)) + f"\n{head.rstrip()}\n"


def _bases(results: Results) -> str:
    """The iterations of PIMC, in words."""
    games: dict[str, list[str]] = {}
    for result in results.values():
        iterations = str(result["opponent"]).partition("=")[2].rstrip(")")
        if (title := short(result["game"])) not in games.setdefault(iterations, []):
            games[iterations].append(title)
    if len(games) == 1:
        return f"PIMC has {next(iter(games))} iterations."
    parts = [f"{iterations} iterations in {', '.join(titles)}" for iterations, titles in games.items()]
    return f"PIMC has {'; '.join(parts)}."


def rate_text(point: dict[str, Any]) -> str:
    """A win rate in per cent, with its 95 % confidence interval."""
    low, high = wilson(point["score"], point["games"])
    return f"{point['score'] / point['games']:.0%} ({100 * low:.0f}–{100 * high:.0f})"


def grouped(results: Results) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The results by game and line, by ascending ratio; blocks of one match are one result."""
    matches: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for result in results.values():
        matches.setdefault((result["game"], result["line"], result["ratio"]), []).append(result)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for (game, line, _), blocks in sorted(matches.items(), key=lambda entry: entry[0][2]):
        groups.setdefault((game, line), []).append(_joined(blocks))
    order = list(dict.fromkeys((result["game"], result["line"]) for result in results.values()))
    return {key: groups[key] for key in order}


def _joined(blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result of a match from those of its blocks."""
    games = sum(block["games"] for block in blocks)
    ms = [
        None if None in times else round(sum(map(mul, times, (block["games"] for block in blocks))) / games, 3)
        for times in zip(*(block["ms"] for block in blocks), strict=True)
    ]
    overruns = [
        None if None in counts else sum(counts) for counts in zip(*(block["overruns"] for block in blocks), strict=True)
    ]
    score = sum(block["score"] for block in blocks)
    return {**blocks[0], "score": score, "games": games, "ms": ms, "overruns": overruns}


def kept(results: Results) -> Results:
    """One result for each match, which is what claims need, and the spans of games in it, if it comes in blocks."""
    spans: dict[tuple[Any, ...], list[list[int]]] = {}
    for cell, result in results.items():
        match = result["game"], result["line"], result["ratio"]
        spans.setdefault(match, []).extend(result.get("spans") or [list(span) for span in _span(cell)])
    whole = {}
    for points in grouped(results).values():
        for point in points:
            name = f"{point['game']}, {point['line']}, {ratio_text(point['ratio'])}"
            parts = _merged(spans[point["game"], point["line"], point["ratio"]])
            whole[name] = {**point, "spans": parts} if parts else point
    return whole


def _span(cell: str) -> list[tuple[int, int]]:
    """The first and the last game of a block, by the cell's name; nothing if the cell is a whole match."""
    return [(int(first), int(last)) for first, last in re.findall(r", games (\d+) to (\d+)$", cell)]


def _merged(spans: list[list[int]]) -> list[list[int]]:
    """The same spans of numbers, with neighbours joined."""
    merged: list[list[int]] = []
    for first, last in sorted(spans):
        if merged and merged[-1][1] == first - 1:
            merged[-1] = [merged[-1][0], last]
        else:
            merged.append([first, last])
    return merged


def covered(name: str, result: dict[str, Any], cells: Cells) -> set[str]:
    """The blocks that a stored result of a match, with this name, is of."""
    agents = "agent", "opponent"
    return {
        cell
        for cell, arguments in cells.items()
        if cell.startswith(f"{name}, games ")
        and all(result.get(key) == arguments[key] for key in agents)
        and any(low <= first and last <= high for first, last in _span(cell) for low, high in result.get("spans", []))
    }


def matching(results: Results, cells: Cells) -> Results:
    """Stored results of another study that are of matches of this one: same game, agents and ratio, another line."""
    same = "game", "agent", "opponent", "ratio"
    theirs = {tuple(map(result.get, same)): result for result in results.values() if "spans" in result}
    ours = {}
    for cell, arguments in cells.items():
        if (result := theirs.get(tuple(map(arguments.get, same)))) is not None:
            ours[cell.rpartition(", games ")[0]] = {**result, "line": arguments["line"]}
    return ours


def enough(cells: Cells, results: Results) -> bool:
    """Whether every match that is not at the largest ratio has enough games for a claim."""
    played = {name: point["games"] for name, point in kept(results).items()}
    names = {cell.rpartition(", games ")[0] for cell, one in cells.items() if one["ratio"] < LARGEST}
    return all(played.get(name, 0) >= ENOUGH for name in names)


class Lead(NamedTuple):
    """How far one agent's win rate is above another's, at one ratio; 95 % intervals by [Newcombe1998], method 10."""

    game: str
    line: str
    other: str
    ratio: float
    rates: tuple[Estimate, Estimate]
    points: Estimate  # the difference, from -1 to 1

    def text(self) -> str:
        ours, theirs = (f"{line} {100 * rate.value:.0f} %" for line, rate in zip(self[1:3], self.rates, strict=True))
        low, high = 100 * self.points.low, 100 * self.points.high
        return (
            f"{short(self.game)}: {ours}, {theirs} (difference {low:+.0f} to {high:+.0f}) at {ratio_text(self.ratio)}"
        )

    def comparable(self) -> bool | None:
        """Whether the agent is as good as the other or better: not MARGIN behind. Fails if it is behind for certain."""
        return True if self.points.low > -MARGIN else False if self.points.high < 0 else None

    def no_gain(self) -> bool | None:
        """Whether the agent is not better than the other by MARGIN. Fails if it is ahead for certain."""
        return True if self.points.high < MARGIN else False if self.points.low > 0 else None

    def equal(self) -> bool | None:
        """Whether neither is better than the other by MARGIN."""
        return self.points.near(0, MARGIN)


def rate_of(results: Results, game: str, line: str, ratio: float) -> Estimate | None:
    """The win rate of a line at a ratio, if it has enough games."""
    for point in grouped(results).get((game, line), []):
        if point["ratio"] == ratio and point["games"] >= ENOUGH:
            return Estimate(point["score"] / point["games"], *wilson(point["score"], point["games"]))
    return None


def lead(results: Results, game: str, line: str, other: str, at: float | None = None) -> Lead | None:
    """The lead of a line over another, at the largest ratio at which both have enough games, or at a certain one."""
    ratios = sorted({point["ratio"] for point in grouped(results).get((game, line), [])}, reverse=True)
    for ratio in ratios if at is None else [at]:
        ours, theirs = (rate_of(results, game, which, ratio) for which in (line, other))
        if ours is not None and theirs is not None:
            value = ours.value - theirs.value
            low = value - math.hypot(ours.value - ours.low, theirs.high - theirs.value)
            high = value + math.hypot(ours.high - ours.value, theirs.value - theirs.low)
            return Lead(game, line, other, ratio, (ours, theirs), Estimate(value, low, high))
    return None


def leads(results: Results, games: Sequence[str], line: str, other: str, at: float | None = None) -> list[Lead]:
    """The leads of a line over another in several games, as far as they were played."""
    several = (lead(results, game, line, other, at) for game in games)
    return [one for one in several if one is not None]


def said(several: Sequence[Lead]) -> str:
    """Leads as text."""
    return "; ".join(one.text() for one in several) or "no match has enough games yet"


def short(game: str) -> str:
    """The title of a game: its name, and its size where several sizes occur."""
    sizes = {DARK_CHESS: "4×4", DARK_HEX: "4×4", SMALL_HEX: "3×3"}
    return f"{game.partition('(')[0]} {sizes.get(game, '')}".strip()


def draw_panels(results: Results, path: Path, xlabel: str = "budget, ours : PIMC's") -> None:
    """Draw the win rate over the budget, one panel per game."""
    groups = grouped(results)
    games = list(dict.fromkeys(game for game, _ in groups))
    columns = min(3, len(games))
    figure, parts = panels(len(games), 4.6 * columns, 3.6 * -(-len(games) // columns), columns)
    for axes, game in zip(parts, games, strict=True):
        series = {
            line: [(point["ratio"], point["score"], point["games"]) for point in points]
            for (which, line), points in groups.items()
            if which == game
        }
        win_rate_axes(axes, series, title=short(game), xlabel=xlabel)
        ratios = sorted({ratio for points in series.values() for ratio, _, _ in points})
        axes.set_xticks(ratios, map(ratio_text, ratios))
        axes.minorticks_off()
        if axes is not parts[0]:
            axes.get_legend().remove()
    save(figure, path)
