"""Policies say probabilities; what they say depends on the information state alone."""

import random

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight.compile import implements, kernel
from foglight.policies import Biased, Uniform, tabular, weigh
from foglight.rules import key, legal, player

pytestmark = pytest.mark.plain


@kernel
def _asked(game, policy, world, actions, out):
    n = legal(game, world, actions)
    weigh(policy, game, world, player(game, world), actions, n, out)
    return n


def probabilities(policy, state):
    actions, out = np.empty(64, np.int64), np.empty(64)
    n = _asked(state.game, policy, state.world, actions, out)
    return out[:n].tolist()


def decisions(game, seed=1, games=20):
    rng = random.Random(seed)
    return [state for _ in range(games) for state in random_game(game, rng) if state.player >= 0]


@pytest.mark.parametrize("policy", [Uniform(), Biased(0.5, 1), Biased(0.9, 2), Biased(0.0, 3)])
def test_probabilities_add_up_and_follow_the_information_state(policy):
    said, states = {}, decisions("phantom_ttt")
    for state in states:
        odds = probabilities(policy, state)
        assert len(odds) == len(state.actions()) and sum(odds) == pytest.approx(1)
        assert said.setdefault((state.player, *state.observations(state.player)), odds) == odds
    assert len(states) - len(said) > 50, "so many were met again"


def test_the_bias_is_on_one_action():
    for state in decisions("phantom_ttt"):
        odds = sorted(probabilities(Biased(0.7, 5), state))
        n = len(odds)
        assert odds == pytest.approx([0.3 / (n - 1)] * (n - 1) + [0.7] if n > 1 else [1.0])


def test_the_favourite_is_any_action_alike():
    # over seeds, at one information state with 9 actions: chi-square at 1e-6, a false alarm once in a million
    from scipy.stats import chisquare

    state, counts = fl.new_state("phantom_ttt"), [0] * 9
    for seed in range(2000):
        counts[int(np.argmax(probabilities(Biased(0.9, seed), state)))] += 1
    assert chisquare(counts).pvalue > 1e-6


def test_a_table_is_read_and_elsewhere_play_is_uniform():
    states = decisions("kuhn_poker")
    known = states[0]
    policy = tabular({int(key(known.game, known.world, known.player)): [0.25, 0.75], 5: [1.0]})
    assert probabilities(policy, known) == [0.25, 0.75]
    others = [s for s in states if s.observations(s.player) != known.observations(known.player)]
    assert all(probabilities(policy, state) == [0.5, 0.5] for state in others)


class Cautious:
    """Not a NamedTuple: asked in Python."""


@implements(Cautious, "weigh")
def _weigh(policy, game, world, seat, actions, n, out):
    out[:n] = 0.0
    out[0] = 1.0


def test_a_policy_of_ones_own_runs_interpreted():
    for state in decisions("kuhn_poker", games=2):
        assert probabilities(Cautious(), state) == [1.0, 0.0]
