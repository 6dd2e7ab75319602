"""What an action makes of a set of worlds: the worlds of the seat's next decision, grouped by its observations.

The action is played in every world of the set, and then the other seat's whole turn, all of its actions in all worlds:
the other seat is assumed to know everything and to do its worst. A turn is a run of actions of one seat. Worlds in
which the game ends, or the horizon is reached, are evaluated at once; `low` is the smallest of their values, and if it
is not above alpha, nothing else matters. The other worlds form classes by the sequence of the seat's observations on
the way. Equal worlds of a class are merged; they are identified by 64-bit hashes.

A world that refutes an action moves to the front of its set, since it often refutes the next action too.
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

DONE, GROW, ASK, CHECK, PAUSE, REFUSE = range(6)  # why a kernel returns
# Places of the tally:
#   NODES, LEAVES, MADE      counters: decisions of the seat, worlds evaluated, other worlds generated
#   LEVEL, PHASE             where the search stands: the frame, and the phase of its search
#   ARRIVED, ASKED, FOUND    results of `expand`: worlds of the seat's next decision, worlds to be evaluated outside,
#                            classes
#   STAMP                    the last mark used in the hash tables
#   WORST                    the index, in the set, of the world that `low` comes from
NODES, LEAVES, MADE, LEVEL, PHASE, ARRIVED, ASKED, FOUND, STAMP, WORST = range(10)
# Columns of a frame:
#   BEGIN, END                    the rows of its set
#   BASE, TOP                     the rows of the worlds that follow the action being searched
#   TURNS                         turns left
#   ACTIONS, NEXT, BEST_ACTION    the number of actions, the index of the next one and of the best one
#   IDENTITY                      the identity of the set (`bound_cache.py`)
#   CLASS, CLASS_END, AT          the classes of the action being searched, and the next of them
#   PART                          the number of worlds at the front of the set that form its part
#   CHOSEN                        the number of worlds in `Stack.chosen`: those that LOW of the action comes from
BEGIN, END, BASE, TOP, TURNS, ACTIONS, NEXT, BEST_ACTION, IDENTITY, CLASS, CLASS_END, AT, PART, CHOSEN = range(14)
_FIRST, _LAST, _TURNS_LEFT = range(3)  # columns of a class: its rows begin and end; turns left
UNKNOWN = -1  # in place of the size of a part
MOST_PARTS = 32  # most worlds of a part
_LATER = uint64(0x5851F42D4C957F2D)  # distinguishes observations made after a turn of the other seat
_DEPTH = 24  # frames at first; the arrays double in size when they are full


class Stack(NamedTuple):
    """The sets on the path being searched, one after the other, and working memory to generate more."""

    rows: np.ndarray  # uint64[room, words]
    hashes: np.ndarray  # uint64[room]
    codes: np.ndarray  # uint64[room]: hash of the seat's observations since its last decision
    origins: np.ndarray  # int64[room]: the index, in the set before, of the world it came from
    layers: np.ndarray  # uint64[2, room, words]: worlds in which the other seat moves, current and next
    layer_hashes: np.ndarray  # uint64[room]
    layer_codes: np.ndarray  # uint64[2, room]
    layer_origins: np.ndarray  # int64[2, room]
    tables: np.ndarray  # int64[2, 2 * room]: hash tables; the index of a row, with the mark of its set
    frames: np.ndarray  # int64[depth, 14]: a set and the state of its search, columns BEGIN to CHOSEN
    bounds: np.ndarray  # float64[depth, 4]: ALPHA, BETA, BEST, LOW (`frames.py`)
    actions: np.ndarray  # int64[depth, max_legal]
    classes: np.ndarray  # int64[room, 3]: the classes of all frames, columns _FIRST to _TURNS_LEFT
    answers: np.ndarray  # int64[max_legal]: the other seat's actions
    after: np.ndarray  # uint64[2, words]
    chosen: np.ndarray  # int64[depth, MOST_PARTS]: indices of worlds of the set
    asked: np.ndarray  # uint64[room, words]: worlds at the horizon to be evaluated outside
    asked_origins: np.ndarray  # int64[room]
    history: np.ndarray  # int64[num_actions]: how often each action was best
    out: np.ndarray  # float64[2]
    random: np.ndarray  # uint64[1]
    tally: np.ndarray  # int64[10]: places NODES to WORST


def new_stack(game: Game, room: int) -> Stack:
    """A stack with room for so many worlds, a power of 2."""
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
    """The same stack with twice the room."""
    larger = new_stack(game, 2 * len(stack.rows))
    depth = 2 * len(stack.frames)
    for name in ("rows", "hashes", "codes", "origins", "classes", "history", "tally"):
        getattr(larger, name)[: len(getattr(stack, name))] = getattr(stack, name)
    parts = {name: np.resize(getattr(stack, name), (depth, getattr(stack, name).shape[1])) for name in _BY_DEPTH}
    return larger._replace(**parts)


_BY_DEPTH = ("frames", "bounds", "actions", "chosen")


@jitable
def expand(game, leaf, stack, seat, frame, most, action, alpha, ask):
    """Play the action in the first `most` worlds of a frame; returns DONE, GROW or REFUSE, and `low`.

    After DONE, the ARRIVED rows from BASE on are the worlds of the seat's next decision, sorted by class. The FOUND
    classes follow those of earlier frames, from CLASS on. ASKED worlds wait for their values. If `low` is not above
    alpha, none of this holds. WORST is the index of the world that `low` comes from.
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
    """Swap two worlds of a set."""
    for k in range(stack.rows.shape[1]):
        stack.rows[one, k], stack.rows[other, k] = stack.rows[other, k], stack.rows[one, k]
    stack.hashes[one], stack.hashes[other] = stack.hashes[other], stack.hashes[one]
    stack.origins[one], stack.origins[other] = stack.origins[other], stack.origins[one]


