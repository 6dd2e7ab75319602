"""Beliefs of trick-taking games: exact deals a second, and the two chains by transitions and by effective samples.

A chain's effective samples are its transitions divided by the longest autocorrelation time among the log-probability of
the history and three random functions of the deal. `plain` is the same chain run by the interpreter.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foglight.bits import get
from foglight.cards import tricks
from foglight.policies import Biased, Uniform
from foglight.randomness import generator
from foglight.rules import PUBLIC
from foglight.state import State, new_state
from foglight.worlds.deals import DealFilter
from foglight.worlds.ring_swap import _ring_swap_chain, autocorrelation_time

SMALL, LARGE = "oh_hell(players=3,suits=3,ranks=4,tricks=3)", "oh_hell(players=4,tricks=12)"
CASES = [(SMALL, 3), (LARGE, 4), (LARGE, 20), ("spades", 20), ("hearts", 20)]  # game, cards played


@dataclass(frozen=True)
class Deals:
    """What one method does in a second."""

    game: str
    played: int
    histories: float
    method: str
    per_second: float
    effective: float

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def run(seconds: float = 0.5) -> Iterator[Deals]:
    """Measure each case in turn."""
    for name, plays in CASES:
        seen = _position(name, plays).observations(PUBLIC)
        deals = DealFilter(name, seen, PUBLIC)
        size = float(min(deals.count(), 10**300))
        puzzle, stream = deals._puzzles[0], generator(1)
        rate = _rate(lambda n, puzzle=puzzle, stream=stream: puzzle.deals.draw(n, stream), seconds)
        yield Deals(name, plays, size, "exact deals", rate, rate)
        rate = _rate(lambda n, deals=deals: deals._uniform(n, n), seconds)
        yield Deals(name, plays, size, "exact histories", rate, rate)
        for policy in (Uniform(), Biased(0.7)):
            for swaps in (False, True):
                chain = DealFilter(name, seen, PUBLIC, policy).chain(swaps=swaps)
                rate = _rate(chain.run, seconds)
                trace = chain.statistics(*chain.run(min(1 << 16, max(1000, int(4 * rate * seconds)))))
                longest = max(autocorrelation_time(column) for column in trace.T)
                method = f"{'drawn rings' if chain.swaps else 'RingSwap'}, {type(policy).__name__.lower()}"
                yield Deals(name, plays, size, method, rate, rate / longest)
        if name == SMALL:
            yield Deals(name, plays, size, "RingSwap, plain", _plain_rate(name, seen), float("nan"))


def _plain_rate(name: str, seen: list[int], n: int = 100) -> float:
    chain = DealFilter(name, seen, PUBLIC, Uniform()).chain()
    out = (np.empty((n, len(chain.deal)), np.int64), np.empty((n, *chain.pattern.shape), np.int64), np.empty(n))
    begin = time.perf_counter()
    _ring_swap_chain.py_func(*chain._arguments, chain.deal, chain.pattern, chain.weight, 1, out)
    return n / (time.perf_counter() - begin)


def _position(name: str, plays: int) -> State:
    """A random position after so many cards played; the small one without voids, as in the paper's Table 1."""
    rng = random.Random(1)
    while True:
        state, placed = new_state(name), 0
        while placed < plays:
            placed += get(state.world, tricks.PHASE) == tricks.PLAY
            state.play(rng.choice(state.actions()))
        if name != SMALL or int(state.world[2]) == 0:
            return state


def _rate(side: Any, seconds: float) -> float:
    """How many a second; finding out how many fill the time also compiles."""
    side(10)
    n, elapsed = 50, 0.0
    while elapsed < seconds / 4:
        n *= 2
        begin = time.perf_counter()
        side(n)
        elapsed = time.perf_counter() - begin
    return n / elapsed
