"""Sketches of sets against the sets, and against Apache DataSketches; the cache that lives on them against none."""

import itertools
import random

import numpy as np
import pytest

from foglight.blind_chess.leaves import Centipawns
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import mix
from foglight.rules import TERMINAL, step
from foglight.search.sets import bound_cache
from foglight.search.sets.bound_cache import LOWER, NONE, SAME, UPPER, ask, tell
from foglight.search.sets.search import SetSearch
from foglight.search.sets.sketches import count_once, count_sketch, estimate, jaccard, median, shared, signature
from foglight.state import new_state
from foglight.tables import row_hash


@kernel
def add(sketch, things):
    for thing in things:
        count_once(sketch, thing)


@kernel
def frequency(sketch, thing):
    return estimate(sketch, thing)


def members(*numbers):
    """Different hashes for different numbers."""
    return np.array([row_hash(np.array([n], np.uint64), 1, True) for n in numbers], np.uint64)


def pair(rng, first, second, both):
    """Two sets of those sizes that share so many members."""
    drawn = np.unique(rng.integers(0, 2**64, 2 * (first + second), dtype=np.uint64))
    rng.shuffle(drawn)
    return drawn[:first], np.concatenate([drawn[:both], drawn[first : first + second - both]])


def test_a_signature_is_the_smallest_hashes():
    hashes = np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64)
    for k in (1, 2, 31, 4999, 5000, 9000):
        assert signature(hashes, k).tolist() == np.sort(hashes)[:k].tolist()


def test_jaccard_of_whole_sets_is_exact():
    rng = np.random.default_rng(1)
    for _ in range(50):
        n, m = rng.integers(1, 30, 2)
        both = int(rng.integers(0, min(n, m) + 1))
        a, b = pair(rng, n, m, both)
        alike = jaccard(signature(a, 32), n, signature(b, 32), m, 32)
        assert alike == both / (n + m - both)
        assert shared(alike, n, m) == pytest.approx(both)


def test_empty_sets_are_alike_and_nothing_is_shared_beyond_the_smaller_set():
    nothing = np.zeros(0, np.uint64)
    assert jaccard(nothing, 0, nothing, 0, 8) == 1.0
    assert jaccard(nothing, 0, members(1, 2), 2, 8) == 0.0
    assert shared(0.9, 10, 100) == 10  # 0.9 * 110 / 1.9 would be 52
    assert shared(0.5, 30, 60) == 30.0 == 0.5 * 90 / 1.5


def test_a_frequency_is_the_median_of_five_rows():
    """In a sketch so narrow that nearly everything collides, beside counters kept in a dictionary."""
    sketch, counters, rng = count_sketch(3), {}, np.random.default_rng(8)
    assert sketch.counters.shape == (5, 4)

    def places(thing):
        code = int(thing)
        for row in range(5):
            code = int(mix(code ^ (row + 1)))
            yield (row, code % 4), -1 if code >> 63 else 1

    things = rng.integers(0, 2**64, 30, dtype=np.uint64)
    for thing in rng.choice(things, 400):
        add(sketch, np.array([thing]))
        for place, sign in places(thing):
            counters[place] = counters.get(place, 0) + sign
    for thing in things:
        assert frequency(sketch, thing) == sorted(sign * counters.get(place, 0) for place, sign in places(thing))[2]
    assert len({frequency(sketch, thing) for thing in things}) > 5


def test_the_overlap_of_equal_sets_is_their_size():
    # the paper's J (|A| + |B|) / (1 - J) would divide by 0 here
    assert shared(1.0, 70, 70) == 70


@pytest.mark.parametrize(
    ("first", "second", "both"), [(1000, 1000, 900), (2000, 500, 450), (800, 800, 80), (300, 90, 0)]
)
def test_jaccard_of_large_sets_is_near_the_truth(first, second, both):
    # the share of k draws without replacement has at most the variance J (1 - J) / k of draws with it; the mean of 400
    # estimates is within 4.5 standard errors but for 7 of a million runs
    rng, k, runs, truth = np.random.default_rng(2), 64, 400, both / (first + second - both)
    found = []
    for _ in range(runs):
        a, b = pair(rng, first, second, both)
        found.append(jaccard(signature(a, k), first, signature(b, k), second, k))
    error = np.sqrt(truth * (1 - truth) / k)
    assert abs(np.mean(found) - truth) <= 4.5 * error / np.sqrt(runs)
    assert np.std(found) <= 1.2 * error


