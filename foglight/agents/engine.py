"""An agent that is another program, which speaks the protocol of docs/engine.md: `foglight engine` does.

The program is started when a game begins, and asked on its standard input. It gets the game, the seat, the seed, the
observations and the legal actions, as any agent does. A program that dies, hangs or answers nonsense is started again
and told all that happened so far, once for each question; if that fails, too, one line says so.
"""

import contextlib
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from foglight.agents import Agent, Explanation
from foglight.names import BadInput, Between
from foglight.processes import undisturbed
from foglight.rules import Game

_PROTOCOL = 1  # the version that is spoken here
_LONGEST = 1 << 24  # bytes of an answer
_PATIENCE = 2.0  # seconds for the program to end by itself
_SHOWN = 200  # characters of what a program says that are repeated


@dataclass
class Engine(Agent):
    """Another program that speaks the engine protocol (docs/engine.md), started by a command."""

    strength = "as strong as the program"
    gives_reasons = True
    remembers = True  # the program may; if it does not, to ask it at earlier decisions does no harm

    command: Annotated[str, "the program with its arguments, such as 'foglight engine epimc'; not run by a shell"] = ""
    time: Annotated[float, "budget per decision in seconds; 0: the program's own", Between(0, 86400)] = 0.0
    patience: Annotated[
        float, "seconds after which a program that does not answer is started again", Between(0.1, 86400)
    ] = 600.0

    def __post_init__(self) -> None:
        self._program: _Program | None = None

    def check(self, game: Game) -> None:
        words = self._words()
        if shutil.which(words[0]) is None:
            raise BadInput(f"engine cannot run {words[0]!r}: there is no such program; give its path")

    def _words(self) -> list[str]:
        try:
            words = shlex.split(self.command, posix=os.name != "nt")
        except ValueError as error:
            raise BadInput(f"engine cannot read its command {self.command!r} ({error})") from None
        if not words:
            raise BadInput("engine needs a command: write engine(command='PROGRAM ARGUMENTS')")
        return words

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._asked: list[tuple[int, list[int]]] = []  # decisions, as `restore` takes them
        self._told: int | None = None  # observations that the program has got; None: it does not know the game
        self._ask(None)  # so that a program that does not play this game refuses it now

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = list(actions or self.legal_actions())
        question: dict[str, Any] = {"do": "act", "actions": actions, "text": False}
        if self.time:
            question["movetime"] = round(1000 * self.time, 3)
        if math.isfinite(self.seconds_left):
            question["remaining"] = round(1000 * max(0.0, self.seconds_left), 3)
        action = self._ask(question)["action"]
        at = len(self.observations)
        if not self._asked or self._asked[-1][0] < at:
            self._asked.append((at, actions))
        self.explanation = Explanation(action, actions)
        return action

    def explain(self) -> Explanation:
        """The program's explanation of its last action; of one that gives none, the action alone."""
        why = super().explain()
        reasons: Any = self._ask({"do": "explain"}, allow_error=True).get("explanation")
        try:
            rows = {row["action"]: row for row in reasons["actions"]}
            values = [_number(rows[action]["value"]) for action in why.actions]
            visits = [int(rows[action]["visits"]) for action in why.actions]
            facts = int(reasons["worlds"]), bool(reasons["exact"]), int(reasons["iterations"])
            return Explanation(why.action, why.actions, values, visits, *facts, notes=dict(reasons["notes"]))
        except (TypeError, KeyError, ValueError):  # it gives no reasons
            return why

    def close(self) -> None:
        if self._program is not None and self._program.owner == os.getpid():
            self._program.close()
        self._program = None

    def __del__(self) -> None:
        if vars(self).get("_program") is not None:  # it has none if its options were refused
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_program": None}  # a copy starts a program of its own

    # Asking ---------------------------------------------------------------------------------------------------------

    def _ask(self, question: dict[str, Any] | None, allow_error: bool = False) -> dict[str, Any]:
        """The program's answer, after it was told what it does not know. A program that fails gets a second chance."""
        try:
            return self._answer(question, allow_error)
        except _Failure as failure:
            sys.stderr.write(f"{self._called} {failure}; it is started again\n")
        try:
            return self._answer(question, allow_error)
        except _Failure as failure:
            raise BadInput(f"{self._called} {failure}, twice at one question; is it a working engine?") from None

    @property
    def _called(self) -> str:
        return f"engine {self.command!r}"

    def _answer(self, question: dict[str, Any] | None, allow_error: bool) -> dict[str, Any]:
        try:
            self._tell()
            if question is None:
                return {}
            answer = self._program_here().ask(question, self.patience + self.time)
            if "error" in answer and not allow_error:
                raise BadInput(f"{self._called} refuses: {_short(answer['error'])}")
            if question["do"] == "act" and type(answer.get("action")) is not int:
                raise _Failure(f"answers without an action: {_short(json.dumps(answer))}")
            return answer
        except (_Failure, KeyboardInterrupt):  # half an answer may be in the pipe
            self.close()
            raise

    def _tell(self) -> None:
        """Tell the program what it does not know yet: the game, or new observations."""
        program, seen = self._program_here(), len(self.observations)
        if self._told is None:
            news: dict[str, Any] = {"do": "restore", "game": str(self.game), "seat": self.seat, "seed": self.seed}
            decisions = [decision for decision in self._asked if decision[0] < seen]
            news |= {"observations": self.observations, "decisions": decisions}
        elif self._told < seen:
            news = {"do": "observe", "observations": self.observations[self._told :]}
        else:
            return
        answer = program.ask(news, self.patience)
        if "error" in answer:
            raise BadInput(f"{self._called} refuses: {_short(answer['error'])}")
        self._told = seen

    def _program_here(self) -> "_Program":
        """The running program; one that a parent process has started is not ours."""
        if self._program is None or self._program.owner != os.getpid():
            self._program, self._told = _Program(self._words()), None
            hello = self._program.ask({"do": "hello"}, self.patience)
            if "ok" not in hello or hello.get("protocol") != _PROTOCOL:
                said = _short(json.dumps(hello))
                self.close()
                raise BadInput(f"{self._called} does not speak protocol {_PROTOCOL} of docs/engine.md; it says {said}")
        return self._program


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _short(text: Any) -> str:
    return " ".join(str(text).split())[:_SHOWN]


