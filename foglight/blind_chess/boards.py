"""The belief of a side in Reconnaissance Blind Chess: the possible boards, updated turn by turn.

A board consists of the pieces, the side to move, the castling rights and the en passant square. Clocks and counters are
left out, so that boards that differ only in these are one. Three events change the set of boards:

    the opponent moves  every board is replaced by its successors: all pseudo-legal moves and passing, except those
                        whose capture does not match the one observed; equal boards are merged
    a sense             boards with other contents in the window are removed
    one's own move      boards are removed on which the request would have become another move or captured elsewhere,
                        and those on which it would have captured the king, since the game goes on

Requests with the same outcome count once: the successors of a board share its weight equally. The set is exact up to
`cap` boards. Above, boards heavier than a threshold stay and the others are drawn, as in `worlds/expansion.py`. Weights
stay right in expectation, but boards are missing then, perhaps the true one.
"""

from typing import Any

import numpy as np
from numpy import uint64

from foglight.bits import bit, get
from foglight.chess import blind, notation
from foglight.chess.board import (
    BLACK,
    CLOCK,
    EMPTY,
    FREE_BITS,
    KING,
    PAWN,
    STATE,
    TURN,
    WHITE,
    WHITES,
    WORDS,
    kind_at,
    pieces_of,
)
from foglight.chess.moves import CASTLE_LEFT, meaning_seen, move_between, write_moves
from foglight.compile import is_compiled, jitable, kernel
from foglight.names import BadInput
from foglight.randomness import generator, unit
from foglight.tables import place, table_of
from foglight.worlds.expansion import sifted, thin
from foglight.worlds.regeneration import BeliefLost

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
NONE = blind.NONE
_SQUARES = 64
_MOST = 512  # more than the moves of any position
_FIRST_ROOM = 4096  # boards that fit at first; the arrays double in size when they are full
# the bits of the state that count: side to move, castling, en passant, and the free bits
_KEPT = uint64(((1 << CLOCK[1]) - 1) | (2**64 - (1 << FREE_BITS)))


class Boards:
    """The belief of one side, from the start of the game; `fen` is the starting position, if it is not the usual one.

    Squares and moves are numbers as in `foglight/chess`, NONE where there is no square or no move.
    """

    def __init__(self, seat: int, *, cap: int = 1_000_000, seed: int = 0, fen: str = START) -> None:
        if seat not in (BLACK, WHITE):
            raise BadInput(f"seat must be {BLACK} for black or {WHITE} for white, not {seat}")
        if cap < 1:
            raise BadInput(f"cap must be at least 1, not {cap}")
        self.seat, self.cap = seat, cap
        self.exact = True
        self.tried = 0  # boards generated, before equal ones are merged or any is dropped
        self.boards = notation.read_fen(fen)[1][None, :]  # uint64[n, 5]
        self.boards[:, STATE] &= _KEPT
        self.weights = np.ones(1)  # float64[n], sum 1
        self._random = generator(seed, seat)
        self._sensed = False

    @property
    def size(self) -> int:
        """The number of boards."""
        return len(self.boards)

    def observe(self, code: int) -> None:
        """Update the belief with an observation of the game (`foglight/chess/blind.py`).

        An observation that ends the game changes nothing.
        """
        if get(self.boards[0], TURN) != self.seat:
            if code != blind.SENSED:
                taken, result = blind.parted_other(code)
                _check(code, NONE <= taken < _SQUARES)
                if result == 0:
                    self.opponent_moved(taken)
        elif not self._sensed:
            square, seen = blind.parted_sense(code)
            _check(code, square <= blind.NO_SENSE and seen >= 0)
            if square != blind.NO_SENSE:
                self.sensed(square, seen)
            self._sensed = True
        else:
            action, landed, taken, result = blind.parted_move(code)
            _check(code, blind.FIRST_MOVE <= action <= blind.PASS and max(landed, taken) < _SQUARES)
            if result == 0:
                requested = NONE if action == blind.PASS else action - blind.FIRST_MOVE
                self.moved(requested, _taken_move(requested, landed, self.seat), taken)

    def opponent_moved(self, taken: int = NONE) -> None:
        """Update after the opponent has moved or passed; `taken` is the square of its capture, or NONE."""
        self._turn_of(1 - self.seat)
        self._become(_follow, (taken, NONE, NONE))

    def sensed(self, square: int, seen: int) -> None:
        """Update after a sense around this square; `seen` is the content of the window."""
        expected = np.zeros(WHITES + 1, np.uint64)
        blind.unfold(seen, square, expected)
        kept = (self.boards[:, : WHITES + 1] & blind.WINDOW[square] == expected).all(1)
        self._sensed = True
        self._adopt(self.boards[kept], self.weights[kept])

    def moved(self, requested: int, taken_move: int, taken: int = NONE) -> None:
        """Update after one's own move: the request, the move that became of it, and the square of its capture.

        Each of them may be NONE.
        """
        self._turn_of(self.seat)
        self._sensed = False
        self._become(_answer, (taken, requested, taken_move))

    def _turn_of(self, seat: int) -> None:
        """Refuse an event if it is not this seat's turn."""
        if get(self.boards[0], TURN) != seat:
            raise BadInput(f"it is not the turn of seat {seat}")

    def _become(self, how: Any, event: tuple[int, int, int]) -> None:
        """Replace all boards by their successors, merged.

        The event is the square of the capture, the request, and the move that became of it. `how` is the kernel that
        generates the successors. They are thinned whenever there are more than twice the cap.
        """
        full = 2 * self.cap + _MOST
        room = min(full, max(_FIRST_ROOM, 2 * self.size) + _MOST)
        rows, weights = np.empty((room, WORDS), np.uint64), np.empty(room)
        sieve = np.zeros(2)  # as in `worlds/expansion.py`
        begin = n = 0
        while True:
            table = table_of(rows, n, WORDS, is_compiled())
            begin, n, tried = how(self.boards, self.weights, begin, event, rows, weights, n, table, sieve)
            self.tried += tried
            done = begin == self.size
            if not done and room < full:
                room = min(full, 2 * room)
                rows, weights = np.resize(rows, (room, WORDS)), np.resize(weights, room)
            elif n > self.cap:
                self.exact = False
                kept, new, threshold = thin(weights[:n], self.cap, unit(self._random))
                n = len(kept)
                rows[:n], weights[:n] = rows[kept], new
                sieve[:] = threshold, unit(self._random)
            if done:
                break
        self._adopt(rows[:n].copy(), weights[:n])

    def _adopt(self, boards: np.ndarray, weights: np.ndarray) -> None:
        if len(boards) == 0:
            if self.exact:
                raise BadInput("no board explains this; check that every event was given, in order")
            raise BeliefLost(f"none of the {self.size} boards of the sample explains this; try a larger cap")
        self.boards, self.weights = boards, weights / weights.sum()


