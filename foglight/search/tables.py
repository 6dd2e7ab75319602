"""Hash tables of NamedTuples whose `keys` are uint64, 0 where free, and as many as a power of 2."""

from numpy import int64, uint64

from foglight.compile import jitable


@jitable
def find(table, code):
    """The slot of a key, or -1 minus the slot where it would go."""
    mask = uint64(len(table.keys) - 1)
    slot = code & mask
    while table.keys[slot] != uint64(0):
        if table.keys[slot] == code:
            return int64(slot)
        slot = (slot + uint64(1)) & mask
    return -1 - int64(slot)
