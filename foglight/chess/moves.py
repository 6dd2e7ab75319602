"""Pseudo-legal moves: list them, draw one at random, play one.

A move is an integer, numbered as in OpenSpiel, and always as the side that moves sees it: black counts the ranks from
its own side. There are 73 numbers for each square that a piece may leave:

    move  = 73 * (8 * file + rank) + plane
    plane   0-8: a pawn promotes to a rook, a bishop, a knight, each of them ahead, taking to the right, to the left;
            9-22: along the file, by -7 to -1 and 1 to 7; 23-36: along the rank; 37-50: along the rising diagonal;
            51-64: along the falling diagonal, by files; 65-72: the knight's leaps
    4672 and 4673: castling to the left and to the right

A pawn that reaches the last rank by a plane from 9 on promotes to a queen. Double steps, en passant and castling exist
on the full board only.
"""

import numpy as np
from numpy import int64, uint64

from foglight.bits import bit, count, get, lowest, nth, without_lowest
from foglight.chess.attacks import A_FILE, FALLING, FILE, RANK, RISING, en_passant, reach
from foglight.chess.board import (
    AREA,
    BISHOP,
    BLACK_LEFT,
    BLACK_RIGHT,
    CASTLING,
    CLOCK,
    EMPTY,
    EN_PASSANT,
    FREE_BITS,
    KNIGHT,
    LAST_RANK,
    NOT_A_FILE,
    NOT_H_FILE,
    PAWN,
    PLIES,
    QUEEN,
    ROOK,
    STATE,
    THIRD_RANK,
    TURN,
    WHITE,
    WHITE_LEFT,
    WHITE_RIGHT,
    WHITES,
    flipped,
    flipped_square,
    kind_at,
    of_kind,
    pieces_of,
)
from foglight.compile import jitable, kernel
from foglight.randomness import below

NUM_MOVES, CASTLE_LEFT, CASTLE_RIGHT = 4674, 4672, 4673
_PLANES = 73
_BECOMES = np.array([QUEEN, ROOK, BISHOP, KNIGHT, QUEEN, QUEEN], np.int64)  # by the special of a move
_PLAIN, _TO_THE_LEFT, _TO_THE_RIGHT = 0, 4, 5  # specials of a move: 1-3 are underpromotions, 4 and 5 castling
_LEAPS = ((-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2))


