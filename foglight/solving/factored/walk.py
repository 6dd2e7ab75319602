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

from typing import NamedTuple

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
    ENDS,
    FRESH,
    ITEMS,
    KINDS,
    LENGTH,
    LEVEL,
    LINKS,
    LISTS,
    OPENS,
    OUTCOMES,
    ROWS,
    SEQUENCES,
    STATES,
    Ends,
    Items,
    Links,
    Lists,
    Sequences,
    States,
    Table,
    Tables,
    lengthen,
    new_found,
    new_levels,
    new_room,
    with_room,
)
from foglight.solving.factored.expansion import count_bits, look_up, open_number, recall, turned_open
from foglight.solving.factored.symmetry import Group

FINE, UNFIT, TOO_LARGE, FULL = range(4)  # how a walk ended; UNFIT: mirror images have other transitions


class Walk(NamedTuple):
    """What a walk found: arrays without room to grow."""

    states: States
    sequences: Sequences
    links: Links
    lists: Lists
    items: Items
    ends: Ends
    result: int  # FINE, UNFIT or TOO_LARGE


def walk(game: Game, group: Group, length: int, shift: float, most: float) -> Walk:
    """Walk over the common histories of a game with at most `length` transitions; payoffs are less `shift`.

    A walk whose arrays take more than `most` bytes ends early.
    """
    levels, actions, symmetries = length + 2, num_actions(game), len(group.images)
    spare = [0] * KINDS  # what one step may add at most
    counts = np.zeros(KINDS + 4, np.int64)
    counts[[SEQUENCES, LISTS, ITEMS, FRESH]] = 2, 2, 2, 1
    found, history = new_found(game, levels, symmetries), new_levels(game, levels)
    tables = Tables(*(Table(np.zeros(2 * LENGTH, np.uint64), np.zeros(2 * LENGTH, np.int32)) for _ in range(3)))
    room = new_room(game, levels, LENGTH)
    found.sequences.kept[:2], found.sequences.weights[:2], found.sequences.actions[:2] = (1 << symmetries) - 1, 1.0, -1
    found.lists.begins[1:3], found.items.codes[1] = (1, 2), symmetries
    history.lists[0], history.alike[0], history.odds[0] = (0, 1), (1 << symmetries) - 1, 1.0
    result = FULL
    while result == FULL:
        if counts[FRESH] == 2:  # an expansion needs more room
            room = new_room(game, levels, 2 * len(room.closure.last))
            counts[FRESH] = 1
        items = len(room.closure.last)
        moves = items * max_legal(game)
        spare[STATES], spare[SEQUENCES], spare[LINKS], spare[ITEMS] = items, moves, 2 * moves, moves
        spare[LISTS] = spare[OUTCOMES] = actions + 1
        spare[ENDS] = spare[BLOCKS] = 1
        spare[OPENS] = (actions + 2) * symmetries
        for kind, arrays in enumerate(found):
            lengthen(arrays, int(counts[kind]), 2 * spare[kind])
        tables = Tables(
            *(
                with_room(table, int(counts[kind]) + spare[kind])
                for table, kind in zip(tables, (STATES, LISTS, OPENS), strict=True)
            )
        )
        if sum(array.nbytes for part in (*found, *tables) for array in part) > most:
            result = TOO_LARGE
        else:
            result = _walk_on(game, group, shift, np.array(spare), found, tables, history, room, counts)
    parts = [
        type(arrays)(*(array[: counts[kind] + (kind == LISTS)] for array in arrays))
        for kind, arrays in enumerate(found[: ENDS + 1])
    ]
    return Walk(*parts, result)  # type: ignore[call-arg, arg-type]


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
    opens, outcomes, ends = found.opens, found.outcomes, found.ends
    if counts[OPENS] == 0:
        begin(game, room.worlds[0])
        pasts = room.closure.pasts[0]
        open_number(game, room.worlds[0], pasts, 0, group.images[0], -1, tables.opens, opens, counts)
    while counts[LEVEL] >= 0:
        level = counts[LEVEL]
        mover = opens.movers[history.opens[level]]
        if counts[FRESH]:
            if (
                counts[STATES] + spare[STATES] > len(found.states.begins)
                or counts[SEQUENCES] + spare[SEQUENCES] > len(found.sequences.owners)
                or counts[LINKS] + spare[LINKS] > len(found.links.states)
                or counts[LISTS] + spare[LISTS] >= len(found.lists.rows)
                or counts[ITEMS] + spare[ITEMS] > len(found.items.codes)
                or counts[OPENS] + spare[OPENS] > len(opens.movers)
                or counts[BLOCKS] + spare[BLOCKS] > len(found.blocks.sizes)
                or counts[OUTCOMES] + spare[OUTCOMES] > len(outcomes.opens)
                or 4 * (counts[STATES] + spare[STATES]) > 3 * len(tables.states.keys)
                or 4 * (counts[LISTS] + spare[LISTS]) > 3 * len(tables.lists.keys)
                or 4 * (counts[OPENS] + spare[OPENS]) > 3 * len(tables.opens.keys)
            ):
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
            continue
        if counts[ENDS] == len(ends.payoffs):
            return FULL
        history.done[level] += 1
        for seat in range(2):
            history.lists[below, seat], history.turns[below, seat] = (
                history.lists[level, seat],
                history.turns[level, seat],
            )
            history.memory[below, seat] = history.memory[level, seat]
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
            e, turn = history.begins[level] + label, history.turns[level, mover]
            if history.alike[level] != 1:
                earlier, history.alike[below] = _mirrored_before(group, history, level, mover, label)
                if earlier < 0:
                    return UNFIT
                if earlier:
                    continue
            after = int64(outcomes.opens[e])
            if opens.movers[after] != TERMINAL:
                after = turned_open(game, group, after, turn, tables.opens, opens, counts, room.worlds)
            history.lists[below, mover] = outcomes.lists[e]
            history.turns[below, mover] = group.product[turn, outcomes.turns[e]]
            history.memory[below, mover] = uint64(0)
            history.memory[below, 1 - mover] = recall(history.memory[level, 1 - mover], int64(outcomes.heard[e]))
        history.opens[below] = after
        if opens.movers[after] != TERMINAL:
            counts[LEVEL], counts[FRESH] = below, 1
        elif opens.payoffs[after, 0] != shift:
            n = counts[ENDS]
            counts[ENDS] += 1
            for seat in range(2):
                number = history.lists[below, seat]
                if found.lists.rows[number] == 0:
                    counts[ROWS + seat] += 1
                    found.lists.rows[number] = counts[ROWS + seat]
                ends.rows[n, seat], ends.turns[n, seat] = found.lists.rows[number] - 1, history.turns[below, seat]
            times = len(group.images) / count_bits(history.alike[below])
            ends.payoffs[n] = history.odds[below] * (opens.payoffs[after, 0] - shift) * times
    return FINE
