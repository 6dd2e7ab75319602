"""Marginals of a belief: for each place of the game, the probability of each content."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from foglight.drawing.heat import PLAYED, belief_drawing, likeliest, uncertain
from foglight.drawing.model import Drawing
from foglight.frames import Framed
from foglight.names import BadInput
from foglight.pictures import draw_places
from foglight.rules import Game, contents, drawing, places
from foglight.state import State, write_svg
from foglight.text import ansi

_MANY = 10**15  # worlds from which on their number is not written out


@dataclass(frozen=True)
class Marginals(Framed):
    """For each place, the probability of each content, as `fl.belief` and `belief()` of a history filter return it.

    >>> belief = fl.history_filter("kuhn_poker", [], viewer=fl.PUBLIC).belief()
    >>> belief.places, belief.worlds, belief.exact
    (['seat 0', 'seat 1'], 10, True)
    >>> belief.table()[0]
    {'place': 'seat 0', 'content': 'jack', 'probability': 0.3}
    """

    columns_of_table: ClassVar = {"place": "text", "content": "text", "probability": "number"}
    places: list[str]
    columns: int  # of the board; 0 if the places do not form a board
    odds: list[dict[str, float]]  # by place: the probability of each content, largest first
    worlds: int  # number of worlds behind the probabilities
    exact: bool  # whether these are all possible worlds
    title: str = ""  # whose belief this is
    information: str = ""  # what that viewer has observed, as text
    source: Any = field(default=None, compare=False)  # the history filter that it comes from
    sight: Drawing | None = field(default=None, compare=False)  # what the viewer sees; the belief is drawn over it

    @property
    def histories(self) -> int | None:
        """The exact number of histories that agree with the observations; None if that cannot be counted."""
        return _counted(self.source and self.source.count)

    @property
    def deals(self) -> int | None:
        """The exact number of deals in a trick-taking game; None in other games, or if that cannot be counted."""
        return _counted(self.source and self.source.deals)

    def draw(self, path: Path | str, title: str = "") -> None:
        """Write a picture, in the format that the ending of the file's name says.

        An SVG file has the board with the likeliest content of each place, or a table. Other formats need matplotlib,
        and have one map per possible content.
        """
        if Path(path).suffix.lower() == ".svg":
            write_svg(self.drawing(title), path)
        else:
            draw_places(self.places, self.columns, self.odds, Path(path), title or self.title)

    def drawing(self, title: str = "") -> Drawing:
        """The belief as a picture, over what the viewer sees, as plain data."""
        base = self.sight
        if base is None and self.columns and self.source is not None:
            start = drawing(self.source.game, State(self.source.game).world, None)  # for its layout alone
            layout = (
                item for item in start.items if item.place is not None or item.shape == "line" or item.role == "label"
            )
            base = replace(start, items=tuple(layout))
        return belief_drawing(
            base, self.places, self.columns, self.odds, title or self.title or "belief", self.sentence()
        )

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per place and content that it may have."""
        return [
            {"place": place, "content": what, "probability": share}
            for place, odds in zip(self.places, self.odds, strict=True)
            for what, share in odds.items()
        ]

    def heat(self, colour: bool = False) -> str:
        """A heat map of the board as text, or a table if the places do not form a board.

        `colour` adds the codes that colour a terminal: the likelier, the brighter.
        """
        cells = self._cells()
        if not self.columns:
            widths = [max(len(text) for text, _ in column) for column in zip(*cells, strict=True)]
            cells = [[(f"{text:>{w}}", heat) for (text, heat), w in zip(row, widths, strict=True)] for row in cells]
        else:
            cells = [[(f" {text:^6} ", heat) for text, heat in row] if len(row) > 1 else row for row in cells]
        gap = "" if self.columns else "  "
        lines = [gap.join(ansi(text, heat if colour else None) for text, heat in row).rstrip() for row in cells]
        return "\n".join(lines)

    def _cells(self) -> list[list[tuple[str, float | None]]]:
        """The rows of the map or table: each cell has a text, and a heat if its content is uncertain."""
        rows: list[list[tuple[str, float | None]]] = []
        if self.columns:
            board = ""
            for first in range(0, len(self.places), self.columns):
                if (name := self.places[first].rpartition(" ")[0]) != board:
                    board = name
                    rows.append([(name, None)])
                rows.append([_likeliest(odds) for odds in self.odds[first : first + self.columns]])
            return rows
        contents = sorted({what for odds in self.odds for what in odds})
        rows.append([("", None), *((what, None) for what in contents)])
        for place, odds in zip(self.places, self.odds, strict=True):
            if PLAYED not in odds:
                cells = [(f"{odds[what]:.0%}", _heat(odds[what])) if what in odds else ("", None) for what in contents]
                rows.append([(place, None), *cells])
        return rows

    def summary(self) -> dict[str, Any]:
        """All of it as plain data: what `foglight belief --json` prints."""
        return {
            "worlds": self.worlds,
            "exact": self.exact,
            "places": dict(zip(self.places, self.odds, strict=True)),
            "histories": self.histories,
            "deals": self.deals,
        }

    def _worlds_text(self) -> str:
        unit = "deal" if self.exact and getattr(self.source, "method", "") == "deals" else "world"
        if self.exact and self.worlds == 1:
            return f"the only {unit}"
        number = f"{self.worlds:,}" if self.worlds < _MANY else f"about {float(self.worlds):.2g}"
        return f"{'all' if self.exact else 'a sample of'} {number} {unit}s"

    def sentence(self) -> str:
        """How many worlds there are behind the probabilities, and how they are weighted."""
        alike = getattr(self.source, "policy", None) is None
        weights = "every history alike" if alike else "histories by their reach probability"
        return f"{self._worlds_text()} that agree{'s' * (self.worlds == 1)} with this, {weights}"

    def text(self, colour: bool = False) -> str:
        """What the viewer has observed, and the heat map; `colour` as in `heat`."""
        head = f"{self.information}\n\n" if self.information else ""
        return f"{head}{self.sentence()}:\n\n{self.heat(colour)}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Marginals: {self.title or 'belief'}, {len(self.places)} places, {self._worlds_text()}>"

    def _repr_svg_(self) -> str:
        return self.drawing().svg()


def _likeliest(odds: dict[str, float]) -> tuple[str, float | None]:
    """The likeliest content of a place other than nothing, as text with its probability, and its heat."""
    what, share = likeliest(odds)
    heat = _heat(share)
    return (f"{what:>5}" if heat is None else f"{what} {share:>3.0%}"), heat


def _counted(count: Callable[[], int] | None) -> int | None:
    try:
        return count() if count else None
    except BadInput:
        return None


def _heat(share: float) -> float | None:
    """The heat of a probability; None if it is 0 or 1."""
    return share if uncertain(share) else None


def marginals(game: Game, worlds: Sequence[Any], weights: Sequence[float], exact: bool) -> Marginals:
    """Add up the contents of each place over weighted worlds."""
    names, columns = places(game)
    if not names:
        raise BadInput(f"{game} has no rules `places` and `contents`, so a belief cannot be shown by place")
    sums: list[dict[str, float]] = [{} for _ in names]
    for world, weight in zip(worlds, weights, strict=True):
        for place, what in zip(sums, contents(game, world), strict=True):
            place[what] = place.get(what, 0.0) + float(weight)
    total = float(sum(weights))
    odds = [
        {what: weight / total for what, weight in sorted(place.items(), key=lambda item: -item[1])} for place in sums
    ]
    return Marginals(names, columns, odds, len(worlds), exact)
