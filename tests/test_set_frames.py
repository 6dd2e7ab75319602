"""The pieces of a search over sets of worlds, one by one: which worlds are a set's part, and what is kept of them."""

import numpy as np
import pytest

from foglight.compile import INTERPRET_ALL
from foglight.games import load_game
from foglight.search.sets import frames as set_frames
from foglight.search.sets.bound_cache import bound_cache, identity_of, tell
from foglight.search.sets.expansion import (
    BASE,
    BEGIN,
    CHOSEN,
    CLASS,
    END,
    IDENTITY,
    MOST_PARTS,
    PART,
    STAMP,
    TOP,
    TURNS,
    UNKNOWN,
    new_stack,
)
from foglight.search.sets.frames import ALPHA, BETA

if not INTERPRET_ALL:
    pytest.skip("these pieces are compiled only as parts of a search", allow_module_level=True)
pytestmark = pytest.mark.plain

SIZE, FIRST, LEVEL = 50, 7, 2  # worlds of the set, where they begin, and its frame


@pytest.fixture
def stack():
    """A set at its frame; its worlds, their hashes and their origins tell where each of them stood."""
    stack = new_stack(load_game("phantom_ttt"), 128)
    places = np.arange(128)
    stack.rows[:] = 1000 + places[:, None]
    stack.hashes[:] = hashes_of(places)
    stack.origins[:] = (5 * places + 3) % 128
    frame = stack.frames[LEVEL]
    frame[BEGIN], frame[END], frame[TURNS], frame[PART] = FIRST, FIRST + SIZE, 3, 0
    stack.bounds[LEVEL, ALPHA], stack.bounds[LEVEL, BETA] = 0.0, 1.0
    return stack


