"""The boards that a side of blind chess holds possible, kept turn by turn: Reconnaissance Blind Chess's belief.

A board is pieces, side to move, rights to castle and the en passant square; clocks and counters are left out, so that
boards that differ in nothing else are one. Three things happen to a set of them:

    the other moves     every board becomes all that may follow: its pseudo-legal moves and passing, less those that
                        take where nothing was taken; equal boards are merged
    a sense             boards with other contents in the window go
    one's own move      boards on which the request would have become another move, or would have taken elsewhere, go;
                        so do those on which it would have taken the king: the game goes on

Requests that end alike count once: each of the boards that may follow one has the same share of its weight. The set is
exact up to `cap` boards. Above, those heavier than a threshold stay and the others are drawn, as in `expansion.py`, and
weights stay right in expectation; but boards are missing then, perhaps the true one.
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
_MOST = 512  # more moves than a position has
_FIRST_ROOM = 4096  # boards; room doubles when it runs out
# of the state: side to move, castling, en passant, and the free bits
_KEPT = uint64(((1 << CLOCK[1]) - 1) | (2**64 - (1 << FREE_BITS)))


class Boards:
    """What one side may believe; it starts from a position that it knows, with `fen` another than the usual one.

    Squares and moves are numbers as in `foglight/chess`, NONE where there is no square or no move.
    """

    def __init__(self, seat: int, *, cap: int = 1_000_000, seed: int = 0, fen: str = START) -> None:
        if seat not in (BLACK, WHITE):
            raise BadInput(f"seat must be {BLACK} for black or {WHITE} for white, not {seat}")
        if cap < 1:
            raise BadInput(f"cap must be at least 1, not {cap}")
        self.seat, self.cap = seat, cap
        self.exact = True
        self.tried = 0  # boards considered, before equal ones are merged or any is dropped
        self.boards = notation.read_fen(fen)[1][None, :]  # uint64[n, 5]
        self.boards[:, STATE] &= _KEPT
        self.weights = np.ones(1)  # float64[n], sum 1
        self._random = generator(seed, seat)
        self._sensed = False

    @property
    def size(self) -> int:
        """How many boards there are."""
        return len(self.boards)

    def observe(self, code: int) -> None:
        """Take in what the game tells the seat (`foglight/chess/blind.py`); the end of the game changes nothing."""
        if get(self.boards[0], TURN) != self.seat:
            if code != blind.SENSED:
                taken, result = blind.parted_other(code)
                if result == 0:
                    self.opponent_moved(taken)
        elif not self._sensed:
            square, seen = blind.parted_sense(code)
            if square != blind.NO_SENSE:
                self.sensed(square, seen)
            self._sensed = True
        else:
            action, landed, taken, result = blind.parted_move(code)
            if result == 0:
                requested = NONE if action == blind.PASS else action - blind.FIRST_MOVE
                self.moved(requested, _taken_move(requested, landed, self.seat), taken)

    def opponent_moved(self, taken: int = NONE) -> None:
        """The other has moved, or passed, and has taken one's piece on this square, or none."""
        self._turn_of(1 - self.seat)
        self._become(_follow, (taken, NONE, NONE))

    def sensed(self, square: int, seen: int) -> None:
        """This is what stands around a square."""
        expected = np.zeros(WHITES + 1, np.uint64)
        blind.unfold(seen, square, expected)
        kept = (self.boards[:, : WHITES + 1] & blind.WINDOW[square] == expected).all(1)
        self._sensed = True
        self._adopt(self.boards[kept], self.weights[kept])

    def moved(self, requested: int, taken_move: int, taken: int = NONE) -> None:
        """One's request has become this move, or NONE, and has taken a piece on this square, or none."""
        self._turn_of(self.seat)
        self._sensed = False
        self._become(_answer, (taken, requested, taken_move))

    def _turn_of(self, seat: int) -> None:
        if get(self.boards[0], TURN) != seat:
            raise BadInput(f"it is not the turn of seat {seat}")

    def _become(self, how: Any, event: tuple[int, int, int]) -> None:
        """All boards that follow what happened (where a piece was taken, the request, the move), merged.

        They are thinned whenever room for twice the cap is full.
        """
        full = 2 * self.cap + _MOST
        room = min(full, max(_FIRST_ROOM, 2 * self.size) + _MOST)
        rows, weights = np.empty((room, WORDS), np.uint64), np.empty(room)
        sieve = np.zeros(2)  # the threshold, and how much of it has been carried on
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
                raise BadInput("no board explains that; was everything told, in order?")
            raise BeliefLost(f"none of the {self.size} boards of the sample explains that; try a larger cap")
        self.boards, self.weights = boards, weights / weights.sum()


def _taken_move(requested: int, landed: int, seat: int) -> int:
    """The move that became of a request, from the square that was entered."""
    if landed == NONE or requested >= CASTLE_LEFT:
        return NONE if landed == NONE else requested
    start, end, _ = (int(part) for part in meaning_seen(requested))
    over = 0 if seat == WHITE else 56
    return requested if landed ^ over == end else int(move_between(start, landed ^ over))


# What follows a board -------------------------------------------------------------------------------------------


@jitable
def add_board(board, share, rows, weights, n, table):
    """Take a board in; how many there are then."""
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
    """Where the side to move would take with this move, en passant included; NONE if it takes nothing."""
    if move == NONE:
        return NONE
    colour = get(board, TURN)
    over = 0 if colour == WHITE else 56  # moves are written as the mover sees the board
    start, end, _ = meaning_seen(move)
    start, end = start ^ over, end ^ over
    if pieces_of(board, 1 - colour) & bit(end) != uint64(0):
        return end
    if (start ^ end) & 7 != 0 and kind_at(board, start) == PAWN:
        return start & 56 | end & 7
    return NONE


@kernel
def _follow(boards, mass, begin, event, rows, weights, n, table, sieve):
    """Add what may follow when the side to move moves and takes there: next board, boards found, boards tried.

    It ends early when there may be no room for what follows one more board.
    """
    taken, _, _ = event
    moves = np.empty(_MOST, np.int64)
    board = np.empty(WORDS, np.uint64)
    tried = 0
    while begin < len(boards) and n + _MOST <= len(rows):
        parent = boards[begin]
        found = write_moves(blind.SIZE, parent, moves)
        moves[found] = NONE
        odds = mass[begin] / (found + 1)
        for i in range(found + 1):
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
    """Add what follows a request, of those boards on which it becomes that move and takes there; as `_follow`."""
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
