"""The queue of useful sets beside a slow one that holds Python sets."""

import math
import random

import numpy as np
import pytest
from test_sketches import add, frequency, members

from foglight.search.sets import bound_cache
from foglight.search.sets.bound_cache import LOWER, NONE, SAME, UPPER, ask, halve, identity_of, keep, look, tell
from foglight.search.sets.sketches import count_sketch, jaccard, shared, signature

pytestmark = pytest.mark.plain


class SlowCache:
    """As the module's text says; sets are Python sets, and signatures are used where theirs would be."""

    def __init__(self, turns, size, k, threshold, caution, exact):
        self.size, self.k, self.exact = size, k, exact
        self.threshold, self.caution = 1.0 if exact else threshold, caution
        self.queues = {t: [None] * size for t in range(turns + 1)}
        self.next = dict.fromkeys(self.queues, 0)
        self.places, self.room = {}, 1 << (4 * (turns + 1) * size - 1).bit_length()
        self.often = count_sketch(max(1024, 4 * size))
        self.counts = dict.fromkeys(("looked", "same", "lower", "upper", "stored", "dropped", "compared"), 0)
        self.expected_wrong = 0.0

    def identity(self, numbers):
        return sum(numbers) % 2**64 | 1

    def known(self, turns, numbers):
        """The entry of this very set, unless the place of its identity has gone to another one."""
        at = self.places.get(self.identity(numbers) % self.room)
        if at is not None and at[0] == turns:
            entry = self.queues[turns][at[1]]
            if entry["identity"] == self.identity(numbers) and len(entry["set"]) == len(numbers):
                return entry
        return None

    def used(self, entry):
        add(self.often, np.array([entry["identity"]], np.uint64))
        entry["uses"] = frequency(self.often, np.uint64(entry["identity"]))

    def ask(self, turns, numbers, alpha, beta):
        self.counts["looked"] += 1
        wanted, entry = set(numbers), self.known(turns, numbers)
        if entry is not None:
            low, high = entry["low"], entry["high"]
            if low == high or low >= beta or high <= alpha:
                self.used(entry)
                self.counts["same"] += 1
                return SAME, low if low == high or low >= beta else high
        if len(wanted) == 1:
            return NONE, 0.0
        for entry in filter(None, self.queues[turns]):
            found = self.compare(entry, wanted, alpha, beta)
            if found is not None:
                return found
        return NONE, 0.0

    def compare(self, entry, wanted, alpha, beta):
        theirs, least = entry["set"], self.threshold - 1e-9
        bits, their_bits = {x % 64 for x in wanted}, {x % 64 for x in theirs}
        n, size = len(wanted), len(theirs)
        below = entry["low"] >= beta and size >= least * n and len(bits - their_bits) <= (1 - least) * n
        above = entry["high"] <= alpha and n >= least * size and len(their_bits - bits) <= (1 - least) * size
        if not (below or above) or (self.exact and size > self.k):
            return None
        self.counts["compared"] += 1
        both = len(wanted & theirs)
        if size > self.k:
            signatures = [signature(np.array(sorted(own), np.uint64), self.k) for own in (wanted, theirs)]
            alike = jaccard(signatures[0], n, signatures[1], size, self.k)
            alike = max(0.0, alike - self.caution * math.sqrt(alike * (1 - alike) / self.k))
            both = shared(alike, n, size)
        for fits, whole, name, code, bound in (
            (below, n, "lower", LOWER, entry["low"]),
            (above, size, "upper", UPPER, entry["high"]),
        ):
            if fits and both >= least * whole:
                self.used(entry)
                self.counts[name] += 1
                self.expected_wrong += max(0.0, 1 - both / whole)
                return code, bound
        return None

    def tell(self, turns, numbers, low, high):
        identity = self.identity(numbers)
        add(self.often, np.array([identity], np.uint64))
        uses, entry = frequency(self.often, np.uint64(identity)), self.known(turns, numbers)
        if entry is not None:
            entry.update(low=max(entry["low"], low), high=min(entry["high"], high), uses=uses)
            return
        queue = self.queues[turns]
        if None in queue:
            at = queue.index(None)
        else:
            order = [(self.next[turns] + i) % self.size for i in range(min(self.size, 32))]
            at = min(order, key=lambda i: queue[i]["uses"])  # the oldest of those that were least useful
            self.next[turns] = (at + 1) % self.size
            if queue[at]["uses"] > uses:
                return
            self.counts["dropped"] += 1
        self.counts["stored"] += 1
        self.places[identity % self.room] = (turns, at)
        queue[at] = {"identity": identity, "set": set(numbers), "low": low, "high": high, "uses": uses}

    def halve(self):
        counters = self.often.counters
        counters[:] = np.sign(counters) * (abs(counters) // 2)
        for queue in self.queues.values():
            for entry in filter(None, queue):
                entry["uses"] //= 2


@pytest.mark.parametrize(
    ("size", "k", "threshold", "caution", "exact"),
    [(6, 8, 0.6, 1.0, False), (40, 6, 0.5, 0.3, False), (6, 8, 0.9, 1.0, True), (40, 30, 0.8, 1.0, False)],
)
def test_the_cache_answers_as_a_slow_one_does(size, k, threshold, caution, exact):
    rng = random.Random(repr((size, k, exact)))
    options = {"size": size, "k": k, "threshold": threshold, "caution": caution, "exact": exact}
    cache, slow = bound_cache.bound_cache(2, **options), SlowCache(2, size, k, threshold, caution, exact)
    world = members(*range(60)).tolist()
    sets, found = [], {NONE: 0, SAME: 0, LOWER: 0, UPPER: 0}
    for i in range(1500):
        if sets and rng.random() < 0.7:  # a set much like one that was there
            numbers = set(rng.choice(sets[-12:]))
            numbers ^= set(rng.sample(rng.choice([world, sorted(numbers)]), rng.choice([0, 0, 1, 1])))
        else:
            numbers = set(rng.sample(world, rng.choice([1, 2, 3, 5, 8, 13, 30])))
        if not numbers:
            continue
        hashes, turns = list(numbers), rng.choice([0, 1, 2, 2, 2])
        rng.shuffle(hashes)
        alpha = rng.randrange(-4, 4)
        beta = alpha + rng.randrange(1, 4)
        own = np.array(hashes, np.uint64)
        padded = np.concatenate([members(98, 99), own, members(97)])  # in a search, sets lie side by side
        here = (padded, 2, 2 + len(own), identity_of(padded, 2, 2 + len(own)))
        if i % 2:
            answer = ask(cache, turns, own, alpha, beta)
        else:
            table = np.zeros(1 << (2 * len(own)).bit_length(), np.int64)
            answer = look(cache, table, 1, turns, *here, alpha, beta)[:2]
        assert answer == slow.ask(turns, hashes, alpha, beta)
        found[answer[0]] += 1
        if answer[0] == NONE:
            low = rng.randrange(-4, 5)
            bounds = rng.choice([(low, low), (low, math.inf), (-math.inf, low)])
            if i % 3:
                tell(cache, turns, own, *bounds)
            else:
                keep(cache, turns, *here, *bounds)
            slow.tell(turns, hashes, *bounds)
            sets.append(hashes)
        if i % 400 == 399:
            halve(cache)
            slow.halve()
        told = bound_cache.counts(cache)
        assert told.pop("expected_wrong") == pytest.approx(slow.expected_wrong)
        assert told == slow.counts
    assert min(found.values()) > 10
    assert slow.counts["dropped"] > (20 if size == 6 else 0)


def test_settings_that_make_no_sense_are_refused():
    for wrong in ({"threshold": 0.0}, {"threshold": 1.01}, {"size": 0}, {"k": 0}):
        with pytest.raises(ValueError):
            bound_cache.bound_cache(1, **wrong)
    assert bound_cache.bound_cache(1, size=1, k=1, threshold=1.0).identities.shape == (2,)
    assert bound_cache.bound_cache(1, parts=False).about.tolist() == [0, 0]
    assert bound_cache.bound_cache(1, exact=True).about.tolist() == [1, 1]