def test_jaccard_agrees_with_apache_datasketches():
    # both are within 5 standard errors of the truth but for one of a million runs each
    datasketches = pytest.importorskip("datasketches")
    rng, k = np.random.default_rng(3), 1024
    for both in (0, 500, 4000, 9000):
        a, b = pair(rng, 10_000, 10_000, both)
        theirs = []
        for numbers in (a, b):
            sketch = datasketches.update_theta_sketch(10)
            for number in numbers.tolist():
                sketch.update(number >> 1)
            theirs.append(sketch)
        low, estimate, high = datasketches.theta_jaccard_similarity.jaccard(*theirs)
        ours, truth = jaccard(signature(a, k), len(a), signature(b, k), len(b), k), both / (20_000 - both)
        error = np.sqrt(truth * (1 - truth) / k)
        assert abs(ours - truth) <= 5 * error
        assert abs(estimate - truth) <= 5 * error
        assert low <= truth <= high


def test_the_median_of_five():
    for five in itertools.product(range(4), repeat=5):
        assert median(*five) == sorted(five)[2]


def test_count_sketch_finds_what_comes_often():
    # 20 things come 500 times, 5000 come once: with 4096 counters a row is off by about 1.1, and by 40 never
    rng = np.random.default_rng(4)
    often, once = members(*range(20)), members(*range(100, 5100))
    stream = np.concatenate([np.repeat(often, 500), once])
    rng.shuffle(stream)
    sketch = count_sketch(4096)
    add(sketch, stream)
    assert all(abs(frequency(sketch, thing) - 500) <= 40 for thing in often)
    assert np.mean([abs(frequency(sketch, thing) - 1) for thing in once]) < 2


def test_count_sketch_agrees_with_apache_datasketches():
    # theirs is Count-Min, which never says too little; ours is on both sides of the truth
    datasketches = pytest.importorskip("datasketches")
    rng = np.random.default_rng(5)
    things = members(*range(300))
    stream = rng.choice(things, 20_000, p=(shares := 1 / np.arange(1, 301)) / shares.sum())
    theirs = datasketches.count_min_sketch(5, 4096)
    sketch = count_sketch(4096)
    add(sketch, stream)
    for number in stream.tolist():
        theirs.update(number >> 1)
    for thing in things[:20].tolist():
        truth = int((stream == np.uint64(thing)).sum())
        assert abs(frequency(sketch, np.uint64(thing)) - truth) <= 100
        assert truth <= theirs.get_estimate(thing >> 1) <= truth + 100


# The cache ------------------------------------------------------------------------------------------------------


def test_a_superset_bounds_from_below_and_a_subset_from_above():
    few, some, many = members(1, 2), members(*range(1, 8)), members(*range(1, 20))
    cache = bound_cache.bound_cache(3, exact=True)
    tell(cache, 2, some, 10.0, 10.0)
    assert ask(cache, 2, few, 0.0, 5.0) == (LOWER, 10.0)
    assert ask(cache, 2, many, 20.0, 30.0) == (UPPER, 10.0)
    assert ask(cache, 2, some, 0.0, 30.0) == (SAME, 10.0)


def test_bounds_that_end_no_search_and_other_turns_are_passed_over():
    cache = bound_cache.bound_cache(3, exact=True)
    tell(cache, 2, members(1, 2, 3), 10.0, 10.0)
    assert ask(cache, 2, members(1, 2), 0.0, 30.0)[0] == NONE
    assert ask(cache, 2, members(1, 2, 3, 4), 0.0, 30.0)[0] == NONE
    assert ask(cache, 1, members(1, 2), 0.0, 5.0)[0] == NONE
    assert ask(cache, 2, members(1, 2, 4), 0.0, 5.0)[0] == NONE


def test_the_threshold_says_how_much_must_be_shared():
    q, x = members(*range(10)), members(*range(1, 10), 50)  # nine of ten are in both
    for threshold, found in ((0.85, LOWER), (0.9, LOWER), (0.95, NONE)):
        cache = bound_cache.bound_cache(1, threshold=threshold)
        tell(cache, 1, q, 10.0, 10.0)
        assert ask(cache, 1, x, 0.0, 5.0)[0] == found
    cache = bound_cache.bound_cache(1, threshold=0.9)
    tell(cache, 1, q, 10.0, 10.0)
    ask(cache, 1, x, 0.0, 5.0)
    assert bound_cache.counts(cache)["expected_wrong"] == pytest.approx(0.1)


