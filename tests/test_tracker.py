"""The belief that is kept move by move, against listing every history, and over whole games."""

import random

import numpy as np
import pytest
from oracles import histories, random_game
from scipy.stats import chisquare

import foglight as fl
from foglight.policies import Biased, Uniform, tabular, weigh
from foglight.rules import NOTHING, PUBLIC, key, legal, max_legal, num_words, player
from foglight.worlds.consistent import consistent_worlds
from foglight.worlds.expansion import Expansion, thin
from foglight.worlds.regeneration import BeliefLost, Layer, regenerate
from foglight.worlds.tracker import Tracker

SMALL = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3)", "dark_hex(rows=2,cols=2)"]


def tracked(game, seat, observations, **options):
    tracker = Tracker(game, seat, **options)
    for observation in observations:
        tracker.observe(observation)
    return tracker


def belief(worlds):
    return {row.tobytes(): weight for row, weight in zip(worlds.rows, worlds.weights, strict=True)}


def reach(state, seat, policy):
    """The probability that chance and the other seats play like this."""
    if policy is None:
        return 1.0
    probability, now = 1.0, fl.new_state(state.game)
    actions, odds = np.empty(max_legal(state.game), np.int64), np.empty(max_legal(state.game))
    for action in state.history():
        if now.player == fl.CHANCE:
            probability *= dict(now.chance())[action]
        elif now.player != seat:
            n = legal(now.game, now.world, actions)
            weigh(policy, now.game, now.world, now.player, actions, n, odds)
            probability *= odds[list(actions[:n]).index(action)]
        now.play(action)
    return probability


def exact_beliefs(game, policy=None):
    """By seat and observations: the weight of every world, from all histories."""
    beliefs = {}
    for state in histories(game):
        for seat in range(state.num_players):
            worlds = beliefs.setdefault((seat, *state.observations(seat)), {})
            name = state.world.tobytes()
            worlds[name] = worlds.get(name, 0.0) + reach(state, seat, policy)
    return beliefs


@pytest.mark.plain
@pytest.mark.parametrize("game", SMALL)
@pytest.mark.parametrize("policy", [None, Biased(0.7, 3)])
def test_weights_are_those_of_all_histories_that_look_the_same(game, policy):
    for (seat, *observations), expected in exact_beliefs(game, policy).items():
        tracker = tracked(game, seat, observations, policy=policy)
        total = sum(expected.values())
        assert tracker.exact
        assert belief(tracker.worlds(turn_only=False)) == pytest.approx({w: p / total for w, p in expected.items()})


def test_the_set_is_that_of_the_slow_enumeration():
    for seed in range(3):
        for state in random_game("phantom_ttt", random.Random(seed)):
            for seat in range(2):
                found = belief(tracked("phantom_ttt", seat, state.observations(seat)).worlds(turn_only=False))
                slow = consistent_worlds("phantom_ttt", state.observations(seat), seat)
                assert set(found) == {row.tobytes() for row in slow}


def follow_game(states, seat, **options):
    """Track a whole game; check every layer; the tracker at the end."""
    tracker, told = Tracker(states[0].game, seat, **options), 0
    for state in states:
        observations = state.observations(seat)
        while told < len(observations):
            tracker.observe(observations[told])
            told += 1
        worlds = tracker.worlds(turn_only=False)
        assert 1 <= len(worlds.weights) <= tracker.cap
        assert worlds.weights.sum() == pytest.approx(1)
        assert {int(key(state.game, row, seat)) for row in worlds.rows} == {int(key(state.game, state.world, seat))}
        assert 1 - 1e-9 <= tracker.effective_size <= len(tracker) + 1e-6
        if tracker.exact and isinstance(worlds.rows, np.ndarray):
            assert (worlds.rows == state.world).all(axis=1).any(), "what is true must be held possible"
        if state.player == seat:
            mine = tracker.worlds()
            assert all(player(state.game, row) == seat for row in mine.rows[:100])
            assert mine.weights.sum() == pytest.approx(1)
    return tracker


