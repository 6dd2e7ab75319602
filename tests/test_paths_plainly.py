"""Paths, steered paths and what is settled on them, beside slow versions that draw the same random numbers.

The slow versions keep dictionaries and lists where the library keeps tables, and move worlds with `transition`, which
tells every viewer everything. Here paths are few, so that most actions of most histories were never tried.
"""

import functools
import random
from itertools import pairwise

import numpy as np
import pytest

import foglight as fl
from foglight.randomness import below, fold, generator, unit
from foglight.rules import deal, key, legal, max_legal, new_worlds, num_players, player, step, transition
from foglight.search.leaves import evaluate, minimax, rollout
from foglight.search.paths import information_set_search
from foglight.search.paths.information_set_search import _choose, _settle, search
from foglight.search.paths.open_worlds import try_every_action
from foglight.search.paths.sampling import Paths, advance, first_of, new_paths, sample
from foglight.search.paths.steered import _find, _promising, halve, new_states, walk
from foglight.worlds.tracker import Tracker

THREE_SEATS = "oh_hell(players=3,suits=1,ranks=4,tricks=1)"

ROOTS = {
    "kuhn": ("kuhn_poker", ()),
    "leduc": ("leduc_poker", ()),
    "goofspiel": ("goofspiel(cards=3)", (1,)),
    "three": (THREE_SEATS, ()),
    "phantom": ("phantom_ttt", (4, 4)),
}


@functools.cache
def root(name):
    """A game, the worlds that the seat to move holds possible, and weights that nothing ties."""
    game, played = ROOTS[name]
    state = fl.new_state(game)
    rng = random.Random(game)
    while state.player == fl.CHANCE:
        state.play(rng.choice(state.actions()))
    for action in played:
        state.play(action)
    tracker = Tracker(state.game, state.player)
    for observation in state.observations(state.player):
        tracker.observe(observation)
    rows = tracker.worlds().rows
    weights = np.array([rng.random() + 0.2 for _ in rows])
    return state.game, rows, weights / weights.sum()


def order(weights, offset, n):
    """Systematic sampling: n marks at equal distance; the last world stands for what is missing."""
    marks = (offset + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(weights), marks, "right"), len(weights) - 1)


def offered(game, world):
    actions = np.empty(max_legal(game), np.int64)
    return actions[: legal(game, world, actions)].tolist()


def dealt(game, world, draws):
    return deal(game, world, draws, np.empty(max_legal(game), np.int64), np.empty(max_legal(game)))


def after(game, world, action):
    room = new_worlds(game, 1)
    transition(game, world, action, room[0])
    return room[0]


def worth(game, leaf, world, draws):
    payoffs = np.empty(num_players(game))
    evaluate(leaf, game, world, draws, payoffs)
    return payoffs.tolist()


# Paths ----------------------------------------------------------------------------------------------------------------


def slow_sample(game, rows, weights, draws, n, depth):
    """Paths as (decisions, payoffs), a decision as (key, history, mover, size, choice)."""
    leaf, found = rollout(game), []
    for w in order(weights, unit(draws), n):
        world, history, decisions = rows[w], [int(w)], []
        while player(game, world) != fl.TERMINAL and len(decisions) < depth:
            mover = player(game, world)
            if mover == fl.CHANCE:
                action = dealt(game, world, draws)
            else:
                actions = offered(game, world)
                choice = below(draws, len(actions))
                code = 0
                for number in history:
                    code = fold(code, number)
                decisions.append((int(key(game, world, mover)), int(code), mover, len(actions), choice))
                action = actions[choice]
            history.append(int(action))
            world = after(game, world, action)
        found.append((decisions, worth(game, leaf, world.copy(), draws)))
    return found


