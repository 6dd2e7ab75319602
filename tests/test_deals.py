"""Beliefs of trick-taking games: counts beside brute force, samples beside exact odds, and every history replayed."""

import itertools
import math
import random

import numpy as np
import pytest
from oracles import random_game
from scipy.stats import chi2
from test_chains import _list_neighbours, cases, matrix_of

import foglight as fl
from foglight import bits
from foglight.bench.legality import _dealt
from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.codes import hand_of
from foglight.policies import Biased, Uniform, weigh
from foglight.randomness import generator
from foglight.rules import legal, max_legal, num_actions, num_words
from foglight.state import replay
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.ring_swap import matrices

FALSE_ALARM = 1e-6  # of each statistical test
TINY = "oh_hell(players=3,suits=2,ranks=4,tricks=2)"
SMALL = "oh_hell(players=3,suits=3,ranks=4,tricks=3)"
BIG = ["oh_hell(players=4,tricks=12)", "oh_hell(players=7,tricks=7)", "spades", "spades(breaking=yes)", "hearts"]
BIG += ["hearts(passing=no)", "card_game"]


def position(name, plays, void, seed=1):
    """A random position after so many cards played, in which somebody has shown a void, or nobody has."""
    rng = random.Random(seed)
    while True:
        state, placed = fl.new_state(name), 0
        while placed < plays:
            placed += get(state.world, tricks.PHASE) == tricks.PLAY
            state.play(rng.choice(state.actions()))
        if (int(state.world[2]) != 0) == void:
            return state


def enumerated(deals):
    """History to weight."""
    return {tuple(h): w for hs, ws, _ in deals.batches() for h, w in zip(hs.tolist(), ws.tolist(), strict=True)}


def fits(observed, expected):
    """Whether counts agree with expected counts, at the stated rate of false alarms."""
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return statistic < chi2.isf(FALSE_ALARM, len(expected) - 1)


# Counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "plays", "size"), [(TINY, 3, 192), (SMALL, 6, 12_960), (SMALL, 3, 544_320)])
def test_the_public_states_of_table_1(name, plays, size):
    state = position(name, plays, void=False)
    deals = DealFilter(name, state.observations(fl.PUBLIC), fl.PUBLIC, Biased())
    assert deals.count() == size
    assert sum(len(weights) for _, weights, _ in deals.batches()) == size
    if size < 100_000:
        assert len(enumerated(deals)) == size


def slow_count(state):
    """All ordered deals of six cards in the tiny game that explain what was turned and played, in plain Python."""
    history = state.history()
    turned, plays, n = history[8], history[12:], 0
    for dealt in itertools.permutations(set(range(8)) - {turned}, 6):
        hands, led, seats = [set(dealt[i::3]) for i in range(3)], None, []
        for i, card in enumerate(plays):
            if i % 3 == 0:
                led = card % 2
                mover = first_leader(state) if i == 0 else winner(seats, plays[i - 3 : i], turned % 2)
                seats = []
            if card not in hands[mover] or (card % 2 != led and any(c % 2 == led for c in hands[mover])):
                break
            hands[mover].remove(card)
            seats.append(mover)
            mover = (mover + 1) % 3
        else:
            n += 1
    return n


def first_leader(state):
    return (state.history()[1] + 1) % 3  # the seat after the dealer


