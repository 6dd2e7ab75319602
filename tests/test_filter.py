"""History filtering against listing every history of a small game, and against solvers where it is hard."""

import random
from collections import Counter

import pytest
from oracles import histories, random_game
from scipy.stats import chisquare

import foglight as fl
from foglight.policies import Biased, Uniform
from foglight.worlds import layers

GAMES = [
    "kuhn_poker",
    "unseen_rps",
    "goofspiel(cards=3)",
    "dark_hex(rows=2,cols=2)",
    "three_sat(variables=3,clauses=1)",
]


def reach(state, policy=None):
    """The product of the odds of everything that happened, one step at a time."""
    from test_policies import probabilities

    odds, at = 1.0, fl.new_state(state.game)
    for action in state.history():
        if at.player == fl.CHANCE:
            odds *= dict(at.chance())[action]
        elif policy is not None:
            odds *= probabilities(policy, at)[at.actions().index(action)]
        at.play(action)
    return odds


def groups(game):
    """Every history of a game, by viewer and what that viewer observed."""
    found = {}
    for state in histories(game):
        for viewer in range(fl.PUBLIC, state.num_players):
            found.setdefault((viewer, *state.observations(viewer)), []).append(state)
    return found


@pytest.mark.parametrize("game", GAMES)
def test_all_five_problems_against_every_history(game):
    everything = groups(game)
    rng = random.Random(game)
    for (viewer, *observations), states in rng.sample(sorted(everything.items()), min(40, len(everything))):
        f = fl.history_filter(game, observations, viewer, method="layers")
        expected = sorted(state.history() for state in states)
        assert f.exists()
        assert f.count() == len(expected)
        listed = list(f.enumerate())
        assert sorted(state.history() for state, _ in listed) == expected
        assert {weight for _, weight in listed} == {1.0}
        assert f.construct(seed=3).history() in expected
        assert all(state.history() in expected for state in f.sample(5, seed=1))


@pytest.mark.parametrize("policy", [Uniform(), Biased(0.7, 3)])
@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=3)", "liars_dice(dice=1,sides=2)"])
def test_weights_are_reach_probabilities(game, policy):
    everything = groups(game)
    rng = random.Random(game)
    for (viewer, *observations), states in rng.sample(sorted(everything.items()), min(30, len(everything))):
        listed = {tuple(s.history()): w for s, w in fl.history_filter(game, observations, viewer, policy).enumerate()}
        assert listed == pytest.approx({tuple(state.history()): reach(state, policy) for state in states})


def test_the_mover_narrows_the_filter():
    state = fl.new_state("phantom_ttt")
    for action in (4, 0):
        state.play(action)
    mine = fl.history_filter("phantom_ttt", state.observations(0), 0, mover=0)
    assert {s.player for s, _ in mine.enumerate()} == {0}
    # o has one mark on one of 8 cells, having run into b2 first or not
    assert mine.count() == 16
    # not asked: also the start of o's turn, and o after running into b2
    assert fl.history_filter("phantom_ttt", state.observations(0), 0).count() == 18


@pytest.mark.parametrize("policy", [None, Biased(0.8, 1)])
def test_samples_follow_the_weights(policy):
    # chi-square at 1e-6: a false alarm once in a million
    state = fl.new_state("leduc_poker")
    for action in (0, 3, 2, 1, 5):
        state.play(action)
    f = fl.history_filter("leduc_poker", state.observations(fl.PUBLIC), policy=policy)
    weights = {tuple(s.history()): w for s, w in f.enumerate()}
    counts = Counter(tuple(s.history()) for s in f.sample(4000, seed=2))
    assert set(counts) <= set(weights)
    total = sum(weights.values())
    assert chisquare([counts[h] for h in weights], [4000 * w / total for w in weights.values()]).pvalue > 1e-6
    assert f.sample(5, seed=2)[0].history() == f.sample(5, seed=2)[0].history()


def test_counting_lists_no_history():
    f = fl.history_filter("three_sat(variables=18,clauses=1)", [1] * 18, method="layers", limit=2_000_000)
    assert f.count() == 2**18
    assert len(f.sample(3)) == 3


def test_counts_that_outgrow_machine_integers_stay_exact(monkeypatch):
    everything = groups("liars_dice(dice=2,sides=2)")
    (viewer, *observations), states = max(everything.items(), key=lambda item: len(item[1]))
    monkeypatch.setattr(layers, "_MANY", 3.0)
    f = fl.history_filter("liars_dice(dice=2,sides=2)", observations, viewer)
    assert f.count() == len(states) and type(f.count()) is int


