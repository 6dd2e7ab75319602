"""Pictures of results: crosstables, ratings, and win rates against a budget, all with their intervals."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foglight.arena.intervals import wilson
from foglight.arena.ratings import Rating
from foglight.arena.tournament import Tournament
from foglight.pictures import heat_map, panels, save


def draw_tournament(tournament: Tournament, file: Path, game: str | None = None) -> None:
    """Draw the crosstable and the ratings side by side, best agent on top, for one game or for all.

    >>> import pathlib, tempfile
    >>> tournament = fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fl.draw_tournament(tournament, pathlib.Path(folder) / "tournament.svg")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['tournament.svg']
    """
    ratings, n = tournament.ratings(game), len(tournament.agents)
    figure, (left, right) = panels(2, 8 + 0.7 * n, 2.2 + 0.55 * n, width_ratios=(0.7 * n + 2, 4))
    games = tournament.games if game is None else (game,)
    what = games[0] if len(games) == 1 else f"{len(games)} games"
    figure.suptitle(f"{what}: win rates and ratings, 95 % intervals", fontsize=10)
    order = [rating.agent for rating in ratings]
    draw_crosstable(left, order, tournament.crosstable(game))
    draw_ratings(right, ratings, names=False)
    save(figure, file)


def draw_crosstable(axes: Any, order: Sequence[str], crosstable: Sequence[Mapping[str, Any]]) -> None:
    """Draw a heat map of the win rates of the row's agent against the column's."""
    n = len(order)
    rates, texts = [[float("nan")] * n for _ in range(n)], {}
    for row in crosstable:
        at = order.index(row["agent"]), order.index(row["against"])
        rates[at[0]][at[1]] = row["win_rate"]
        low, high = row["interval"]
        texts[at] = f"{row['win_rate']:.0%}\n{low:.0%}–{high:.0%}"
    heat_map(axes, rates, texts, "RdBu_r")
    axes.set_facecolor("0.9")
    axes.set_xticks(range(n), [str(i + 1) for i in range(n)])
    axes.set_yticks(range(n), [f"{agent}  {i + 1}" for i, agent in enumerate(order)], fontsize=8)
    axes.set_xlabel("against")


def draw_ratings(axes: Any, ratings: Sequence[Rating], names: bool = True) -> None:
    """Draw a point and an error bar for each agent, in the given order."""
    for i, rating in enumerate(ratings):
        errors = [[rating.rating - rating.low], [rating.high - rating.rating]]
        axes.errorbar(rating.rating, i, xerr=errors, fmt="o", color="C0", capsize=3)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(ratings)), [r.agent if names else str(i + 1) for i, r in enumerate(ratings)], fontsize=8)
    axes.set_ylim(len(ratings) - 0.5, -0.5)
    axes.set_xlabel("Elo")
    axes.grid(False, axis="y")


Point = tuple[float, float, float]  # budget, score, games


def draw_win_rates(
    file: Path, series: Mapping[str, Sequence[Point]], *, title: str = "", xlabel: str = "budget"
) -> None:
    """Draw win rates over budgets: one line per name, with Wilson intervals as error bars.

    `series` has a list of points for each name: budget, score (games won; draws count half) and number of games.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "budgets.svg"
        ...     fl.draw_win_rates(file, {"depth 2": [(100, 52, 100), (1000, 61, 100)]}, xlabel="iterations")
        ...     file.stat().st_size > 0
        True
    """
    figure, (axes,) = panels(1, 6.5, 4.2)
    win_rate_axes(axes, series, title=title, xlabel=xlabel)
    save(figure, file)


def win_rate_axes(axes: Any, series: Mapping[str, Sequence[Point]], *, title: str = "", xlabel: str = "budget") -> None:
    """Draw the same into the caller's axes, for pictures of several panels."""
    for place, (name, points) in enumerate(series.items()):
        nudge = 1 + 0.08 * (place - (len(series) - 1) / 2)  # so that error bars at the same budget do not overlap
        points = sorted(points)
        rates = [score / games for _, score, games in points]
        ends = [wilson(score, games) for _, score, games in points]
        errors = [
            [max(0.0, rate - low) for rate, (low, _) in zip(rates, ends, strict=True)],
            [max(0.0, high - rate) for rate, (_, high) in zip(rates, ends, strict=True)],
        ]
        budgets = [budget * nudge for budget, _, _ in points]
        axes.errorbar(budgets, rates, yerr=errors, fmt="o-", capsize=3, markersize=4, label=name)
    axes.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set(ylim=(0, 1), xlabel=xlabel, ylabel="win rate", title=title)
    axes.yaxis.set_major_formatter(lambda rate, _: f"{rate:.0%}")
    if len(series) > 1:
        axes.legend(fontsize=8)


def win_rate_bars(axes: Any, points: Mapping[str, tuple[float, float]], *, title: str = "", xlabel: str = "") -> None:
    """Draw win rates at one budget: a row per name, from its score and games, with a Wilson interval."""
    for place, (score, games) in enumerate(points.values()):
        rate, (low, high) = score / games, wilson(score, games)
        errors = [[max(0.0, rate - low)], [max(0.0, high - rate)]]
        axes.errorbar(rate, place, xerr=errors, fmt="o", color="C0", capsize=3)
    axes.axvline(0.5, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xlim=(0, 1), ylim=(max(len(points), 1) - 0.5, -0.5), xlabel=xlabel, title=title)
    axes.set_yticks(range(len(points)), list(points))
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:.0%}")
    axes.grid(False, axis="y")