@pytest.mark.parametrize(
    ("game", "cap", "games"),
    [
        ("phantom_ttt", 100_000, 6),
        ("dark_hex(rows=4,cols=4)", 20_000, 4),
        ("dark_chess(size=4,repetition=ignore)", 10_000, 6),
        ("dark_chess(size=8,repetition=ignore)", 500, 2),
        ("battleship", 1000, 6),
        ("leduc_poker", 1000, 10),
        ("goofspiel(cards=13)", 2000, 4),
    ],
)
def test_over_whole_games_every_world_agrees_with_what_was_seen(game, cap, games):
    rng = random.Random(1)
    for i in range(games):
        follow_game(list(random_game(game, rng))[:40], i % 2, cap=cap, seed=i)


@pytest.mark.parametrize(("game", "cap"), [("dark_hex(rows=4,cols=4)", 20), ("battleship", 3), ("goofspiel", 20)])
def test_samples_that_die_are_made_anew_and_still_agree_with_what_was_seen(game, cap):
    rng = random.Random(2)
    trackers = [follow_game(list(random_game(game, rng)), i % 2, cap=cap, seed=i) for i in range(20)]
    assert sum(tracker.regenerations for tracker in trackers) > 0
    assert not all(tracker.exact for tracker in trackers)


@pytest.mark.parametrize("game", ["phantom_ttt", "dark_hex(rows=3,cols=3)", "leduc_poker"])
def test_merging_positions_adds_up_the_weights_of_worlds(game):
    rng = random.Random(3)
    for i in range(5):
        *_, last = random_game(game, rng)
        observations, words = last.observations(i % 2), num_words(last.game)
        for t in range(0, len(observations) + 1, 2):
            everything = tracked(game, i % 2, observations[:t]).worlds(turn_only=False)
            merged = tracked(game, i % 2, observations[:t], positions=True).worlds(turn_only=False)
            expected = {}
            for row, weight in zip(everything.rows, everything.weights, strict=True):
                name = row[:words].tobytes()
                expected[name] = expected.get(name, 0.0) + weight
            found = {row[:words].tobytes(): w for row, w in zip(merged.rows, merged.weights, strict=True)}
            assert len(merged.rows) == len(found)
            assert found == pytest.approx(expected)


def test_every_second_guess_of_a_uniform_opponent_is_as_likely_as_it_should_be():
    # o has one mark on one of nine cells; x tries a1 first: with probability 1/9 it is taken
    after = tracked("phantom_ttt", 1, [], policy=Uniform()).worlds()
    assert len(after.rows) == 9 and after.weights == pytest.approx([1 / 9] * 9)


def test_only_worlds_in_which_the_seat_moves_are_given_at_its_turn():
    state = fl.new_state("dark_hex(rows=3,cols=3)")
    for action in (0, 0):  # o runs into a1; x hears a try and cannot know how it went
        state.play(action)
    tracker = tracked(state.game, 0, state.observations(0))
    assert {player(state.game, row) for row in tracker.worlds(turn_only=False).rows} == {0, 1}
    assert {player(state.game, row) for row in tracker.worlds().rows} == {0}
    with pytest.raises(ValueError, match="seat 1 has no move"):
        Tracker("dark_hex", 1).worlds()


def test_what_cannot_have_happened_is_refused():
    tracker = Tracker("kuhn_poker", 0)
    with pytest.raises(ValueError, match="NOTHING is not an observation"):
        tracker.observe(NOTHING)
    tracker.observe(1)
    with pytest.raises(ValueError, match="seat 0 cannot observe 2 after"):
        tracker.observe(2)
    assert tracker.observations == [1] and len(tracker) > 0, "a refusal leaves the belief as it was"
    with pytest.raises(ValueError, match="seats 0 to 1"):
        Tracker("kuhn_poker", 2)
    with pytest.raises(ValueError, match="looks at no keys"):
        Tracker("kuhn_poker", 0, positions=True, policy=Biased())


def test_a_sample_that_nothing_can_save_says_so():
    tracker = tracked("goofspiel", 0, [], cap=5, work=20_000)
    *_, last = random_game("goofspiel", random.Random(5))
    for observation in last.observations(0)[:12]:
        tracker.observe(observation)
    assert not tracker.exact
    with pytest.raises(BeliefLost, match=r"no world of goofspiel.* explains the 13 observations of seat 0"):
        tracker.observe(987_654)
    tracker.observe(last.observations(0)[12])  # and goes on


