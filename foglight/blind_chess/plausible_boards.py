"""The boards of blind chess, weighted by how likely the opponent's moves are, instead of all moves alike.

    odds(passing) = p
    odds(move)    = (1 - p) * (UNIFORM / moves + (1 - UNIFORM) * exp(gain(move) / TEMPERATURE) / sum of the same)

The gain of a move is what it adds to the opponent's position by static evaluation (`evaluation.py`), less a share of
the moving piece if it can be captured on its new square. For the heaviest boards the gain comes from playing captures
out (`captures.py`), and for the first few, if there is one, also from an engine. The opponent does not see our pieces,
so all this is a guess: every move keeps a share, and an attack on our king, which wins if it goes unnoticed, counts
like the best move.

Some opponents only rush at the king. So each board is held twice, the second time with the bit RUSHING, for an opponent
that draws its moves by BOLDNESS: attacks on the king, knights that can attack it next, other moves of pieces, and the
rest. The weights are those of both kinds together, so the observations show which kind the opponent is.

A request that fails also becomes a pass. How often the opponent passes is learned: PASSES is the number of passed turns
and of turns assumed before the game begins, and every turn adds the probability that it was passed, given the sense
after it.

When a sample has died, because none of its boards explains an observation, boards are corrected by force: the observed
pieces are put on their squares and removed elsewhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import uint64

from foglight.bits import bit, get, lowest
from foglight.blind_chess.boards import NONE, START, Boards, add_board, capture_square
from foglight.blind_chess.captures import attackers, king_of, quiet, quiet_room, two_leaps
from foglight.blind_chess.evaluation import centipawns
from foglight.chess import blind
from foglight.chess.board import (
    EMPTY,
    EN_PASSANT,
    FREE_BITS,
    KING,
    KNIGHT,
    PAWN,
    STATE,
    TURN,
    WHITE,
    WHITES,
    WORDS,
    kind_at,
    of_kind,
    pieces_of,
)
from foglight.chess.moves import list_moves, meaning_seen, write_moves
from foglight.compile import jitable, kernel
from foglight.worlds.expansion import sifted
from foglight.worlds.regeneration import BeliefLost

UNIFORM, TEMPERATURE = 0.25, 80.0  # share of uniform play; temperature in centipawns
RUSHING, RUSHERS = uint64(1 << FREE_BITS), 0.15  # a bit of the state, and its probability at first
BOLDNESS = np.array([8.0, 4.0, 1.0, 0.2])  # weight of a move by its rank (`_rank`)
PASSES = (1.0, 20.0)  # passed turns and turns assumed before the game
_PLAYED_OUT = 300  # heaviest boards, whose moves are judged by playing captures out
_CORRECTED = 500  # heaviest boards corrected when a sample has died
_MOST = 512
_PIECE = np.array([0, 100, 300, 1000, 0, 320, 500, 900], float)  # value by kind, in centipawns
_RISK = 0.5  # share of a piece's value lost if it can be captured
_PAST_PASSING = uint64((1 << EN_PASSANT[1]) - 1) | RUSHING  # bits of the state that a pass keeps, or flips (the turn)

Judge = Callable[[np.ndarray], list[dict[int, int]]]  # by board, moves and their values to the side to move


class PlausibleBoards(Boards):
    """`Boards` that weigh the opponent's moves.

    `judge` gives the values of the opponent's moves on the `judged` heaviest boards, in centipawns, as an engine's
    `analyse` does.
    """

    def __init__(
        self,
        seat: int,
        *,
        cap: int = 50_000,
        seed: int = 0,
        fen: str = START,
        judge: Judge | None = None,
        judged: int = 20,
    ) -> None:
        super().__init__(seat, cap=cap, seed=seed, fen=fen)
        self.boards = np.repeat(self.boards, 2, axis=0)
        self.boards[1, STATE] |= RUSHING
        self.weights = np.array([1.0 - RUSHERS, RUSHERS])
        self.judge, self.judged = judge, judged
        self.corrections = 0  # how often a sample has died
        self._passes, self._turns = PASSES
        self._passing = 0.0
        self._before: Any = None  # boards and weights before the opponent's move, until the next sense
        self._mass = 1.0  # total weight of the boards not ruled out since then

    @property
    def positions(self) -> int:
        """The number of distinct boards, whatever the kind of opponent."""
        plain = self.boards.copy()
        plain[:, STATE] &= ~RUSHING
        return len(np.unique(plain, axis=0))

    @property
    def has_sensed(self) -> bool:
        """Whether the seat has already sensed in its current turn."""
        return self._sensed

    def opponent_moved(self, taken: int = NONE) -> None:
        self._turn_of(1 - self.seat)
        order = np.argsort(-self.weights, kind="stable")
        self.boards, self.weights = self.boards[order], self.weights[order]
        passing = self._passing = self._passes / self._turns
        odds = _played_out(self.boards[:_PLAYED_OUT], passing, quiet_room())
        if self.judge is not None:
            sober = np.flatnonzero(self.boards[:_PLAYED_OUT, STATE] & RUSHING == 0)[: self.judged]
            self._mix_in(odds, sober, self.judge(self.boards[sober]))

        def follow(*rest: Any) -> Any:
            return _follow_plausibly(odds, passing, *rest)

        self._before, self._mass = (self.boards, self.weights) if taken == NONE else None, 1.0
        self._turns += 1.0
        try:
            self._become(follow, (taken, NONE, NONE))
        except BeliefLost:
            self._correct(lambda board: _force_capture(board, taken))

    def sensed(self, square: int, seen: int) -> None:
        try:
            super().sensed(square, seen)
        except BeliefLost:
            self._correct(lambda board: _force_window(board, square, seen))
            return
        self._learn()

    def moved(self, requested: int, taken_move: int, taken: int = NONE) -> None:
        try:
            super().moved(requested, taken_move, taken)
        except BeliefLost:
            self._correct(lambda board: _force_move(board, taken_move, taken))

    def _adopt(self, boards: np.ndarray, weights: np.ndarray) -> None:
        self._mass *= float(weights.sum())
        super()._adopt(boards, weights)

    def _learn(self) -> None:
        """Count the opponent's last turn as passed with the probability that it was."""
        if self._before is None:
            return
        boards, weights = self._before
        after = boards.copy()
        after[:, STATE] = after[:, STATE] & _PAST_PASSING ^ uint64(1)
        possible = {board.tobytes() for board in self.boards}
        mass = sum(weight for board, weight in zip(after, weights, strict=True) if board.tobytes() in possible)
        self._passes += min(1.0, self._passing * mass / self._mass)
        self._before = None

    def _mix_in(self, odds: np.ndarray, places: np.ndarray, judged: list[dict[int, int]]) -> None:
        """Where moves have been judged, half of their odds come from the judgement."""
        for i, values in zip(places, judged, strict=False):  # a judge may return nothing
            if values:
                shares = np.exp((np.array([*values.values()], float) - max(values.values())) / TEMPERATURE)
                moves = list_moves(blind.SIZE, self.boards[i])
                odds[i, : len(moves)] *= 0.5
                odds[i, np.searchsorted(moves, [*values])] += 0.5 * (1.0 - self._passing) * shares / shares.sum()

    def _correct(self, force: Callable[[np.ndarray], None]) -> None:
        """Force the heaviest boards to explain the observation."""
        self.corrections += 1
        kept = np.argsort(-self.weights, kind="stable")[:_CORRECTED]
        boards, weights = self.boards[kept].copy(), self.weights[kept]
        for board in boards:
            force(board)
        boards, places = np.unique(boards, axis=0, return_inverse=True)
        self._adopt(boards, np.bincount(places.ravel(), weights, len(boards)))


