"""A static evaluation of chess in which kings are captured, for every size of board, in centipawns and as a payoff.

It is computed for the side to move (the mover); the other side gets the negative. For a side,

    strength = sum of TABLE[size, kind, square] over its pieces, seen from its own side of the board
             + SEEN * (squares that it attacks and that are not its own)
             - LOOSE * (its pieces other than pawns that it does not attack itself, so that nothing would take back)
             - EXPOSED * (squares that the other side attacks, of the king's square and those around it)
             - OPEN * (squares that a queen in the place of its king would attack, without its own)

A piece attacks the squares on which it could take; lines end at the first piece. TABLE has the worth of the kind, a
little more in the centre, and for pawns more the closer they are to promotion.

Captures are not searched. The gain of the captures on a square is estimated from who attacks it and who defends it:

    gain(square) = v                    if the other side does not attack the square: nothing takes back
                   v - max(0, a - d)    if the takers attack it twice or more and the other side once
                   v - a                otherwise

where v is the worth of the piece there, a and d are those of the cheapest taker and of the cheapest defender. A minor
piece counts as a knight, a king as KING_WORTH. A pawn that can step to the last rank gains PROMOTION, unless the other
side attacks that square. Let G be the mover's greatest gain, and T1 and T2 the greatest and the second greatest gain of
the other side if it were to move; none of them is below 0, and kings are not prey. The mover takes, or saves what is
worth most, so that

    centipawns = strength(mover) - strength(other) + TEMPO + G - LATER * T2

If the mover attacks the other king, it has won. If its own king is attacked, it must answer that: by taking the only
attacker (the king itself only if nothing takes back), which gains A, or by a step of the king to a square that is not
attacked, A = 0. It can do nothing else, so that

    centipawns = strength(mover) - strength(other) + TEMPO + A - LATER * T1

With neither answer A is 0 if the only attacker slides and is not beside the king, for something may step between, and
-MATE otherwise. The payoff is x / sqrt(1 + x^2) with x = centipawns / SCALE, times 1 - (clock / CLOCK_LIMIT)^2, since a
draw by the clock comes nearer; a king that can be taken is WON.

The weights are a least squares fit to what Stockfish at depth 6 says of 8 700 positions: of random play, of games
between searching agents, and one or two random moves away from these. On the full board a small network corrects the
centipawns (`network.py`).
"""

import math

import numpy as np
from numpy import int64, uint64

from foglight.bits import bit, count, get, lowest, without_lowest
from foglight.chess.attacks import reach
from foglight.chess.board import (
    AREA,
    BISHOP,
    CLOCK,
    CLOCK_LIMIT,
    KING,
    KNIGHT,
    LAST_RANK,
    NOT_A_FILE,
    NOT_H_FILE,
    PAWN,
    QUEEN,
    ROOK,
)
from foglight.chess.moves import facing
from foglight.chess.network import correction
from foglight.compile import jitable

WORTH = {PAWN: 70, KNIGHT: 245, BISHOP: 280, ROOK: 410, QUEEN: 740}  # centipawns, as are all numbers but the last two
KING_WORTH, MATE, MOST = 2000, 3000, 6000
SEEN, LOOSE, EXPOSED, OPEN, TEMPO = 6, 20, 23, 6, 55
LATER, PROMOTION = 0.4, 580
SCALE, WON = 700.0, 0.999

_ADVANCED = (0, 140, 80, 25, 10, 0, 0, 0)  # a pawn's bonus by the steps to promotion


def _bonus(size: int, kind: int, file: int, rank: int) -> int:
    """The bonus of a piece on a square, the ranks counted from its own side."""
    files = size - 1 - abs(2 * file - (size - 1))  # 0 at the edge, size - 2 or more in the middle
    centre = (files + size - 1 - abs(2 * rank - (size - 1))) // 2
    if kind == PAWN:
        return _ADVANCED[size - 1 - rank]
    return {KNIGHT: 6, BISHOP: 4, ROOK: 1, QUEEN: 1, KING: -3}[kind] * centre


