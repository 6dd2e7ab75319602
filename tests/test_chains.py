"""The chains over deals, exactly: every transition probability, and detailed balance, beside nothing but arithmetic.

A chain has the right stationary distribution if P(h) T(h, h') = P(h') T(h', h) for all pairs of states. Here T is not
estimated. `Dice` runs the chains' own code once for every way its random numbers can fall, and adds up probabilities;
for many puzzles it does so for the parts (which matrices are neighbours, which positions a ring has), and the rest is
compiled. Puzzles are random: rows with needs, cards with the rows that may own them, the last row undealt.
"""

import itertools
import math
import random
from collections import Counter, defaultdict
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest

from foglight.compile import kernel
from foglight.games import load_game
from foglight.policies import Uniform
from foglight.worlds.deals import count as deal_count
from foglight.worlds.deals import replay as deal_replay
from foglight.worlds.deals import ring_swap
from foglight.worlds.deals.count import HIDDEN, DealCount
from foglight.worlds.deals.replay import Layout
from foglight.worlds.deals.ring_swap import _neighbours, _turn, matrices

EXACT = 1e-12


# Every way random numbers can fall ----------------------------------------------------------------------------------


class Dice:
    """Runs a function once for each way its random numbers can fall; `unit` gives a number known up to an interval."""

    def __init__(self):
        self.script, self.at, self.odds = [], 0, 1.0

    def choose(self, odds):
        """One of several outcomes; those of probability 0 never happen."""
        possible = [i for i, share in enumerate(odds) if share > 0.0]
        if self.at == len(self.script):
            self.script.append([0, len(possible)])
        choice = possible[self.script[self.at][0]]
        self.at += 1
        self.odds *= odds[choice]
        return choice

    def below(self, random, n):
        return self.choose([1.0 / n] * int(n))

    def unit(self, random):
        return Unknown(self)

    def outcomes(self, run):
        """What `run()` returns, each with its probability."""
        total = defaultdict(float)
        while True:
            self.at, self.odds = 0, 1.0
            outcome = run()
            total[outcome] += self.odds
            del self.script[self.at :]
            while self.script and self.script[-1][0] + 1 == self.script[-1][1]:
                self.script.pop()
            if not self.script:
                assert math.isclose(sum(total.values()), 1.0, abs_tol=EXACT)
                return dict(total)
            self.script[-1][0] += 1


class Unknown:
    """A uniform number times a factor, known to lie between two bounds; a comparison narrows them."""

    def __init__(self, dice, factor=1.0):
        self.dice, self.factor, self.low, self.high = dice, factor, 0.0, 1.0

    def __mul__(self, factor):
        assert (self.low, self.high) == (0.0, 1.0)
        return Unknown(self.dice, self.factor * float(factor))

    def __lt__(self, bound):
        middle = min(max(float(bound) / self.factor, self.low), self.high)
        share = (middle - self.low) / (self.high - self.low)
        if self.dice.choose([share, 1.0 - share]) == 0:
            self.high = middle
            return True
        self.low = middle
        return False

    def __gt__(self, bound):
        return not self < bound


@pytest.fixture
def dice(monkeypatch):
    """Dice in place of all random numbers that the chains draw."""
    dice = Dice()
    for module in (ring_swap, deal_count, deal_replay):
        for name in ("below", "unit"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(dice, name))
    return dice


def test_dice_know_all_outcomes():
    dice = Dice()
    assert dice.outcomes(lambda: dice.below(None, 2) + dice.below(None, 3)) == pytest.approx(
        {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}
    )
    wanted = dice.outcomes(lambda: (lambda u: "low" if u < 0.5 else "middle" if u < 1.5 else "high")(dice.unit(0) * 2))
    assert wanted == pytest.approx({"low": 0.25, "middle": 0.5, "high": 0.25})


# Random puzzles -----------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    puzzle: DealCount
    suits: list
    denied: int  # how many pairs of card and row are impossible
    fixed: int  # how many cards have one owner