@pytest.mark.parametrize(
    ("name", "n", "depth"),
    [
        ("kuhn", 20, 3),
        ("kuhn", 5, 1),
        ("leduc", 20, 5),
        ("goofspiel", 15, 4),
        ("three", 12, 4),
        ("phantom", 8, 5),
    ],
)
def test_a_path_is_what_happened(name, n, depth):
    game, rows, weights = root(name)
    paths, draws, again = new_paths(n + 4, depth, num_players(game)), generator(n), generator(n)
    for column in paths:
        column[:] = 99  # what nobody writes stays
    compared, at = 0, 2
    for part in (n - 1, 1):  # in two parts, each a systematic sample
        sample(game, rollout(game), rows, weights, draws, at, at + part, paths)
        for i, (decisions, payoffs) in enumerate(slow_sample(game, rows, weights, again, part, depth), start=at):
            assert paths.lengths[i] == len(decisions)
            assert paths.values[i].tolist() == payoffs
            for d, decision in enumerate(decisions):
                columns = (paths.keys, paths.histories, paths.movers, paths.sizes, paths.choices)
                assert tuple(int(column[i, d]) for column in columns) == decision
                compared += 1
            assert (paths.keys[i, len(decisions) :] == 99).all()
        at += part
    assert draws[0] == again[0]
    assert compared >= n
    for column in paths:
        assert (column[:2] == 99).all() and (column[-2:] == 99).all()


def test_worlds_whose_weights_do_not_quite_add_up():
    game, rows, weights = root("leduc")
    short = weights * 0.9
    paths = new_paths(50, 1, 2)
    sample(game, rollout(game), rows, short, generator(1), 0, 50, paths)
    taken = order(short, unit(generator(1)), 50)
    assert paths.histories[:, 0].tolist() == [int(fold(np.uint64(0), w)) for w in taken]
    assert (taken == len(rows) - 1).sum() >= 5


@pytest.mark.parametrize("first", [0.25, 0.75])
def test_a_mark_at_the_end_of_a_world_is_the_next_ones(first):
    states = [fl.new_state("kuhn_poker") for _ in range(2)]
    for state, card in zip(states, (0, 2), strict=True):  # a queen loses to one and wins against the other
        state.play(1)
        state.play(card)
    game, rows = states[0].game, np.array([state.world for state in states])
    draws = np.array([(1 << 64) - 0x9E3779B97F4A7C15], np.uint64)  # the first unit is 0: the marks are quarters
    assert unit(draws.copy()) == 0.0
    paths, weights = new_paths(4, 1, 2), np.array([first, 1.0 - first])
    sample(game, rollout(game), rows, weights, draws.copy(), 0, 4, paths)
    taken = [int(i >= 4 * first) for i in range(4)]
    assert paths.histories[:, 0].tolist() == [int(fold(np.uint64(0), w)) for w in taken]
    try_as_slowly(game, minimax(game), rows, weights, draws, 4)  # a card is known by what it wins
    learnt, slow = new_states(9, 2), SlowSteering(9, 2)
    sums, counts, rest = np.zeros(2), np.zeros(2, np.int64), (4, 3, 1.0, 1.0, np.arange(2))
    walk(game, rollout(game), learnt, rows, weights, draws.copy(), *rest, sums, counts)
    slow.walk(game, rows, weights, draws.copy(), *rest, [0.0] * 2, [0] * 2)
    assert learned(learnt) == slow.states  # the other seat's card is known by its states


def test_room_for_paths():
    paths = new_paths(5, 3, 2)
    assert [column.shape for column in paths] == [(5,), *[(5, 3)] * 5, (5, 2)]
    assert [column.dtype for column in paths] == ["int8", "uint64", "uint64", "int8", "int16", "int16", "float32"]
    assert not any(column.any() for column in paths)
    assert paths.depth == 3
    paths.lengths[:] = range(5)
    assert first_of(paths, 2).lengths.tolist() == [0, 1]
    assert all(len(column) == 2 for column in first_of(paths, 2))


@pytest.mark.parametrize("name", list(ROOTS))
def test_only_who_decides_again_is_told(name):
    game, rows, _ = root(name)
    seats, compared, draws = num_players(game), 0, generator(3)
    world = rows[0]
    while player(game, world) != fl.TERMINAL:
        moves = player(game, world) == fl.CHANCE
        action = dealt(game, world, draws) if moves else offered(game, world)[-1]
        full, bare = after(game, world, action), world.copy()
        step(game, bare, action)
        mover = player(game, full)
        for left in (0, 1, 2):
            told = set(range(seats)) if left else set()
            if left == 1 and mover >= 0:
                told = {mover}
            room = new_worlds(game, 1)
            advance(game, world, action, room[0], left)
            assert room[0, : -seats - 1].tolist() == bare[: -seats - 1].tolist()
            assert int(key(game, room[0], -1)) == int(key(game, bare, -1))
            for seat in range(seats):
                assert int(key(game, room[0], seat)) == int(key(game, full if seat in told else bare, seat))
                compared += 1
        world = full
    assert compared >= 6 * seats


