"""Running pieces on processes and on Ray: what each way costs, what a driver can take in, and kills without number.

python -m foglight.bench.pieces overhead    a match of an agent that sleeps 10 ms, on two processes and on Ray
python -m foglight.bench.pieces rate        results that one driver takes in a second, by the size of batches
python -m foglight.bench.pieces kills       a tournament whose workers are killed 1,000 times, and what it lost

`kills --on ray` kills workers of a Ray that is started here; `--most 100` kills only so many.
"""

import argparse
import contextlib
import os
import pickle
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foglight import pieces
from foglight.agents import Agent
from foglight.arena.match import play_match
from foglight.arena.referee import Record, Timing
from foglight.arena.store import Match, Store
from foglight.arena.tournament import play_tournament
from foglight.pieces import Lot, Where, opened
from foglight.rules import Game

ROUNDS = 3  # of each measurement; the best counts
KILLS = 1000


class Sleeper(Agent):
    """plays its first legal action, after it has slept for 10 ms at the start of the game"""

    def start(self, game: str | Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        time.sleep(0.01)

    def act(self, actions: Any = None) -> int:
        return int((actions or self.legal_actions())[0])


def overhead(games: int = 3000) -> None:
    """Two workers each, in turn, and the time from the first result to the last: starting Ray takes seconds, once."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for place in (Where("local", 2), Where("ray", 2)):
            times = list[tuple[float, int]]()

            def progress(done: int, _: int, times: list[tuple[float, int]] = times) -> None:
                times.append((time.perf_counter(), done))

            play_match("kuhn_poker", [f"{__name__}:Sleeper", "first_legal"], games, 0, place, progress=progress)
            begun = next(at for at in times if at[1] > games // 10)  # when all workers have started
            per_game = (times[-1][0] - begun[0]) / (times[-1][1] - begun[1])
            best[place.place] = min(best.get(place.place, 1.0), per_game)
    local, ray = best["local"], best["ray"]
    say(f"ms a game: {1000 * local:.3f} on two processes, {1000 * ray:.3f} on Ray: {ray / local - 1:+.1%}")


def rate(batches: int = 3000) -> None:
    """Pieces that do nothing, with results like a game's, in batches of fixed sizes; then what the store takes."""
    for place in (Where("local", 2), Where("ray", 2)):
        for size in (1, 10, 100, 1000):
            found = max(_rate(place, size, max(100, batches // (1 + size // 10))) for _ in range(ROUNDS))
            say(f"{place.place}, batches of {size}: {found / size:,.0f} batches, {found:,.0f} results a second")
    found = max(_simulated(10_000, 100_000) for _ in range(ROUNDS))
    say(f"10,000 workers that answer at once: {found:,.0f} batches a second")
    record = _record()
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Store(Path(folder) / "games.sqlite")) as store:
        match, best = store.match(Match("game", ("a", "b"), 0, "0", ())), 0.0
        for turn in range(ROUNDS):
            begin = time.perf_counter()
            for batch in range(100):
                first = 100_000 * turn + 1000 * batch
                store.add_all(match, ((first + number, record) for number in range(1000)))
            best = max(best, 100_000 / (time.perf_counter() - begin))
        say(f"the store, batches of 1000: {best:,.0f} games a second")


def _rate(place: Where, size: int, batches: int) -> float:
    class Fixed(pieces.Schedule):
        """Batches of one size, at any pace."""

        def batch(self, workers: int, ahead: bool) -> pieces.Batch | None:
            self._pace[0] = pieces._SECONDS / size, size
            return super().batch(1, ahead)

    real, pieces.Schedule = pieces.Schedule, Fixed  # type: ignore[misc]
    try:
        with opened(place) as crew:
            list(crew.run(_nothing, [Lot(None, range(100 * size))]))  # until all workers have started
            begin = time.perf_counter()
            for _ in crew.run(_nothing, [Lot(None, range(batches * size))]):
                pass
            return batches * size / (time.perf_counter() - begin)
    finally:
        pieces.Schedule = real  # type: ignore[misc]


class _Imaginary(pieces.Crew):
    """Workers that cost nothing: what is left is the driver's own work."""

    def __init__(self, workers: int) -> None:
        self._hands = [pieces.Hand() for _ in range(workers)]
        self._sent: deque[pieces.Outcome] = deque()
        self._answer = pickle.dumps(([None], 10.0, None, ""))

    def hands(self, left: int) -> list[pieces.Hand]:
        return [hand for hand in self._hands if hand is not None]

    def send(self, hand: pieces.Hand, batch: pieces.Batch, head: bytes, content: bytes) -> None:
        self._sent.append(pieces.Outcome(hand, batch, self._answer))

    def wait(self) -> list[pieces.Outcome]:
        return [self._sent.popleft() for _ in range(min(100, len(self._sent)))]


def _simulated(workers: int, batches: int) -> float:
    begin = time.perf_counter()
    for _ in _Imaginary(workers).run(_nothing, [Lot(None, range(batches))]):
        pass
    return batches / (time.perf_counter() - begin)


@contextlib.contextmanager
def _nothing() -> Iterator[Any]:
    yield lambda common, piece: _record()


def _record() -> Record:
    return Record((1.0, -1.0), (2, 0, 1, 0), (Timing(1, 1e-5, 1e-5), Timing(1, 1e-5, 1e-5)))


def kills(most: int = KILLS, on: str = "local") -> None:
    """A tournament on eight processes, or on all cores by Ray, whose workers are killed at random moments."""
    games, agents = ["kuhn_poker"], [f"{__name__}:Sleeper", "first_legal", "random"]
    random_, killed, resumed, each = random.Random(0), 0, 0, 20 * most
    # a worker of Ray takes seconds to start: it is killed when it has been seen at play a few times
    pause, looks = (0.1, 0) if on == "local" else (1.0, 3)
    with tempfile.TemporaryDirectory() as folder:
        store, over = Path(folder) / "games.sqlite", threading.Event()

        def hunt() -> None:
            nonlocal killed
            seen: Counter[int] = Counter()
            while not over.wait(random_.uniform(0.0, pause)) and killed < most:
                found = children() if on == "local" else players()
                seen.update(found)
                if prey := [process for process in found if seen[process] > looks]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(random_.choice(prey), signal.SIGKILL)
                        killed += 1

        hunter = threading.Thread(target=hunt, daemon=True)
        hunter.start()
        begin = time.perf_counter()
        result = None
        while result is None:
            try:
                result = play_tournament(games, agents, each, 0, Where(on, 8), store)
            except RuntimeError:  # one game has ended three workers in a row, as far as the driver can see
                resumed += 1
        over.set()
        hunter.join()
        seconds = time.perf_counter() - begin
        with contextlib.closing(sqlite3.connect(store)) as connection:
            count = "SELECT count(*), count(DISTINCT match || ' ' || number) FROM games"
            rows, keys = connection.execute(count).fetchone()
        lost, doubled = result.played - keys, rows - keys
        say(f"{killed} kills in {seconds:.0f} s; {lost} of {result.played} games lost, {doubled} doubled")
        say(f"resumed {resumed} times, after one game had ended three workers in a row")
        same = play_tournament(games, agents, each, 0, Where("local", 8)) == result
        say(f"the table is {'the same' if same else 'NOT the same'} as without kills")


def children() -> list[int]:
    """The processes that this one has started."""
    return [process for process, parent in parents().items() if parent == os.getpid()]


def players(title: bytes = b"ray::_Actor.answer") -> list[int]:
    """The workers of a Ray of this process that are playing, or those with another title; Ray sets titles."""
    above, found = parents(), []
    for process in above:
        with contextlib.suppress(OSError):
            shown = Path(f"/proc/{process}/cmdline").read_bytes()
            line = [process]
            while line[-1] in above:
                line.append(above[line[-1]])
            if shown.startswith(title) and os.getpid() in line:
                found.append(process)
    return found


def parents() -> dict[int, int]:
    """All processes of this machine that have not ended, and the process that started each."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(file.parent.name)] = int(parent)
    return found


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    from foglight.bench import pieces as ours  # so that workers find the agent by its address

    parser = argparse.ArgumentParser(description="Measure workers on processes and on Ray.")
    parser.add_argument("what", choices=["overhead", "rate", "kills"])
    parser.add_argument("--on", choices=["local", "ray"], default="local", help="where workers are killed")
    parser.add_argument("--most", type=int, default=KILLS, help="kills")
    given = parser.parse_args()
    {"overhead": ours.overhead, "rate": ours.rate, "kills": lambda: ours.kills(given.most, given.on)}[given.what]()
