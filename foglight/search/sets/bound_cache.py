"""The queue of useful sets: bounds found for some sets of worlds bound the values of others [Bernardoni2019].

The value of a set is what the seat can guarantee in all of its worlds, so that

    X is a subset of q    v(X) >= v(q)    a superset bounds from below
    q is a subset of X    v(X) <= v(q)    a subset bounds from above

The two formulas in Section 6 of the paper have it the other way round. Where a set is almost a subset of the other, the
bound still holds if the worst world of the smaller set is in both. If every world is equally likely to be the worst
one, the probabilities are

    q bounds X from below    |X and q| / |X|
    q bounds X from above    |X and q| / |q|

A bound is used if its probability is at least `threshold`. The number of worlds in both sets is counted if q has at
most `k` worlds. Otherwise it is estimated from signatures (`sketches.py`), after `caution` standard errors are
subtracted from J. Only one thing matters: whether the largest lower bound reaches beta, or the smallest upper bound
alpha. So the first entry that does so ends the lookup. Each set has a mask of 64 bits, one for each value of six bits
of its hashes. Bits that only one of two sets has are worlds that they do not share, which rules out most entries at
once.

Only sets with the same number of turns left are compared; each number has its own queue. An entry has a value or one
bound, as alpha-beta left it. The identity of a set is the sum of its hashes. Count Sketch estimates how often each
identity has been useful: once when the set was searched, and once for every bound that it gave. The queue keeps the
most useful sets. An old entry gives way to a new one of the same frequency. Frequencies are halved when a new root
action begins. A single world is looked up by identity only, since to search it costs hardly more than a pass through
the queue.

`parts` are our addition. A few worlds of a set make each action as bad as it is, and the set of these worlds alone has
no higher value than the whole set. So an upper bound is stored for these worlds only, and applies to many more sets.
They also stand at the front of their set: the next action is first played in these worlds, and if the classes that
follow are known to be bad enough, the other worlds are not needed.

With `exact`, only true containment counts, in sets of up to `k` worlds; larger sets are found only if they are
identical.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.bits import bit, count
from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.search.sets.sketches import CountSketch, bottom, count_once, count_sketch, estimate, shared, similarity

NONE, SAME, LOWER, UPPER = 0, 1, 2, 3  # results of a lookup
NOWHERE = -1  # in place of an index
_ROUNDING = 1e-9
_FEW = 32  # entries among which the one to drop is chosen
LOOKED, FOUND_SAME, FOUND_LOWER, FOUND_UPPER, STORED, DROPPED, COMPARED = range(7)  # places of the tally
_AT_LEAST, _AT_MOST = range(2)  # columns of the bounds
_ENTRIES, _OLDEST = range(2)  # columns of `held`: entries in the queue, and the place of the oldest
PARTS, _CERTAIN = range(2)  # places of `about`: 1 if parts of sets are kept, 1 if containment must be certain
_THRESHOLD, _CAUTION, _EXPECTED_WRONG = range(3)  # places of `odds`: two options, expected number of wrong bounds used


class BoundCache(NamedTuple):
    """A queue of `size` sets for each number of turns left; slot = size * turns + place."""

    identities: np.ndarray  # uint64[slots]
    sizes: np.ndarray  # int64[slots]
    masks: np.ndarray  # uint64[slots]: bit b is set if the last six bits of some hash are b
    bounds: np.ndarray  # float64[slots, 2]: _AT_LEAST, _AT_MOST
    uses: np.ndarray  # int64[slots]: how often the entry was useful, by Count Sketch
    held: np.ndarray  # int64[turns + 1, 2]: _ENTRIES, _OLDEST
    signatures: np.ndarray  # uint64[slots, k]
    places: np.ndarray  # int64[a power of 2]: by identity, its slot, or that of another set
    frequencies: CountSketch
    fresh: np.ndarray  # uint64[k]: the signature of the set looked up or stored
    about: np.ndarray  # int64[2]: PARTS, _CERTAIN
    odds: np.ndarray  # float64[3]: _THRESHOLD, _CAUTION, _EXPECTED_WRONG
    tally: np.ndarray  # int64[7]: places LOOKED to COMPARED


def bound_cache(
    turns: int,
    *,
    size: int = 512,
    k: int = 32,
    threshold: float = 0.9,
    caution: float = 1.0,
    exact: bool = False,
    parts: bool = True,
) -> BoundCache:
    """An empty cache for searches of at most so many turns."""
    if not 0.0 < threshold <= 1.0:
        raise BadInput(f"threshold must be above 0 and at most 1, not {threshold}")
    if size < 1 or k < 1:
        raise BadInput(f"a cache needs room for at least 1 set and signatures of at least 1, not {size} and {k}")
    slots = (turns + 1) * size
    return BoundCache(
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.uint64),
        np.zeros((slots, 2)),
        np.zeros(slots, np.int64),
        np.zeros((turns + 1, 2), np.int64),
        np.zeros((slots, k), np.uint64),
        np.zeros(1 << (4 * slots - 1).bit_length(), np.int64),
        count_sketch(max(1024, 4 * size)),
        np.zeros(k, np.uint64),
        np.array([int(parts), int(exact)]),
        np.array([1.0 if exact else threshold, caution, 0.0]),
        np.zeros(7, np.int64),
    )


def halve(cache: BoundCache) -> None:
    """Halve all frequencies, so that the usefulness for earlier root actions counts half."""
    _halve(cache)


@kernel
def _halve(cache):
    counters = cache.frequencies.counters
    for row in range(counters.shape[0]):
        for i in range(counters.shape[1]):
            counters[row, i] = (counters[row, i] + (counters[row, i] < 0)) >> 1  # towards 0
    for slot in range(len(cache.uses)):
        cache.uses[slot] >>= 1


@jitable
def look(cache, table, mark, turns, hashes, begin, end, identity, alpha, beta):
    """Look up a bound that ends the search of the set `hashes[begin:end]`.

    Returns SAME, LOWER, UPPER or NONE; the bound; and the slot it comes from. `table` is a hash table in which no other
    set has the same mark. After UPPER, it holds the set.
    """
    cache.tally[LOOKED] += 1
    n, k, room = end - begin, len(cache.fresh), len(cache.identities) // len(cache.held)
    slot = cache.places[identity & uint64(len(cache.places) - 1)]
    if cache.identities[slot] == identity and cache.sizes[slot] == n and slot // room == turns:
        low, high = cache.bounds[slot, _AT_LEAST], cache.bounds[slot, _AT_MOST]
        if low == high or low >= beta or high <= alpha:
            _used(cache, slot)
            cache.tally[FOUND_SAME] += 1
            return SAME, low if low == high or low >= beta else high, slot
    if n == 1:
        return NONE, 0.0, -1
    certain, least = cache.about[_CERTAIN] == 1, cache.odds[_THRESHOLD] - _ROUNDING
    mask, spare = _mask(hashes, begin, end), 1.0 - least
    length = -1  # of the signature, once it is needed
    for slot in range(room * turns, room * turns + cache.held[turns, _ENTRIES]):
        low, high, size = cache.bounds[slot, _AT_LEAST], cache.bounds[slot, _AT_MOST], cache.sizes[slot]
        from_below = low >= beta and size >= least * n and count(mask & ~cache.masks[slot]) <= spare * n
        from_above = high <= alpha and n >= least * size and count(cache.masks[slot] & ~mask) <= spare * size
        if not (from_below or from_above) or (certain and size > k):
            continue
        cache.tally[COMPARED] += 1
        if length == -1:
            length = 0 if certain else bottom(hashes, begin, end, cache.fresh)
            _enter(hashes, begin, end, table, mark)
        both = 0.0
        if size <= k:
            for i in range(size):
                both += find(hashes, begin, cache.signatures[slot, i], table, mark) != NOWHERE
        else:
            alike, _ = similarity(cache.fresh, length, n, cache.signatures[slot], k, size, k)
            alike = max(0.0, alike - cache.odds[_CAUTION] * np.sqrt(alike * (1.0 - alike) / k))
            both = shared(alike, n, size)
        if from_below and both >= least * n:
            _used(cache, slot)
            cache.tally[FOUND_LOWER] += 1
            cache.odds[_EXPECTED_WRONG] += max(0.0, 1.0 - both / n)
            return LOWER, low, slot
        if from_above and both >= least * size:
            _used(cache, slot)
            cache.tally[FOUND_UPPER] += 1
            cache.odds[_EXPECTED_WRONG] += max(0.0, 1.0 - both / size)
            return UPPER, high, slot
    return NONE, 0.0, -1


@jitable
def _enter(hashes, begin, end, table, mark):
    """Enter the index of each member in the table, under this mark."""
    mask = uint64(len(table) - 1)
    for i in range(begin, end):
        slot = hashes[i] & mask
        while table[slot] >> 32 == mark:
            slot = (slot + uint64(1)) & mask
        table[slot] = mark << 32 | (i - begin)


@jitable
def find(hashes, begin, member, table, mark):
    """The index of a member of the set that `_enter` has entered, or NOWHERE."""
    mask = uint64(len(table) - 1)
    slot = member & mask
    while table[slot] >> 32 == mark:
        i = table[slot] & 0xFFFFFFFF
        if hashes[begin + i] == member:
            return i
        slot = (slot + uint64(1)) & mask
    return NOWHERE


@jitable
def _mask(hashes, begin, end):
    """The mask of a set: one bit for each value of the last six bits of its hashes."""
    mask = uint64(0)
    for i in range(begin, end):
        mask |= bit(hashes[i] & uint64(63))
    return mask


@jitable
def _used(cache, slot):
    """Count one more use of an entry."""
    count_once(cache.frequencies, cache.identities[slot])
    cache.uses[slot] = estimate(cache.frequencies, cache.identities[slot])


@jitable
def keep(cache, turns, hashes, begin, end, identity, low, high):
    """Store the result of a search: the value of the set lies from `low` to `high`."""
    n, room = end - begin, len(cache.identities) // len(cache.held)
    place = identity & uint64(len(cache.places) - 1)
    slot = cache.places[place]
    count_once(cache.frequencies, identity)
    uses = estimate(cache.frequencies, identity)
    if cache.identities[slot] == identity and cache.sizes[slot] == n and slot // room == turns:
        cache.bounds[slot, _AT_LEAST] = max(cache.bounds[slot, _AT_LEAST], low)
        cache.bounds[slot, _AT_MOST] = min(cache.bounds[slot, _AT_MOST], high)
        cache.uses[slot] = uses
        return
    slot = room * turns + cache.held[turns, _ENTRIES]
    if cache.held[turns, _ENTRIES] < room:
        cache.held[turns, _ENTRIES] += 1
    else:
        slot = _least_useful(cache, turns, room)
        if cache.uses[slot] > uses:
            return
        cache.tally[DROPPED] += 1
    cache.tally[STORED] += 1
    cache.places[place] = slot
    cache.identities[slot], cache.sizes[slot], cache.uses[slot] = identity, n, uses
    cache.bounds[slot, _AT_LEAST], cache.bounds[slot, _AT_MOST] = low, high
    cache.masks[slot] = _mask(hashes, begin, end)
    for i in range(bottom(hashes, begin, end, cache.fresh)):
        cache.signatures[slot, i] = cache.fresh[i]


@jitable
def _least_useful(cache, turns, room):
    """The least useful of the next few entries, oldest first."""
    first, at = room * turns, cache.held[turns, _OLDEST]
    least = first + at
    for _ in range(min(room, _FEW)):
        if cache.uses[first + at] < cache.uses[least]:
            least = first + at
        at = at + 1 if at + 1 < room else 0
    cache.held[turns, _OLDEST] = least - first + 1 if least - first + 1 < room else 0
    return least


# From Python ----------------------------------------------------------------------------------------------------


def ask(cache: BoundCache, turns: int, hashes: np.ndarray, alpha: float, beta: float) -> tuple[int, float]:
    """`look` for a set of hashes, from Python: the result and the bound."""
    table = np.zeros(1 << (2 * len(hashes)).bit_length(), np.int64)
    result, bound, _ = _ask(cache, table, turns, hashes, alpha, beta)
    return int(result), float(bound)


def tell(cache: BoundCache, turns: int, hashes: np.ndarray, low: float, high: float) -> None:
    """`keep` for a set of hashes, from Python."""
    _tell(cache, turns, hashes, low, high)


@jitable
def identity_of(hashes, begin, end):
    """The sum of all hashes, whatever their order; never 0."""
    total = uint64(0)
    for i in range(begin, end):
        total += hashes[i]
    return total | uint64(1)


@kernel
def _ask(cache, table, turns, hashes, alpha, beta):
    return look(cache, table, 1, turns, hashes, 0, len(hashes), identity_of(hashes, 0, len(hashes)), alpha, beta)


@kernel
def _tell(cache, turns, hashes, low, high):
    keep(cache, turns, hashes, 0, len(hashes), identity_of(hashes, 0, len(hashes)), low, high)


def counts(cache: BoundCache) -> dict[str, Any]:
    """The counters of lookups, results and entries, by name."""
    names = ("looked", "same", "lower", "upper", "stored", "dropped", "compared")
    return dict(zip(names, cache.tally.tolist(), strict=True)) | {"expected_wrong": float(cache.odds[_EXPECTED_WRONG])}
