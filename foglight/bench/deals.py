"""Beliefs of trick-taking games: exact deals per second, two Markov chains, enumeration of a public state, memory.

A chain's number of effective samples is its number of transitions, divided by the longest autocorrelation time among
the log-probability of the history and three random functions of the deal. The trace has at least 50 times that length.
The peer of RingSwap is the same chain run by the interpreter, with the neighbours of matrices cached beforehand. The
peer of drawn rings is RingSwap.
"""

import random
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from foglight.bench.figures import LARGE, Figure, played, rate
from foglight.policies import Biased, Uniform
from foglight.randomness import generator
from foglight.rules import PUBLIC
from foglight.state import State
from foglight.worlds.deals.chains import Chain, autocorrelation_time
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.ring_swap import _ring_swap_chain

PUBLISHED = {  # histories of a public state [Solinas2023, Table 1]: the game, and how many cards have been played
    192: ("oh_hell(players=3,suits=2,ranks=4,tricks=2)", 3),
    12_960: ("oh_hell(players=3,suits=3,ranks=4,tricks=3)", 6),
    544_320: ("oh_hell(players=3,suits=3,ranks=4,tricks=3)", 3),
}
LARGEST = max(PUBLISHED)
_TRACE, _ENOUGH = 1 << 11, 50  # states per trace, and the least number of autocorrelation times it must last
CASES = [(LARGE, 4), (LARGE, 20), ("spades", 20), ("hearts", 20)]  # game, cards played


def tasks(seconds: float = 0.5) -> list[Callable[[], list[Figure]]]:
    """The tasks, in order."""
    compared = [partial(_chains, f"{LARGEST:,} histories", partial(published, LARGEST), seconds)]
    for name, plays in CASES:
        compared.append(partial(_chains, f"{name}, {plays} played", partial(public_state, name, plays), seconds))
    memory = [partial(_memory, partial(published, size)) for size in PUBLISHED]
    memory.append(partial(_memory, partial(public_state, LARGE, 4)))
    return [partial(_exact, seconds), partial(_transitions, seconds), *compared, _enumeration, *memory]


def public_state(name: str, plays: int, size: int | None = None) -> State:
    """A random position after `plays` cards; with a `size`, one whose public state has this many histories."""
    rng = random.Random(1)
    while True:
        state = played(name, plays, rng)
        if size is None or _filter(state).count() == size:
            return state


def published(size: int) -> State:
    """A position of the paper's public state with this many histories."""
    return public_state(*PUBLISHED[size], size)


def _filter(state: State, policy: Any = None) -> DealFilter:
    return DealFilter(state.game, state.observations(PUBLIC), PUBLIC, policy)


def _exact(seconds: float) -> list[Figure]:
    puzzle, stream = _filter(public_state(LARGE, 4)).histories.puzzles[0], generator(1)
    deals = rate(lambda n: puzzle.deals.draw(n, stream), seconds)
    return [Figure(f"exact uniform deals, {LARGE}, 4 played", deals, "/s", at_least=300_000)]


def _transitions(seconds: float) -> list[Figure]:
    chain = _filter(published(LARGEST), Uniform()).chain()
    ours = rate(chain.run, seconds)
    plain = rate(partial(_interpreted, chain), seconds)
    what = f"RingSwap transitions, {LARGEST:,} histories, uniform policy"
    return [Figure(what, ours, "/s", "interpreted", plain, at_least=100_000, times=100)]


def _interpreted(chain: Chain, n: int) -> None:
    out = (np.empty((n, len(chain.deal)), np.int64), np.empty((n, *chain.pattern.shape), np.int64), np.empty(n))
    _ring_swap_chain.py_func(*chain._arguments, chain.deal, chain.pattern, chain.weight, 1, out)


def _chains(name: str, position: Callable[[], State], seconds: float) -> list[Figure]:
    """Effective samples per second of drawn rings and of RingSwap, under two policies."""
    figures, state = [], position()
    for policy in (Uniform(), Biased(0.7)):
        drawn, ring_swap = (_effective(_filter(state, policy).chain(swaps=swaps), seconds) for swaps in (True, False))
        what = f"effective samples by drawn rings, {name}, {type(policy).__name__.lower()} policy"
        figures.append(Figure(what, drawn, "/s", "RingSwap", ring_swap))
    return figures


def _effective(chain: Chain, seconds: float) -> float | None:
    """Effective samples per second; None if they cannot be measured.

    That is so if the chain stands still, if no trace within the time is long enough, or if RingSwap gave up because a
    matrix has too many neighbours to list.
    """
    swaps, transitions, thin, spent = chain.swaps, rate(chain.run, seconds), 1, 0.0
    while spent < 8 * seconds:
        begin = time.perf_counter()
        trace = chain.statistics(*chain.run(_TRACE, thin))
        spent = time.perf_counter() - begin
        longest = max(autocorrelation_time(column) for column in trace.T)
        if chain.swaps != swaps:
            return None
        if np.ptp(trace, axis=0).all() and _ENOUGH * longest <= _TRACE:
            return transitions / (thin * longest)
        thin *= 2
    return None


def _enumeration() -> list[Figure]:
    """The time to enumerate a public state: the second run counts, with kernels loaded and a new filter."""
    state = published(LARGEST)
    for _ in range(2):
        begin = time.perf_counter()
        listed = sum(len(weights) for _, weights, _ in _filter(state, Uniform()).batches())
        seconds = time.perf_counter() - begin
    return [Figure(f"enumeration of {listed:,} histories with reach probabilities", seconds, " s", at_most=2.0)]


def _memory(position: Callable[[], State]) -> list[Figure]:
    """The peak memory of making a filter and running its chain for 1000 transitions."""
    state = position()
    histories = _filter(state).count()
    _filter(state, Uniform()).chain().run(1000)
    tracemalloc.start()
    _filter(state, Uniform()).chain().run(1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    many = f"{histories:,}" if histories < 10**9 else f"{float(histories):.0e}"
    return [Figure(f"memory of the Gibbs sampler, {many} histories", peak / 1e6, " MB")]
