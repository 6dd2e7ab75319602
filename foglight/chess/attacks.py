"""The squares that pieces attack: leaps, open lines, and the steps and captures of pawns.

The attack along a line is looked up by the pieces on the line: one product gathers its six inner squares into six bits
("kindergarten bitboards").
"""

from collections.abc import Callable

import numpy as np
from numpy import uint64

from foglight.bits import bit, get, lowest, without_lowest
from foglight.chess.board import (
    AREA,
    EN_PASSANT,
    KING,
    KNIGHT,
    NOT_A_FILE,
    NOT_H_FILE,
    PAWN,
    THIRD_RANK,
    WHITE,
    flipped,
    kind_at,
    occupied,
    of_kind,
    pieces_of,
    squares,
)
from foglight.compile import compiled_twin, jitable


def _per_square(test: Callable[[int, int], bool]) -> np.ndarray:
    """For each square, the set of the other squares for which `test` holds of the steps (right, up) to them."""
    return np.array(
        [squares(lambda f, r, s=s: (f, r) != (s % 8, s // 8) and test(f - s % 8, r - s // 8)) for s in range(64)],
        np.uint64,
    )


FILE, RANK = _per_square(lambda right, up: right == 0), _per_square(lambda right, up: up == 0)
RISING, FALLING = _per_square(lambda right, up: right == up), _per_square(lambda right, up: right == -up)
_LEAP = np.zeros(8 * 64, np.uint64)  # by kind and square; only knight and king leap
_LEAP[64 * KNIGHT : 64 * KNIGHT + 64] = _per_square(lambda right, up: {abs(right), abs(up)} == {1, 2})
_LEAP[64 * KING : 64 * KING + 64] = _per_square(lambda right, up: max(abs(right), abs(up)) == 1)
_NONE_OR_ALL = np.array([0, 2**64 - 1], np.uint64)

# a product with _ACROSS moves one bit of each file, b to g, to the top; one with _UP does so for ranks of the a file
A_FILE = np.uint64(squares(lambda f, r: f == 0))
_ACROSS, _UP = np.uint64(0x0202020202020202), np.uint64(0x0080402010080400)


def gathered(line, factor):
    """The top six bits of a product."""
    return (int(line) * int(factor) & (2**64 - 1)) >> 58


@compiled_twin(gathered)
def _gathered(line, factor):
    return (line * factor) >> uint64(58)


def _open_lines() -> tuple[np.ndarray, np.ndarray]:
    """The squares attacked from each place of a line of eight, by the gathered bits of its six inner places.

    The first table repeats the line on every rank, the second has it on the a file.
    """
    on_ranks, on_file = np.zeros(8 * 64, np.uint64), np.zeros(8 * 64, np.uint64)
    for inner in range(64):
        taken = [False, *(bool(inner >> i & 1) for i in range(6)), False]
        ranks = sum(1 << i for i in range(8) if taken[i])
        file = sum(1 << 8 * i for i in range(8) if taken[i])
        for place in range(8):
            reached = set()
            for step in (-1, 1):
                at = place + step
                while 0 <= at < 8:
                    reached.add(at)
                    if taken[at]:
                        break
                    at += step
            on_ranks[64 * place + gathered(ranks, _ACROSS)] = squares(lambda f, r, s=reached: f in s)
            on_file[64 * place + gathered(file, _UP)] = squares(lambda f, r, s=reached: f == 0 and r in s)
    return on_ranks, on_file


_ON_RANKS, _ON_FILE = _open_lines()


@jitable
def reach(kind, square, taken):
    """The squares that a piece other than a pawn attacks; own pieces and squares beyond a small board are included."""
    at, kind = uint64(square), uint64(kind)
    file, rank = (at & uint64(7)) << uint64(6), (at >> uint64(3)) << uint64(6)
    slides = kind >> uint64(2)
    diagonal = _NONE_OR_ALL[slides & kind]
    straight = _NONE_OR_ALL[slides & (kind >> uint64(1))]
    rising, falling, along = RISING[at], FALLING[at], RANK[at]
    column = at & uint64(7)
    return (
        _LEAP[(kind << uint64(6)) + at]
        | diagonal
        & (
            rising & _ON_RANKS[file + uint64(gathered(taken & rising, _ACROSS))]
            | falling & _ON_RANKS[file + uint64(gathered(taken & falling, _ACROSS))]
        )
        | straight
        & (
            along & _ON_RANKS[file + uint64(gathered(taken & along, _ACROSS))]
            | _ON_FILE[rank + uint64(gathered(taken >> column & A_FILE, _UP))] << column
        )
    )


@jitable
def pawn_attacks(pawns, colour):
    """The squares on which pawns of a colour take."""
    if colour == WHITE:
        return (pawns & NOT_H_FILE) << uint64(9) | (pawns & NOT_A_FILE) << uint64(7)
    return (pawns & NOT_H_FILE) >> uint64(7) | (pawns & NOT_A_FILE) >> uint64(9)


@jitable
def targets(size, board, colour):
    """The squares that a side could move to if it were its turn; squares of its own pieces may be included.

    The en passant square counts for pawns of both sides, though only one of them may take there.
    """
    taken, own = occupied(board), pieces_of(board, colour)
    pawns = own & of_kind(board, PAWN)
    free = AREA[size] & ~taken
    if colour == WHITE:
        ahead = pawns << uint64(8) & free
        found = ahead | (ahead & THIRD_RANK[size]) << uint64(8) & free
    else:
        ahead = pawns >> uint64(8) & free
        found = ahead | (ahead & flipped(8, THIRD_RANK[size])) >> uint64(8) & free
    found |= pawn_attacks(pawns, colour) & (taken & ~own | en_passant(board))
    rest = own & ~pawns
    while rest != uint64(0):
        square = lowest(rest)
        found |= reach(kind_at(board, square), square, taken)
        rest = without_lowest(rest)
    return found & AREA[size]


@jitable
def en_passant(board):
    """The en passant square as a set."""
    square = get(board, EN_PASSANT)
    return bit(square) & ~uint64(1)
