"""What the mover may do at a common history, found by replaying a history for each item of its list.

`walk` says what the words mean.
"""

from numpy import int64, uint64

from foglight.compile import jitable
from foglight.randomness import mix
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    begin,
    copy_world,
    key,
    legal,
    observe,
    player,
    position,
    transition,
)
from foglight.solving.factored.arrays import (
    BLOCKS,
    BORN,
    FIRST,
    FOLLOWING,
    ITEMS,
    KEYED,
    LINKS,
    LISTS,
    OUTCOMES,
    SEQUENCES,
    SHIFTED,
    STATES,
    enter,
    enter_list,
    find_slot,
    list_slot,
)
from foglight.solving.factored.opens import open_number, replay, turned_open

_UNKNOWN, _PRIVATE = -1, -2  # kinds of an action; others are numbers of common transitions


@jitable
def first_image(group, fixed, action):
    """The first action among the images of an action under the symmetries in `fixed`, and a symmetry that gives it."""
    best, how = action, 0
    if fixed != 1:
        for t in range(len(group.images)):
            if fixed >> t & 1 and group.images[t, action] < best:
                best, how = group.images[t, action], t
    return best, how


@jitable
def _fixing(group, fixed, action):
    """Those symmetries in `fixed` that leave an action as it is, as bits."""
    left = 0
    for t in range(len(group.images)):
        if fixed >> t & 1 and group.images[t, action] == action:
            left |= 1 << t
    return left


@jitable
def count_bits(fixed):
    n = 0
    while fixed:
        fixed &= fixed - 1
        n += 1
    return n


@jitable
def _lineage(part, sequence, out):
    """Write a seat's own actions up to a sequence, the last first; returns their number."""
    n = 0
    while sequence > 0:
        out[n] = part.sequences.actions[sequence]
        n += 1
        sequence = part.states.parents[part.sequences.owners[sequence]]
    return n


@jitable
def _write_items(group, part, history, level, mover, room):
    """Write the items of the mover's list, without their worlds; returns their number, or -1 without room."""
    closure, symmetries = room.closure, len(group.images)
    number = history.lists[level, mover]
    start = int64(part.lists.begins[number])
    n = int64(part.lists.begins[number + 1]) - start
    if n > len(closure.last):
        return -1
    for i in range(n):
        item = int64(part.items.codes[start + i])
        closure.last[i], closure.turns[i] = item // symmetries, item % symmetries
    return n