# Odds -----------------------------------------------------------------------------------------------------------


@jitable
def _rank(child, move):
    """The index in BOLDNESS of the move that led to this board; 0 if it attacks the king."""
    seat = get(child, TURN)
    king = king_of(child, seat)
    if king == uint64(0) or attackers(child, lowest(king), 1 - seat) != uint64(0):
        return 0
    _, end, _ = meaning_seen(move)
    end ^= 56 if seat == WHITE else 0
    kind = kind_at(child, end)
    if kind == KNIGHT and two_leaps(lowest(king)) & bit(end) != uint64(0):
        return 1
    return 3 if kind in (PAWN, KING) else 2


@jitable
def _soften(odds, ranks, n, passing, rushing):
    """Turn the values of n moves and their ranks into probabilities, in place; passing comes after them."""
    best = -np.inf
    for i in range(n):
        best = max(best, odds[i])
    total = 0.0
    for i in range(n):
        if rushing:
            odds[i] = BOLDNESS[ranks[i]]
        else:
            odds[i] = 1.0 if ranks[i] == 0 else np.exp((odds[i] - best) / TEMPERATURE)
        total += odds[i]
    uniform = 0.0 if rushing else UNIFORM
    for i in range(n):
        odds[i] = (1.0 - passing) * (uniform / n + (1.0 - uniform) * odds[i] / total)
    odds[n] = passing if n > 0 else 1.0


