"""A belief laid over a drawing: at each place what is there most likely, with its probability as number and colour."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foglight.drawing.layouts import (
    LABEL,
    LINE,
    Cell,
    beside,
    boards_of,
    card_face,
    faced,
    finished,
    line,
    lines,
    moved,
    squares,
    text_width,
)
from foglight.drawing.model import Drawing, Item, placed

EMPTY, PLAYED = ".", "played"  # contents of a place: nothing; a card that was played, of which nothing is hidden
_ROWS = 13  # of a table before it goes on in a block beside it

Odds = Sequence[Mapping[str, float]]


def belief_drawing(
    base: Drawing | None, names: Sequence[str], columns: int, odds: Odds, title: str, below: str
) -> Drawing:
    """The belief on `base`, if every place is drawn there, otherwise on boards, or as a table without them."""
    if base is not None and len(placed(base.items)) == len(names):
        items = [_heated(item, names, odds, base) for item in base.items]
        faces = base.faces
    elif columns:
        items, faces = _boards(names, columns, odds), {}
    else:
        items, faces = _table(names, odds), {}
    picture = (
        finished(items, title, faces)
        if base is None or faces is not base.faces
        else replace(base, items=tuple(items), title=title)
    )
    return _with_caption(picture, below)


def _with_caption(drawing: Drawing, text: str) -> Drawing:
    if not text:
        return drawing
    caption = lines("\n".join(_wrapped(text, max(drawing.width, 260.0))), 12.0, drawing.height - 4, "note")
    width = max(item.x + item.width for item in caption) + 12.0
    return replace(
        drawing,
        items=(*drawing.items, *caption),
        width=max(drawing.width, round(width)),
        height=round(drawing.height + LINE * len(caption) + 4),
    )


def _wrapped(text: str, width: float) -> list[str]:
    rows = [""]
    for word in text.split(" "):
        if rows[-1] and text_width(f"{rows[-1]} {word}") > width - 24:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    return rows


def likeliest(odds: Mapping[str, float]) -> tuple[str, float]:
    """The likeliest content of a place other than nothing, and its probability; nothing, if there is no other."""
    things = {what: share for what, share in odds.items() if what != EMPTY}
    return max(things.items(), key=lambda item: item[1]) if things else (EMPTY, 0.0)


def uncertain(share: float) -> bool:
    return 0.0 < share < 1 - 1e-9


def _heated(item: Item, names: Sequence[str], odds: Odds, base: Drawing) -> Item:
    """The item of a place with what the belief says of it; actions and whatever else was drawn there are left out."""
    if item.place is None:
        return replace(item, actions=())
    here = odds[item.place]
    what, share = likeliest(here)
    text, look = card_face(what)[:2] if item.shape == "card" and what != EMPTY else faced(what, base.faces)
    role = " ".join(word for word in item.role.split() if word not in ("unseen", "back", "slot"))
    said = ", ".join(f"{'empty' if thing == EMPTY else thing} {p:.0%}" for thing, p in here.items())
    title = f"{names[item.place]}: {said}"
    if not uncertain(share):
        if item.shape != "square" and what == EMPTY:
            role = item.role
        return replace(item, text=text, look=look, role=role, title=title, actions=(), heat=None, note="")
    return replace(item, text=text, look=look, role=role, title=title, actions=(), heat=share, note=f"{share:.0%}")


def _boards(names: Sequence[str], columns: int, odds: Odds) -> list[Item]:
    blank = Drawing((), 0, 0)

    def board(places: range) -> list[Item]:
        items = squares([names[i] for i in places], columns, [Cell()] * len(places), {}, places[0])
        return [_heated(item, names, odds, blank) for item in items]

    return boards_of(names, columns, board)


def _table(names: Sequence[str], odds: Odds) -> list[Item]:
    """One row per place, one column per content; cards that were played are left out."""
    shown = [i for i in range(len(names)) if PLAYED not in odds[i]]
    contents = sorted({what for i in shown for what in odds[i]})
    head = [("nothing" if what == EMPTY else what) for what in contents]
    first = max((text_width(_name(names[i])) for i in shown), default=0.0) + 12
    wide = max(44.0, max((text_width(name, "label") for name in head), default=0.0) + 8)
    blocks = []
    for start in range(0, len(shown), _ROWS):
        rows = shown[start : start + _ROWS]
        block = [
            Item("text", first + wide * (column + 0.5), LABEL / 2, text=name, role="label")
            for column, name in enumerate(head)
        ]
        for row, i in enumerate(rows):
            y = LABEL + 24 * (row + 0.5)
            said = ", ".join(f"{what} {share:.0%}" for what, share in odds[i].items())
            block.append(replace(line(0.0, y, _name(names[i])), place=i, title=f"{names[i]}: {said}"))
            for column, what in enumerate(contents):
                share = odds[i].get(what, 0.0)
                item = Item("cell", first + wide * (column + 0.5), y, wide, 24.0, f"{share:.0%}" if share > 0 else "")
                block.append(replace(item, heat=share) if uncertain(share) else item)
        blocks.append(block)
    return moved(beside(*blocks), 0.0, 0.0)


def _name(name: str) -> str:
    return card_face(name)[0]