# Each action in each world --------------------------------------------------------------------------------------------


def try_as_slowly(game, leaf, rows, weights, draws, n):
    fast, slow = draws.copy(), draws.copy()
    sums = np.full(max_legal(game), 0.5)
    try_every_action(game, leaf, rows, weights, fast, n, sums)
    wanted = [0.5] * max_legal(game)
    for w in order(weights, unit(slow), n):
        for k, action in enumerate(offered(game, rows[w])):
            payoffs = worth(game, leaf, after(game, rows[w], action), slow)
            wanted[k] += payoffs[player(game, rows[w])]
    assert sums.tolist() == wanted
    assert fast[0] == slow[0]
    return any(total != 0.5 for total in wanted)


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("name", list(ROOTS))
def test_every_action_is_tried_in_worlds_by_weight(name, share):
    game, rows, weights = root(name)
    assert sum(try_as_slowly(game, rollout(game), rows, weights * share, generator(n), n) for n in (1, 4, 9)) >= 2


# Steered paths --------------------------------------------------------------------------------------------------------


class SlowSteering:
    """Bandits by information state: [visits, tries by action, payoffs by action]."""

    def __init__(self, most, actions):
        self.states, self.most, self.room = {}, most, most * actions
        self.full = 0
        self.visited, self.settled, self.payoffs = [0] * 16, [0] * 16, []

    def find(self, code, m):
        """Room is for so many numbers, and for the power of 2 of states that is no less than `most`."""
        if code not in self.states:
            used = sum(len(tries) for _, tries, _ in self.states.values())
            power = 1
            while power < self.most:
                power *= 2
            if used + m > self.room or len(self.states) >= power:
                self.full += 1
                return None
            self.states[code] = [0, [0] * m, [0.0] * m]
        return self.states[code]

    def promising(self, state, explore, draws):
        visits, tries, sums = state
        m = len(tries)
        start = below(draws, m)
        turn = [(start + k) % m for k in range(m)]
        untried = [a for a in turn if tries[a] == 0]
        if untried:
            return untried[0]
        half = (max(self.payoffs) - min(self.payoffs)) / 2
        bounds = [sums[a] / tries[a] + explore * half * np.sqrt(np.log(visits)) * (1 / np.sqrt(tries[a])) for a in turn]
        return turn[bounds.index(max(bounds))]

    def walk(self, game, rows, weights, draws, n, depth, least, explore, first_moves, sums, counts):
        leaf = rollout(game)
        for w in order(weights, unit(draws), n):
            world, decisions = rows[w], []
            while player(game, world) != fl.TERMINAL and len(decisions) < depth:
                mover = player(game, world)
                if mover == fl.CHANCE:
                    action = dealt(game, world, draws)
                else:
                    actions, level, state = offered(game, world), len(decisions), None
                    if level == 0:
                        choice = first_moves[below(draws, len(first_moves))]
                    else:
                        state = self.find(int(key(game, world, mover)), len(actions))
                        known = state is not None and state[0] >= least * len(actions)
                        self.visited[level] += 1
                        self.settled[level] += known
                        choice = self.promising(state, explore, draws) if known else below(draws, len(actions))
                    decisions.append((state, mover, choice))
                    action = actions[choice]
                world = after(game, world, action)
            payoffs = worth(game, leaf, world.copy(), draws)
            self.payoffs += payoffs
            counts[decisions[0][2]] += 1
            sums[decisions[0][2]] += payoffs[decisions[0][1]]
            for state, mover, choice in decisions:
                if state is not None:
                    state[0] += 1
                    state[1][choice] += 1
                    state[2][choice] += payoffs[mover]


