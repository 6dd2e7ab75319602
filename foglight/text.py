"""Text for people: names of cells, boards as grids, sentences about seats, and tables as text and as HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def cell(i: int, cols: int) -> str:
    """The name of a cell counted row by row: a letter for the column, a number for the row."""
    return f"{chr(ord('a') + int(i) % cols)}{int(i) // cols + 1}"


def who(seat: int, viewer: int) -> str:
    """A seat from the viewer's point of view: `you` or `seat 1`."""
    return "you" if seat == viewer else f"seat {seat}"


def does(seat: int, viewer: int, verb: str) -> str:
    """A seat's action from the viewer's point of view: `you play` or `seat 1 plays`."""
    return f"you {verb}" if seat == viewer else f"seat {seat} {verb}s"


def marks(n: int, sets: dict[str, Any]) -> list[str]:
    """For each of n cells the mark of the first set (of bits) that contains it, or `.` if none does."""
    return [next((mark for mark, cells in sets.items() if int(cells) >> i & 1), ".") for i in range(n)]


def grid(rows: int, cols: int, sets: dict[str, Any], slant: int = 0) -> str:
    """A board with a mark on each cell of each set (of bits); each row begins `slant` characters further right."""
    lines = ["   " + " ".join(chr(ord("a") + c) for c in range(cols))]
    shown = marks(rows * cols, sets)
    for r in range(rows):
        lines.append(f"{r + 1:>2} " + " " * (slant * r) + " ".join(shown[r * cols : (r + 1) * cols]))
    return "\n".join(lines)


def aligned(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table of text; the keys of the first row are the headings. Columns of numbers stand right."""
    if not rows:
        return ""
    columns = list(rows[0])
    cells = [columns, *([str(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [all(isinstance(row[column], int | float) for row in rows) for column in columns]
    lines = [
        "  ".join(
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join(lines)


def html_table(
    rows: Sequence[Mapping[str, Any]], caption: str = "", glow: Mapping[tuple[int, str], float] | None = None
) -> str:
    """Rows as a table of HTML; `glow` has, by the number of a row and its column, the heat of a cell from 0 to 1."""
    head = "".join(f"<th>{escape(str(column))}</th>" for column in (rows[0] if rows else ()))
    glow, lines = glow or {}, []
    for number, row in enumerate(rows):
        cells = "".join(f"<td{_style(glow.get((number, name)))}>{_cell(value)}</td>" for name, value in row.items())
        lines.append(f"<tr>{cells}</tr>")
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def html_text(text: str, caption: str = "") -> str:
    """Text with fixed columns, such as a board, as HTML."""
    title = f"<div>{escape(caption)}</div>" if caption else ""
    return f"{title}<pre>{escape(text)}</pre>"


def warmth(share: float) -> tuple[int, int, int]:
    """The colour of a probability in a heat map, as red, green and blue."""
    level = int(40 + 180 * share)
    return level, level // 4, 0


def _cell(value: Any) -> str:
    return escape(str(value)).replace("\n", "<br>")


def _style(share: float | None) -> str:
    if share is None:
        return ""
    red, green, blue = warmth(share)
    return f' style="background:rgb({red},{green},{blue});color:white"'
