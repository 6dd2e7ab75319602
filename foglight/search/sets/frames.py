"""Alpha-beta over sets of worlds, step by step: a stack of frames in one kernel, which can return and be resumed.

A frame is a set at which the seat decides. LOW is the smallest value found so far for the action being searched, BEST
the largest such value of the actions searched. An action is refuted once LOW is not above alpha or BEST; the set is
decided once BEST reaches beta. Values are fail-soft: a value not above alpha is an upper bound, a value not below beta
a lower bound.

The first worlds of a set form its part: the worlds that LOW of each action came from, found through the parts of the
classes below. The value of the part alone is no higher than that of the set.
"""

import numpy as np
from numpy import int64, uint64

from foglight.compile import jitable, kernel
from foglight.rules import legal
from foglight.search.sets.bound_cache import (
    FOUND_SAME,
    NONE,
    NOWHERE,
    PARTS,
    SAME,
    UPPER,
    find,
    identity_of,
    keep,
    look,
)
from foglight.search.sets.expansion import (
    ACTIONS,
    ARRIVED,
    ASK,
    ASKED,
    AT,
    BASE,
    BEGIN,
    BEST_ACTION,
    CHECK,
    CHOSEN,
    CLASS,
    CLASS_END,
    DONE,
    END,
    FOUND,
    GROW,
    IDENTITY,
    LEAVES,
    LEVEL,
    MADE,
    MOST_PARTS,
    NEXT,
    NODES,
    PART,
    PAUSE,
    PHASE,
    STAMP,
    TOP,
    TURNS,
    UNKNOWN,
    WORST,
    expand,
    gather,
    swap,
)
from foglight.tables import row_hash

ALPHA, BETA, BEST, LOW = range(4)  # columns of a frame's bounds
_ENTER, _ACT, _CLASSES, _RETURN = range(4)  # phases of the search of a frame


@kernel
def start(stack, rows, actions, turns, alpha):
    """Make these worlds, with these actions of the seat, the only frame."""
    n, words = rows.shape
    for i in range(n):
        for k in range(words):
            stack.rows[i, k] = rows[i, k]
        stack.hashes[i] = row_hash(rows[i], words, True)
    frame, bounds = stack.frames[0], stack.bounds[0]
    frame[BEGIN], frame[END], frame[BASE], frame[TURNS] = 0, n, n, turns
    frame[ACTIONS], frame[NEXT], frame[BEST_ACTION], frame[CLASS] = len(actions), 0, 0, 0
    frame[CLASS_END] = frame[PART] = 0
    for i in range(len(actions)):
        stack.actions[0, i] = actions[i]
    bounds[ALPHA], bounds[BETA], bounds[BEST], bounds[LOW] = alpha, np.inf, -np.inf, np.inf
    stack.tally[LEVEL], stack.tally[PHASE] = 0, _ACT
    stack.tally[NODES] += 1


@kernel
def advance(game, leaf, stack, cache, seat, cached, ask, check, spell):
    """Continue the search; returns why it stops and, if DONE, the value of the first frame.

    It pauses after `spell` worlds.
    """
    tally = stack.tally
    parts = cached and cache.about[PARTS] == 1
    stop = tally[LEAVES] + tally[MADE] + spell
    level, phase, value = tally[LEVEL], tally[PHASE], 0.0
    if phase == _RETURN:  # a bound has been checked
        value = stack.bounds[level, BEST]
        level -= 1
    while True:
        frame, bounds = stack.frames[level], stack.bounds[level]
        if phase == _ENTER:
            tally[NODES] += 1
            frame[PART] = 0
            if cached:
                settled, value = _known(stack, cache, level, bounds[ALPHA], bounds[BETA])
                if settled:
                    phase = _RETURN
                    if check:
                        bounds[BEST] = value
                        tally[LEVEL], tally[PHASE] = level, phase
                        return CHECK, value
                    level -= 1
                    continue
            actions = stack.actions[level]
            frame[ACTIONS] = legal(game, stack.rows[frame[BEGIN]], actions)
            first = 0
            for i in range(1, frame[ACTIONS]):
                if stack.history[actions[i]] > stack.history[actions[first]]:
                    first = i
            actions[0], actions[first] = actions[first], actions[0]
            frame[NEXT], frame[BEST_ACTION], frame[CLASS_END], bounds[BEST] = 0, 0, frame[CLASS], -np.inf
            phase = _ACT
        alpha, size = max(bounds[ALPHA], bounds[BEST]), frame[END] - frame[BEGIN]
        if phase == _ACT:
            if frame[NEXT] == frame[ACTIONS] or bounds[BEST] >= bounds[BETA]:
                value = bounds[BEST]
                stack.history[stack.actions[level, frame[BEST_ACTION]]] += 1
                if level == 0:
                    return DONE, value
                if cached:
                    _remember(stack, cache, frame, bounds, value)
                phase = _RETURN
                level -= 1
                continue
            tally[LEVEL], tally[PHASE] = level, phase
            if level + 1 == len(stack.frames):
                return GROW, 0.0
            part = min(frame[PART], MOST_PARTS)
            probing = parts and 0 < 2 * part <= size and frame[CLASS_END] > frame[CLASS]
            hit = False
            while True:
                most = part if probing else size
                action = stack.actions[level, frame[NEXT]]
                status, bounds[LOW] = expand(game, leaf, stack, seat, frame, most, action, alpha, ask)
                if status != DONE:
                    return status, 0.0
                frame[TOP], frame[AT] = frame[BASE] + tally[ARRIVED], frame[CLASS]
                if probing and tally[ASKED] == 0 and bounds[LOW] > alpha:
                    for i in range(tally[FOUND]):
                        _descend(stack, level, frame[CLASS] + i, frame[CLASS], alpha, np.inf)
                        settled, value = _known(stack, cache, level + 1, alpha, np.inf)
                        hit = settled and value <= alpha
                        if settled and not hit:
                            cache.tally[FOUND_SAME] -= 1  # its value is known, but does not refute the action
                        if hit:
                            frame[AT] = frame[CLASS] + i
                            break
                if hit or not probing or bounds[LOW] <= alpha:
                    break
                probing = False
            if bounds[LOW] <= alpha:
                frame[AT] = frame[CLASS_END]
            else:
                frame[CLASS_END] = frame[CLASS] + tally[FOUND]
            frame[CHOSEN] = UNKNOWN
            if bounds[LOW] < np.inf:
                frame[CHOSEN], stack.chosen[level, 0] = 1, tally[WORST]
            phase = tally[PHASE] = _RETURN if hit else _CLASSES
            if hit and check:
                stack.bounds[level + 1, BEST] = value
                tally[LEVEL] = level + 1
                return CHECK, value
            if tally[ASKED] > 0:
                return ASK, 0.0
            if tally[LEAVES] + tally[MADE] > stop and not hit:
                return PAUSE, 0.0
        if phase == _RETURN:
            if value < bounds[LOW]:
                bounds[LOW] = value
                _choose(stack, level, parts)
            frame[AT] += 1
            phase = _CLASSES
        if frame[AT] >= frame[CLASS_END] or bounds[LOW] <= alpha:
            if bounds[LOW] < bounds[BETA]:
                _bring_forward(stack, level, parts)
            if bounds[LOW] > bounds[BEST]:
                bounds[BEST], frame[BEST_ACTION] = bounds[LOW], frame[NEXT]
            frame[NEXT] += 1
            phase = _ACT
        else:
            _descend(stack, level, frame[AT], frame[CLASS_END], alpha, min(bounds[BETA], bounds[LOW]))
            level += 1
            phase = _ENTER


