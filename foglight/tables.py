"""Hash tables with open addressing, in arrays that the caller owns: a power of 2 slots, at most half of them used.

Three kinds, by what a slot holds:

    keys     a 64-bit key, 0 where the slot is free; what belongs to the key lies in other arrays, at the same slot
    numbers  the number of a key among those met so far, in their order, beside a mark; another mark empties the table
    rows     the number of a row of words, plus one, beside half of the row's hash; rows are compared in full.
             Interpreted code has a dictionary instead
"""

from typing import Any

import numpy as np
from numpy import int64, uint64

from foglight.compile import compiled_twin, jitable, kernel
from foglight.randomness import mix

_ODD = 0x9E3779B97F4A7C15
_UPPER, _LOWER = 0xFFFFFFFF00000000, 0xFFFFFFFF


def slots_for(n):
    """The slots of a table that n entries fill by half at most."""
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


def grown(keys: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same keys in a table of so many slots; the slots that were used before, and where their keys are now."""
    larger, before = np.zeros(slots, np.uint64), np.flatnonzero(keys)
    after = np.empty(len(before), np.int64)
    _enter(keys[before], larger, after)
    return larger, before, after


@kernel
def _enter(keys, table, slots):
    for i in range(len(keys)):
        slots[i] = -1 - find(table, keys[i])
        table[slots[i]] = keys[i]


# Numbers: in an int64 a mark below 2^31, which is not 0, and 32 bits of a number -------------------------------------


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
    """The number of a key among the n that have one; a new key gets n, and is written to `keys`."""
    number = number_of(table, mark, keys, key)
    if number < 0:
        table[-1 - number] = mark << 32 | n
        keys[n] = key
        number = n
    return number


# Rows -----------------------------------------------------------------------------------------------------------


def row_hash(row, width, mixed):
    """A hash of the first `width` words of a row; `mixed`, all of its bits are equally good; slots need no mixing."""
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
    """A table with room for all rows that holds the first n; `width` words tell rows apart.

    For interpreted code it is a dictionary, and rows may be boxed worlds, which are known by their `tobytes`.
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
    """Where an equal row is among the first n; else n, which is then entered as the row's place."""
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