@pytest.mark.parametrize("game", ["openspiel:kuhn_poker", "openspiel:liars_dice(dice_sides=2)"])
def test_a_bridged_game_is_filtered_like_a_native_one(game):
    pytest.importorskip("pyspiel")
    everything = groups(game)
    rng = random.Random(1)
    for (viewer, *observations), states in rng.sample(sorted(everything.items()), 20):
        f = fl.history_filter(game, observations, viewer, policy=Uniform())
        listed = {tuple(state.history()): weight for state, weight in f.enumerate()}
        assert f.count() == len(states) == len(listed)
        assert listed == pytest.approx({tuple(state.history()): reach(state, Uniform()) for state in states})


def test_contradictions():
    f = fl.history_filter("kuhn_poker", [1, 2], viewer=0)
    assert not f.exists() and f.count() == 0
    for ask in (f.construct, lambda: f.sample(1), lambda: list(f.enumerate())):
        with pytest.raises(ValueError, match="no history gives these"):
            ask()
    with pytest.raises(ValueError, match="there is no viewer 5"):
        fl.history_filter("kuhn_poker", [], viewer=5)
    with pytest.raises(ValueError, match="unknown filter method 'layer'; did you mean 'layers'"):
        fl.history_filter("kuhn_poker", [], method="layer")
    with pytest.raises(ValueError, match="more than 5 worlds agree"):
        fl.history_filter("phantom_ttt", [9], viewer=0, limit=5)


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "oh_hell", "three_sat"])
def test_nothing_is_not_an_observation(game):
    """The public observes nothing when a card is dealt, and NOTHING in a list would pass for such a transition."""
    with pytest.raises(ValueError, match="NOTHING is not an observation"):
        fl.history_filter(game, [fl.NOTHING])


def test_ranges_are_the_information_states_within_a_public_state():
    state = fl.new_state("leduc_poker")
    for action in (0, 3, 2, 1, 5):
        state.play(action)
    f = fl.history_filter("leduc_poker", state.observations(fl.PUBLIC), policy=Biased(0.7, 2))
    for seat in range(2):
        shares = Counter()
        for s, weight in f.enumerate():
            shares[tuple(s.observations(seat))] += weight
        total = sum(shares.values())
        r = f.range(seat)
        assert r.exists() and r.count() == len(shares) == 5, "any card but the public one"
        listed = {tuple(observed): share for observed, share in r.enumerate()}
        assert listed == pytest.approx({observed: weight / total for observed, weight in shares.items()})
        assert tuple(r.construct()) in listed
        counts = Counter(map(tuple, r.sample(2000, seed=4)))
        assert chisquare([counts[o] for o in listed], [2000 * p for p in listed.values()]).pvalue > 1e-6  # one in 10^6


def three_sat_position(variables, clauses, seed):
    *_, end = random_game(f"three_sat(variables={variables},clauses={clauses})", random.Random(seed))
    return end


@pytest.mark.parametrize("viewer", [fl.PUBLIC, 0, 1])
def test_the_solver_and_the_layers_agree(viewer):
    end = three_sat_position(6, 12, 3)
    by_sat = fl.history_filter(end.game, end.observations(viewer), viewer)
    by_layers = fl.history_filter(end.game, end.observations(viewer), viewer, method="layers")
    assert (by_sat.method, by_layers.method) == ("sat", "layers")
    assert by_sat.exists() and by_sat.count() == by_layers.count()
    listed = [sorted(s.history() for s, _ in f.enumerate()) for f in (by_sat, by_layers)]
    assert listed[0] == listed[1] and end.history() in listed[0]
    for state in [by_sat.construct(seed=9), *by_sat.sample(3)]:
        assert state.observations(viewer) == end.observations(viewer)


def test_construction_solves_formulas_that_nobody_could_enumerate():
    end = three_sat_position(60, 240, 8)
    found = fl.history_filter(end.game, end.observations(1), 1).construct(seed=1)
    assert found.observations(1) == end.observations(1)


def test_a_formula_that_cannot_hold_has_no_history():
    game = "three_sat(variables=3,clauses=8)"
    clause = [5 + ((1 | 2 << 6 | 3 << 12) << 3 | signs) for signs in range(8)]
    f = fl.history_filter(game, [1, 1, 1] + [code for c in clause for code in (4, 4, 4, c)])
    assert not f.exists() and f.count() == 0
    with pytest.raises(ValueError, match="no history gives these observations"):
        f.construct()
    assert not fl.history_filter(game, [1, 1, 1, 4, 4, 4, 5]).exists(), "no such clause"