@jitable
def _descend(stack, level, number, free, alpha, beta):
    """Make a class the set of the next frame."""
    frame, child, further = stack.frames[level], stack.frames[level + 1], stack.bounds[level + 1]
    child[BEGIN], child[END], child[TURNS] = stack.classes[number]
    child[BASE], child[CLASS] = frame[TOP], free
    further[ALPHA], further[BETA] = alpha, beta


@jitable
def _known(stack, cache, level, alpha, beta):
    """Whether the cache ends the search of a frame, and the bound; the part that gave the bound moves to the front."""
    frame = stack.frames[level]
    identity = identity_of(stack.hashes, frame[BEGIN], frame[END])
    frame[IDENTITY] = int64(identity)
    stack.tally[STAMP] += 1
    table, mark = stack.tables[1], stack.tally[STAMP]
    result, value, slot = look(
        cache, table, mark, frame[TURNS], stack.hashes, frame[BEGIN], frame[END], identity, alpha, beta
    )
    size = cache.sizes[slot]
    frame[PART] = 0 if result == NONE else MOST_PARTS + 1
    if result == SAME:
        frame[PART] = size
    elif result == UPPER and size <= min(MOST_PARTS, len(cache.fresh)):
        n, places = 0, stack.chosen[level]
        for i in range(size):
            at = find(stack.hashes, frame[BEGIN], cache.signatures[slot, i], table, mark)
            if at != NOWHERE:
                places[n] = at
                n += 1
        frame[PART] = gather(stack, frame[BEGIN], 0, places, n)
    return result != NONE, value


@jitable
def _remember(stack, cache, frame, bounds, value):
    """Store the bounds found for a frame's set, and for its part."""
    begin, end, part = frame[BEGIN], frame[END], frame[PART]
    low = value if value > bounds[ALPHA] else -np.inf
    high = value if value < bounds[BETA] else np.inf
    if cache.about[PARTS] == 1 and high < np.inf and part <= MOST_PARTS and part < end - begin:
        keep(
            cache, frame[TURNS], stack.hashes, begin, begin + part, identity_of(stack.hashes, begin, begin + part),
            -np.inf, high,
        )  # fmt: skip
        if low == -np.inf:
            return
    keep(cache, frame[TURNS], stack.hashes, begin, end, uint64(frame[IDENTITY]), low, high)


@jitable
def _choose(stack, level, parts):
    """Note the worlds of a frame that its action's worst class so far comes from, or those of the class's part."""
    frame, child = stack.frames[level], stack.frames[level + 1]
    n = 1
    if parts:
        n = child[PART] if child[PART] <= MOST_PARTS else UNKNOWN
    frame[CHOSEN] = n
    for i in range(n):
        stack.chosen[level, i] = stack.origins[child[BEGIN] + i]


@jitable
def _bring_forward(stack, level, parts):
    """Bring the worlds that refute an action to the front of the frame's set, the first of them to the very front."""
    frame, places = stack.frames[level], stack.chosen[level]
    begin, first = frame[BEGIN], places[0]
    if not parts:
        swap(stack, begin, begin + first)
    elif frame[CHOSEN] == UNKNOWN:
        frame[PART] = max(frame[PART], MOST_PARTS + 1)
    else:
        front = frame[PART]
        frame[PART] = gather(stack, begin, front, places, frame[CHOSEN])
        swap(stack, begin, begin + (first if first < min(front, MOST_PARTS) else min(front, MOST_PARTS - 1)))
