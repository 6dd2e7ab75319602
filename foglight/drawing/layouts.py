"""Where things go: boards of squares and of hexagons, rows of cards and dice, lines of text, buttons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from foglight.drawing.model import Drawing, Item, placed

SIDE = 40.0  # of a square
CARD, FAN = (36.0, 50.0), 23.0  # the size of a card; the step from card to card in a hand
DIE = 34.0
MARGIN, LABEL, LINE = 12.0, 16.0, 20.0  # around everything; room for names of rows and columns; of a line of text
MARKS = {"x": ("x", "first"), "o": ("o", "second")}  # the faces of noughts and crosses, and of stones
_SUITS = {"c": ("♣", "clubs"), "d": ("♦", "diamonds"), "h": ("♥", "hearts"), "s": ("♠", "spades")}
_RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "10"}


@dataclass(frozen=True)
class Cell:
    """What a place of a board shows."""

    content: str = "."
    role: str = ""
    actions: tuple[int, ...] = ()
    said: str = ""  # the content in words, if its face says more than its letter


Faces = Mapping[str, tuple[str, str]]


# Boards ---------------------------------------------------------------------------------------------------------


def squares(names: Sequence[str], columns: int, cells: Sequence[Cell], faces: Faces, first: int = 0) -> list[Item]:
    """A board of squares, row by row, with names of rows on the left and of columns below, from place `first` on."""
    rows = len(cells) // columns
    items = [
        _cell(
            "square",
            LABEL + SIDE * (i % columns + 0.5),
            SIDE * (i // columns + 0.5),
            names[i],
            cells[i],
            faces,
            first + i,
        )
        for i in range(len(cells))
    ]
    letters = [name.rpartition(" ")[2] for name in names]
    for column in range(columns):
        items.append(
            Item("text", LABEL + SIDE * (column + 0.5), SIDE * rows + LABEL / 2, text=letters[column][:1], role="label")
        )
    for row in range(rows):
        items.append(Item("text", LABEL / 2, SIDE * (row + 0.5), text=letters[row * columns][1:], role="label"))
    return items


def chequered(columns: int, i: int) -> str:
    """The role of square i of a chess board, counted from the top left."""
    return "light" if (i // columns + i % columns) % 2 == 0 else "dark"


def hexagons(names: Sequence[str], columns: int, cells: Sequence[Cell], faces: Faces) -> list[Item]:
    """A board of Hex: each row half a cell further right. Solid lines are sides of seat 0, dashed ones of seat 1."""
    rows, step, tall = len(cells) // columns, SIDE * sqrt(3) / 2, SIDE * 2 / sqrt(3)

    def centre(row: float, column: float) -> tuple[float, float]:
        return LABEL + 6 + SIDE * (column + row / 2 + 0.5), LABEL + 6 + tall / 2 + step * row

    items, lines = [], []
    for column in range(columns):
        x, y = centre(0, column)
        items.append(Item("text", x, LABEL / 2, text=names[column][:1], role="label"))
    for row in range(rows):
        x, y = centre(row, 0)
        items.append(Item("text", x - SIDE / 2 - 14, y, text=names[row * columns][1:], role="label"))
    left, top = centre(0, 0)
    bottom, low = centre(rows - 1, 0)
    wide, gap = SIDE * (columns - 1), tall / 2 + 3
    for x, y in ((left, top - gap), (bottom, low + gap)):
        lines.append(Item("line", x - SIDE / 2 + 4, y, wide + SIDE - 8, 0.0, role="first", title="side of x"))
    for x, y in ((left - SIDE / 2 - 3, top), (left + wide + SIDE / 2 + 3, top)):
        lines.append(Item("line", x, y, SIDE / 2 * (rows - 1), low - top, role="second", title="side of o"))
    for i, cell in enumerate(cells):
        items.append(_cell("hexagon", *centre(i // columns, i % columns), names[i], cell, faces, i, tall))
    return [*lines, *items]


def _cell(
    shape: str, x: float, y: float, name: str, cell: Cell, faces: Faces, place: int, height: float = SIDE
) -> Item:
    text, look = faced(cell.content, faces)
    said = cell.said or ("unseen" if "unseen" in cell.role else "empty" if cell.content == "." else cell.content)
    return Item(shape, x, y, SIDE, height, text, cell.role, look, f"{name}: {said}", place, cell.actions)


def faced(content: str, faces: Faces) -> tuple[str, str]:
    """The text and the look of a content."""
    return faces.get(content, ("" if content == "." else content, ""))


# Cards and dice ---------------------------------------------------------------------------------------------------


def card(x: float, y: float, text: str = "", title: str = "", **options: object) -> Item:
    """A card with its upper left corner here: `Qs`, or any short text."""
    shown, look, said = card_face(text)
    item = Item("card", x + CARD[0] / 2, y + CARD[1] / 2, *CARD, shown, look=look, title=title or said)
    return replace(item, **options)  # type: ignore[arg-type]


def card_face(text: str) -> tuple[str, str, str]:
    """The text of a card such as `Qs` with the sign of its suit, its look, and the card in words."""
    if len(text) != 2 or text[1] not in _SUITS or text[0] not in "23456789TJQKA":
        return text, "", text
    sign, suit = _SUITS[text[1]]
    rank = "10" if text[0] == "T" else text[0]
    return rank + sign, "red" if text[1] in "dh" else "", f"{_RANKS.get(text[0], rank)} of {suit}"


def back(x: float, y: float, title: str = "a card face down", **options: object) -> Item:
    """A card face down."""
    return card(x, y, "", title, role="back", **options)


def slot(x: float, y: float, title: str = "no card yet", **options: object) -> Item:
    """The place of a card that is not there."""
    return card(x, y, "", title, role="slot", **options)


def die(x: float, y: float, face: int | str) -> Item:
    """A die with its upper left corner here; any text but a number is a die under a cup."""
    hidden = not isinstance(face, int)
    title = "a die that is hidden" if hidden else f"a die that shows {face}"
    return Item("die", x + DIE / 2, y + DIE / 2, DIE, DIE, str(face), "back" if hidden else "", title=title)


# Text and buttons ---------------------------------------------------------------------------------------------------


def line(x: float, y: float, text: str, role: str = "note") -> Item:
    """A line of text that begins here; y is its middle."""
    return Item("text", x, y, text_width(text, role), LINE, text, role)


def text_width(text: str, role: str = "note") -> float:
    """About how wide a text is."""
    return len(text) * {"head": 8.2, "mono": 8.0, "label": 6.5}.get(role, 7.4)


def lines(text: str, x: float = 0.0, y: float = 0.0, role: str = "mono") -> list[Item]:
    """A text of several lines."""
    return [line(x, y + LINE * (i + 0.5), one, role) for i, one in enumerate(text.splitlines())]


def buttons(choices: Iterable[tuple[int, str]], x: float, y: float, width: float) -> list[Item]:
    """One button per action with its name, in rows of this width."""
    items, right = [], x
    for action, name in choices:
        wide = text_width(name) + 20
        if right > x and right + wide > x + width:
            right, y = x, y + 34
        items.append(Item("button", right + wide / 2, y + 14, wide, 28.0, name, title=name, actions=(action,)))
        right += wide + 8
    return items


# Whole drawings -----------------------------------------------------------------------------------------------------


def moved(items: Iterable[Item], x: float, y: float) -> list[Item]:
    """The items somewhere else."""
    return [replace(item, x=item.x + x, y=item.y + y) for item in items]


def extent(items: Iterable[Item]) -> tuple[float, float]:
    """How far the items reach to the right and downwards."""
    right, low = 0.0, 0.0
    for item in items:
        whole = item.shape == "line" or (item.shape == "text" and item.role != "label")
        right = max(right, item.x + item.width * (1.0 if whole else 0.5))
        low = max(low, item.y + (item.height if item.shape == "line" else max(item.height, LABEL) / 2))
    return right, low


def stacked(*parts: Sequence[Item], gap: float = 8.0) -> list[Item]:
    """Parts one below the other."""
    items: list[Item] = []
    y = 0.0
    for part in parts:
        if part:
            items += moved(part, 0.0, y)
            y += extent(part)[1] + gap
    return items


def beside(*parts: Sequence[Item], gap: float = 24.0) -> list[Item]:
    """Parts one right of the other."""
    items: list[Item] = []
    x = 0.0
    for part in parts:
        if part:
            items += moved(part, x, 0.0)
            x += extent(part)[0] + gap
    return items


def finished(items: Sequence[Item], title: str = "", faces: Faces | None = None) -> Drawing:
    """A drawing of these items with a margin around them."""
    right, low = extent(items)
    return Drawing(
        tuple(moved(items, MARGIN, MARGIN)),
        round(right + 2 * MARGIN),
        round(low + 2 * MARGIN),
        title,
        dict(faces or {}),
    )


def with_seen(drawing: Drawing, truth: Drawing, places: Iterable[int]) -> Drawing:
    """The drawing with some of its places as they are in the drawing of the truth."""
    seen = {place: item for place, item in placed(truth.items).items() if place in set(places)}
    items = []
    for item in drawing.items:
        if item.place in seen:
            true = seen[item.place]
            item = replace(item, text=true.text, look=true.look, title=true.title, role=f"{true.role} seen")
        items.append(item)
    return replace(drawing, items=tuple(items))


def with_choices(drawing: Drawing, legal: Mapping[int, str]) -> Drawing:
    """The drawing with the legal actions alone, named here; those that no item has become buttons below it."""
    items = [replace(item, actions=tuple(a for a in item.actions if a in legal)) for item in drawing.items]
    found = {action for item in items for action in item.actions}
    width = max(drawing.width, 320.0)
    more = buttons(
        [(action, name) for action, name in legal.items() if action not in found],
        MARGIN,
        drawing.height,
        width - 2 * MARGIN,
    )
    if not more:
        return replace(drawing, items=tuple(items))
    right, low = extent(more)
    return replace(
        drawing, items=(*items, *more), width=round(max(drawing.width, right + MARGIN)), height=round(low + MARGIN)
    )


def with_caption(drawing: Drawing, text: str) -> Drawing:
    """The drawing with a text below it."""
    rows = [""]
    for word in text.split(" "):
        if rows[-1] and text_width(f"{rows[-1]} {word}") > max(drawing.width, 260.0) - 2 * MARGIN:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    caption = lines("\n".join(rows), MARGIN, drawing.height - 4, "note")
    right = max((item.x + item.width for item in caption), default=0.0)
    return replace(
        drawing,
        items=(*drawing.items, *caption),
        width=max(drawing.width, round(right + MARGIN)),
        height=round(drawing.height + LINE * len(caption) + 4),
    )


def board_drawing(
    names: Sequence[str], columns: int, cells: Sequence[Cell], title: str, faces: Faces, below: Sequence[str] = ()
) -> Drawing:
    """A board of squares with lines of text below it."""
    return finished(
        stacked(squares(names, columns, cells, faces), lines("\n".join(below), LABEL, role="note")), title, faces
    )


def drawing_title(game: object, seat: int | None) -> str:
    """What a drawing shows, in words."""
    return str(game) if seat is None else f"{game}: what seat {seat} sees"


def hands_drawing(
    game: object, seat: int | None, cards: Sequence[str], below: Sequence[str], public: str | None = None
) -> Drawing:
    """Two seats with one card each, `.` for none, and perhaps a public card between them, empty before it is turned.

    A seat that has no card yet does not know whether the other has one.
    """
    step, items = CARD[0] + 44, []
    for one, held in enumerate(cards):
        x = (step * one if public is None else 2 * step * one) + 10
        items.append(
            Item("text", x + CARD[0] / 2, LABEL / 2, text="you" if one == seat else f"seat {one}", role="label")
        )
        if (seat is None and held == ".") or (seat is not None and cards[seat] == "."):
            items.append(slot(x, LABEL + 2, place=one))
        elif seat in (None, one):
            items.append(card(x, LABEL + 2, held, place=one))
        else:
            items.append(back(x, LABEL + 2, place=one))
    if public is not None:
        items.append(Item("text", step + 10 + CARD[0] / 2, LABEL / 2, text="public", role="label"))
        items.append(card(step + 10, LABEL + 2, public) if public else slot(step + 10, LABEL + 2))
    return finished(stacked(items, lines("\n".join(below), 10.0, role="note")), drawing_title(game, seat))


def plain_drawing(text: str, title: str, names: Sequence[str], columns: int, contents: Sequence[str]) -> Drawing:
    """The drawing of a game that says nothing of its own: its places on boards of squares, if they form any, or text.

    Without `contents`, which a seat does not see, the squares are unseen, and the text stands above them.
    """
    if not columns or not names:
        return finished(lines(text), title)
    cells = [Cell(content) for content in contents] or [Cell(role="unseen")] * len(names)
    boards = boards_of(
        names,
        columns,
        lambda board: squares([names[i] for i in board], columns, [cells[i] for i in board], {}, board[0]),
    )
    return finished(stacked([] if contents else lines(text), boards), title)


def boards_of(names: Sequence[str], columns: int, make: Callable[[range], list[Item]]) -> list[Item]:
    """Boards side by side, with their names above: `seat 0 a1` and `seat 1 a1` are on two boards."""
    parts: list[list[Item]] = []
    start = 0
    while start < len(names):
        name = names[start].rpartition(" ")[0]
        end = start
        while end < len(names) and names[end].rpartition(" ")[0] == name:
            end += columns
        parts.append(stacked([line(LABEL, LINE / 2, name, "head")] if name else [], make(range(start, end)), gap=4.0))
        start = end
    return beside(*parts)
