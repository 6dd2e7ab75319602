"""A position to start a game from, as a parameter: written as FEN, held as whole numbers that compiled rules can read.

    start   the five words of the position as signed numbers, the last with the size of the board in its free bits;
            all 0: the standard start

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
    FREE_BITS,
    KING,
    LAST_RANK,
    PAWN,
    ROOK,
    STATE,
    TURN,
    WHITE,
    WORDS,
    kind_at,
    occupied,
    of_kind,
    pieces_of,
)
from foglight.compile import compiled_twin, jitable
from foglight.names import BadInput, Coded

STANDARD = (0,) * WORDS
MOST_PIECES = 16  # of one side; more could have more moves than lists have room for
_STANDARD = "standard"
_STATE = uint64((1 << FREE_BITS) - 1)
_NAMES = ("black", "white")
# the rights to castle by bit: letter, colour, squares of king and rook
_CASTLING = (("K", WHITE, 4, 7), ("Q", WHITE, 4, 0), ("k", BLACK, 60, 63), ("q", BLACK, 60, 56))


def word(number):
    """A signed number as a word."""
    return uint64(int(number) & (2**64 - 1))


@compiled_twin(word)
def _word(number):
    return uint64(number)


@jitable
def start_words(start):
    """The words of the position."""
    return word(start[0]), word(start[1]), word(start[2]), word(start[3]), word(start[4]) & _STATE


def start_size(start: tuple[int, ...]) -> int:
    """The size of the board; 0 for the standard start."""
    return start[STATE] >> FREE_BITS


def _read(text: str) -> tuple[int, ...]:
    if text == _STANDARD:
        return STANDARD
    try:
        size, board = notation.read_fen(text.replace("_", " "))
    except BadInput as error:
        raise BadInput(f"is no position: {error}") from None
    fault = _fault(size, board)
    if fault:
        raise BadInput(f"is no position to play from: {fault}")
    board[STATE] |= uint64(size << FREE_BITS)
    return tuple(board.view(np.int64).tolist())


def _write(start: tuple[int, ...]) -> str:
    if start == STANDARD:
        return _STANDARD
    if len(start) != WORDS or not 4 <= start_size(start) <= 8:
        raise BadInput(f"must be {POSITION}, not {list(start)}")
    return notation.fen(start_size(start), np.array(start_words(start))).replace(" ", "_")


POSITION = Coded(f"{_STANDARD} or a FEN with _ for spaces", _read, _write)


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
