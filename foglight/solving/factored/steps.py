"""Steps of a walk: down to what follows, and back. They stop when something is full, and can then go on.

`walk` says what the words mean.
"""

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.rules import CHANCE, TERMINAL, begin, chance, observe, transition
from foglight.solving.factored.arrays import (
    AGAIN,
    COUNTS,
    CRAMPED,
    ENDS,
    FRESH,
    KEYED,
    LEVEL,
    LISTS,
    OPENS,
    OUTCOMES,
    PAYOFFS,
    ROWS,
    STATES,
)
from foglight.solving.factored.expansion import count_bits, look_up
from foglight.solving.factored.opens import open_number, recall, turned_open

FINE, UNFIT, FULL = range(3)  # how steps ended; UNFIT: mirror images have other transitions
ALL = -1  # in place of a list: what follows any
TURNED = COUNTS  # in what one step may add: laid-open worlds beside those of items


@kernel
def walk_on(game, group, shift, deepest, only, spare, parts, desk):
    return _walk(game, group, shift, deepest, only, spare, parts, desk)


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
def _walk(game, group, shift, deepest, only, spare, parts, desk):
    """Walk until the end, or until something is full; the walk can then go on."""
    opens, history, room, counts, symmetries = desk.opens, desk.history, desk.room, desk.counts, len(group.images)
    if counts[OPENS] == 0:
        begin(game, room.worlds[0])
        open_number(game, room.worlds[0], room.closure.pasts[0], 0, group.images[0], -1, desk)
    while counts[LEVEL] >= 0:
        level = counts[LEVEL]
        mover = opens.movers[history.opens[level]]
        if counts[FRESH]:
            full = _desk_is_full(desk, spare)
            if mover == 0:
                full = full or _is_full(parts[0], spare)
            elif mover == 1:
                full = full or _is_full(parts[1], spare)
            if full:
                return FULL
            if mover == CHANCE:
                world = opens.worlds[history.opens[level]]
                history.sizes[level] = chance(game, world, history.outcomes[level], history.shares[level])
            else:  # compiled code copies a part that it takes by a number that it does not know
                again = counts[FRESH] == AGAIN
                if mover == 0:
                    fits = look_up(game, group, shift, parts[0], parts[1], desk, level, 0, again)
                else:
                    fits = look_up(game, group, shift, parts[1], parts[0], desk, level, 1, again)
                if not fits:
                    counts[CRAMPED] = 1
                    return FULL
            if counts[FRESH] != AGAIN:
                history.done[level] = 0
            counts[FRESH] = 0
        label, below = history.done[level], level + 1
        if label == history.sizes[level] or level == deepest:
            counts[LEVEL] -= 1
            continue
        if counts[ENDS] == min(len(desk.ends.rows), len(desk.ends.codes)) or counts[PAYOFFS] == len(desk.payoffs.worth):
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
                game, room.worlds[2], opens.pasts[here], opens.lengths[here], group.images[0], action, desk
            )
            history.odds[below] *= history.shares[level, label]
        else:
            turn, e = history.turns[level, mover], history.begins[level] + label
            code, following = _outcome(parts[0], e) if mover == 0 else _outcome(parts[1], e)
            if level < 2 and only[mover] != ALL and following != only[mover]:
                continue
            if history.alike[level] != 1:
                earlier, history.alike[below] = _mirrored_before(group, history, level, mover, label)
                if earlier < 0:
                    return UNFIT
                if earlier:
                    continue
            action, here = code // symmetries, history.seen[level]
            after, heard = int64(opens.after[here, action]) - 1, int64(opens.heard[here, action])
            if after < 0:  # only the other thread has been here
                history.done[level], counts[FRESH] = label, AGAIN
                continue
            if opens.movers[after] != TERMINAL:
                after = turned_open(game, group, after, turn, desk)
            history.lists[below, mover] = following
            history.turns[below, mover] = group.product[turn, code - action * symmetries]
            history.memory[below, mover], history.landed[below, mover] = uint64(0), after
            history.memory[below, 1 - mover] = recall(history.memory[level, 1 - mover], heard)
        history.opens[below] = after
        if opens.movers[after] != TERMINAL:
            counts[LEVEL], counts[FRESH] = below, 1
        elif opens.payoffs[after, 0] != shift:
            times = symmetries / count_bits(history.alike[below])
            worth = np.float32(history.odds[below] * (opens.payoffs[after, 0] - shift) * times)
            _add_end(group, parts, desk, below, worth)
    return FINE


@jitable
def _outcome(part, e):
    """The code of an outcome, and its list."""
    return int64(part.outcomes.codes[e]), int64(part.outcomes.lists[e])


@jitable
def _desk_is_full(desk, spare):
    """Whether a step may need more room for laid-open worlds than there is."""
    opens = desk.counts[OPENS] + 2 * spare[STATES] + spare[TURNED]
    return opens > min(len(desk.opens.pasts), len(desk.opens.movers)) or 4 * opens > 3 * len(desk.table.keys)


@jitable
def _is_full(part, spare):
    """Whether a step may need more room than there is in the mover's part."""
    counts = part.counts
    for kind in range(OUTCOMES + 1):
        if counts[kind] + spare[kind] >= part.room[kind]:
            return True
    keyed, lists = counts[KEYED] + spare[STATES], counts[LISTS] + spare[LISTS]
    return 4 * keyed > 3 * len(part.keyed.keys) or 4 * lists > 3 * len(part.table.numbers)


@jitable
def _row(part, number):
    """The row of a list; a list has none until a common history ends with it."""
    rows = part.lists.rows
    if rows[number] == 0:
        part.counts[ROWS] += 1
        rows[number] = part.counts[ROWS]
    return rows[number] - 1


@jitable
def _add_end(group, parts, desk, level, worth):
    """Add the end of a common history."""
    ends, worths, history, counts = desk.ends, desk.payoffs.worth, desk.history, desk.counts
    n = counts[ENDS]
    counts[ENDS] += 1
    ends.rows[n, 0] = _row(parts[0], history.lists[level, 0])
    ends.rows[n, 1] = _row(parts[1], history.lists[level, 1])
    kind = 0
    while kind < counts[PAYOFFS] and worths[kind] != worth:
        kind += 1
    if kind == counts[PAYOFFS]:
        worths[kind] = worth
        counts[PAYOFFS] += 1
    turn = group.product[group.inverse[history.turns[level, 0]], history.turns[level, 1]]
    ends.codes[n] = kind * len(group.images) + turn