def learned(states):
    """The table as a dictionary."""
    found, ends = {}, sorted([*states.begins[states.keys != 0].tolist(), int(states.tally[1])])
    lengths = {first: last - first for first, last in pairwise(ends)}
    for slot in np.flatnonzero(states.keys):
        first = int(states.begins[slot])
        span = slice(first, first + lengths[first])
        found[int(states.keys[slot])] = [
            int(states.visits[slot]),
            states.counts[span].tolist(),
            states.sums[span].tolist(),
        ]
    return found


@pytest.mark.parametrize(
    ("name", "n", "depth", "least", "explore", "most", "share"),
    [
        ("kuhn", 60, 3, 1.0, 1.0, 50, 1.0),
        ("kuhn", 30, 1, 1.0, 1.0, 50, 0.8),
        ("kuhn", 60, 3, 2.5, 0.5, 3, 1.0),  # more states than there is room for
        ("leduc", 80, 5, 1.0, 0.7, 100, 1.0),
        ("leduc", 40, 5, 1.0, 0.7, 8, 0.9),
        ("goofspiel", 80, 4, 1.0, 2.0, 100, 1.0),
        ("goofspiel", 40, 3, 0.0001, 1.0, 100, 1.0),
        ("three", 40, 4, 0.5, 1.0, 60, 1.0),
        ("phantom", 30, 4, 0.2, 1.0, 60, 1.0),
    ],
)
def test_steered_paths_learn_what_slow_ones_do(name, n, depth, least, explore, most, share):
    game, rows, weights = root(name)
    m = len(offered(game, rows[0]))
    draws, again = generator(n, depth), generator(n, depth)
    states, slow = new_states(most, 2), SlowSteering(most, 2)
    sums, counts, slow_sums, slow_counts = np.zeros(m), np.zeros(m, np.int64), [0.0] * m, [0] * m
    for first_moves in (np.arange(m), np.array([m - 1])):  # all, then one that is left
        rest = (n, depth, least, explore, first_moves)
        walk(game, rollout(game), states, rows, weights * share, draws, *rest, sums, counts)
        slow.walk(game, rows, weights * share, again, *rest, slow_sums, slow_counts)
        assert draws[0] == again[0]
        assert (sums.tolist(), counts.tolist()) == (slow_sums, slow_counts)
        assert learned(states) == slow.states
        assert states.tally.tolist() == [len(slow.states), sum(len(s[1]) for s in slow.states.values()), slow.full]
        assert (states.visited.tolist(), states.settled.tolist()) == (slow.visited, slow.settled)
        assert states.spread.tolist() == [min(slow.payoffs), max(slow.payoffs)]
    assert sum(slow_counts) == 2 * n
    assert depth == 1 or sum(slow.settled) >= 5
    assert most > 10 or slow.full > 0


def test_room_for_states():
    for most, size in ((1, 2), (64, 128), (65, 256), (100, 256)):
        states = new_states(most, 3)
        assert [len(states.keys), len(states.begins), len(states.visits)] == [size] * 3
        assert [len(states.counts), len(states.sums)] == [3 * most] * 2
        assert states.tally.tolist() == [0, 0, 0]
        assert states.spread.tolist() == [np.inf, -np.inf]
        for column in states[:8]:
            assert not column.any()
    assert states.rise[[0, 1, 4095]].tolist() == pytest.approx(np.sqrt(np.log([1, 2, 4096])))
    assert states.fall[[0, 3, 4095]].tolist() == [1.0, 0.5, 1 / 64]
    assert len(states.rise) == len(states.fall) == 4096
    assert len(states.visited) == len(states.settled) == 16


def test_a_state_keeps_its_place_among_others_that_want_it():
    states = new_states(4, 3)  # 8 slots, room for 4 states and 12 numbers
    found = [_find(states, np.uint64(code), m) for code, m in ((7, 2), (15, 3), (23, 1), (6, 3))]
    assert found == [7, 0, 1, 6]
    assert states.begins[found].tolist() == [0, 2, 5, 6]
    assert [_find(states, np.uint64(code), 1) for code in (15, 23, 7, 6)] == [0, 1, 7, 6]
    assert states.tally.tolist() == [4, 9, 0]
    assert _find(states, np.uint64(2), 1) == -1  # half of the slots are taken
    assert states.tally.tolist() == [4, 9, 1]
    states = new_states(4, 3)
    assert [_find(states, np.uint64(code), m) for code, m in ((1, 8), (2, 5), (3, 4), (4, 1))] == [1, -1, 3, -1]
    assert states.tally.tolist() == [2, 12, 2]