def _tables() -> np.ndarray:
    """By size of the board, the worth at index 64 * kind + square of a piece that moves up the board."""
    tables = np.zeros((9, 8 * 64), np.int64)
    for size in range(4, 9):
        for kind in (*WORTH, KING):
            for rank in range(size):
                for file in range(size):
                    worth = WORTH.get(kind, 0) + _bonus(size, kind, file, rank)
                    tables[size, 64 * kind + 8 * rank + file] = worth
    return tables


TABLE = _tables()
_WORTH = np.array([WORTH.get(kind, 0) for kind in range(8)], np.int64)
_MINORS, _ROOKS, _QUEENS = (
    np.array([2**64 - 1 if kind in kinds else 0 for kind in range(8)], np.uint64)
    for kinds in ((KNIGHT, BISHOP), (ROOK,), (QUEEN,))
)


@jitable
def payoff(size, board):
    """The estimated payoff of the side to move, strictly between -1 and 1."""
    return squashed(corrected(size, board), get(board, CLOCK))


@jitable
def squashed(estimate, clock):
    """Centipawns as a payoff, so many plies after the last capture or pawn move."""
    if abs(estimate) > MOST:
        return WON if estimate > 0 else -WON
    x, elapsed = estimate / SCALE, clock / CLOCK_LIMIT
    return x / math.sqrt(1.0 + x * x) * (1.0 - elapsed * elapsed)


@jitable
def corrected(size, board):
    """The same as `centipawns`, corrected by the network on the full board."""
    estimate, kinds, own, other, ours, theirs = parts(size, board)
    if size != 8 or abs(estimate) > MOST:
        return estimate
    return estimate + correction(kinds, own, other, ours, theirs, estimate)


@jitable
def centipawns(size, board):
    """The value of the position to the side to move by the formula; beyond MOST if a king is gone or can be taken."""
    return parts(size, board)[0]


@jitable
def parts(size, board):
    """The same, with the words of kinds, the pieces of both sides, and what both attack, as the mover sees them."""
    first, second, third, own, _ = facing(size, board)
    taken, area = first | second | third, AREA[size]
    other = taken & ~own
    kinds = (first, second, third)
    pawns, kings = first & ~second & ~third, first & second & ~third
    left, right = (own & pawns & NOT_A_FILE) << uint64(7) & area, (own & pawns & NOT_H_FILE) << uint64(9) & area
    ours, our_worth = _attacks(size, kinds, own, left, right, uint64(0))
    if own & kings == uint64(0):
        return -MOST - 1.0, kinds, own, other, ours, ours
    if other & kings & ~ours[0] == uint64(0):
        return MOST + 1.0, kinds, own, other, ours, ours
    left, right = (other & pawns & NOT_A_FILE) >> uint64(9) & area, (other & pawns & NOT_H_FILE) >> uint64(7) & area
    theirs, their_worth = _attacks(size, kinds, other, left, right, uint64(8 * (size - 1)))
    king, their_king = lowest(own & kings), lowest(other & kings)
    around = reach(KING, king, taken) & area
    worth = (
        our_worth
        - their_worth
        + SEEN * (count(ours[0] & ~own) - count(theirs[0] & ~other))
        - LOOSE * (count(own & ~pawns & ~ours[0]) - count(other & ~pawns & ~theirs[0]))
        - EXPOSED * count((around | bit(king)) & theirs[0])
        + EXPOSED * count((reach(KING, their_king, taken) | bit(their_king)) & ours[0])
        - OPEN * count(reach(QUEEN, king, taken) & area & ~own)
        + OPEN * count(reach(QUEEN, their_king, taken) & area & ~other)
        + TEMPO
    )
    last = LAST_RANK[size]
    promoted = (other & pawns) >> uint64(8) & ~taken & ~ours[0] & (last >> uint64(8 * (size - 1)))
    most, second_most = _gains(kinds, own & ~kings, theirs, ours, promoted)
    if theirs[0] & own & kings != uint64(0):
        worth += _answer(kinds, own, other, king, around, ours, theirs)
        return worth - LATER * most, kinds, own, other, ours, theirs
    promoted = (own & pawns) << uint64(8) & ~taken & ~theirs[0] & last
    gain, _ = _gains(kinds, other, ours, theirs, promoted)
    return worth + gain - LATER * second_most, kinds, own, other, ours, theirs


