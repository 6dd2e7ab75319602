"""Expected returns against weighing every ending by hand."""

import numpy as np
import pytest
from oracles import histories
from test_filter import reach

import foglight as fl
from foglight.policies import Biased, Uniform
from foglight.solving.whole.expectation import expected_returns


@pytest.mark.parametrize("policy", [Uniform(), Biased(0.8, 2)])
@pytest.mark.parametrize("game", ["kuhn_poker", "unseen_rps", "liars_dice(dice=1,sides=2)"])
def test_the_start_is_worth_what_its_endings_are(game, policy):
    ends = [state for state in histories(game) if state.player == fl.TERMINAL]
    expected = sum(reach(end, policy) * np.array(end.returns()) for end in ends)
    start = fl.new_state(game)
    assert expected_returns(start.game, policy, start.world[None, :])[0] == pytest.approx(expected)


def test_uniform_play_is_what_playouts_estimate():
    start = fl.new_state("leduc_poker")
    exact = expected_returns(start.game, Uniform(), start.world[None, :])[0, 0]
    # payoffs below 14, so a million playouts have a standard error below 0.014; 6 of them: a false alarm once in 5e8
    assert abs(fl.random_playouts("leduc_poker", 1_000_000)[0][0] - exact) < 6 * 0.014


def test_games_that_go_on_for_too_long_are_refused():
    start = fl.new_state("phantom_ttt")
    with pytest.raises(ValueError, match="more than 3 actions"):
        expected_returns(start.game, Uniform(), start.world[None, :], depth=3)
