"""Chess in which a side sees only its own pieces: requests, their outcomes, sense actions and observations.

Requests are the moves that would be possible if no enemy piece were on the board, and captures of pawns on any square
without an own piece. Enemy pieces in the way decide the outcome: a sliding piece stops at, and takes, the first piece
that it meets; a pawn stops before it or stays; castling fails if any piece is between king and rook. A request that
fails passes the turn. These are the rules of `reconchess`; there is no check, so castling does not depend on attacks.

actions  0-63: sense around a square; 64: sense nothing; 65 + move: request a move, numbered as in `moves.py`; 4739:
         pass
window   the pieces on the three by three squares around one: nine bits for each of the board's first four words; in
         each, by rows from the lower left, 0 beyond the edge
codes    the observation of a viewer, one number per transition, never 0:
         the seat that senses      1 + action + 2^13 window
         the seat that moves       1 + action + 2^13 landed + 2^20 taken + 2^27 result
         others, after a sense     1
         others, after a move      2 + taken + 2^7 result
         `landed` is 1 + the square entered, or 0; castling enters two squares, of which the lower counts; `taken` is
         1 + the square of a captured piece, or 0; the game defines `result`
"""

import numpy as np
from numpy import int64, uint64

from foglight.bits import bit, count, get, lowest
from foglight.chess.attacks import en_passant, reach
from foglight.chess.board import (
    CASTLING,
    CLOCK,
    FREE_BITS,
    PAWN,
    PLIES,
    STATE,
    TURN,
    WHITE,
    WHITES,
    kind_at,
    occupied,
    pieces_of,
    squares,
)
from foglight.chess.moves import NUM_MOVES, facing, meaning_seen, move_between, play, random_where, write_where
from foglight.compile import jitable

NONE = -1  # no square, no move
NO_SENSE, FIRST_MOVE, PASS = 64, 65, 65 + NUM_MOVES
NUM_ACTIONS = PASS + 1
SENSED = 1  # the observation of others after a sense action
SIZE = 8  # the only size of a board
_CASTLING_FROM = 4  # specials of a move from this on are castling

