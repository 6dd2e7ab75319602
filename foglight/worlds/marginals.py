"""What is where, how likely: a belief by places."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foglight.names import BadInput
from foglight.pictures import draw_places
from foglight.rules import Game, contents, places


@dataclass(frozen=True)
class Marginals:
    """For each place, how likely each content is: what `belief()` of a history filter gives.

    >>> belief = fl.history_filter("kuhn_poker", [], viewer=fl.PUBLIC).belief()
    >>> belief.places, belief.worlds, belief.exact
    (['seat 0', 'seat 1'], 10, True)
    """

    places: list[str]
    columns: int  # of the board; 0 if the places are no board
    odds: list[dict[str, float]]  # one for each place, most likely first
    worlds: int
    exact: bool

    def draw(self, path: Path | str, title: str = "") -> None:
        """Write a picture: a map for each thing that may be somewhere, or a table if the places are no board."""
        draw_places(self.places, self.columns, self.odds, Path(path), title)

    def summary(self) -> dict[str, Any]:
        return {
            "worlds": self.worlds,
            "exact": self.exact,
            "places": dict(zip(self.places, self.odds, strict=True)),
        }


def marginals(game: Game, worlds: Sequence[Any], weights: Sequence[float], exact: bool) -> Marginals:
    """Add up what is at each place over weighted worlds."""
    names, columns = places(game)
    if not names:
        raise BadInput(f"{game} does not say what its places are, so there is nothing to show of a belief")
    sums: list[dict[str, float]] = [{} for _ in names]
    for world, weight in zip(worlds, weights, strict=True):
        for place, what in zip(sums, contents(game, world), strict=True):
            place[what] = place.get(what, 0.0) + float(weight)
    total = float(sum(weights))
    odds = [
        {what: weight / total for what, weight in sorted(place.items(), key=lambda item: -item[1])} for place in sums
    ]
    return Marginals(names, columns, odds, len(worlds), exact)
