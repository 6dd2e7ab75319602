"""Hash tables with open addressing, in arrays that the caller owns: a power of 2 slots, at most half of them used.

There are three kinds, by the content of a slot:

    keys     a 64-bit key, 0 where the slot is free; the data of a key lie in other arrays, at the same slot
    numbers  the number of a key, in the order of first occurrence, and a mark; a new mark empties the table
    rows     the number of a row of words, plus one, and half of the row's hash; rows are compared in full.
             Interpreted code uses a dictionary instead
"""

from typing import Any

import numpy as np
from numpy import int64, uint64

from foglight.compile import compiled_twin, jitable, kernel
from foglight.randomness import mix

_ODD = 0x9E3779B97F4A7C15
_UPPER, _LOWER = 0xFFFFFFFF00000000, 0xFFFFFFFF


def slots_for(n):
    """The number of slots of a table for n entries, at most half of which are then used."""
    return 1 << max(0, 2 * n - 1).bit_length()


@compiled_twin(slots_for)
def _slots_for(n):
    slots = 1
    while slots < 2 * n:
        slots *= 2
    return slots


# Keys -----------------------------------------------------------------------------------------------------------


@jitable
def find(keys, key):
    """The slot of a key, or -1 minus the free slot where it would go."""
    mask = uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != uint64(0):
        if keys[slot] == key:
            return int64(slot)
        slot = (slot + uint64(1)) & mask
    return -1 - int64(slot)


@kernel
def grown(keys, slots):
    """The same keys in a table with more slots; also the slots used before, and the slots of the same keys now."""
    larger = np.zeros(slots, np.uint64)
    before = np.flatnonzero(keys)
    after = np.empty(len(before), np.int64)
    for i in range(len(before)):
        key = keys[before[i]]
        after[i] = -1 - find(larger, key)
        larger[after[i]] = key
    return larger, before, after


# Numbers: an int64 holds a mark from 1 to 2^31 - 1, and a number of 32 bits -------------------------------------


@jitable
def number_of(table, mark, keys, key):
    """The number of a key, or -1 minus the free slot where it would go."""
    mask = uint64(len(table) - 1)
    slot = key & mask
    while table[slot] >> 32 == mark:
        number = table[slot] & _LOWER
        if keys[number] == key:
            return number
        slot = (slot + uint64(1)) & mask
    return -1 - int64(slot)


@jitable
def numbered(table, mark, keys, key, n):
    """The number of a key; a new key gets the number n and is appended to `keys`."""
    number = number_of(table, mark, keys, key)
    if number < 0:
        table[-1 - number] = mark << 32 | n
        keys[n] = key
        number = n
    return number


# Rows -----------------------------------------------------------------------------------------------------------


def row_hash(row, width, mixed):
    """A hash of the first `width` words of a row. If `mixed`, all of its bits are good; slots need no mixing."""
    code = 0
    for i in range(width):
        code = ((code ^ int(row[i])) * _ODD) & 0xFFFFFFFFFFFFFFFF
        code ^= code >> 32
    return mix(code) if mixed else code


@compiled_twin(row_hash)
def _row_hash(row, width, mixed):
    code = uint64(0)
    for i in range(width):
        code = (code ^ row[i]) * uint64(_ODD)
        code ^= code >> uint64(32)
    return mix(code) if mixed else code


def table_of(rows: Any, n: int, width: int, compiled: bool) -> Any:
    """A table with room for all rows that contains the first n; rows are equal if their first `width` words are.

    For interpreted code it is a dictionary; rows may then be boxed worlds, which are compared by their `tobytes`.
    """
    if not compiled:
        return {_name(rows[i], width): i for i in range(n)}
    table = np.zeros(slots_for(len(rows)), np.uint64)
    if n:
        _index(rows, n, width, table)
    return table


def _name(row: Any, width: int) -> bytes:
    return bytes((row[:width] if isinstance(row, np.ndarray) else row).tobytes())


@kernel
def _index(rows, n, width, table):
    for i in range(n):
        place(rows[i], width, rows, i, table)


def place(row, width, rows, n, table):
    """The index of an equal row among the first n; if there is none, n, which is entered as the row's index."""
    return table.setdefault(_name(row, width), n)


@compiled_twin(place)
def _place(row, width, rows, n, table):
    mask = len(table) - 1
    code = uint64(row_hash(row, width, False))
    tag = code & uint64(_UPPER)
    slot = int64(code & uint64(mask))
    while table[slot] != uint64(0):
        if table[slot] & uint64(_UPPER) == tag:
            i = int64(table[slot] & uint64(_LOWER)) - 1
            same = True
            for k in range(width):
                same = same and rows[i, k] == row[k]
            if same:
                return i
        slot = (slot + 1) & mask
    table[slot] = tag | uint64(n + 1)
    return n
