"""The arrays of a walk: what it finds, where it is, and room to work in."""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.randomness import mix
from foglight.rules import Game, max_legal, new_worlds, num_actions, num_players

LENGTH = 1 << 10  # of arrays at first
_LARGE, _OWN_MEMORY = 1 << 20, 33 << 20  # bytes of arrays; up to 32 MiB may come from a common store
PAYOFFS_AT_FIRST = 16  # different ones for which there is room


class States(NamedTuple):
    """Information states of a seat; each comes after those that lead to it."""

    begins: np.ndarray  # int32: the sequence of its first action
    parents: np.ndarray  # int32: the first sequence found to lead to it
    seen: np.ndarray  # int32: what the seat observed of that sequence's last action
    following: np.ndarray  # int32: the next state of the same parent, plus 1; 0 for none
    lengths: np.ndarray  # int16: the length of a history that leads to it
    pasts: np.ndarray  # int8 or int16[, length]: the actions of that history


class Sequences(NamedTuple):
    """Sequences of a seat; 0 is the root."""

    actions: np.ndarray  # int16: the last action; -1 for a root
    owners: np.ndarray  # int32: the information state at which it is taken
    heads: np.ndarray  # int32: the first of the states that follow, plus 1; 0 for none
    kept: np.ndarray  # uint8 or int64: the symmetries that leave the seat's own actions so far as they are, as bits


class Links(NamedTuple):
    """Further sequences that lead to information states."""

    states: np.ndarray  # int32: an information state
    parents: np.ndarray  # int32: a sequence that leads to it


class Ends(NamedTuple):
    """Where common histories end, except those that pay the shift."""

    rows: np.ndarray  # int32[, 2]: the row of each seat, in its part
    codes: np.ndarray  # uint8, uint16 or int32: number of the payoff * symmetries + turn from row 0 to row 1


class Payoffs(NamedTuple):
    """Different payoffs of ends."""

    worth: np.ndarray  # float32: of seat 0 less the shift, times its probability by chance and its mirror images


class Opens(NamedTuple):
    """Laid-open worlds, and what actions do there, as far as it is known."""

    worlds: np.ndarray  # uint64[, width]
    names: np.ndarray  # uint64: a hash of the world
    movers: np.ndarray  # int64
    payoffs: np.ndarray  # float64[, seats], where the game is over
    pasts: np.ndarray  # int16[, levels]: a history that leads there
    lengths: np.ndarray  # int64: its length
    turned: np.ndarray  # int32[, symmetries]: the number of each mirror image, plus 1; 0 where it is not known yet
    after: np.ndarray  # int32[, actions]: the laid-open world after an action, plus 1; 0 where it is not known yet
    heard: np.ndarray  # int32[, actions]: what the other seat observes of that action
    seen: np.ndarray  # int32[, 2 * action + mover]: what the mover saw of its action to here; NOTHING: not known yet


class Lists(NamedTuple):
    """List 0 holds the root of the seat."""

    rows: np.ndarray  # int32: the number among the rows of its part, plus 1; 0 if no common history ends with it
    begins: np.ndarray  # uint32: the first item
    blocks: np.ndarray  # int32: the first block, plus 1; 0 for none


class Items(NamedTuple):
    codes: np.ndarray  # int32: sequence * symmetries + turn


class Blocks(NamedTuple):
    """What the mover may do, for a list and a view: a laid-open world in the list's mirror image, and what it heard."""

    views: np.ndarray  # uint64: a hash of the view
    fields: np.ndarray  # int32[, 2]: the columns below; the last outcome is before the first of the next block


FIRST, FOLLOWING = range(2)  # the first outcome; the next block of the same list plus 1, 0 for none


class Outcomes(NamedTuple):
    """Common transitions of a block."""

    codes: np.ndarray  # uint8 or int32: action in the list's mirror image * symmetries + turn of the next list
    lists: np.ndarray  # int32: the next list of the mover, or SHIFTED


SHIFTED = -1  # the game ends with the shift


class Table(NamedTuple):
    """A hash table: numbers by key."""

    keys: np.ndarray
    numbers: np.ndarray


class ListTable(NamedTuple):
    """A hash table of lists. Their keys are found from their items, and compared only if the upper halves agree."""

    numbers: np.ndarray  # int32: the list, plus 1; 0 for a free slot
    marks: np.ndarray  # uint32: the upper half of its key


