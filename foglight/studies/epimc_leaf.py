"""Figure 4 of EPIMC: values of leaves by minimax or by one random game [Arjonilla2024].

The depth is 3, paths are solved by information set search, and PIMC plays random games. Minimax searches each leaf to
the end of the game, with perfect information, and caches positions. Budgets are equal in leaves, not in time.
"""

from typing import Any

from foglight.studies import _matches
from foglight.studies._claims import Claim, claim
from foglight.studies._matches import PHANTOM_TTT, SMALL_HEX

LINES = {"rollout": "epimc(depth=3,subgame=iss", "minimax": "epimc(depth=3,subgame=iss,leaf=minimax"}
PUBLISHED = {
    (PHANTOM_TTT, "minimax"): "worse than rollout",
    (SMALL_HEX, "rollout"): "near 50 %",
    (SMALL_HEX, "minimax"): "near 70 %",
}
RATIOS = (0.1, 1, 10, 100)
GROWS = True


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    games = dict.fromkeys((PHANTOM_TTT, SMALL_HEX), RATIOS if quick else (*RATIOS, _matches.LARGEST))
    return _matches.cells_of(games, LINES, 100, seed) if quick else _matches.published_cells(games, LINES, seed)


work, draw = _matches.meet, _matches.draw_panels
kept, covered, matching, enough = _matches.kept, _matches.covered, _matches.matching, _matches.enough


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED)


def claims(results: _matches.Results) -> list[Claim]:
    worse = _matches.leads(results, (PHANTOM_TTT,), "minimax", "rollout")
    better = _matches.leads(results, (SMALL_HEX,), "minimax", "rollout")
    near = [
        rate.near(target, _matches.MARGIN) for one in better for rate, target in zip(one.rates, (0.7, 0.5), strict=True)
    ]
    return [
        claim(
            "Figure 4",
            "Minimax leaves are worse than rollouts in Phantom Tic-Tac-Toe.",
            "worse",
            _matches.said(worse),
            [one.points.below(0) for one in worse],
            "Minimax takes both seats for players who see everything; budgets here are equal in leaves, not in time.",
        ),
        claim(
            "Figure 4",
            "Minimax leaves are better than rollouts in Dark Hex 3×3.",
            "better",
            _matches.said(better),
            [one.points.above(0) for one in better],
            "Minimax values a leaf exactly, if with perfect information; a random game is one noisy sample.",
        ),
        claim(
            "Figure 4",
            "In Dark Hex 3×3 minimax is near 70 % and rollouts are near 50 %.",
            "70 and 50 %",
            "; ".join(
                f"{line} {rate.text(0, '%')}" for one in better for line, rate in zip(one[1:3], one.rates, strict=True)
            ),
            near,
            "Within 10 points, with the whole interval, counts as near; the text does not say at which budget.",
        ),
    ]
