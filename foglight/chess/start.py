"""A position to start a game from, as a parameter: written as FEN, held as whole numbers that compiled rules can read.

    start   size, then the five words of the position, each as its low and its high 32 bits; all 0: the standard start

In texts of games an underscore may stand for each space of the FEN, as in `start=r1kr/pppp/PPPP/R1KR_w_-_-_0_1`.
"""

import numpy as np
from numpy import uint64

from foglight.bits import bit, count, get
from foglight.chess import moves, notation
from foglight.chess.board import (
    BLACK,
    CASTLING,
    CLOCK,
    CLOCK_LIMIT,
    EN_PASSANT,
    KING,
    LAST_RANK,
    PAWN,
    ROOK,
    TURN,
    WHITE,
    WORDS,
    kind_at,
    occupied,
    of_kind,
    pieces_of,
)
from foglight.compile import jitable
from foglight.names import BadInput, Coded

STANDARD = (0,) * (1 + 2 * WORDS)
MOST_PIECES = 16  # of one side; more could have more moves than lists have room for
_WORD = "standard"
_NAMES = ("black", "white")
# the rights to castle by bit: letter, colour, squares of king and rook
_CASTLING = (("K", WHITE, 4, 7), ("Q", WHITE, 4, 0), ("k", BLACK, 60, 63), ("q", BLACK, 60, 56))


@jitable
def _word(start, i):
    return uint64(start[1 + 2 * i]) | uint64(start[2 + 2 * i]) << uint64(32)


@jitable
def start_words(start):
    """The words of the position."""
    return _word(start, 0), _word(start, 1), _word(start, 2), _word(start, 3), _word(start, 4)


def _read(text: str) -> tuple[int, ...]:
    if text == _WORD:
        return STANDARD
    try:
        size, board = notation.read_fen(text.replace("_", " "))
    except BadInput as error:
        raise BadInput(f"is no position: {error}") from None
    fault = _fault(size, board)
    if fault:
        raise BadInput(f"is no position to play from: {fault}")
    halves = (int(word) >> shift & 0xFFFFFFFF for word in board for shift in (0, 32))
    return (size, *halves)


def _write(start: tuple[int, ...]) -> str:
    if start == STANDARD:
        return _WORD
    if len(start) != len(STANDARD) or not 4 <= start[0] <= 8 or not all(0 <= half < 2**32 for half in start[1:]):
        raise BadInput(f"must be {POSITION}, not {list(start)}")
    return notation.fen(start[0], np.array(start_words(start))).replace(" ", "_")


POSITION = Coded(f"{_WORD}, or a FEN with _ for spaces", _read, _write)


def _fault(size: int, board: np.ndarray) -> str:
    """Why nobody can play from a position, and what to do; empty if one can."""
    kings, pawns = of_kind(board, KING), of_kind(board, PAWN)
    for colour, name in enumerate(_NAMES):
        own = pieces_of(board, colour)
        if count(own & kings) != 1:
            return f"{name} has {count(own & kings) or 'no'} kings; place exactly one"
        if count(own) > MOST_PIECES:
            return f"{name} has {count(own)} pieces; place at most {MOST_PIECES}"
    ends = pawns & (LAST_RANK[size] | LAST_RANK[size] >> uint64(8 * size - 8))
    if ends:
        return f"a pawn is on the first or the last rank, {notation.square_name(int(ends).bit_length() - 1)}; move it"
    for i, (letter, colour, king, corner) in enumerate(_CASTLING):
        home = pieces_of(board, colour) & (bit(king) & kings | bit(corner) & of_kind(board, ROOK))
        if get(board, CASTLING) >> i & 1 and (size != 8 or count(home) != 2):
            return f"the right to castle {letter} needs king and rook at home on a board of 8x8; leave it out"
    passed, colour = get(board, EN_PASSANT), get(board, TURN)
    if passed:
        ahead = passed - 8 if colour == WHITE else passed + 8
        stepped = kind_at(board, ahead) == PAWN and pieces_of(board, 1 - colour) & bit(ahead) != uint64(0)
        if size != 8 or not stepped or occupied(board) & bit(passed) != uint64(0):
            return f"no pawn can just have passed {notation.square_name(passed)}; write - for the en passant square"
    if get(board, CLOCK) >= CLOCK_LIMIT:
        return f"it is drawn, after {CLOCK_LIMIT} plies without capture or pawn move; write a smaller number"
    if not moves.has_move(size, board):
        return f"{_NAMES[colour]} is to move and has no move"
    return ""