class Part(NamedTuple):
    """What a walk finds of one seat, or of all that follows one of its first transitions; the arrays grow."""

    states: States
    sequences: Sequences
    links: Links
    lists: Lists
    items: Items
    blocks: Blocks
    outcomes: Outcomes
    keyed: Table  # of states before which the seat has observed something since its last action
    table: ListTable
    counts: np.ndarray  # int64[COUNTS]
    room: np.ndarray  # int64[7]: of how many of each kind there can be


STATES, SEQUENCES, LINKS, LISTS, ITEMS, BLOCKS, OUTCOMES = range(7)  # in `Part.counts`, as in `Part`;
ROWS, KEYED, BORN = range(7, 10)  # KEYED: states in the table; BORN: states before the present block
COUNTS = 10


class Levels(NamedTuple):
    """The common history that the walk has come to, by level."""

    opens: np.ndarray  # int64: the laid-open world
    seen: np.ndarray  # int64: the same in the mirror image of the mover's list
    lists: np.ndarray  # int64[, 2]
    turns: np.ndarray  # int64[, 2]
    landed: np.ndarray  # int64[, 2]: the laid-open world after each seat's last common transition
    memory: np.ndarray  # uint64[, 2]: a hash of what each seat has observed since its last action; 0 for nothing
    alike: np.ndarray  # int64: the symmetries that leave the common history as it is, as bits
    odds: np.ndarray  # float64: the probability by chance
    begins: np.ndarray  # int64: the first outcome
    sizes: np.ndarray  # int64: how many
    done: np.ndarray  # int64: how many of them are walked
    kinds: np.ndarray  # int64[, actions]: what an action does in the list's mirror image
    actions: np.ndarray  # int64[, actions]: an action for each outcome, in the list's mirror image
    outcomes: np.ndarray  # int64[, most legal]: of chance
    shares: np.ndarray  # float64[, most legal]: their probabilities


class Closure(NamedTuple):
    """Items of a list, and those that follow by private actions."""

    worlds: np.ndarray  # uint64[, width]: in the item's own mirror image
    words: np.ndarray  # uint64: a hash of the world
    states: np.ndarray  # int64
    last: np.ndarray  # int64: the last sequence
    turns: np.ndarray  # int64
    pasts: np.ndarray  # int16[, levels]
    lengths: np.ndarray  # int64
    seen: np.ndarray  # int64: what the mover observed of its last action


class Moves(NamedTuple):
    """Actions of items: `last` and `turns` of what follows by common transitions, chained by transition."""

    last: np.ndarray
    turns: np.ndarray
    following: np.ndarray
    item: np.ndarray  # the item that follows by a private action in a second order, and
    parent: np.ndarray  # the sequence that leads to it


class Labels(NamedTuple):
    """Common transitions that items of a list may make."""

    opens: np.ndarray
    heard: np.ndarray
    actions: np.ndarray
    heads: np.ndarray  # the first move
    tails: np.ndarray  # the last


class Room(NamedTuple):
    closure: Closure
    moves: Moves
    labels: Labels
    actions: np.ndarray  # int64[most legal]
    ranks: np.ndarray  # int64[most legal]: the place of an action among those that stand for their mirror images
    own: np.ndarray  # int64[levels]: actions of the mover
    other: np.ndarray  # int64[levels]: actions of the other seat
    worlds: np.ndarray  # uint64[3, width]


class Desk(NamedTuple):
    """What one thread works with: all but parts."""

    opens: Opens
    table: Table  # of laid-open worlds
    ends: Ends
    payoffs: Payoffs
    history: Levels
    room: Room
    counts: np.ndarray  # int64[6]


OPENS, ENDS, PAYOFFS, LEVEL, FRESH, CRAMPED = range(6)  # in `Desk.counts`; FRESH: the level is yet to be looked up,
AGAIN = 2  # or again, to find what actions do; CRAMPED: that needs more room