def bandit(visits, counts, sums, spread=(-1.0, 1.0)):
    states = new_states(4, 8)
    _find(states, np.uint64(9), 3)  # another one comes first
    slot = _find(states, np.uint64(5), len(counts))
    states.visits[slot], states.spread[:] = visits, spread
    states.counts[3 : 3 + len(counts)], states.sums[3 : 3 + len(counts)] = counts, sums
    return states, slot


def test_confidence_is_no_longer_counted_behind_4096():
    """Beyond 4096 visits the bound stays what it is there: sqrt(log 4096) = 2.884, half the spread is 2."""
    for explore in (0.5, 1.0):
        width = explore * 2.0 * np.sqrt(np.log(4096))
        # actions with means a and b tie if the lead makes up for the difference of the bounds
        lead = width * (1 / np.sqrt(100) - 1 / np.sqrt(4096))
        for more, wanted in ((1e-9, 1), (-1e-9, 0)):
            for visits in (4096, 10**6):
                for many in (4096, 4097, 10**6):
                    states, slot = bandit(visits, [100, many], [0.0, many * (lead + more)], (-3.0, 1.0))
                    for seed in range(4):
                        assert _promising(states, slot, 2, explore, generator(seed)) == wanted
    states, slot = bandit(4095, [100, 4095], [0.0, 0.0])
    width = np.sqrt(np.log(4095)) * (1 / np.sqrt(100) - 1 / np.sqrt(4095))
    for more, wanted in ((1e-9, 1), (-1e-9, 0)):
        states.sums[4] = 4095 * (width + more)
        assert _promising(states, slot, 2, 1.0, generator(1)) == wanted


def test_equals_are_taken_in_turn():
    """The turn begins anywhere: of equal bounds the first in turn is taken, and of actions that were never tried."""
    for counts in ([5, 5, 5, 5], [0, 0, 0, 0]):
        states, slot = bandit(20, counts, [-10.0] * 4 if counts[0] else [0.0] * 4)
        for seed in range(12):
            assert _promising(states, slot, 4, 1.0, generator(seed)) == below(generator(seed), 4)
    states, slot = bandit(20, [5, 0, 7, 0], [50.0, 0.0, 70.0, 0.0])
    for seed in range(12):
        assert _promising(states, slot, 4, 1.0, generator(seed)) == (1, 1, 3, 3)[below(generator(seed), 4)]


# What is settled on paths ---------------------------------------------------------------------------------------------


def slow_settled(paths, seat, least):
    """As the module's text says: values, visits, states, settled states and support."""
    n, depth = paths.keys.shape
    weights, values = [1.0] * n, paths.values.astype(float).tolist()
    states, settled, support = [1], [1], [n / int(paths.sizes[0, 0])]
    for level in range(depth - 1, 0, -1):
        members = {}  # paths by state
        for i in range(n):
            if level < paths.lengths[i]:
                members.setdefault(int(paths.keys[i, level]), []).append(i)
        places = sum(int(paths.sizes[here[0], level]) for here in members.values())
        states.insert(1, len(members))
        support.insert(1, sum(map(len, members.values())) / places if places else 0.0)
        settled.insert(1, 0)
        for here in members.values():
            size, mover = int(paths.sizes[here[0], level]), paths.movers[here[0], level]
            if len(here) < least * size:
                continue
            means = {}
            for a in range(size):
                took = [i for i in here if paths.choices[i, level] == a and weights[i] > 0]
                if took:
                    means[a] = sum(weights[i] * values[i][mover] for i in took) / sum(weights[i] for i in took)
            if not means:
                continue
            settled[1] += 1
            chosen = max(means, key=lambda a: means[a])
            histories = {}
            for i in here:
                histories.setdefault(int(paths.histories[i, level]), []).append(i)
            for same in histories.values():
                tried = len({int(paths.choices[i, level]) for i in same})
                took = [i for i in same if paths.choices[i, level] == chosen]
                kept = sum(weights[i] for i in took)
                mean = None
                if kept > 0:
                    mean = [sum(weights[i] * values[i][s] for i in took) / kept for s in range(len(values[0]))]
                for i in same:
                    weights[i] = size / tried * kept / len(took) if mean else 0.0
                    values[i] = mean or values[i]
    totals = {}
    for i in range(n):
        total = totals.setdefault(int(paths.choices[i, 0]), [0, 0.0, 0.0])
        total[0] += 1
        total[1] += weights[i]
        total[2] += weights[i] * values[i][seat]
    roots = [totals.get(a, [0, 0.0, 0.0]) for a in range(int(paths.sizes[0, 0]))]
    means = [total / weight if weight > 0 else np.nan for _, weight, total in roots]
    return means, [visits for visits, _, _ in roots], states, settled, support


