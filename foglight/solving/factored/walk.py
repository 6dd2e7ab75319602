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
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    begin,
    chance,
    max_legal,
    num_actions,
    observe,
    transition,
)
from foglight.solving.factored.arrays import (
    BLOCKS,
    COUNTS,
    ENDS,
    FOLLOWING,
    FRESH,
    ITEMS,
    KEYED,
    LENGTH,
    LEVEL,
    LINKS,
    LISTS,
    LIVE,
    OPENS,
    OUTCOMES,
    PAYOFFS,
    ROWS,
    SEQUENCES,
    STATES,
    VIEWS,
    Ends,
    Found,
    Known,
    Links,
    ListTable,
    Payoffs,
    Sequences,
    States,
    Tables,
    enter_lists,
    lengthen,
    new_found,
    new_levels,
    new_room,
    new_tables,
    with_more_payoffs,
    with_room,
)
from foglight.solving.factored.expansion import count_bits, look_up
from foglight.solving.factored.opens import open_number, recall, turned_open
from foglight.solving.factored.symmetry import Group

FINE, UNFIT, TOO_LARGE, FULL, BACK = range(5)  # how a walk ended; UNFIT: mirror images have other transitions


class Walk(NamedTuple):
    """What a walk found: arrays without room to grow. Ends, and the rows of each seat, can be taken out."""

    states: States
    sequences: Sequences
    links: Links
    payoffs: Payoffs
    ends: list[Ends]
    rows: list[Any]  # by seat, the lists and their items
    result: int  # FINE, UNFIT or TOO_LARGE


def walk(game: Game, group: Group, length: int, shift: float, most: float) -> Walk:
    """Walk over the common histories of a game with at most `length` transitions; payoffs are less `shift`.

    A walk whose arrays take more than `most` bytes ends early.
    """
    levels, actions, symmetries = length + 2, num_actions(game), len(group.images)
    counts = np.zeros(COUNTS, np.int64)
    counts[[SEQUENCES, FRESH]] = 2, 1
    found, history, tables = new_found(game, levels, symmetries), new_levels(game, levels), new_tables()
    room = new_room(game, levels, LENGTH)
    found.sequences.kept[:2], found.sequences.actions[:2] = (1 << symmetries) - 1, -1
    for seat, known in enumerate(found.known):  # list 0
        counts[[LISTS + seat, ITEMS + seat, LIVE + seat]] = 1
        known.lists.begins[1], known.items.codes[0] = 1, seat * symmetries
    history.alike[0], history.odds[0] = (1 << symmetries) - 1, 1.0
    result = FULL
    while result in (FULL, BACK):
        if result == BACK:
            mover = int(found.opens.movers[history.opens[0]])
            _forget(found.known[mover], tables.lists[mover], mover, int(history.sizes[0]), counts)
        if counts[FRESH] == 2:  # an expansion needs more room
            room = new_room(game, levels, 2 * len(room.closure.last))
            counts[FRESH] = 1
        spare = _spare(len(room.closure.last), max_legal(game), actions, symmetries)
        tables = _grow(found, tables, counts, spare)
        if counts[PAYOFFS] == len(found.payoffs.worth):
            found = with_more_payoffs(found, symmetries)
        if _bytes((found, tables)) > most:
            result = TOO_LARGE
        else:
            result = _walk_on(game, group, shift, spare, found, tables, history, room, counts)
    for seat, known in enumerate(found.known):
        left = int(_keep_rows(known, int(counts[LIVE + seat]), int(counts[LISTS + seat])))
        for array in known.lists:
            array.resize(left + 1, refcheck=False)
        known.items.codes.resize(int(known.lists.begins[left]), refcheck=False)
    return Walk(
        _used(found.states, counts[STATES]),
        _used(found.sequences, counts[SEQUENCES]),
        _used(found.links, counts[LINKS]),
        _used(found.payoffs, counts[PAYOFFS]),
        [_used(found.ends, counts[ENDS])],
        [(known.lists, known.items) for known in found.known],
        result,
    )


def _used(arrays: Any, number: int) -> Any:
    """The same arrays without room to grow."""
    return type(arrays)(*(array[:number] for array in arrays))


def _spare(items: int, legal: int, actions: int, symmetries: int) -> np.ndarray:
    """What one step may add at most, by kind."""
    spare, moves = np.zeros(COUNTS, np.int64), items * legal
    spare[STATES], spare[KEYED], spare[SEQUENCES], spare[LINKS] = items, items, moves, moves
    spare[ITEMS], spare[LISTS], spare[OUTCOMES] = moves, actions + 1, actions + 1
    spare[ENDS] = spare[VIEWS] = 1
    spare[BLOCKS] = 2
    spare[OPENS] = 2 * items + (actions + 2) * symmetries
    return spare


