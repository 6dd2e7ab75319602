"""Any agent is a policy in a game small enough: asked once at every information state."""

import numpy as np
import pytest
from oracles import histories
from test_policies import probabilities

import foglight as fl
from foglight.agents import Agent
from foglight.policies import Uniform
from foglight.rules import key
from foglight.worlds.tracker import Tracker

GAMES = ["kuhn_poker", "leduc_poker", "goofspiel(cards=3)", "unseen_rps", "dark_hex(rows=2,cols=2)"]


class Bluffer(Agent):
    """Bets twice as often as not, and knows what it has seen."""

    def probabilities(self, actions=None):
        assert self.observations, "it has at least seen its card"
        return np.array([1 / 3, 2 / 3])


class Highest(Agent):
    def act(self, actions=None):
        return actions[-1]


@pytest.mark.parametrize("game", GAMES)
def test_random_is_uniform_and_first_legal_is_sure(game):
    uniform, first = fl.agent_policy("random", game), fl.agent_policy("first_legal", game)
    met = set()
    for state in histories(game):
        if state.player >= 0:
            n = len(state.actions())
            assert probabilities(uniform, state) == pytest.approx([1 / n] * n)
            assert probabilities(first, state) == [1.0] + [0.0] * (n - 1)
            met.add(int(key(state.game, state.world, state.player)))
    assert set(uniform.keys.tolist()) == met, "all information states, and no other"


def test_an_agent_that_only_acts_does_what_it_does_in_a_game():
    class Drawing(Agent):
        """Acts by lot: with the seed fixed, always alike at an information state."""

        def act(self, actions=None):
            return actions[int(self.random()[0]) % len(actions)]

    policies = [fl.agent_policy(Drawing(), "leduc_poker", seed=seed) for seed in (3, 3, 4)]
    assert np.array_equal(policies[0].probabilities, policies[1].probabilities)
    assert not np.array_equal(policies[0].probabilities, policies[2].probabilities)
    assert set(policies[0].probabilities.tolist()) == {0.0, 1.0}


def test_an_agent_serves_as_the_policy_of_a_filter():
    # king and queen: seat 0 passes, seat 1 bets; Bluffer reaches that with 1/6 * 1/3 * 2/3, and so for every deal
    policy = fl.agent_policy(Bluffer(), "kuhn_poker")
    state = fl.new_state("kuhn_poker")
    for action in (2, 1, 0, 1):
        state.play(action)
    listed = list(fl.history_filter("kuhn_poker", state.observations(fl.PUBLIC), policy=policy).enumerate())
    assert [weight for _, weight in listed] == pytest.approx([1 / 6 * 1 / 3 * 2 / 3] * 6)
    by_tracker = Tracker("kuhn_poker", 0, policy=policy)
    for code in state.observations(0):
        by_tracker.observe(code)
    assert sorted(by_tracker.worlds().weights) == pytest.approx([0.5, 0.5])


def test_each_seat_may_have_an_agent_of_its_own():
    mixed = fl.agent_policy(["random", Highest()], "goofspiel(cards=3)")
    for state in histories("goofspiel(cards=3)"):
        if state.player >= 0:
            n = len(state.actions())
            expected = [1 / n] * n if state.player == 0 else [0.0] * (n - 1) + [1.0]
            assert probabilities(mixed, state) == pytest.approx(expected)


def test_a_game_of_openspiel_takes_an_agent_as_its_policy_too():
    pytest.importorskip("pyspiel")
    game = "openspiel:kuhn_poker"
    policy = fl.agent_policy("random", game)
    assert len(policy.keys) == 12
    state = fl.new_state(game)
    for action in (2, 1, 0, 1):
        state.play(action)
    weights = [
        {tuple(s.history()): w for s, w in fl.history_filter(game, state.observations(0), 0, policy=p).enumerate()}
        for p in (policy, Uniform())
    ]
    assert weights[0] == pytest.approx(weights[1]) and len(weights[0]) > 0
    first = fl.agent_policy("first_legal", game)
    # seat 1 bets here, and first_legal never does
    assert not fl.history_filter(game, state.observations(0), 0, policy=first).exists()


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(fl.BadInput, match=r"more than 1000 worlds, and [0-9]+ information states so far"):
        fl.agent_policy("random", "phantom_ttt", limit=1000)
    with pytest.raises(fl.BadInput, match="a person cannot be asked"):
        fl.agent_policy("human", "kuhn_poker")
    with pytest.raises(fl.BadInput, match="has 2 seats, and 3 agents were given"):
        fl.agent_policy(["random"] * 3, "kuhn_poker")

    class Careless(Agent):
        def probabilities(self, actions=None):
            return np.array([0.5, 0.4])

    with pytest.raises(fl.BadInput, match=r"Careless gives \[0.5, 0.4\] for the 2 legal actions"):
        fl.agent_policy(Careless(), "kuhn_poker")