@jitable
def gather(stack, begin, front, places, n):
    """Bring the worlds at n indices of a set to its front, behind the `front` worlds there; returns their new number.

    A part has at most MOST_PARTS worlds: beyond that, each further world replaces the last one.
    """
    for i in range(n):
        at = places[i]
        if at < min(front, MOST_PARTS):
            continue
        goal = min(front, MOST_PARTS - 1)
        swap(stack, begin + goal, begin + at)
        for j in range(i + 1, n):
            if places[j] == goal:
                places[j] = at
        front += 1
    return front


@jitable
def _same(row, other, words):
    same = True
    for k in range(words):
        same = same and row[k] == other[k]
    return same


@jitable
def _is_new(key, code, hashes, codes, n, table, mark):
    """Whether no equal world of the same class is among the first n; if so, its index n is entered in the table."""
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
    """Sort the worlds by class, classes in the order of their first worlds; False if there is no room.

    The first `at_once` worlds came without a turn of the other seat.
    """
    base, begin, tally, which = frame[BASE], frame[CLASS], stack.tally, stack.layer_origins[0]
    table, mask = stack.tables[1], uint64(stack.tables.shape[1] - 1)
    num_classes = 0
    tally[STAMP] += 1
    for i in range(n):
        code = stack.codes[base + i]
        slot = code & mask
        number = -1
        while table[slot] >> 32 == tally[STAMP]:
            other = table[slot] & 0xFFFFFFFF
            if stack.codes[base + stack.classes[begin + other, _FIRST]] == code:
                number = other
                break
            slot = (slot + uint64(1)) & mask
        if number == -1:
            if begin + num_classes == len(stack.classes):
                return False
            number = num_classes
            table[slot] = tally[STAMP] << 32 | num_classes
            # for now, _FIRST is the first world and _LAST the number of worlds
            stack.classes[begin + num_classes, _FIRST], stack.classes[begin + num_classes, _LAST] = i, 0
            stack.classes[begin + num_classes, _TURNS_LEFT] = frame[TURNS] if i < at_once else frame[TURNS] - 2
            num_classes += 1
        which[i] = number
        stack.classes[begin + number, _LAST] += 1
    tally[FOUND] = num_classes
    if num_classes == 1:
        stack.classes[begin, _FIRST], stack.classes[begin, _LAST] = base, base + n
        return True
    at = 0
    for number in range(begin, begin + num_classes):
        size = stack.classes[number, _LAST]
        stack.classes[number, _FIRST] = stack.classes[number, _LAST] = base + at
        at += size
    for i in range(n):  # copy the worlds, then write them back in order
        stack.layer_hashes[i], stack.layer_origins[1, i] = stack.hashes[base + i], stack.origins[base + i]
        for k in range(stack.rows.shape[1]):
            stack.layers[0, i, k] = stack.rows[base + i, k]
    for i in range(n):
        at = stack.classes[begin + which[i], _LAST]
        stack.classes[begin + which[i], _LAST] += 1
        stack.hashes[at], stack.origins[at] = stack.layer_hashes[i], stack.layer_origins[1, i]
        for k in range(stack.rows.shape[1]):
            stack.rows[at, k] = stack.layers[0, i, k]
    return True
