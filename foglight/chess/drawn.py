"""The picture of a chess board, with the moves that a click on a square may mean. In Python only."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from foglight.bits import get
from foglight.chess import notation
from foglight.chess.board import TURN, WHITE, flipped_square, pieces_of
from foglight.chess.moves import NUM_MOVES, meaning_seen
from foglight.drawing.layouts import Cell, board_drawing, chequered
from foglight.drawing.model import Drawing

_KINDS = {"k": ("♚", "king"), "q": ("♛", "queen"), "r": ("♜", "rook"), "b": ("♝", "bishop"), "n": ("♞", "knight")}
_KINDS |= {"p": ("♟", "pawn")}
FACES = {letter.upper(): (sign, "white") for letter, (sign, _) in _KINDS.items()}
FACES |= {letter: (sign, "black") for letter, (sign, _) in _KINDS.items()}


def chess_drawing(
    size: int, signs: Sequence[str], actions: Callable[[int], Sequence[int]], title: str, below: Sequence[str]
) -> Drawing:
    """The board with the signs of its 64 squares, `?` where it is not seen."""
    order = [8 * rank + file for rank in reversed(range(size)) for file in range(size)]
    cells = []
    for i, square in enumerate(order):
        sign, shade = signs[square], chequered(size, i)
        unseen = sign == "?"
        said = f"{'white' if sign.isupper() else 'black'} {_KINDS[sign.lower()][1]}" if sign.lower() in _KINDS else ""
        cells.append(
            Cell("." if unseen else sign, f"{shade} unseen" if unseen else shade, tuple(actions(square)), said)
        )
    return board_drawing([notation.square_name(square) for square in order], size, cells, title, FACES, below)


def moves_by_square(size: int, world: Any, first: int = 0) -> Callable[[int], Sequence[int]]:
    """The actions that a click on a square may mean: moves of the mover's piece there, or of others to that square.

    They follow from the mover's own pieces; not all are legal. Action `first` is move 0.
    """
    own, white = int(pieces_of(world, get(world, TURN))), get(world, TURN) == WHITE
    found: dict[int, list[int]] = {}
    for move, start, end in _meanings(size, white):
        if own >> start & 1 and not own >> end & 1:
            found.setdefault(start, []).append(first + move)
            found.setdefault(end, []).append(first + move)
    return lambda square: found.get(square, ())


@functools.cache
def _meanings(size: int, white: bool) -> list[tuple[int, int, int]]:
    """Each move with its start and end on the board."""
    meanings = []
    for move in range(NUM_MOVES):
        start, end, _ = (int(part) for part in meaning_seen(move))
        if not white:
            start, end = int(flipped_square(size, start)), int(flipped_square(size, end))
        if start != end and all(0 <= square < 64 for square in (start, end)):
            meanings.append((move, start, end))
    return meanings
