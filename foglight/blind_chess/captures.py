"""Attacks, and the value of a position after captures are played out, in chess in which kings are captured.

    quiet(board) = max(worth(board), max over captures c of -quiet(board after c)),   to the side to move

The search is alpha-beta, most valuable prey first, down to `PLIES_AHEAD` captures; `worth` is from `evaluation.py`. A
king is worth WIN, so a side whose king can be captured has lost. There is no check and no mate.
"""

import numpy as np
from numpy import uint64

from foglight.bits import bit, get, lowest, without_lowest
from foglight.blind_chess.evaluation import centipawns
from foglight.chess.attacks import pawn_attacks, reach
from foglight.chess.board import BISHOP, KING, KNIGHT, ROOK, TURN, WHITE, WORDS, kind_at, occupied, pieces_of
from foglight.chess.moves import move_between, play
from foglight.compile import jitable

WIN = 10_000  # centipawns
PLIES_AHEAD = 6
_SIZE = 8
_MOST = 256  # most captures of a position
_PREY = np.array([0, 1, 3, 10, 0, 3, 5, 9], np.int64)  # value by kind, which orders the captures

_COUNT, _NEXT = range(2)  # columns of the counters: captures, index of the next
_ALPHA, _BETA = range(2)  # columns of the bounds


@jitable
def king_of(board, colour):
    """The square of a side's king as a bitboard; empty if the king has been captured."""
    return board[0] & board[1] & ~board[2] & pieces_of(board, colour)


@jitable
def attackers(board, square, colour):
    """The pieces of a side that could capture on a square, if it is not their own; en passant is left out."""
    taken, own = occupied(board), pieces_of(board, colour)
    slides = own & board[2]
    pieces = pawn_attacks(bit(square), 1 - colour) & own & board[0] & ~board[1] & ~board[2]
    pieces |= reach(KNIGHT, square, taken) & own & ~board[0] & board[1] & ~board[2]
    pieces |= reach(KING, square, taken) & own & board[0] & board[1] & ~board[2]
    pieces |= reach(BISHOP, square, taken) & slides & board[0]
    return pieces | reach(ROOK, square, taken) & slides & board[1]


@jitable
def is_in_check(board, colour):
    """Whether a side's king could be captured if it were the other side's turn."""
    king = king_of(board, colour)
    return king != uint64(0) and attackers(board, lowest(king), 1 - colour) != uint64(0)


@jitable
def two_leaps(square):
    """The squares from which a knight reaches this one with its second move."""
    squares, rest = uint64(0), reach(KNIGHT, square, uint64(0))
    while rest != uint64(0):
        squares |= reach(KNIGHT, lowest(rest), uint64(0))
        rest = without_lowest(rest)
    return squares


@jitable
def _write_captures(board, out):
    """Write the captures of the side to move into `out`, the most valuable prey first; returns how many.

    A pawn that reaches the last rank becomes a queen; en passant is left out.
    """
    colour, n = get(board, TURN), 0
    over = 0 if colour == WHITE else 56
    rest = pieces_of(board, 1 - colour)
    for wanted in (10, 9, 5, 3, 1):
        prey = rest
        while prey != uint64(0):
            end = lowest(prey)
            prey = without_lowest(prey)
            if _PREY[kind_at(board, end)] == wanted:
                hunters = attackers(board, end, colour)
                while hunters != uint64(0) and n < len(out):
                    start = lowest(hunters)
                    hunters = without_lowest(hunters)
                    out[n] = move_between(start ^ over, end ^ over)
                    n += 1
    return n


def quiet_room() -> tuple[np.ndarray, ...]:
    """The working memory of `quiet`: boards, captures, counters and bounds, one row per ply."""
    return (
        np.empty((PLIES_AHEAD + 1, WORDS), np.uint64),
        np.empty((PLIES_AHEAD + 1, _MOST), np.int64),
        np.empty((PLIES_AHEAD + 1, 2), np.int64),
        np.empty((PLIES_AHEAD + 1, 2)),
    )


@jitable
def quiet(board, room):
    """The value of the position to the side to move, in centipawns."""
    boards, captures, counters, bounds = room
    for i in range(WORDS):
        boards[0, i] = board[i]
    bounds[0, _ALPHA], bounds[0, _BETA] = -np.inf, np.inf
    level, entering, value = 0, True, 0.0
    while level >= 0:
        node = boards[level]
        mover = get(node, TURN)
        if entering:
            settled = True
            if king_of(node, mover) == uint64(0):
                value = -float(WIN - level)
            elif is_in_check(node, 1 - mover):
                value = float(WIN - level - 1)
            else:
                worth = float(centipawns(_SIZE, node))
                value = worth if mover == WHITE else -worth
                if value < bounds[level, _BETA] and level < PLIES_AHEAD:
                    settled = False
                    bounds[level, _ALPHA] = max(bounds[level, _ALPHA], value)
                    counters[level, _COUNT], counters[level, _NEXT] = _write_captures(node, captures[level]), 0
            if settled:
                level, entering = level - 1, False
                continue
        else:  # a capture has returned its value to the other side
            bounds[level, _ALPHA] = max(bounds[level, _ALPHA], -value)
        if counters[level, _NEXT] == counters[level, _COUNT] or bounds[level, _ALPHA] >= bounds[level, _BETA]:
            value = bounds[level, _ALPHA]
            level, entering = level - 1, False
            continue
        for i in range(WORDS):
            boards[level + 1, i] = node[i]
        play(_SIZE, boards[level + 1], captures[level, counters[level, _NEXT]])
        counters[level, _NEXT] += 1
        bounds[level + 1, _ALPHA], bounds[level + 1, _BETA] = -bounds[level, _BETA], -bounds[level, _ALPHA]
        level, entering = level + 1, True
    return value
