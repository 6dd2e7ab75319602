"""Chess in which a side sees its own pieces only: what it may request, what becomes of it, what it senses and is told.

Requests are the moves that would be possible if nobody else were on the board, and pawns taking on any square that is
not their own side's. What stands in the way decides what becomes of one: sliding pieces stop at, and take, the first
piece that they meet, pawns stop before it or stay, castling fails if anything is between king and rook. Otherwise the
turn is passed. That is how `reconchess` plays; check is nothing, so castling looks at no attacks.

actions  0-63: sense around a square; 64: sense nothing; 65 + move: request it, numbered as in `moves.py`; 4739: pass
window   what stands on the three by three squares around one: four times nine bits, one for each of the board's first
         four words; in each, from the lower left by rows, 0 beyond the edge
codes    what a viewer is told, one number for a transition, never 0:
         who senses           1 + action + 2^13 window
         who moves            1 + action + 2^13 landed + 2^20 taken + 2^27 result
         others, of a sense   1
         others, of a move    2 + taken + 2^7 result
         `landed` and `taken` are 1 + the square entered, and where a piece was taken, or 0; castling enters two
         squares, the lower one counts; `result` is the game's own
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
from foglight.chess.moves import (
    NUM_MOVES,
    facing,
    meaning_seen,
    move_between,
    play,
    random_where,
    write_where,
)
from foglight.compile import jitable

NONE = -1  # no square, no move
NO_SENSE, FIRST_MOVE, PASS = 64, 65, 65 + NUM_MOVES
NUM_ACTIONS = PASS + 1
SENSED = 1  # what others are told of a sense
SIZE = 8  # the only board
_CASTLING_FROM = 4  # the first special of a move that is castling

WINDOW = np.array(  # by square: those that are sensed
    [squares(lambda f, r, s=s: abs(f - s % 8) <= 1 and abs(r - s // 8) <= 1) for s in range(64)], np.uint64
)


def _between() -> np.ndarray:
    """The squares between two that are on a line, without both; none for others."""
    found = np.zeros(64 * 64, np.uint64)
    for start in range(64):
        for right, up in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            file, rank, passed = start % 8 + right, start // 8 + up, 0
            while 0 <= file < 8 and 0 <= rank < 8:
                found[64 * start + 8 * rank + file] = passed
                passed |= 1 << (8 * rank + file)
                file, rank = file + right, rank + up
    return found


BETWEEN = _between()


# Requests -------------------------------------------------------------------------------------------------------


@jitable
def write_requests(board, out):
    """Write the moves that the side to move may request, ascending, into `out`; how many."""
    first, second, third, own, _ = facing(SIZE, board)
    return write_where(SIZE, board, (first, second, third), own, own, ~own, out)


@jitable
def random_request(board, random, out):
    """One of these or passing, NUM_MOVES, all alike; room as for `moves.random_move`."""
    first, second, third, own, _ = facing(SIZE, board)
    return random_where(SIZE, board, (first, second, third), own, own, ~own, 1, random, out)


@jitable
def outcome(board, move):
    """The move that becomes of a requested one, or NONE if the turn is passed."""
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
    """Play what became of a request, in place; the kind of the piece that was taken, and its square, or EMPTY and 0."""
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
    """What stands around a square."""
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


# What is told ---------------------------------------------------------------------------------------------------


@jitable
def one_or_none(places):
    """1 + the lowest of a set of squares, or 0 if it is empty."""
    return 1 + lowest(places) if places != uint64(0) else 0


@jitable
def where_taken(before, after):
    """1 + the square on which the mover has taken a piece, or 0."""
    victim = 1 - get(before, TURN)
    return one_or_none(pieces_of(before, victim) & ~pieces_of(after, victim))


@jitable
def sense_code(board, action):
    """What a seat is told that senses."""
    seen = 0 if action == NO_SENSE else window(board, action)
    return 1 + action + (seen << 13)


@jitable
def move_code(before, action, after, result):
    """What a seat is told that moves."""
    own = get(before, TURN)
    landed = one_or_none(pieces_of(after, own) & ~pieces_of(before, own))
    return 1 + action + (landed << 13) + (where_taken(before, after) << 20) + (result << 27)


@jitable
def others_code(before, action, after, result):
    """What everybody else is told."""
    return SENSED if action < FIRST_MOVE else 2 + where_taken(before, after) + (result << 7)


@jitable
def parted_sense(code):
    """Action and window of a code of who senses."""
    return (code - 1) & 0x1FFF, (code - 1) >> 13


@jitable
def parted_move(code):
    """Action, square entered, square where a piece was taken (or NONE), and result, of a code of who moves."""
    code -= 1
    return code & 0x1FFF, (code >> 13 & 127) - 1, (code >> 20 & 127) - 1, code >> 27


@jitable
def parted_other(code):
    """Where a piece was taken (or NONE), and result, of the code that others get of a move."""
    return (code - 2 & 127) - 1, code - 2 >> 7
