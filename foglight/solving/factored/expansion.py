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
    lay_open,
    legal,
    observe,
    player,
    position,
    returns,
    transition,
)
from foglight.solving.factored.arrays import (
    BLOCKS,
    ITEMS,
    LINKS,
    LISTS,
    OPENS,
    OUTCOMES,
    SEQUENCES,
    STATES,
    enter,
    find_slot,
)

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
def recall(memory, observation):
    """A hash of what a seat has observed, with one more observation."""
    return memory if observation == NOTHING else mix(memory + uint64(observation) + uint64(1))


@jitable
def _replay(game, past, length, image, world, room):
    """Make `world` the world after these actions, each replaced by its image; `room` is another world."""
    for i in range(len(world)):
        room[i] = uint64(0)
    begin(game, room)
    for a in range(length):
        transition(game, room, int64(image[past[a]]), world)
        copy_world(game, room, world)
    copy_world(game, world, room)


@jitable
def open_number(game, world, past, length, image, action, table, opens, counts):
    """The number of a world when laid open; it comes after the mirror image of a past, and an action unless that is -1.

    A new one is added.
    """
    n = counts[OPENS]
    copy_world(game, opens.worlds[n], world)
    lay_open(game, opens.worlds[n])
    code = uint64(position(game, opens.worlds[n]))
    slot = find_slot(table.keys, code)
    if slot >= 0:
        return int64(table.numbers[slot])
    enter(table, slot, code, n)
    counts[OPENS], opens.movers[n], opens.lengths[n] = n + 1, player(game, world), length
    if opens.movers[n] == TERMINAL:
        returns(game, world, opens.payoffs[n])
    for a in range(length):
        opens.pasts[n, a] = image[past[a]]
    if action >= 0:
        opens.pasts[n, length] = action
        opens.lengths[n] += 1
    opens.turned[n, 0] = n + 1
    return n


@jitable
def turned_open(game, group, number, turn, table, opens, counts, worlds):
    """The number of the mirror image of a laid-open world."""
    if opens.turned[number, turn] == 0:
        image, past, length = group.images[turn], opens.pasts[number], opens.lengths[number]
        _replay(game, past, length, image, worlds[0], worlds[1])
        other = open_number(game, worlds[0], past, length, image, -1, table, opens, counts)
        opens.turned[number, turn], opens.turned[other, group.inverse[turn]] = other + 1, number + 1
    return int64(opens.turned[number, turn]) - 1


@jitable
def _lineage(found, sequence, out):
    """Write a seat's own actions up to a sequence, the last first; returns their number."""
    n = 0
    while sequence > 1:
        out[n] = found.sequences.actions[sequence]
        n += 1
        sequence = found.states.parents[found.sequences.owners[sequence]]
    return n


