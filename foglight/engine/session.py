"""What each request does: an agent on a seat, its observations and its decisions, as one conversation.

The agent can always be made anew from what was told: so whatever it raises, the session goes on from where it was.
"""

import json
import math
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foglight.agents import Agent, Decision, Seat
from foglight.arena.referee import warm_up
from foglight.engine import PROTOCOL
from foglight.engine.clock import budget
from foglight.engine.requests import Request, checked, identity, read
from foglight.engine.words import Words
from foglight.games import load_game
from foglight.names import BadInput, failure
from foglight.rules import Game, how_to_play, max_legal, num_actions, num_players, title
from foglight.version import __version__

_WARM_UP = 0.01  # seconds of the decision that loads kernels


@dataclass
class Sitting:
    """An agent on a seat of a game, and all it was told there."""

    game: Game
    number: int  # of the seat
    seed: int
    words: Words
    seat: Seat
    decisions: list[Decision] = field(default_factory=list)  # at which the agent was asked

    @property
    def observations(self) -> list[int]:
        return list(self.seat.observations)


class Session:
    """One conversation with an agent. `answer` takes a line and gives the line that answers it.

    `stopped` says whether somebody wants the answer at once; it is asked while the agent thinks.
    """

    def __init__(self, agent: Agent, game: Game | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
        if agent.at_terminal:
            raise BadInput(f"{agent} needs somebody at the terminal; an engine plays by itself")
        self.over = False  # whether it was told to quit
        self._agent, self._name, self._game = agent, str(agent), game
        self._sitting: Sitting | None = None
        self._ready: set[tuple[str, int]] = set()  # games and seats whose kernels are loaded
        agent.stopped = stopped
        if game is not None:
            agent.check(game)
        self._own_time = agent.time
        self._takes_clock = "time" in agent.options() and not agent.iterations
        self._requests: dict[str, Callable[[Request], dict[str, Any]]] = {
            "hello": self._hello,
            "start": self._start,
            "restore": self._start,
            "observe": self._observe,
            "act": self._act,
            "explain": self._explain,
            "stop": lambda _: {},
            "quit": self._quit,
        }

    def answer(self, line: bytes) -> str:
        """The answer to a line, without the end of the line."""
        mark: dict[str, Any] = {}
        try:
            message = read(line)
            mark = identity(message)
            request = checked(message)
            answer = {"ok": request.do, **self._requests[request.do](request)}
        except BadInput as error:
            answer = {"error": " ".join(str(error).split())}
        except Exception as error:  # whatever an agent raises; the next line is answered all the same
            if os.environ.get("FOGLIGHT_TRACEBACK"):
                traceback.print_exc()
            answer = {"error": f"{type(self._agent).__name__} fails with {failure(error)}"}
        return json.dumps(mark | answer, allow_nan=False)

    # Requests -------------------------------------------------------------------------------------------------------

    def _hello(self, request: Request) -> dict[str, Any]:
        agent = self._agent
        return {
            "protocol": PROTOCOL,
            "program": "foglight",
            "version": __version__,
            "agent": self._name,
            "clock": self._takes_clock,
            "stops": agent.can_stop and self._takes_clock,
            "explains": agent.gives_reasons,
            "remembers": agent.remembers,
            "game": None if self._game is None else _described(self._game),
        }

    def _start(self, request: Request) -> dict[str, Any]:
        given = request.fields
        game = self._chosen(given.get("game"))
        seat, seed = given["seat"], given.get("seed", 0)
        if seat >= num_players(game):
            raise BadInput(f"{game} has the seats 0 to {num_players(game) - 1}, not {seat}")
        self._agent.check(game)
        words = Words(game, seat)
        codes = words.codes([], given.get("observations", []))
        decisions = given.get("decisions", [])
        if decisions and decisions[-1][0] >= len(codes):
            raise BadInput(f"decisions must lie before the last of the {len(codes)} observations")
        for _, actions in decisions:
            _check_actions(game, actions)
        before = self._sitting
        try:
            self._warm_up(game, seat)
            self._sit(game, seat, seed, words, codes, decisions)
        except Exception:
            self._sit_again(before)
            raise
        answer = {"game": str(game), "seat": seat, "seed": seed}
        return answer if request.do == "start" else {**answer, "seen": len(codes)}

    def _observe(self, request: Request) -> dict[str, Any]:
        sitting = self._seated()
        before = sitting.observations
        codes = sitting.words.codes(before, request.fields["observations"])
        try:
            sitting.seat.tell([*before, *codes])
        except Exception:
            sitting.seat.observations = before
            self._sit_again(sitting)
            raise
        return {"seen": len(before) + len(codes)}

    def _act(self, request: Request) -> dict[str, Any]:
        sitting, given = self._seated(), request.fields
        seen = sitting.observations
        actions: list[int] = given["actions"] if "actions" in given else sitting.words.actions(seen)
        _check_actions(sitting.game, actions)
        remaining = given.get("remaining")
        self._agent.seconds_left = math.inf if remaining is None else remaining / 1000
        seconds = budget(given.get("movetime"), remaining, given.get("increment"), self._own_time)
        try:
            with self._time(seconds):
                action = self._agent.act(list(actions))
            if type(action) is bool or action not in actions:
                raise BadInput(f"{self._name} plays {action!r}, where only {actions} are legal")
        except Exception:
            self._sit_again(sitting)
            raise
        if not sitting.decisions or sitting.decisions[-1][0] < len(seen):
            sitting.decisions.append((len(seen), actions))
        answer: dict[str, Any] = {"action": int(action)}
        if given.get("text", True):
            answer["text"] = sitting.words.names(seen, [int(action)]).get(int(action))
        if given.get("explain", False):
            answer["explanation"] = self._reasons()
        return answer

    def _explain(self, request: Request) -> dict[str, Any]:
        self._seated()
        if not self._agent.gives_reasons:
            raise BadInput(f"{self._name} does not say why it plays what it plays")
        self._agent.explain()  # refuses if nothing was played
        return {"explanation": self._reasons()}

    def _quit(self, request: Request) -> dict[str, Any]:
        self.over = True
        return {}

    # An agent on a seat ---------------------------------------------------------------------------------------------

    def _chosen(self, text: str | None) -> Game:
        """The game of this text. Lines name native games only: to name another one is to run its code."""
        if text is None:
            if self._game is None:
                raise BadInput("say which game: start needs game, since the engine was started without --game")
            return self._game
        if self._game is not None and text == str(self._game):
            return self._game
        if ":" in text:
            raise BadInput(f"{text!r} is not a game of foglight; start the engine with --game to play a game of yours")
        return load_game(text)

    def _seated(self) -> Sitting:
        if self._sitting is None:
            raise BadInput("no game is going on; send start or restore first")
        return self._sitting

    @contextmanager
    def _time(self, seconds: float) -> Iterator[None]:
        """A time budget for one decision, if the agent keeps one."""
        if self._takes_clock:
            self._agent.time = seconds
        try:
            yield
        finally:
            self._agent.time = self._own_time

    def _warm_up(self, game: Game, seat: int) -> None:
        """Load the kernels of a decision, if it may be the clock's time that they would take."""
        if self._takes_clock and (str(game), seat) not in self._ready:
            with self._time(_WARM_UP):
                warm_up(game, [self._agent if i == seat else None for i in range(num_players(game))])
            self._ready.add((str(game), seat))

    def _sit(self, game: Game, number: int, seed: int, words: Words, codes: list[int], asked: list[Decision]) -> None:
        seat = Seat(self._agent, game, number, seed, codes, asked)
        self._sitting = Sitting(game, number, seed, words, seat, list(asked))

    def _sit_again(self, sitting: Sitting | None) -> None:
        """Make the agent again what it was, after it has failed or sat elsewhere."""
        self._sitting = None
        if sitting is not None:
            seen, asked = sitting.observations, sitting.decisions
            self._sit(sitting.game, sitting.number, sitting.seed, sitting.words, seen, asked)
            if self._agent.remembers and not self._agent.time and asked and asked[-1][0] == len(seen):
                self._agent.act(list(asked[-1][1]))

    def _reasons(self) -> dict[str, Any] | None:
        """Why the last action was played, without the time it took, which is no fact of the position."""
        if not self._agent.gives_reasons or self._agent.explanation is None:
            return None
        why, sitting = self._agent.explain(), self._seated()
        names = sitting.words.names(sitting.observations, why.actions)
        return {
            "actions": [
                {"action": int(action), "text": names.get(action), "value": _plain(value), "visits": int(visits)}
                for action, value, visits in zip(why.actions, why.values, why.visits, strict=True)
            ],
            "worlds": int(why.worlds),
            "exact": bool(why.exact),
            "iterations": int(why.iterations),
            "notes": _plain(why.notes),
        }


def _described(game: Game) -> dict[str, Any]:
    """A game for somebody who does not know it."""
    return {
        "game": str(game),
        "title": title(game),
        "rules": how_to_play(game),
        "seats": int(num_players(game)),
        "num_actions": int(num_actions(game)),
        "max_legal": int(max_legal(game)),
    }


def _check_actions(game: Game, actions: list[int]) -> None:
    most = int(num_actions(game))
    if actions[0] < 0 or actions[-1] >= most or len(actions) > max_legal(game):
        raise BadInput(f"the actions of {game} are numbers from 0 to {most - 1}, at most {max_legal(game)} at a time")


def _plain(value: Any) -> Any:
    """A value as JSON has it; nan and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str) else str(value)
