"""Random numbers for rules and kernels: SplitMix64 [Steele2014], with a state of one word that the caller owns.

A generator is `uint64[1]`. Python and compiled code draw the same numbers from the same state, so an interpreted run
repeats a compiled one. `fold` uses the same mixing as a hash: it adds one more number to a running key.
"""

import numpy as np
from numpy import uint64

from foglight.compile import compiled_twin, jitable

_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def generator(seed: int, *path: int) -> np.ndarray:
    """The generator of `seed`, or of one of its branches: every path gives an independent stream."""
    return np.random.SeedSequence(seed, spawn_key=path).generate_state(1, np.uint64)


def mix(word):
    """Scramble 64 bits; a bijection."""
    word = int(word)
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


@compiled_twin(mix)
def _mix(word):
    word = uint64(word)
    word = (word ^ (word >> uint64(30))) * uint64(_FIRST)
    word = (word ^ (word >> uint64(27))) * uint64(_SECOND)
    return word ^ (word >> uint64(31))


def fold(key, number):
    """The key of a sequence that is one number longer than the sequence of `key`; the empty sequence has key 0."""
    return mix((mix((int(key) + _GAMMA) & _MASK) ^ (int(number) & _MASK)) & _MASK)


@compiled_twin(fold)
def _fold(key, number):
    return mix(mix(uint64(key) + uint64(_GAMMA)) ^ uint64(number))


def next_word(random):
    """64 random bits."""
    state = (int(random[0]) + _GAMMA) & _MASK
    random[0] = state
    return mix(state)


@compiled_twin(next_word)
def _next_word(random):
    random[0] += uint64(_GAMMA)
    return mix(random[0])


def below(random, bound):
    """A uniform integer from 0 to bound - 1, without bias [Lemire2019]; bound is below 2^32."""
    product = (next_word(random) >> 32) * int(bound)
    if product & 0xFFFFFFFF < bound:
        reject = (1 << 32) % int(bound)
        while product & 0xFFFFFFFF < reject:
            product = (next_word(random) >> 32) * int(bound)
    return product >> 32


@compiled_twin(below)
def _below(random, bound):
    size = uint64(bound)
    product = (next_word(random) >> uint64(32)) * size
    if product & uint64(0xFFFFFFFF) < size:
        reject = uint64(1 << 32) % size
        while product & uint64(0xFFFFFFFF) < reject:
            product = (next_word(random) >> uint64(32)) * size
    return np.int64(product >> uint64(32))


def unit(random):
    """A uniform float in [0, 1)."""
    return (next_word(random) >> 11) * 2.0**-53


@compiled_twin(unit)
def _unit(random):
    return np.float64(next_word(random) >> uint64(11)) * 2.0**-53


@jitable
def weighted(random, weights, n):
    """An index below n, drawn in proportion to `weights[:n]`, which sum to 1."""
    remaining = unit(random)
    for i in range(n - 1):
        remaining -= weights[i]
        if remaining < 0.0:
            return i
    return n - 1


@jitable
def weighted_possible(random, weights, n):
    """The same where weights may be 0: an index of weight 0 is never drawn, not even by rounding."""
    i = weighted(random, weights, n)
    while i > 0 and weights[i] == 0.0:
        i -= 1
    return i


@jitable
def draw(random, pool, n):
    """Bring n members of `pool` to its front, drawn evenly and without repetition."""
    for i in range(n):
        j = i + below(random, len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]


@jitable
def first_above(sums, wanted, begin, end):
    """The first index from begin to end - 1 whose running sum is above `wanted`; end - 1 if there is none."""
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


def systematic(weights, offset, out):
    """Systematic sampling: fill `out` with indices, ascending, each in proportion to its weight.

    The weights sum to 1. Draws are evenly spaced along the running sum of the weights, and `offset`, from 0 to 1, is
    the place of each draw within its stretch. If `offset` is uniform, the expected counts are exact.
    """
    wanted = (np.arange(len(out)) + offset) / len(out)
    out[:] = np.minimum(np.searchsorted(np.cumsum(weights), wanted, "right"), len(weights) - 1)


@compiled_twin(systematic)
def _systematic(weights, offset, out):
    index, passed = 0, weights[0]
    for i in range(len(out)):
        while passed <= (i + offset) / len(out) and index + 1 < len(weights):
            index += 1
            passed += weights[index]
        out[i] = index
