"""Worlds found anew, beside the belief that lists them all: how far the shares are from the truth, at fixed seeds.

A sample of 1000 nearly independent worlds among at most 40 is about 0.08 away from the truth (half the sum of the
differences), and never 0.15.
"""

import random

import numpy as np
import pytest
from test_layers import explained, phantom
from test_tracker import belief, reach, tracked

import foglight as fl
from foglight.policies import Biased, Uniform
from foglight.worlds import regeneration
from foglight.worlds.expansion import Expansion
from foglight.worlds.regeneration import BeliefLost, Layer, _merged, regenerate, starts

pytestmark = pytest.mark.plain


def found_anew(state, viewer, policy, at_turn, moves=4, cap=1024, seed=1, layers=None, work=10**7):
    start = fl.new_state(state.game).world
    how = Expansion(state.game, viewer, policy, len(start))
    layers = layers or [Layer(0, start[None], np.ones(1), False)]
    bits = np.array([seed], np.uint64)
    return regenerate(how, layers, state.observations(viewer), at_turn, cap, work, bits, moves)


def distance(rows, weights, truth):
    shares = {row.tobytes(): weight / weights.sum() for row, weight in zip(rows, weights, strict=True)}
    assert set(shares) <= set(truth), "a world that contradicts an observation is never given"
    return 0.5 * sum(abs(shares.get(world, 0.0) - weight) for world, weight in truth.items())


def leduc(*moves):
    state = fl.new_state("leduc_poker")
    for move in moves:
        state.play(move if move in state.actions() else state.actions()[-1])
    return state


CASES = [
    (phantom, (4,), 0, None, True),  # o has marked one of 8 cells at once, or after running into b2
    (phantom, (4, 4, 0), 0, Biased(0.6, 4), True),
    (phantom, (0, 0, 4, 1), 0, Uniform(), False),
    pytest.param(leduc, (0, 3, 1, 1, 2, 1), 0, Biased(0.6, 4), False, marks=pytest.mark.long_plain),
    pytest.param(leduc, (0, 3, 1, 2, 1), 1, None, False, marks=pytest.mark.long_plain),
]


@pytest.mark.parametrize(("game", "moves", "viewer", "policy", "at_turn"), CASES)
def test_worlds_found_anew_are_as_likely_as_they_should_be(game, moves, viewer, policy, at_turn):
    state = game(*moves)
    tracker = tracked(state.game, viewer, state.observations(viewer), policy=policy)
    truth = belief(tracker.worlds()) if at_turn else right_after(state, viewer, policy)
    rows, weights, tried = found_anew(state, viewer, policy, at_turn)
    assert weights.sum() == 1024 and 3 < len(rows) == len(weights) <= len(truth)
    assert distance(rows, weights, truth) < 0.15
    assert tried > 1024


@pytest.mark.long_plain
def test_of_two_worlds_each_comes_as_often_as_it_should():
    """The other seat has one of two cards; it would have bet with the one 4 times as often as with the other.

    4096 draws, a few moves apart; a standard error is about 0.006, and 5 of them are allowed.
    """
    state = fl.new_state("kuhn_poker")
    for move in (0, 1, 0, 1):
        state.play(move)
    truth = right_after(state, 0, Biased(0.8, 1))
    assert sorted(truth.values()) == pytest.approx([0.2, 0.8])
    found = dict.fromkeys(truth, 0.0)
    for draw in range(4):
        rows, weights, _ = found_anew(state, 0, Biased(0.8, 1), False, moves=5, seed=draw)
        for row, weight in zip(rows, weights, strict=True):
            found[row.tobytes()] += weight / 4096
    assert found == pytest.approx(truth, abs=0.03)


@pytest.mark.long_plain
def test_histories_of_both_lengths_come_as_often():
    """x has taken b2: in half of the 16 histories o has run into it before its first mark. 3072 draws, 5 errors."""
    state, longer = phantom(4), 0.0
    three = {phantom(4, 4, cell).world.tobytes() for cell in range(9) if cell != 4}
    for seed in range(3):
        rows, weights, _ = found_anew(state, 0, None, True, moves=5, seed=seed)
        longer += sum(weight for row, weight in zip(rows, weights, strict=True) if row.tobytes() in three)
    assert longer / 3072 == pytest.approx(0.5, abs=0.05)


def test_changes_alone_are_accepted_as_they_should_be(monkeypatch):
    """x has taken a1 and b2, o a cell between, perhaps after running into a1: by changes alone the length stays.

    The coin between changing and drawing anew is the only choice among two here.
    """
    real = regeneration.below
    monkeypatch.setattr(regeneration, "below", lambda draws, bound: 1 if bound == 2 else real(draws, bound))
    monkeypatch.setattr(regeneration, "_regrow", regeneration._regrow.py_func)
    state, policy = phantom(0, 5, 4), Biased(0.6, 4)
    truth = right_after(state, 0, policy)
    lengths = {one.world.tobytes(): len(one.history()) for one in explained("phantom_ttt", state.observations(0), 0)}
    rows, weights, _ = found_anew(state, 0, policy, False, moves=6)
    shares, seen = {}, {row.tobytes(): weight for row, weight in zip(rows, weights, strict=True)}
    for length in {lengths[world] for world in seen}:
        own = {world: weight for world, weight in truth.items() if lengths[world] == length}
        for world, weight in own.items():
            shares[world] = weight / sum(own.values()) * sum(seen.get(other, 0.0) for other in own)
    assert len(seen) >= 7
    assert 0.5 * sum(abs(seen.get(world, 0.0) - shares[world]) for world in shares) < 0.15 * 1024


