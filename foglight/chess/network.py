"""A small network that corrects the static evaluation of chess on the full board.

Each piece is described by its side (the mover's or the other), kind, square, and how safe it is:

    SAFE       not attacked, and defended
    LOOSE      neither attacked nor defended
    HANGING    attacked, and either not defended or attacked by a piece of a cheaper class
    CONTESTED  attacked, defended, and not attacked by a piece of a cheaper class

The classes are pawns, minor pieces, rooks and queens. Squares are those that the mover sees when it moves up the board.
A description is a row of weights, and the correction in centipawns is

    hidden     = BIAS + estimate * ESTIMATE / 256 + the sum of the rows of all pieces
    correction = (sum of OUTPUT * max(hidden, 0) + CONSTANT) / UNIT

where the estimate is what the correction is added to. All of this is whole numbers, so that compiled and interpreted
code agree to the last bit. `python -m foglight.blind_chess.network_fit` makes the weights.

Rules cannot make arrays, so the 32 hidden numbers are summed in eight words of four lanes. Each lane of ROWS holds a
weight plus OFFSET, which is not negative and less than 2 * OFFSET: the sums over 32 pieces stay within 16 bits.
"""

from pathlib import Path

import numpy as np
from numpy import int64, uint64

from foglight.bits import count, lowest, without_lowest
from foglight.chess.board import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK
from foglight.compile import jitable

SAFE, LOOSE, HANGING, CONTESTED = range(4)
KINDS = (PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING)
DESCRIPTIONS = 2 * len(KINDS) * 64 * 4
HIDDEN, LANES = 32, 4
OFFSET = 1024
UNIT = 1 << 20  # of the products of hidden numbers and weights, in a centipawn
PATH = Path(__file__).with_name("network.npz")

with np.load(PATH) as _file:
    WEIGHTS = _file["weights"]  # int16[DESCRIPTIONS, HIDDEN], from -OFFSET to OFFSET - 1
    BIAS, ESTIMATE, OUTPUT = _file["bias"], _file["estimate"], _file["output"]  # int64[HIDDEN]
    CONSTANT = int(_file["constant"])


def _packed(weights: np.ndarray) -> np.ndarray:
    """uint64[DESCRIPTIONS, HIDDEN / LANES]: the weights in lanes, the lowest first."""
    lanes = (weights.astype(np.int64) + OFFSET).astype(np.uint64).reshape(len(weights), -1, LANES)
    return np.bitwise_or.reduce(lanes << (np.arange(LANES, dtype=np.uint64) * np.uint64(16)), axis=2)


ROWS = _packed(WEIGHTS)
_PLACE = np.array([KINDS.index(kind) if kind in KINDS else 0 for kind in range(8)], np.uint64)


@jitable
def correction(kinds, own, other, ours, theirs, estimate):
    """Centipawns to add to an estimate; `ours` and `theirs` are what the mover and the other side attack."""
    zero = uint64(0)
    sums = (zero, zero, zero, zero, zero, zero, zero, zero)
    sums = _added(sums, kinds, own, ours, theirs, zero)
    sums = _added(sums, kinds, other, theirs, ours, uint64(DESCRIPTIONS // 2))
    rounded, offsets = int64(round(estimate)), OFFSET * count(own | other)
    total = int64(CONSTANT)
    for k in range(HIDDEN):
        lane = int64(sums[k // LANES] >> uint64(16 * (k % LANES)) & uint64(0xFFFF))
        hidden = lane - offsets + BIAS[k] + (rounded * ESTIMATE[k] >> 8)
        if hidden > 0:
            total += OUTPUT[k] * hidden
    return total / UNIT


@jitable
def _added(sums, kinds, side, attacks, against, first_row):
    """Add the rows of a side's pieces; `attacks` are its own, `against` those of the other side."""
    attacked, odd = safety_bits(kinds, side, attacks, against)
    a, b, c, d, e, f, g, h = sums
    rest = side
    while rest != uint64(0):
        at = uint64(lowest(rest))
        rest = without_lowest(rest)
        row = first_row + description(kinds, at, attacked, odd)
        a, b, c, d = a + ROWS[row, 0], b + ROWS[row, 1], c + ROWS[row, 2], d + ROWS[row, 3]
        e, f, g, h = e + ROWS[row, 4], f + ROWS[row, 5], g + ROWS[row, 6], h + ROWS[row, 7]
    return a, b, c, d, e, f, g, h


@jitable
def safety_bits(kinds, side, attacks, against):
    """The pieces of a side that are HANGING or CONTESTED, and those that are LOOSE or CONTESTED."""
    first, second, third = kinds
    attacked, defended = side & against[0], side & attacks[0]
    minors = side & (second & ~first & ~third | third & first & ~second)
    rooks, queens = side & third & second & ~first, side & first & second & third
    cheaply = minors & against[2] | rooks & (against[2] | against[3]) | queens & (against[2] | against[3] | against[4])
    hanging = attacked & (~defended | cheaply)
    return attacked, side & ~attacked & ~defended | attacked & ~hanging


@jitable
def description(kinds, at, attacked, odd):
    """The number of the description of the piece on square `at`, as one of the mover's."""
    first, second, third = kinds
    one = uint64(1)
    kind = (first >> at) & one | ((second >> at) & one) << one | ((third >> at) & one) << uint64(2)
    return (_PLACE[kind] << uint64(8)) + (at << uint64(2)) + ((odd >> at) & one | ((attacked >> at) & one) << one)
