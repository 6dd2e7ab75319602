"""The history of positions, for draws by repetition: a 32-bit hash of each since the last capture or pawn move.

A word holds two hashes; the hash of the position at clock n is the n-th half word. No position before a capture or a
pawn move can occur again. Positions are equal if pieces, side to move, castling rights and en passant square are.
"""

from numpy import uint64

from foglight.bits import get
from foglight.chess.board import CASTLING, CLOCK, CLOCK_LIMIT, EN_PASSANT, STATE, TURN, WHITES
from foglight.compile import compiled_twin, jitable

HISTORY_WORDS = CLOCK_LIMIT // 2
_FACTOR = 0x9E3779B97F4A7C15
_LOW = uint64(0xFFFFFFFF)
_SAME_POSITION = (1 << (EN_PASSANT[1] + EN_PASSANT[2])) - 1  # the bits of the state that are part of a position
assert (TURN[0], CASTLING[0], EN_PASSANT[0], TURN[1]) == (STATE, STATE, STATE, 0)


def stirred(key, word):
    """A hash with one more word: a single product, which is enough for a hash that is only compared."""
    key = (int(key) ^ int(word)) * _FACTOR & (2**64 - 1)
    return key ^ key >> 32


@compiled_twin(stirred)
def _stirred(key, word):
    key = (key ^ word) * uint64(_FACTOR)
    return key ^ key >> uint64(32)


@jitable
def position_hash(board):
    """A 32-bit hash of the position."""
    key = uint64(0)
    for i in range(WHITES + 1):
        key = uint64(stirred(key, board[i]))
    return uint64(stirred(key, board[STATE] & uint64(_SAME_POSITION))) & _LOW


@jitable
def remember(board, history, before):
    """Add the position to the history, after a ply from clock `before`, and return how often it occurred before.

    Positions that cannot occur again are cleared, so that equal positions with equal pasts have equal words.
    """
    clock = get(board, CLOCK)
    if clock >= CLOCK_LIMIT:
        return 0  # the game is drawn already
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
