"""Figure 5 of EPIMC: all online algorithms against PIMC, by time [Arjonilla2024].

Budgets are seconds here, since an iteration means different work for different agents. The quick form gives all agents
the same budget. Rivals have the paper's settings: IS-MCTS has the exploration constant 1, OOS targets information
states, IIMC takes 5 samples at its second level. Results depend on the machine, and do not follow from the seed.
"""

from pathlib import Path
from typing import Any

from foglight.arena.report import win_rate_bars
from foglight.pictures import panels, save
from foglight.studies import _matches
from foglight.studies._matches import DARK_CHESS, DARK_HEX, PHANTOM_TTT

LINES = {
    "epimc, depth 2": "epimc(depth=2,subgame=iss",
    "epimc, depth 3": "epimc(depth=3,subgame=iss",
    "epimc, auto": "epimc(depth=auto",
    "ismcts": "ismcts(exploration=1",
    "oos": "oos(target=information_set",
    "iimc": "iimc(samples=5",
    "random": "random",
}
PUBLISHED = {
    **{(game, "epimc, depth 3"): "best" for game in (DARK_CHESS, PHANTOM_TTT, DARK_HEX)},
    **{(game, "epimc, depth 2"): "as ismcts, or better" for game in (DARK_CHESS, PHANTOM_TTT)},
    **{(game, "ismcts"): "better than oos, iimc, random" for game in (DARK_CHESS, PHANTOM_TTT, DARK_HEX)},
}
SECONDS = 0.02  # per move of PIMC


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    result = {}
    for game in (DARK_CHESS, PHANTOM_TTT, DARK_HEX):
        for line, agent in LINES.items():
            for ratio in (1,) if quick else (1, 10, 100):
                budget = "" if agent == "random" else f",time={SECONDS * ratio:g})"
                result[f"{game}, {line}, {ratio}:1"] = {
                    "game": game,
                    "line": line,
                    "ratio": ratio,
                    "agent": agent + budget,
                    "opponent": f"pimc(time={SECONDS:g})",
                    "games": 60 if quick else _matches.PUBLISHED_GAMES,
                    "seed": seed,
                }
    return result


work = _matches.meet


def table(results: _matches.Results) -> str:
    late = sum(point["overruns"][0] + point["overruns"][1] for point in results.values())
    note = f"PIMC has {1000 * SECONDS:g} ms a move; {late} moves took more than 20 % plus 5 ms over their time."
    return _matches.table_of(results, PUBLISHED, note)


def draw(results: _matches.Results, path: Path) -> None:
    if len({point["ratio"] for point in results.values()}) == 1:
        _draw_equal(results, path)
    else:
        _matches.draw_panels(results, path, xlabel=f"time a move, ours : PIMC's {1000 * SECONDS:g} ms")


def _draw_equal(results: _matches.Results, path: Path) -> None:
    """Draw win rates at one budget: one panel per game, one bar per agent."""
    groups = _matches.grouped(results)
    games = list(dict.fromkeys(game for game, _ in groups))
    figure, parts = panels(len(games), 3.6 * len(games), 3.2, sharey=True)
    for axes, game in zip(parts, games, strict=True):
        points = {line: (groups[game, line][0]["score"], groups[game, line][0]["games"]) for line in LINES}
        win_rate_bars(axes, points, title=_matches.short(game), xlabel="win rate against pimc")
    save(figure, path)