def test_a_larger_cap_has_more_work_to_replace_a_dead_sample():
    works = [fl.Tracker("kuhn_poker", 0, cap=cap)._work for cap in (1, 10_000, 200_000)]
    assert works == [20_000_000, 20_000_000, 100_000_000]
    assert fl.Tracker("kuhn_poker", 0, cap=200_000, work=7)._work == 7


def test_a_policy_that_is_wrong_about_somebody_leaves_worlds_to_believe_in():
    state = fl.new_state("kuhn_poker")
    for action in (0, 1):  # the cards
        state.play(action)
    never = tabular({int(key(state.game, row, 0)): [1.0, 0.0] for row in consistent_worlds(
        "kuhn_poker", state.observations(0), 0)})  # fmt: skip
    state.play(1)
    worlds = tracked("kuhn_poker", 1, state.observations(1), policy=never).worlds()
    # seat 0 would not have bet the card it holds, and would have bet the other one half of the time
    truth = (worlds.rows == state.world).all(axis=1)
    assert worlds.exact and worlds.weights[truth] == 0 and worlds.weights.sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_sample_whether_or_not_somebody_looks():
    *_, last = random_game("dark_hex", random.Random(6))
    observations = last.observations(0)
    one, same, other = (Tracker("dark_hex", 0, cap=50, seed=seed) for seed in (1, 1, 2))
    for observation in observations:
        for tracker in (one, same, other):
            tracker.observe(observation)
        one.worlds(turn_only=False)
        assert belief(one.worlds(turn_only=False)) == belief(same.worlds(turn_only=False))
    assert belief(one.worlds(turn_only=False)) != belief(other.worlds(turn_only=False))


# Samples --------------------------------------------------------------------------------------------------------


def test_thinning_keeps_heavy_worlds_and_is_fair_to_the_others():
    weights = np.array([0.5, 0.01, 0.02, 0.03, 0.04, 0.1, 0.3])
    total = np.zeros(7)
    offsets = (np.arange(1000) + 0.5) / 1000  # instead of random ones, so that the mean is exact up to 1/1000
    for offset in offsets:
        kept, new, threshold = thin(weights, 4, offset)
        assert len(kept) <= 4 and {0, 6} <= set(kept)
        assert all(
            w == weights[i] if weights[i] > threshold else w == threshold for i, w in zip(kept, new, strict=True)
        )
        total[kept] += new
    assert total / 1000 == pytest.approx(weights, abs=2e-4)
    assert len(thin(np.zeros(10), 4, 0.5)[0]) == 4, "where all weights are 0, all count alike"


def test_the_expected_weight_in_a_sample_is_the_true_one():
    # 2000 samples of at most 40 out of 1764 worlds of unequal weights, summed up in 20 groups of worlds; each mean is
    # within 6 standard errors, a false alarm less than once in a million times for all groups together
    game, policy = fl.load_game("phantom_ttt"), Biased(0.5, 1)
    state = fl.new_state(game)
    for action in (0, 1, 4):
        state.play(action)
    o_takes_c1 = 1 + 2 * 2
    before = tracked(game, 1, state.observations(1), policy=policy).worlds(turn_only=False)
    expansion = Expansion(game, 1, policy, before.rows.shape[1])

    def in_groups(seed, cap):
        layer = expansion.follow(before.rows, before.weights, o_takes_c1, cap, np.array([seed], np.uint64))
        assert len(layer.rows) <= cap
        return np.bincount((layer.rows[:, -2] % np.uint64(20)).astype(int), layer.weights, 20)  # by the key of x

    samples = np.array([in_groups(7919 * seed, 40) for seed in range(2000)])
    errors = samples.std(axis=0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(axis=0) - in_groups(0, 10**6)) < 6 * errors).all()


