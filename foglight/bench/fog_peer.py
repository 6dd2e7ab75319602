"""Misty behind a pipe, for `foglight bench fog`. It runs in a Python that has `misty-chess`, and imports no foglight.

The first line is {"ready": NAME}. Then requests and answers alternate, each a line of JSON. A request is one of

    {"game": {"white": true, "seed": 7, "compare": 0}}    a new game; the answer is {}
    {"seen": "...", "news": [...], "positions": [...], "size": 1, "moves": [...], "seconds": 1.0}

The second asks for a move, and the answer is {"move": "e2e4"}. `seen` are 64 signs from a1 to h8: a letter, a dot, or a
question mark where the seat does not see. `news` are the seat's observations since its last move, its own move first:
{"own": move or null, "seen": signs, "gone": the square of a piece that was taken or null, "landed": whether a piece of
the other side must stand there}. `positions` are some of the `size` positions that agree with all observations, drawn
uniformly, and `moves` are the legal moves.

Misty's own set of positions is exact and, in Python, takes minutes a move. Its Rust part is not on PyPI. So the caller
keeps the set, and hands over a sample in place of it. While it has at most `compare` positions, Misty's own code
follows as well, and the answer says whether the two sets were compared, and how many positions only one of them had.
"""

import json
import random
import sys
from importlib.metadata import version
from typing import Any
from unittest import mock

import chess
from fow_chess.engine_profile import PROFILES
from fow_chess.engine_v2 import EngineV2Strategy
from fow_chess.observation import Observation
from fow_chess.p_enum.enumerator import PEnumerator
from fow_chess.selfplay import PerspectiveView
from fow_chess.visibility import piece_map_for_squares, visible_squares

PROFILE = "v1.6"  # of the strongest Misty released, less what only its Rust tree has
_MOST_ITERATIONS = 10_000_000  # time is what ends a search


class Positions:
    """In place of Misty's `PEnumerator`: positions that the caller has worked out."""

    uses_rust_state, last_was_downsampled = False, False

    def __init__(self) -> None:
        self.fens: list[str] = []
        self.size = self.last_raw_count = self.last_pre_cap_count = 0

    def iter_positions(self) -> Any:
        return iter(self.fens)

    def sample_root_fens(self, *, n: int, rng: random.Random, **_: Any) -> list[str]:
        return rng.sample(self.fens, min(n, len(self.fens)))

    def update_own_move(self, *_: Any) -> None:
        """The next request brings the positions."""

    update_opp_move = update_own_move


class Player:
    """Misty in one game after the other."""

    def __init__(self) -> None:
        profile = PROFILES[PROFILE]
        profile.apply_process_flags()
        self.misty = EngineV2Strategy(
            iterations=_MOST_ITERATIONS,
            i_sample_size=profile.i_sample_size,
            kluss_k=profile.kluss_k,
            use_rust_tree=False,
            use_rust_state=False,
            resolve_gadget=False,
            queen_promo_tiebreak=profile.queen_promo_tiebreak,
            opening_book=profile.opening_book,
            hv_prune_adaptive=profile.hv_prune_adaptive,
            hv_prune_tau=profile.hv_prune_tau,
            hv_prune_pref=profile.hv_prune_pref,
            hv_prune_pmax=profile.hv_prune_pmax,
            hv_prune_king_floor=profile.hv_prune_king_floor,
        )
        self.own: PEnumerator | None = None  # Misty's own set, where it is compared

    def start(self, white: bool, seed: int, compare: int) -> None:
        self.white, self.compare = white, compare
        self.misty.reset(white, game_id=str(seed))
        self.positions = self.misty._engine.enumerator = Positions()
        self.own = PEnumerator(white) if compare else None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        for news in asked["news"]:
            observation = _observation(news)
            move = None if news["own"] is None else chess.Move.from_uci(news["own"])
            if move is None:
                self.misty.observe_opp_move(observation)
            else:
                self.misty.observe_own_move(move, observation)
            if self.own is not None:
                _follow(self.own, move, observation)
        self.positions.fens, self.positions.size = asked["positions"], asked["size"]
        compared = self._compared() if self.compare else {}
        self.misty.set_time_budget(asked["seconds"])
        mask, pieces = _sight(asked["seen"])
        moves = [chess.Move.from_uci(text) for text in asked["moves"]]
        chosen = self.misty.pick_move(PerspectiveView(self.white, moves, mask, pieces))
        return {"move": chosen.uci(), "compared": compared}

    def _compared(self) -> dict[str, int]:
        """Compare Misty's own set with the caller's, and follow on from that while it is small."""
        whole, compared = self.positions.size == len(self.positions.fens), {}
        if self.own is not None and whole:
            theirs, ours = set(self.positions.fens), set(self.own.positions)
            compared = {"sets": 1, "positions": len(ours), "Misty's alone": len(ours - theirs)}
            compared["the tracker's alone"] = len(theirs - ours)
        self.own = None
        if whole and self.positions.size <= self.compare:
            self.own = PEnumerator(self.white)
            self.own._positions = set(self.positions.fens)
        return compared


def _sight(signs: str) -> tuple[chess.SquareSet, dict[int, chess.Piece]]:
    """The squares seen, and the pieces on them."""
    pieces = {square: chess.Piece.from_symbol(sign) for square, sign in enumerate(signs) if sign not in "?."}
    return chess.SquareSet(square for square, sign in enumerate(signs) if sign != "?"), pieces


def _observation(news: dict[str, Any]) -> Observation:
    """An observation as Misty has it."""
    gone = None if news["gone"] is None else chess.parse_square(news["gone"])
    return Observation(*_sight(news["seen"]), gone, gone if news["landed"] else None)


def _follow(own: PEnumerator, move: chess.Move | None, observation: Observation) -> None:
    """Update Misty's own set. In the fog one may castle out of, through and into check: its search knows that."""
    with mock.patch.object(chess.Board, "_attacked_for_king", lambda *_: False):
        if move is None:
            own.update_opp_move(observation)
            return
        own.update_own_move(move, observation)
    # Misty's Python code leaves out what the own move reveals; its Rust code does not
    own._positions = {fen for fen in own._positions if _shows(fen, observation, own.perspective)}


def _shows(fen: str, observation: Observation, white: bool) -> bool:
    """Whether a position shows the seat what it has observed."""
    board = chess.Board(fen)
    seen = visible_squares(board, white)
    return (
        bool(seen == observation.visibility_mask) and piece_map_for_squares(board, seen) == observation.visible_pieces
    )


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what Misty prints is no answer
    player, answer = Player(), {"ready": f"misty-{version('misty-chess')}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {}
        if "game" in asked:
            player.start(**asked["game"])
        else:
            answer = player.answer(asked)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
