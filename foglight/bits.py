"""The words of a world as fields of a few bits, which hold small numbers, and as sets of integers from 0 to 63."""

import numpy as np
from numpy import int64, uint64

from foglight.compile import compiled_twin, jitable

Field = tuple[int, int, int]  # word, lowest bit, number of bits


@jitable
def get(world, field):
    """The number stored in a field."""
    return int64((world[field[0]] >> uint64(field[1])) & ((uint64(1) << uint64(field[2])) - uint64(1)))


@jitable
def put(world, field, number):
    """Store a number that fits into a field."""
    mask = ((uint64(1) << uint64(field[2])) - uint64(1)) << uint64(field[1])
    world[field[0]] = (world[field[0]] & ~mask) | (uint64(number) << uint64(field[1]))


@jitable
def bit(i):
    """The set that holds i alone."""
    return uint64(1) << uint64(i)


@jitable
def first_bits(n):
    """The set of 0 to n - 1, for n up to 64."""
    return ~uint64(0) >> uint64(64 - n) if n > 0 else uint64(0)


@jitable
def has(word, i):
    """Whether i is in the set."""
    return (word >> uint64(i)) & uint64(1) != uint64(0)


def count(word):
    """The size of a set."""
    return int(word).bit_count()


@compiled_twin(count)
def _count(word):
    # sums of neighbouring bits, then of pairs, nibbles and bytes: LLVM recognises it as one instruction
    word = uint64(word)
    word -= (word >> uint64(1)) & uint64(0x5555555555555555)
    word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
    word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return int64((word * uint64(0x0101010101010101)) >> uint64(56))


def lowest(word):
    """The smallest member of a set that is not empty."""
    word = int(word)
    return (word & -word).bit_length() - 1


@compiled_twin(lowest)
def _lowest(word):
    word = uint64(word)
    return count((word & (~word + uint64(1))) - uint64(1))


@jitable
def without_lowest(word):
    """The set without its smallest member."""
    return word & (word - uint64(1))


def nth(word, n):
    """The member of rank n, from 0: n members of the set are smaller."""
    word = int(word)
    for _ in range(n):
        word &= word - 1
    return lowest(word)


# by rank and byte: the position in the byte of the member of that rank
_IN_BYTE = np.zeros(8 * 256, np.uint8)
for _byte in range(256):
    for _rank, _place in enumerate(i for i in range(8) if _byte >> i & 1):
        _IN_BYTE[256 * _rank + _byte] = _place


@compiled_twin(nth)
def _nth(word, n):
    # count the members of all bytes at once, find the byte by comparing all sums at once: no branch depends on n
    word, rank = uint64(word), uint64(n)
    sums = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    sums = (sums & uint64(0x3333333333333333)) + ((sums >> uint64(2)) & uint64(0x3333333333333333))
    sums = (sums + (sums >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    sums *= uint64(0x0101010101010101)  # in each byte, the number of members up to its end
    past = ((rank * uint64(0x0101010101010101)) | uint64(0x8080808080808080)) - sums
    place = uint64(count(past & uint64(0x8080808080808080))) << uint64(3)
    rank -= ((sums << uint64(8)) >> place) & uint64(255)
    return int64(place) + int64(_IN_BYTE[(rank << uint64(8)) | ((word >> place) & uint64(255))])


@jitable
def members(word, out):
    """Write the members, ascending, into `out`, and return their number."""
    n = 0
    while word != uint64(0):
        out[n] = lowest(word)
        word = without_lowest(word)
        n += 1
    return n
