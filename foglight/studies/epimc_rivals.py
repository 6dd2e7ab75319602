"""Figure 5 of EPIMC: all online algorithms against PIMC, at equal cost [Arjonilla2024].

An iteration means different work for different agents, so the paper gives all of them the same time. Here each agent
gets as many iterations as take that time: `COSTS` says what an iteration of each costs. So a busy machine changes no
result, and results follow from the seed. The table has the time that both sides took, so that the costs can be checked.
Rivals have the paper's settings: IS-MCTS has the exploration constant 1, OOS targets information states, IIMC takes 5
samples at its second level.
"""

from pathlib import Path

from foglight.studies import _matches
from foglight.studies._claims import Claim, claim, finding
from foglight.studies._matches import DARK_CHESS, DARK_HEX, PHANTOM_TTT

LINES = {
    "epimc, depth 2": "epimc(depth=2,subgame=iss",
    "epimc, depth 3": "epimc(depth=3,subgame=iss",
    "epimc, auto": "epimc(depth=auto,memory=4000000",
    "ismcts": "ismcts(exploration=1",
    "oos": "oos(target=information_set",
    "iimc": "iimc(samples=5",
    "random": "random",
}
# The time of an iteration in iterations of PIMC, in the order of LINES; measured at 20,000 iterations a move.
COSTS = {
    DARK_CHESS: dict(zip(LINES, (1.1, 1.25, 2, 2.2, 6.6, 1), strict=False)),
    PHANTOM_TTT: dict(zip(LINES, (2.2, 3.3, 3.8, 5, 16, 1.5), strict=False)),
    DARK_HEX: dict(zip(LINES, (1.5, 1.8, 2.1, 1.9, 15, 1), strict=False)),
}
PUBLISHED = {
    **{(game, "epimc, depth 3"): "best" for game in COSTS},
    **{(game, "epimc, depth 2"): "as ismcts, or better" for game in (DARK_CHESS, PHANTOM_TTT)},
    **{(game, "ismcts"): "better than oos, iimc, random" for game in COSTS},
}
RATIOS = {
    DARK_CHESS: (0.1, 1, 10, 100, _matches.LARGEST),
    PHANTOM_TTT: (0.1, 1, 10, 100),
    DARK_HEX: (0.1, 1, 10, 100, _matches.LARGEST),
}
GROWS = True
GAMES = tuple(COSTS)


def cells(quick: bool, seed: int) -> _matches.Cells:
    games = 60 if quick else _matches.PUBLISHED_GAMES
    matches = {}
    for game, costs in COSTS.items():
        for line, agent in LINES.items():
            for ratio in (1, 10) if quick else RATIOS[game]:
                iterations = max(1, round(_matches.FULL_BASE * ratio / costs.get(line, 1)))
                matches[f"{game}, {line}, {_matches.ratio_text(ratio)}"] = {
                    "game": game,
                    "line": line,
                    "ratio": ratio,
                    "agent": agent if line == "random" else f"{agent},iterations={iterations})",
                    "opponent": f"pimc(iterations={_matches.FULL_BASE})",
                    "games": games,
                    "seed": seed,
                }
    return matches if quick else _matches.in_blocks(matches)


work = _matches.meet
kept, covered, matching, enough = _matches.kept, _matches.covered, _matches.matching, _matches.enough


def table(results: _matches.Results) -> str:
    shares: dict[str, list[float]] = {}
    for result in results.values():
        if result["line"] != "random" and result["ratio"] == 10:
            shares.setdefault(result["line"], []).append(result["ms"][0] / result["ms"][1] / 10)
    times = ", ".join(f"{line} {sum(parts) / len(parts):.2g}" for line, parts in shares.items())
    return _matches.table_of(results, PUBLISHED, f"Time at 10:1, as a share of 10 times PIMC's: {times}.")


def draw(results: _matches.Results, path: Path) -> None:
    _matches.draw_panels(results, path, xlabel="time a move, ours : PIMC's")


def claims(results: _matches.Results) -> list[Claim]:
    weaker = [one for rival in ("oos", "iimc", "random") for one in _matches.leads(results, GAMES, "ismcts", rival)]
    epimc = [
        one for rival in ("oos", "iimc", "random") for one in _matches.leads(results, GAMES, "epimc, depth 3", rival)
    ]
    best = _matches.leads(results, GAMES, "epimc, depth 3", "ismcts")
    two = _matches.leads(results, (DARK_CHESS, PHANTOM_TTT), "epimc, depth 2", "ismcts")
    auto = _matches.leads(results, GAMES, "epimc, auto", "ismcts")
    return [
        claim(
            "Figure 5",
            "EPIMC at depth 3 and IS-MCTS are better than OOS, IIMC and random play.",
            "better",
            f"{_ahead(weaker)} for IS-MCTS; {_ahead(epimc)} for EPIMC",
            [one.points.above(0) for one in (*weaker, *epimc)],
            "Equal cost, not equal seconds; a pair counts if its difference is certain at 95 %.",
        ),
        claim(
            "Figure 5",
            "EPIMC at depth 3 is better than IS-MCTS in all three games.",
            "better",
            _matches.said(best),
            [one.points.above(0) for one in best],
            "The costs of iterations are ours, so equal cost is not quite the paper's equal time.",
            "Costs are equal by our measurement of iterations; uniform sampling at depth 3 needs far more of them "
            "where there are many actions.",
        ),
        claim(
            "Figure 5",
            "EPIMC at depth 2 is as good as IS-MCTS or better in Dark Chess and Phantom Tic-Tac-Toe.",
            "as good or better",
            _matches.said(two),
            [one.comparable() for one in two],
            "Up to 10 points behind counts as comparable.",
        ),
        finding("Is EPIMC with steered sampling (`auto`) better than IS-MCTS at equal cost?", _matches.said(auto)),
    ]


def _ahead(several: list[_matches.Lead]) -> str:
    """In how many matches the first agent is ahead, behind, or neither for certain."""
    ahead, behind = (sum(one.points.above(0) is what for one in several) for what in (True, False))
    undecided = len(several) - ahead - behind
    return f"ahead in {ahead} of {len(several)} pairs, behind in {behind}, undecided in {undecided}"
