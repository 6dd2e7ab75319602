"""Which agent for which game? All searching agents against each other, with the same time for a decision.

In each game every two agents meet as often in one seat as in the other. The table has an agent's results against all
others together, so that each of them counts alike. Agents have their defaults. Wins count in most games, and in poker
chips.

The budget is time by the clock on the wall, so that results depend on the machine and on its load.
"""

import math
from itertools import combinations
from pathlib import Path
from typing import Any

from foglight.arena.intervals import wilson
from foglight.arena.match import play_match
from foglight.pictures import heat_map, panels, save
from foglight.studies._claims import Claim, finding
from foglight.studies._tables import Results, chosen
from foglight.text import markdown

SECONDS = 0.05  # for a decision
AGENTS = ("pimc", "epimc", "ismcts", "iimc", "oos", "kluss")
NETWORKS = {"leduc_poker", "goofspiel(cards=5)", "goofspiel(cards=13)"}  # where `particle_resolving` has one
CHIPS = {"kuhn_poker", "leduc_poker"}
FOG = "repetition=ignore,clock=hidden,stalemate=loss"
TITLES = {  # the quick ones first, so that a run that is stopped has whole rows
    "liars_dice": "Liar's Dice, one die each",
    "liars_dice(dice=2)": "Liar's Dice, two dice each",
    "kuhn_poker": "Kuhn poker",
    "leduc_poker": "Leduc poker",
    "goofspiel(cards=5)": "Goofspiel, 5 cards",
    "battleship": "Battleship 3×3",
    "phantom_ttt": "Phantom Tic-Tac-Toe",
    "dark_hex(rows=3,cols=3)": "Dark Hex 3×3",
    f"dark_chess(size=4,{FOG})": "Dark Chess 4×4",
    "card_game": "Card Game",
    "dark_hex": "Dark Hex 4×4",
    f"dark_chess(size=5,{FOG})": "Dark Chess 5×5",
    f"dark_chess({FOG})": "Dark Chess 8×8",
    "goofspiel(cards=13)": "Goofspiel, 13 cards",
    "battleship(width=5,height=5,ships=[2,3],shots=25)": "Battleship 5×5",
}
MEETINGS = {  # games of two agents in the full form
    "kuhn_poker": 200,
    "leduc_poker": 200,
    f"dark_chess(size=5,{FOG})": 40,
    f"dark_chess({FOG})": 10,
    "goofspiel(cards=13)": 40,
    "battleship(width=5,height=5,ships=[2,3],shots=25)": 40,
}
USUAL_MEETINGS = 80  # with five opponents, 400 games an agent
QUICK_MEETINGS = 4
GROWS = True


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    result = {}
    for game in TITLES:
        games = QUICK_MEETINGS if quick else MEETINGS.get(game, USUAL_MEETINGS)
        for agent, opponent in combinations(_agents(game), 2):
            arguments = {"agent": agent, "opponent": opponent, "games": games, "seed": seed}
            result[f"{game}, {agent} against {opponent}"] = {"game": game, **arguments}
    return result


def _agents(game: str) -> tuple[str, ...]:
    return (*AGENTS, "particle_resolving") if game in NETWORKS else AGENTS


def work(game: str, agent: str, opponent: str, games: int, seed: int) -> dict[str, Any]:
    both = [f"{name}(time={SECONDS})" for name in (agent, opponent)]
    play_match(game, both, 2, seed + 1)  # compiles, so that no decision of the match pays for it
    result = play_match(game, both, games, seed)
    times = [timing.summary() if (timing := result.timing(k)) else None for k in (0, 1)]
    return {
        "game": game,
        "agent": agent,
        "opponent": opponent,
        "games": games,
        "score": result.score(0),
        "mean": result.mean_returns[0],
        "error": result.standard_errors[0],
        "ms": [time and round(time["mean_ms"], 1) for time in times],
    }


