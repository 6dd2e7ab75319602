"""The walk that finds a factored form: over the common histories of a game, with what one seat may privately know.

A transition is *private* if it changes nothing but what its own seat knows: the world is the same when laid open, the
same seat is to move, and the other seat observes nothing. The other transitions are *common*. A common history is the
sequence of common transitions, each known by the laid-open world that it leads to and by what the other seat observes.
Where several actions give the same common transition, such as two failed tries that cost the turn, the common history
does not say which it was.

The form is right if the two seats' own actions are independent, given the common history: what an action does depends
on the laid-open world, and what is legal depends on the seat's own actions and observations. `verification` tries that
on random games.

The walk goes depth first through the common histories, once for each seat. At each it has a list of *items*: one for
each information state of the seat that fits the common history. Where a common history ends, the last sequences of the
items are a *row*; common histories in which the same sequences fit share it. Common histories with the same list and
the same laid-open world, in which the other seat has made equally many discoveries, go on alike. They are one *node* of
a graph and walked once. A discovery is an action that is not legal in the laid-open world.

Two things make the lists short. Information states that differ only in the order of private actions between two common
transitions have the same future in all common histories: they are one state here, with several parents. And common
histories and information states that a symmetry of the game takes to each other are walked and numbered once. The world
of an item is the mirror image in which the seat's own actions are the first in order among all mirror images; its
`turn` is the symmetry that leads back. Actions that a symmetry of the seat's own past takes to each other are one
sequence.
"""

from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import allocates, jitable, kernel
from foglight.randomness import mix
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    begin,
    chance,
    copy_world,
    key,
    lay_open,
    legal,
    max_legal,
    new_worlds,
    num_actions,
    num_players,
    observe,
    player,
    position,
    returns,
    transition,
)
from foglight.solving.factored.symmetry import Group
from foglight.tables import find

FINE, OVERFULL, UNFIT, TOO_LARGE = range(4)  # how a walk ended; UNFIT: items or mirror images have other transitions
_UNKNOWN, _PRIVATE = -1, -2  # kinds of an action at a common history; others are numbers of common transitions


class Walk(NamedTuple):
    """What a walk found for its seat: I information states, S sequences, N nodes.

    Sequence 0 is the root. Information states come after those that lead to them. Edges of a node are in the same order
    for both seats; those to ends that pay `shift` are left out.
    """

    keys: np.ndarray  # uint64[I]: the key of an information state, in its first order and mirror image
    begins: np.ndarray  # int64[I]: the sequence of its first action
    pasts: np.ndarray  # int16[I, length]: the actions of a history that leads there
    lengths: np.ndarray  # int64[I]: the length of that history
    fixed: np.ndarray  # int64[I]: the symmetries that leave the seat's own past as it is, as bits
    actions: np.ndarray  # int64[S]: the action of each sequence; -1 for the root
    weights: np.ndarray  # float64[S]: 1 / the number of mirror images that the sequence stands for
    links: np.ndarray  # int64[L, 2]: an information state, and a sequence that leads to it
    entries: np.ndarray  # int32[E, 2]: a row; a sequence that fits it and its turn, as sequence * symmetries + turn
    firsts: np.ndarray  # int32[N]: the first edge of each node
    counts: np.ndarray  # int16[N]: the number of its edges
    targets: np.ndarray  # int32: the node that an edge leads to; where the game ends, -1 - row * symmetries - its turn
    worths: np.ndarray  # float32: the probability of a chance outcome; at the end the payoff of seat 0 times that and
    # the number of mirror images
    rows: int
    result: int  # FINE, OVERFULL, UNFIT or TOO_LARGE


def walk(game: Game, seat: int, group: Group, length: int, shift: float, most: float) -> Walk:
    """Walk over the common histories of a game with at most `length` transitions; payoffs are less `shift`.

    A walk whose results take more than `most` bytes ends early.
    """
    room = 64
    while True:
        outcome = Walk(*_walk(game, seat, group, length + 2, room, shift, most))
        if outcome.result != OVERFULL:
            return outcome
        room *= 2


@jitable
@allocates
def longer(array):
    """An array of twice the length that begins with the same rows."""
    return np.concatenate((array, np.zeros_like(array)))