# One program --------------------------------------------------------------------------------------------------------


class _Failure(Exception):
    """The program has died, hangs, or gives an unreadable answer."""


class _Program:
    """A running program."""

    def __init__(self, words: list[str]) -> None:
        self.owner = os.getpid()  # pipes belong to the process that has opened them
        self._is_late = False
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  what it writes to standard error
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                **undisturbed(),
            )
        except OSError as error:
            self._complaints.close()
            raise BadInput(f"engine cannot run {words[0]!r} ({error.strerror or error})") from None

    def ask(self, question: dict[str, Any], patience: float) -> dict[str, Any]:
        """The answer to a question. A program that takes longer than `patience` seconds is killed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        late = threading.Timer(patience, self._give_up)
        late.daemon = True
        late.start()
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline(_LONGEST)
        except (OSError, ValueError):  # the pipe is closed
            line = b""
        finally:
            late.cancel()
        if not line.endswith(b"\n"):
            raise _Failure(f"has not answered in {patience:g} s" if self._is_late else self._last_words())
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise _Failure(f"answers {_short(line.decode(errors='replace'))!r}, which is no JSON object")
        return answer

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _last_words(self) -> str:
        """How the program has ended, with the last line of its complaints."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        self._complaints.seek(max(0, self._complaints.seek(0, os.SEEK_END) - 4 * _SHOWN))
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return f"has ended ({_short(lines[-1])})" if lines else "has ended"

    def close(self) -> None:
        """End the program: by itself if it ends with its input, else at once."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._complaints.close()