def test_what_was_useful_stays_in_a_full_queue():
    cache = bound_cache.bound_cache(1, size=4, exact=True)
    sets = [members(2 * n, 2 * n + 1) for n in range(40)]
    tell(cache, 1, sets[0], 10.0, 10.0)
    for _ in range(5):
        assert ask(cache, 1, sets[0], 20.0, 30.0)[0] == SAME
    for one in sets[1:]:
        tell(cache, 1, one, 10.0, 10.0)
    known = [i for i, one in enumerate(sets) if ask(cache, 1, one, 20.0, 30.0)[0] != NONE]
    assert len(known) == 4
    assert known[0] == 0
    counts = bound_cache.counts(cache)
    assert counts["stored"] - counts["dropped"] == 4


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(BadInput, match="threshold must be"):
        bound_cache.bound_cache(1, threshold=0.0)
    with pytest.raises(BadInput, match="room for at least 1"):
        bound_cache.bound_cache(1, size=0)
    with pytest.raises(BadInput, match="mode must be one of"):
        SetSearch(load_game("rbc"), 1, turns=1, mode="fast")


def searched(game, seat, rows, turns, mode, **options):
    return SetSearch(game, seat, turns=turns, mode=mode, leaf=Centipawns(), **options).valuations(rows)


def opened(rng, plies):
    """Boards that a seat of blind chess holds possible after random moves, some of them; it has sensed."""
    state = new_state("rbc")
    for _ in range(plies):
        state.play(64)
        state.play(rng.choice(state.actions()))
        if state.player == TERMINAL:
            return opened(rng, plies)
    seat, boards = state.player, [state.world[:5].copy()]
    for _ in range(20):  # what it would be if the other had last moved otherwise
        other = new_state("rbc")
        for action in state.history()[:-1]:
            other.play(action)
        other.play(rng.choice(other.actions()))
        if other.observations(seat) == state.observations(seat):
            boards.append(other.world[:5].copy())
    for board in boards:
        step(state.game, board, 64)
    return state.game, seat, np.unique(boards, axis=0)


def test_exact_bounds_change_no_value():
    rng = random.Random(6)
    for _ in range(25):
        game, seat, rows = opened(rng, rng.randrange(2, 14))
        plain = searched(game, seat, rows, 3, "baseline")
        for options in ({}, {"parts": False}, {"size": 8}, {"k": 4}):
            exact = searched(game, seat, rows, 3, "exact", **options)
            assert exact.values == plain.values, options
            assert exact.report.expected_wrong == pytest.approx(0.0) and exact.report.used > 0
        assert exact.report.leaves <= plain.report.leaves


def test_checking_finds_no_wrong_bound_in_the_exact_mode():
    rng = random.Random(7)
    for _ in range(3):
        game, seat, rows = opened(rng, rng.randrange(2, 10))
        report = searched(game, seat, rows, 3, "exact", check=True).report
        assert report.checked == report.used > 0
        assert report.wrong == 0


def test_checking_finds_wrong_bounds_where_little_must_be_shared():
    rng = random.Random(8)
    wrong = 0
    for _ in range(2):
        game, seat, rows = opened(rng, rng.randrange(4, 14))
        report = searched(game, seat, rows, 3, "accelerated", threshold=0.3, parts=False, check=True).report
        assert report.checked == report.used
        assert report.wrong <= report.checked
        assert (report.worst > 0) == (report.wrong > 0)
        wrong += report.wrong
    assert wrong > 0


def test_the_report_counts_what_was_done():
    game, seat, rows = opened(random.Random(9), 6)
    plain = searched(game, seat, rows, 3, "baseline").report
    assert (plain.looked, plain.used, plain.stored) == (0, 0, 0)
    report = searched(game, seat, rows, 3, "accelerated").report
    assert 0 < report.used == report.same + report.lower + report.upper <= report.looked
    assert 0 <= report.dropped < report.stored
    assert 0 <= report.expected_wrong <= report.used
    assert report.nodes < plain.nodes
    assert report.summary()["used"] == report.used