@jitable
@allocates
def _larger(table, numbers):
    """A table of keys, and the numbers of the keys, with twice as many slots."""
    keys, values = np.zeros(2 * len(table), np.uint64), np.zeros(2 * len(table), np.int32)
    for i in range(len(table)):
        if table[i] != uint64(0):
            slot = -1 - find(keys, table[i])
            keys[slot], values[slot] = table[i], numbers[i]
    return keys, values


@jitable
def first_image(group, fixed, action):
    """The first action among the images of an action under the symmetries in `fixed`, and a symmetry that gives it."""
    best, how = action, 0
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
def _count(fixed):
    n = 0
    while fixed:
        fixed &= fixed - 1
        n += 1
    return n


@kernel
def _walk(game, seat, group, levels, room, shift, most_bytes):
    images, product, inverse = group.images, group.product, group.inverse
    symmetries, most = len(images), max_legal(game)
    moves_room = room * most
    width = new_worlds(game, 1).shape[1]
    # by level: items
    worlds, count = np.zeros((levels, room, width), np.uint64), np.zeros(levels, np.int64)
    last, turn, fixed = (
        np.zeros((levels, room), np.int64),
        np.zeros((levels, room), np.int64),
        np.zeros((levels, room), np.int64),
    )
    past, lengths = np.zeros((levels, room, levels), np.int16), np.zeros((levels, room), np.int64)
    origin, row, row_turn = np.zeros(levels, np.int64), np.full(levels, -1, np.int64), np.zeros(levels, np.int64)
    # by level: the common history, in a world in which both seats have taken first actions
    common, alike = np.zeros((levels, width), np.uint64), np.zeros(levels, np.int64)
    is_discovery, discoveries = np.zeros((levels, num_actions(game)), np.bool_), np.zeros(levels, np.int64)
    effective = np.zeros(num_actions(game), np.bool_)
    kind, labels = np.zeros((levels, num_actions(game)), np.int64), np.zeros(levels, np.int64)
    codes, over = np.zeros((levels, num_actions(game)), np.uint64), np.zeros((levels, num_actions(game)), np.bool_)
    worth, share = np.zeros((levels, num_actions(game))), np.zeros((levels, most))
    choice, todo = np.zeros((levels, num_actions(game)), np.int64), np.zeros(levels, np.int64)
    # by level: items after common transitions, chained by transition
    moves, move_last = np.zeros((levels, moves_room, width), np.uint64), np.zeros((levels, moves_room), np.int64)
    move_turn = np.zeros((levels, moves_room), np.int64)
    move_item, move_action = np.zeros((levels, moves_room), np.int64), np.zeros((levels, moves_room), np.int16)
    following = np.zeros((levels, moves_room), np.int64)
    heads, tails = np.zeros((levels, num_actions(game)), np.int64), np.zeros((levels, num_actions(game)), np.int64)
    # of one closure
    words, number = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    extra_item, extra_last = np.zeros(moves_room, np.int64), np.zeros(moves_room, np.int64)
    actions, place, payoffs = np.empty(most, np.int64), np.zeros(most, np.int64), np.zeros(num_players(game))
    after, opened = new_worlds(game, 1)[0], new_worlds(game, 1)[0]
    # results
    table, numbers = np.zeros(1 << 10, np.uint64), np.zeros(1 << 10, np.int32)
    row_table, row_numbers = np.zeros(1 << 10, np.uint64), np.zeros(1 << 10, np.int32)
    keys, begins, born = np.zeros(1 << 8, np.uint64), np.zeros(1 << 8, np.int64), np.zeros(1 << 8, np.int64)
    state_past, state_length = np.zeros((1 << 8, levels), np.int16), np.zeros(1 << 8, np.int64)
    state_fixed = np.zeros(1 << 8, np.int64)
    sequence_actions, weights = np.full(1 << 9, -1, np.int64), np.ones(1 << 9)
    links, entries = np.zeros((1 << 9, 2), np.int64), np.zeros((1 << 9, 2), np.int32)
    graph, graph_numbers = np.zeros(1 << 10, np.uint64), np.zeros(1 << 10, np.int32)
    firsts, counts = np.zeros(1 << 8, np.int32), np.zeros(1 << 8, np.int16)
    targets, worths = np.zeros(1 << 9, np.int32), np.zeros(1 << 9, np.float32)
    # by level: the node, and its edges so far
    node, edges = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    edge_code, edge_target = (
        np.zeros((levels, num_actions(game)), np.uint64),
        np.zeros((levels, num_actions(game)), np.int64),
    )
    edge_worth = np.zeros((levels, num_actions(game)))
    states, sequences, num_links, num_entries, num_rows, num_nodes, num_edges = 0, 1, 0, 0, 0, 1, 0
    result = FINE

    begin(game, worlds[0, 0])
    begin(game, common[0])
    count[0], fixed[0, 0], alike[0] = 1, (1 << symmetries) - 1, (1 << symmetries) - 1
    level, fresh = 0, True
    while level >= 0:
        mover = player(game, common[level])
        if fresh:
            fresh = False
            visit = node[level] + 1
            labels[level], todo[level], edges[level] = 0, 0, 0
            kind[level, :] = _UNKNOWN
            if mover == CHANCE:
                labels[level] = chance(game, common[level], actions, share[level])
                for j in range(labels[level]):
                    choice[level, j], codes[level, j] = actions[j], uint64(j)
            else:
                copy_world(game, opened, common[level])
                lay_open(game, opened)
                open_code = position(game, opened)
                effective[:] = False
                for j in range(legal(game, opened, actions)):
                    effective[actions[j]] = True
                n = legal(game, common[level], actions)
                for j in range(n):
                    action = actions[j]
                    transition(game, common[level], action, after)
                    copy_world(game, opened, after)
                    lay_open(game, opened)
                    code = uint64(position(game, opened))
                    heard = observe(game, common[level], action, after, 1 - mover)
                    if code == open_code and heard == NOTHING and player(game, after) == mover:
                        kind[level, action] = _PRIVATE
                        continue
                    code ^= mix(uint64(heard))
                    m = 0
                    while m < labels[level] and codes[level, m] != code:
                        m += 1
                    kind[level, action] = m
                    if m == labels[level]:
                        labels[level] += 1
                        codes[level, m], choice[level, m], heads[level, m] = code, action, -1
                        is_discovery[level, m] = not effective[action]
                        over[level, m] = player(game, after) == TERMINAL
                        if over[level, m]:
                            returns(game, after, payoffs)
                            worth[level, m] = payoffs[0]
            if mover == seat:
                # the items of this level, then what follows from each by private actions, from `start` on
                n0 = count[level]
                n, start, source, i, extras, moved = n0, n0, 0, 0, 0, 0
                while True:
                    world, back = worlds[level, i], turn[level, i]
                    k = legal(game, world, actions)
                    reps = 0
                    for j in range(k):
                        image, _ = first_image(group, fixed[level, i], actions[j])
                        if image == actions[j]:
                            place[j] = reps
                            reps += 1
                    name = key(game, world, seat)
                    slot = find(table, name)
                    if slot < 0:
                        state = states
                        states += 1
                        if state == len(keys):
                            keys, begins, born = longer(keys), longer(begins), longer(born)
                            state_past, state_length = longer(state_past), longer(state_length)
                            state_fixed = longer(state_fixed)
                        keys[state], begins[state], born[state] = name, sequences, visit
                        state_past[state, :] = past[level, i]
                        state_length[state], state_fixed[state] = lengths[level, i], fixed[level, i]
                        table[-1 - slot], numbers[-1 - slot] = name, state
                        if 2 * states > len(table):
                            table, numbers = _larger(table, numbers)
                        if sequences + reps > len(weights):
                            sequence_actions, weights = longer(sequence_actions), longer(weights)
                        for j in range(k):
                            image, _ = first_image(group, fixed[level, i], actions[j])
                            if image == actions[j]:
                                times = _count(fixed[level, i]) // _count(_fixing(group, fixed[level, i], image))
                                sequence_actions[sequences + place[j]] = image
                                weights[sequences + place[j]] = weights[last[level, i]] / times
                        sequences += reps
                        if num_links == len(links):
                            links = longer(links)
                        links[num_links, 0], links[num_links, 1] = state, last[level, i]
                        num_links += 1
                    else:
                        state = int64(numbers[slot])
                    number[i] = state
                    for j in range(k):
                        image, how = first_image(group, fixed[level, i], actions[j])
                        b = 0
                        while actions[b] != image:
                            b += 1
                        sequence = begins[state] + place[b]
                        real = images[back, actions[j]]
                        m = kind[level, real]
                        if m == _UNKNOWN:  # the seat has taken other first actions in the common world
                            transition(game, world, actions[j], after)
                            copy_world(game, opened, world)
                            lay_open(game, opened)
                            code = position(game, opened)
                            copy_world(game, opened, after)
                            lay_open(game, opened)
                            heard = observe(game, world, actions[j], after, 1 - mover)
                            if position(game, opened) == code and heard == NOTHING and player(game, after) == mover:
                                m = _PRIVATE
                            else:
                                if back != 0:  # codes are of worlds that are not mirrored
                                    _replay(game, past[level, i], lengths[level, i], images[back], opened, after)
                                    transition(game, opened, real, after)
                                    copy_world(game, opened, after)
                                    lay_open(game, opened)
                                code = uint64(position(game, opened)) ^ mix(uint64(heard))
                                m = 0
                                while m < labels[level] and codes[level, m] != code:
                                    m += 1
                                if m == labels[level]:
                                    result = UNFIT
                                    break
                            kind[level, real] = m
                        if m >= 0 and over[level, m]:
                            pass
                        elif how == 0:
                            transition(game, world, actions[j], after)
                        else:
                            _replay(game, past[level, i], lengths[level, i], images[how], opened, after)
                            transition(game, opened, image, after)
                        if m == _PRIVATE:
                            word = position(game, after)
                            now = product[back, inverse[how]]
                            b = start
                            while b < n and not (words[b] == word and turn[level, b] == now):
                                b += 1
                            if b < n:
                                extra_item[extras], extra_last[extras] = b, sequence
                                extras += 1
                                continue
                            if n == room:
                                result = OVERFULL
                                break
                            copy_world(game, worlds[level, n], after)
                            last[level, n], turn[level, n], words[n] = sequence, now, word
                            fixed[level, n] = _fixing(group, fixed[level, i], image)
                            for a in range(lengths[level, i]):
                                past[level, n, a] = images[how, past[level, i, a]]
                            past[level, n, lengths[level, i]] = image
                            lengths[level, n] = lengths[level, i] + 1
                            n += 1
                        else:
                            if not over[level, m]:
                                copy_world(game, moves[level, moved], after)
                            move_last[level, moved], move_turn[level, moved] = sequence, how
                            move_item[level, moved], move_action[level, moved] = i, image
                            following[level, moved] = -1
                            if heads[level, m] < 0:
                                heads[level, m] = moved
                            else:
                                following[level, tails[level, m]] = moved
                            tails[level, m] = moved
                            moved += 1
                    if result != FINE:
                        break
                    i = i + 1 if i >= n0 else start
                    if i == n:
                        source += 1
                        i, start = source, n
                        if source == n0:
                            break
                if result != FINE:
                    break
                for e in range(extras):
                    if born[number[extra_item[e]]] == visit:
                        if num_links == len(links):
                            links = longer(links)
                        links[num_links, 0], links[num_links, 1] = number[extra_item[e]], extra_last[e]
                        num_links += 1
        if todo[level] == labels[level]:
            if num_edges + edges[level] > len(targets):
                targets, worths = longer(targets), longer(worths)
                size = 8 * num_edges + 42 * num_nodes + 8 * num_entries + 36 * num_rows
                size += (36 + 2 * levels) * states + 16 * sequences
                if size > most_bytes or num_rows * symmetries >= 1 << 31:
                    result = TOO_LARGE
                    break
            firsts[node[level]], counts[node[level]] = num_edges, edges[level]
            for e in range(edges[level]):  # ordered by their codes
                rank = 0
                for f in range(edges[level]):
                    rank += edge_code[level, f] < edge_code[level, e]
                targets[num_edges + rank], worths[num_edges + rank] = edge_target[level, e], edge_worth[level, e]
            num_edges += edges[level]
            level -= 1
            continue
        label = todo[level]
        todo[level] += 1
        action, below = choice[level, label], level + 1
        alike[below], discoveries[below], chances = alike[level], discoveries[level], 1.0
        if mover == CHANCE:
            chances = share[level, label]
        else:
            earlier, alike[below] = False, 0
            for t in range(symmetries):
                if alike[level] >> t & 1:
                    image = kind[level, images[t, action]]
                    if image < 0:
                        result = UNFIT
                    if image < label:
                        earlier = True
                    if image == label:
                        alike[below] |= 1 << t
            discoveries[below] += mover != seat and is_discovery[level, label]
            if result != FINE:
                break
            if earlier:  # a mirror image of this history was walked before
                continue
        transition(game, common[level], action, common[below])
        if mover == CHANCE:
            over[level, label] = player(game, common[below]) == TERMINAL
            if over[level, label]:
                returns(game, common[below], payoffs)
                worth[level, label] = payoffs[0]
        ended = over[level, label]
        if ended and worth[level, label] == shift:
            continue
        if mover == seat:
            n, i = 0, heads[level, label]
            while i >= 0:
                if n == room:
                    result = OVERFULL
                    break
                source, how = move_item[level, i], move_turn[level, i]
                last[below, n], turn[below, n] = move_last[level, i], product[turn[level, source], inverse[how]]
                if not ended:
                    copy_world(game, worlds[below, n], moves[level, i])
                    fixed[below, n] = _fixing(group, fixed[level, source], move_action[level, i])
                    for a in range(lengths[level, source]):
                        past[below, n, a] = images[how, past[level, source, a]]
                    past[below, n, lengths[level, source]] = move_action[level, i]
                    lengths[below, n] = lengths[level, source] + 1
                n += 1
                i = following[level, i]
            if result != FINE:
                break
            count[below], origin[below], row[below] = n, below, -1
        else:
            count[below], origin[below] = count[level], origin[level]
            for i in range(count[level]):
                last[below, i], turn[below, i] = last[level, i], turn[level, i]
                if not ended:
                    image = images[inverse[turn[level, i]], action]
                    transition(game, worlds[level, i], image, worlds[below, i])
                    fixed[below, i] = fixed[level, i]
                    for a in range(lengths[level, i]):
                        past[below, i, a] = past[level, i, a]
                    past[below, i, lengths[level, i]] = image
                    lengths[below, i] = lengths[level, i] + 1
        edge = edges[level]
        edges[level] += 1
        edge_code[level, edge] = codes[level, label]
        if not ended:
            copy_world(game, opened, common[below])
            lay_open(game, opened)
            code = uint64(position(game, opened)) ^ mix(uint64(alike[below] * levels + discoveries[below]))
            for i in range(count[below]):
                code ^= mix(mix(uint64(last[below, i] * symmetries + turn[below, i])))
            slot = find(graph, code)
            edge_worth[level, edge] = chances
            if slot >= 0:
                edge_target[level, edge] = graph_numbers[slot]
                continue
            graph[-1 - slot], graph_numbers[-1 - slot] = code, num_nodes
            edge_target[level, edge] = node[below] = num_nodes
            if num_nodes == len(firsts):
                firsts, counts = longer(firsts), longer(counts)
            num_nodes += 1
            if 2 * num_nodes > len(graph):
                graph, graph_numbers = _larger(graph, graph_numbers)
            level, fresh = below, True
            continue
        at = origin[below]
        if row[at] < 0:
            best, how = uint64(0), 0
            for t in range(symmetries):
                code = uint64(1)
                for i in range(count[below]):
                    code ^= mix(uint64(last[below, i] * symmetries + product[t, turn[below, i]]))
                if t == 0 or code < best:
                    best, how = code, t
            slot = find(row_table, best)
            if slot < 0:
                row_table[-1 - slot], row_numbers[-1 - slot], row[at] = best, num_rows, num_rows
                num_rows += 1
                if 2 * num_rows > len(row_table):
                    row_table, row_numbers = _larger(row_table, row_numbers)
                while num_entries + count[below] > len(entries):
                    entries = longer(entries)
                for i in range(count[below]):
                    entries[num_entries, 0] = row[at]
                    entries[num_entries, 1] = last[below, i] * symmetries + product[how, turn[below, i]]
                    num_entries += 1
            else:
                row[at] = int64(row_numbers[slot])
            row_turn[at] = inverse[how]
        edge_target[level, edge] = -1 - (row[at] * symmetries + row_turn[at])
        times = symmetries // _count(alike[below])
        edge_worth[level, edge] = chances * (worth[level, label] - shift) * times
    return (
        keys[:states], begins[:states], state_past[:states], state_length[:states], state_fixed[:states],
        sequence_actions[:sequences], weights[:sequences], links[:num_links], entries[:num_entries],
        firsts[:num_nodes], counts[:num_nodes], targets[:num_edges], worths[:num_edges],
        num_rows, result,
    )  # fmt: skip


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
