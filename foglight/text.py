"""Text for people: names of cells, boards as grids, sentences about seats, and tables as text, Markdown and HTML."""

from collections.abc import Iterable, Mapping, Sequence
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
    shown = ["."] * n
    for mark, cells in reversed(sets.items()):
        bits = int(cells)
        for i in range(n):
            if bits >> i & 1:
                shown[i] = mark
    return shown


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


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]], left: Iterable[int] = (0,)) -> str:
    """A Markdown table; the columns with the numbers `left` are aligned to the left, all others to the right."""
    marks = ["---" if i in set(left) else "---:" for i in range(len(columns))]
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(marks)}|"]
    lines += ["|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def html_table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """Rows as a table of HTML; the keys of the first row are the headings."""
    head = "".join(f"<th>{_escape(str(column))}</th>" for column in (rows[0] if rows else ()))
    lines = ["".join(f"<td>{_escape(str(value))}</td>" for value in row.values()) for row in rows]
    title, body = (
        f"<caption>{_escape(caption)}</caption>" if caption else "",
        "".join(f"<tr>{row}</tr>" for row in lines),
    )
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_text(text: str, caption: str = "") -> str:
    """Text with fixed columns, such as a board, as HTML."""
    title = f"<div>{_escape(caption)}</div>" if caption else ""
    return f"{title}<pre>{_escape(text)}</pre>"


def html_bar(text: str, done: int, total: int | None, speed: str = "") -> str:
    """How much of something is done, as HTML."""
    share = "" if total is None else f' value="{done}" max="{max(total, 1)}"'
    count = "" if total is None else f" {done:,} of {total:,}"
    return f"<div>{_escape(text)} <progress{share}></progress>{count}{'&ensp;' * bool(speed)}{_escape(speed)}</div>"


def _escape(text: str) -> str:
    from html import escape  # its table of entities would slow down `import foglight`

    return escape(text)


def ansi(text: str, heat: float | None) -> str:
    """Text on the colour of its heat, from 0 to 1, by the codes of terminals; without heat it stays as it is."""
    if heat is None:
        return text
    level = int(40 + 180 * heat)
    return f"\x1b[48;2;{level};{level // 4};0m{text}\x1b[0m"
