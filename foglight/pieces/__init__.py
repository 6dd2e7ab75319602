"""Running many pieces of work that do not depend on each other: in this process, in several, or on a Ray cluster.

Pieces come in lots. The pieces of a lot have something in common, such as the game and the agents of a match, which is
sent to a worker once. `work` is a function without arguments. It returns a context manager, which a worker enters when
it begins and leaves when it ends; what that gives is called with what a lot has in common and one piece, and returns
the result. So whatever is expensive to open, such as an agent, stays open from piece to piece.

Results come in any order, and each piece gives exactly one. Pieces are sent in batches that take about a quarter of a
second, so that the cost of sending vanishes, and little is lost when a worker dies. Its pieces are run again by others,
in smaller batches. A piece alone in its batch that ends its worker three times in a row ends the run. An exception of
the work itself is raised where the results are taken.
"""

import os
import pickle
import re
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeAlias

from foglight.names import BadInput, failure

Function: TypeAlias = Callable[[Any, Any], Any]  # from what a lot has in common and a piece to its result
Work: TypeAlias = Callable[[], AbstractContextManager[Function]]

DEATHS = 3  # of workers in a row, after which a piece that was alone in its batch is given up
_SECONDS = 0.25  # of work in a batch
_BATCHES_A_SECOND = 1000  # that one driver can comfortably send; with very many workers, batches take longer
_HEADS = 100  # of lots that the driver keeps pickled
_GROWTH = 8  # largest factor from one batch of a lot to a later one


class Lot(NamedTuple):
    """Pieces that have something in common. A piece may be anything that can be pickled."""

    common: Any
    pieces: Sequence[Any]


class Done(NamedTuple):
    """Finished pieces of one lot, and the result of each."""

    lot: int  # its place among the lots
    pieces: Sequence[Any]
    results: Sequence[Any]


class WorkersLost(RuntimeError):
    """Workers keep dying of one piece."""

    def __init__(self, left: int, lot: int, piece: Any) -> None:
        super().__init__(f"worker processes keep dying; {left} pieces are left")
        self.left, self.lot, self.piece = left, lot, piece


# Where ----------------------------------------------------------------------------------------------------------


class Where(NamedTuple):
    """Where to run pieces, and on how many workers.

    >>> from foglight.pieces import Where, where
    >>> where(4) == Where("local", most=4), where("local") == Where("local")
    (True, True)
    """

    place: str = "local"  # "local", "ray", or the address of a Ray cluster
    most: int | None = None  # workers; None: one for each core
    mourner: Callable[[int], None] | None = None  # called after each death of a worker, with the number of deaths

    @property
    def is_here(self) -> bool:
        """Whether all is to be done by this process itself."""
        return _inside or (self.place, self.most) == ("local", 1)


Workers: TypeAlias = int | str | Where  # what the parameter `workers` of public functions takes

_ADDRESS = re.compile(r"(ray://)?[^\s/:]+:\d+|ray://\S+")
_inside = False  # whether this process is itself a worker, which starts no workers of its own


def where(workers: Workers) -> Where:
    """Read `workers`: a number of processes, `local`, `ray`, or the address of a Ray cluster."""
    if isinstance(workers, Where):
        wanted = workers
    else:
        wanted = Where(workers) if isinstance(workers, str) else Where("local", workers)
    if wanted.most is not None and (type(wanted.most) is not int or not 1 <= wanted.most < 2**63):
        raise BadInput(f"workers must be a whole number of at least 1, not {wanted.most!r}")
    if wanted.place not in ("local", "ray") and not _ADDRESS.fullmatch(wanted.place):
        raise BadInput(
            f"work is done on local, ray, or the address of a Ray cluster such as HOST:PORT or ray://HOST:PORT, "
            f"not on {wanted.place!r}"
        )
    return wanted


