"""A chess position in five words.

square   8 * rank + file on every size: a1 is 0, b1 is 1, a2 is 8; smaller boards use the lower left corner
words    0-2: the kind of the piece on each square, bit by bit; 3: the squares of white's pieces;
         4: side to move, castling rights, en passant square (0: none), plies since the last capture or pawn move,
         plies played; the bits of word 4 from FREE_BITS on belong to the game
kinds    1 pawn, 2 knight, 3 king, 5 bishop, 6 rook, 7 queen: a kind with bit 2 slides, diagonally if it has bit 0,
         straight if it has bit 1
colours  0 black, 1 white
"""

from collections.abc import Callable

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable

BLACK, WHITE = 0, 1
EMPTY, PAWN, KNIGHT, KING, BISHOP, ROOK, QUEEN = 0, 1, 2, 3, 5, 6, 7
WHITES, STATE, WORDS = 3, 4, 5  # the indices of two words, and the number of words

TURN, CASTLING, EN_PASSANT = (STATE, 0, 1), (STATE, 1, 4), (STATE, 5, 6)
CLOCK, PLIES = (STATE, 11, 7), (STATE, 18, 20)
FREE_BITS = 38
CLOCK_LIMIT = 100  # plies without capture or pawn move after which the game is drawn

# bits of the castling rights: right is the king's side, left the queen's side
WHITE_RIGHT, WHITE_LEFT, BLACK_RIGHT, BLACK_LEFT = 1, 2, 4, 8


def squares(test: Callable[..., bool]) -> int:
    """The set of the squares of the 8x8 board for which `test(file, rank)` holds."""
    return sum(1 << (8 * rank + file) for rank in range(8) for file in range(8) if test(file, rank))


_SIZES = range(9)
AREA = np.array([squares(lambda f, r, n=n: f < n and r < n) for n in _SIZES], np.uint64)  # by size
LAST_RANK = np.array([squares(lambda f, r, n=n: f < n and r == n - 1) for n in _SIZES], np.uint64)
# the squares from which a pawn's first step may go on to a second; on the full board only
THIRD_RANK = np.array([squares(lambda f, r, n=n: n == 8 and r == 2) for n in _SIZES], np.uint64)
NOT_A_FILE = np.uint64(squares(lambda f, r: f > 0))
NOT_H_FILE = np.uint64(squares(lambda f, r: f < 7))


@jitable
def occupied(board):
    """The squares with a piece on them."""
    return board[0] | board[1] | board[2]


@jitable
def pieces_of(board, colour):
    """The squares of one side's pieces."""
    return board[WHITES] if colour == WHITE else occupied(board) & ~board[WHITES]


@jitable
def of_kind(board, kind):
    """The squares of all pieces of a kind."""
    found = ~uint64(0)
    for i in range(3):
        found &= board[i] if kind >> i & 1 else ~board[i]
    return found


@jitable
def kind_at(board, square):
    """The kind of the piece on a square, or EMPTY."""
    at = uint64(square)
    one = uint64(1)
    return int64((board[0] >> at) & one | ((board[1] >> at) & one) << one | ((board[2] >> at) & one) << uint64(2))


@jitable
def flipped(size, words):
    """A set of squares with the ranks in reverse order; ranks are bytes, and LLVM swaps them in one instruction."""
    words = (words & uint64(0x00FF00FF00FF00FF)) << uint64(8) | (words >> uint64(8)) & uint64(0x00FF00FF00FF00FF)
    words = (words & uint64(0x0000FFFF0000FFFF)) << uint64(16) | (words >> uint64(16)) & uint64(0x0000FFFF0000FFFF)
    words = words << uint64(32) | words >> uint64(32)
    return words >> uint64(64 - 8 * size)


@jitable
def flipped_square(size, square):
    """A square on the board with the ranks in reverse order."""
    return (square ^ 56) - (64 - 8 * size)
