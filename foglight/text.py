"""Text for people: names of cells, boards as grids, and sentences about seats."""

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
