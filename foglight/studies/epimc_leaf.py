"""Figure 4 of EPIMC: values of leaves by minimax or by one random game [Arjonilla2024].

The depth is 3, paths are solved by information set search, and PIMC plays random games. Minimax searches each leaf to
the end of the game, with perfect information, and caches positions. Budgets are equal in leaves, not in time.
"""

from typing import Any

from foglight.studies import _matches
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


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED)
