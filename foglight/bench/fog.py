"""A match in Fog-of-War chess between an agent and Misty, a chess engine for the fog in another Python.

Misty is no dependency: its package `misty-chess` (GPL) may be installed for another Python, which `--peer` names, and
`fog_peer.py` is run there. Our referee holds the true position. Misty plays as an agent of ours: it gets its seat's
observations, and no more. From these follow the squares that it sees, and the set of all positions that may be true.
The set is kept by our tracker, since Misty's own, without its Rust part, takes minutes a move.

Misty's rules are those of `GAME`, apart from this:

- Misty's referee says whether a pawn that vanished was taken en passant; here it is told only if that can be seen.
- Our rules show the en passant square also to the side that made the double step (`foglight/games/dark_chess.py`).
  Misty is not shown it. The set of positions is the one that our rules allow, which may then be a little smaller.
- With Misty's referee whoever cannot move draws, and a position that occurs for the third time is a draw. The second
  holds here with `repetition=draw`.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np

from foglight.agents import Agent, AgentLike
from foglight.arena.match import MatchResult, Progress, play_match
from foglight.bench.figures import Row, number
from foglight.bits import get
from foglight.blind_chess.uci import find_engine
from foglight.chess import notation
from foglight.chess.board import EN_PASSANT, STATE, TURN, WHITE, WORDS
from foglight.games import load_game
from foglight.games.dark_chess import DarkChess, signs_seen
from foglight.names import BadInput, Between
from foglight.randomness import below
from foglight.rules import Game
from foglight.worlds.tracker import Tracker

GAME = "dark_chess(repetition=ignore,clock=hidden,stalemate=loss)"
TITLE, SETS = "Fog-of-War chess against Misty", "Misty's own sets of positions beside ours"
SCRIPT = str(Path(__file__).with_name("fog_peer.py"))
_CAP = 1_000_000  # positions up to which the set is exact
_SAMPLE = 1000  # positions handed over; Misty looks at no more


@dataclass
class Misty(Agent):
    """Misty, in a process of its own; `foglight bench fog` only"""

    python: Annotated[str, "a Python that has misty-chess"]
    time: Annotated[float, "budget per move in seconds", Between(0.001, 3600)] = 1.0
    compare: Annotated[int, "positions up to which Misty's own set is compared with ours", Between(0, _SAMPLE)] = 0
    script: Annotated[str, "the program that it runs"] = SCRIPT

    def __post_init__(self) -> None:
        self.compared: dict[str, int] = {}  # positions of Misty's own sets and of ours, over all games
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self._open()

    def check(self, game: Game) -> None:
        if not isinstance(game, DarkChess) or game._replace(repetition=0) != load_game(GAME)._replace(repetition=0):
            raise BadInput(f"Misty plays {GAME}, not {game}")

    def start(self, game: str | Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._tracker = Tracker(load_game(GAME), seat, cap=_CAP, seed=seed & 0xFFFF, positions=True)
        self._seen, self._news = self._sight(), list[dict[str, Any]]()
        self._answer({"game": {"white": seat == WHITE, "seed": seed, "compare": self.compare}})

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self._tracker.observe(observation)
        before, self._seen = self._seen, self._sight()
        is_own = get(self._world(), TURN) != self.seat
        self._news.append(_own_news(before, self._seen, self.seat) if is_own else self._other_news(before))

    def act(self, actions: Sequence[int] | None = None) -> int:
        rows = self._tracker.worlds().rows
        moves = {notation.coordinates(8, rows[0], action): action for action in actions or self.legal_actions()}
        answer = self._answer(
            {
                "seen": self._seen,
                "news": self._news,
                "positions": [notation.fen(8, row) for row in _some(rows, self.random())],
                "size": len(rows),
                "moves": list(moves),
                "seconds": self.time,
            }
        )
        self._news = []
        for key, count in answer.get("compared", {}).items():
            self.compared[key] = self.compared.get(key, 0) + count
        if answer["move"] not in moves:
            raise BadInput(f"{self.name} plays {answer['move']}, where only {', '.join(moves)} are legal")
        return moves[answer["move"]]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    # What the seat sees -----------------------------------------------------------------------------------------

    def _world(self) -> np.ndarray:
        """A world that may be true: all of them show the seat the same."""
        return self._tracker.worlds(turn_only=False).rows[0]

    def _sight(self) -> str:
        """The 64 signs that the seat sees. The en passant square is left out where only the other side may take."""
        world = self._world()[:WORDS].copy()
        if get(world, TURN) != self.seat:
            world[STATE] &= ~np.uint64(((1 << EN_PASSANT[2]) - 1) << EN_PASSANT[1])
        return "".join(signs_seen(8, world, self.seat))

    def _other_news(self, before: str) -> dict[str, Any]:
        """What the other side's move shows."""
        after, own = self._seen, _own(self.seat)
        gone = next((square for square in range(64) if before[square] in own and after[square] not in own), None)
        landed = gone is not None and (
            after[gone] not in "?." or (after[gone] == "?" and not self._may_be_passed(gone))
        )
        return {
            "own": None, "seen": after, "gone": None if gone is None else notation.square_name(gone), "landed": landed,
        }  # fmt: skip

    def _may_be_passed(self, square: int) -> bool:
        """Whether the seat's last move was the double step of a pawn to this square."""
        last = self._news[-1]["own"] if self._news else None
        return (
            last is not None
            and notation.read_square(last[2:4]) == square
            and abs(notation.read_square(last[:2]) - square) == 16
            and self._news[-1]["seen"][square] in "Pp"
        )

    # The process ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with contextlib.suppress(BadInput):  # without an engine Misty says so
            environment.setdefault("FOW_STOCKFISH", find_engine())
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # it is read if the process fails
        try:
            self._process = subprocess.Popen(
                [self.python, "-I", self.script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                text=True, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise BadInput(f"cannot run {self.python}: {error.strerror}") from None
        self.name = f"{self._read()['ready']}(time={self.time:g})"

    def _answer(self, request: dict[str, Any]) -> Any:
        if self._process is None:
            self._open()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._fail()
        return self._read()

    def _read(self) -> Any:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._fail()
        try:
            return json.loads(line)
        except ValueError:
            self._fail()

    def _fail(self) -> None:
        assert self._errors is not None
        self.close()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines() or ["no message"]
        raise BadInput(f"{self.python} failed: {lines[-1]}")


@dataclass(frozen=True)
class Score(Row):
    """How one side has done."""

    agent: str
    games: int
    win_rate: float  # a draw counts half
    interval: tuple[float, float]
    wins: int
    draws: int
    losses: int
    mean_ms: float  # of a decision

    def texts(self) -> dict[str, str]:
        low, high = self.interval
        return {
            "agent": self.agent,
            "games": number(self.games),
            "won, drawn, lost": f"{self.wins}, {self.draws}, {self.losses}",
            "win rate": f"{self.win_rate:.1%}",
            "95 % interval": f"{low:.1%} to {high:.1%}",
            "mean time": f"{number(self.mean_ms)} ms",
        }


@dataclass(frozen=True)
class Comparison(Row):
    """Misty's own sets of positions beside ours."""

    counts: dict[str, int]

    def summary(self) -> dict[str, Any]:
        return self.counts


def run(
    peer: str,
    agent: AgentLike,
    games: int,
    seconds: float,
    seed: int,
    store: str | Path | None,
    repetition: str = "ignore",
    compare: int = 0,
    progress: Progress | None = None,
    script: str | None = None,
) -> dict[str, Sequence[Row]]:
    """A match of an agent against Misty, whose Python is `peer`.

    The result is tables by title: the score, and a comparison of sets if one was made.
    """
    game = GAME.replace("ignore", repetition)
    with Misty(peer, seconds, compare, script or SCRIPT) as misty:
        if store is not None:
            Path(store).parent.mkdir(parents=True, exist_ok=True)
        result = play_match(load_game(game), [agent, misty], games, seed, 1, store, progress)
        tables: dict[str, Sequence[Row]] = {TITLE: [_score(result, 0), _score(result, 1)]}
        return {**tables, SETS: [Comparison(misty.compared)]} if misty.compared else tables


def _score(result: MatchResult, agent: int) -> Score:
    returns, timing = result.returns(agent), result.timing(agent)
    return Score(
        result.agents[agent], result.games, result.win_rate(agent), result.interval(agent),
        sum(x > 0 for x in returns), sum(x == 0 for x in returns), sum(x < 0 for x in returns),
        timing.summary()["mean_ms"] if timing else 0.0,
    )  # fmt: skip


def _own(seat: int) -> str:
    """The letters of a seat's pieces."""
    return "PNBRQK" if seat == WHITE else "pnbrqk"


def _own_news(before: str, after: str, seat: int) -> dict[str, Any]:
    """What the seat's own move shows, and which move it was: its own pieces tell."""
    own = _own(seat)
    left = [square for square in range(64) if before[square] in own and after[square] not in own]
    entered = [square for square in range(64) if after[square] in own and before[square] != after[square]]
    start, end = left[0], entered[0]
    if len(left) == 2:  # castling; the move is the king's step
        start = next(square for square in left if before[square] in "Kk")
        end = next(square for square in entered if after[square] in "Kk")
    promoted = after[end].lower() if before[start] in "Pp" and after[end] not in "Pp" else ""
    move = notation.square_name(start) + notation.square_name(end) + promoted
    return {"own": move, "seen": after, "gone": None, "landed": False}


def _some(rows: np.ndarray, random: np.ndarray) -> np.ndarray:
    """At most `_SAMPLE` of the rows, each alike."""
    if len(rows) <= _SAMPLE:
        return rows
    chosen: set[int] = set()
    while len(chosen) < _SAMPLE:
        chosen.add(below(random, len(rows)))
    return rows[sorted(chosen)]
