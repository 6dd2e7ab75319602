"""A static evaluation of chess positions in centipawns: material, and the squares of the pieces.

    worth = sum over white's pieces of TABLE[kind, square], less the same of black's, seen from its own side

Pieces prefer the centre, knights most; pawns gain by advancing, more so on the middle files; rooks prefer the last rank
but one; kings prefer their own first rank. Attacks, exchanges and the side to move do not count.
"""

import numpy as np
from numpy import int64, uint64

from foglight.bits import lowest, without_lowest
from foglight.chess.board import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK, WHITES, kind_at, occupied
from foglight.compile import jitable

MATERIAL = {PAWN: 100, KNIGHT: 300, KING: 0, BISHOP: 320, ROOK: 500, QUEEN: 900}


def _bonus(size: int, kind: int, file: int, rank: int) -> int:
    """The bonus of a white piece on a square."""
    files = size - 1 - abs(2 * file - (size - 1))  # 0 at the edge, size - 2 or more in the middle
    centre = (files + size - 1 - abs(2 * rank - (size - 1))) // 2
    if kind == PAWN:
        return 4 * (rank - 1) + files * (rank > 1)
    if kind == ROOK:
        return 15 * (rank == size - 2) + files // 2
    if kind == KING:
        return -12 * min(rank, 3)
    return {KNIGHT: 6, BISHOP: 4, QUEEN: 2}[kind] * centre


def _tables() -> np.ndarray:
    """By size of the board, the value at index 64 * (kind, plus 8 for white) + square."""
    tables = np.zeros((9, 16 * 64), np.int64)
    for size in range(4, 9):
        for kind, worth in MATERIAL.items():
            for rank in range(size):
                for file in range(size):
                    square, mirrored = 8 * rank + file, 8 * (size - 1 - rank) + file
                    tables[size, 64 * (kind + 8) + square] = worth + _bonus(size, kind, file, rank)
                    tables[size, 64 * kind + mirrored] = -worth - _bonus(size, kind, file, rank)
    return tables


_TABLE = _tables()


@jitable
def centipawns(size, board):
    """The value of the position to white."""
    rest, worth = occupied(board), int64(0)
    while rest != uint64(0):
        square = lowest(rest)
        white = int64(board[WHITES] >> uint64(square) & uint64(1))
        worth += _TABLE[size, 64 * (kind_at(board, square) + 8 * white) + square]
        rest = without_lowest(rest)
    return worth
