"""Hash tables beside dictionaries, compiled and interpreted, with keys that all want the same slot."""

import random

import numpy as np
import pytest

from foglight import tables
from foglight.compile import INTERPRET_ALL, kernel
from foglight.randomness import mix
from foglight.tables import find, grown, number_of, numbered, place, row_hash, slots_for, table_of

pytestmark = pytest.mark.plain


def crowded(rng, slots, n):
    """Keys of which most want the last slot."""
    return [rng.randrange(1, 1 << 64) | (slots - 1 if rng.random() < 0.8 else 1) for _ in range(n)]


def test_a_table_is_at_most_half_full():
    for run in (slots_for, tables._slots_for):
        assert [run(n) for n in (0, 1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 8, 8, 16, 2048]


@kernel
def _found(keys, wanted, out):
    for i in range(len(wanted)):
        out[i] = find(keys, wanted[i])


def test_keys_are_found_where_they_were_put():
    rng, compared = random.Random(1), 0
    for slots in (2, 8, 64):
        keys, slot_of = np.zeros(slots, np.uint64), {}
        for key in crowded(rng, slots, slots // 2):
            if key not in slot_of:
                slot = key % slots
                while slot in slot_of.values():
                    slot = (slot + 1) % slots
                assert find(keys, np.uint64(key)) == -1 - slot
                keys[slot], slot_of[key] = key, slot
        wanted = np.array([*slot_of, *crowded(rng, slots, 20)], np.uint64)
        for run in (_found, _found.py_func):
            out = np.zeros(len(wanted), np.int64)
            run(keys, wanted, out)
            for key, slot in zip(wanted.tolist(), out.tolist(), strict=True):
                assert slot == slot_of[key] if key in slot_of else (slot < 0 and keys[-1 - slot] == 0)
                compared += 1
    assert compared > 150


def test_a_table_that_grows_keeps_its_keys():
    rng = random.Random(2)
    keys = np.zeros(16, np.uint64)
    for key in crowded(rng, 16, 8):
        keys[-1 - find(keys, np.uint64(key))] = key
    larger, before, after = grown(keys, 64)
    assert len(larger) == 64 and np.count_nonzero(larger) == len(before) == 8
    assert np.array_equal(larger[after], keys[before]) and np.array_equal(before, np.flatnonzero(keys))
    assert [int(find(larger, key)) for key in keys[before]] == after.tolist()


@kernel
def _numbers(table, mark, keys, key, n):
    before = number_of(table, mark, keys, key)
    return before, numbered(table, mark, keys, key, n), number_of(table, mark, keys, key)


def test_numbers_are_given_as_keys_come_and_a_mark_empties_the_table():
    rng, compared = random.Random(1), 0
    for size in (2, 8, 64):
        for run in (_numbers, _numbers.py_func):
            table = np.zeros(size, np.int64)
            for mark in (1, 2, 3):
                keys, known = np.empty(size // 2, np.uint64), []
                few = [rng.randrange(1 << 64) & ~(size - 1) | (size - 1) for _ in range(size // 4)]
                for key in rng.choices([0, *few], k=100):
                    before, number, after = run(table, mark, keys, np.uint64(key), len(known))
                    assert before == known.index(key) if key in known else before < 0
                    if key not in known:
                        known.append(key)
                    assert number == after == known.index(key)
                    compared += 1
                assert keys[: len(known)].tolist() == known
                assert len(known) > size // 4 - 1
    assert compared == 1800


def test_equal_rows_have_one_place():
    rng = np.random.default_rng(5)
    given = rng.integers(0, 3, (300, 4), dtype=np.uint64)
    given[:, 3] = np.arange(300)  # beyond the width: it tells nothing apart
    for compiled, run in ((True, tables._place), (False, place)):
        rows, places, n = np.zeros((64, 4), np.uint64), {}, 0
        table = table_of(rows, 0, 3, compiled)
        assert len(table) == (128 if compiled else 0)
        for row in given:
            wanted = places.setdefault(row[:3].tobytes(), len(places))
            at = run(row, 3, rows, n, table)
            assert at == wanted
            if at == n:
                rows[n] = row
                n += 1
        assert n == len(places) == 27
        again = table_of(rows, n, 3, compiled) if not (compiled and INTERPRET_ALL) else table
        assert all(run(rows[i], 3, rows, n, again) == i for i in range(n))
    # a row that has another's hash, by half, is not that row: it is looked for further on
    other = np.array([9, 9, 9, 0], np.uint64)
    code = int(row_hash(other, 3, False))
    full = np.zeros(128, np.uint64)
    full[code % 128] = (code >> 32 << 32) | 5  # as if row 4 had it
    assert tables._place(other, 3, rows, n, full) == n
    assert full[(code + 1) % 128] == (code >> 32 << 32) | (n + 1)


@kernel
def _hashed(row, width, mixed):
    return row_hash(row, width, mixed)


def test_rows_are_hashed_word_by_word():
    for row in np.random.default_rng(1).integers(0, 2**64, (30, 3), dtype=np.uint64):
        for width in (1, 3):
            code = 0
            for word in row[:width].tolist():
                code = (code ^ word) * 0x9E3779B97F4A7C15 % 2**64
                code ^= code >> 32
            for mixed, wanted in ((False, code), (True, mix(code))):
                assert wanted == row_hash(row, width, mixed) == int(_hashed(row, width, mixed))
                with np.errstate(over="ignore"):
                    assert wanted == int(tables._row_hash(row, width, mixed))
