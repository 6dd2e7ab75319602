"""Figure 2 of EPIMC: win rate against PIMC by depth, over budget ratios, in five games [Arjonilla2024].

At depths 1, 2 and 3, actions are sampled uniformly and the recorded paths are solved by information set search, as
published. Two lines are ours: steered sampling at depth 3, and steered sampling with the depth left to the agent. These
have no cell at 1000:1.
"""

from typing import Any

from foglight.studies import _matches
from foglight.studies._claims import Claim, claim, finding
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
kept, covered, matching, enough = _matches.kept, _matches.covered, _matches.matching, _matches.enough


def table(results: _matches.Results) -> str:
    return _matches.table_of(results, PUBLISHED, "The paper gives curves; its text gives the values shown.")


def claims(results: _matches.Results) -> list[Claim]:
    public = _matches.leads(results, (CARD_GAME, BATTLESHIP), "depth 3", "depth 1")
    private = _matches.leads(results, (DARK_CHESS, PHANTOM_TTT, DARK_HEX), "depth 3", "depth 1", 100)
    numbers = [
        (line, rate, published)
        for line, published in (("depth 3", 0.8), ("depth 2", 0.65), ("depth 1", 0.45))
        if (rate := _matches.rate_of(results, DARK_CHESS, line, 100)) is not None
    ]
    most = [
        (game, rate)
        for game in (DARK_HEX, DARK_CHESS)
        if (rate := _matches.rate_of(results, game, "depth 3", _matches.LARGEST)) is not None
    ]
    alike = _matches.leads(results, (DARK_HEX,), "depth 2", "depth 1", _matches.LARGEST)
    steered = _matches.leads(results, (DARK_CHESS, PHANTOM_TTT, DARK_HEX), "steered, auto", "depth 3", 100)
    return [
        claim(
            "Figure 2",
            "Card Game and Battleship gain nothing from depth.",
            "no gain",
            _matches.said(public),
            [one.no_gain() for one in public],
            "Most of what happens there is public, so there is little strategy fusion to remove.",
        ),
        claim(
            "Figure 2",
            "In games with private observations depth 3 wins more than depth 1, with 100 times PIMC's budget.",
            "higher; Dark Chess 80 against 45 %",
            _matches.said(private),
            [one.points.above(0) for one in private],
            "Deeper reasoning removes strategy fusion, and the budget suffices for it.",
            "Depth 3 needs samples for many paths, some 14 actions three times in Dark Hex 4×4, and the paper does not "
            "say how many its seconds bought.",
        ),
        claim(
            "Figure 2",
            "Dark Chess at 100:1: 80, 65 and 45 % at depths 3, 2 and 1.",
            "80, 65, 45 %",
            "; ".join(f"{line} {rate.text(0, '%')}" for line, rate, _ in numbers),
            [rate.near(published, _matches.MARGIN) for _, rate, published in numbers],
            "Within 10 points counts as equal.",
            "Within 10 points counts as equal; the ratio of budgets is the paper's, but how much its PIMC did in a "
            "second is not known.",
        ),
        claim(
            "Figure 2",
            "At 1000:1, depth 3 wins close to 100 % in Dark Hex and Dark Chess.",
            "near 100 %",
            "; ".join(f"{_matches.short(game)} {rate.text(0, '%')}" for game, rate in most),
            [rate.above(1 - _matches.MARGIN) for _, rate in most],
            "Above 90 % counts as close to 100 %.",
        ),
        claim(
            "Figure 2",
            "In Dark Hex at 1000:1, depths 1 and 2 are alike.",
            "alike",
            _matches.said(alike),
            [one.equal() for one in alike],
            "Within 10 points counts as equal.",
        ),
        finding(
            "Does steered sampling with the depth left to the agent beat uniform sampling at depth 3, at 100:1?",
            _matches.said(steered),
        ),
    ]