def compare(paths, seat, least):
    found, wanted = search(paths, seat, least), slow_settled(paths, seat, least)
    assert found.values.tolist() == pytest.approx(wanted[0], abs=1e-9, nan_ok=True)
    assert [column.tolist() for column in found[1:4]] == list(wanted[1:4])
    assert found.support.tolist() == pytest.approx(wanted[4], rel=1e-12)
    return found


@pytest.mark.parametrize("least", [0.0, 1.0, 2.5])
@pytest.mark.parametrize(
    ("name", "n", "depth"),
    [
        ("kuhn", 12, 3),
        ("kuhn", 60, 4),
        ("goofspiel", 60, 5),
        ("leduc", 80, 5),
        ("three", 40, 4),
        ("phantom", 30, 4),
    ],
)
def test_few_paths_are_settled_as_slowly(name, n, depth, least):
    game, rows, weights = root(name)
    paths = new_paths(n, depth, num_players(game))
    sample(game, rollout(game), rows, weights, generator(n), 0, n, paths)
    rng = np.random.default_rng(n)
    paths.values[:] = rng.integers(-4096, 4097, paths.values.shape) / 4096  # nothing is tied
    found = compare(paths, player(game, rows[0]), least)
    assert found.states[1] > 0
    assert found.settled[1] > 0 or least > 0


def arbitrary(seed):
    """Paths of no game: three seats, states of one to three actions that any history may lead to, many dead ends.

    What lies behind the end of a path looks as if the path went on, and must not be read.
    """
    rng = random.Random(seed)
    n, depth = rng.randrange(1, 60), rng.randrange(1, 6)
    paths = new_paths(n, depth, 3)
    salt = rng.randrange(10**6)
    for i in range(n):
        history, paths.lengths[i] = (rng.randrange(2),), depth if rng.random() < 0.7 else rng.randrange(1, depth + 1)
        for d in range(depth):
            here = random.Random(f"{salt} {history}").randrange(3) if d else 0
            state = random.Random(f"{salt} {d} {here}")
            paths.sizes[i, d], paths.movers[i, d] = state.randrange(1, 4) if d else 3, state.randrange(3)
            paths.keys[i, d] = state.choice([0, state.randrange(64), state.randrange(1 << 64)]) if d else 7
            paths.keys[i, d] = 64 * (paths.keys[i, d] // np.uint64(192)) + here  # no two states of a level are one
            paths.histories[i, d] = hash(history) & ((1 << 64) - 1)
            paths.choices[i, d] = rng.randrange(paths.sizes[i, d])
            history = (*history, int(paths.choices[i, d]))
        paths.values[i] = [rng.randrange(-4096, 4097) / 4096 for _ in range(3)]
    for d in range(depth if seed % 2 else 0):  # any code does, and those of one level mean nothing on another
        paths.histories[:, d] = np.unique(paths.histories[:, d], return_inverse=True)[1]
    return paths


@pytest.mark.parametrize("least", [0.0, 2.0])
def test_arbitrary_paths_are_settled_as_slowly(least):
    compared = dropped = 0
    for seed in range(24):
        found = compare(arbitrary(seed), seed % 3, least)
        compared += 1
        dropped += bool((np.isnan(found.values) & (found.visits > 0)).any())
    assert compared == 24
    assert dropped >= 2 or least > 0  # first moves all of whose paths were dropped


def test_one_path_that_ends_early():
    paths = new_paths(1, 3, 2)
    paths.lengths[0], paths.sizes[0], paths.choices[0, 0], paths.values[0] = 2, [2, 1, 1], 1, [0.5, -0.5]
    found = compare(paths, 0, 0.0)
    assert found.support.tolist() == [0.5, 1.0, 0.0]
    assert found.states.tolist() == found.settled.tolist() == [1, 1, 0]
    assert np.isnan(found.values[0]) and found.values[1] == 0.5
    paths.sizes[0, 1] = 2  # half a path an action: settled unless somebody asks for more
    paths.choices[0, 1] = 1
    assert [search(paths, 0).settled[1], search(paths, 0, 0.5).settled[1], search(paths, 0, 0.6).settled[1]] == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize("before", [0, 1, 2])
def test_what_memory_held_before_does_not_matter(before, monkeypatch):
    monkeypatch.setattr(information_set_search, "_settle", _settle.py_func)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=np.float64: np.full(shape, before, dtype))
    for seed in range(24, 48):
        compare(arbitrary(seed), seed % 3, 0.0)


