"""Figure 3 of EPIMC: sampled paths solved by information set search or by CFR+ [Arjonilla2024].

Both record the same kind of paths, of three decisions. CFR+ runs 1000 iterations and plays its average strategy. It
needs a tenth of a second per move, where information set search needs milliseconds. Budgets are equal in paths, not in
time.
"""

from typing import Any

from foglight.studies import _matches
from foglight.studies._matches import DARK_CHESS, PHANTOM_TTT, SMALL_HEX

LINES = {"ISS": "epimc(depth=3,subgame=iss", "CFR+": "epimc(depth=3,subgame=cfr+"}
PUBLISHED = {
    (DARK_CHESS, "CFR+"): "worse than ISS",
    (PHANTOM_TTT, "CFR+"): "worse than ISS",
    (SMALL_HEX, "CFR+"): "better than ISS",
}
RATIOS = (0.1, 1, 10, 100)
GROWS = True


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    games = dict.fromkeys((DARK_CHESS, PHANTOM_TTT, SMALL_HEX), RATIOS if quick else (*RATIOS, _matches.LARGEST))
    return _matches.cells_of(games, LINES, 100, seed) if quick else _matches.published_cells(games, LINES, seed)


work, draw = _matches.meet, _matches.draw_panels


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED)