@kernel
def _played_out(boards, passing, room):
    """The probability of each move, and of passing, by playing captures out: float64[boards, _MOST]."""
    odds = np.zeros((len(boards), _MOST))
    moves, child = np.empty(_MOST, np.int64), np.empty(WORDS, np.uint64)
    ranks = np.zeros(_MOST, np.int64)
    for i in range(len(boards)):
        rushing = boards[i, STATE] & RUSHING != uint64(0)
        n = write_moves(blind.SIZE, boards[i], moves)
        for j in range(n):
            for k in range(WORDS):
                child[k] = boards[i, k]
            kind, _ = blind.play_outcome(child, moves[j])
            if not rushing:
                odds[i, j] = 2000.0 if kind == KING else max(-2000.0, -quiet(child, room))
            ranks[j] = _rank(child, moves[j])
        _soften(odds[i], ranks, n, passing, rushing)
    return odds


@jitable
def _at_a_glance(parent, moves, n, child, odds, ranks, passing):
    """The same for one board, by static evaluation."""
    colour = get(parent, TURN)
    over, sign = (0, 1.0) if colour == WHITE else (56, -1.0)
    for j in range(n):
        for k in range(WORDS):
            child[k] = parent[k]
        blind.play_outcome(child, moves[j])
        _, end, _ = meaning_seen(moves[j])
        end = end ^ over
        hunters = attackers(child, end, 1 - colour)
        risk = 0.0
        if hunters != uint64(0):
            mine = _PIECE[kind_at(child, end)]
            guarded = attackers(child, end, colour) != uint64(0)
            risk = max(0.0, mine - _PIECE[kind_at(child, lowest(hunters))]) if guarded else mine
        odds[j] = sign * float(centipawns(blind.SIZE, child)) - _RISK * risk
        ranks[j] = _rank(child, moves[j])
    _soften(odds, ranks, n, passing, parent[STATE] & RUSHING != uint64(0))