def cases(rng, n, most_cards, least_states=2, most_states=10**9, rows=(3, 5), suits=(2, 4)):
    """n puzzles that have a solution: some with denied cards, fixed cards and an undealt row, some without."""
    found = 0
    while found < n:
        num_rows, num_suits = rng.randint(*rows), rng.randint(*suits)
        needs = [rng.randint(0, 3) for _ in range(num_rows - 1)] + [rng.choice([0, 0, 1, 2, 3])]
        cards = list(range(sum(needs)))
        if not num_rows <= len(cards) <= most_cards:
            continue
        whole = (1 << num_rows) - 1
        kind = rng.randrange(4)  # nothing denied; voids; voids of cards with a fixed one; anything
        voids = [whole if kind == 0 else rng.choice([whole, rng.randrange(1, whole + 1)]) for _ in range(num_suits)]
        owners = [rng.randrange(1, whole + 1) if kind == 3 else voids[card % num_suits] for card in cards]
        if kind == 2:
            owners[0] = 1 << rng.randrange(num_rows)
        puzzle = DealCount(cards, owners, needs)
        if least_states <= puzzle.ordered <= most_states:
            found += 1
            live = sum(1 << row for row in range(num_rows) if needs[row])
            yield Case(
                puzzle,
                [card % num_suits for card in cards],
                sum((~mask & live).bit_count() for mask in owners),
                sum((mask & live).bit_count() == 1 for mask in owners),
            )


def states_of(puzzle):
    """All deals by position, the undealt cards ascending; the slow way, through permutations."""
    begins = [0, *itertools.accumulate(puzzle.needs)]
    owners = dict(zip(puzzle.cards, puzzle.owners, strict=True))

    def rows(row, left):
        if row == len(puzzle.needs):
            yield ()
            return
        mine = [card for card in left if owners[card] >> row & 1]
        last = row + 1 == len(puzzle.needs)
        for held in (itertools.combinations if last else itertools.permutations)(mine, puzzle.needs[row]):
            for others in rows(row + 1, [card for card in left if card not in held]):
                yield held + others

    assert begins[-1] == len(puzzle.cards)
    return sorted(rows(0, puzzle.cards))


def canonical(puzzle, deal):
    """A deal with its undealt cards in order."""
    cut = len(deal) - puzzle.needs[-1]
    return (*map(int, deal[:cut]), *sorted(map(int, deal[cut:])))


def layout_of(puzzle, passed=0):
    """A history that deals seat after seat its cards; with passes, each seat hands so many on to the next."""
    seats, needs = len(puzzle.needs) - 1, puzzle.needs
    begins = [0, *itertools.accumulate(needs)]
    most = max(needs[:-1])
    times = np.zeros((seats, most), np.int64)
    sources = np.zeros((seats, most), np.int64)
    pass_times = np.zeros((seats, passed), np.int64)
    for seat in range(seats):
        for place in range(needs[seat]):
            times[seat, place] = begins[seat] + place
            # the cards kept are the first of one's row, those passed the last of the row they go to
            kept = place < needs[seat] - passed
            row = seat if kept else (seat + 1) % seats
            sources[seat, place] = begins[row] + place
        pass_times[seat] = begins[seats] + seat * passed + np.arange(passed)
    return Layout(
        np.full(begins[seats] + seats * passed, HIDDEN),
        times,
        pass_times,
        np.zeros((seats, passed), np.int64),
        np.array(needs[:-1]),
        np.full(seats, passed),
        np.full(seats, int(passed > 0)),
        np.tile(np.arange(most), (seats, 1)),
        sources,
    )


def policy_weight(history, biased):
    """An arbitrary probability of a history, the same each time; 1 if the policy is uniform."""
    return 0.1 + 0.9 * random.Random(hash(tuple(map(int, history)))).random() if biased else 1.0


def assert_balanced(moves, weights):
    """Detailed balance of a transition matrix, {state: {state: probability}}; how many pairs were compared."""
    total, pairs = sum(weights.values()), 0
    for state, reached in moves.items():
        assert math.isclose(sum(reached.values()), 1.0, abs_tol=EXACT)
        for other, odds in reached.items():
            flow, back = weights[state] * odds / total, weights[other] * moves[other].get(state, 0.0) / total
            assert abs(flow - back) < EXACT, (state, other, flow, back)
            pairs += other != state
    return pairs


def connected(moves):
    start = next(iter(moves))
    seen, front = {start}, [start]
    while front:
        for other in moves[front.pop()]:
            if other not in seen:
                seen.add(other)
                front.append(other)
    return len(seen) == len(moves)


# The chains' own code -------------------------------------------------------------------------------------------------