def _grow(found: Found, tables: Tables, counts: np.ndarray, spare: np.ndarray) -> Tables:
    """Make room for some steps; returns the tables, of which some may be new."""
    for kind, arrays in enumerate(found[: OPENS + 1]):
        lengthen(arrays, int(counts[kind]), 2 * int(spare[kind]))
    for seat, known in enumerate(found.known):
        for kind, own in zip((LISTS, ITEMS, BLOCKS, OUTCOMES), known, strict=True):
            lengthen(own, int(counts[kind + seat]), 2 * int(spare[kind]))
    states, opens, views = (
        with_room(table, int(counts[kind] + spare[kind]))
        for table, kind in zip(tables[:3], (KEYED, OPENS, VIEWS), strict=True)
    )
    for seat, known in enumerate(found.known):
        table, live = tables.lists[seat], int(counts[LIVE + seat])
        entries = int(counts[LISTS + seat] + spare[LISTS]) - live
        if 3 * len(table.numbers) < 4 * entries:
            for array in table:
                array.resize(5 * entries // 2, refcheck=False)
            table.numbers[:] = 0
            enter_lists(table, known, live, int(counts[LISTS + seat]))
    return Tables(states, opens, views, tables.lists)


def _bytes(arrays: Any) -> int:
    return arrays.nbytes if isinstance(arrays, np.ndarray) else sum(_bytes(part) for part in arrays)


def _forget(known: Known, table: ListTable, seat: int, size: int, counts: np.ndarray) -> None:
    """Forget what followed a first transition of the seat that moves first, which has `size` of them.

    No list occurs under two of them. Those with rows are kept, without blocks; so is the first block.
    """
    first = max(int(counts[LIVE + seat]), 1 + int(known.outcomes.lists[:size].max(initial=0)))
    left = int(_keep_rows(known, first, int(counts[LISTS + seat])))
    known.lists.blocks[1:left], known.blocks.fields[0, FOLLOWING] = 0, 0
    counts[LISTS + seat], counts[LIVE + seat], counts[ITEMS + seat] = left, left, known.lists.begins[left]
    counts[BLOCKS + seat], counts[OUTCOMES + seat] = 1, size
    table.numbers[:] = 0


@kernel
def _keep_rows(known, first, last):
    """Keep lists with rows among these, and move them together; returns the number of lists left."""
    lists, codes = known.lists, known.items.codes
    left, free = first, int64(lists.begins[first])
    for i in range(first, last):
        if lists.rows[i]:
            for k in range(int64(lists.begins[i]), int64(lists.begins[i + 1])):
                codes[free] = codes[k]
                free += 1
            lists.rows[left] = lists.rows[i]
            left += 1
            lists.begins[left] = free
    return left


@kernel
def _walk_on(game, group, shift, spare, found, tables, history, room, counts):
    return _walk(game, group, shift, spare, found, tables, history, room, counts)


@jitable
def _mirrored_before(group, history, level, mover, label):
    """Whether a mirror image of the next common history was walked before (-1 if there is none), and what is alike."""
    turn = history.turns[level, mover]
    action = group.images[turn, history.actions[level, label]]
    earlier, alike = 0, 0
    for t in range(len(group.images)):
        if history.alike[level] >> t & 1:
            image = history.kinds[level, group.images[group.inverse[turn], group.images[t, action]]]
            if image < 0:
                return -1, 0
            if image < label:
                earlier = 1
            if image == label:
                alike |= 1 << t
    return earlier, alike


@jitable
def _walk(game, group, shift, spare, found, tables, history, room, counts):
    """Walk until the end, or until something is full; the walk can then go on."""
    opens, ends, symmetries = found.opens, found.ends, len(group.images)
    if counts[OPENS] == 0:
        begin(game, room.worlds[0])
        pasts = room.closure.pasts[0]
        open_number(game, room.worlds[0], pasts, 0, group.images[0], -1, tables.opens, opens, counts)
    while counts[LEVEL] >= 0:
        level = counts[LEVEL]
        mover = opens.movers[history.opens[level]]
        if counts[FRESH]:
            if _is_full(found, tables, spare, mover, counts):
                return FULL
            if mover == CHANCE:
                world = opens.worlds[history.opens[level]]
                history.sizes[level] = chance(game, world, history.outcomes[level], history.shares[level])
            elif not look_up(game, group, shift, found, tables, history, level, mover, room, counts):
                counts[FRESH] = 2
                return FULL
            counts[FRESH], history.done[level] = 0, 0
        label, below = history.done[level], level + 1
        if label == history.sizes[level]:
            counts[LEVEL] -= 1
            if level == 1 and opens.movers[history.opens[0]] != CHANCE:
                return BACK
            continue
        if counts[ENDS] == len(ends.codes) or counts[PAYOFFS] == len(found.payoffs.worth):
            return FULL
        history.done[level] += 1
        for seat in range(2):
            history.lists[below, seat], history.turns[below, seat] = (
                history.lists[level, seat],
                history.turns[level, seat],
            )
            history.memory[below, seat], history.landed[below, seat] = (
                history.memory[level, seat],
                history.landed[level, seat],
            )
        history.alike[below], history.odds[below] = history.alike[level], history.odds[level]
        if mover == CHANCE:
            here, action = history.opens[level], history.outcomes[level, label]
            transition(game, opens.worlds[here], action, room.worlds[2])
            for seat in range(2):
                observation = observe(game, opens.worlds[here], action, room.worlds[2], seat)
                history.memory[below, seat] = recall(history.memory[level, seat], observation)
            after = open_number(
                game, room.worlds[2], opens.pasts[here], opens.lengths[here], group.images[0], action, tables.opens,
                opens, counts,
            )  # fmt: skip
            history.odds[below] *= history.shares[level, label]
        else:
            turn = history.turns[level, mover]
            if history.alike[level] != 1:
                earlier, history.alike[below] = _mirrored_before(group, history, level, mover, label)
                if earlier < 0:
                    return UNFIT
                if earlier:
                    continue
            outcomes, e = found.known[mover].outcomes, history.begins[level] + label
            code, here = int64(outcomes.codes[e]), history.seen[level]
            action = code // symmetries
            after, heard = int64(opens.after[here, action]) - 1, int64(opens.heard[here, action])
            if opens.movers[after] != TERMINAL:
                after = turned_open(game, group, after, turn, tables.opens, opens, counts, room.worlds)
            history.lists[below, mover] = outcomes.lists[e]
            history.turns[below, mover] = group.product[turn, code - action * symmetries]
            history.memory[below, mover], history.landed[below, mover] = uint64(0), after
            history.memory[below, 1 - mover] = recall(history.memory[level, 1 - mover], heard)
        history.opens[below] = after
        if opens.movers[after] != TERMINAL:
            counts[LEVEL], counts[FRESH] = below, 1
        elif opens.payoffs[after, 0] != shift:
            times = symmetries / count_bits(history.alike[below])
            worth = np.float32(history.odds[below] * (opens.payoffs[after, 0] - shift) * times)
            _add_end(group, found, history, below, worth, counts)
    return FINE


@jitable
def _is_full(found, tables, spare, mover, counts):
    """Whether a step may need more room than there is."""
    if mover != CHANCE:
        known = found.known[mover]
        if (
            counts[LISTS + mover] + spare[LISTS] >= len(known.lists.rows)
            or counts[ITEMS + mover] + spare[ITEMS] > len(known.items.codes)
            or counts[BLOCKS + mover] + spare[BLOCKS] > len(known.blocks.fields)
            or counts[OUTCOMES + mover] + spare[OUTCOMES] > len(known.outcomes.lists)
            or 4 * (counts[LISTS + mover] + spare[LISTS] - counts[LIVE + mover]) > 3 * len(tables.lists[mover].numbers)
        ):
            return True
    return (
        counts[STATES] + spare[STATES] > len(found.states.begins)
        or counts[SEQUENCES] + spare[SEQUENCES] > len(found.sequences.owners)
        or counts[LINKS] + spare[LINKS] > len(found.links.states)
        or counts[OPENS] + spare[OPENS] > len(found.opens.movers)
        or 4 * (counts[KEYED] + spare[KEYED]) > 3 * len(tables.states.keys)
        or 4 * (counts[OPENS] + spare[OPENS]) > 3 * len(tables.opens.keys)
        or 4 * (counts[VIEWS] + spare[VIEWS]) > 3 * len(tables.views.keys)
    )


@jitable
def _add_end(group, found, history, level, worth, counts):
    """Add the end of a common history."""
    ends, worths, n = found.ends, found.payoffs.worth, counts[ENDS]
    counts[ENDS] += 1
    for seat in range(2):
        number, rows = history.lists[level, seat], found.known[seat].lists.rows
        if rows[number] == 0:
            counts[ROWS + seat] += 1
            rows[number] = counts[ROWS + seat]
        ends.rows[n, seat] = rows[number] - 1
    kind = 0
    while kind < counts[PAYOFFS] and worths[kind] != worth:
        kind += 1
    if kind == counts[PAYOFFS]:
        worths[kind] = worth
        counts[PAYOFFS] += 1
    turn = group.product[group.inverse[history.turns[level, 0]], history.turns[level, 1]]
    ends.codes[n] = kind * len(group.images) + turn
