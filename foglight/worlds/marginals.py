"""Marginals of a belief: for each place of the game, the probability of each content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foglight.names import BadInput
from foglight.pictures import draw_places
from foglight.rules import Game, contents, places


@dataclass(frozen=True)
class Marginals:
    """For each place, the probability of each content, as `belief()` of a history filter returns it.

    >>> belief = fl.history_filter("kuhn_poker", [], viewer=fl.PUBLIC).belief()
    >>> belief.places, belief.worlds, belief.exact
    (['seat 0', 'seat 1'], 10, True)
    """

    places: list[str]
    columns: int  # of the board; 0 if the places do not form a board
    odds: list[dict[str, float]]  # by place: the probability of each content, largest first
    worlds: int  # number of worlds behind the probabilities
    exact: bool  # whether these are all possible worlds

    def draw(self, path: Path | str, title: str = "") -> None:
        """Write a picture: one map per possible content, or a table if the places do not form a board."""
        draw_places(self.places, self.columns, self.odds, Path(path), title)

    def summary(self) -> dict[str, Any]:
        return {"worlds": self.worlds, "exact": self.exact, "places": dict(zip(self.places, self.odds, strict=True))}


def marginals(game: Game, worlds: Sequence[Any], weights: Sequence[float], exact: bool) -> Marginals:
    """Add up the contents of each place over weighted worlds."""
    names, columns = places(game)
    if not names:
        raise BadInput(f"{game} does not say what its places are, so a belief cannot be shown by place")
    sums: list[dict[str, float]] = [{} for _ in names]
    for world, weight in zip(worlds, weights, strict=True):
        for place, what in zip(sums, contents(game, world), strict=True):
            place[what] = place.get(what, 0.0) + float(weight)
    total = float(sum(weights))
    odds = [
        {what: weight / total for what, weight in sorted(place.items(), key=lambda item: -item[1])} for place in sums
    ]
    return Marginals(names, columns, odds, len(worlds), exact)
