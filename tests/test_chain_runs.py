"""Runs of the chains over deals beside plain Python: what is remembered, thinned, counted, and when chains settle."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from test_chains import cases, layout_of, matrix_of, states_of
from test_deals import SMALL, position

import foglight as fl
from foglight.policies import Biased, Uniform
from foglight.randomness import generator
from foglight.tables import slots_for
from foglight.worlds.deals import chains, ring_swap
from foglight.worlds.deals.chains import Chain, autocorrelation_time, r_hat, settle
from foglight.worlds.deals.count import HIDDEN, DealCount
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.ring_swap import matrices

# What RingSwap knows and remembers ------------------------------------------------------------------------------------


def test_a_puzzle_as_ring_swap_sees_it():
    """By hand: row 1 needs nothing, cards 20 and 40 have one owner that does, and 0 and 63 are the ends of a deck."""
    cards, suits = [0, 5, 9, 20, 40, 63], [0, 0, 1, 1, 0, 1]
    known = matrices(DealCount(cards, [0b1101, 0b1111, 0b0101, 0b0011, 0b1000, 0b0111], [2, 0, 2, 2]), suits)
    wanted = {
        "column_begins": [0, 2, 4],
        "cards": [0, 5, 9, 63],
        "allowed": [[1, 1], [0, 0], [1, 1], [1, 0]],
        "row_begins": [0, 2, 2, 4, 6],
        "fixed_begins": [0, 1, 1, 1, 2],
        "fixed": [20, 40],
        "column_of": [{0: 0, 5: 0, 9: 1, 63: 1}.get(card, HIDDEN) for card in range(64)],
        "owners": [{0: 13, 5: 13, 9: 5, 20: 1, 40: 8, 63: 5}.get(card, 0) for card in range(64)],
        "sizes": [0, 0],
    }
    for name, value in wanted.items():
        assert getattr(known, name).tolist() == value, name
    # keys are positive and fit into 64 bits, however many of 64 cards are in one cell
    signs = known.signs.tolist()
    assert len(set(signs)) == 8 and min(signs) > 0 and 1 + 64 * max(signs) < 1 << 63
    # all that is remembered, and so all memory; more neighbours than this, and the chain goes on by drawn rings
    matrices_most, neighbours_most = 1 << 14, 1 << 18
    shapes = {
        "slots": (4 * matrices_most,), "keys": (matrices_most,), "begins": (matrices_most + 1,),
        "shares": (neighbours_most,), "neighbours": (neighbours_most, 8), "marks": (2 * neighbours_most,),
        "marked": (neighbours_most,), "work": (8,), "ring": (2, 5),
    }  # fmt: skip
    for name, shape in shapes.items():
        assert getattr(known, name).shape == shape, name
    assert not known.slots.any() and not known.marks.any() and known.begins[0] == 0


def room_for(known, matrices_most, neighbours_most, slots, marks):
    """The same puzzle with nothing remembered yet, and this much room."""
    return known._replace(
        sizes=np.zeros(2, np.int64),
        slots=np.zeros(slots, np.int64),
        keys=np.zeros(matrices_most, np.uint64),
        begins=np.zeros(matrices_most + 1, np.int64),
        shares=np.zeros(neighbours_most),
        neighbours=np.zeros((neighbours_most, known.neighbours.shape[1]), np.int8),
        marks=np.zeros(marks, np.uint64),
        marked=np.zeros(neighbours_most, np.int64),
    )


def key_of(known, matrix):
    return 1 + sum(
        entry * sign for entry, sign in zip(np.frombuffer(matrix, np.int8).tolist(), known.signs.tolist(), strict=True)
    )


def put(table, key):
    """Put a key where a hash table has room, from its own slot on and round the end; the slot, and if it went round."""
    own = key % len(table)
    slot = next(s % len(table) for s in range(own, own + len(table)) if table[s % len(table)] in (None, key))
    table[slot] = key
    return slot, slot < own


def test_the_hash_tables_use_every_slot_and_go_round_their_end(monkeypatch):
    """Tables of as few slots as there may be beside plain ones; every so often all is forgotten."""
    rng, compared, rounds = random.Random(12), 0, Counter()
    for case in cases(rng, 30, 6, 12, 400):
        known = matrices(case.puzzle, case.suits)
        every = sorted({matrix_of(case, known, deal) for deal in states_of(case.puzzle)})
        if len(every) < 4:
            continue
        most, slots = len(every) - 1, 1 << len(every).bit_length()
        monkeypatch.setattr(ring_swap, "_MATRICES", most)
        small = room_for(known, most, most * len(every), slots, slots)
        table, numbers = [None] * slots, {}
        for matrix in [*rng.sample(every, len(every)), *rng.choices(every, k=len(every))]:
            if matrix not in numbers:
                if len(numbers) == most:
                    table, numbers = [None] * slots, {}
                numbers[matrix] = len(numbers)
            number = ring_swap._neighbours(small, np.frombuffer(matrix, np.int8))
            assert number == numbers[matrix]
            slot, round_the_end = put(table, key_of(known, matrix))
            rounds["matrices"] += round_the_end
            places = {key_of(known, m): 1 << 32 | i for m, i in numbers.items()}
            assert small.slots.tolist() == [0 if key is None else places[key] for key in table]
            if number + 1 == len(numbers):  # listed last, unless it was known before
                marks = [None] * len(small.marks)
                for i in range(small.begins[number], small.begins[number + 1]):
                    slot, round_the_end = put(marks, key_of(known, small.neighbours[i].tobytes()))
                    rounds["neighbours"] += round_the_end
                    assert small.marked[i - small.begins[number]] == slot
                    compared += 1
            assert not small.marks.any()
    assert compared > 500 and rounds["matrices"] > 5 and rounds["neighbours"] > 50


def rings_of(matrix, allowed):
    """Every ring, and the matrix it leads to: distinct rows, the lowest first, and the columns that they take."""
    rows, columns = allowed.shape
    for length in range(2, rows + 1):
        for passed in itertools.permutations(range(rows), length):
            if passed[0] == min(passed):
                for taken in itertools.product(range(columns), repeat=length):
                    changed = matrix.copy()
                    given = (taken[-1], *taken[:-1])
                    swaps = list(zip(passed, given, taken, strict=True))
                    if all(g != t and allowed[r, t] and matrix[r, g] > 0 for r, g, t in swaps):
                        for row, lost, gained in swaps:
                            changed[row, lost] -= 1
                            changed[row, gained] += 1
                        yield changed


def test_every_ring_is_walked_once(monkeypatch):
    rng, walked, compared, repeated = random.Random(13), Counter(), 0, 0
    note, swap = ring_swap._note, ring_swap._swap

    def swapped(known, row, lost, gained):
        rows, columns = known.allowed.shape
        assert row in range(rows) and lost in range(columns) and gained in range(columns) and lost != gained
        return swap(known, row, lost, gained)

    def noted(known, begin, key):
        assert key == key_of(known, known.work.tobytes())
        walked[known.work.tobytes()] += 1
        return note(known, begin, key)

    monkeypatch.setattr(ring_swap, "_note", noted)
    monkeypatch.setattr(ring_swap, "_swap", swapped)
    for case in cases(rng, 60, 12, 12, rows=(3, 4)):
        known = matrices(case.puzzle, case.suits)
        if known.allowed.shape[1] == 0:
            continue
        matrix = np.frombuffer(matrix_of(case, known, next(case.puzzle.assignments())), np.int8)
        walked.clear()
        number = ring_swap._neighbours(known, matrix)
        assert number == 0
        wanted = Counter(ring.tobytes() for ring in rings_of(matrix.reshape(known.allowed.shape), known.allowed))
        wanted[matrix.tobytes()] += 1  # no ring at all
        assert walked == wanted
        assert set(listed(known, number)) == set(wanted)
        compared += wanted.total()
        repeated += wanted.total() - len(wanted)
    assert compared > 600 and repeated > 15


def listed(known, number):
    """The neighbours of a matrix as they are remembered, each with its share."""
    begin, end = known.begins[number], known.begins[number + 1]
    shares = np.diff(known.shares[begin:end], prepend=0.0)
    return {known.neighbours[i].tobytes(): share for i, share in zip(range(begin, end), shares, strict=True)}


def test_memory_that_is_full_is_emptied_and_says_the_same(monkeypatch):
    """Room for three matrices and few neighbours beside room for all."""
    rng, compared, emptied = random.Random(2), 0, 0
    monkeypatch.setattr(ring_swap, "_MATRICES", 3)
    for case in cases(rng, 12, 6, 12, 400):
        plenty = matrices(case.puzzle, case.suits)
        if plenty.allowed.shape[1] == 0:
            continue
        every = sorted({matrix_of(case, plenty, deal) for deal in states_of(case.puzzle)})
        small = plenty._replace(
            sizes=np.zeros(2, np.int64), slots=np.zeros(16, np.int64), keys=np.zeros(3, np.uint64),
            begins=np.zeros(4, np.int64), shares=np.zeros(2 * len(every)),
            marks=np.zeros(slots_for(2 * len(every)), np.uint64),
            neighbours=np.zeros((2 * len(every), plenty.neighbours.shape[1]), np.int8),
            marked=np.zeros(2 * len(every), np.int64),
        )  # fmt: skip
        remembered, used = [], 0
        for _ in range(12):
            matrix = rng.choice(every)
            number = ring_swap._neighbours(small, np.frombuffer(matrix, np.int8))
            if matrix in remembered:
                assert number == remembered.index(matrix)
            else:
                if number < len(remembered):
                    emptied += 1
                    # only for want of room: three matrices, or as many neighbours as fit
                    assert len(remembered) == 3 or used + small.sizes[1] > len(small.shares)
                    remembered = []
                assert number == len(remembered)
                remembered.append(matrix)
            used = small.sizes[1]
            assert small.sizes[0] == len(remembered) <= 3
            plenty.sizes[:], plenty.slots[:] = 0, 0
            fresh = ring_swap._neighbours(plenty, np.frombuffer(matrix, np.int8))
            assert fresh == 0
            assert listed(small, number) == pytest.approx(listed(plenty, fresh), rel=1e-9)
            assert small.begins[len(remembered)] == small.sizes[1]
            assert not small.marks.any()
            compared += len(listed(small, number))
    assert compared > 300 and emptied > 10


def test_a_matrix_with_more_neighbours_than_there_is_room_for_is_not_listed():
    case = next(c for c in cases(random.Random(6), 50, 6, 100, 400) if not c.denied)
    known = matrices(case.puzzle, case.suits)
    matrix = np.frombuffer(matrix_of(case, known, states_of(case.puzzle)[0]), np.int8)
    needed = len(listed(known, ring_swap._neighbours(known, matrix)))
    assert needed > 2
    for room in (needed - 1, needed):
        tight = matrices(case.puzzle, case.suits)._replace(
            shares=np.zeros(room),
            neighbours=np.zeros((room, len(matrix)), np.int8),
            marked=np.zeros(room, np.int64),
        )
        number = ring_swap._neighbours(tight, matrix)
        assert number == (HIDDEN if room < needed else 0)
        assert tight.sizes.tolist() == ([0, 0] if room < needed else [1, needed])
        tight.sizes[:] = 0
        assert ring_swap._list_rings(tight, matrix, key_of(known, matrix.tobytes())) is (room == needed)


def test_a_chain_whose_matrix_has_too_many_neighbours_goes_on_by_drawn_rings():
    chain = chain_of(swaps=False)
    arguments = list(chain._arguments)
    arguments[3] = arguments[3]._replace(shares=np.zeros(1))
    chain._arguments = tuple(arguments)
    deals, patterns, weights = chain.run(7, 3)
    assert chain.swaps and chain.transitions == 21
    assert len(deals) == len(patterns) == len(weights) == 7


def test_a_run_ends_as_soon_as_there_is_no_room_for_neighbours(monkeypatch):
    """There is room for the neighbours of where the chain is, and not for those of all that it may propose; or less."""
    rng, results, proposals = random.Random(14), Counter(), []
    propose, game = ring_swap._propose, fl.load_game("spades")

    def proposed(known, random, matrix, *rest):
        proposals.append(matrix.tobytes())
        propose(known, random, matrix, *rest)

    monkeypatch.setattr(ring_swap, "_propose", proposed)
    monkeypatch.setattr(ring_swap, "reach", lambda *arguments: 1.0)
    for case in cases(rng, 20, 6, 12, 400):
        known = matrices(case.puzzle, case.suits)
        deals = {matrix_of(case, known, deal): deal for deal in states_of(case.puzzle)}
        needed = {m: len(listed(known, ring_swap._neighbours(known, np.frombuffer(m, np.int8)))) for m in deals}
        start = min(needed, key=needed.get)
        if needed[start] == max(needed.values()):
            continue
        for seed, room in [(seed, needed[start]) for seed in range(10)] + [(10, needed[start] - 1)]:
            layout, deal, weight = layout_of(case.puzzle), np.array(deals[start]), np.ones(1)
            pattern, dice = layout.pattern.copy(), generator(seed)
            tight = room_for(known, len(known.keys), room, 64, len(known.marks))
            out = (np.empty((1, len(deal)), np.int64), np.empty((1, *pattern.shape), np.int64), np.empty(1))
            proposals.clear()
            result = ring_swap._ring_swap_chain.py_func(
                game, Uniform(), layout, tight, -1, np.empty(0), dice, deal, pattern, weight, 1, out
            )
            if proposals:
                assert result in (0, 1) and needed[proposals[0]] <= room == needed[start]
            else:
                assert result == HIDDEN and deal.tolist() == list(deals[start])
            assert (room < needed[start]) == (dice[0] == generator(seed)[0])  # nothing is drawn where nothing is listed
            results[result, room < needed[start]] += 1
    assert results[HIDDEN, False] > 20 and results[1, False] > 20 and results[HIDDEN, True] > 3


# Runs -----------------------------------------------------------------------------------------------------------------


def chain_of(swaps, game=SMALL, plays=3, seed=3):
    state = position(game, plays, False)
    return DealFilter(game, state.observations(fl.PUBLIC), fl.PUBLIC, Biased(0.6, 1)).chain(seed, swaps)


@pytest.mark.parametrize("swaps", [False, True])
def test_thinning_leaves_out_and_runs_go_on_where_they_ended(swaps):
    whole, thinned, parts = (chain_of(swaps) for _ in range(3))
    every = whole.run(60)
    for mine, all_of_them in zip(thinned.run(12, 5), every, strict=True):
        assert np.array_equal(mine, all_of_them[4::5])
    for mine, all_of_them in zip(parts.run(20), every, strict=True):
        assert np.array_equal(mine, all_of_them[:20])
    accepted = parts.accepted
    went_on = parts.run(40)[0]
    assert parts.accepted > accepted and parts.transitions == 60
    if swaps:  # the first of the second run is one ring away from where the first run ended
        assert (went_on[0] != every[0][19]).sum() <= len(parts._arguments[3].row_begins) - 1
    assert whole.transitions == thinned.transitions == 60
    assert whole.accepted == thinned.accepted
    changes = (every[0][1:] != every[0][:-1]).any(1).sum()
    assert 5 < changes <= whole.accepted + 1 < 60
    assert np.array_equal(whole.deal, every[0][-1]) and whole.weight[0] == every[2][-1]


@pytest.mark.parametrize("swaps", [False, True])
def test_a_chain_knows_the_probability_of_where_it_is(swaps):
    chain = chain_of(swaps)
    state = position(SMALL, 3, False)
    deals = DealFilter(SMALL, state.observations(fl.PUBLIC), fl.PUBLIC, Biased(0.6, 1))
    drawn, patterns, weights = chain.run(50, 2)
    replayed = deals.histories.replayed(deals.histories.puzzles[0], drawn, patterns)[1]
    assert weights == pytest.approx(replayed, rel=1e-12) and len(set(weights.tolist())) > 4


def test_statistics_are_the_log_probability_and_three_functions_of_the_hands():
    chain = chain_of(swaps=True)
    deals, patterns, weights = chain.run(30, 10)
    begins = chain._arguments[3].row_begins
    statistics = chain.statistics(deals, patterns, weights)
    assert statistics.shape == (30, 4)
    assert statistics[:, 0] == pytest.approx(np.log(weights))
    scores = np.random.default_rng(0).normal(size=(3, 64, deals.shape[1]))
    for k in range(3):
        wanted = [sum(scores[k][card, place] for place, card in enumerate(deal[: begins[-2]])) for deal in deals]
        assert statistics[:, 1 + k] == pytest.approx(wanted)
    shuffled = deals.copy()
    shuffled[:, begins[-2] :] = shuffled[:, begins[-2] :][:, ::-1]  # undealt cards have no order
    assert np.array_equal(chain.statistics(shuffled, patterns, weights), statistics)
    assert np.isfinite(chain.statistics(deals, patterns, np.zeros(30))).all()


@pytest.mark.parametrize(
    ("drawn", "old", "new", "accepted"),
    [
        (0.0, 1.0, 0.0, False), (0.0, 1.0, -1.0, False), (0.0, 1.0, 0.1, True), (0.5, 2.0, 1.0, False),
        (0.5, 2.0, 1.001, True), (0.999, 1.0, 1.0, True), (0.999, 1.0, 7.0, True), (0.999, 0.0, 0.1, True),
    ],
)  # fmt: skip
def test_moves_are_accepted_by_the_ratio_of_probabilities(drawn, old, new, accepted, monkeypatch):
    monkeypatch.setattr(ring_swap, "unit", lambda random: drawn)
    assert ring_swap._accepts(None, old, new) is accepted


# Autocorrelation, and settling ---------------------------------------------------------------------------------------


def slow_time(trace):
    """1 + 2 sum of autocorrelations, in pairs (0, 1), (2, 3), ..., as long as the pairs are positive."""
    centred = [x - sum(trace) / len(trace) for x in trace]
    at = [sum(a * b for a, b in zip(centred, centred[lag:], strict=False)) for lag in range(len(trace))]
    total = 0.0
    for lag in range(0, len(trace) // 2 * 2, 2):
        pair = (at[lag] + at[lag + 1]) / at[0]
        if pair <= 0:
            break
        total += pair
    return max(1.0, 2 * total - 1)


def test_autocorrelation_times_are_those_of_the_definition():
    rng, compared = np.random.default_rng(1), 0
    for memory in (-0.8, 0.0, 0.5, 0.9, 0.99):
        for n in (50, 51, 200):
            noise, trace = rng.normal(size=n), np.zeros(n)
            for t in range(n):
                trace[t] = memory * trace[t - 1] + noise[t]
            assert autocorrelation_time(trace) == pytest.approx(slow_time(trace.tolist()), rel=1e-9)
            compared += 1
    for _ in range(300):  # short ones
        trace = rng.normal(size=rng.integers(2, 15))
        assert autocorrelation_time(trace) == pytest.approx(slow_time(trace.tolist()), rel=1e-9)
        compared += 1
    assert compared == 315
    assert autocorrelation_time(np.full(20, 3.0)) == 1.0
    late = np.array([1.0] * 4 + [0.2, -0.2] * 14 + [-1.0] * 4)  # the first pair that is negative is far from the first
    assert autocorrelation_time(late) == pytest.approx(slow_time(late.tolist()), rel=1e-9)
    assert autocorrelation_time(np.arange(5.0)) == pytest.approx(1.8)  # the third is the mean
    assert autocorrelation_time(np.arange(4.0)) == pytest.approx(slow_time([0.0, 1.0, 2.0, 3.0]))
    # an independent sequence needs about one transition a sample, one that remembers 0.9 needs (1 + 0.9) / (1 - 0.9)
    noise, trace = rng.normal(size=20_000), np.zeros(20_000)
    for t in range(1, 20_000):
        trace[t] = 0.9 * trace[t - 1] + noise[t]
    assert autocorrelation_time(noise) == pytest.approx(1.0, abs=0.3)
    assert autocorrelation_time(trace) == pytest.approx(19.0, rel=0.3)


class Told:
    """In place of a chain: its statistics are noise of a given memory; it notes what it was asked for."""

    def __init__(self, seed, memory=0.0, swaps=False, apart=0.0):
        self.rng, self.memory, self.swaps, self.apart = np.random.default_rng(seed), memory, swaps, apart
        self.asked, self.last = [], 0.0
        self.burn_in, self.thin, self.settled = 0, 1, False

    def run(self, n, thin=1):
        self.asked.append((n, thin))
        return (np.arange(n),)

    def statistics(self, numbers):
        self.told = np.zeros((len(numbers), 2))
        for i in range(len(numbers)):
            self.last = self.memory * self.last + self.rng.normal()
            self.told[i] = (self.apart + self.last, self.rng.normal())
        return self.told


def test_chains_that_agree_settle_soon():
    some = [Told(seed) for seed in range(4)]
    settle(some)
    asked = some[0].asked
    assert all(chain.asked == asked for chain in some)
    assert asked == [(256 << i, 1) for i in range(len(asked))] and len(asked) <= 4
    assert all(chain.settled and chain.burn_in == sum(n for n, _ in asked) for chain in some)
    assert len({chain.thin for chain in some}) == 1 and 2 <= some[0].thin <= 4
    slowest = max(autocorrelation_time(column) for chain in some for column in chain.told.T)
    assert some[0].thin == math.ceil(2 * slowest)


def test_slow_chains_are_burnt_in_for_longer_and_thinned_by_twice_their_time():
    """Memory 0.95 makes 39 transitions a sample: 50 times that is 1950, so a stretch of 2048 at least."""
    some = [Told(seed, memory=0.95) for seed in range(4)]
    settle(some)
    assert all(chain.settled for chain in some)
    assert some[0].asked[-1][0] * some[0].asked[-1][1] >= 2048
    assert 50 <= some[0].thin <= 400


@pytest.mark.parametrize(("swaps", "last"), [(False, 1 << 14), (True, 1 << 17)])
def test_chains_that_disagree_never_settle(swaps, last):
    some = [Told(seed, swaps=swaps, apart=0.5 * seed) for seed in range(2)]
    settle(some)
    asked = some[0].asked
    assert not any(chain.settled for chain in some)
    assert [n * thin for n, thin in asked] == [256 << i for i in range((last // 256).bit_length())]
    assert all(n <= 4096 for n, _ in asked)  # of long stretches some states are looked at
    assert [thin for _, thin in asked][-1] == last // 4096
    assert all(chain.burn_in == 2 * last - 256 for chain in some)


@pytest.mark.parametrize(
    ("time", "agreement", "stretches"),
    [(5.12, 1.0, 1), (5.13, 1.0, 2), (10.24, 1.0, 2), (10.25, 1.0, 3), (1.0, 1.0099, 1), (1.0, 1.01, 7)],
)
def test_chains_have_settled_after_50_times_their_time_if_r_hat_is_below_101(time, agreement, stretches, monkeypatch):
    """Stretches of 256, 512, ... transitions: 50 times 5.12 are 256. RingSwap's longest, 16 384, is the seventh."""
    monkeypatch.setattr(chains, "autocorrelation_time", lambda column: time)
    monkeypatch.setattr(chains, "r_hat", lambda trace: np.array([1.0, agreement]))
    some = [Told(seed) for seed in range(2)]
    settle(some)
    assert len(some[0].asked) == stretches
    assert some[0].settled == (agreement < 1.01)


def test_thinning_has_an_end():
    some = [Told(seed, memory=0.9999) for seed in range(2)]
    settle(some)
    assert some[0].thin == 2048 and not some[0].settled


def test_one_chain_settles_by_itself():
    chain = chain_of(swaps=True)
    assert isinstance(chain, Chain)
    assert (chain.transitions, chain.accepted, chain.burn_in, chain.thin, chain.settled) == (0, 0, 0, 1, False)
    chain.settle()
    assert chain.settled and chain.burn_in == chain.transitions >= 256 and chain.thin >= 2


def test_r_hat_of_an_odd_number_of_states_leaves_the_last_out():
    trace = np.random.default_rng(3).normal(size=(3, 9, 2))
    parts = np.concatenate([trace[:, :4], trace[:, 4:8]])
    within, means = parts.var(axis=1, ddof=1).mean(axis=0), parts.mean(axis=1)
    assert r_hat(trace) == pytest.approx(np.sqrt(3 / 4 + means.var(axis=0, ddof=1) / within))


def test_generators_chain_report_differ():
    starts = [chain_of(True, seed=seed).run(5)[0].tolist() for seed in range(3)]
    assert starts[0] != starts[1] != starts[2]
    assert generator(0)[0] != generator(1)[0]
