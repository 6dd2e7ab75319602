"""What an action makes of a set of worlds: those that the seat may face when it is asked again, by what it has seen.

The action is played in every world of the set, and then the other seat's whole turn, all of its actions in all worlds:
it is taken to know everything and to do its worst. A turn is a run of actions of one seat. Worlds that end, or reach
the horizon, are evaluated at once; the worst of them is `low`, and if it is not above alpha nothing else matters. The
others form classes by the sequence of what the seat has observed on the way. Equal worlds of a class are one; they are
known by 64-bit hashes.

The world that refutes an action goes to the front of its set, since it will often refute the next action too.
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable
from foglight.randomness import fold
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    copy_world,
    legal,
    max_legal,
    num_actions,
    num_words,
    observe,
    player,
    returns,
    step,
)
from foglight.search.leaves import evaluate
from foglight.tables import row_hash

DONE, GROW, ASK, CHECK, PAUSE, REFUSE = range(6)  # why a kernel has come back
NODES, LEAVES, MADE, LEVEL, PHASE, ARRIVED, ASKED, FOUND, STAMP, WORST = range(10)  # places of the tally
# columns of a frame: its set, where worlds that follow go and end, turns left; how many actions, the next, the best;
# the set's identity; the classes of the action that is being searched, and the next of them
# how many worlds at the front of the set are its part, and of how many the part of the action will consist
BEGIN, END, BASE, TOP, TURNS, ACTIONS, NEXT, BEST_ACTION, IDENTITY, CLASS, CLASS_END, AT, PART, CHOSEN = range(14)
UNKNOWN = -1  # of a part
MOST_PARTS = 32  # worlds of a part
_LATER = uint64(0x5851F42D4C957F2D)  # sets apart what is seen after a turn of the other seat
_DEPTH = 24  # decisions of the seat on a path, at first; room doubles when it runs out


class Stack(NamedTuple):
    """The sets on the path that is being searched, one after the other, and room for making more."""

    rows: np.ndarray  # uint64[room, words]
    hashes: np.ndarray  # uint64[room]
    codes: np.ndarray  # uint64[room]: what the seat has observed since its last decision
    origins: np.ndarray  # int64[room]: the place, in the set before, of the world from which it came
    layers: np.ndarray  # uint64[2, room, words]: worlds in which the other seat moves, now and next
    layer_hashes: np.ndarray  # uint64[room]
    layer_codes: np.ndarray  # uint64[2, room]
    layer_origins: np.ndarray  # int64[2, room]
    tables: np.ndarray  # int64[2, 2 * room]: open addressing; the place of a row, marked with the set that it is in
    frames: np.ndarray  # int64[depth, 14]: a set, and where its search stands
    bounds: np.ndarray  # float64[depth, 4]: alpha, beta, the best action so far, the worst class of this one so far
    actions: np.ndarray  # int64[depth, max_legal]
    classes: np.ndarray  # int64[room, 3]: begin, end, turns left, of the classes that frames work through
    answers: np.ndarray  # int64[max_legal]: the other seat's actions
    after: np.ndarray  # uint64[2, words]
    chosen: np.ndarray  # int64[depth, MOST_PARTS]: places of worlds of the set
    asked: np.ndarray  # uint64[room, words]: worlds at the horizon, where somebody else evaluates
    asked_origins: np.ndarray  # int64[room]
    history: np.ndarray  # int64[num_actions]: how often an action was best
    out: np.ndarray  # float64[2]
    random: np.ndarray  # uint64[1]
    tally: np.ndarray  # int64[10]


def new_stack(game: Game, room: int) -> Stack:
    """Room for so many worlds, a power of 2."""
    words, most = int(num_words(game)), int(max_legal(game))
    return Stack(
        np.zeros((room, words), np.uint64),
        np.zeros(room, np.uint64),
        np.zeros(room, np.uint64),
        np.zeros(room, np.int64),
        np.zeros((2, room, words), np.uint64),
        np.zeros(room, np.uint64),
        np.zeros((2, room), np.uint64),
        np.zeros((2, room), np.int64),
        np.zeros((2, 2 * room), np.int64),
        np.zeros((_DEPTH, 14), np.int64),
        np.zeros((_DEPTH, 4)),
        np.zeros((_DEPTH, most), np.int64),
        np.zeros((room, 3), np.int64),
        np.zeros(most, np.int64),
        np.zeros((2, words), np.uint64),
        np.zeros((_DEPTH, MOST_PARTS), np.int64),
        np.zeros((room, words), np.uint64),
        np.zeros(room, np.int64),
        np.zeros(int(num_actions(game)), np.int64),
        np.zeros(2),
        np.zeros(1, np.uint64),
        np.zeros(10, np.int64),
    )


def grown(game: Game, stack: Stack) -> Stack:
    """The same with twice the room."""
    larger = new_stack(game, 2 * len(stack.rows))
    depth = 2 * len(stack.frames)
    for name in ("rows", "hashes", "codes", "origins", "classes", "history", "tally"):
        getattr(larger, name)[: len(getattr(stack, name))] = getattr(stack, name)
    parts = {name: np.resize(getattr(stack, name), (depth, getattr(stack, name).shape[1])) for name in _BY_DEPTH}
    return larger._replace(**parts)


_BY_DEPTH = ("frames", "bounds", "actions", "chosen")


@jitable
def expand(game, leaf, stack, seat, frame, most, action, alpha, ask):
    """Play the action in the first `most` worlds of a frame: DONE, GROW or REFUSE, and the worst of what was settled.

    ARRIVED rows from BASE on are then the worlds that the seat may face, those of a class together. FOUND classes
    follow those of earlier frames, from CLASS on. ASKED worlds wait for their values. If `low` is not above alpha,
    there is nothing of this. WORST is the place of the world that `low` comes from.
    """
    begin, base, turns = frame[BEGIN], frame[BASE], frame[TURNS]
    words, room, tally = stack.rows.shape[1], len(stack.rows), stack.tally
    hashes, codes = stack.hashes[base:], stack.codes[base:]
    arrived, asked, at_once, low = 0, 0, 0, np.inf
    tally[STAMP] += 1
    tally[ARRIVED] = tally[ASKED] = tally[FOUND] = 0
    mark = tally[STAMP]
    here, there, parents, first = 0, 1, most, True
    while parents > 0:
        following = 0
        tally[STAMP] += 1
        for i in range(parents):
            if first:
                parent, code, origin, choices = stack.rows[begin + i], uint64(0), i, 1
                stack.answers[0] = action
            else:
                parent, code, origin = stack.layers[here, i], stack.layer_codes[here, i], stack.layer_origins[here, i]
                choices = legal(game, parent, stack.answers)
            last_code = uint64(0)
            for j in range(choices):
                after = stack.after[j & 1]
                copy_world(game, after, parent)
                step(game, after, stack.answers[j])
                seen = observe(game, parent, stack.answers[j], after, seat)
                new_code = code if seen == NOTHING else uint64(fold(code, seen))
                if j > 0 and new_code == last_code and _same(after, stack.after[1 - (j & 1)], words):
                    continue
                last_code = new_code
                mover = player(game, after)
                if mover == CHANCE:
                    return REFUSE, low
                left = turns - 1
                if mover == seat:
                    left = turns if first else turns - 2
                if mover == TERMINAL or left == 0:
                    tally[LEAVES] += 1
                    if mover != TERMINAL and ask:
                        if asked == room:
                            return GROW, low
                        for k in range(words):
                            stack.asked[asked, k] = after[k]
                        stack.asked_origins[asked] = origin
                        asked += 1
                        continue
                    if mover == TERMINAL:
                        returns(game, after, stack.out)
                        value = leaf.win * stack.out[seat]
                    else:
                        evaluate(leaf, game, after, stack.random, stack.out)
                        value = stack.out[seat]
                    if value < low:
                        low, tally[WORST] = value, origin
                        if low <= alpha:
                            return DONE, low
                    continue
                tally[MADE] += 1
                key = uint64(row_hash(after, words, True))
                if mover == seat:
                    if base + arrived == room:
                        return GROW, low
                    if not first:
                        new_code ^= _LATER
                    if _is_new(key, new_code, hashes, codes, arrived, stack.tables[0], mark):
                        for k in range(words):
                            stack.rows[base + arrived, k] = after[k]
                        hashes[arrived], codes[arrived], stack.origins[base + arrived] = key, new_code, origin
                        arrived += 1
                else:
                    if following == room:
                        return GROW, low
                    if _is_new(
                        key,
                        new_code,
                        stack.layer_hashes,
                        stack.layer_codes[there],
                        following,
                        stack.tables[1],
                        tally[STAMP],
                    ):
                        for k in range(words):
                            stack.layers[there, following, k] = after[k]
                        stack.layer_hashes[following], stack.layer_codes[there, following] = key, new_code
                        stack.layer_origins[there, following] = origin
                        following += 1
        if first:
            at_once = arrived
        here, there, parents, first = there, here, following, False
    tally[ARRIVED], tally[ASKED] = arrived, asked
    if arrived > 0 and not _group(stack, frame, arrived, at_once):
        return GROW, low
    return DONE, low


@jitable
def swap(stack, one, other):
    """Let two worlds of a set change places."""
    for k in range(stack.rows.shape[1]):
        stack.rows[one, k], stack.rows[other, k] = stack.rows[other, k], stack.rows[one, k]
    stack.hashes[one], stack.hashes[other] = stack.hashes[other], stack.hashes[one]
    stack.origins[one], stack.origins[other] = stack.origins[other], stack.origins[one]


@jitable
def gather(stack, begin, held, places, n):
    """Bring the worlds at n places of a set to its front, behind the `held` that are there; how many are there then.

    There are at most MOST_PARTS; of more, the last ones change.
    """
    for i in range(n):
        at = places[i]
        if at < min(held, MOST_PARTS):
            continue
        goal = min(held, MOST_PARTS - 1)
        swap(stack, begin + goal, begin + at)
        for j in range(i + 1, n):
            if places[j] == goal:
                places[j] = at
        held += 1
    return held


@jitable
def _same(row, other, words):
    same = True
    for k in range(words):
        same = same and row[k] == other[k]
    return same


@jitable
def _is_new(key, code, hashes, codes, n, table, mark):
    """Whether no equal world of the same class is among the first n; if so, n is noted as its place."""
    mask = uint64(len(table) - 1)
    slot = (key ^ code) & mask
    while table[slot] >> 32 == mark:
        i = table[slot] & 0xFFFFFFFF
        if hashes[i] == key and codes[i] == code:
            return False
        slot = (slot + uint64(1)) & mask
    table[slot] = mark << 32 | n
    return True


@jitable
def _group(stack, frame, n, at_once):
    """Bring the worlds of each class together, classes in the order of their first worlds; False if there is no room.

    The first `at_once` worlds came without a turn of the other seat.
    """
    base, begin, tally, which = frame[BASE], frame[CLASS], stack.tally, stack.layer_origins[0]
    table, mask = stack.tables[1], uint64(stack.tables.shape[1] - 1)
    found = 0
    tally[STAMP] += 1
    for i in range(n):
        code = stack.codes[base + i]
        slot = code & mask
        number = -1
        while table[slot] >> 32 == tally[STAMP]:
            other = table[slot] & 0xFFFFFFFF
            if stack.codes[base + stack.classes[begin + other, 0]] == code:
                number = other
                break
            slot = (slot + uint64(1)) & mask
        if number == -1:
            if begin + found == len(stack.classes):
                return False
            number = found
            table[slot] = tally[STAMP] << 32 | found
            stack.classes[begin + found, 0], stack.classes[begin + found, 1] = i, 0  # first world, how many
            stack.classes[begin + found, 2] = frame[TURNS] if i < at_once else frame[TURNS] - 2
            found += 1
        which[i] = number
        stack.classes[begin + number, 1] += 1
    tally[FOUND] = found
    if found == 1:
        stack.classes[begin, 0], stack.classes[begin, 1] = base, base + n
        return True
    at = 0
    for number in range(begin, begin + found):
        size = stack.classes[number, 1]
        stack.classes[number, 0] = stack.classes[number, 1] = base + at
        at += size
    for i in range(n):  # a copy, and back in order
        stack.layer_hashes[i], stack.layer_origins[1, i] = stack.hashes[base + i], stack.origins[base + i]
        for k in range(stack.rows.shape[1]):
            stack.layers[0, i, k] = stack.rows[base + i, k]
    for i in range(n):
        at = stack.classes[begin + which[i], 1]
        stack.classes[begin + which[i], 1] += 1
        stack.hashes[at], stack.origins[at] = stack.layer_hashes[i], stack.layer_origins[1, i]
        for k in range(stack.rows.shape[1]):
            stack.rows[at, k] = stack.layers[0, i, k]
    return True