@kernel
def _follow_plausibly(given, passing, boards, mass, begin, event, rows, weights, n, table, sieve):
    """As `boards._follow`, with moves by probability: `given` for the first boards, then by static evaluation."""
    taken, _, _ = event
    moves, odds, ranks = np.empty(_MOST, np.int64), np.empty(_MOST), np.zeros(_MOST, np.int64)
    board = np.empty(WORDS, np.uint64)
    tried = 0
    while begin < len(boards) and n + _MOST <= len(rows):
        parent = boards[begin]
        num_moves = write_moves(blind.SIZE, parent, moves)
        moves[num_moves] = NONE
        if begin < len(given):
            for i in range(num_moves + 1):
                odds[i] = given[begin, i]
        else:
            _at_a_glance(parent, moves, num_moves, board, odds, ranks, passing)
        for i in range(num_moves + 1):
            if capture_square(parent, moves[i]) == taken:
                tried += 1
                share = sifted(mass[begin] * odds[i], sieve)
                if share > 0.0:
                    for k in range(WORDS):
                        board[k] = parent[k]
                    kind, _ = blind.play_outcome(board, moves[i])
                    if kind != KING:
                        n = add_board(board, share, rows, weights, n, table)
        begin += 1
    return begin, n, tried


# Correcting boards by force -------------------------------------------------------------------------------------


def _put(board: np.ndarray, square: int, kind: int, colour: int) -> None:
    """Put a piece on a square, or empty the square."""
    place = np.uint64(1 << square)
    for i in range(3):
        board[i] = board[i] & ~place | place * np.uint64(kind >> i & 1)
    board[WHITES] = board[WHITES] & ~place | place * np.uint64(kind != EMPTY and colour == WHITE)


def _squares(places: Any) -> list[int]:
    """The squares of a bitboard."""
    return [square for square in range(64) if int(places) >> square & 1]


def _settle_king(board: np.ndarray, colour: int, known_squares: int) -> None:
    """Leave a side one king, on a known square if possible.

    If it has none, put one on the free unknown square closest to its home square.
    """
    kings = _squares(of_kind(board, KING) & pieces_of(board, colour))
    kings.sort(key=lambda square: not known_squares >> square & 1)
    for square in kings[1:]:
        _put(board, square, EMPTY, colour)
    if not kings:
        home = 4 if colour == WHITE else 60
        free = [square for square in range(64) if not known_squares >> square & 1 and kind_at(board, square) == EMPTY]
        _put(board, min(free, key=lambda square: _distance(square, home)), KING, colour)


def _distance(one: int, other: int) -> int:
    """The number of king's moves between two squares."""
    return max(abs(one % 8 - other % 8), abs(one // 8 - other // 8))


def _force_window(board: np.ndarray, square: int, seen: int) -> None:
    """Put the observed pieces into the window around a square."""
    expected, near = np.zeros(WHITES + 1, np.uint64), blind.WINDOW[square]
    blind.unfold(seen, square, expected)
    board[: WHITES + 1] = board[: WHITES + 1] & ~near | expected
    _settle_king(board, 1 - get(board, TURN), int(near))


def _force_capture(board: np.ndarray, taken: int) -> None:
    """Let the side to move capture there, with its closest piece."""
    colour = get(board, TURN)
    others = [square for square in _squares(pieces_of(board, colour)) if kind_at(board, square) != KING]
    start = min(others, key=lambda square: (_distance(square, taken), square), default=NONE)
    kind = PAWN if start == NONE else int(kind_at(board, start))
    if start != NONE:
        _put(board, start, EMPTY, colour)
    _put(board, taken, kind, colour)
    blind.play_outcome(board, NONE)


def _force_move(board: np.ndarray, taken_move: int, taken: int) -> None:
    """Let the side to move have made this move and have captured there; nothing was in its way."""
    colour = get(board, TURN)
    known_squares = 0
    if taken_move != NONE:
        start, end, _ = (int(part) ^ (0 if colour == WHITE else 56) for part in meaning_seen(taken_move))
        known_squares = int(blind.BETWEEN[64 * start + end]) | 1 << end
        for square in _squares(known_squares):
            if square != taken:
                _put(board, square, EMPTY, colour)
        if taken != NONE and kind_at(board, taken) in (EMPTY, KING):
            _put(board, taken, PAWN, 1 - colour)
    blind.play_outcome(board, taken_move)
    _settle_king(board, 1 - colour, known_squares)
