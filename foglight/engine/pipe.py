"""Lines from one file descriptor to another. A thread reads, so that `stop` is heard while the agent thinks.

The answers have the standard output for themselves: whatever else is printed in this process goes to standard error.
"""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

from foglight.agents import Agent
from foglight.engine.requests import LONGEST, is_stop
from foglight.engine.session import Session
from foglight.rules import Game

_CHUNK = 1 << 16
_AHEAD = 10_000  # lines that are read before they are answered


def serve(agent: Agent, game: Game | None) -> None:
    """Answer the lines of standard input on standard output, until it ends or says quit."""
    with _own_output() as out:
        converse(agent, game, lines_of(0), lambda line: _write(out, line))


def converse(agent: Agent, game: Game | None, lines: Iterable[bytes], write: Callable[[bytes], None]) -> None:
    """Answer each of the lines."""
    stops = _Stops()
    session = Session(agent, game, stops.is_waiting)
    waiting: queue.Queue[bytes | None] = queue.Queue(_AHEAD)

    def listen() -> None:
        for line in lines:
            if is_stop(line):
                stops.add(1)
            waiting.put(line)
        waiting.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while not session.over and (line := waiting.get()) is not None:
        if line.strip():
            answer = session.answer(line)
            if is_stop(line):
                stops.add(-1)
            try:
                write(answer.encode() + b"\n")
            except OSError:  # nobody reads any more
                return


def lines_of(source: int) -> Iterator[bytes]:
    """The lines of a file descriptor, without their ends. One that is too long comes cut off, but still too long."""
    rest, skipping = b"", False
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:  # it is closed
            chunk = b""
        if not chunk:
            if rest and not skipping:
                yield rest
            return
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if not skipping:
                yield line
            skipping = False
        if skipping:
            rest = b""
        elif len(rest) > LONGEST:
            yield rest
            rest, skipping = b"", True


class _Stops:
    """How many requests to stop were read and not yet answered. While there is one, whoever thinks came before it."""

    def __init__(self) -> None:
        self._lock, self._waiting = threading.Lock(), 0

    def add(self, number: int) -> None:
        with self._lock:
            self._waiting += number

    def is_waiting(self) -> bool:
        return self._waiting > 0


@contextlib.contextmanager
def _own_output() -> Iterator[int]:
    """A descriptor of standard output, which is standard error for everybody else meanwhile."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield ours
    finally:
        with contextlib.suppress(OSError):
            os.dup2(ours, 1)
        os.close(ours)


def _write(out: int, line: bytes) -> None:
    while line:
        line = line[os.write(out, line) :]