def _check(code: int, is_possible: bool) -> None:
    """Refuse a code that no game gives: kernels trust squares and moves."""
    if not is_possible:
        raise BadInput(f"{code} is no observation that blind chess gives here")


def _taken_move(requested: int, landed: int, seat: int) -> int:
    """The move that became of a request, by the square where the piece landed."""
    if landed == NONE or requested >= CASTLE_LEFT:
        return NONE if landed == NONE else requested
    start, end, _ = (int(part) for part in meaning_seen(requested))
    over = 0 if seat == WHITE else 56
    return requested if landed ^ over == end else int(move_between(start, landed ^ over))


# Successors of a board ------------------------------------------------------------------------------------------


@jitable
def add_board(board, share, rows, weights, n, table):
    """Add a board, or its share to the weight of an equal one; returns the number of boards."""
    board[STATE] &= _KEPT
    at = place(board, WORDS, rows, n, table)
    if at < n:
        weights[at] += share
        return n
    for i in range(WORDS):
        rows[at, i] = board[i]
    weights[at] = share
    return n + 1


@jitable
def capture_square(board, move):
    """The square on which this move captures, en passant included; NONE if it captures nothing."""
    if move == NONE:
        return NONE
    colour = get(board, TURN)
    over = 0 if colour == WHITE else 56  # moves are numbered from the mover's point of view
    start, end, _ = meaning_seen(move)
    start, end = start ^ over, end ^ over
    if pieces_of(board, 1 - colour) & bit(end) != uint64(0):
        return end
    if (start ^ end) & 7 != 0 and kind_at(board, start) == PAWN:
        return start & 56 | end & 7
    return NONE


@kernel
def _follow(boards, mass, begin, event, rows, weights, n, table, sieve):
    """Add the successors of boards by moves of the side to move that capture on `taken`, or nowhere if it is NONE.

    Returns the next board to process, the number of successors, and the number generated. It stops early when the
    successors of one more board may not fit.
    """
    taken, _, _ = event
    moves = np.empty(_MOST, np.int64)
    board = np.empty(WORDS, np.uint64)
    tried = 0
    while begin < len(boards) and n + _MOST <= len(rows):
        parent = boards[begin]
        num_moves = write_moves(blind.SIZE, parent, moves)
        moves[num_moves] = NONE
        odds = mass[begin] / (num_moves + 1)
        for i in range(num_moves + 1):
            if capture_square(parent, moves[i]) == taken:
                tried += 1
                share = sifted(odds, sieve)
                if share > 0.0:
                    for k in range(WORDS):
                        board[k] = parent[k]
                    blind.play_outcome(board, moves[i])
                    n = add_board(board, share, rows, weights, n, table)
        begin += 1
    return begin, n, tried


@kernel
def _answer(boards, mass, begin, event, rows, weights, n, table, sieve):
    """Add the successors of boards on which one's own request becomes that move and captures there; as `_follow`."""
    taken, requested, taken_move = event
    board = np.empty(WORDS, np.uint64)
    tried = 0
    while begin < len(boards) and n + _MOST <= len(rows):
        for k in range(WORDS):
            board[k] = boards[begin, k]
        became = NONE if requested == NONE else blind.outcome(board, requested)
        if became == taken_move:
            tried += 1
            kind, square = blind.play_outcome(board, became)
            where = NONE if kind == EMPTY else square
            share = sifted(mass[begin], sieve)
            if where == taken and kind != KING and share > 0.0:
                n = add_board(board, share, rows, weights, n, table)
        begin += 1
    return begin, n, tried
