"""Figure 1 and Propositions 1 to 3 of EPIMC: strategy fusion in small games [Arjonilla2024].

In the game of Figure 1, seat 0 leaves and loses 0.6, or plays rock-paper-scissors unseen, which is worth 0. With
minimax leaves, PIMC takes seat 1 for somebody who sees the move, so it leaves. EPIMC at depth 2 plays. The propositions
say that SF, the number of information states at which a policy differs between histories, never rises with depth, falls
at some depth if it is not 0, and is 0 where depth reaches the end of the game. SF is counted in whole game trees.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

from foglight.agent_policies import agent_policy
from foglight.pictures import panels, save
from foglight.search.paths.fusion import strategy_fusion
from foglight.state import new_state
from foglight.studies._claims import Claim, claim
from foglight.studies._tables import Results, chosen
from foglight.text import markdown

FIGURE_1 = "unseen_rps"
AGENTS = {
    "pimc": "pimc(leaf=minimax,iterations=500)",
    "epimc, depth 2, ISS": "epimc(depth=2,subgame=iss,leaf=minimax,iterations=2000)",
    "epimc, depth 2, CFR+": "epimc(depth=2,subgame=cfr+,leaf=minimax,iterations=2000)",
}
GAMES = {FIGURE_1: 3, "kuhn_poker": 4, "goofspiel(cards=4)": 9, "leduc_poker": 9}  # with a depth past their ends
SEEDS = {True: 10, False: 100}  # seeds of each agent, by quick


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    asked = {f"{name}, {seed + i}": {"agent": name, "seed": seed + i} for name in AGENTS for i in range(SEEDS[quick])}
    return asked | {game: {"game": game} for game in GAMES}


def work(agent: str = "", game: str = FIGURE_1, seed: int = 0) -> dict[str, Any]:
    if agent:
        odds = agent_policy(AGENTS[agent], FIGURE_1, seed=seed).at(new_state(FIGURE_1))
        return {"agent": agent, "leave": float(odds["leave"])}
    return {"game": game, "fused": [strategy_fusion(game, depth) for depth in range(GAMES[game] + 1)]}


def _leaving(results: Results, agent: str) -> list[float]:
    return [result["leave"] for result in chosen(results, agent=agent)]


def table(results: Results) -> str:
    rows = []
    for agent in AGENTS:
        shares = _leaving(results, agent)
        rows.append([agent, f"{sum(shares) / len(shares):.0%}", "leaves" if agent == "pimc" else "plays", len(shares)])
    first = markdown(["agent", "leaves", "published", "seeds"], rows, left=(0, 2))
    depths = range(max(GAMES.values()) + 1)
    rows = [
        [f"`{result['game']}`", *result["fused"], *[""] * (len(depths) - len(result["fused"]))]
        for result in results.values()
        if "fused" in result
    ]
    return f"{first}\nSF by depth:\n\n{markdown(['game', *map(str, depths)], rows)}"


def claims(results: Results) -> list[Claim]:
    shares = {agent: _leaving(results, agent) for agent in AGENTS}
    plays = [[leave > 0.5 for leave in shares["pimc"]]]
    plays += [[leave < 0.5 for leave in shares[agent]] for agent in AGENTS if agent != "pimc"]
    counts = ", ".join(f"{agent} {sum(leave > 0.5 for leave in one)} of {len(one)}" for agent, one in shares.items())
    fused = {result["game"]: result["fused"] for result in results.values() if "fused" in result}
    falls = [all(later <= earlier for earlier, later in pairwise(one)) for one in fused.values()]
    ends = [one[0] > 0 and one[-1] == 0 for one in fused.values()]
    return [
        claim(
            "Figure 1",
            "In rock-paper-scissors with a way out, PIMC leaves; EPIMC at depth 2 plays.",
            "leaves; plays",
            f"seeds that leave: {counts}",
            map(all, plays),
            "With minimax leaves PIMC answers every world differently, which seat 1 cannot do.",
        ),
        claim(
            "Propositions 1 to 3",
            "Strategy fusion never rises with depth, falls at some depth, and is 0 at full depth.",
            "proved",
            "SF by depth, from 0: " + "; ".join(f"{game} {', '.join(map(str, one))}" for game, one in fused.items()),
            [*falls, *ends],
            "Counted in whole trees of small games, where it has to hold if the proof is right.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    figure, (axes,) = panels(1, 6, 4)
    for result in results.values():
        if "fused" in result:
            axes.plot(range(len(result["fused"])), result["fused"], "o-", label=result["game"])
    axes.set(xlabel="depth", ylabel="information states with strategy fusion", yscale="symlog")
    axes.legend()
    save(figure, path)
