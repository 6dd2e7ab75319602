"""The queue of useful sets: what was found of some sets of worlds bounds the values of others [Bernardoni2019].

The value of a set is what the seat can be sure of in all of its worlds, so that

    X is part of q    v(X) >= v(q)    a superset bounds from below
    q is part of X    v(X) <= v(q)    a subset bounds from above

The two formulas of the paper's Section 6 have it the other way round. Where a set is not quite part of the other, the
bound still holds if the worst world of the smaller one is in both. If every world is as likely to be that one, the odds
are

    q bounds X from below    |X and q| / |X|
    q bounds X from above    |X and q| / |q|

and the bound is used from `threshold` on. How many worlds are in both is counted where q has at most `k`, and otherwise
estimated from signatures (`sketches.py`), `caution` standard errors taken off J. Of the queue, what matters is whether
the largest lower bound reaches beta or the smallest upper bound alpha; so the first entry that does so ends the look. A
set has a mask of 64 bits, one for each value of six bits of its hashes; bits that only one of two sets has are worlds
that they do not share, which rules most entries out at once.

Only sets with the same number of turns left are compared, each number has a queue of its own. An entry has a value or
one bound, as alpha-beta left it. The queue keeps those whose identity, a sum of hashes, has been useful most often as
far as Count Sketch can tell: once when the set was searched, once for every bound that it gave. An old entry gives way
to a new one of the same frequency. When a new root action begins, frequencies are halved. A single world is looked for
as such only; searching it costs hardly more than going through the queue.

`parts` are ours. The worlds that made each action of a set as bad as it is are few, and alone are worth no more than
the set; so an upper bound is kept of these worlds only, and applies to many more sets. They also stand at the front of
their set: before the next action is played in all worlds it is played in these, and if what follows is known to be
bad enough, that is all.

With `exact`, only true containment counts, in sets of up to `k` worlds; larger ones are found if they are identical.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.bits import bit, count
from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.search.sets.sketches import CountSketch, bottom, count_once, count_sketch, estimate, shared, similarity

NONE, SAME, LOWER, UPPER = 0, 1, 2, 3  # what a look has found
NOWHERE = -1
_ROUNDING = 1e-9
_FEW = 32  # entries among which one is chosen to give way
LOOKED, FOUND_SAME, FOUND_LOWER, FOUND_UPPER, STORED, DROPPED, COMPARED = range(7)  # places of the tally


class BoundCache(NamedTuple):
    """A queue of `size` sets for each number of turns left; slot = size * turns + place."""

    identities: np.ndarray  # uint64[slots]
    sizes: np.ndarray  # int64[slots]
    masks: np.ndarray  # uint64[slots]: the last six bits of the hashes that occur
    bounds: np.ndarray  # float64[slots, 2]: at least, at most
    uses: np.ndarray  # int64[slots]: as Count Sketch has it
    held: np.ndarray  # int64[turns + 1, 2]: entries, and the next to give way among equals
    signatures: np.ndarray  # uint64[slots, k]
    places: np.ndarray  # int64[a power of 2]: by identity, its slot, or that of another one
    frequencies: CountSketch
    fresh: np.ndarray  # uint64[k]: the signature of the set in question
    about: np.ndarray  # int64[2]: whether parts of sets are kept; whether containment must be certain
    odds: np.ndarray  # float64[3]: threshold, caution, the sum of the odds that a used bound is wrong
    tally: np.ndarray  # int64[7]


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
    """What was useful to earlier root actions counts half."""
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
    """What is known of the set of `hashes[begin:end]`: a bound that ends its search, and the slot that it is from.

    SAME, LOWER or UPPER; or NONE. `table` is room for open addressing, which no other set has marked so: if UPPER, the
    set is in it.
    """
    cache.tally[LOOKED] += 1
    n, k, room = end - begin, len(cache.fresh), len(cache.identities) // len(cache.held)
    slot = cache.places[identity & uint64(len(cache.places) - 1)]
    if cache.identities[slot] == identity and cache.sizes[slot] == n and slot // room == turns:
        low, high = cache.bounds[slot, 0], cache.bounds[slot, 1]
        if low == high or low >= beta or high <= alpha:
            _used(cache, slot)
            cache.tally[FOUND_SAME] += 1
            return SAME, low if low == high or low >= beta else high, slot
    if n == 1:
        return NONE, 0.0, -1
    certain, least = cache.about[1] == 1, cache.odds[0] - _ROUNDING
    mask, spare = _mask(hashes, begin, end), 1.0 - least
    held = -1  # of the signature, once it is needed
    for slot in range(room * turns, room * turns + cache.held[turns, 0]):
        low, high, size = cache.bounds[slot, 0], cache.bounds[slot, 1], cache.sizes[slot]
        from_below = low >= beta and size >= least * n and count(mask & ~cache.masks[slot]) <= spare * n
        from_above = high <= alpha and n >= least * size and count(cache.masks[slot] & ~mask) <= spare * size
        if not (from_below or from_above) or (certain and size > k):
            continue
        cache.tally[COMPARED] += 1
        if held == -1:
            held = 0 if certain else bottom(hashes, begin, end, cache.fresh)
            _enter(hashes, begin, end, table, mark)
        both = 0.0
        if size <= k:
            for i in range(size):
                both += find(hashes, begin, cache.signatures[slot, i], table, mark) != NOWHERE
        else:
            alike, _ = similarity(cache.fresh, held, n, cache.signatures[slot], k, size, k)
            alike = max(0.0, alike - cache.odds[1] * np.sqrt(alike * (1.0 - alike) / k))
            both = shared(alike, n, size)
        if from_below and both >= least * n:
            _used(cache, slot)
            cache.tally[FOUND_LOWER] += 1
            cache.odds[2] += max(0.0, 1.0 - both / n)
            return LOWER, low, slot
        if from_above and both >= least * size:
            _used(cache, slot)
            cache.tally[FOUND_UPPER] += 1
            cache.odds[2] += max(0.0, 1.0 - both / size)
            return UPPER, high, slot
    return NONE, 0.0, -1


@jitable
def _enter(hashes, begin, end, table, mark):
    """Note the place of each member in a table of its own mark."""
    mask = uint64(len(table) - 1)
    for i in range(begin, end):
        slot = hashes[i] & mask
        while table[slot] >> 32 == mark:
            slot = (slot + uint64(1)) & mask
        table[slot] = mark << 32 | (i - begin)


@jitable
def find(hashes, begin, member, table, mark):
    """The place of a member of the set that `_enter` has noted, or NOWHERE."""
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
    found = uint64(0)
    for i in range(begin, end):
        found |= bit(hashes[i] & uint64(63))
    return found


@jitable
def _used(cache, slot):
    count_once(cache.frequencies, cache.identities[slot])
    cache.uses[slot] = estimate(cache.frequencies, cache.identities[slot])


@jitable
def keep(cache, turns, hashes, begin, end, identity, low, high):
    """Take in what a search has found of a set: its value lies from `low` to `high`."""
    n, room = end - begin, len(cache.identities) // len(cache.held)
    place = identity & uint64(len(cache.places) - 1)
    slot = cache.places[place]
    count_once(cache.frequencies, identity)
    uses = estimate(cache.frequencies, identity)
    if cache.identities[slot] == identity and cache.sizes[slot] == n and slot // room == turns:
        cache.bounds[slot, 0] = max(cache.bounds[slot, 0], low)
        cache.bounds[slot, 1] = min(cache.bounds[slot, 1], high)
        cache.uses[slot] = uses
        return
    slot = room * turns + cache.held[turns, 0]
    if cache.held[turns, 0] < room:
        cache.held[turns, 0] += 1
    else:
        slot = _least_useful(cache, turns, room)
        if cache.uses[slot] > uses:
            return
        cache.tally[DROPPED] += 1
    cache.tally[STORED] += 1
    cache.places[place] = slot
    cache.identities[slot], cache.sizes[slot], cache.uses[slot] = identity, n, uses
    cache.bounds[slot, 0], cache.bounds[slot, 1] = low, high
    cache.masks[slot] = _mask(hashes, begin, end)
    for i in range(bottom(hashes, begin, end, cache.fresh)):
        cache.signatures[slot, i] = cache.fresh[i]


@jitable
def _least_useful(cache, turns, room):
    """Of the next few entries, oldest first, the one that was useful least often."""
    first, at = room * turns, cache.held[turns, 1]
    found = first + at
    for _ in range(min(room, _FEW)):
        if cache.uses[first + at] < cache.uses[found]:
            found = first + at
        at = at + 1 if at + 1 < room else 0
    cache.held[turns, 1] = found - first + 1 if found - first + 1 < room else 0
    return found


# From Python ----------------------------------------------------------------------------------------------------


def ask(cache: BoundCache, turns: int, hashes: np.ndarray, alpha: float, beta: float) -> tuple[int, float]:
    """What `look` finds of a set of hashes."""
    table = np.zeros(1 << (2 * len(hashes)).bit_length(), np.int64)
    found, bound, _ = _ask(cache, table, turns, hashes, alpha, beta)
    return int(found), float(bound)


def tell(cache: BoundCache, turns: int, hashes: np.ndarray, low: float, high: float) -> None:
    """Store a set of hashes."""
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
    """What has been looked for, found and kept."""
    names = ("looked", "same", "lower", "upper", "stored", "dropped", "compared")
    return dict(zip(names, cache.tally.tolist(), strict=True)) | {"expected_wrong": float(cache.odds[2])}
