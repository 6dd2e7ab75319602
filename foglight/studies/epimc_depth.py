"""Figure 2 of EPIMC: win rate against PIMC by depth, over budget ratios, in five games [Arjonilla2024].

At depths 1, 2 and 3, actions are sampled uniformly and the recorded paths are solved by information set search, as
published. Two lines are ours: steered sampling at depth 3, and steered sampling with the depth left to the agent. These
have no cell at 1000:1.
"""

from typing import Any

from foglight.studies import _matches
from foglight.studies._matches import BATTLESHIP, CARD_GAME, DARK_CHESS, DARK_HEX, PHANTOM_TTT

LINES = {
    "depth 1": "epimc(depth=1,subgame=iss",
    "depth 2": "epimc(depth=2,subgame=iss",
    "depth 3": "epimc(depth=3,subgame=iss",
    "steered, depth 3": "epimc(depth=3",
    "steered, auto": "epimc(depth=auto",
}
PUBLISHED = {
    (CARD_GAME, "depth 3"): "no gain from depth",
    (BATTLESHIP, "depth 3"): "no gain from depth",
    (DARK_CHESS, "depth 1"): "45 % at 100:1",
    (DARK_CHESS, "depth 2"): "65 % at 100:1",
    (DARK_CHESS, "depth 3"): "80 % at 100:1, near 100 % at 1000:1",
    (DARK_HEX, "depth 1"): "at 1000:1 as depth 2",
    (DARK_HEX, "depth 2"): "at 1000:1 as depth 1",
    (DARK_HEX, "depth 3"): "near 100 % at 1000:1",
}
RATIOS: tuple[float, ...] = (0.1, 1, 10, 100)
GAMES, BASE = _matches.PUBLISHED_GAMES, _matches.FULL_BASE
GROWS = True


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    public, private = (CARD_GAME, BATTLESHIP), (DARK_CHESS, PHANTOM_TTT, DARK_HEX)
    if quick:
        few = _matches.cells_of(dict.fromkeys(public, RATIOS), LINES, 60, seed)
        return few | _matches.cells_of(dict.fromkeys(private, RATIOS), LINES, 100, seed)
    published = {line: agent for line, agent in LINES.items() if not line.startswith("steered")}
    most = dict.fromkeys((DARK_CHESS, DARK_HEX), (_matches.LARGEST,))
    matches = _matches.cells_of(dict.fromkeys((*public, *private), RATIOS), LINES, GAMES, seed, BASE)
    return _matches.in_blocks(matches | _matches.cells_of(most, published, GAMES, seed, BASE))


work, draw = _matches.meet, _matches.draw_panels


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED, "The paper gives curves; its text gives the values shown.")
