"""Layers of worlds where time passes unnoticed, so that one layer is entered from several others."""

from collections import Counter

import numpy as np
import pytest
from oracles import histories
from scipy.stats import chisquare
from test_filter import groups, reach

import foglight as fl
from foglight.policies import Biased
from foglight.rules import key
from foglight.worlds import expansion
from foglight.worlds.layers import Layers

pytestmark = pytest.mark.plain


def explained(game, observations, viewer):
    """Every history that gives a viewer exactly these observations; no other branch is followed."""
    front, found = [fl.new_state(game)], []
    while front:
        state = front.pop()
        seen = state.observations(viewer)
        if seen == observations[: len(seen)]:
            if seen == observations:
                found.append(state)
            for action in state.actions() if state.player != fl.TERMINAL else ():
                after = state.clone()
                after.play(action)
                front.append(after)
    return found


def phantom(*moves):
    state = fl.new_state("phantom_ttt")
    for move in moves:
        state.play(move)
    return state


@pytest.mark.parametrize("chunk", [3, 4096])
@pytest.mark.parametrize("policy", [None, Biased(0.7, 3)])
@pytest.mark.parametrize(("moves", "viewer"), [((0, 0, 4, 1), 0), ((0, 0, 4), 1), ((0, 1, 1, 3, 0, 2), 1)])
def test_unnoticed_moves_lead_into_one_layer_from_several(moves, viewer, policy, chunk, monkeypatch):
    monkeypatch.setattr(expansion, "_CHUNK", chunk)
    observations = phantom(*moves).observations(viewer)
    states = explained("phantom_ttt", observations, viewer)
    found = Layers(states[0].game, observations, viewer, policy, 10**6)
    wanted = {tuple(state.history()): 1.0 if policy is None else reach(state, policy) for state in states}
    assert {tuple(state.history()): odds for state, odds in found.enumerate()} == pytest.approx(wanted)
    assert found.count() == len(wanted) >= 16
    weights = Counter()
    for i, world in found.ends:
        weights[found.layers[i].rows[world].tobytes()] += found.layers[i].weights[world] * np.exp(found.log_scale)
    by_world = Counter()
    for state in states:
        by_world[state.world.tobytes()] += wanted[tuple(state.history())]
    assert dict(weights) == pytest.approx(dict(by_world))
    told = found.diagnostics()
    assert (told["method"], told["exact"], told["worlds"]) == ("layers", True, len(found.ends))
    assert told["layers"] == len(found.layers)
    assert told["largest_layer"] == sorted(len(layer.rows) for layer in found.layers)[-1]
    assert told["effective"] == 0.0


def test_worlds_in_boxes_are_merged_too():
    game = fl.load_game("openspiel:phantom_ttt")
    state = fl.new_state(game)
    for move in (0, 0, 4):
        state.play(move)
    for policy in (None, Biased(0.7, 3)):
        states = explained(game, state.observations(1), 1)
        found = Layers(game, state.observations(1), 1, policy, 10**6)
        wanted = {tuple(s.history()): 1.0 if policy is None else reach(s, policy) for s in states}
        assert {tuple(s.history()): odds for s, odds in found.enumerate()} == pytest.approx(wanted)
        assert found.count() == len(wanted) == 16


def test_drawn_histories_are_as_likely_as_they_weigh():
    """400 draws, chi-square at 1e-6."""
    policy = Biased(0.7, 3)
    observations = phantom(0, 0, 4).observations(1)
    states = explained("phantom_ttt", observations, 1)
    found = Layers(states[0].game, observations, 1, policy, 10**6)
    odds = {tuple(state.history()): reach(state, policy) for state in states}
    counts = Counter(tuple(state.history()) for state in found.sample(400, seed=5))
    assert found.diagnostics()["effective"] == 400.0
    total = sum(odds.values())
    likely = sorted(odds, key=odds.get)[-8:]
    rest = [400 - sum(counts[h] for h in likely), 400 * (1 - sum(odds[h] for h in likely) / total)]
    seen, wanted = [counts[h] for h in likely], [400 * odds[h] / total for h in likely]
    assert set(counts) <= set(odds)
    assert chisquare([*seen, rest[0]], [*wanted, rest[1]]).pvalue > 1e-6


def test_a_mover_narrows_the_ends_and_ranges_add_their_weights():
    observations = phantom(0, 0, 4, 1).observations(0)
    states = explained("phantom_ttt", observations, 0)
    for mover in (0, 1):
        found = Layers(states[0].game, observations, 0, Biased(0.7, 3), 10**6, mover)
        wanted = Counter()
        for state in states:
            if state.player == mover:
                wanted[int(key(state.game, state.world, 1))] += reach(state, Biased(0.7, 3))
        assert found.count() == sum(state.player == mover for state in states) > 5
        ranges = found.ranges(1)
        scale = np.exp(found.log_scale)
        assert {k: scale * weight for k, (weight, _, _) in ranges.items()} == pytest.approx(dict(wanted))
        for number, (_, layer, world) in ranges.items():
            shown = found.one_history(layer, world)
            assert int(key(shown.game, shown.world, 1)) == number
            assert shown.observations(0) == observations


def test_the_limit_is_the_largest_layer_that_is_allowed():
    observations = phantom(0, 0, 4).observations(1)
    game = fl.load_game("phantom_ttt")
    largest = Layers(game, observations, 1, None, 10**6).diagnostics()["largest_layer"]
    assert Layers(game, observations, 1, None, largest).exists()
    with pytest.raises(fl.BadInput, match=f"more than {largest - 1} worlds"):
        Layers(game, observations, 1, None, largest - 1)


def test_a_policy_that_rules_something_out():
    """Seat 0 never bets: after a bet there is no history."""
    game = fl.load_game("kuhn_poker")

    for (viewer, *observations), states in groups("kuhn_poker").items():
        found = Layers(game, observations, viewer, Biased(1.0, 0), 10**6)
        possible = [state for state in states if reach(state, Biased(1.0, 0)) > 0.0]
        assert found.count() == len(possible)
        assert found.exists() == bool(possible)
    assert len(list(histories("kuhn_poker"))) > 50