def hashes_of(places):
    return np.array([(int(place) + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1 for place in places], np.uint64)


def order(stack):
    """Which world of the set stands where, by its place at first; all that belongs to a world moves with it."""
    rows = stack.rows[FIRST : FIRST + SIZE].astype(np.int64) - 1000 - FIRST
    assert (rows == rows[:, :1]).all() and sorted(rows[:, 0]) == list(range(SIZE))
    assert np.array_equal(stack.hashes[FIRST : FIRST + SIZE], hashes_of(rows[:, 0] + FIRST))
    assert np.array_equal(stack.origins[FIRST : FIRST + SIZE], (5 * (rows[:, 0] + FIRST) + 3) % 128)
    return rows[:, 0].tolist()


def members(*places):
    return hashes_of(np.array(places) + FIRST)


def test_a_class_becomes_the_set_of_the_next_frame(stack):
    frame, child = stack.frames[LEVEL], stack.frames[LEVEL + 1]
    stack.classes[11], stack.classes[12] = (60, 70, 1), (70, 75, 2)
    frame[TOP] = 90
    set_frames._descend(stack, LEVEL, 12, 20, -0.5, 0.75)
    assert [child[column] for column in (BEGIN, END, TURNS, BASE, CLASS)] == [70, 75, 2, 90, 20]
    assert stack.bounds[LEVEL + 1, [ALPHA, BETA]].tolist() == [-0.5, 0.75]


# Which worlds made an action as bad as it is --------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0, 1, 3, MOST_PARTS, MOST_PARTS + 1])
@pytest.mark.parametrize("parts", [False, True])
def test_the_worst_of_an_action_comes_from_the_origins_of_the_part_below(stack, parts, part):
    child = stack.frames[LEVEL + 1]
    child[BEGIN], child[END], child[PART] = 60, 110, part
    before = stack.chosen.copy()
    set_frames._choose(stack, LEVEL, parts)
    wanted = 1 if not parts else part if part <= MOST_PARTS else UNKNOWN
    assert stack.frames[LEVEL, CHOSEN] == wanted
    n = max(wanted, 0)
    assert stack.chosen[LEVEL, :n].tolist() == stack.origins[60 : 60 + n].tolist()
    before[LEVEL, :n] = stack.chosen[LEVEL, :n]
    assert np.array_equal(stack.chosen, before)


def test_without_parts_one_world_goes_to_the_front(stack):
    stack.chosen[LEVEL, 0], stack.frames[LEVEL, CHOSEN] = 9, 1
    set_frames._bring_forward(stack, LEVEL, False)
    assert order(stack) == [9, *range(1, 9), 0, *range(10, SIZE)] and stack.frames[LEVEL, PART] == 0


@pytest.mark.parametrize(("held", "after"), [(0, MOST_PARTS + 1), (5, MOST_PARTS + 1), (40, 40)])
def test_a_part_with_worlds_that_are_not_known_is_not_known(stack, held, after):
    frame = stack.frames[LEVEL]
    frame[PART], frame[CHOSEN], stack.chosen[LEVEL, 0] = held, UNKNOWN, 9
    set_frames._bring_forward(stack, LEVEL, True)
    assert frame[PART] == after and order(stack) == list(range(SIZE))


@pytest.mark.parametrize(
    ("held", "chosen"),
    [
        *((0, [9]), (0, [9, 0, 4]), (0, []), (3, [2]), (3, [1, 9]), (3, [9, 1, 20]), (3, [3, 4]), (3, [20, 3, 4])),
        *((30, [40, 41]), (31, [40]), (31, [31]), (32, [31]), (32, [5, 31]), (32, [33]), (40, [33, 2])),
    ],
)
def test_the_worlds_that_were_the_worst_join_the_part_and_one_of_them_leads(stack, held, chosen):
    frame = stack.frames[LEVEL]
    frame[PART], frame[CHOSEN] = held, len(chosen)
    stack.chosen[LEVEL, : len(chosen)] = chosen
    if not chosen:
        stack.chosen[LEVEL, 0] = 0
    set_frames._bring_forward(stack, LEVEL, True)
    worlds = order(stack)
    new = [place for place in chosen if place >= min(held, MOST_PARTS)]
    assert frame[PART] == held + len(new)
    if frame[PART] <= MOST_PARTS:
        assert set(worlds[: frame[PART]]) == {*range(held), *chosen}
    assert worlds[0] == (chosen[0] if chosen else 0)
    kept = set(worlds[: min(held, MOST_PARTS) - (held + len(new) > MOST_PARTS)])
    assert len(kept - set(range(min(held, MOST_PARTS))) - set(chosen)) == 0


# What is kept of a set and its part -----------------------------------------------------------------------------------


def kept(cache):
    """Entries of the cache: hashes, turns left, at least, at most."""
    room = len(cache.sizes) // len(cache.held)
    found = set()
    for turns in range(len(cache.held)):
        for slot in range(room * turns, room * turns + cache.held[turns, 0]):
            size = cache.sizes[slot]
            found.add((frozenset(cache.signatures[slot, :size].tolist()), turns, *cache.bounds[slot].tolist()))
    return found


ALL, NOTHING = float("inf"), -float("inf")


@pytest.mark.parametrize(
    ("value", "part", "parts", "wanted"),
    [
        # exactly this: the set has this value, its part at most this
        *((0.5, 4, True, {(SIZE, 0.5, 0.5), (4, NOTHING, 0.5)}), (0.5, 4, False, {(SIZE, 0.5, 0.5)})),
        # at most this: kept of the part alone
        *((0.0, 4, True, {(4, NOTHING, 0.0)}), (-0.5, 4, True, {(4, NOTHING, -0.5)})),
        *((-0.5, 4, False, {(SIZE, NOTHING, -0.5)}), (-0.5, 0, True, {(0, NOTHING, -0.5)})),
        *((-0.5, MOST_PARTS, True, {(MOST_PARTS, NOTHING, -0.5)}), (-0.5, SIZE, True, {(SIZE, NOTHING, -0.5)})),
        *((-0.5, MOST_PARTS + 1, True, {(SIZE, NOTHING, -0.5)}),),
        # at least this: nothing follows for the part
        *((1.0, 4, True, {(SIZE, 1.0, ALL)}), (1.5, 4, True, {(SIZE, 1.5, ALL)}), (1.5, 4, False, {(SIZE, 1.5, ALL)})),
    ],
)
def test_what_a_search_has_found_is_kept_of_the_set_or_of_its_part(stack, value, part, parts, wanted):
    cache, frame = bound_cache(4, k=64, size=8, exact=True, parts=parts), stack.frames[LEVEL]
    frame[PART], frame[IDENTITY] = part, np.int64(identity_of(stack.hashes, FIRST, FIRST + SIZE))
    set_frames._remember(stack, cache, frame, stack.bounds[LEVEL], value)
    every = [frozenset(members(*range(n)).tolist()) for n in range(SIZE + 1)]
    assert kept(cache) == {(every[n], 3, low, high) for n, low, high in wanted}


def test_a_small_set_that_is_its_own_part_is_kept_as_a_whole(stack):
    cache, frame = bound_cache(4, k=64, size=8, exact=True), stack.frames[LEVEL]
    for end, value in ((5, 0.5), (5, -0.5), (MOST_PARTS, 0.25)):
        frame[END], frame[PART] = FIRST + end, end
        frame[IDENTITY] = np.int64(identity_of(stack.hashes, FIRST, FIRST + end))
        fresh = bound_cache(4, k=64, size=8, exact=True)
        set_frames._remember(stack, fresh, frame, stack.bounds[LEVEL], value)
        whole = frozenset(members(*range(end)).tolist())
        assert kept(fresh) == {(whole, 3, value if value > 0.0 else NOTHING, value)}
    assert kept(cache) == set()


# What the cache knows of a set ----------------------------------------------------------------------------------------


def looked_up(stack, cache, alpha=0.0, beta=1.0):
    before = stack.tally[STAMP]
    found, value = set_frames._known(stack, cache, LEVEL, alpha, beta)
    assert stack.tally[STAMP] > before
    assert stack.frames[LEVEL, IDENTITY] == np.int64(identity_of(stack.hashes, FIRST, FIRST + SIZE))
    return bool(found), float(value), int(stack.frames[LEVEL, PART])


def test_nothing_is_known_of_a_set_that_was_never_met(stack):
    cache = bound_cache(4, k=64, size=8, exact=True)
    stack.frames[LEVEL, PART] = 5
    assert looked_up(stack, cache) == (False, 0.0, 0) and order(stack) == list(range(SIZE))
    tell(cache, 2, members(3, 8), -1.0, -0.5)  # with another number of turns left
    assert looked_up(stack, cache) == (False, 0.0, 0)


def test_the_same_set_is_its_own_part(stack):
    cache = bound_cache(4, k=64, size=8, exact=True)
    tell(cache, 3, members(*range(SIZE)), 0.5, 0.5)
    assert looked_up(stack, cache) == (True, 0.5, SIZE) and order(stack) == list(range(SIZE))


def test_a_bound_from_below_says_nothing_of_the_part(stack):
    cache = bound_cache(4, k=64, size=8, exact=True)
    tell(cache, 3, members(*range(SIZE), 60), 2.0, ALL)
    assert looked_up(stack, cache) == (True, 2.0, MOST_PARTS + 1) and order(stack) == list(range(SIZE))


@pytest.mark.parametrize(
    ("k", "places", "part"),
    [
        *((64, [3, 8, 40], 3), (64, [0, 1], 2), (64, [1, 0, 49], 3)),
        *((64, range(10, 10 + MOST_PARTS), MOST_PARTS), (64, range(MOST_PARTS + 1), MOST_PARTS + 1)),
        *((4, [5, 6, 7, 8], 4), (8, [5, 6], 2)),
    ],
)
def test_the_part_that_gave_a_bound_from_above_comes_forward(stack, k, places, part):
    cache = bound_cache(4, k=k, size=8, exact=True)
    tell(cache, 3, members(*places), NOTHING, -0.5)
    assert looked_up(stack, cache) == (True, -0.5, part)
    if part <= MOST_PARTS:
        assert set(order(stack)[:part]) == set(places)
    else:
        assert order(stack) == list(range(SIZE))


def test_of_a_part_that_is_only_signed_for_no_world_is_known(stack):
    """A signature of k hashes is not the set itself."""
    cache = bound_cache(4, k=16, size=8, threshold=0.5, caution=0.0)
    tell(cache, 3, members(*range(20)), NOTHING, -0.5)
    assert looked_up(stack, cache) == (True, -0.5, MOST_PARTS + 1) and order(stack) == list(range(SIZE))


def test_worlds_of_a_part_that_are_not_in_the_set_are_left_out(stack):
    cache = bound_cache(4, k=64, size=8, threshold=0.5, caution=0.0)
    tell(cache, 3, members(12, 60, 30, 61, 45), NOTHING, -0.5)
    assert looked_up(stack, cache) == (True, -0.5, 3) and set(order(stack)[:3]) == {12, 30, 45}
