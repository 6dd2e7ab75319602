"""Payoffs of chess worlds by a UCI engine, many worlds in one call, as if everything lay open."""

from typing import Any

import numpy as np

from foglight.bits import get
from foglight.blind_chess.uci import Engine
from foglight.chess.board import CLOCK
from foglight.chess.evaluation import squashed
from foglight.compile import kernel
from foglight.games.dark_chess import DarkChess
from foglight.names import BadInput
from foglight.rules import TERMINAL, Game, player, returns

_BATCH = 64  # positions sent at once; an engine's answers to them fit into a pipe


class EngineValues:
    """An engine that values worlds of Dark Chess on the full board by a search of `depth` plies.

    Centipawns become payoffs as in the game's own `evaluation`. Worlds in which a king can be captured are decided
    without the engine, since they are not legal chess; terminal worlds have their payoffs. `path` is the program,
    by default Stockfish.
    """

    def __init__(self, game: Game, path: str | None = None, depth: int = 1) -> None:
        if not isinstance(game, DarkChess) or game.size != 8:
            raise BadInput(f"engines value dark_chess(size=8), not {game}; give leaf=evaluation or leaf=rollout")
        self.game = game
        self.engine = Engine(path, depth=depth, batch=_BATCH)

    def __enter__(self) -> "EngineValues":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the engine's process; the next question starts it again."""
        self.engine.close()

    def values(self, rows: np.ndarray) -> np.ndarray:
        """The payoff of seat 0 in each world, float64[n]; rows are worlds, uint64[n, W]."""
        payoffs = np.empty(len(rows))
        going_on = _ends(self.game, rows, payoffs)
        _squash(rows, self.engine.evaluate(rows[going_on]), going_on, payoffs)
        return payoffs


@kernel
def _ends(game, rows, payoffs):
    """Write the payoff of seat 0 in terminal worlds; the numbers of the others."""
    out, others, n = np.empty(2), np.empty(len(rows), np.int64), 0
    for i in range(len(rows)):
        if player(game, rows[i]) == TERMINAL:
            returns(game, rows[i], out)
            payoffs[i] = out[0]
        else:
            others[n] = i
            n += 1
    return others[:n]


@kernel
def _squash(rows, centipawns, places, payoffs):
    """Write white's centipawns of some worlds as payoffs of seat 0."""
    for i in range(len(places)):
        payoff = squashed(centipawns[i], get(rows[places[i]], CLOCK))
        payoffs[places[i]] = -payoff  # seat 0 is black