WINDOW = np.array(  # by square: the set of squares that a sense action there shows
    [squares(lambda f, r, s=s: abs(f - s % 8) <= 1 and abs(r - s // 8) <= 1) for s in range(64)], np.uint64
)


def _between() -> np.ndarray:
    """The squares strictly between two squares on a line, by 64 * start + end; the empty set if there is no line."""
    table = np.zeros(64 * 64, np.uint64)
    for start in range(64):
        for right, up in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            file, rank, passed = start % 8 + right, start // 8 + up, 0
            while 0 <= file < 8 and 0 <= rank < 8:
                table[64 * start + 8 * rank + file] = passed
                passed |= 1 << (8 * rank + file)
                file, rank = file + right, rank + up
    return table


BETWEEN = _between()


# Requests -------------------------------------------------------------------------------------------------------


@jitable
def write_requests(board, out):
    """Write the moves that the side to move may request, ascending, into `out`, and return their number."""
    first, second, third, own, _ = facing(SIZE, board)
    return write_where(SIZE, board, (first, second, third), own, own, ~own, out)


@jitable
def random_request(board, random, out):
    """A uniformly random request, or NUM_MOVES for passing; `out` has room as for `moves.random_move`."""
    first, second, third, own, _ = facing(SIZE, board)
    return random_where(SIZE, board, (first, second, third), own, own, ~own, 1, random, out)


@jitable
def outcome(board, move):
    """The move that is played when `move` is requested, or NONE if the turn is passed."""
    start, end, special = meaning_seen(move)
    over = 0 if get(board, TURN) == WHITE else 56
    start, end = start ^ over, end ^ over
    taken = occupied(board)
    if special >= _CASTLING_FROM:
        corner = start - 4 if end < start else start + 3
        return move if BETWEEN[64 * start + corner] & taken == uint64(0) else NONE
    between = BETWEEN[64 * start + end]
    kind = kind_at(board, start)
    if kind == PAWN:
        if (start ^ end) & 7 != 0:
            prey = pieces_of(board, 1 - get(board, TURN)) | en_passant(board)
            return move if prey & bit(end) != uint64(0) else NONE
        if between & taken != uint64(0):
            return NONE
        if bit(end) & taken == uint64(0):
            return move
        return NONE if between == uint64(0) else move_between(start ^ over, lowest(between) ^ over)
    if between & taken == uint64(0):
        return move
    step = (end - start) // (count(between) + 1)
    return move_between(start ^ over, (start + step * count(between & reach(kind, start, taken))) ^ over)


@jitable
def play_outcome(board, taken_move):
    """Play the outcome of a request in place; the kind and square of the piece that was taken, or EMPTY and 0."""
    if taken_move != NONE:
        return play(SIZE, board, taken_move)
    clock, plies = get(board, CLOCK) + 1, get(board, PLIES) + 1
    rights = uint64(get(board, CASTLING)) << uint64(CASTLING[1])
    board[STATE] = (
        board[STATE] >> uint64(FREE_BITS) << uint64(FREE_BITS)
        | uint64(1 - get(board, TURN))
        | rights
        | uint64(clock) << uint64(CLOCK[1])
        | uint64(plies) << uint64(PLIES[1])
    )
    return 0, 0


# Senses ---------------------------------------------------------------------------------------------------------


@jitable
def window(board, square):
    """The pieces around a square, packed as above."""
    found = uint64(0)
    for i in range(WHITES + 1):
        near = board[i] & WINDOW[square]
        near = near >> uint64(square - 9) if square >= 9 else near << uint64(9 - square)
        nine = near & uint64(0o7) | (near >> uint64(5)) & uint64(0o70) | (near >> uint64(10)) & uint64(0o700)
        found |= nine << uint64(9 * i)
    return int64(found)


@jitable
def unfold(seen, square, out):
    """Write a window into the first four words of a board, all other squares empty."""
    for i in range(WHITES + 1):
        nine = (uint64(seen) >> uint64(9 * i)) & uint64(0o777)
        near = nine & uint64(0o7) | (nine & uint64(0o70)) << uint64(5) | (nine & uint64(0o700)) << uint64(10)
        out[i] = near << uint64(square - 9) if square >= 9 else near >> uint64(9 - square)


# Observations ---------------------------------------------------------------------------------------------------


@jitable
def one_or_none(places):
    """1 + the lowest square of a set, or 0 if it is empty."""
    return 1 + lowest(places) if places != uint64(0) else 0


@jitable
def where_taken(before, after):
    """1 + the square on which the mover has taken a piece, or 0."""
    victim = 1 - get(before, TURN)
    return one_or_none(pieces_of(before, victim) & ~pieces_of(after, victim))


@jitable
def sense_code(board, action):
    """The observation a seat gets from a sense action."""
    seen = 0 if action == NO_SENSE else window(board, action)
    return 1 + action + (seen << 13)


@jitable
def move_code(before, action, after, result):
    """The observation a seat gets from its own move or pass."""
    own = get(before, TURN)
    landed = one_or_none(pieces_of(after, own) & ~pieces_of(before, own))
    return 1 + action + (landed << 13) + (where_taken(before, after) << 20) + (result << 27)


@jitable
def others_code(before, action, after, result):
    """The observation that all other viewers get from an action."""
    return SENSED if action < FIRST_MOVE else 2 + where_taken(before, after) + (result << 7)


@jitable
def parted_sense(code):
    """The action and the window in a code of the seat that senses."""
    return (code - 1) & 0x1FFF, (code - 1) >> 13


@jitable
def parted_move(code):
    """The action, the square entered, the square of a captured piece (NONE without one) and the result.

    `code` is one of the seat that moves.
    """
    code -= 1
    return code & 0x1FFF, (code >> 13 & 127) - 1, (code >> 20 & 127) - 1, code >> 27


@jitable
def parted_other(code):
    """The square of a captured piece (or NONE) and the result in the code that others get after a move."""
    return (code - 2 & 127) - 1, code - 2 >> 7
