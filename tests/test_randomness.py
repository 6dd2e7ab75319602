"""Random numbers and bit sets: the same compiled and interpreted, right above 2^53, and really uniform."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import nth_bit
from scipy.stats import chisquare

from foglight import bits
from foglight.compile import INTERPRET_ALL, kernel
from foglight.randomness import (
    below,
    first_above,
    fold,
    generator,
    mix,
    next_word,
    systematic,
    unit,
    weighted,
    weighted_possible,
)

pytestmark = pytest.mark.plain

words = st.integers(0, 2**64 - 1)


@kernel
def _numbers(random, bound, out):
    out[0] = next_word(random)
    out[1] = below(random, bound)
    return unit(random)


@kernel
def _sets(word, n, out):
    out[0] = bits.nth(word, n)
    out[1] = bits.count(word)
    out[2] = bits.lowest(word)
    out[3] = bits.has(word, n)
    return mix(word), fold(word, n), bits.members(word, out[4:])


def test_kernels_without_a_game_are_compiled():
    _numbers(generator(0), 5, np.zeros(2, np.uint64))
    assert INTERPRET_ALL or _numbers.dispatcher.signatures


@given(words, st.integers(1, 2**32 - 1))
def test_compiled_and_interpreted_draws_agree(seed, bound):
    results = []
    for run in (_numbers, _numbers.py_func):
        random, out = np.array([seed], np.uint64), np.zeros(2, np.uint64)
        results.append((float(run(random, bound, out)), out.tolist(), random.tolist()))
    assert results[0] == results[1]


@given(words.filter(bool), st.integers(0, 63))
def test_bit_sets_agree_with_lists(number, n):
    word = np.uint64(number)
    members = [i for i in range(64) if number >> i & 1]
    rank = n % len(members)
    for run in (_sets, _sets.py_func):
        out = np.zeros(68, np.int64)
        mixed, folded, size = run(word, rank, out)
        assert out[:4].tolist() == [nth_bit(number, rank), len(members), members[0], number >> rank & 1]
        assert out[4 : 4 + size].tolist() == members
        assert (int(mixed), int(folded)) == (mix(number), fold(number, rank))


@given(words, st.integers(0, 58), st.integers(1, 5), st.data())
def test_fields_keep_their_neighbours(number, shift, width, data):
    value = data.draw(st.integers(0, 2**width - 1))
    world = np.array([0, number], np.uint64)
    bits.put(world, (1, shift, width), value)
    mask = (2**width - 1) << shift
    assert bits.get(world, (1, shift, width)) == value
    assert int(world[1]) & ~mask == number & ~mask
    assert world[0] == 0


def test_splitmix64_is_the_published_generator():
    # reference output for seed 1234567, as published with the algorithm and used by many test suites
    random = np.array([1234567], np.uint64)
    assert [int(next_word(random)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("bound", [2, 3, 7, 52])
def test_below_is_uniform(bound):
    # chi-square at 1e-6: a false alarm once in a million seeds, and the seed is fixed
    random = generator(1, bound)
    counts = np.bincount([below(random, bound) for _ in range(20_000)], minlength=bound)
    assert chisquare(counts).pvalue > 1e-6


def test_weighted_follows_its_weights():
    random, weights = generator(2), np.array([0.5, 0.3, 0.2])
    counts = np.bincount([weighted(random, weights, 3) for _ in range(20_000)])
    assert chisquare(counts, 20_000 * weights).pvalue > 1e-6  # a false alarm once in a million


def test_what_cannot_happen_is_never_drawn():
    random = generator(1)
    weights = np.array([0.0, 0.3, 0.0, 0.7 - 1e-9, 0.0])  # a little short of 1, as rounding may leave it
    assert {weighted_possible(random, weights, 5) for _ in range(1000)} == {1, 3}
    assert weighted_possible(random, np.array([0.0, 0.3, 0.0]), 3) == 1, (
        "whatever is left over goes to the last possible one"
    )
    assert weighted_possible(random, np.zeros(3), 3) == 0


@kernel
def _places(sums, wanted, begin, end, weights, offset, out):
    systematic(weights, offset, out)
    return first_above(sums, wanted, begin, end)


def test_draws_from_running_sums_are_by_their_definition():
    rng, compared = np.random.default_rng(4), 0
    for _ in range(100):
        weights, n, offset = rng.random(6), int(rng.integers(1, 20)), float(rng.random())
        weights[rng.integers(6)] = 0.0
        weights /= weights.sum()
        sums, begin = np.cumsum(weights), int(rng.integers(6))
        end, wanted = int(rng.integers(begin + 1, 7)), float(rng.choice([rng.random(), sums[rng.integers(6)]]))
        places = [next((i for i in range(6) if sums[i] > (j + offset) / n), 5) for j in range(n)]
        first = next((i for i in range(begin, end) if sums[i] > wanted), end - 1)
        for run in (_places, _places.py_func):
            out = np.full(n, -1)
            assert run(sums, wanted, begin, end, weights, offset, out) == first
            assert out.tolist() == places
            compared += 1
    assert compared == 200


def test_systematic_draws_are_as_many_as_weights_say():
    out = np.empty(100, np.int64)
    systematic(np.array([0.5, 0.0, 0.25, 0.25]), 0.3, out)
    assert np.bincount(out).tolist() == [50, 0, 25, 25]
    for run in (_places, _places.py_func):
        out = np.empty(50, np.int64)
        run(np.ones(1), 0.5, 0, 1, np.array([0.5, 0.3]), 0.3, out)
        assert np.bincount(out).tolist() == [25, 25], "weights that sum to less than 1: the last takes the rest"


def test_generators_branch():
    starts = {int(generator(0)[0]), int(generator(0, 0)[0]), int(generator(0, 1)[0]), int(generator(1)[0])}
    assert len(starts) == 4
    assert generator(5, 6)[0] == generator(5, 6)[0]
