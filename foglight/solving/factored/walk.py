"""The walk that finds a factored form: over the common histories of a game, with what each seat may privately know.

A transition is *private* if it changes nothing but what its own seat knows: the world is the same when laid open, the
same seat is to move, and the other seat observes nothing. The other transitions are *common*. A common history is the
sequence of common transitions, each known by the laid-open world that it leads to and by what the other seat observes.
Where several actions give the same common transition, such as two failed tries that cost the turn, the common history
does not say which it was.

The form is right if the two seats' own actions are independent, given the common history: what an action does depends
on the laid-open world, and what is legal depends on the seat's own actions and observations. `verification` tries that
on random games.

The walk goes depth first through the common histories. At each it knows the laid-open world and, for each seat, a
*list*: the last sequences of the seat's information states that fit the common history, its *items*. What the mover may
do depends on its list and the laid-open world alone. So it is found once for each such pair, by replaying a history for
each item, and looked up ever after: for each common transition, the laid-open world and the list that follow. Where a
common history ends, the two lists are its *rows*.

Two things make the lists short. Information states that differ only in the order of private actions between two common
transitions have the same future in all common histories: they are one state here, with several parents. And common
histories, laid-open worlds, lists and information states that a symmetry of the game takes to each other are walked and
numbered once. An item is seen in the mirror image in which the seat's own actions are the first in order among all
mirror images; its *turn* is the symmetry that leads from there to the list's own mirror image, and the turn of a list
leads from there to the walk's. Actions that a symmetry of the seat's own past takes to each other are one sequence.

Where only one sequence fits each first transition of a seat, as in games in which a failed try costs the turn, what
follows two of them has no information state, sequence or list in common. It is found in *parts*, each of which begins
as a copy of the *trunk*: what is known after the first transition of each seat. A *region* is what follows one first
transition of each seat; it belongs to a part of either. Two threads walk regions that share no part. What a thread
knows of laid-open worlds is its own. A part is always walked in the same order, whatever the number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from foglight.compile import kernel
from foglight.rules import CHANCE, TERMINAL, Game, max_legal, num_actions
from foglight.solving.factored.arrays import (
    BLOCKS,
    COUNTS,
    CRAMPED,
    ENDS,
    FRESH,
    ITEMS,
    KEYED,
    LENGTH,
    LEVEL,
    LINKS,
    LISTS,
    OPENS,
    OUTCOMES,
    PAYOFFS,
    SEQUENCES,
    STATES,
    Desk,
    Ends,
    Part,
    Payoffs,
    bytes_used,
    copy_of,
    lengthened,
    new_desk,
    new_ends,
    new_part,
    new_room,
    with_more_payoffs,
    with_room,
    with_room_for_lists,
)
from foglight.solving.factored.steps import ALL, FINE, FULL, TURNED, UNFIT, walk_on
from foglight.solving.factored.symmetry import Group

TOO_LARGE, STOPPED = 3, 4  # beside FINE, UNFIT and FULL: how a walk ended
THREADS = 2


class Region(NamedTuple):
    """The ends of the common histories that begin with a first transition of each seat."""

    parts: tuple[int, int]  # by seat, the number of the part with its rows
    ends: Ends
    payoffs: Payoffs


class Walk(NamedTuple):
    """What a walk found: arrays without room to grow, which can be taken out."""

    parts: tuple[list[Part], list[Part]]  # by seat
    trunk: list[np.ndarray]  # by seat, how many of each kind are the same in all of its parts
    regions: list[Region]
    result: int  # FINE, UNFIT or TOO_LARGE


def walk(game: Game, group: Group, length: int, shift: float, most: float) -> Walk:
    """Walk over the common histories of a game with at most `length` transitions; payoffs are less `shift`.

    A walk whose arrays take more than `most` bytes ends early.
    """
    walker = _Walker(game, group, length + 2, shift, most)
    mover = walker.walk_trunk()
    trunk = [parts[0].counts.copy() for parts in walker.parts]
    regions = walker.walk_regions(mover)
    return Walk(walker.parts, trunk, regions, walker.result)


class _Walker:
    """A walk over all regions. Parts and desks are held here, since they are replaced when they grow."""

    def __init__(self, game: Game, group: Group, levels: int, shift: float, most: float) -> None:
        self.game, self.group, self.levels, self.shift, self.most = game, group, levels, shift, most
        symmetries = len(group.images)
        self.parts = [new_part(game, levels, symmetries)], [new_part(game, levels, symmetries)]
        self.lists: list[list[int]] = [[ALL], [ALL]]  # by seat, the first list of each part
        self.bytes: dict[Any, int] = {}
        self.result = FINE

    def walk_trunk(self) -> int:
        """Walk the first transition of each seat, and part what follows, if it can be parted; returns who moves first.

        What follows has nothing in common for different first transitions if only one sequence fits each.
        """
        desk, symmetries = self.new_desk(), len(self.group.images)
        desk = self.walk_region(desk, (0, 0), 0)
        mover = int(desk.opens.movers[0])
        if mover in (CHANCE, TERMINAL):
            return 0
        outcomes = self.parts[mover][0].outcomes.codes[: self.parts[mover][0].counts[OUTCOMES]]
        after = desk.opens.after[0, outcomes.astype(np.int64) // symmetries] - 1
        if (desk.opens.movers[after] != 1 - mover).any():
            return mover
        self.walk_region(desk, (0, 0), 1)
        for seat, (part,) in enumerate(self.parts):
            lists, items = int(part.counts[LISTS]), part.items.codes[1 : part.counts[ITEMS]] // symmetries
            if lists > 1 and len(set(items.tolist())) == len(items) == lists - 1:
                self.lists[seat] = list(range(1, lists))
                self.parts[seat][:] = [copy_of(part) for _ in self.lists[seat]]
        return mover

    def walk_regions(self, mover: int) -> list[Region]:
        """Walk all regions, in one thread or two, with the same results.

        Two regions that share a part are always walked in the same order. The first seat to move forgets a part early.
        """
        order = _schedule(len(self.lists[mover]), len(self.lists[1 - mover]))
        done, regions = {cell: Event() for cell in order}, {}

        def walk_some(desk: Desk, cells: list[tuple[int, int]]) -> None:
            for cell in cells:
                earlier = [other for other in order[: order.index(cell)] if other[0] == cell[0] or other[1] == cell[1]]
                try:
                    for other in earlier:
                        done[other].wait()
                    numbers = cell if mover == 0 else cell[::-1]
                    desk = self.walk_region(desk, numbers, -1)
                    regions[numbers] = Region(numbers, *_taken(desk))
                    self.bytes[numbers] = bytes_used(desk.ends, int(desk.counts[ENDS]))
                    for side in range(2):
                        if cell == [other for other in order if other[side] == cell[side]][-1]:
                            seat = mover if side == 0 else 1 - mover
                            self.parts[seat][cell[side]] = _closed(self.parts[seat][cell[side]])
                            self.bytes[seat, cell[side], "part"] = _bytes(self.parts[seat][cell[side]])
                except BaseException:
                    self.result = STOPPED
                    for event in done.values():  # nobody shall wait for what will not be walked
                        event.set()
                    raise
                done[cell].set()

        shares = [order] if THREADS == 1 else [[cell for cell in order if cell[0] % 2 == k] for k in range(2)]
        with ThreadPoolExecutor(len(shares)) as pool:
            try:
                for future in [pool.submit(walk_some, self.new_desk(), share) for share in shares]:
                    future.result()
            except BaseException:
                self.result = STOPPED
                raise
        return [regions[numbers] for numbers in sorted(regions)]

    def new_desk(self) -> Desk:
        desk = new_desk(self.game, self.levels, len(self.group.images))
        desk.history.alike[0], desk.history.odds[0] = (1 << len(self.group.images)) - 1, 1.0
        return desk

    def walk_region(self, desk: Desk, numbers: tuple[int, int], deepest: int) -> Desk:
        """Walk the common histories that begin with the first lists of these parts, down to a level; -1: to the end."""
        symmetries, actions, result = len(self.group.images), num_actions(self.game), FULL
        only = np.array([self.lists[seat][number] for seat, number in enumerate(numbers)])
        ends, payoffs = new_ends(symmetries)
        desk = desk._replace(ends=ends, payoffs=payoffs)
        desk.counts[[ENDS, PAYOFFS, LEVEL, CRAMPED]], desk.counts[FRESH] = 0, 1
        while result == FULL and self.result == FINE:
            if desk.counts[CRAMPED]:  # an expansion needs more room
                desk = desk._replace(room=new_room(self.game, self.levels, 2 * len(desk.room.closure.last)))
                desk.counts[CRAMPED] = 0
            spare = _spare(len(desk.room.closure.last), max_legal(self.game), actions, symmetries)
            desk = _grown_desk(desk, spare, symmetries)
            for seat, number in enumerate(numbers):
                self.parts[seat][number] = _grown(self.parts[seat][number], spare)
                self.bytes[seat, number, "part"] = _bytes(self.parts[seat][number])
            self.bytes[id(desk.history)] = bytes_used(desk.opens, int(desk.counts[OPENS])) + bytes_used(
                desk.ends, int(desk.counts[ENDS])
            )
            if sum(list(self.bytes.values())) > self.most:
                result = TOO_LARGE
            else:
                parts = self.parts[0][numbers[0]], self.parts[1][numbers[1]]
                result = walk_on(self.game, self.group, self.shift, deepest, only, spare, parts, desk)
        if result in (UNFIT, TOO_LARGE):
            self.result = result
        return desk


def _schedule(first: int, second: int) -> list[tuple[int, int]]:
    """All pairs of parts of the seat that moves first and of the other, in an order that suits one thread and two.

    Of two threads, one takes the even parts of the first seat and the other takes the odd ones; they go through the
    parts of the second seat half a round apart, so that they seldom have to wait for each other.
    """

    def place(cell: tuple[int, int]) -> tuple[int, int, int]:
        return cell[0] // 2, (cell[1] - cell[0] % 2 * (second // 2)) % second, cell[0]

    return sorted(((a, b) for a in range(first) for b in range(second)), key=place)


def _spare(items: int, legal: int, actions: int, symmetries: int) -> np.ndarray:
    """What one step may add at most, by kind."""
    spare, moves = np.zeros(COUNTS + 1, np.int64), items * legal
    spare[STATES], spare[SEQUENCES], spare[LINKS], spare[ITEMS] = items, moves, moves, moves
    spare[LISTS], spare[OUTCOMES], spare[BLOCKS] = actions + 1, actions + 1, 2
    spare[TURNED] = (actions + 2) * symmetries
    return spare


def _grown(part: Part, spare: np.ndarray) -> Part:
    """The same part with room for some steps."""
    counts = part.counts
    longer = [lengthened(part[kind], int(counts[kind]), 2 * int(spare[kind])) for kind in range(OUTCOMES + 1)]
    part.room[:] = [min(len(array) for array in arrays) for arrays in longer]
    keyed = with_room(part.keyed, int(counts[KEYED] + 2 * spare[STATES]))
    table = with_room_for_lists(part.table, int(counts[LISTS] + 2 * spare[LISTS]))
    return Part._make([*longer, keyed, table, counts, part.room])


def _grown_desk(desk: Desk, spare: np.ndarray, symmetries: int) -> Desk:
    """The same desk with room for some steps."""
    counts, opens = desk.counts, int(2 * spare[STATES] + spare[TURNED])
    if counts[PAYOFFS] == len(desk.payoffs.worth):
        desk = with_more_payoffs(desk, symmetries)
    return desk._replace(
        opens=lengthened(desk.opens, int(counts[OPENS]), 2 * opens),
        table=with_room(desk.table, int(counts[OPENS]) + 2 * opens),
        ends=lengthened(desk.ends, int(counts[ENDS]), LENGTH),
    )


def _taken(desk: Desk) -> tuple[Ends, Payoffs]:
    """The ends of a desk, without room to grow."""
    return _cut(desk.ends, int(desk.counts[ENDS])), Payoffs(desk.payoffs.worth[: desk.counts[PAYOFFS]])


def _closed(part: Part) -> Part:
    """A part with its lists that have rows, without what only the walk needs, and without room to grow."""
    counts, kinds = part.counts, len(Part._fields) - 2
    counts[LISTS] = left = int(_keep_rows(part.lists, part.items.codes, int(counts[LISTS])))
    counts[ITEMS] = part.lists.begins[left]
    counts[[BLOCKS, OUTCOMES]] = 0
    sizes = [int(counts[kind]) + (kind == LISTS) if kind <= ITEMS else 0 for kind in range(kinds)]
    part, none = Part._make([*map(_cut, part[:kinds], sizes), counts, part.room]), np.zeros(0, np.int32)
    return part._replace(
        states=part.states._replace(seen=none, following=none),
        sequences=part.sequences._replace(owners=none, heads=none),
        lists=part.lists._replace(blocks=none),
    )


def _cut(arrays: Any, number: int) -> Any:
    """Arrays with so many entries; they are changed in place, or given up if there are none."""
    if number == 0:
        return type(arrays)(*(array[:0].copy() for array in arrays))
    for array in arrays:
        array.resize((number, *array.shape[1:]), refcheck=False)
    return arrays


def _bytes(part: Part) -> int:
    """The bytes of a part, without room to grow."""
    used = sum(bytes_used(part[kind], int(part.counts[kind])) for kind in range(OUTCOMES + 1))
    return used + bytes_used(part.keyed, len(part.keyed.keys)) + bytes_used(part.table, len(part.table.numbers))


@kernel
def _keep_rows(lists, codes, last):
    """Keep the lists with rows, and move them together; returns their number."""
    left, free = 0, 0
    for i in range(last):
        if lists.rows[i]:
            for k in range(int64(lists.begins[i]), int64(lists.begins[i + 1])):
                codes[free] = codes[k]
                free += 1
            lists.rows[left] = lists.rows[i]
            left += 1
            lists.begins[left] = free
    return left
