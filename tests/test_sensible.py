"""Weights of worlds by sensible play: the others prefer what the game's own evaluation likes."""

import math

import numpy as np
import pytest

import foglight as fl
from foglight.policies import weigh
from foglight.rules import evaluation
from foglight.search.sensible import DOUBT, SHARPNESS, sensible

pytestmark = pytest.mark.plain


CAREFUL = "pimc(leaf=evaluation,iterations=60)"
LARGEST = {"battleship": 2.0}  # payoff; 1 elsewhere


def wanted(state, largest):
    """The probabilities of the legal actions, as the docstring of `foglight/search/sensible.py` has them."""
    values = []
    for action in state.actions():
        after = state.clone()
        after.play(action)
        over = after.player == fl.TERMINAL
        value = after.returns()[state.player] if over else evaluation(state.game, after.world, state.player)
        values.append(value / largest)
    shares = [math.exp(value / SHARPNESS) for value in values]
    return [(1 - DOUBT) * share / sum(shares) + DOUBT / len(shares) for share in shares]


@pytest.mark.parametrize(
    "name", ["dark_chess(size=4)", "dark_hex(rows=3,cols=3)", "phantom_ttt", "battleship", "liars_dice"]
)
def test_an_action_is_as_likely_as_its_evaluation_says(name):
    rng, compared, highest = np.random.default_rng(5), 0, 0.0
    game = fl.load_game(name)
    policy = sensible(game)
    for _ in range(3):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL:
            actions = state.actions()
            if state.player >= 0:
                before, odds = state.world.copy(), np.empty(len(actions))
                weigh(policy, game, state.world, state.player, np.array(actions), len(actions), odds)
                assert odds == pytest.approx(wanted(state, LARGEST.get(name, 1.0))) and odds.sum() == pytest.approx(1.0)
                assert (state.world == before).all()
                compared, highest = compared + 1, max(highest, float(np.ptp(odds)))
            state.play(int(rng.choice(actions)))
    assert compared >= 9 and highest > 0.3


def test_the_truth_is_likelier_if_the_other_seat_plays_sensibly():
    """In 20 games of Dark Chess against `pimc(leaf=evaluation)` the truth weighs more than if all histories are alike.

    Per decision, the mean of log2(weight of the truth / mean weight) is positive: 1.4 bits;
    for a seat that plays at random it is not.
    """
    assert bits(CAREFUL, 20) > 0.7 > bits("random", 20)


def bits(other, games):
    game, gained = fl.load_game("dark_chess(size=5,repetition=ignore,clock=hidden)"), []
    for seed in range(games):
        state, agents, told = fl.new_state(game), [fl.load_agent(name) for name in (CAREFUL, other)], [0, 0]
        for seat, agent in enumerate(agents):
            agent.start(game, seat, seed)
        tracker = fl.Tracker(game, 0, cap=2000, policy=sensible(game), seed=seed, refill=False)
        while state.player != fl.TERMINAL and len(state.history()) < 24:
            for seat, agent in enumerate(agents):
                for observation in state.observations(seat)[told[seat] :]:
                    agent.observe(observation)
                    if seat == 0:
                        tracker.observe(observation)
                told[seat] = len(state.observations(seat))
            if state.player == 0:
                worlds = tracker.worlds()
                true = (worlds.rows == state.world).all(axis=1)
                if len(true) > 1 and true.any():
                    gained.append(math.log2(worlds.weights[true].sum() * len(true)))
            state.play(agents[state.player].act(state.actions()))
    assert len(gained) > games / 2
    return sum(gained) / len(gained)


def test_weights_of_sensible_play_need_an_evaluation():
    with pytest.raises(fl.BadInput, match=r"^kuhn_poker has no rule 'evaluation' to say what sensible play is"):
        fl.load_agent("pimc(weights=sensible_play)").start("kuhn_poker", 0, 0)
    with pytest.raises(fl.BadInput, match=r"has no rule 'evaluation'"):
        fl.load_agent("kluss(weights=sensible_play)").start("kuhn_poker", 0, 0)


def test_a_sample_of_which_few_survive_goes_on_with_these_if_it_is_not_refilled():
    game, rng, thinner = fl.load_game("phantom_ttt"), np.random.default_rng(0), 0
    for seed in range(40):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL:
            state.play(int(rng.choice(state.actions())))
        sizes = []
        for refill in (True, False):
            tracker, tried = fl.Tracker(game, 0, cap=60, seed=seed, refill=refill), []
            for observation in state.observations(0):
                tracker.observe(observation)
                tried.append(tracker.tried)
            sizes.append(tried[-1])
        thinner += sizes[1] < sizes[0]
        assert sizes[1] <= sizes[0] or tracker.regenerations
    assert thinner >= 10
