"""What a side sees of a chess board, as numbers for learners.

Squares are as the side sees them: its own first rank is the lowest, as in the numbers of its moves.
"""

from numpy import uint64

from foglight.bits import has, lowest, without_lowest
from foglight.chess.board import CASTLING, CLOCK, CLOCK_LIMIT, EN_PASSANT, PLIES, TURN, WHITE, flipped_square, kind_at
from foglight.compile import jitable

FACTS = 13
_PLANE = (0, 0, 1, 2, 0, 3, 4, 5)  # by kind of piece
_MANY_PLIES = 400


@jitable
def _place(size, seat, square):
    """The number of a square, from 0 to size^2 - 1, as a side sees it."""
    seen = square if seat == WHITE else flipped_square(size, square)
    return size * (seen >> 3) + (seen & 7)


@jitable
def write_squares(size, seat, squares, out):
    """Mark a set of squares in one plane."""
    while squares != uint64(0):
        out[_place(size, seat, lowest(squares))] = 1.0
        squares = without_lowest(squares)


@jitable
def write_pieces(size, board, seat, squares, out):
    """Mark the pieces on a set of squares in six planes: pawns, knights, kings, bishops, rooks, queens."""
    while squares != uint64(0):
        square = lowest(squares)
        kind = kind_at(board, square)
        if kind != 0:
            out[_PLANE[kind] * size * size + _place(size, seat, square)] = 1.0
        squares = without_lowest(squares)


@jitable
def write_facts(size, state, seat, out):
    """Write 13 numbers of the word `state` of a board, in which the bits that the seat does not know are 0.

    They are: whether the seat is to move, its rights to castle to the right and to the left, the file of the en passant
    square, the clock and the plies played.
    """
    out[0] = ((state >> uint64(TURN[1])) & uint64(1)) == uint64(seat)
    rights = CASTLING[1] if seat == WHITE else CASTLING[1] + 2
    out[1], out[2] = has(state, rights), has(state, rights + 1)
    passed = (state >> uint64(EN_PASSANT[1])) & uint64(63)
    if passed != uint64(0):
        out[3 + (passed & uint64(7))] = 1.0
    out[11] = ((state >> uint64(CLOCK[1])) & uint64(127)) / CLOCK_LIMIT
    out[12] = min(((state >> uint64(PLIES[1])) & uint64(0xFFFFF)) / _MANY_PLIES, 1.0)
