"""Independent Q-learning: it learns what pays, keeps every action possible, and repeats itself from its seed."""

import numpy as np
import pytest
from test_policies import probabilities

import foglight as fl
from foglight.rules import key
from foglight.solving.whole.q_learning import q_learning


def played(game, *actions):
    state = fl.new_state(game)
    for action in actions:
        state.play(state.parse_action(action))
    return state


def test_the_best_card_never_folds_and_the_worst_never_calls():
    policy = q_learning("kuhn_poker", 100_000, explore=0.2, seed=1)
    assert len(policy.keys) == 12
    # pass is the first action: a king facing a bet calls, a jack facing one folds; the rest is exploration, 0.2 / 2
    assert probabilities(policy, played("kuhn_poker", "queen", "king", "bet")) == pytest.approx([0.1, 0.9])
    assert probabilities(policy, played("kuhn_poker", "queen", "jack", "bet")) == pytest.approx([0.9, 0.1])


def test_leaving_is_learned_where_playing_costs():
    policy = q_learning("unseen_rps(leave_value=2)", 20_000, seed=2)
    assert np.argmax(probabilities(policy, fl.new_state("unseen_rps(leave_value=2)"))) == 0


def test_every_action_keeps_support():
    policy = q_learning("liars_dice(dice=1,sides=3)", 20_000, explore=0.3)
    assert policy.probabilities.min() > 0
    sums = np.add.reduceat(policy.probabilities, policy.begins[:-1])
    assert sums == pytest.approx(np.ones(len(policy.keys)))


def test_the_same_seed_learns_the_same():
    first, again, other = (q_learning("leduc_poker", 5_000, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.probabilities, other.probabilities)


def test_seats_that_see_the_same_are_told_apart():
    # in Phantom Tic-Tac-Toe x and o may have seen exactly the same
    x, o = played("phantom_ttt", "b2", "a1"), played("phantom_ttt", "a1", "b2", "c3")
    assert x.observations(0) == o.observations(1)
    assert key(x.game, x.world, 0) != key(o.game, o.world, 1)


def test_bad_options_get_advice():
    with pytest.raises(ValueError, match="rate must be above"):
        q_learning("kuhn_poker", rate=0)
    with pytest.raises(ValueError, match="more than 5 information states; give more room"):
        q_learning("kuhn_poker", room=5)
    with pytest.raises(ValueError, match="episodes must be at least 1"):
        q_learning("kuhn_poker", episodes=0)