@pytest.mark.parametrize("policy", [None, Biased(0.6, 4)])
def test_regeneration_mixes_to_the_right_distribution(policy):
    # the last world of each of 1500 short chains, from the start; chi-square, a false alarm once in a million times
    state = fl.new_state("leduc_poker")
    for action in (0, 3, 1, 1, 2, 1):  # two cards, check, check or call, the public card, a bet or call
        state.play(action if action in state.actions() else state.actions()[-1])
    observations = state.observations(0)
    exact = tracked("leduc_poker", 0, observations, policy=policy)
    expected = belief(exact.worlds(turn_only=False))
    start = fl.new_state("leduc_poker").world[None]
    expansion = Expansion(exact.game, 0, policy, start.shape[1])
    counts = dict.fromkeys(expected, 0)
    for seed in range(1500):
        layers = [Layer(0, start, np.ones(1), False)]
        rows, weights, _ = regenerate(
            expansion, layers, observations, False, 1, 10**6, np.array([seed * 104_729], np.uint64), moves=40
        )
        assert len(rows) == 1 and weights.tolist() == [1.0]
        counts[rows[0].tobytes()] += 1
    likely = [w for w in expected if expected[w] > 0]
    assert len(likely) > 3
    assert chisquare([counts[w] for w in likely], [1500 * expected[w] for w in likely]).pvalue > 1e-6


def test_regeneration_is_fair_to_histories_of_different_lengths():
    # x has taken b2; o has marked one of 8 cells at once, or after running into b2: 16 histories, all alike
    # chi-square over 1500 chains, a false alarm once in a million times
    state = fl.new_state("phantom_ttt")
    state.play(4)
    expected = belief(tracked("phantom_ttt", 0, state.observations(0)).worlds())
    assert len(expected) == 16
    start = fl.new_state("phantom_ttt").world[None]
    expansion, layers = Expansion(state.game, 0, None, start.shape[1]), [Layer(0, start, np.ones(1), False)]
    counts = dict.fromkeys(expected, 0)
    for seed in range(1500):
        random_bits = np.array([seed * 104_729], np.uint64)
        rows, *_ = regenerate(expansion, layers, state.observations(0), True, 1, 10**6, random_bits, moves=40)
        counts[rows[0].tobytes()] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-6


@pytest.mark.parametrize("game", ["phantom_ttt", "dark_hex(rows=3,cols=3)", "battleship"])
def test_a_search_from_the_start_finds_only_worlds_that_agree(game):
    rng = random.Random(8)
    for i in range(4):
        states = [s for s in random_game(game, rng) if s.player == 0]
        state = states[len(states) // 2]
        start = fl.new_state(game).world[None]
        expansion, layers = Expansion(state.game, 0, None, start.shape[1]), [Layer(0, start, np.ones(1), False)]
        random_bits = np.array([i], np.uint64)
        rows, weights, _ = regenerate(expansion, layers, state.observations(0), True, 200, 10**6, random_bits)
        assert weights.sum() == 200 and len({row.tobytes() for row in rows}) == len(rows)
        assert {int(key(state.game, row, 0)) for row in rows} == {int(key(state.game, state.world, 0))}
        assert {player(state.game, row) for row in rows} == {0}


# Worlds that are not rows of words ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "cap", "exact"),
    [
        ("openspiel:liars_dice", 1000, True),
        ("openspiel:kriegspiel(board_size=4)", 30, False),
        ("openspiel:phantom_ttt", 20, False),
    ],
)
def test_games_of_openspiel_have_beliefs_too(game, cap, exact):
    pytest.importorskip("pyspiel")
    rng = random.Random(9)
    for i in range(2):
        states = list(random_game(game, rng))[:24]
        tracker = follow_game(states, i, cap=cap, seed=i)
        assert tracker.exact == exact
        if exact:
            rows = tracker.worlds(turn_only=False).rows
            assert states[-1].world.state.history_str() in {row.state.history_str() for row in rows}


def test_a_game_of_openspiel_has_the_belief_of_ours():
    pytest.importorskip("pyspiel")
    ours, theirs = fl.new_state("leduc_poker"), fl.new_state("openspiel:leduc_poker")
    rng = random.Random(10)
    while ours.player != fl.TERMINAL:
        action = rng.choice(theirs.actions())
        theirs.play(action)
        ours.play(action)
        sizes = [len(tracked(state.game, 0, state.observations(0), policy=Uniform())) for state in (ours, theirs)]
        assert sizes[0] == sizes[1]


@pytest.mark.plain
def test_the_public_may_be_tracked_too():
    state = fl.new_state("kuhn_poker")
    for action in (0, 1, 0):
        state.play(action)
    tracker = tracked("kuhn_poker", PUBLIC, state.observations(PUBLIC))
    assert (tracker.worlds(turn_only=False).rows == state.world).all(axis=1).any()
    assert len(tracker) == 6, "the cards may lie in any order"
