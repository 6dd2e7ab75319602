"""Pieces on this machine: processes that get batches and send results through pipes.

Forked workers start at once: they inherit loaded kernels and the caller's own classes. Spawned ones (`processes.py`
says when) import what they need: first the script that the caller runs, if there is one. A worker watches its parent,
and ends when that does, even by kill -9.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foglight.names import BadInput
from foglight.pieces import Batch, Crew, Hand, Outcome, Worker
from foglight.processes import findable_script, is_starting, start_method

_REPEATS = 77  # exit code of a worker that was about to do again what its script does
_WATCH = 0.5  # seconds between two looks at the parent


@dataclass(eq=False, kw_only=True)
class Process(Hand):
    """A worker process and the pipe to it."""

    process: Any
    connection: Any
    head: bytes = b""  # the last one that was sent


class Processes(Crew):
    """A number of processes. One that dies is replaced."""

    def __init__(self, workers: int, fresh: bool = False) -> None:
        if is_starting():  # a spawned worker imports its script, which is about to start workers of its own
            os._exit(_REPEATS)
        self._context: Any = multiprocessing.get_context(start_method(fresh))
        self._workers = workers
        self._crew: list[Process] = []

    def hands(self, pieces: int) -> Sequence[Process]:
        while len(self._crew) < min(self._workers, pieces):
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(theirs, os.getpid()))
            with findable_script():
                process.start()
            theirs.close()  # so that the end of the process ends the pipe
            self._crew.append(Process(process=process, connection=ours))
        return list(self._crew)

    def send(self, hand: Hand, batch: Batch, head: bytes, pieces: bytes) -> None:
        assert isinstance(hand, Process)
        news = head if hand.head is not head else None
        hand.head = head
        with contextlib.suppress(OSError):  # it has died, as `wait` will see
            hand.connection.send_bytes(pickle.dumps((news, pieces)))

    def wait(self) -> list[Outcome]:
        by_end = {end: hand for hand in self._crew for end in (hand.connection, hand.process.sentinel)}
        ready = {id(hand): hand for hand in map(by_end.get, multiprocessing.connection.wait(list(by_end))) if hand}
        outcomes = []
        for hand in ready.values():
            dead = not hand.process.is_alive()  # asked before its last words are read
            batches = iter(list(hand.batches))  # which it answers in order
            try:
                while hand.connection.poll():
                    outcomes.append(Outcome(hand, next(batches), hand.connection.recv_bytes()))
            except (EOFError, OSError):
                dead = True
            if dead:
                hand.process.join()
                hand.connection.close()
                self._crew.remove(hand)
                if hand.process.exitcode == _REPEATS:
                    raise BadInput(
                        "worker processes import your script again, and would do again what it does; "
                        'put that under: if __name__ == "__main__":'
                    )
                outcomes.append(Outcome(hand, None))
        return outcomes

    def end(self) -> None:
        for hand in self._crew:
            with contextlib.suppress(OSError):
                hand.connection.send_bytes(b"")
        self._join()

    def kill(self) -> None:
        for hand in self._crew:
            hand.process.kill()
        self._join()

    def _join(self) -> None:
        for hand in self._crew:
            hand.process.join()
            hand.connection.close()
        self._crew = []


def _work(connection: Any, parent: int) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:  # in a thread of its own, so that neither side ever waits for the other to read
        try:
            while True:
                if connection.poll(_WATCH):
                    messages.put(connection.recv_bytes())
                elif os.getppid() != parent:
                    os._exit(1)
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    worker = Worker()
    head = b""
    while message := messages.get():
        news, pieces = pickle.loads(message)
        head = news or head
        connection.send_bytes(worker.answer(head, pieces))
    worker.close()
