"""`fl.check_agent` finds agents that peek, forget, draw from elsewhere or break the rules; and none among ours."""

import inspect
import random

import numpy as np
import pytest

import foglight as fl
from foglight.state import State


class Cheat(fl.Agent):
    def act(self, actions=None):
        return 99


class Peeker(fl.Agent):
    """Finds the true state in the referee's frame."""

    def act(self, actions=None):
        frame = inspect.currentframe().f_back
        while frame is not None:
            for value in frame.f_locals.values():
                if isinstance(value, State) and len(actions or ()) > 1:
                    return actions[sum(value.history()) % len(actions)]
            frame = frame.f_back
        return (actions or self.legal_actions())[0]


class Gambler(fl.Agent):
    def act(self, actions=None):
        return random.choice(actions or self.legal_actions())


class NumpyGambler(fl.Agent):
    def act(self, actions=None):
        return int(np.random.choice(actions or self.legal_actions()))


class Unique(fl.Agent):
    def act(self, actions=None):
        actions = actions or self.legal_actions()
        return actions[random.SystemRandom().randrange(len(actions))]


class Counter(fl.Agent):
    """Plays by how often it was asked in this game, which nobody can tell it again."""

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.asked = 0

    def act(self, actions=None):
        self.asked += 1
        return (actions or self.legal_actions())[0 if self.asked < 2 else -1]


class Veteran(fl.Agent):
    """Plays by how many games it has played."""

    wars = 0

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.wars = self.wars + 1

    def act(self, actions=None):
        return (actions or self.legal_actions())[0 if self.wars < 3 else -1]


class Needy(fl.Agent):
    def act(self, actions=None):
        return actions[0]


class Unsure(fl.Agent):
    def act(self, actions=None):
        return (actions or self.legal_actions())[0]

    def probabilities(self, actions=None):
        return [0.6] * len(actions)


class Dreamer(Unsure):
    def probabilities(self, actions=None):
        return [0.0] * (len(actions) - 1) + [1.0]


class Short(Unsure):
    def probabilities(self, actions=None):
        return [1.0]


class Clumsy(fl.Agent):
    def act(self, actions=None):
        return [][0]


FAULTS = {
    Cheat: ("legal actions", "Cheat plays 99"),
    Peeker: ("hidden worlds", "it peeks"),
    Gambler: ("global random numbers", "use self.random()"),
    NumpyGambler: ("global random numbers", "use self.random()"),
    Unique: ("reproducible", "in another instance with the same seed and observations"),
    Counter: ("replayed observations", "in a new instance that got the same observations"),
    Veteran: ("a new game", "a new instance that has played no games before"),
    Needy: ("legal actions untold", "use `actions or self.legal_actions()`"),
    Unsure: ("probabilities", "sum to 1"),
    Dreamer: ("probabilities", "to which it gives the probability 0"),
    Short: ("probabilities", "gives 1 probabilities for"),
    Clumsy: ("running", "Clumsy fails with IndexError: list index out of range"),
}


@pytest.mark.parametrize("made", FAULTS)
def test_a_fault_of_an_agent_is_found_and_named(made):
    property_, words = FAULTS[made]
    checks = fl.check_agent(made, "phantom_ttt", games=8, seconds=100.0)
    fault = next((fault for fault in checks.faults if fault.property == property_), None)
    assert fault is not None, str(checks)
    assert words in fault.sentence and "\n" not in fault.sentence and not checks.ok


@pytest.mark.parametrize("agent", ["random", "first_legal", "pimc(iterations=20,cap=50)"])
def test_agents_without_faults_have_none(agent):
    checks = fl.check_agent(agent, "kuhn_poker", seconds=100.0)
    assert checks.ok, str(checks)
    assert min(checks.comparisons[name] for name in ("reproducible", "hidden worlds", "legal actions untold")) > 3


def test_an_instance_is_copied_and_a_class_is_made():
    agent = Veteran()
    assert fl.check_agent(agent, "kuhn_poker", games=1, seconds=100.0).comparisons["legal actions"] > 0
    assert agent.wars == 0 and not hasattr(agent, "game")


def test_an_agent_with_a_time_budget_is_not_held_to_the_clock():
    checks = fl.check_agent("pimc(time=0.001)", "kuhn_poker", games=1, seconds=100.0)
    assert checks.ok and "clock" in checks.skipped["reproducible"] and checks.comparisons["probabilities"] > 0
    assert "not checked: reproducible" in str(checks)


def test_the_callers_random_numbers_are_left_alone():
    random.seed(5)
    np.random.seed(5)
    expected = random.getstate(), np.random.get_state()[1].tolist()
    fl.check_agent(Gambler, "kuhn_poker", games=1, seconds=100.0)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == expected


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(fl.BadInput, match="needs somebody at the terminal"):
        fl.check_agent("human", "kuhn_poker")
    with pytest.raises(fl.BadInput, match="games must be a whole number of at least 1, not 0"):
        fl.check_agent("random", "kuhn_poker", games=0)


def test_the_command_says_it_and_exits_with_1_on_faults(run):
    code, out, err = run("check-agent", "random", "--game", "kuhn_poker", "--games", "1")
    assert (code, err) == (0, "") and out.startswith("Random in kuhn_poker: no fault in ")
    code, out, _ = run("check-agent", "random", "--game", "kuhn_poker", "--games", "1", "--json")
    assert code == 0 and '"ok": true' in out


def test_an_agent_that_cannot_act_is_refused():
    class Idle(fl.Agent):
        """Says nothing."""

    class Deaf(fl.Agent):
        """Does not hear which actions are legal."""

        def act(self):
            return 0

    for made, words in ((Idle, "Idle does not say how it acts"), (Deaf, "Deaf.act cannot be given the legal actions")):
        for agent in (made, made()):
            with pytest.raises(fl.BadInput, match=words):
                fl.play_match("kuhn_poker", [agent, "random"], games=2)
