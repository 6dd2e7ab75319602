"""Worker processes that think: agents and beliefs run here, never in the process that answers the page.

There are two lanes. In the quick one are beliefs and agents without a clock; in the slow one whatever searches, so that
nobody waits behind somebody else's search for a picture. A worker does one thing at a time. A thought that nobody waits
for any more is ended by ending its process; another one takes its place.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from foglight.names import BadInput, failure

_MEMORY = 6 << 30  # bytes that one worker may use
_TOPICS = 1000  # that are remembered of a worker
QUICK, SLOW = "quick", "slow"


class Failed(RuntimeError):
    """A worker failed or was ended before it had an answer."""


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.topics: set[Any] = set()  # what it was asked about, and has in its memory

    def ask(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The answer of this name; runs in a thread, and ends when the process is ended."""
        try:
            self._pipe.send((name, arguments))
            kind, content = self._pipe.recv()
        except (EOFError, OSError):
            raise Failed("the worker ended before it had an answer") from None
        if kind == "bad":
            raise BadInput(content)
        if kind == "failed":
            raise Failed(content)
        return content

    @property
    def alive(self) -> bool:
        """Whether the process has not ended, by itself or by somebody else."""
        return self._process.is_alive()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _Lane:
    """Some workers and those who wait for one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._number = asyncio.Semaphore(0)  # of free workers; unlike a condition it gives one back without waiting
        self._additions: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        for _ in range(self._size):
            await self._add()

    async def _add(self) -> None:
        worker = await asyncio.to_thread(_Worker)
        self._all.add(worker)
        self._put_back(worker)

    def _put_back(self, worker: _Worker) -> None:
        """Free a worker. Whoever does so may be cancelled at any moment, so nothing is awaited here."""
        self._free.append(worker)
        self._number.release()

    async def _take(self, topics: Sequence[Any]) -> _Worker:
        """A free worker that lives."""
        while True:
            await self._number.acquire()
            worker = max(self._free, key=lambda worker: [topic in worker.topics for topic in topics])
            self._free.remove(worker)
            if worker.alive:
                return worker
            self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """End a worker and start another one."""
        self._all.discard(worker)
        threading.Thread(target=worker.end).start()
        addition = asyncio.ensure_future(self._add())
        self._additions.add(addition)  # or it could be collected before it is done
        addition.add_done_callback(self._additions.discard)

    @contextlib.asynccontextmanager
    async def worker(self, topics: Sequence[Any]) -> AsyncIterator[_Worker]:
        """A worker for the time of a `with` statement, rather one that knows these topics, the first ones above all.

        One that was interrupted or failed is replaced.
        """
        worker = await self._take(topics)
        if len(worker.topics) > _TOPICS:
            worker.topics.clear()
        worker.topics.update(topics)
        try:
            yield worker
        except BadInput:
            self._put_back(worker)
            raise
        except BaseException:
            self._replace(worker)
            raise
        else:
            self._put_back(worker)

    def close(self) -> None:
        for worker in self._all:
            worker.end()


class Workers:
    """All workers of a server: `slow` of them for searches, one for what is quick."""

    def __init__(self, slow: int) -> None:
        self._lanes = {QUICK: _Lane(1), SLOW: _Lane(slow)}

    async def start(self) -> None:
        """Start the processes."""
        for lane in self._lanes.values():
            await lane.start()

    async def ask(self, lane: str, limit: float, name: str, *arguments: Any, topics: Sequence[Any] = ()) -> Any:
        """The answer of this name from a worker of the lane; Failed after `limit` seconds, waiting not counted.

        Cancelling it ends the worker's thought. Questions on the same topics go to the same worker, if it is free.
        """
        async with self._lanes[lane].worker(topics) as worker:
            try:
                return await asyncio.wait_for(asyncio.to_thread(worker.ask, name, arguments), limit)
            except TimeoutError:
                raise Failed(f"there was no answer after {limit:g} seconds") from None

    def close(self) -> None:
        """End all processes."""
        for lane in self._lanes.values():
            lane.close()


def _serve(pipe: Connection) -> None:
    """What a worker does: answer one question after the other until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from foglight.web import answers

    while True:
        try:
            name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            reply = "ok", answers.ANSWERS[name](*arguments)
        except BadInput as error:
            reply = "bad", str(error)
        except Exception as error:
            reply = "failed", failure(error)
        try:
            pipe.send(reply)
        except OSError:
            return
