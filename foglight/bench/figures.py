"""Common parts of the benches: rows of tables, figures with peers and bars, rates, random positions."""

import importlib.util
import json
import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from foglight.bits import get
from foglight.cards import tricks
from foglight.names import BadInput
from foglight.rules import CHANCE
from foglight.state import State, new_state

LARGE = "oh_hell(players=4,tricks=12)"  # 52 cards, four of them undealt
FEWEST, MOST = 5, 40  # cards played at a random position
ROUNDS = 3  # per race

Side = Callable[[int], Any]  # does its work n times


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    def summary(self) -> dict[str, Any]:
        """The row as data."""
        return asdict(self)

    def texts(self) -> dict[str, str]:
        """The row as text, by column title."""
        return {key: number(value) for key, value in self.summary().items()}


@dataclass(frozen=True)
class Figure(Row):
    """One measurement, the peer's beside it, and the bars that it should meet."""

    what: str
    foglight: float | None  # None if it could not be measured
    unit: str  # "/s", " s", " ms", " MB" or " %"
    against: str = ""  # the peer's name
    peer: float | None = None  # the peer's measurement
    at_least: float | None = None  # bars, in units
    at_most: float | None = None
    times: float | None = None  # bar: the least ratio to the peer

    @property
    def ratio(self) -> float | None:
        return self.foglight / self.peer if self.foglight and self.peer and self.unit == "/s" else None

    @property
    def met(self) -> bool | None:
        """Whether all bars are met; None if there is none."""
        if self.at_least is self.at_most is self.times is None:
            return None
        value, ratio = self.foglight, self.ratio
        return (
            (self.at_least is None or (value is not None and value >= self.at_least))
            and (self.at_most is None or (value is not None and value <= self.at_most))
            and (self.times is None or (ratio is not None and ratio >= self.times))
        )

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "ratio": self.ratio, "met": self.met}

    def texts(self) -> dict[str, str]:
        bars = [("at least ", self.at_least, self.unit), ("at most ", self.at_most, self.unit), ("", self.times, "×")]
        return {
            "what": self.what,
            "foglight": self._text(self.foglight),
            "peer": f"{self._text(self.peer)} {self.against}" if self.against else "",
            "ratio": "" if self.ratio is None else f"{number(self.ratio)}×",
            "bar": ", ".join(f"{word}{number(bar)}{unit}" for word, bar, unit in bars if bar is not None),
            "met": number(self.met),
        }

    def _text(self, value: float | None) -> str:
        return "cannot be told" if value is None else number(value) + self.unit


def number(value: Any) -> str:
    """A value as text: three digits of a fraction below 100, else all digits before the point; other things as is."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def rate(side: Side, seconds: float) -> float:
    """The rate of a side per second: the best of three, since noise only ever slows it. The first calls compile."""
    side(10)
    n, elapsed = 50, 0.0
    while elapsed < seconds / 4:
        n *= 2
        elapsed = _seconds(side, n)
    return n / min(elapsed, _seconds(side, n), _seconds(side, n))


def race(sides: list[Side], seconds: float) -> list[float]:
    """The rates of the sides per second: the best of a few rounds in which they take turns."""
    counts = [_calibrated(side, seconds) for side in sides]
    best = [0.0] * len(sides)
    for _ in range(ROUNDS):
        best = [max(rate, n / _seconds(side, n)) for rate, side, n in zip(best, sides, counts, strict=True)]
    return best


def _calibrated(side: Side, seconds: float) -> int:
    """How many repetitions take this many seconds; finding out also compiles and warms the caches."""
    side(1)
    n, elapsed = 1, _seconds(side, 1)
    while elapsed < seconds / 8:
        n *= 2
        elapsed = _seconds(side, n)
    return max(1, int(n * seconds / elapsed))


def _seconds(side: Side, n: int) -> float:
    begin = time.perf_counter()
    side(n)
    return time.perf_counter() - begin


def check_seconds(seconds: float) -> None:
    """Refuse a time per side and round that is too short or too long."""
    if not 0.01 <= seconds <= 600:
        raise BadInput(f"seconds must be from 0.01 to 600, not {seconds}")


def dealt(name: str) -> State:
    """A game after its first chance moves, which are random but always the same."""
    state, rng = new_state(name), random.Random(0)
    while state.player == CHANCE:
        state.play(rng.choice(state.actions()))
    return state


def played(name: str, plays: int, rng: random.Random) -> State:
    """A random position after `plays` cards have been played."""
    state = new_state(name)
    while plays > 0:
        plays -= bool(get(state.world, tricks.PHASE) == tricks.PLAY)
        state.play(rng.choice(state.actions()))
    return state


def load_peer(name: str) -> Any:
    """A game of OpenSpiel, by its name there."""
    if importlib.util.find_spec("pyspiel") is None:
        raise BadInput("this bench compares with OpenSpiel; install it with: pip install 'foglight[openspiel]'")
    import pyspiel

    return pyspiel.load_game(name)


def output_of(command: list[str]) -> Any:
    """What a process prints as the last line, read as JSON."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BadInput(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise BadInput(f"{command[0]} printed no measurements; is it a Python?") from None
