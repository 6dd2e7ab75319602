"""Common parts of the EPIMC studies: matches of agents against `pimc` at growing budgets, as a table and a picture.

A budget is a ratio of iterations, ours : PIMC's. The paper's budgets are seconds, one of them for PIMC. What a second
buys depends on the code; what a ratio buys does not. A line is one agent over all budgets.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foglight.arena.intervals import wilson
from foglight.arena.match import play_match
from foglight.arena.report import win_rate_axes
from foglight.pictures import panels, save
from foglight.studies._tables import Results
from foglight.text import markdown

CARD_GAME, BATTLESHIP = "card_game", "battleship"
DARK_CHESS = "dark_chess(size=4,repetition=ignore)"
PHANTOM_TTT = "phantom_ttt"
DARK_HEX, SMALL_HEX = "dark_hex(rows=4,cols=4)", "dark_hex(rows=3,cols=3)"
BASE = {PHANTOM_TTT: 2000}  # iterations of PIMC; 200 in other games
PUBLISHED_GAMES = 500


def cells_of(
    games: Mapping[str, Sequence[float]], lines: Mapping[str, str], each: int, seed: int
) -> dict[str, dict[str, Any]]:
    """One match for each game, line and ratio.

    `games` has the ratios of each game, `lines` each line's agent without its budget, such as `epimc(depth=1`. A match
    has `each` games.
    """
    cells = {}
    for game, ratios in games.items():
        base = BASE.get(game, 200)
        for line, agent in lines.items():
            for ratio in ratios:
                cells[f"{game}, {line}, {ratio_text(ratio)}"] = {
                    "game": game,
                    "line": line,
                    "ratio": ratio,
                    "agent": f"{agent},iterations={round(base * ratio)})",
                    "opponent": f"pimc(iterations={base})",
                    "games": each,
                    "seed": seed,
                }
    return cells


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


def table_of(results: Results, published: Mapping[tuple[str, str], str], note: str) -> str:
    """A table of win rates with their intervals by ratio, beside the paper's statements about them."""
    ratios = sorted({result["ratio"] for result in results.values()})
    columns = ["game", "agent", *map(ratio_text, ratios), "ms a move", "published"]
    rows = []
    for (game, line), points in grouped(results).items():
        by_ratio = {point["ratio"]: point for point in points}
        rates = [rate_text(by_ratio[ratio]) if ratio in by_ratio else "" for ratio in ratios]
        ms = by_ratio[max(by_ratio)]["ms"][0]
        rows.append([short(game), line, *rates, f"{ms:.3g}", published.get((game, line), "")])
    played = sorted({result["games"] for result in results.values()})
    head = f"{' or '.join(map(str, played))} games a cell; 95 % intervals; ms a move at the largest budget."
    return markdown(columns, rows, left=(0, 1, len(columns) - 1)) + f"\n{head} {note}\n"


def rate_text(point: dict[str, Any]) -> str:
    """A win rate in per cent, with its 95 % confidence interval."""
    low, high = wilson(point["score"], point["games"])
    return f"{point['score'] / point['games']:.0%} ({100 * low:.0f}–{100 * high:.0f})"


def grouped(results: Results) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The results by game and line."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results.values():
        groups.setdefault((result["game"], result["line"]), []).append(result)
    return groups


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