def opened(
    workers: Workers,
    *,
    threads: int = 1,
    memory: int = 0,
    modules: Sequence[str] = (),
    files: Sequence[str] = (),
    fresh: bool = False,
) -> "Place":
    """The place to run pieces at, for a `with` statement.

    `threads` and `memory`, in bytes, are what each worker needs. `modules` are the names of modules that the work comes
    from: on a cluster, those that are not installed travel. So do `files`, and `luggage.path_here` says where a worker
    finds one. Workers on this machine are started as `processes.py` says; `fresh` ones are never forks.
    """
    wanted = where(workers)
    place: Place
    if wanted.is_here:
        place = Here()
    elif wanted.place == "local":
        from foglight.pieces.local import Processes

        place = Processes(wanted.most or max(1, cores() // threads), fresh)
    else:
        from foglight.pieces.on_ray import Cluster

        place = Cluster(wanted.place, wanted.most, threads, memory, modules, files)
    place.mourner = wanted.mourner
    return place


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Driving --------------------------------------------------------------------------------------------------------


class Place:
    """A place where pieces are run, for a `with` statement. What is open in its workers stays so from run to run."""

    deaths = 0  # of workers so far
    mourner: Callable[[int], None] | None = None  # as in `Where`
    _idle = True  # whether all that was begun has ended

    def run(self, work: Work, lots: Sequence[Lot]) -> Iterator[Done]:
        """Run all pieces of all lots; results come as they are done."""
        raise NotImplementedError

    def end(self) -> None:
        """End all workers. They close what they have opened."""

    def kill(self) -> None:
        """End all workers at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._idle:
            self.end()
        else:
            self.kill()


class Here(Place):
    """This process, one piece after the other."""

    def __init__(self) -> None:
        self._desk = Desk()

    def run(self, work: Work, lots: Sequence[Lot]) -> Iterator[Done]:
        function = self._desk.opened(work)
        for number, lot in enumerate(lots):
            for piece in lot.pieces:
                yield Done(number, [piece], [function(lot.common, piece)])

    def end(self) -> None:
        self._desk.close()

    kill = end


@dataclass(eq=False)
class Batch:
    """Pieces of one lot that are sent together."""

    lot: int
    pieces: Sequence[Any]
    deaths: int = 0  # of workers that had this batch, if it is a single piece


@dataclass(eq=False)
class Hand:
    """The driver's side of a worker."""

    batches: list[Batch] = field(default_factory=list)  # sent, and not yet done; the first is being worked on


class Outcome(NamedTuple):
    """What a worker has sent, or that it is gone."""

    hand: Hand
    batch: Batch | None  # None: it has died
    content: bytes = b""  # the answer to the batch
    blameless: bool = False  # whether its whole machine died, and not the worker alone


class Crew(Place):
    """Workers in other processes; how these are started and reached is up to the subclass."""

    dumps: Callable[[Any], bytes] = staticmethod(pickle.dumps)

    def hands(self, pieces: int) -> Sequence[Hand]:
        """The workers that are ready, after those that died are replaced; no more than the pieces that are left."""
        raise NotImplementedError

    def send(self, hand: Hand, batch: Batch, head: bytes, pieces: bytes) -> None:
        """Send a batch: the work and what its lot has in common, which the worker may have already, and the pieces."""
        raise NotImplementedError

    def wait(self) -> list[Outcome]:
        """Wait until workers have sent something, or have died, or have begun."""
        raise NotImplementedError

    def run(self, work: Work, lots: Sequence[Lot]) -> Iterator[Done]:
        schedule, heads = Schedule(lots), dict[int, bytes]()
        self._idle, failed = False, None
        while schedule.left:
            ready = self.hands(schedule.left)
            for ahead in (False, True):  # a worker that has a second batch need not wait for the driver
                for hand in ready:
                    if len(hand.batches) == ahead and (batch := schedule.batch(len(ready), ahead)):
                        if batch.lot not in heads:
                            heads[batch.lot] = self.dumps((work, lots[batch.lot].common))
                            if len(heads) > _HEADS:
                                del heads[min(heads)]
                        hand.batches.append(batch)
                        self.send(hand, batch, heads[batch.lot], self.dumps(batch.pieces))
            for hand, batch, content, blameless in self.wait():
                if batch is None:
                    self.deaths += 1
                    if self.mourner is not None:
                        self.mourner(self.deaths)
                    if culprit := schedule.lose(hand.batches, blameless):
                        raise WorkersLost(schedule.left, culprit.lot, culprit.pieces[0])
                    continue
                results, seconds, error, trace = pickle.loads(content)
                hand.batches.remove(batch)
                if results:
                    yield schedule.finish(batch, results, seconds)
                if error is not None:
                    error.__cause__, failed = _Trace(trace), error
            if failed is not None:  # after the results that came with it
                raise failed
        self._idle = True


class Schedule:
    """Which pieces are left, and how many of them to send together."""

    def __init__(self, lots: Sequence[Lot]) -> None:
        self._lots = lots
        self._next = deque((lot, 0) for lot in range(len(lots)) if len(lots[lot].pieces))  # lots not yet all sent
        self._again: deque[Batch] = deque()  # batches whose workers died
        self._pace: dict[int, tuple[float, int]] = {}  # by lot: seconds a piece, and pieces, of its last batch
        self._waiting = sum(len(lot.pieces) for lot in lots)  # pieces that nobody has
        self.left = self._waiting  # pieces without a result

    def batch(self, workers: int, ahead: bool) -> Batch | None:
        """The next batch; None if there is none. One `ahead` waits for another, and holds no long pieces."""
        lot = self._again[0].lot if self._again else self._next[0][0] if self._next else None
        seconds, last = self._pace.get(-1 if lot is None else lot, (None, 1))
        if lot is None or (ahead and (seconds is None or seconds > _SECONDS)):
            return None
        if self._again:
            batch = self._again.popleft()
        else:
            most = self._waiting // (2 * workers)  # so that all workers end at the same time
            if seconds is None:
                wanted = 1
            else:
                wanted = min(int(max(_SECONDS, workers / _BATCHES_A_SECOND) / max(seconds, 1e-7)), _GROWTH * last)
            lot, begin = self._next.popleft()
            pieces = self._lots[lot].pieces[begin : begin + max(1, min(most, wanted))]
            if begin + len(pieces) < len(self._lots[lot].pieces):
                self._next.appendleft((lot, begin + len(pieces)))
            batch = Batch(lot, pieces)
        self._waiting -= len(batch.pieces)
        return batch

    def finish(self, batch: Batch, results: Sequence[Any], seconds: float) -> Done:
        """Take results for a batch, or for the first pieces of one that failed."""
        self.left -= len(results)
        self._pace[batch.lot] = seconds / len(results), len(results)
        return Done(batch.lot, batch.pieces[: len(results)], results)

    def lose(self, batches: Sequence[Batch], blameless: bool) -> Batch | None:
        """Take back the batches of a worker that died; returns one of a single piece that it died of once too often."""
        for number, batch in enumerate(batches):
            self._waiting += len(batch.pieces)
            if number > 0 or blameless:  # not begun, or not its fault
                self._again.append(batch)
            elif len(batch.pieces) > 1:
                half = len(batch.pieces) // 2
                self._again += [Batch(batch.lot, batch.pieces[:half]), Batch(batch.lot, batch.pieces[half:])]
            else:
                batch.deaths += 1
                self._again.append(batch)
                if batch.deaths == DEATHS:
                    return batch
        return None


# Working --------------------------------------------------------------------------------------------------------


class Desk:
    """Where pieces are worked on. It keeps open what the work needs."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._work: Work | None = None
        self._function: Function | None = None

    def opened(self, work: Work) -> Function:
        """Open the work, unless it is open."""
        if self._function is None or self._work != work:
            self.close()
            self._work, self._function = work, self._stack.enter_context(work())
        return self._function

    def close(self) -> None:
        self._function = None
        self._stack.close()


class Worker:
    """A worker in its own process."""

    def __init__(self) -> None:
        global _inside
        _inside = True
        self._desk = Desk()
        self._head: tuple[bytes, Work, Any] | None = None

    def answer(self, head: bytes, pieces: bytes) -> bytes:
        """Work on a batch. The answer has the results, the seconds that they took, and the error that ended them."""
        results: list[Any] = []
        begin, error, trace = time.perf_counter(), None, ""
        try:
            if self._head is None or self._head[0] != head:
                self._head = head, *_unpacked(head)
            _, work, common = self._head
            function = self._desk.opened(work)
            for piece in _unpacked(pieces):
                results.append(function(common, piece))
        except BaseException as problem:
            error, trace = _sendable(problem), "".join(traceback.format_exception(problem))
            self.close()  # the driver may end this worker at once
        seconds = time.perf_counter() - begin
        try:
            return pickle.dumps((results, seconds, error, trace), pickle.HIGHEST_PROTOCOL)
        except Exception as problem:  # whatever pickle raises about somebody else's result
            self.close()
            return pickle.dumps(([], seconds, _sendable(problem), traceback.format_exc()))

    def close(self) -> None:
        """Close what is open."""
        self._desk.close()


def _unpacked(content: bytes) -> Any:
    """What a worker was sent. It knows modules, but not what somebody has defined at a prompt."""
    try:
        return pickle.loads(content)
    except (AttributeError, ImportError) as error:
        raise BadInput(
            f"a worker process cannot find what it needs ({' '.join(str(error).split())}); define it in a module and "
            "give its address, package.module:Class, or use one worker"
        ) from None


def _sendable(error: BaseException) -> BaseException:
    """The error, or one of the same text if that cannot be pickled or not be made again."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever pickle raises about somebody else's exception
        other = RuntimeError(failure(error) if isinstance(error, Exception) else repr(error))
        for line in getattr(error, "__notes__", ()):
            other.add_note(line)
        return other
    return error


class _Trace(Exception):
    """The traceback in the worker, as the cause of an error in the driver."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'
