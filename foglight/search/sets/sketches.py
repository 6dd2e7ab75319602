"""Sketches of sets: MinHash signatures [Broder1997] and Count Sketch [Charikar2002].

The members of a set are 64-bit hashes. Its signature is the k smallest of them, ascending; a set of at most k members
is its own signature, and all results are then exact. With J = |A and B| / |A or B|, estimated by the share of the k
smallest members of the union that are in both,

    |A and B| = J (|A| + |B|) / (1 + J)

The paper that we follow prints 1 - J in the denominator [Bernardoni2019, Sections 5.2 and 6], which would exceed the
sizes of both sets where they are alike.

Count Sketch has a few rows of counters. An item has one counter in each row, which it shares with other items. It adds
1 or subtracts 1 there, by its hash. The estimate of its frequency is the median of its counters, with signs undone.
"""

from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.randomness import mix

COUNTER_ROWS = 5


# Signatures -----------------------------------------------------------------------------------------------------


def signature(hashes: np.ndarray, k: int) -> np.ndarray:
    """The k smallest of distinct hashes, ascending, uint64; all of them if there are fewer."""
    out = np.empty(k, np.uint64)
    return out[: _sign(np.ascontiguousarray(hashes, np.uint64), out)]


def jaccard(first: np.ndarray, first_size: int, second: np.ndarray, second_size: int, k: int) -> float:
    """The estimate of J from two signatures of at most k hashes and the sizes of their sets."""
    return float(_compare(first, first_size, second, second_size, k)[0])


@kernel
def _sign(hashes, out):
    return bottom(hashes, 0, len(hashes), out)


@kernel
def _compare(first, first_size, second, second_size, k):
    return similarity(first, len(first), first_size, second, len(second), second_size, k)


@jitable
def bottom(hashes, begin, end, out):
    """Write the smallest of `hashes[begin:end]`, ascending, into `out`, as many as fit; returns how many."""
    k, n = len(out), 0
    for i in range(begin, end):
        code = hashes[i]
        if n < k:  # a heap, the largest on top
            at = n
            n += 1
            while at > 0 and out[(at - 1) >> 1] < code:
                out[at] = out[(at - 1) >> 1]
                at = (at - 1) >> 1
            out[at] = code
        elif code < out[0]:
            sift(out, n, code)
    for last in range(n - 1, 0, -1):
        code = out[last]
        out[last] = out[0]
        sift(out, last, code)
    return n


@jitable
def sift(heap, n, code):
    """Replace the top of a heap of n by `code`."""
    at = 0
    child = 1
    while child < n:
        if child + 1 < n and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= code:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = code


@jitable
def similarity(first, first_held, first_size, second, second_held, second_size, k):
    """The estimate of J, and whether it is exact because both signatures are whole sets."""
    whole = first_held == first_size and second_held == second_size
    i = j = seen = both = 0
    while (i < first_held or j < second_held) and (whole or seen < k):
        seen += 1
        if j == second_held or (i < first_held and first[i] < second[j]):
            i += 1
        elif i == first_held or second[j] < first[i]:
            j += 1
        else:
            both += 1
            i += 1
            j += 1
    return both / seen if seen > 0 else 1.0, whole


@jitable
def shared(alike, first_size, second_size):
    """The number of members that two sets share, from their J and sizes; at most the smaller size."""
    return min(alike * (first_size + second_size) / (1.0 + alike), float(min(first_size, second_size)))


# Frequencies ----------------------------------------------------------------------------------------------------


class CountSketch(NamedTuple):
    """Estimates how often each of very many items has occurred, from few counters."""

    counters: np.ndarray  # int64[COUNTER_ROWS, a power of 2]


def count_sketch(width: int = 4096) -> CountSketch:
    return CountSketch(np.zeros((COUNTER_ROWS, 1 << (width - 1).bit_length()), np.int64))


@jitable
def count_once(sketch, thing):
    """Count one more occurrence of an item."""
    code = uint64(thing)
    for row in range(COUNTER_ROWS):
        code = uint64(mix(code ^ uint64(row + 1)))
        place = code & uint64(sketch.counters.shape[1] - 1)
        sketch.counters[row, place] += 1 - 2 * int64(code >> uint64(63))


@jitable
def estimate(sketch, thing):
    """The estimated frequency of an item: the median over the rows."""
    code = uint64(thing)
    a = b = c = d = e = int64(0)
    for row in range(COUNTER_ROWS):
        code = uint64(mix(code ^ uint64(row + 1)))
        place = code & uint64(sketch.counters.shape[1] - 1)
        a, b, c, d, e = b, c, d, e, sketch.counters[row, place] * (1 - 2 * int64(code >> uint64(63)))
    return median(a, b, c, d, e)


@jitable
def median(a, b, c, d, e):
    a, b = min(a, b), max(a, b)
    c, d = min(c, d), max(c, d)
    low, high = max(a, c), min(b, d)  # the middle of five lies between the larger minimum and the smaller maximum
    return max(min(low, high), min(max(low, high), e))
