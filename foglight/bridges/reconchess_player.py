"""Our agents as players of `reconchess`: for `rc-bot-match`, for its server's client, and for `foglight rbc play`.

    FOGLIGHT_AGENT='scout(nodes=2000)' rc-bot-match foglight.bridges.reconchess_player reconchess.bots.random_bot

The agent gets the observation codes of its seat in `rbc` (`foglight/chess/blind.py`). The code of a move includes the
result if the move ends the game. `reconchess` reports that later, so the code of our own move waits until then.
"""

import os
from typing import Any

from foglight.agents import load_agent
from foglight.chess import blind
from foglight.chess.moves import CASTLE_LEFT, meaning_seen
from foglight.chess.notation import numbered
from foglight.names import BadInput

try:
    import chess
    from reconchess import Player, WinReason
except ImportError:
    raise BadInput("bots of reconchess need reconchess; install it with: pip install 'foglight[rbc]'") from None

VARIABLE, DEFAULT = "FOGLIGHT_AGENT", "scout"
_PROMOTED = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)  # by the special of a move
_DRAWS = {WinReason.TURN_LIMIT: 3, WinReason.MOVE_LIMIT: 4}  # results of rbc; 1 and 2 are 1 + the seat that took a king


class FoglightPlayer(Player):
    """An agent as a player of reconchess. By default the environment variable FOGLIGHT_AGENT names the agent."""

    def __init__(self, agent: str | None = None, seed: int = 0) -> None:
        text = agent or os.environ.get(VARIABLE, DEFAULT)
        self.agent, self.seed = load_agent(text), seed
        if self.agent.at_terminal:
            raise BadInput(f"{text} needs somebody at the terminal and cannot play reconchess")

    def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
        if board.fen() != chess.STARTING_FEN:
            raise BadInput(f"rbc starts from the usual position, not from {board.fen()}")
        self.seat, self.own = int(color), board.copy()  # only our own pieces are right on this board
        self.opening = color == chess.WHITE  # whether no move has been made: white's first turn
        self.waiting = 0  # the code of our last move, until the game continues or ends; 0 if there is none
        self.agent.start("rbc", self.seat, self.seed)

    def handle_opponent_move_result(self, captured_my_piece: bool, capture_square: int | None) -> None:
        if self.opening:
            self.opening = False
            return
        self._tell_own_move(0)
        self._tell_other_turn(capture_square, 0)
        if capture_square is not None:
            self.own.remove_piece_at(capture_square)

    def choose_sense(self, sense_actions: list[int], move_actions: list[chess.Move], seconds_left: float) -> int | None:
        self.sense = self._asked([*sorted(sense_actions), blind.NO_SENSE], seconds_left)
        return None if self.sense == blind.NO_SENSE else self.sense

    def handle_sense_result(self, sense_result: list[tuple[int, chess.Piece | None]]) -> None:
        self.agent.observe(1 + self.sense + (_window(self.sense, sense_result) << 13))

    def choose_move(self, move_actions: list[chess.Move], seconds_left: float) -> chess.Move | None:
        actions = sorted({blind.FIRST_MOVE + self._number(move) for move in move_actions})
        self.request = self._asked([*actions, blind.PASS], seconds_left)
        return None if self.request == blind.PASS else self._move(self.request - blind.FIRST_MOVE)

    def handle_move_result(
        self,
        requested_move: chess.Move | None,
        taken_move: chess.Move | None,
        captured_opponent_piece: bool,
        capture_square: int | None,
    ) -> None:
        landed = 0
        if taken_move is not None:
            landed = 1 + taken_move.to_square
            if self._number(taken_move) >= CASTLE_LEFT:  # castling enters two squares, of which the lower counts
                landed = 1 + min(taken_move.to_square, (taken_move.from_square + taken_move.to_square) // 2)
            self.own.turn = bool(self.seat)
            self.own.push(taken_move)
        self.waiting = 1 + self.request + (landed << 13) + (_one_or_none(capture_square) << 20)

    def handle_game_end(self, winner_color: bool | None, win_reason: Any, game_history: Any) -> None:
        taken = win_reason == WinReason.KING_CAPTURE
        result = 1 + int(bool(winner_color)) if taken else _DRAWS.get(win_reason, 0)
        last = game_history.last_turn() if result else None
        ours = last is not None and int(last.color) == self.seat
        self._tell_own_move(result if ours else 0)
        if last is not None and not ours:
            self._tell_other_turn(game_history.capture_square(last), result)
        self.close()

    def close(self) -> None:
        """End other programs that the agent may have started, such as an engine."""
        self.agent.close()

    def _asked(self, actions: list[int], seconds_left: float) -> int:
        """The agent's action; `seconds_left` is the time on its clock for the rest of the game."""
        self.agent.seconds_left = seconds_left
        return self.agent.act(actions)

    def _tell_own_move(self, result: int) -> None:
        if self.waiting:
            self.agent.observe(self.waiting + (result << 27))
        self.waiting = 0

    def _tell_other_turn(self, capture_square: int | None, result: int) -> None:
        self.agent.observe(blind.SENSED)
        self.agent.observe(2 + _one_or_none(capture_square) + (result << 7))

    def _number(self, move: chess.Move) -> int:
        """The number of a move of `reconchess`."""
        promoted = chess.piece_symbol(move.promotion) if move.promotion else ""
        king = self.own.piece_type_at(move.from_square) == chess.KING
        return numbered(move.from_square, move.to_square, promoted, king, bool(self.seat))

    def _move(self, number: int) -> chess.Move:
        """The move of `reconchess` with this number."""
        start, end, special = (int(part) for part in meaning_seen(number))
        over = 0 if self.seat else 56
        start, end = start ^ over, end ^ over
        last = end // 8 in (0, 7) and self.own.piece_type_at(start) == chess.PAWN
        return chess.Move(start, end, _PROMOTED[special] if last else None)


def _one_or_none(square: int | None) -> int:
    return 0 if square is None else 1 + square


def _window(square: int, seen: list[tuple[int, chess.Piece | None]]) -> int:
    """The pieces around a sensed square, packed as by `blind.window`."""
    kinds = {chess.PAWN: 1, chess.KNIGHT: 2, chess.KING: 3, chess.BISHOP: 5, chess.ROOK: 6, chess.QUEEN: 7}
    window = 0
    for at, piece in seen:
        if piece is not None:
            nine = 3 * (at // 8 - square // 8 + 1) + at % 8 - square % 8 + 1
            packed = kinds[piece.piece_type] | 8 * piece.color
            window |= sum(1 << 9 * i + nine for i in range(4) if packed >> i & 1)
    return window