def right_after(state, viewer, policy):
    """The belief right after the last observation, before anything follows unnoticed."""
    observations, found = state.observations(viewer), {}
    for one in explained(state.game, observations, viewer):
        replayed = fl.new_state(state.game)
        for action in one.history()[:-1]:
            replayed.play(action)
        if replayed.observations(viewer) != observations:  # its last action was noticed
            found[one.world.tobytes()] = found.get(one.world.tobytes(), 0.0) + reach(one, viewer, policy)
    return {world: weight / sum(found.values()) for world, weight in found.items()}


def test_a_history_may_be_as_long_as_there_is_room(monkeypatch):
    """x has taken b2; o has marked a cell at once, or has run into b2 first: two or three steps."""
    state = phantom(4)
    truth = belief(tracked(state.game, 0, state.observations(0)).worlds())
    at_once = {phantom(4, cell).world.tobytes() for cell in range(9) if cell != 4}
    monkeypatch.setattr(regeneration, "_regrow", regeneration._regrow.py_func)  # compiled code keeps its constants
    for beyond, worlds in ((1, at_once), (2, set(truth))):  # steps beyond one for each observation
        monkeypatch.setattr(regeneration, "_LONGEST", beyond)
        rows, _, _ = found_anew(state, 0, None, True, cap=200)
        assert {row.tobytes() for row in rows} == worlds


def test_what_was_found_is_given_even_if_there_is_no_time_to_mix():
    state = phantom(4)
    truth = belief(tracked(state.game, 0, state.observations(0)).worlds())
    found = 0
    for seed in range(10):
        try:
            rows, weights, _ = found_anew(state, 0, None, True, moves=50, cap=8, seed=seed, work=60)
        except BeliefLost:
            continue
        assert {row.tobytes() for row in rows} <= set(truth) and 1 <= weights.sum() <= 4, "one a chain"
        found += 1
    assert found > 3


@pytest.mark.parametrize("stubborn", [2, 300])
def test_a_search_that_gets_stuck_goes_back_and_finds_only_what_agrees(stubborn, monkeypatch):
    monkeypatch.setattr(regeneration, "_regrow", regeneration._regrow.py_func)  # compiled code keeps its constants
    monkeypatch.setattr(regeneration, "_STUBBORN", stubborn)
    monkeypatch.setattr(regeneration, "_LONGEST", 20)
    rng, compared = random.Random(8), 0
    for seed in range(6):
        state = fl.new_state("dark_hex(rows=3,cols=3)")
        for _ in range(9):
            if state.player != fl.TERMINAL:
                state.play(rng.choice(state.actions()))
        if state.player == fl.TERMINAL:
            continue
        seat = state.player
        truth = belief(tracked(state.game, seat, state.observations(seat)).worlds())
        rows, weights, _ = found_anew(state, seat, None, True, cap=20, seed=seed)
        assert {row.tobytes() for row in rows} <= set(truth) and weights.sum() == 20
        compared += len(rows)
    assert compared > 20


def test_later_layers_are_where_it_starts():
    """From the worlds after the first observations on; what weighs nothing there is never where it comes from."""
    state = phantom(4, 0, 1)
    early = tracked(state.game, 0, state.observations(0)[:1]).worlds(turn_only=False)
    weights = np.array([1.0 if row.tobytes() == phantom(4, 0).world.tobytes() else 0.0 for row in early.rows])
    assert weights.sum() == 1.0
    start = fl.new_state(state.game).world[None]
    layers = [Layer(0, start, np.ones(1), False), Layer(1, early.rows, weights, True)]
    rows, counts, _ = found_anew(state, 0, None, False, cap=50, layers=layers)
    assert [row.tobytes() for row in rows] == [state.world.tobytes()] and counts.tolist() == [50.0]


def test_what_cannot_be_explained_is_lost():
    state = phantom(4)
    how = Expansion(state.game, 0, None, len(state.world))
    layers = [Layer(0, fl.new_state(state.game).world[None], np.ones(1), False)]
    for at_turn, words in ((False, "of seat 0, in"), (True, "of seat 0 and in which it is to move, in")):
        with pytest.raises(BeliefLost, match=words):
            regenerate(how, layers, [*state.observations(0), 777], at_turn, 10, 4000, np.array([1], np.uint64))


def test_where_to_start():
    layers = [Layer(at, None, np.ones(1), False) for at in range(9)]
    # back 1, then each about twice as far: 9 - 8 = 1, 9 - 7 = 2, 9 - 5 = 4, 9 - 1 = 8, and the first
    assert [layer.at for layer in starts(layers, 9)] == [8, 7, 5, 1, 0]
    assert [layer.at for layer in starts(layers, 12)] == [8, 4, 0]
    assert [layer.at for layer in starts(layers[:1], 5)] == [0]


def test_equal_worlds_are_counted():
    found = np.array([[1, 2], [3, 4], [1, 2], [1, 2]], np.uint64)
    rows, counts = _merged(found)
    assert rows.tolist() == [[1, 2], [3, 4]] and counts.tolist() == [3.0, 1.0]
    rows, counts = _merged(list(found))
    assert [row.tolist() for row in rows] == [[1, 2], [3, 4]] and counts.tolist() == [3.0, 1.0]