def one_transition(chain, case, layout, monkeypatch, biased, n=1):
    """What one transition of a chain's own source leads to: a function of a state (deal, pattern).

    With n it is the n states that so many transitions lead to.
    """
    known, game = matrices(case.puzzle, case.suits), load_game("spades")

    def reach(game, policy, history, *rest):
        return policy_weight(history, biased)

    monkeypatch.setattr(ring_swap, "reach", reach)

    def run(state):
        deal, pattern = np.array(state[0]), np.array(state[1])
        weight = np.array([weigh(state)])
        out = (np.empty((n, len(deal)), np.int64), np.empty((n, *pattern.shape), np.int64), np.empty(n))
        accepted = chain.py_func(game, Uniform(), layout, known, -1, np.empty(0), None, deal, pattern, weight, 1, out)
        states = [
            (canonical(case.puzzle, d), tuple(map(tuple, p))) for d, p in zip(out[0], out[1].tolist(), strict=True)
        ]
        assert out[2].tolist() == [weigh(reached) for reached in states]
        moved = sum(before != after for before, after in zip([state, *states], states, strict=False))
        assert moved <= accepted <= n
        if chain is ring_swap._swap_chain and not layout.free_passes.any():
            assert accepted == moved  # a ring that changes nothing is no proposal
        return tuple(states) if n > 1 else states[0]

    @cache
    def weigh(state):
        history = layout.actions.copy()
        deal_replay.write_history(layout, np.array(state[0]), np.array(state[1]), history)
        return reach(game, None, history)

    return run, weigh


@pytest.mark.parametrize("chain", [ring_swap._ring_swap_chain, ring_swap._swap_chain], ids=["RingSwap", "drawn rings"])
def test_the_chains_own_code_is_in_detailed_balance(chain, dice, monkeypatch):
    rng, compared, biased_cases = random.Random(11), 0, 0
    for i, case in enumerate(cases(rng, 24, 5, 3, 60)):
        biased = i % 3 > 0
        layout = layout_of(case.puzzle)
        run, weigh = one_transition(chain, case, layout, monkeypatch, biased)
        pattern = tuple(map(tuple, layout.pattern.tolist()))
        states = [(deal, pattern) for deal in states_of(case.puzzle)]
        assert len(states) == case.puzzle.ordered
        moves = {state: dice.outcomes(partial(run, state)) for state in states}
        compared += assert_balanced(moves, {state: weigh(state) for state in states})
        assert chain is ring_swap._swap_chain or connected(moves)
        biased_cases += biased
    assert compared > 3000 and biased_cases == 16


@pytest.mark.parametrize("chain", [ring_swap._ring_swap_chain, ring_swap._swap_chain], ids=["RingSwap", "drawn rings"])
def test_with_passes_the_chains_are_in_detailed_balance_too(chain, dice, monkeypatch):
    """Two seats are dealt two cards each and hand one on, as in Hearts; a card more may stay undealt."""
    rng, compared = random.Random(5), 0
    for needs, kind in (([2, 2, 0], 0), ([2, 2, 0], 1), ([2, 2, 1], 1))[: 3 if chain is ring_swap._swap_chain else 2]:
        cards = list(range(sum(needs)))
        owners = [rng.choice([7, 7, 5, 6]) if kind else 7 for _ in cards]
        owners[0] = 7
        case = Case(DealCount(cards, owners, needs), [card % 2 for card in cards], 0, 0)
        assert case.puzzle.ordered > 1
        layout = layout_of(case.puzzle, passed=1)
        run, weigh = one_transition(chain, case, layout, monkeypatch, biased=True)
        patterns = list(itertools.product([(0, 1), (1, 0)], repeat=2))
        states = [(deal, pattern) for deal in states_of(case.puzzle) for pattern in patterns]
        moves = {state: dice.outcomes(partial(run, state)) for state in states}
        weights = {state: weigh(state) for state in states}
        assert len(set(weights.values())) == len(states)  # the pattern counts
        compared += assert_balanced(moves, weights)
        assert connected(moves)
    assert compared > 1000