def test_memory_may_hold_what_a_search_of_the_same_paths_left(monkeypatch):
    held, asked = [], []

    def same_as_before(shape, dtype=np.float64):
        asked.append(shape)
        if len(asked) > len(held):
            held.append(np.zeros(shape, dtype))
        return held[len(asked) - 1]

    monkeypatch.setattr(information_set_search, "_settle", _settle.py_func)
    monkeypatch.setattr(np, "empty", same_as_before)
    for seed in range(40):
        paths = arbitrary(seed)
        held.clear()
        for turned in (paths, Paths(*(column[::-1] for column in paths)), paths):
            asked.clear()
            compare(turned, seed % 3, 0.0)
        assert len(asked) == len(held) > 0


def test_of_equal_means_the_first_is_chosen():
    sums = np.array([[9.0, 9.0], [1.0, -4.0], [2.0, -2.0], [9.0, -8.0], [0.0, 9.0], [9.0, 9.0]])
    taken = np.array([1.0, 2.0, 1.0, 4.0, 0.0, 1.0])
    assert _choose(sums, taken, 1, 4, 1) == 0  # -2 three times; the last was never tried
    assert _choose(sums, taken, 1, 4, 0) == 2  # 0.5, 2 and 2.25
    assert _choose(sums, taken, 4, 1, 0) == -1
    assert _choose(sums, taken, 1, 1, 1) == 0  # below 0, and yet the best


@pytest.mark.parametrize(("n", "depth"), [(1, 3), (2, 3), (5, 3), (8, 1)])
def test_the_worse_half_of_first_moves_is_dropped_again_and_again(n, depth):
    sums, counts, runs = np.zeros(n), np.zeros(n, np.int64), []
    worth = np.random.default_rng(n).permutation(n)

    def run(moves, share):
        runs.append((sorted(moves.tolist()), share))
        counts[moves] += 2
        sums[moves] += 2.0 * worth[moves]

    left = halve(n, depth, run, sums, counts)
    best = sorted(range(n), key=lambda move: -worth[move])
    assert left.tolist() == best[:2]
    learning, rounds = (0.3 if depth > 1 else 0.0), {1: 1, 2: 1, 5: 3, 8: 3}[n]
    sizes = {1: [1], 2: [2], 5: [5, 3, 2], 8: [8, 4, 2]}[n]
    shares = [learning + (1.0 - learning) * (r + 1) / rounds for r in range(rounds)]
    wanted = [(sorted(best[:size]), pytest.approx(share)) for size, share in zip(sizes, shares, strict=True)]
    assert runs == ([(list(range(n)), 0.3)] if depth > 1 else []) + wanted


def test_a_first_move_that_no_path_began_with_is_dropped_first():
    sums, counts = np.array([-3.0, 0.0, -2.0]), np.array([1, 0, 1])
    assert halve(3, 1, lambda moves, share: None, sums, counts).tolist() == [2, 0]