@jitable
def _write_world(game, group, part, other, desk, level, mover, i):
    """Write a world that fits an item of the mover's list, by replaying its actions and those of an item of the other.

    What the mover observed of its last action is noted.
    """
    history, room, opens = desk.history, desk.room, desk.opens
    closure, images, product = room.closure, group.images, group.product
    first = int64(other.items.codes[other.lists.begins[history.lists[level, 1 - mover]]])
    theirs = _lineage(other, first // len(images), room.other)
    other_turn = product[history.turns[level, 1 - mover], first % len(images)]
    back = group.inverse[product[history.turns[level, mover], closure.turns[i]]]
    mine, above, steps = _lineage(part, closure.last[i], room.own), -1, 0
    world, after = room.worlds[0], closure.worlds[i]
    for a in range(len(world)):
        world[a] = uint64(0)
    begin(game, world)
    closure.seen[i] = NOTHING
    while True:
        acting = player(game, world)
        if acting == mover:
            if mine == 0:
                break
            mine -= 1
            action = room.own[mine]
        elif acting == CHANCE:
            above += 1
            while opens.movers[history.opens[above]] != CHANCE:
                above += 1
            action = images[back, history.outcomes[above, history.done[above] - 1]]
        else:
            theirs -= 1
            action = images[product[back, other_turn], room.other[theirs]]
        closure.pasts[i, steps] = action
        steps += 1
        transition(game, world, action, after)
        if acting == mover and mine == 0:
            closure.seen[i] = observe(game, world, action, after, mover)
            landed = open_number(game, after, closure.pasts[i], steps, images[0], -1, desk)
            opens.seen[landed, 2 * action + mover] = closure.seen[i]
        copy_world(game, world, after)
    copy_world(game, after, world)
    closure.lengths[i] = steps


@jitable
def _known_state(game, group, part, desk, level, mover, i):
    """The information state of an item that has been met before, found without a world; -1 if it has not.

    A seat that has observed nothing since its last action knows that action, what it observed of it, and no more.
    """
    history, closure = desk.history, desk.room.closure
    last = closure.last[i]
    if last == 0 or history.memory[level, mover] != uint64(0):
        return -1
    back = group.inverse[group.product[history.turns[level, mover], closure.turns[i]]]
    landed = turned_open(game, group, history.landed[level, mover], back, desk)
    seen = desk.opens.seen[landed, 2 * int64(part.sequences.actions[last]) + mover]
    return _state_after(part, last, seen) if seen != NOTHING else -1


@jitable
def _state_after(part, last, seen):
    """The information state after a sequence and what the seat observed of its last action; -1 if it is not known."""
    state = int64(part.sequences.heads[last]) - 1
    while state >= 0 and part.states.seen[state] != seen:
        state = int64(part.states.following[state]) - 1
    return state


@jitable
def _state_of(game, group, part, room, mover, i, k, by_key):
    """The information state of an item with a world and k legal actions; a new one is added, with its sequences.

    It is known by its last sequence and what the seat observed of it, or by its key, if the seat observed more.
    """
    states, sequences, closure, actions, counts = part.states, part.sequences, room.closure, room.actions, part.counts
    last = closure.last[i]
    fixed, reps, name, slot = int64(sequences.kept[last]), 0, uint64(0), 0
    for j in range(k):
        image, _ = first_image(group, fixed, actions[j])
        if image == actions[j]:
            room.ranks[j] = reps
            reps += 1
    if by_key:
        name = uint64(key(game, closure.worlds[i], mover))
        slot = find_slot(part.keyed.keys, name)
        if slot >= 0:
            return int64(part.keyed.numbers[slot])
    else:
        state = _state_after(part, last, closure.seen[i])
        if state >= 0:
            return state
    state, begin_at = counts[STATES], counts[SEQUENCES]
    states.begins[state], states.parents[state] = begin_at, last
    if by_key:
        enter(part.keyed, slot, name, state)
        counts[KEYED] += 1
    else:
        states.seen[state], states.following[state] = closure.seen[i], sequences.heads[last]
        sequences.heads[last] = state + 1
    states.lengths[state] = closure.lengths[i]
    for a in range(closure.lengths[i]):
        states.pasts[state, a] = closure.pasts[i, a]
    for j in range(k):
        image, _ = first_image(group, fixed, actions[j])
        if image == actions[j]:
            s = begin_at + room.ranks[j]
            sequences.kept[s] = _fixing(group, fixed, image)
            sequences.actions[s], sequences.owners[s], sequences.heads[s] = image, state, 0
    counts[STATES] += 1
    counts[SEQUENCES] += reps
    return state


@jitable
def _add_link(links, state, parent, counts):
    links.states[counts[LINKS]], links.parents[counts[LINKS]] = state, parent
    counts[LINKS] += 1


@jitable
def _note_transition(game, group, desk, seen, mover, i, action):
    """Note what an action does in a laid-open world: that of item i in the list's mirror image."""
    closure, opens, world, after = desk.room.closure, desk.opens, desk.room.worlds[1], desk.room.worlds[2]
    image = group.images[closure.turns[i]]
    replay(game, closure.pasts[i], closure.lengths[i], image, world, after)
    transition(game, world, action, after)
    opens.heard[seen, action] = observe(game, world, action, after, 1 - mover)
    opens.after[seen, action] = 1 + open_number(game, after, closure.pasts[i], closure.lengths[i], image, action, desk)


@jitable
def _copy_actions(part, state, room):
    """Write the actions of an information state, which stand for no others; returns their number."""
    begin_at, counts = int64(part.states.begins[state]), part.counts
    k = counts[SEQUENCES] if state + 1 == counts[STATES] else int64(part.states.begins[state + 1])
    for j in range(k - begin_at):
        room.actions[j], room.ranks[j] = part.sequences.actions[begin_at + j], j
    return k - begin_at


@jitable
def _all_common(opens, seen, image, actions, k):
    """Whether these actions are known to have common transitions, for which no world is needed."""
    for j in range(k):
        now, heard = int64(opens.after[seen, image[actions[j]]]) - 1, opens.heard[seen, image[actions[j]]]
        if now < 0 or (now == seen and heard == NOTHING):
            return False
    return True


@jitable
def _kind_of(opens, seen, action, room, labels):
    """What an action does in the list's mirror image: private, or the number of a common transition; and how many."""
    now, heard = int64(opens.after[seen, action]) - 1, int64(opens.heard[seen, action])
    if now == seen and heard == NOTHING:
        return _PRIVATE, labels
    m = 0
    while m < labels and not (room.labels.opens[m] == now and room.labels.heard[m] == heard):
        m += 1
    if m == labels:
        room.labels.opens[m], room.labels.heard[m] = now, heard
        room.labels.actions[m], room.labels.heads[m] = action, -1
        labels += 1
    return m, labels


@jitable
def _expand(game, group, part, other, desk, level, mover, seen):
    """Find what the mover may do; returns the number of common transitions, or -1 without room.

    The items of its list are seen one by one. What follows from each by private actions is added from `start` on. An
    item of the list gets a world only if one is needed.
    """
    opens, history, room = desk.opens, desk.history, desk.room
    closure, moves, labels, actions = room.closure, room.moves, room.labels, room.actions
    images, product, inverse = group.images, group.product, group.inverse
    states, sequences, kinds, number = part.states, part.sequences, history.kinds[level], 0
    kinds[:] = _UNKNOWN
    items = _write_items(group, part, history, level, mover, room)
    if items < 0:
        return -1
    n, start, source, i, extras, moved = items, items, 0, 0, 0, 0
    while True:
        fixed, turn = int64(sequences.kept[closure.last[i]]), closure.turns[i]
        state, k = -1, 0
        if i < items and fixed == 1:
            state = _known_state(game, group, part, desk, level, mover, i)
            if state >= 0:
                k = _copy_actions(part, state, room)
        if i < items and not (state >= 0 and _all_common(opens, seen, images[turn], actions, k)):
            _write_world(game, group, part, other, desk, level, mover, i)
        if state < 0:
            k = legal(game, closure.worlds[i], actions)
            by_key = i < items and history.memory[level, mover] != uint64(0)
            state = _state_of(game, group, part, room, mover, i, k, by_key)
        closure.states[i] = state
        for j in range(k):
            image, how = first_image(group, fixed, actions[j])
            b = j
            if how != 0:
                b = 0
                while actions[b] != image:
                    b += 1
            sequence = int64(states.begins[state]) + room.ranks[b]
            real, now = images[turn, actions[j]], product[turn, inverse[how]]
            m = kinds[real]
            if m == _UNKNOWN:
                if opens.after[seen, real] == 0:
                    _note_transition(game, group, desk, seen, mover, i, real)
                m, number = _kind_of(opens, seen, real, room, number)
                kinds[real] = m
            if m != _PRIVATE:
                moves.last[moved], moves.turns[moved], moves.following[moved] = sequence, now, -1
                if labels.heads[m] < 0:
                    labels.heads[m] = moved
                else:
                    moves.following[labels.tails[m]] = moved
                labels.tails[m] = moved
                moved += 1
                continue
            before, after = room.worlds[0], room.worlds[2]
            replay(game, closure.pasts[i], closure.lengths[i], images[how], before, after)
            transition(game, before, image, after)
            word = uint64(position(game, after))
            b = start
            while b < n and not (closure.words[b] == word and closure.turns[b] == now):
                b += 1
            if b < n:
                moves.item[extras], moves.parent[extras] = b, sequence
                extras += 1
                continue
            if n == len(closure.last):
                return -1
            copy_world(game, closure.worlds[n], after)
            closure.last[n], closure.turns[n], closure.words[n] = sequence, now, word
            closure.lengths[n], closure.seen[n] = closure.lengths[i] + 1, observe(game, before, image, after, mover)
            for a in range(closure.lengths[i]):
                closure.pasts[n, a] = images[how, closure.pasts[i, a]]
            closure.pasts[n, closure.lengths[i]] = image
            n += 1
        i = i + 1 if i >= items else start
        if i == n:
            source += 1
            i, start = source, n
            if source == items:
                break
    for e in range(extras):
        child = closure.states[moves.item[e]]
        if child >= part.counts[BORN]:
            _add_link(part.links, child, moves.parent[e], part.counts)
    return number


@jitable
def _add_list(group, part, room, m):
    """The list of a common transition, and its turn; a new one is added."""
    moves, counts, symmetries, product = room.moves, part.counts, len(group.images), group.product
    best, how = uint64(0), 0
    for t in range(symmetries):
        name, i = uint64(1), room.labels.heads[m]
        while i >= 0:
            name ^= mix(uint64(moves.last[i] * symmetries + product[t, moves.turns[i]]))
            i = moves.following[i]
        if t == 0 or name < best:
            best, how = name, t
    best = mix(best)  # the first of several hashes is small
    slot = list_slot(part.table, part, best)
    if slot >= 0:
        return int64(part.table.numbers[slot]) - 1, group.inverse[how]
    number = counts[LISTS]
    counts[LISTS] += 1
    enter_list(part.table, slot, best, number)
    i = room.labels.heads[m]
    while i >= 0:
        part.items.codes[counts[ITEMS]] = moves.last[i] * symmetries + product[how, moves.turns[i]]
        counts[ITEMS] += 1
        i = moves.following[i]
    part.lists.rows[number], part.lists.blocks[number] = 0, 0
    part.lists.begins[number + 1] = counts[ITEMS]
    return number, group.inverse[how]


@jitable
def _add_block(group, shift, part, desk, view, labels):
    """Add what the mover may do, as far as it has been found; returns the number of the block."""
    outcomes, opens, room, counts = part.outcomes, desk.opens, desk.room, part.counts
    block, fields = counts[BLOCKS], part.blocks.fields
    counts[BLOCKS] += 1
    counts[BORN] = counts[STATES]
    part.blocks.views[block], fields[block, FIRST], fields[block, FOLLOWING] = view, counts[OUTCOMES], 0
    for m in range(labels):
        e, after, turn = counts[OUTCOMES], room.labels.opens[m], 0
        counts[OUTCOMES] += 1
        outcomes.lists[e] = SHIFTED
        if opens.movers[after] != TERMINAL or opens.payoffs[after, 0] != shift:
            outcomes.lists[e], turn = _add_list(group, part, room, m)
        outcomes.codes[e] = room.labels.actions[m] * len(group.images) + turn
    fields[block + 1, FIRST] = counts[OUTCOMES]
    return block


@jitable
def _view(name, memory, turn):
    """A hash of a laid-open world and what the mover has observed since its last action."""
    return name if memory == uint64(0) else uint64(mix(mix(memory + uint64(turn)) ^ name))


@jitable
def look_up(game, group, shift, part, other, desk, level, mover, again):
    """Find the outcomes of a level, if need be once more; returns whether there was room."""
    history = desk.history
    turn, here = history.turns[level, mover], history.lists[level, mover]
    seen = turned_open(game, group, history.opens[level], group.inverse[turn], desk)
    history.seen[level] = seen
    view = _view(desk.opens.names[seen], history.memory[level, mover], turn)
    fields, views, lists = part.blocks.fields, part.blocks.views, part.lists
    block, last = int64(lists.blocks[here]) - 1, -1
    while block >= 0 and views[block] != view:
        last, block = block, int64(fields[block, FOLLOWING]) - 1
    if block < 0 or history.alike[level] != 1 or again:
        labels = _expand(game, group, part, other, desk, level, mover, seen)
        if labels < 0:
            return False
        for m in range(labels):
            history.actions[level, m] = desk.room.labels.actions[m]
        if block < 0:
            block = _add_block(group, shift, part, desk, view, labels)
            if last < 0:
                lists.blocks[here] = block + 1
            else:
                fields[last, FOLLOWING] = block + 1
    history.begins[level] = fields[block, FIRST]
    history.sizes[level] = int64(fields[block + 1, FIRST]) - history.begins[level]
    return True