def _steps() -> tuple[tuple[int, int], ...]:
    """The step in files and ranks of each plane from 9 on."""
    far = (*range(-7, 0), *range(1, 8))
    return (
        *((0, d) for d in far),
        *((d, 0) for d in far),
        *((d, d) for d in far),
        *((d, -d) for d in far),
        *_LEAPS,
    )


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Two tables: start + 64 * end + 4096 * special by move, and the plain move by 64 * start + end."""
    meaning, number = np.zeros(NUM_MOVES, np.uint16), np.zeros(64 * 64, np.uint16)
    planes = [(file, 1, special) for special in (1, 2, 3) for file in (0, 1, -1)]
    planes += [(file, rank, _PLAIN) for file, rank in _steps()]
    for file in range(8):
        for rank in range(8):
            for plane, (right, up, special) in enumerate(planes):
                if 0 <= file + right < 8 and 0 <= rank + up < 8:
                    start, end = 8 * rank + file, 8 * (rank + up) + file + right
                    move = _PLANES * (8 * file + rank) + plane
                    meaning[move] = start + 64 * end + 4096 * special
                    if special == _PLAIN:
                        number[64 * start + end] = move
    king, left, right = 4, 2, 6
    meaning[CASTLE_LEFT] = king + 64 * left + 4096 * _TO_THE_LEFT
    meaning[CASTLE_RIGHT] = king + 64 * right + 4096 * _TO_THE_RIGHT
    return meaning, number


_MEANING, _NUMBER = _tables()


# by square: the castling rights that remain when a piece enters it, and when one leaves it; taking a king changes none
_ENTERING = np.full(64, 15, np.uint64)
_ENTERING[[0, 7, 56, 63]] = [15 - WHITE_LEFT, 15 - WHITE_RIGHT, 15 - BLACK_LEFT, 15 - BLACK_RIGHT]
_LEAVING = _ENTERING.copy()
_LEAVING[[4, 60]] = [BLACK_LEFT + BLACK_RIGHT, WHITE_LEFT + WHITE_RIGHT]


# From the mover's side ------------------------------------------------------------------------------------------


@jitable
def facing(size, board):
    """The three words of kinds, the mover's pieces and the en passant square, the mover's first rank first."""
    first, second, third, whites = board[0], board[1], board[2], board[WHITES]
    passed = en_passant(board)
    if get(board, TURN) == WHITE:
        return first, second, third, whites, passed
    own = (first | second | third) & ~whites
    return flipped(size, first), flipped(size, second), flipped(size, third), flipped(size, own), flipped(size, passed)


@jitable
def _pawn_targets(size, pawns, prey, free):
    """The squares that pawns reach: by one step, by two steps, taking to the right, taking to the left."""
    one = pawns << uint64(8) & free
    two = (one & THIRD_RANK[size]) << uint64(8) & free
    return one, two, (pawns & NOT_H_FILE) << uint64(9) & prey, (pawns & NOT_A_FILE) << uint64(7) & prey


@jitable
def _castles(board, taken):
    """Whether the mover can castle to the left, to the right; `taken` as the mover sees it."""
    rights = get(board, CASTLING)
    rights = rights & 3 if get(board, TURN) == WHITE else rights >> 2
    left = rights >> 1 & 1 if taken & uint64(0b00001110) == uint64(0) else 0
    right = rights & 1 if taken & uint64(0b01100000) == uint64(0) else 0
    return left, right


@jitable
def _kind_in(first, second, third, square):
    at, one = uint64(square), uint64(1)
    return (first >> at) & one | ((second >> at) & one) << one | ((third >> at) & one) << uint64(2)


# Lists of moves -------------------------------------------------------------------------------------------------


@jitable
def write_moves(size, board, out):
    """Write the moves of the side to move, ascending, into `out`, and return their number."""
    first, second, third, own, passed = facing(size, board)
    taken = first | second | third
    return write_where(size, board, (first, second, third), own, taken, taken & ~own | passed, out)


@jitable
def write_where(size, board, kinds, own, taken, prey, out):
    """Write the moves for other obstacles: `taken` squares block pieces, and pawns take on squares of `prey`.

    All sets are as the mover sees them; `kinds` are the three words of kinds.
    """
    first, second, third = kinds
    pawns = own & first & ~second & ~third
    one, two, right, left = _pawn_targets(size, pawns, prey, AREA[size] & ~taken)
    n = 0
    for file in range(size):
        rest = own & A_FILE << uint64(file)
        while rest != uint64(0):
            square = lowest(rest)
            rest = without_lowest(rest)
            kind = _kind_in(first, second, third, square)
            if kind == uint64(PAWN):
                place = bit(square)
                ahead = one & place << uint64(8)
                to_right, to_left = right & place << uint64(9), left & place << uint64(7)
                if (ahead | to_right | to_left) & LAST_RANK[size] != uint64(0):
                    n = _write_underpromotions(square, ahead, to_right, to_left, out, n)
                n = _write_ends(square, ahead | two & place << uint64(16) | to_right | to_left, out, n)
            elif kind == uint64(KNIGHT):
                n = _write_leaps(square, reach(kind, square, taken) & AREA[size] & ~own, out, n)
            else:
                n = _write_ends(square, reach(kind, square, taken) & AREA[size] & ~own, out, n)
    castle_left, castle_right = _castles(board, taken)
    if castle_left:
        out[n] = CASTLE_LEFT
        n += 1
    if castle_right:
        out[n] = CASTLE_RIGHT
        n += 1
    return n


@jitable
def _write_underpromotions(square, ahead, to_right, to_left, out, n):
    move = int64(_NUMBER[64 * square + square + 8]) // _PLANES * _PLANES
    for _ in range(3):
        for ends in (ahead, to_right, to_left):
            if ends != uint64(0):
                out[n] = move
                n += 1
            move += 1
    return n


@jitable
def _write_ends(square, ends, out, n):
    """Write the moves along lines in the order of their planes."""
    for line in (FILE[square], RANK[square], RISING[square]):
        rest = ends & line
        while rest != uint64(0):
            out[n] = _NUMBER[64 * square + lowest(rest)]
            rest = without_lowest(rest)
            n += 1
    rest = ends & FALLING[square]
    n += count(rest)
    i = n
    while rest != uint64(0):  # files ascend where squares descend
        i -= 1
        out[i] = _NUMBER[64 * square + lowest(rest)]
        rest = without_lowest(rest)
    return n


@jitable
def _write_leaps(square, ends, out, n):
    begin = n
    while ends != uint64(0):
        move = int64(_NUMBER[64 * square + lowest(ends)])
        i = n
        while i > begin and out[i - 1] > move:
            out[i] = out[i - 1]
            i -= 1
        out[i] = move
        ends = without_lowest(ends)
        n += 1
    return n


@jitable
def has_move(size, board):
    """Whether the side to move can move at all."""
    first, second, third, own, passed = facing(size, board)
    taken = first | second | third
    pawns = own & first & ~second & ~third
    one, _, right, left = _pawn_targets(size, pawns, taken & ~own | passed, AREA[size] & ~taken)
    if one | right | left != uint64(0):
        return True
    rest = own & ~pawns
    while rest != uint64(0):
        square = lowest(rest)
        if reach(_kind_in(first, second, third, square), square, taken) & AREA[size] & ~own != uint64(0):
            return True
        rest = without_lowest(rest)
    return False  # a king that can castle can also move, for the squares beside it are free


@jitable
def random_move(size, board, random, out):
    """A uniformly random move; `out` has room for two numbers per piece and eight more."""
    first, second, third, own, passed = facing(size, board)
    taken = first | second | third
    return random_where(size, board, (first, second, third), own, taken, taken & ~own | passed, 0, random, out)


@jitable
def random_where(size, board, kinds, own, taken, prey, more, random, out):
    """A uniformly random one of the moves of `write_where` and `more` others; NUM_MOVES stands for the others."""
    first, second, third = kinds
    pawns = own & first & ~second & ~third
    one, two, right, left = _pawn_targets(size, pawns, prey, AREA[size] & ~taken)
    free = AREA[size] & ~own
    # pairs of start and set of ends; a start is a square from 0 to 63, or 64 + the step from a pawn's start to its end
    out[0], out[1] = 64 + 8, int64(one)
    out[2], out[3] = 64 + 9, int64(right)
    out[4], out[5] = 64 + 7, int64(left)
    out[6], out[7] = 64 + 16, int64(two)
    total = count(one) + count(right) + count(left) + count(two)
    n = 8
    rest = own & ~pawns
    while rest != uint64(0):
        square = lowest(rest)
        rest = without_lowest(rest)
        ends = reach(_kind_in(first, second, third, square), square, taken) & free
        out[n], out[n + 1] = square, int64(ends)
        total += count(ends)
        n += 2
    plain = total
    last = LAST_RANK[size]
    total += 3 * (count(one & last) + count(right & last) + count(left & last))
    castle_left, castle_right = _castles(board, taken)
    castles = castle_left + castle_right
    drawn = below(random, total + castles + more)
    if drawn >= total + castles:
        return NUM_MOVES
    if drawn >= total:
        return CASTLE_LEFT if castle_left and drawn == total else CASTLE_RIGHT
    if drawn >= plain:
        return _underpromotion(one & last, right & last, left & last, drawn - plain)
    i = 0
    size_here = count(uint64(out[1]))
    while drawn >= size_here:
        drawn -= size_here
        i += 2
        size_here = count(uint64(out[i + 1]))
    end = nth(uint64(out[i + 1]), drawn)
    start = out[i] if out[i] < 64 else end + 64 - out[i]
    return move_between(start, end)


@jitable
def _underpromotion(ahead, to_right, to_left, n):
    """The n-th underpromotion onto these squares; there are three kinds for each square."""
    kind, n = n % 3, n // 3
    direction = 0
    ends, came = ahead, 8
    if n >= count(ahead):
        n -= count(ahead)
        direction, ends, came = 1, to_right, 9
        if n >= count(to_right):
            n -= count(to_right)
            direction, ends, came = 2, to_left, 7
    start = nth(ends, n) - came
    return _PLANES * (8 * (start & 7) + (start >> 3)) + 3 * kind + direction


# Playing one ----------------------------------------------------------------------------------------------------


@jitable
def meaning_seen(move):
    """The start and end of a move as the mover sees it, and its special: 0, 1-3 underpromotion, 4-5 castling."""
    packed = int64(_MEANING[move])
    return packed & 63, packed >> 6 & 63, packed >> 12


@jitable
def move_between(start, end):
    """The plain move between two squares as the mover sees them: neither castling nor an underpromotion."""
    return int64(_NUMBER[64 * start + end])


@jitable
def play(size, board, move):
    """Play a move in place; the kind and square of the piece that was taken, or EMPTY and 0."""
    state = board[STATE]
    colour = state & uint64(1)
    start, end, special = meaning_seen(move)
    promotes = LAST_RANK[size] & bit(end) != uint64(0)
    if colour != uint64(WHITE):
        start, end = flipped_square(size, start), flipped_square(size, end)
    kind, taken_kind, taken_square = kind_at(board, start), kind_at(board, end), end
    passed = get(board, EN_PASSANT)
    new_kind = kind
    if kind == PAWN:
        new_kind = _BECOMES[special] if promotes else kind
        if end == passed and passed != 0 and (start ^ end) & 7 != 0:
            taken_kind, taken_square = PAWN, start & 56 | end & 7
    gone = ~(bit(start) | bit(end) | bit(taken_square))
    for i in range(3):
        board[i] = board[i] & gone | uint64(new_kind >> i & 1) << uint64(end)
    board[WHITES] = board[WHITES] & gone | colour << uint64(end)
    if special >= _TO_THE_LEFT:
        _bring_rook(board, start, special, colour)
    rights = uint64(get(board, CASTLING)) & _LEAVING[start] & _ENTERING[end]
    between = 0
    if kind == PAWN and abs(end - start) == 16 and can_be_passed(board, end, 1 - int64(colour)):
        between = (start + end) >> 1
    clock = 0 if kind == PAWN or taken_kind != EMPTY else get(board, CLOCK) + 1
    plies = get(board, PLIES) + 1
    board[STATE] = (
        state >> uint64(FREE_BITS) << uint64(FREE_BITS)
        | colour ^ uint64(1)
        | rights << uint64(CASTLING[1])
        | uint64(between) << uint64(EN_PASSANT[1])
        | uint64(clock) << uint64(CLOCK[1])
        | uint64(plies) << uint64(PLIES[1])
    )
    return taken_kind, taken_square if taken_kind != EMPTY else 0


@jitable
def can_be_passed(board, square, colour):
    """Whether a pawn of this colour stands beside a square, so that it could take a pawn there en passant."""
    place = bit(square)
    beside = (place & NOT_A_FILE) >> uint64(1) | (place & NOT_H_FILE) << uint64(1)
    return beside & pieces_of(board, colour) & of_kind(board, PAWN) != uint64(0)


@jitable
def _bring_rook(board, king, special, colour):
    """Move the rook of a castling king."""
    corner, beside = (king - 4, king - 1) if special == _TO_THE_LEFT else (king + 3, king + 1)
    for i in range(3):
        board[i] = board[i] & ~bit(corner) | uint64(ROOK >> i & 1) << uint64(beside)
    board[WHITES] = board[WHITES] & ~bit(corner) | colour << uint64(beside)


# From Python ----------------------------------------------------------------------------------------------------


@kernel
def list_moves(size, board):
    """The moves of the side to move, ascending."""
    out = np.empty(512, np.int64)
    return out[: write_moves(size, board, out)]
