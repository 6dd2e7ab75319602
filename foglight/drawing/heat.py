"""A belief laid over a drawing: at each place what is there most likely, with its probability as number and colour."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foglight.drawing.layouts import (
    LABEL,
    MARGIN,
    Cell,
    Faces,
    beside,
    boards_of,
    card_face,
    faced,
    finished,
    line,
    moved,
    squares,
    stacked,
    text_width,
    with_caption,
)
from foglight.drawing.model import Drawing, Item, placed

EMPTY, PLAYED = ".", "played"  # contents of a place: nothing; a card that was played, of which nothing is hidden
_ROWS, _HIGH = 13, 24.0  # of a table: rows before it goes on in a block beside it, and their height

Odds = Sequence[Mapping[str, float]]


def belief_drawing(
    sight: Drawing | None, names: Sequence[str], columns: int, odds: Odds, title: str, below: str
) -> Drawing:
    """The belief laid over what the viewer sees, if the places form boards; otherwise as a table below that."""
    if columns and sight is not None and len(placed(sight.items)) == len(names):
        items = tuple(_heated(item, names, odds, sight.faces) for item in sight.items)
        return with_caption(replace(sight, items=items, title=title), below)
    if columns:
        return with_caption(finished(_boards(names, columns, odds), title), below)
    seen = [replace(item, place=None, actions=()) for item in sight.items] if sight is not None else []
    table = stacked(seen, moved(_table(names, odds), MARGIN if seen else 0.0, 0.0))
    return with_caption(finished(moved(table, -MARGIN, -MARGIN) if seen else table, title), below)


def likeliest(odds: Mapping[str, float]) -> tuple[str, float]:
    """The likeliest content of a place other than nothing, and its probability; nothing, if there is no other."""
    things = {what: share for what, share in odds.items() if what != EMPTY}
    return max(things.items(), key=lambda item: item[1]) if things else (EMPTY, 0.0)


def uncertain(share: float) -> bool:
    return 0.0 < share < 1 - 1e-9


def _heated(item: Item, names: Sequence[str], odds: Odds, faces: Faces) -> Item:
    """The item of a place with what the belief says of it; what the viewer sees there, and is certain of, stays."""
    if item.place is None:
        return replace(item, actions=())
    what, share = likeliest(odds[item.place])
    said = ", ".join(f"{'empty' if thing == EMPTY else thing} {p:.0%}" for thing, p in odds[item.place].items())
    item = replace(item, title=f"{names[item.place]}: {said}", actions=())
    if item.text and not uncertain(share):
        return item
    text, look = faced(what, faces)
    role = " ".join(word for word in item.role.split() if word != "unseen")
    heat, note = (share, f"{share:.0%}") if uncertain(share) else (None, "")
    return replace(item, text=text, look=look, role=role, heat=heat, note=note)


def _boards(names: Sequence[str], columns: int, odds: Odds) -> list[Item]:
    def board(places: range) -> list[Item]:
        items = squares([names[i] for i in places], columns, [Cell()] * len(places), {}, places[0])
        return [_heated(item, names, odds, {}) for item in items]

    return boards_of(names, columns, board)


def _table(names: Sequence[str], odds: Odds) -> list[Item]:
    """One row per place, one column per content; cards that were played are left out."""
    shown = [i for i in range(len(names)) if PLAYED not in odds[i]]
    contents = sorted({what for i in shown for what in odds[i]})
    heads = ["none" if what == EMPTY else card_face(what)[0] for what in contents]
    first = max((text_width(card_face(names[i])[0]) for i in shown), default=0.0) + 12
    wide = max(44.0, max((text_width(name, "label") for name in heads), default=0.0) + 8)
    rows = -(-len(shown) // max(1, -(-len(shown) // _ROWS)))  # as many in each block
    blocks = []
    for start in range(0, len(shown), max(rows, 1)):
        block = [
            Item("text", first + wide * (column + 0.5), LABEL / 2, text=name, role="label")
            for column, name in enumerate(heads)
        ]
        for row, i in enumerate(shown[start : start + rows]):
            y = LABEL + _HIGH * (row + 0.5)
            said = ", ".join(f"{what} {share:.0%}" for what, share in odds[i].items())
            block.append(replace(line(0.0, y, card_face(names[i])[0]), place=i, title=f"{names[i]}: {said}"))
            for column, what in enumerate(contents):
                share = odds[i].get(what, 0.0)
                cell = Item("cell", first + wide * (column + 0.5), y, wide, _HIGH, f"{share:.0%}")
                block += [replace(cell, heat=share if uncertain(share) else None)] if share > 0.0 else []
        blocks.append(block)
    return beside(*blocks)