@pytest.mark.parametrize("free", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("chain", [ring_swap._ring_swap_chain, ring_swap._swap_chain], ids=["RingSwap", "drawn rings"])
def test_passes_that_are_known_stay_and_others_are_drawn(chain, free, dice, monkeypatch):
    """The same with cards 0 and 3 in known rows, and with seats whose passes have been seen."""
    case = Case(DealCount([0, 1, 2, 3], [1, 3, 3, 2], [2, 2, 0]), [0, 0, 1, 1], 0, 2)
    layout = layout_of(case.puzzle, passed=1)._replace(free_passes=np.array(free))
    run, weigh = one_transition(chain, case, layout, monkeypatch, biased=True)
    patterns = list(itertools.product(*([(0, 1), (1, 0)] if seat else [(0, 1)] for seat in free)))
    states = [(deal, pattern) for deal in states_of(case.puzzle) for pattern in patterns]
    assert len(states) == 8 * 2 ** sum(free)
    moves = {state: dice.outcomes(partial(run, state)) for state in states}
    weights = {state: weigh(state) for state in states}
    compared = assert_balanced(moves, weights)
    assert connected(moves) and compared > 3 * len(states)
    if chain is ring_swap._ring_swap_chain:
        assert compared == len(states) * (len(states) - 1)  # every matrix is a neighbour of every other
        return
    for state in states:  # one transition in four draws the passes of one seat, each as often as any other
        for seat in np.nonzero(free)[0]:
            other = (state[0], tuple(p[::-1] if s == seat else p for s, p in enumerate(state[1])))
            accepted = min(1.0, weights[other] / weights[state])
            assert moves[state][other] == pytest.approx(accepted / 4 / sum(free) / 2, abs=EXACT)


@pytest.mark.parametrize(
    ("chain", "owners", "needs", "passed"),
    [
        (ring_swap._ring_swap_chain, [7, 5, 7], [1, 1, 1], 0),
        (ring_swap._ring_swap_chain, [5, 5, 5, 5], [2, 0, 2], 0),  # two cards of a suit are no neighbour of none
        (ring_swap._ring_swap_chain, [1, 3, 3, 2], [2, 2, 0], 1),
        (ring_swap._swap_chain, [7, 5, 7], [1, 1, 1], 0),
        (ring_swap._swap_chain, [1, 3, 3, 2], [2, 2, 0], 1),
    ],
)
def test_a_transition_does_not_depend_on_the_one_before(chain, owners, needs, passed, dice, monkeypatch):
    """Whatever the first one drew, accepted or not, the second is like a first one from there."""
    n = len(owners)
    case = Case(DealCount(range(n), owners, needs), [0, 0, 1, 1][:n], 0, 0)
    layout = layout_of(case.puzzle, passed)._replace(free_passes=np.array([0, passed]))
    if passed:  # four rings are enough: other tests draw them all

        def draw_ring(random, rows, order):
            order[:2] = ((0, 1), (0, 2), (1, 2), (2, 3))[dice.below(random, 4)]
            return 2

        monkeypatch.setattr(ring_swap, "_draw_ring", draw_ring)
    one, _ = one_transition(chain, case, layout, monkeypatch, biased=True)
    both, _ = one_transition(chain, case, layout, monkeypatch, biased=True, n=2)
    patterns = [tuple(map(tuple, layout.pattern.tolist())), ((0, 1), (1, 0))][: 1 + passed]
    compared, moves = 0, {}
    for state in itertools.product(states_of(case.puzzle)[-2 + passed :], patterns):
        found = dice.outcomes(partial(both, state))
        for start in {state, *(first for first, _ in found)} - set(moves):
            moves[start] = dice.outcomes(partial(one, start))
        wanted = {(a, b): p * q for a, p in moves[state].items() for b, q in moves[a].items()}
        assert found == pytest.approx(wanted, abs=EXACT)
        compared += len(wanted)
    assert compared > 10


def test_patterns_of_passes_are_drawn_alike(dice):
    compared = 0
    for n, k in ((2, 1), (3, 1), (3, 2), (4, 2), (4, 3)):
        layout = Layout(*(np.zeros(0),) * 4, np.array([n]), np.array([k]), np.ones(1), np.zeros((1, n)), np.zeros(0))

        def run(layout=layout, n=n):
            pattern = np.zeros((1, n), np.int64)
            deal_replay.draw_pattern(layout, None, pattern, 0)
            return tuple(pattern[0].tolist())

        drawn = dice.outcomes(run)
        wanted = {
            (*sorted(set(range(n)) - set(passed)), *passed): 1 / math.perm(n, k)
            for passed in itertools.permutations(range(n), k)
        }
        assert drawn == pytest.approx(wanted, abs=EXACT)
        compared += len(wanted)
    assert compared == 2 + 3 + 6 + 12 + 24


# Many puzzles, part by part -------------------------------------------------------------------------------------------


@kernel
def _list_neighbours(known, matrix):
    return _neighbours(known, matrix)


def all_matrices(case, known):
    """Every matrix that some deal has, and how many deals have it, unordered; by listing all deals."""
    rows, columns = known.allowed.shape
    row_of = np.repeat(np.arange(rows), case.puzzle.needs)
    counts = Counter()
    for deal in case.puzzle.assignments():
        matrix = np.zeros((rows, columns), np.int8)
        for row, card in zip(row_of, deal, strict=True):
            if known.column_of[card] >= 0:
                matrix[row, known.column_of[card]] += 1
        counts[matrix.tobytes()] += 1
    return counts


def test_ring_swap_is_in_detailed_balance_on_many_puzzles():
    """Neighbours and their sizes as the compiled chain lists them; a deal is drawn uniformly once its matrix is."""
    rng, compared, one_way = random.Random(7), 0, 0
    kinds = Counter()
    for number, case in enumerate(cases(rng, 320, 9)):
        known = matrices(case.puzzle, case.suits)
        rows, columns = known.allowed.shape
        sizes = all_matrices(case, known)
        # a policy that makes deals of one matrix alike; one that does not is tried with the chain's own code above
        weights = {matrix: policy_weight(matrix, number % 2 == 1) for matrix in sizes}
        omega, chosen = {}, {}
        for matrix in sizes:
            place = _list_neighbours(known, np.frombuffer(matrix, np.int8))
            begin, end = known.begins[place], known.begins[place + 1]
            shares = np.diff(known.shares[begin:end], prepend=0.0)
            listed = [known.neighbours[i, : rows * columns].tobytes() for i in range(begin, end)]
            assert len(set(listed)) == len(listed) and matrix in listed
            omega[matrix], chosen[matrix] = known.shares[end - 1], dict(zip(listed, shares, strict=True))
        unit = omega[next(iter(omega))] / sum(sizes[m] for m in chosen[next(iter(omega))])
        moves = {}
        for matrix, neighbours in chosen.items():
            moves[matrix] = defaultdict(float)
            for other, share in neighbours.items():
                assert share == pytest.approx(
                    unit * sizes[other], rel=1e-9
                )  # a neighbour counts as many deals as it has
                ratio = weights[other] * omega[matrix] / (weights[matrix] * omega[other])
                moves[matrix][other] += share / omega[matrix] * min(1.0, ratio)
                moves[matrix][matrix] += share / omega[matrix] * (1.0 - min(1.0, ratio))
                one_way += matrix not in chosen[other]
        compared += assert_balanced(moves, {matrix: sizes[matrix] * weights[matrix] for matrix in sizes})
        assert connected(moves)
        kinds["denied"] += case.denied > 0
        kinds["fixed"] += case.fixed > 0
        kinds["undealt"] += case.puzzle.needs[-1] > 0
        kinds[rows, len(set(case.suits))] += 1
    assert one_way == 0 and compared > 30_000
    assert min(kinds["denied"], kinds["fixed"], kinds["undealt"]) > 60
    assert all(kinds[rows, suits] > 5 for rows in (3, 4, 5) for suits in (2, 3, 4))


def test_a_deal_of_a_matrix_is_drawn_uniformly(dice):
    rng, compared = random.Random(3), 0
    for case in cases(rng, 30, 5, 6, 200):
        known = matrices(case.puzzle, case.suits)
        rows, _ = known.allowed.shape
        for matrix in all_matrices(case, known):

            def run(known=known, matrix=matrix, case=case, rows=rows):
                deal = np.zeros(len(case.puzzle.cards), np.int64)
                counts = np.frombuffer(matrix, np.int8)
                ring_swap._propose(known, None, counts, known.cards.copy(), np.zeros(rows, np.int64), deal)
                return canonical(case.puzzle, deal)

            drawn = dice.outcomes(run)
            assert max(drawn.values()) - min(drawn.values()) < EXACT
            held = [canonical(case.puzzle, deal) for deal in states_of(case.puzzle)]
            assert set(drawn) == {deal for deal in held if matrix_of(case, known, deal) == matrix}
            compared += len(drawn)
    assert compared > 1000


def matrix_of(case, known, deal):
    matrix = np.zeros(known.allowed.shape, np.int8)
    for row, card in zip(np.repeat(np.arange(len(case.puzzle.needs)), case.puzzle.needs), deal, strict=True):
        if known.column_of[card] >= 0:
            matrix[row, known.column_of[card]] += 1
    return matrix.tobytes()


@kernel
def _turned(owners, row_of, undealt, orders, rings, deal, out, possible):
    """Each ring turned: the deals, and whether they are possible and new."""
    for i in range(len(orders)):
        out[i, :] = deal
        possible[i] = _turn(owners, row_of, undealt, orders[i], rings[i], deal, out[i])


def numbers_of(puzzle, deals):
    """One number for each deal, whatever the order of its undealt cards."""
    cut = deals.shape[1] - puzzle.needs[-1]
    ordered = np.concatenate([deals[:, :cut], np.sort(deals[:, cut:], axis=1)], axis=1)
    return ordered @ (16 ** np.arange(deals.shape[1]))


def drawn_rings_of(dice, n, rows):
    """Every ring that may be drawn among n positions, and its probability."""

    def run():
        order = np.arange(n)
        ring = ring_swap._draw_ring(None, rows, order)
        return tuple(order[:ring].tolist())

    return dice.outcomes(run)


def test_rings_are_drawn_as_long_as_coins_say_and_all_alike(dice):
    compared = 0
    for n, rows in itertools.product(range(1, 6), range(2, 6)):
        most, wanted = min(n, rows), {}
        for length in range(min(n, 2), most + 1):
            share = 0.5 ** (length - 1) if length < most else 0.5 ** max(0, most - 2)
            rings = list(itertools.permutations(range(n), length))
            wanted |= dict.fromkeys(rings, share / len(rings))
        assert drawn_rings_of(dice, n, rows) == pytest.approx(wanted, abs=EXACT)
        compared += len(wanted)
    assert compared > 500


def test_a_ring_moves_each_card_to_the_next_position():
    rng, results = random.Random(21), Counter()
    for case in cases(rng, 60, 6):
        known, n, rows = matrices(case.puzzle, case.suits), len(case.puzzle.cards), len(case.puzzle.needs)
        owners = dict(zip(case.puzzle.cards, case.puzzle.owners, strict=True))
        row_of = np.repeat(np.arange(rows), case.puzzle.needs)
        deal = next(case.puzzle.assignments())
        for _ in range(20):
            order, length = np.array(rng.sample(range(n), n)), rng.randint(2, min(rows, n))
            new_deal = deal.copy()
            result = _turn(known.owners, row_of, rows - 1, order, length, deal, new_deal)
            wanted, ring = deal.tolist(), order[:length].tolist()
            for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
                wanted[there] = int(deal[here])
            possible = all(owners[card] >> row & 1 for card, row in zip(wanted, row_of, strict=True))
            changed = canonical(case.puzzle, wanted) != canonical(case.puzzle, deal)
            assert new_deal.tolist() == wanted
            assert bool(result) == (possible and changed)
            results[possible, changed] += 1
    assert results.total() == 1200 and min(results[True, True], results[False, True], results[True, False]) > 20


def test_drawn_rings_are_in_detailed_balance_on_many_puzzles(dice):
    rng, pairs, tried, largest = random.Random(9), 0, 0, 0
    known_rings = {}
    several = itertools.chain(cases(rng, 490, 5, 2, 120), cases(rng, 20, 6, 200, 720))
    for case in several:
        known, n, rows = matrices(case.puzzle, case.suits), len(case.puzzle.cards), len(case.puzzle.needs)
        if (n, rows) not in known_rings:
            known_rings[n, rows] = drawn_rings_of(dice, n, rows)
        rings = known_rings[n, rows]
        orders = np.array([[*ring, *([0] * (n - len(ring)))] for ring in rings])
        lengths, odds = np.array([len(ring) for ring in rings]), np.array(list(rings.values()))
        row_of = np.repeat(np.arange(rows), case.puzzle.needs)
        states = np.array(states_of(case.puzzle))
        codes = numbers_of(case.puzzle, states)
        by_code = np.argsort(codes)
        weights = np.array([policy_weight(state, tried % 2 == 1) for state in states])
        moves = np.zeros((len(states), len(states)))
        out, possible = np.zeros((len(rings), n), np.int64), np.zeros(len(rings), np.bool_)
        for i, state in enumerate(states):
            _turned(known.owners, row_of, rows - 1, orders, lengths, state, out, possible)
            others = by_code[np.searchsorted(codes[by_code], numbers_of(case.puzzle, out[possible]))]
            assert np.array_equal(codes[others], numbers_of(case.puzzle, out[possible]))
            accepted = np.minimum(1.0, weights[others] / weights[i])
            np.add.at(moves[i], others, odds[possible] * accepted)
            moves[i, i] += 1.0 - (odds[possible] * accepted).sum()
        flow = moves * (weights / weights.sum())[:, None]
        assert abs(flow - flow.T).max() < EXACT
        pairs += int((flow > 0.0).sum()) - len(states)
        tried += 1
        largest = max(largest, len(states))
    assert tried == 510 and pairs > 100_000 and largest > 300
