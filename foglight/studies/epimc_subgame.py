"""Figure 3 of EPIMC: sampled paths solved by information set search or by CFR+ [Arjonilla2024].

Both record the same kind of paths, of three decisions. CFR+ runs 1000 iterations and plays its average strategy. It
needs a tenth of a second per move, where information set search needs milliseconds. Budgets are equal in paths, not in
time.
"""

from typing import Any

from foglight.studies import _matches
from foglight.studies._claims import Claim, claim
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
kept, covered, matching, enough = _matches.kept, _matches.covered, _matches.matching, _matches.enough


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED)


def claims(results: _matches.Results) -> list[Claim]:
    worse = _matches.leads(results, (DARK_CHESS, PHANTOM_TTT), "CFR+", "ISS")
    better = _matches.leads(results, (SMALL_HEX,), "CFR+", "ISS")
    return [
        claim(
            "Figure 3",
            "CFR+ is worse than information set search in Dark Chess and Phantom Tic-Tac-Toe.",
            "worse",
            _matches.said(worse),
            [one.points.below(0) for one in worse],
            "Our budgets are equal in paths; by the clock CFR+ takes two to six times as long, so at equal seconds, as "
            "in the paper, it would have fewer paths.",
        ),
        claim(
            "Figure 3",
            "CFR+ is better than information set search in Dark Hex 3×3.",
            "better",
            _matches.said(better),
            [one.points.above(0) for one in better],
            "The same kind of paths is solved both ways, and CFR+ may mix.",
            "The same kind of paths is solved both ways, and games so far do not show a difference of this sign.",
        ),
    ]
