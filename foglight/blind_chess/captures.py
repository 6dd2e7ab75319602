"""What is attacked, and what a position is worth when captures have been played out: chess in which kings are taken.

    quiet(board) = max(worth(board), max over captures c of -quiet(board after c)),   to the side to move

by alpha-beta, the most valuable prey first, down to `PLIES_AHEAD` captures; `worth` is `evaluation.py`'s. A king is
worth WIN, so that a side whose king can be taken has lost. There is no check and no mate.
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
_MOST = 256  # captures of one position
_PREY = np.array([0, 1, 3, 10, 0, 3, 5, 9], np.int64)  # by kind, for the order in which captures are tried


@jitable
def king_of(board, colour):
    """The squares of a side's kings: one, or none."""
    return board[0] & board[1] & ~board[2] & pieces_of(board, colour)


@jitable
def attackers(board, square, colour):
    """The pieces of a side that could take on a square, if it is not their own; en passant is left out."""
    taken, own = occupied(board), pieces_of(board, colour)
    slides = own & board[2]
    found = pawn_attacks(bit(square), 1 - colour) & own & board[0] & ~board[1] & ~board[2]
    found |= reach(KNIGHT, square, taken) & own & ~board[0] & board[1] & ~board[2]
    found |= reach(KING, square, taken) & own & board[0] & board[1] & ~board[2]
    found |= reach(BISHOP, square, taken) & slides & board[0]
    return found | reach(ROOK, square, taken) & slides & board[1]


@jitable
def is_in_check(board, colour):
    """Whether a side's king could be taken if it were the other's turn."""
    king = king_of(board, colour)
    return king != uint64(0) and attackers(board, lowest(king), 1 - colour) != uint64(0)


@jitable
def two_leaps(square):
    """The squares from which a knight takes on this one with its second move."""
    found, rest = uint64(0), reach(KNIGHT, square, uint64(0))
    while rest != uint64(0):
        found |= reach(KNIGHT, lowest(rest), uint64(0))
        rest = without_lowest(rest)
    return found


@jitable
def _write_captures(board, out):
    """Write the captures of the side to move into `out`, the most valuable prey first; how many.

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
    """What `quiet` works in: boards, captures, counters and bounds, one for each ply."""
    return (
        np.empty((PLIES_AHEAD + 1, WORDS), np.uint64),
        np.empty((PLIES_AHEAD + 1, _MOST), np.int64),
        np.empty((PLIES_AHEAD + 1, 2), np.int64),
        np.empty((PLIES_AHEAD + 1, 2)),
    )


@jitable
def quiet(board, room):
    """What the position is worth to the side to move, in centipawns."""
    boards, captures, counters, bounds = room
    for i in range(WORDS):
        boards[0, i] = board[i]
    bounds[0, 0], bounds[0, 1] = -np.inf, np.inf
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
                if value < bounds[level, 1] and level < PLIES_AHEAD:
                    settled = False
                    bounds[level, 0] = max(bounds[level, 0], value)
                    counters[level, 0], counters[level, 1] = _write_captures(node, captures[level]), 0
            if settled:
                level, entering = level - 1, False
                continue
        else:  # a capture has come back with what it is worth to the other
            bounds[level, 0] = max(bounds[level, 0], -value)
        if counters[level, 1] == counters[level, 0] or bounds[level, 0] >= bounds[level, 1]:
            value = bounds[level, 0]
            level, entering = level - 1, False
            continue
        for i in range(WORDS):
            boards[level + 1, i] = node[i]
        play(_SIZE, boards[level + 1], captures[level, counters[level, 1]])
        counters[level, 1] += 1
        bounds[level + 1, 0], bounds[level + 1, 1] = -bounds[level, 1], -bounds[level, 0]
        level, entering = level + 1, True
    return value