def winner(seats, cards, trump):
    led = cards[0] % 2
    return max(zip(seats, cards, strict=True), key=lambda p: (p[1] % 2 == trump, p[1] % 2 == led, p[1]))[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("plays", [2, 3, 4])
def test_a_void_shrinks_the_public_state_as_brute_force_says(plays, seed):
    sizes = {}
    for void in (False, True):
        state = position(TINY, plays, void, seed)
        deals = DealFilter(TINY, state.observations(fl.PUBLIC), fl.PUBLIC)
        sizes[void] = deals.count()
        assert deals.count() == slow_count(state) == len(enumerated(deals))
    assert sizes[True] <= sizes[False]
    assert plays != 3 or sizes[True] < sizes[False] == 192


def test_any_observations_right_or_wrong_have_as_many_histories_as_the_layers_find():
    rng, possible = random.Random(3), 0
    for _ in range(150):
        state, viewer = rng.choice(list(random_game(TINY, rng))), rng.randrange(-1, 3)
        codes = state.observations(viewer)
        for _ in range(rng.randrange(3) if codes else 0):  # spoil it
            i = rng.randrange(len(codes))
            codes[i] = rng.choice([codes[i] ^ 1 << rng.randrange(14), rng.choice(codes), codes[i] & ~63 | i % 8])
        deals = DealFilter(TINY, codes, viewer)
        histories = fl.history_filter(TINY, codes, viewer, method="layers").count()
        assert deals.count() == histories
        assert deals.exists() == (histories > 0)
        possible += histories > 0
    assert 30 < possible < 120


def test_large_counts_worked_out_by_hand():
    assert DealFilter("spades", [], fl.PUBLIC).count() == sum(math.perm(52, k) for k in range(53))
    rng = random.Random(0)
    state = fl.new_state("hearts")
    state.play(1)  # pass left
    while get(state.world, tricks.PHASE) != tricks.PLAY:
        state.play(rng.choice(state.actions()))
    choices = 13 * 12 * 11  # which three cards a seat passes, in order
    assert DealFilter("hearts", state.observations(fl.PUBLIC), fl.PUBLIC).count() == math.factorial(52) * choices**4
    # a seat knows its 13 cards and that three of the giver's 13 are these; the giver passed them in one of 3! orders
    seen = choices * math.factorial(36) * math.factorial(3) * choices**2
    assert DealFilter("hearts", state.observations(2), 2).count() == seen
    while state.player != fl.TERMINAL:
        state.play(rng.choice(state.actions()))
    assert DealFilter("hearts", state.observations(fl.PUBLIC), fl.PUBLIC).count() == math.factorial(13) ** 4
    assert DealFilter("hearts", state.observations(0), 0).count() == math.factorial(13) ** 3


def test_the_mover_tells_lengths_apart():
    state = fl.new_state("spades")
    for card in range(50):
        state.play(card)
    codes = state.observations(1)  # 13 cards; nobody else's are seen, so that 50, 51 or 52 may have been dealt
    everything = DealFilter("spades", codes, 1).count()
    dealt = math.factorial(13) * math.factorial(39)  # one's own cards in any order, and everybody else's
    assert everything == math.factorial(13) * (math.perm(39, 37) + math.perm(39, 38) + math.perm(39, 39))
    assert DealFilter("spades", codes, 1, mover=0).count() == dealt
    assert DealFilter("spades", codes, 1, mover=fl.CHANCE).count() == everything - dealt
    assert not DealFilter("spades", codes, 1, mover=1).exists()


# Sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("void", [False, True])
def test_exact_samples_are_uniform(void):
    state = position(TINY, 3, void)
    deals = DealFilter(TINY, state.observations(fl.PUBLIC), fl.PUBLIC)
    names = {history: i for i, history in enumerate(enumerated(deals))}
    drawn = [names[tuple(history)] for history in deals.sample_arrays(20_000, seed=5)[0]]
    assert fits(np.bincount(drawn, minlength=len(names)), [20_000 / len(names)] * len(names))
    assert deals.diagnostics()["exact"]


@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("void", [False, True])
def test_chains_follow_the_policy(void, swaps):
    state = position(TINY, 3, void)
    deals = DealFilter(TINY, state.observations(fl.PUBLIC), fl.PUBLIC, Biased(0.7))
    weights = enumerated(deals)
    names, n = {history: i for i, history in enumerate(weights)}, 8000
    # far enough apart that the draws are as good as independent, which the test supposes
    chain = deals.chain(seed=2, swaps=swaps)
    chain.settle()
    drawn = deals.histories.replayed(deals.histories.puzzles[0], *chain.run(n, 5 * chain.thin)[:2])[0]
    observed = np.bincount([names[tuple(history)] for history in drawn.tolist()], minlength=len(names))
    assert fits(observed, n * np.array(list(weights.values())) / sum(weights.values()))


def test_importance_weights_give_the_exact_mean():
    state = position(SMALL, 6, void=True)
    deals = DealFilter(SMALL, state.observations(fl.PUBLIC), fl.PUBLIC, Biased(0.6))
    exact = enumerated(deals)
    mean = sum(h[2] * w for h, w in exact.items()) / sum(exact.values())  # the first card dealt to seat 0
    histories, weights, _ = deals.weighted(2000, seed=1)
    values = np.array([history[2] for history in histories])
    error = np.sqrt((weights**2 * (values - mean) ** 2).sum()) / weights.sum()
    assert abs((weights * values).sum() / weights.sum() - mean) < 4.9 * error  # 4.9 standard errors: 1 in a million


@pytest.mark.parametrize("name", BIG)
def test_samples_replay_and_show_the_same(name):
    rng = random.Random(name)
    for _ in range(3):
        for state in rng.sample(list(random_game(name, rng))[1:], 4):
            for viewer in (fl.PUBLIC, rng.randrange(state.num_players)):
                seen = state.observations(viewer)
                deals = DealFilter(name, seen, viewer)
                deals.sample_arrays(100)
                assert deals.diagnostics()["acceptance"] == 1.0  # pairs of cards say all: no deal is rejected
                for drawn in (*deals.sample(1, seed=1), deals.construct(seed=1)):
                    assert drawn.observations(viewer) == seen


@pytest.mark.parametrize(
    ("name", "swaps"),
    [
        (BIG[0], False),
        ("hearts", True),
        # RingSwap takes 15 seconds to compile, and a game counts in it by its rules alone, which other tests replay
        pytest.param("hearts", False, marks=pytest.mark.long),
        pytest.param("spades", False, marks=pytest.mark.long),
        pytest.param("spades", True, marks=pytest.mark.long),
    ],
)
def test_gibbs_samples_of_big_games_replay_too(name, swaps):
    for plays in (5, 30):
        state = position(name, plays, void=plays == 30)
        for viewer in (fl.PUBLIC, 2):
            deals = DealFilter(name, state.observations(viewer), viewer, Biased())
            chain = deals.chain(swaps=swaps)
            found, weights, _ = deals.histories.replayed(deals.histories.puzzles[0], *chain.run(40)[:2])
            assert (weights > 0).all()
            drawn = fl.new_state(name)
            for action in found[-1].tolist():
                drawn.play(action)
            assert drawn.observations(viewer) == state.observations(viewer)


def test_the_memory_of_the_gibbs_sampler_does_not_grow_with_the_public_state():
    sizes = []
    for name, plays in ((TINY, 3), ("oh_hell(players=4,tricks=12)", 4)):
        state = position(name, plays, void=False)
        known = DealFilter(name, state.observations(fl.PUBLIC), fl.PUBLIC, Uniform()).chain()._arguments[3]
        sizes.append(sum(array.nbytes for array in known))
    assert sizes[1] < 1.5 * sizes[0] < 40e6


# RingSwap beside plain Python ---------------------------------------------------------------------------------------


def slow_neighbours(matrix, allowed):
    """All matrices that one ring of swaps in distinct rows leads to, and the matrix itself: a set of tuples of rows."""
    rows, columns = range(len(matrix)), range(len(matrix[0]))
    found = {matrix}

    def swapped(current, row, lost, gained):
        changed = list(current[row])
        changed[lost] -= 1
        changed[gained] += 1
        return (*current[:row], tuple(changed), *current[row + 1 :])

    def go_on(current, used, excess, missing):
        for row in rows:
            for column in columns:
                if row not in used and column != excess and current[row][excess] > 0 and allowed[row][column]:
                    after = swapped(current, row, excess, column)
                    if column == missing:
                        found.add(after)
                    go_on(after, used | {row}, column, missing)

    for row, gained, lost in itertools.product(rows, columns, columns):
        if gained != lost and allowed[row][gained] and matrix[row][lost] > 0:
            go_on(swapped(matrix, row, lost, gained), {row}, gained, lost)
    return found


def slow_size(matrix):
    """How many deals a matrix stands for, up to a common factor."""
    return 1 / math.prod(math.factorial(entry) for row in matrix for entry in row)


def slow_transition(deals, policy, cards, weight, rng):
    """One step of the Gibbs sampler in plain Python: cards by position, and the probability of their history."""
    puzzle = deals.histories.puzzles[0]
    needs, suit = puzzle.deals.needs, dict(zip(puzzle.deals.cards, puzzle.suits, strict=True))
    owners = dict(zip(puzzle.deals.cards, puzzle.deals.owners, strict=True))
    columns = sorted({(suit[c], owners[c]) for c in cards if owners[c].bit_count() > 1})
    ends = list(itertools.accumulate(needs))
    rows = [cards[end - need : end] for end, need in zip(ends, needs, strict=True)]
    allowed = [[mask >> row & 1 for _, mask in columns] for row in range(len(needs))]
    matrix = tuple(tuple(sum((suit[c], owners[c]) == column for c in row) for column in columns) for row in rows)
    omega = sorted(slow_neighbours(matrix, allowed))
    sizes = [slow_size(m) for m in omega]
    proposed = rng.choices(omega, sizes)[0]
    new_rows = [[c for c in row if owners[c].bit_count() == 1] for row in rows]
    for j, column in enumerate(columns):
        pile = [c for c in cards if (suit[c], owners[c]) == column]
        rng.shuffle(pile)
        for row, new_row in enumerate(new_rows):
            new_row += [pile.pop() for _ in range(proposed[row][j])]
    for row in new_rows:
        rng.shuffle(row)
    new_cards = [c for row in new_rows for c in row]
    new_weight = slow_reach(deals, policy, new_cards)
    back = sum(slow_size(m) for m in slow_neighbours(proposed, allowed))
    accept = rng.random() * weight * back < new_weight * sum(sizes)
    return (new_cards, new_weight) if accept else (cards, weight)


def slow_history(deals, cards):
    layout = deals.histories.puzzles[0].layout
    history = layout.actions.tolist()
    for seat in range(len(layout.dealt)):
        for place in range(layout.dealt[seat]):
            history[layout.deal_times[seat, place]] = cards[layout.sources[seat, place]]
    return history


def slow_reach(deals, policy, cards):
    state, weight = fl.new_state(deals.game), 1.0
    out, odds = np.empty(max_legal(state.game), np.int64), np.empty(max_legal(state.game))
    for action in slow_history(deals, cards):
        if state.player != fl.CHANCE:
            n = legal(state.game, state.world, out)
            weigh(policy, state.game, state.world, state.player, out, n, odds)
            weight *= odds[out[:n].tolist().index(action)]
        state.play(action)
    return weight


def test_the_neighbours_are_those_of_plain_python():
    rng, compared, longest = random.Random(4), 0, 0
    for case in cases(rng, 120, 12):
        known, deal = matrices(case.puzzle, case.suits), case.puzzle.draw(1, generator(0))[0]
        rows, columns = known.allowed.shape
        if columns == 0:  # no card has two owners
            continue
        matrix = np.frombuffer(matrix_of(case, known, deal), np.int8).reshape(rows, columns)
        number = _list_neighbours(known, matrix.reshape(-1))
        listed = known.neighbours[known.begins[number] : known.begins[number + 1]].reshape(-1, rows, columns)
        found = {tuple(map(tuple, m)) for m in listed.tolist()}
        assert found == slow_neighbours(tuple(map(tuple, matrix.tolist())), known.allowed.tolist())
        assert len(found) == len(listed)
        omega = known.shares[known.begins[number + 1] - 1]
        assert omega == pytest.approx(sum(slow_size(m) for m in found), rel=1e-12)
        compared += len(found)
        longest = max(longest, len(found))
    assert compared > 1000 and longest > 60


def test_the_slow_chain_follows_the_policy_too():
    state, policy, n = position(TINY, 3, void=True), Biased(0.7), 3000
    deals = DealFilter(TINY, state.observations(fl.PUBLIC), fl.PUBLIC, policy)
    weights, rng = enumerated(deals), random.Random(8)
    cards = deals.histories.puzzles[0].draw(1, generator(0))[0][0].tolist()
    weight, values = slow_reach(deals, policy, cards), []
    for _ in range(n):
        cards, weight = slow_transition(deals, policy, cards, weight, rng)
        assert weight == pytest.approx(
            weights[tuple(slow_history(deals, cards))] / deals.histories.puzzles[0].story.chance
        )
        values.append(weight)
    mean = sum(w * w for w in weights.values()) / sum(weights.values()) / deals.histories.puzzles[0].story.chance
    batches = np.array(values).reshape(30, -1).mean(1)
    assert abs(batches.mean() - mean) < 7 * batches.std() / math.sqrt(29)  # 30 batches, 7 errors: below 1 in a million


# What cannot be -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoil", ["played twice", "mine", "void", "order", "half a code"])
def test_contradictions_are_told(spoil):
    state = position(SMALL, 4, void=True)
    codes = state.observations(0)
    plays = [i for i, code in enumerate(codes) if code >> 9 == 5]
    if spoil == "played twice":
        codes[plays[1]] = codes[plays[1]] & ~63 | codes[plays[0]] & 63
    elif spoil == "mine":  # another seat plays a card that seat 0 was dealt
        other = next(i for i in plays if codes[i] >> 6 & 7 != 0)
        codes[other] = codes[other] & ~63 | bits.lowest(hand_of(codes[2]))
    elif spoil == "void":  # the voids shown, and then every other card of that suit is played by the same seat
        codes, viewer = void_broken(), fl.PUBLIC
        assert not DealFilter(SMALL, codes, viewer).exists()
        return
    elif spoil == "order":
        codes[0], codes[plays[0]] = codes[plays[0]], codes[0]
    else:
        codes[0] = 15 << 9
    deals = DealFilter(SMALL, codes, 0)
    assert not deals.exists()
    assert deals.count() == 0
    for refused in (deals.construct, lambda: deals.sample(1), lambda: next(deals.enumerate()), deals.chain):
        with pytest.raises(fl.BadInput, match="no history"):
            refused()


def void_broken():
    """Seat 1 does not follow clubs in the first trick, and plays a club in the second."""
    state = fl.new_state(SMALL)
    state.play(3)
    state.play(2)
    for card in (0, 1, 2, 3, 4, 5, 6, 7, 8):  # cards 0, 3, 6 and 9 are clubs, and seat 0 has the first three
        state.play(card)
    for action in (11, 12, 12, 12, 6, 7, 5, 8, 0, 4):
        state.play(action)
    codes = state.observations(fl.PUBLIC)
    codes[-1] = codes[-1] & ~63 | 9
    return codes


def test_games_without_tricks_are_refused():
    with pytest.raises(fl.BadInput, match="not a trick-taking game"):
        DealFilter("kuhn_poker", [], fl.PUBLIC)
    with pytest.raises(fl.BadInput, match="no viewer 4"):
        DealFilter("spades", [], 4)
    assert num_actions(fl.load_game("spades")) > 52


# Worlds without their histories -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "plays"), [(TINY, 3), (SMALL, 6)])
@pytest.mark.parametrize("void", [False, True])
def test_worlds_dealt_anew_are_uniform_among_the_enumerated_ones(name, plays, void):
    state = position(name, plays, void)
    for viewer in (fl.PUBLIC, state.player):
        deals = DealFilter(name, state.observations(viewer), viewer)
        exact = {}
        for _, weights, worlds in deals.batches():
            for world, weight in zip(worlds, weights, strict=True):
                exact[world.tobytes()] = exact.get(world.tobytes(), 0.0) + weight
        n = 40 * len(exact)
        drawn = [world.tobytes() for world in deals.sample_worlds(n, seed=2)]
        assert deals._redealt is not None
        total = sum(exact.values())
        assert set(drawn) <= set(exact)
        if len(exact) > 1:
            counts = dict.fromkeys(exact, 0)
            for world in drawn:
                counts[world] += 1
            assert fits(counts.values(), [n * weight / total for weight in exact.values()])


@pytest.mark.parametrize("name", BIG)
def test_worlds_dealt_anew_are_worlds_that_the_rules_lead_to(name):
    state = position(name, 13, void=True)
    deals = DealFilter(name, state.observations(state.player), state.player)
    worlds = deals.sample_worlds(500, seed=1)
    assert (deals._redealt is None) == name.startswith("hearts")  # there cards are seen one by one, or passed on
    assert len(np.unique(worlds, axis=0)) > 1
    words = int(num_words(deals.game))
    seat = words + 1 + state.player
    assert (worlds[:, seat] == state.world[seat]).all() and (worlds[:, words] == state.world[words]).all()
    if deals._redealt is not None:
        histories = _dealt(state, worlds[:60]).tolist()
        assert [replay(name, history).world.tolist() for history in histories] == worlds[:60].tolist()
