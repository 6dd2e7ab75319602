"""The agent for Reconnaissance Blind Chess: it maximises the mean chance to win over weighted boards.

It keeps the boards that explain its observations, weighted by how the opponent is likely to move (`plausible_boards`).
It senses where it expects to improve its next move most, and where it learns most. It requests the move with the best
mean chance to win over a sample of the boards (`choices`). A UCI engine, if there is one, judges a few of the boards.

Its actions follow from the seed and the observations, unless little time is left on the clock (`_HURRY`): the engine is
then no longer asked.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents import Agent, Explanation
from foglight.blind_chess.choices import INNER, chances, dangers, gains, information, list_requests, unjudged
from foglight.blind_chess.plausible_boards import PlausibleBoards
from foglight.blind_chess.uci import Engine, find_engine
from foglight.chess import blind
from foglight.chess.board import WHITE
from foglight.chess.moves import NUM_MOVES
from foglight.names import BadInput, Between
from foglight.randomness import fold, systematic, unit
from foglight.rules import Game

_GAME = "rbc"
_AUTO, _NONE = "auto", "none"
_CURIOSITY = 0.015  # chance to win that one bit of information is worth
_JUDGED_SHARE = 0.7  # weight of the engine's mean beside that of captures played out
_DOUBT = 0.5  # exponent of the weights when sensing: unlikely moves of the opponent are the ones to look for
_LOOKING, _MOVING = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 4.0])  # factors of weights, by `dangers` to our king
_HURRY = 60.0  # seconds: with less on the clock, the engine is not asked


@dataclass
class Scout(Agent):
    """Plays rbc only: keeps weighted boards, and requests the move with the best mean chance to win."""

    strength = "strong in blind chess"

    gives_reasons = True
    engine: Annotated[str, "UCI engine: a program's path; auto: Stockfish, if it is installed; none: no engine"] = _AUTO
    nodes: Annotated[int, "nodes that the engine searches per position", Between(1, 10**7)] = 10_000
    boards: Annotated[int, "boards per move that the engine judges", Between(1, 10_000)] = 60
    sample: Annotated[int, "boards per decision on which captures are played out", Between(1, 10_000)] = 300
    judged: Annotated[int, "boards per turn on which the engine judges the opponent's moves", Between(0, 10_000)] = 20
    cap: Annotated[int, "most boards in the belief", Between(1, 10**7)] = 30_000

    def __post_init__(self) -> None:
        self._engine: Engine | None = None
        if self.engine == _AUTO:
            try:
                find_engine()
            except BadInput:
                return
        if self.engine != _NONE:
            self._engine = Engine(None if self.engine == _AUTO else self.engine, nodes=self.nodes, forgetful=True)

    def check(self, game: Game) -> None:
        if str(game).split("(")[0] != _GAME:
            raise BadInput(f"scout plays {_GAME} only, not {game}")

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.belief = PlausibleBoards(
            seat, cap=self.cap, seed=int(fold(seed, seat)) >> 1, judge=self._analysed, judged=self.judged
        )

    def close(self) -> None:
        """End the engine's process; it starts again when it is next needed."""
        if self._engine is not None:
            self._engine.close()

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self.belief.observe(observation)

    def act(self, actions: Sequence[int] | None = None) -> int:
        begin = time.perf_counter()
        legal = self.legal_actions()
        if actions is not None and list(actions) != legal:
            raise BadInput("the actions that are given as legal are not those that are legal after the observations")
        actions = legal
        choose = self._sense if actions[0] < blind.FIRST_MOVE else self._request
        choice, values, notes = choose(actions)
        self.explanation = Explanation(
            actions[choice],
            actions,
            values,
            worlds=self.belief.positions,
            exact=self.belief.exact,
            seconds=time.perf_counter() - begin,
            notes=notes,
        )
        return actions[choice]

    def legal_actions(self) -> list[int]:
        if not self.belief.has_sensed:
            return list(range(blind.NO_SENSE + 1))
        return [blind.FIRST_MOVE + move for move in list_requests(self.belief.boards[0]).tolist()] + [blind.PASS]

    def _sense(self, actions: list[int]) -> tuple[int, list[float], dict[str, Any]]:
        """The sense action with the best sum of gain for the next request and worth of information."""
        belief, values = self.belief, np.full(len(actions), np.nan)
        doubtful = self._alarmed(_DOUBT, _LOOKING)
        bits = information(belief.boards, doubtful)
        boards, weights = self._drawn(self.sample, doubtful)
        requests = np.append(list_requests(belief.boards[0]), blind.NONE)
        gained = gains(boards, weights, chances(boards, requests))
        values[INNER] = gained + _CURIOSITY * bits
        choice = int(np.nanargmax(values))
        at = int(np.flatnonzero(choice == INNER)[0])
        return choice, values.tolist(), {"bits": round(float(bits[at]), 2), "gain": round(float(gained[at]), 4)}

    def _request(self, actions: list[int]) -> tuple[int, list[float], dict[str, Any]]:
        """The request with the best mean chance to win."""
        requests = np.array([blind.NONE if a == blind.PASS else a - blind.FIRST_MOVE for a in actions])
        alarmed = self._alarmed(1.0, _MOVING)
        boards, weights = self._drawn(self.sample, alarmed)
        values = weights @ chances(boards, requests)
        notes: dict[str, Any] = {"corrections": self.belief.corrections}
        if self._asks:
            boards, weights = self._drawn(self.boards, alarmed)
            judged = weights @ chances(boards, requests, self._judged(boards, requests))
            share = 1.0 if len(boards) == self.belief.size else _JUDGED_SHARE
            values = (1.0 - share) * values + share * judged
        return int(np.argmax(values)), values.tolist(), notes

    def _alarmed(self, power: float, alarm: np.ndarray) -> np.ndarray:
        """The weights of the boards to this power, times a factor by the danger to our king; they sum to 1."""
        weights = self.belief.weights**power * alarm[dangers(self.belief.boards, self.seat)]
        return weights / weights.sum()

    @property
    def _asks(self) -> bool:
        """Whether there is an engine, and time to ask it."""
        return self._engine is not None and self.seconds_left > _HURRY

    def _analysed(self, boards: np.ndarray) -> list[dict[int, int]]:
        """For each board the engine's centipawns by move; an empty list if there is no engine to ask."""
        return self._asked(lambda engine: engine.analyse(boards), [])

    def _judged(self, boards: np.ndarray, requests: np.ndarray) -> np.ndarray:
        """The engine's centipawns for each outcome of the requests, float64[boards, NUM_MOVES + 1].

        Outcomes include passing, which comes last, and moves that are not legal in chess.
        """
        centipawns = np.full((len(boards), NUM_MOVES + 1), np.nan)
        for i, lines in enumerate(self._analysed(boards)):
            centipawns[i, list(lines)] = list(lines.values())
        places, children = unjudged(boards, requests, centipawns)
        sign = 1.0 if self.seat == WHITE else -1.0
        centipawns[places[:, 0], places[:, 1]] = sign * self._asked(lambda engine: engine.evaluate(children), np.nan)
        return centipawns

    def _asked(self, ask: Callable[[Engine], Any], otherwise: Any) -> Any:
        """The engine's answer, or `otherwise` without one. An engine that fails is not asked again."""
        if self._engine is not None and self._asks:
            try:
                return ask(self._engine)
            except BadInput:
                self.close()
                self._engine = None
        return otherwise

    def _drawn(self, n: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All boards if there are at most n, otherwise a sample of n by weight, with the weights."""
        if self.belief.size <= n:
            return self.belief.boards, weights
        places = np.empty(n, np.int64)
        systematic(weights, unit(self.random()), places)
        places, times = np.unique(places, return_counts=True)
        return self.belief.boards[places], times / times.sum()
