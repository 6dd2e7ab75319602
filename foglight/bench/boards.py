"""Sets of possible boards in Reconnaissance Blind Chess: boards per second, beside python-chess in the same run.

Both sides start from the same boards, make all boards that can follow an unseen move or pass that captures nothing, and
merge equal ones. The boards are a player's belief at some moment of a random game.
"""

import importlib
import importlib.util
import random
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from foglight.bench.figures import Figure, rate
from foglight.bits import get
from foglight.blind_chess.boards import NONE, Boards
from foglight.chess import notation
from foglight.chess.board import TURN, WHITE
from foglight.rules import TERMINAL
from foglight.state import new_state

_FEW, _MANY = 500, 1_000_000  # boards to start from
_ALL = 12  # a cap of this many times the boards has room for all that follow
_BAR, _SECONDS, _MEGABYTES = 20, 10, 2048  # the bars: least ratio to python-chess, most seconds, most megabytes


def tasks(seconds: float = 0.5, many: int = _MANY) -> list[Callable[[], list[Figure]]]:
    """The tasks."""
    return [partial(_against_python_chess, seconds), partial(_many, many)]


def _against_python_chess(seconds: float) -> list[Figure]:
    rows = _believed(_FEW).boards
    ours = rate(_at_least(lambda: _followed(rows, _MANY).tried), seconds)
    peer = None
    if importlib.util.find_spec("chess") is not None:
        chess = importlib.import_module("chess")
        boards = [chess.Board(notation.fen(8, row)) for row in rows]
        followed = _followed(rows, _MANY)
        assert (followed.size, followed.tried) == _python_chess(chess, boards), "the sets differ"
        peer = rate(_at_least(lambda: _python_chess(chess, boards)[1]), seconds)
    what = f"boards that follow {_FEW} boards after an unseen move"
    return [Figure(what, ours, "/s", "python-chess" if peer else "", peer, times=_BAR if peer else None)]


def _at_least(make: Callable[[], int]) -> Callable[[int], None]:
    """Repeat `make`, which returns how many boards it made, until there are at least n."""

    def repeat(n: int) -> None:
        while n > 0:
            n -= make()

    return repeat


def _many(many: int) -> list[Figure]:
    rows = _believed(many).boards
    figures = []
    for cap, how in ((_ALL * many, "all of them"), (many, f"a sample of {many:,}")):
        tracemalloc.start()
        begin = time.perf_counter()
        belief = _followed(rows, cap)
        seconds = time.perf_counter() - begin
        most = (tracemalloc.get_traced_memory()[1] + rows.nbytes) / 1e6
        tracemalloc.stop()
        what = f"of {belief.tried:,} boards that follow {len(rows):,}, {how}: {belief.size:,} different ones"
        figures.append(Figure(what, seconds, " s", at_most=_SECONDS))
        figures.append(Figure("the most memory held", most, " MB", at_most=_MEGABYTES))
    return figures


def _followed(boards: np.ndarray, cap: int) -> Boards:
    """White's belief after black has moved unseen, given white's belief before."""
    belief = Boards(WHITE, cap=cap)
    belief.boards, belief.weights = boards, np.full(len(boards), 1 / len(boards))
    belief.opponent_moved()
    return belief


def _believed(n: int) -> Boards:
    """White's first belief of at least n boards in a random game, with black to move; thinned to n."""
    for seed in range(100):
        rng, state, belief = random.Random(seed), new_state("rbc"), Boards(WHITE, cap=n)
        while state.player != TERMINAL and belief.size < n:
            state.play(rng.choice(state.actions()))
            belief.observe(state.observations(WHITE)[-1])
        if belief.size >= n and state.player != TERMINAL:
            if get(belief.boards[0], TURN) == WHITE:
                belief.moved(NONE, NONE)
            return belief
    raise AssertionError(f"no random game has {n} boards")


def _python_chess(chess: Any, boards: list[Any]) -> tuple[int, int]:
    """The number of different boards that follow, and the number made to find them."""
    different, made = set(), 0
    for board in boards:
        for move in [*board.generate_pseudo_legal_moves(), chess.Move.null()]:
            if not board.is_capture(move):
                after = board.copy(stack=False)
                after.push(move)
                made += 1
                passed = after.ep_square if after.has_pseudo_legal_en_passant() else None
                different.add(
                    (
                        after.occupied_co[chess.WHITE],
                        after.pawns,
                        after.knights,
                        after.bishops,
                        after.rooks,
                        after.queens,
                        after.kings,
                        after.castling_rights,
                        passed,
                    )
                )
    return len(different), made