def lengthened(arrays: Any, used: int, spare: int) -> Any:
    """Arrays with more room, if there is too little."""
    if used + spare <= min(len(array) for array in arrays):
        return arrays
    length, longer = used + used // 32 + 2 * spare, []
    for array in arrays:
        shape = array.shape[1:]
        entry = bytes_used([array], 1)
        if array.nbytes < _LARGE <= length * entry:
            longer.append(np.zeros((_OWN_MEMORY // entry, *shape), array.dtype))
            longer[-1][: len(array)] = array
        else:
            if length > len(array):
                array.resize((length, *shape), refcheck=False)
            longer.append(array)
    return type(arrays)(*longer)


def _apart(length: int, kind: Any, *shape: int) -> np.ndarray:
    """Zeros which, if they are many, have memory of their own. What is not used of it costs nothing.

    Libraries hand out smaller pieces from a common store, which is left with gaps if many arrays grow there by turns.
    """
    entry = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
    least = _OWN_MEMORY // entry if length * entry >= _LARGE else 0
    return np.zeros((max(length, least), *shape), kind)[:length]


def bytes_used(arrays: Any, number: int) -> int:
    """The bytes of so many entries."""
    return sum(array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64)) * number for array in arrays)


def with_room(table: Table, entries: int) -> Table:
    """A table with at least 4 slots for 3 entries."""
    if 3 * len(table.keys) >= 4 * entries:
        return table
    larger = Table(np.zeros(2 * entries, np.uint64), np.zeros(2 * entries, np.int32))
    _move_entries(table, larger)
    return larger


def with_room_for_lists(table: ListTable, entries: int) -> ListTable:
    """The same for a table of lists."""
    if 3 * len(table.numbers) >= 4 * entries:
        return table
    slots = 5 * entries // 3
    larger = ListTable(_apart(slots, np.int32), _apart(slots, np.uint32))
    _move_lists(table, larger)
    return larger


def with_more_payoffs(desk: Desk, symmetries: int) -> Desk:
    """The same with room for twice as many different payoffs."""
    worth = np.append(desk.payoffs.worth, np.zeros_like(desk.payoffs.worth))
    codes = desk.ends.codes.astype(code_type(len(worth) * symmetries), copy=False)
    return desk._replace(payoffs=Payoffs(worth), ends=Ends(desk.ends.rows, codes))


def code_type(codes: int) -> Any:
    """The smallest kind of number for so many codes."""
    return next(kind for kind in (np.uint8, np.uint16, np.int32) if codes <= np.iinfo(kind).max + 1)


def new_part(game: Game, levels: int, symmetries: int) -> Part:
    """A part that knows the root of a seat, and the list that holds it."""

    def zeros(kind: Any, *shape: int) -> np.ndarray:
        return np.zeros((LENGTH, *shape), kind)

    i16, i32, u32, u64, actions = np.int16, np.int32, np.uint32, np.uint64, num_actions(game)
    code = np.uint8 if actions * symmetries <= 256 else i32
    action, bits = np.int8 if actions < 128 else i16, np.uint8 if symmetries <= 8 else np.int64
    part = Part(
        States(zeros(i32), zeros(i32), zeros(i32), zeros(i32), zeros(i16), zeros(action, levels)),
        Sequences(zeros(i16), zeros(i32), zeros(i32), zeros(bits)),
        Links(zeros(i32), zeros(i32)),
        Lists(zeros(i32), zeros(u32), zeros(i32)),
        Items(zeros(i32)),
        Blocks(zeros(u64), zeros(i32, 2)),
        Outcomes(zeros(code), zeros(i32)),
        Table(zeros(u64), zeros(i32)),
        ListTable(zeros(i32), zeros(u32)),
        np.zeros(COUNTS, np.int64),
        np.full(OUTCOMES + 1, LENGTH),
    )
    part.sequences.kept[0], part.sequences.actions[0] = (1 << symmetries) - 1, -1
    part.counts[[SEQUENCES, LISTS, ITEMS]], part.lists.begins[1] = 1, 1
    return part


def copy_of(arrays: Any) -> Any:
    """A copy of arrays, or of tuples of them."""
    return arrays.copy() if isinstance(arrays, np.ndarray) else type(arrays)(*map(copy_of, arrays))


def new_desk(game: Game, levels: int, symmetries: int) -> Desk:
    def zeros(kind: Any, *shape: int) -> np.ndarray:
        return np.zeros((LENGTH, *shape), kind)

    i32, i64, actions = np.int32, np.int64, num_actions(game)
    opens = Opens(
        new_worlds(game, LENGTH), zeros(np.uint64), zeros(i64), zeros(float, num_players(game)),
        zeros(np.int16, levels), zeros(i64), zeros(i32, symmetries), zeros(i32, actions), zeros(i32, actions),
        zeros(i32, 2 * actions),
    )  # fmt: skip
    table, (ends, payoffs) = Table(zeros(np.uint64), zeros(i32)), new_ends(symmetries)
    room, counts = new_room(game, levels, LENGTH), np.zeros(6, np.int64)
    return Desk(opens, table, ends, payoffs, new_levels(game, levels), room, counts)


def new_ends(symmetries: int) -> tuple[Ends, Payoffs]:
    codes = np.zeros(LENGTH, code_type(PAYOFFS_AT_FIRST * symmetries))
    return Ends(np.zeros((LENGTH, 2), np.int32), codes), Payoffs(np.zeros(PAYOFFS_AT_FIRST, np.float32))


def new_levels(game: Game, levels: int) -> Levels:
    def zeros(*shape: int, kind: Any = np.int64) -> np.ndarray:
        return np.zeros((levels, *shape), kind)

    most = max_legal(game)
    return Levels(
        zeros(), zeros(), zeros(2), zeros(2), zeros(2), zeros(2, kind=np.uint64), zeros(), zeros(kind=float), zeros(),
        zeros(), zeros(), zeros(num_actions(game)), zeros(num_actions(game)), zeros(most), zeros(most, kind=float),
    )  # fmt: skip


def new_room(game: Game, levels: int, items: int) -> Room:
    def zeros(n: int) -> np.ndarray:
        return np.zeros(n, np.int64)

    most = max_legal(game)
    return Room(
        Closure(
            new_worlds(game, items), np.zeros(items, np.uint64), zeros(items), zeros(items), zeros(items),
            np.zeros((items, levels), np.int16), zeros(items), zeros(items),
        ),
        Moves(*(zeros(items * most) for _ in Moves._fields)),
        Labels(*(zeros(num_actions(game)) for _ in Labels._fields)),
        zeros(most), zeros(most), zeros(levels), zeros(levels), new_worlds(game, 3),
    )  # fmt: skip


@kernel
def _move_entries(table, larger):
    for i in range(len(table.keys)):
        if table.keys[i] != uint64(0):
            slot = -1 - find_slot(larger.keys, table.keys[i])
            larger.keys[slot], larger.numbers[slot] = table.keys[i], table.numbers[i]


@jitable
def find_slot(keys, key):
    """The slot of a key, or -1 minus the free slot where it would go; there may be any number of slots."""
    slot = int64((key >> uint64(32)) * uint64(len(keys)) >> uint64(32))
    while keys[slot] != uint64(0):
        if keys[slot] == key:
            return slot
        slot = slot + 1 if slot + 1 < len(keys) else 0
    return -1 - slot


@jitable
def list_slot(table, part, name):
    """The slot of a list with this key, or -1 minus the free slot where it would go."""
    mark = name >> uint64(32)
    slot = int64(mark * uint64(len(table.numbers)) >> uint64(32))
    while table.numbers[slot] != 0:
        if table.marks[slot] == mark and list_key(part, int64(table.numbers[slot]) - 1) == name:
            return slot
        slot = slot + 1 if slot + 1 < len(table.numbers) else 0
    return -1 - slot


@jitable
def list_key(part, number):
    """The key of a list: a hash of its items in any order."""
    name = uint64(1)
    for k in range(int64(part.lists.begins[number]), int64(part.lists.begins[number + 1])):
        name ^= mix(uint64(part.items.codes[k]))
    return mix(name)


@jitable
def enter_list(table, slot, name, number):
    """Enter a list at the free slot that `list_slot` gave."""
    table.numbers[-1 - slot], table.marks[-1 - slot] = number + 1, name >> uint64(32)


@kernel
def _move_lists(table, larger):
    """Move lists to a larger table; neighbours stay near each other, so this goes through both tables once."""
    for i in range(len(table.numbers)):
        if table.numbers[i] != 0:
            slot = int64(uint64(table.marks[i]) * uint64(len(larger.numbers)) >> uint64(32))
            while larger.numbers[slot] != 0:
                slot = slot + 1 if slot + 1 < len(larger.numbers) else 0
            larger.numbers[slot], larger.marks[slot] = table.numbers[i], table.marks[i]


@jitable
def enter(table, slot, name, number):
    """Enter a key at the free slot that `find` gave."""
    table.keys[-1 - slot], table.numbers[-1 - slot] = name, number