def standing(results: Results, game: str, agent: str) -> tuple[float, float, float, int] | None:
    """An agent's result against all others in a game, its 95 % interval, and its games; None if it did not play.

    The result is a win rate, or chips per game.
    """
    ahead, behind = chosen(results, game=game, agent=agent), chosen(results, game=game, opponent=agent)
    games = sum(row["games"] for row in (*ahead, *behind))
    if games == 0:
        return None
    if game in CHIPS:
        means = [row["mean"] for row in ahead] + [-row["mean"] for row in behind]
        mean = sum(means) / len(means)
        error = math.hypot(*(row["error"] for row in (*ahead, *behind))) / len(means)
        return mean, mean - 1.96 * error, mean + 1.96 * error, games
    score = sum(row["score"] for row in ahead) + sum(row["games"] - row["score"] for row in behind)
    return score / games, *wilson(score, games), games


def standings(results: Results, game: str) -> dict[str, tuple[float, float, float, int]]:
    """The result of each agent that played in a game."""
    several = {agent: standing(results, game, agent) for agent in _agents(game)}
    return {agent: one for agent, one in several.items() if one is not None}


def leaders(results: Results, game: str) -> list[str]:
    """The agents whose results do not differ for certain from the best one, the best first."""
    by_agent = standings(results, game)
    order = sorted(by_agent, key=lambda agent: -by_agent[agent][0])
    return [agent for agent in order if by_agent[agent][2] >= by_agent[order[0]][1]]


def table(results: Results) -> str:
    names = [*AGENTS, "particle_resolving"]
    rows = []
    for game in _played(results):
        by_agent, best = standings(results, game), leaders(results, game)
        texts = [_text(game, by_agent.get(agent), agent in best) for agent in names]
        games = sorted({one[3] for one in by_agent.values()})
        rows.append([TITLES[game], *texts, " to ".join(f"{number:,}" for number in sorted({games[0], games[-1]}))])
    head = ["game", *(f"`{agent}`" for agent in names), "games each"]
    return markdown(head, rows, left=(0,)) + (
        f"\nWin rates against all others together, in per cent; in poker chips a game; {SECONDS} s a decision, 95 % "
        "intervals. Bold: the best, and all whose intervals reach its interval.\n"
    )


def _text(game: str, result: tuple[float, float, float, int] | None, best: bool) -> str:
    if result is None:
        return ""
    value, low, high, _ = result
    if game in CHIPS:
        text = f"{value:+.2f} ({low:+.2f} to {high:+.2f})"
    else:
        text = f"{100 * value:.0f} ({100 * low:.0f}–{100 * high:.0f})"
    return f"**{text}**" if best else text


def _played(results: Results) -> list[str]:
    """The games in which all agents have met each other."""
    return [game for game in TITLES if len(chosen(results, game=game)) == math.comb(len(_agents(game)), 2)]


def draw(results: Results, path: Path) -> None:
    games = [game for game in _played(results) if game not in CHIPS]
    names = [*AGENTS, "particle_resolving"]
    shares: list[list[float]] = []
    texts: dict[tuple[int, int], str] = {}
    for row, game in enumerate(games):
        by_agent = standings(results, game)
        shares.append([by_agent[agent][0] if agent in by_agent else math.nan for agent in names])
        texts |= {(row, k): f"{100 * share:.0f}" for k, share in enumerate(shares[-1]) if not math.isnan(share)}
    figure, (axes,) = panels(1, 7.5, 1.4 + 0.36 * len(games))
    if games:
        heat_map(axes, shares, texts, "viridis")
    axes.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names], fontsize=8)
    axes.set_yticks(range(len(games)), [TITLES[game] for game in games], fontsize=8)
    axes.set_title(f"win rate against all others, per cent; {SECONDS} s a decision", fontsize=9)
    save(figure, path)


def claims(results: Results) -> list[Claim]:
    best = [f"{TITLES[game]}: {', '.join(leaders(results, game))}" for game in _played(results)]
    return [
        finding(
            f"Which agent is the best in which game, with {SECONDS} s for a decision?",
            "; ".join(best),
            "All whose 95 % intervals reach that of the best are named, the best first.",
        )
    ]