@jitable
def _attacks(size, kinds, side, left, right, over):
    """The squares that a side attacks: all, twice or more, by pawns, minors, rooks, queens; and its pieces' worth.

    `left` and `right` are the squares that its pawns attack; `over` changes a square to the side's own view.
    """
    first, second, third = kinds
    taken, pawns = first | second | third, left | right
    every, twice = pawns, left & right
    minors = rooks = queens = uint64(0)
    worth, rest, one = int64(0), side, uint64(1)
    while rest != uint64(0):
        square = lowest(rest)
        rest = without_lowest(rest)
        at = uint64(square)
        kind = (first >> at) & one | ((second >> at) & one) << one | ((third >> at) & one) << uint64(2)
        seen = at if over == uint64(0) else (at & uint64(7)) + over - (at & uint64(56))
        worth += TABLE[size, (kind << uint64(6)) + seen]
        if kind != uint64(PAWN):
            reached = reach(kind, square, taken) & AREA[size]
            twice |= every & reached
            every |= reached
            minors |= reached & _MINORS[kind]
            rooks |= reached & _ROOKS[kind]
            queens |= reached & _QUEENS[kind]
    return (every, twice, pawns, minors, rooks, queens), worth


@jitable
def _cheapest(attacks, place):
    """The worth of the cheapest piece that attacks a square."""
    if attacks[2] & place != uint64(0):
        return _WORTH[PAWN]
    if attacks[3] & place != uint64(0):
        return _WORTH[KNIGHT]
    if attacks[4] & place != uint64(0):
        return _WORTH[ROOK]
    return _WORTH[QUEEN] if attacks[5] & place != uint64(0) else int64(KING_WORTH)


@jitable
def _gain(kinds, place, takers, defenders):
    """The gain of the captures on a square that the takers attack."""
    first, second, third = kinds
    kind = 0
    if first & place != uint64(0):
        kind += 1
    if second & place != uint64(0):
        kind += 2
    if third & place != uint64(0):
        kind += 4
    worth = _WORTH[kind]
    if defenders[0] & place != uint64(0):
        loss = _cheapest(takers, place)
        if takers[1] & ~defenders[1] & place != uint64(0):
            loss = max(loss - _cheapest(defenders, place), 0)
        worth -= loss
    return worth


@jitable
def _gains(kinds, prey, takers, defenders, promoted):
    """The greatest and the second greatest gain, by captures of prey and by promotions onto free squares."""
    most = second = int64(0)
    if promoted != uint64(0):
        most = int64(PROMOTION)
        if without_lowest(promoted) != uint64(0):
            second = most
    rest = prey & takers[0]
    while rest != uint64(0):
        gain = _gain(kinds, rest & (~rest + uint64(1)), takers, defenders)
        rest = without_lowest(rest)
        second = max(second, min(gain, most))
        most = max(most, gain)
    return most, second


@jitable
def _answer(kinds, own, other, king, around, ours, theirs):
    """What the mover gains by its answer to an attack on its king."""
    first, second, third = kinds
    taken = first | second | third
    pawns = first & ~second & ~third
    place = bit(king)
    slides = other & third
    beside = (place & NOT_A_FILE) << uint64(7) | (place & NOT_H_FILE) << uint64(9)
    attackers = beside & other & pawns
    attackers |= reach(KNIGHT, king, taken) & other & second & ~first & ~third
    attackers |= reach(BISHOP, king, taken) & slides & first
    attackers |= reach(ROOK, king, taken) & slides & second
    alone = without_lowest(attackers) == uint64(0)
    if alone and attackers & ours[0] != uint64(0):
        others = ours[1] | ours[2] | ours[3] | ours[4] | ours[5]
        if attackers & (others | ~theirs[0]) != uint64(0):
            return max(_gain(kinds, attackers, ours, theirs), int64(0))
    if around & ~own & ~theirs[0] != uint64(0):
        return int64(0)
    return int64(0) if alone and attackers & third & ~around != uint64(0) else -int64(MATE)
