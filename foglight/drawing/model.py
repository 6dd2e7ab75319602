"""A drawing as plain data: items with a shape, a position and a text. It can be written as JSON, or as SVG.

Coordinates are in units of which a square of a board has 40; x grows to the right, y downwards. Shapes:

    square, hexagon, cell    a place of a board, or a cell of a table
    card                     a playing card: its text is a rank with a suit (`Q♠`), or any short text
    die                      a die: its text is the number of pips, or any short text
    line                     from (x, y) by (width, height)
    text                     a line of text; its role is `head`, `note`, `label` (small, centred) or `mono`
    button                   an action that belongs to no place

Roles say what a thing is, and the style how that looks. Of an item: `light`, `dark` (squares), `unseen`, `seen` (just
now), `sea`, `back` (a card or die face down), `slot` (no card yet), `best`. The look of a text: `white` and `black`
(chess), `first` and `second` (stones and marks of seats 0 and 1), `red` (suits), `ship`, `hit`, `water`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Item:
    """One thing of a drawing.

    `actions` are those that a click may mean. A click on another item then keeps the actions that both have, as from
    square to square; if several are left, as for a promotion, they are told apart by their names.
    """

    shape: str
    x: float  # of the centre; of a text, where it begins, unless it is a label
    y: float
    width: float = 0.0
    height: float = 0.0
    text: str = ""
    role: str = ""  # words, separated by spaces
    look: str = ""  # of the text
    title: str = ""  # in words, for those who do not see the picture
    place: int | None = None  # index into the names that `places` gives
    actions: tuple[int, ...] = ()
    heat: float | None = None  # a probability above 0 and below 1
    note: str = ""  # small text below the text


@dataclass(frozen=True)
class Drawing:
    """A picture of a game: what one seat sees, or the whole truth.

    Make one by `State.drawing`, or in the rule `drawing` of a game of your own.

        >>> state = fl.new_state("phantom_ttt")
        >>> state.play(state.parse_action("b2"))
        >>> drawing = state.drawing()
        >>> [item.title for item in drawing.items if item.text and item.place is not None]
        ['b2: x']
        >>> drawing.svg()[:4], sorted(drawing.data())
        ('<svg', ['faces', 'height', 'items', 'title', 'width'])
    """

    items: tuple[Item, ...]
    width: float
    height: float
    title: str = ""
    # how contents of places are drawn: content -> text and look; others are drawn as they are written
    faces: dict[str, tuple[str, str]] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """All of it as plain data, which `json.dumps` takes."""
        return asdict(self)

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        from foglight.drawing.svg import svg

        return svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def placed(items: Sequence[Item]) -> dict[int, Item]:
    """The items that stand for a place, by the index of the place."""
    return {item.place: item for item in items if item.place is not None}
