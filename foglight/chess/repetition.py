"""Positions that have come before: a 32-bit hash of each since the last capture or pawn move, two to a word.

The hash of the position that the clock says is number n is half n of the history. Nothing before a capture or a pawn
move can come again. Positions are the same if pieces, side to move, castling rights and en passant square are.
"""

from numpy import uint64

from foglight.bits import get
from foglight.chess.board import CASTLING, CLOCK, CLOCK_LIMIT, EN_PASSANT, STATE, TURN, WHITES
from foglight.compile import compiled_twin, jitable

HISTORY_WORDS = CLOCK_LIMIT // 2
_FACTOR = 0x9E3779B97F4A7C15
_LOW = uint64(0xFFFFFFFF)
_SAME_POSITION = (1 << (EN_PASSANT[1] + EN_PASSANT[2])) - 1  # the bits of the state that count
assert (TURN[0], CASTLING[0], EN_PASSANT[0], TURN[1]) == (STATE, STATE, STATE, 0)


def stirred(key, word):
    """One more word taken into a hash: a single product, which is enough for a hash that is only ever compared."""
    key = (int(key) ^ int(word)) * _FACTOR & (2**64 - 1)
    return key ^ key >> 32


@compiled_twin(stirred)
def _stirred(key, word):
    key = (key ^ word) * uint64(_FACTOR)
    return key ^ key >> uint64(32)


@jitable
def position_hash(board):
    """32 bits of the position."""
    key = uint64(0)
    for i in range(WHITES + 1):
        key = uint64(stirred(key, board[i]))
    return uint64(stirred(key, board[STATE] & uint64(_SAME_POSITION))) & _LOW


@jitable
def remember(board, history, before):
    """Take the position into the history, after a ply from clock `before`; how often it has come before.

    What can no longer come again is cleared, so that equal positions with equal pasts are equal words.
    """
    clock = get(board, CLOCK)
    if clock >= CLOCK_LIMIT:
        return 0  # a draw already
    key = position_hash(board)
    if clock == 0:
        for i in range(1, before // 2 + 1):
            history[i] = uint64(0)
        history[0] = key
        return 0
    half, shift = clock // 2, uint64(32 * (clock % 2))
    history[half] |= key << shift
    times = 0
    for i in range(half - 1):
        times += (history[i] >> shift) & _LOW == key
    return times