@jitable
def _write_items(game, group, found, history, level, mover, room):
    """Write the items of the mover's list, each with a world that fits; returns their number, or -1 without room."""
    closure, symmetries, images, product = room.closure, len(group.images), group.images, group.product
    number, turn = history.lists[level, mover], history.turns[level, mover]
    start = int64(found.lists.begins[number])
    n = int64(found.lists.begins[number + 1]) - start
    if n > len(closure.last):
        return -1
    first = int64(found.items.codes[found.lists.begins[history.lists[level, 1 - mover]]])
    others = _lineage(found, first // symmetries, room.other)
    other_turn = product[history.turns[level, 1 - mover], first % symmetries]
    for i in range(n):
        item = int64(found.items.codes[start + i])
        closure.last[i], closure.turns[i] = item // symmetries, item % symmetries
        back = group.inverse[product[turn, closure.turns[i]]]
        mine, theirs, above, steps = _lineage(found, closure.last[i], room.own), others, -1, 0
        world, after = room.worlds[0], closure.worlds[i]
        for a in range(len(world)):
            world[a] = uint64(0)
        begin(game, world)
        while True:
            acting = player(game, world)
            if acting == mover:
                if mine == 0:
                    break
                mine -= 1
                action = room.own[mine]
            elif acting == CHANCE:
                above += 1
                while found.opens.movers[history.opens[above]] != CHANCE:
                    above += 1
                action = images[back, history.outcomes[above, history.done[above] - 1]]
            else:
                theirs -= 1
                action = images[product[back, other_turn], room.other[theirs]]
            closure.pasts[i, steps] = action
            steps += 1
            transition(game, world, action, after)
            copy_world(game, world, after)
        copy_world(game, after, world)
        closure.lengths[i] = steps
    return n


@jitable
def _state_of(game, group, found, tables, mover, room, i, k, counts):
    """The information state of an item with k legal actions; a new one is added, with its sequences."""
    states, sequences, closure, actions = found.states, found.sequences, room.closure, room.actions
    last = closure.last[i]
    fixed, reps = int64(sequences.kept[last]), 0
    for j in range(k):
        image, _ = first_image(group, fixed, actions[j])
        if image == actions[j]:
            room.ranks[j] = reps
            reps += 1
    name = key(game, closure.worlds[i], mover)
    if mover == 1:
        name = mix(name)
    slot = find_slot(tables.states.keys, name)
    if slot >= 0:
        return int64(tables.states.numbers[slot])
    state, begin_at = counts[STATES], counts[SEQUENCES]
    enter(tables.states, slot, name, state)
    states.seats[state], states.begins[state], states.parents[state] = mover, begin_at, last
    states.born[state], states.lengths[state] = counts[BLOCKS], closure.lengths[i]
    for a in range(closure.lengths[i]):
        states.pasts[state, a] = closure.pasts[i, a]
    for j in range(k):
        image, _ = first_image(group, fixed, actions[j])
        if image == actions[j]:
            s = begin_at + room.ranks[j]
            sequences.kept[s] = _fixing(group, fixed, image)
            sequences.actions[s], sequences.owners[s] = image, state
            sequences.weights[s] = sequences.weights[last] * count_bits(int64(sequences.kept[s])) / count_bits(fixed)
    _add_link(found.links, state, last, counts)
    counts[STATES] += 1
    counts[SEQUENCES] += reps
    return state


@jitable
def _add_link(links, state, parent, counts):
    links.states[counts[LINKS]], links.parents[counts[LINKS]] = state, parent
    counts[LINKS] += 1


@jitable
def _kind_of(game, group, found, tables, seen, mover, room, i, action, labels, framed, counts):
    """What an action does in the list's mirror image: private, or the number of a common transition; and how many.

    worlds[1] is the item's world in that mirror image, if it is `framed`.
    """
    closure, world, after = room.closure, room.worlds[1], room.worlds[2]
    image = group.images[closure.turns[i]]
    if not framed:
        if closure.turns[i] == 0:
            copy_world(game, world, closure.worlds[i])
        else:
            _replay(game, closure.pasts[i], closure.lengths[i], image, world, after)
    transition(game, world, action, after)
    heard = observe(game, world, action, after, 1 - mover)
    now = open_number(
        game, after, closure.pasts[i], closure.lengths[i], image, action, tables.opens, found.opens, counts
    )
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
def _expand(game, group, found, tables, history, level, mover, seen, room, counts):
    """Find what the mover may do; returns the number of common transitions, or -1 without room.

    The items of its list are seen one by one. What follows from each by private actions is added from `start` on.
    """
    closure, moves, labels, actions = room.closure, room.moves, room.labels, room.actions
    images, product, inverse = group.images, group.product, group.inverse
    kinds, number = history.kinds[level], 0
    kinds[:] = _UNKNOWN
    items = _write_items(game, group, found, history, level, mover, room)
    if items < 0:
        return -1
    n, start, source, i, extras, moved = items, items, 0, 0, 0, 0
    while True:
        k = legal(game, closure.worlds[i], actions)
        state = _state_of(game, group, found, tables, mover, room, i, k, counts)
        closure.states[i] = state
        fixed, turn, framed = int64(found.sequences.kept[closure.last[i]]), closure.turns[i], False
        for j in range(k):
            image, how = first_image(group, fixed, actions[j])
            b = j
            if how != 0:
                b = 0
                while actions[b] != image:
                    b += 1
            sequence = int64(found.states.begins[state]) + room.ranks[b]
            real, now = images[turn, actions[j]], product[turn, inverse[how]]
            m = kinds[real]
            if m == _UNKNOWN:
                m, number = _kind_of(game, group, found, tables, seen, mover, room, i, real, number, framed, counts)
                kinds[real], framed = m, True
            if m != _PRIVATE:
                moves.last[moved], moves.turns[moved], moves.following[moved] = sequence, now, -1
                if labels.heads[m] < 0:
                    labels.heads[m] = moved
                else:
                    moves.following[labels.tails[m]] = moved
                labels.tails[m] = moved
                moved += 1
                continue
            after = room.worlds[2]
            if how == 0:
                transition(game, closure.worlds[i], actions[j], after)
            else:
                _replay(game, closure.pasts[i], closure.lengths[i], images[how], room.worlds[0], after)
                transition(game, room.worlds[0], image, after)
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
            closure.lengths[n] = closure.lengths[i] + 1
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
        if found.states.born[child] == counts[BLOCKS]:
            _add_link(found.links, child, moves.parent[e], counts)
    return number


@jitable
def _add_list(group, found, tables, room, m, counts):
    """The list of a common transition, and its turn; a new one is added."""
    moves, lists, items, symmetries, product = room.moves, found.lists, found.items, len(group.images), group.product
    best, how = uint64(0), 0
    for t in range(symmetries):
        name, i = uint64(1), room.labels.heads[m]
        while i >= 0:
            name ^= mix(uint64(moves.last[i] * symmetries + product[t, moves.turns[i]]))
            i = moves.following[i]
        if t == 0 or name < best:
            best, how = name, t
    best = mix(best)  # the first of several hashes is small
    slot = find_slot(tables.lists.keys, best)
    if slot >= 0:
        return int64(tables.lists.numbers[slot]), group.inverse[how]
    number = counts[LISTS]
    counts[LISTS] += 1
    enter(tables.lists, slot, best, number)
    i = room.labels.heads[m]
    while i >= 0:
        items.codes[counts[ITEMS]] = moves.last[i] * symmetries + product[how, moves.turns[i]]
        counts[ITEMS] += 1
        i = moves.following[i]
    lists.begins[number + 1] = counts[ITEMS]
    return number, group.inverse[how]


@jitable
def _add_block(group, shift, found, tables, room, labels, counts):
    """Add what the mover may do, as far as it has been found."""
    outcomes, opens = found.outcomes, found.opens
    found.blocks.begins[counts[BLOCKS]], found.blocks.sizes[counts[BLOCKS]] = counts[OUTCOMES], labels
    counts[BLOCKS] += 1
    for m in range(labels):
        e, after = counts[OUTCOMES], room.labels.opens[m]
        counts[OUTCOMES] += 1
        outcomes.opens[e], outcomes.heard[e] = after, room.labels.heard[m]
        outcomes.lists[e] = -1
        if opens.movers[after] != TERMINAL or opens.payoffs[after, 0] != shift:
            outcomes.lists[e], outcomes.turns[e] = _add_list(group, found, tables, room, m, counts)


@jitable
def look_up(game, group, shift, found, tables, history, level, mover, room, counts):
    """Find the outcomes of a level; returns whether there was room."""
    turn = history.turns[level, mover]
    seen = turned_open(
        game, group, history.opens[level], group.inverse[turn], tables.opens, found.opens, counts, room.worlds
    )
    view, blocks, here = uint64(seen), found.blocks, history.lists[level, mover]
    if history.memory[level, mover] != uint64(0):
        view = mix(mix(history.memory[level, mover] + uint64(turn)) ^ view)
    block, last = int64(found.lists.blocks[here]) - 1, -1
    while block >= 0 and blocks.views[block] != view:
        last, block = block, int64(blocks.following[block]) - 1
    if block < 0 or history.alike[level] != 1:
        labels = _expand(game, group, found, tables, history, level, mover, seen, room, counts)
        if labels < 0:
            return False
        for m in range(labels):
            history.actions[level, m] = room.labels.actions[m]
        if block < 0:
            block = counts[BLOCKS]
            if last < 0:
                found.lists.blocks[here] = block + 1
            else:
                blocks.following[last] = block + 1
            blocks.views[block] = view
            _add_block(group, shift, found, tables, room, labels, counts)
    history.begins[level], history.sizes[level] = found.blocks.begins[block], found.blocks.sizes[block]
    return True
