"""The referee beside a game replayed by hand: who is told what, asked when, and where chance comes from."""

import time

import numpy as np
import pytest
from test_compile import Nim

import foglight as fl
from foglight.agents import Agent
from foglight.arena.referee import IllegalAction, Timing, play_game, warm_up
from foglight.randomness import generator, weighted

pytestmark = pytest.mark.plain


class Diary(Agent):
    """Writes everything down, and plays the last legal action."""

    def start(self, game, seat, seed):
        self.began, self.heard, self.asked = (str(game), seat, seed), [], []

    def observe(self, observation):
        self.heard.append(observation)

    def act(self, actions=None):
        self.asked.append((list(self.heard), list(actions)))
        return actions[-1]


class Reader(Diary):
    at_terminal = True

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.shown = []

    def read(self, view):
        self.shown.append((view.information, view.choices, view.log))


@pytest.mark.parametrize("game", ["leduc_poker", "phantom_ttt", "oh_hell(players=3,suits=2,ranks=4,tricks=2)"])
def test_a_game_by_hand(game):
    """Chance draws from branch (number, 0) of the seed, the agent on seat s gets its own from (number, 1 + s)."""
    seats = fl.new_state(game).num_players
    for seed, number in ((5, 0), (5, 3), (6, 3)):
        agents = [Reader() for _ in range(seats)]
        record, end = play_game(game, agents, seed, number)
        state, nature = fl.new_state(game), generator(seed, number, 0)
        asked = [[] for _ in range(seats)]
        shown = [[] for _ in range(seats)]
        while state.player != fl.TERMINAL:
            if state.player == fl.CHANCE:
                outcomes = state.chance()
                action = outcomes[weighted(nature, [odds for _, odds in outcomes], len(outcomes))][0]
            else:
                asked[state.player].append((state.observations(state.player), state.actions()))
                shown[state.player].append((state.information(state.player), state.choices(), state.log(state.player)))
                action = state.actions()[-1]
            state.play(action)
        assert record.actions == tuple(state.history()) == tuple(end.history())
        assert record.returns == tuple(state.returns())
        for seat, agent in enumerate(agents):
            assert agent.began == (str(state.game), seat, int(generator(seed, number, 1 + seat)[0]))
            assert agent.heard == state.observations(seat)
            assert agent.asked == asked[seat] and agent.shown == shown[seat]
            assert record.timing[seat].moves == len(asked[seat])
        assert len({agent.began[2] for agent in agents}) == seats, "each has a seed of its own"


def test_the_first_game_has_number_0():
    first, named = (play_game("kuhn_poker", [Diary(), Diary()], 4, *number)[0] for number in ((), (0,)))
    other = [play_game("kuhn_poker", [Diary(), Diary()], 4, number)[0].actions for number in range(1, 9)]
    assert first == named and any(actions != first.actions for actions in other)


@pytest.mark.parametrize("wrong", [7, -1, None])
def test_an_illegal_action_is_named(wrong):
    class Cheat(Diary):
        def act(self, actions=None):
            return wrong

    with pytest.raises(IllegalAction, match=r"Cheat on seat 1 played .* after 3 actions, where only"):
        play_game("kuhn_poker", [Diary(), Cheat()], 1)


def test_an_agent_may_scribble_on_the_list_it_was_given():
    class Scribbler(Diary):
        def act(self, actions=None):
            choice = actions[0]
            actions[:] = [99]
            return choice

    play_game("kuhn_poker", [Scribbler(), Scribbler()], 1)


def test_times_in_milliseconds_by_hand():
    timing = Timing()
    assert timing.summary() == {"moves": 0, "mean_ms": 0.0, "longest_ms": 0.0, "overruns": 0}
    timing.add(0.25, 0.0)
    timing.add(0.5, 0.0)
    assert timing.summary() == {"moves": 2, "mean_ms": 375.0, "longest_ms": 500.0, "overruns": 0}
    timing.add(1.2 * 0.5 + 0.005, 0.5)
    assert timing.overruns == 0, "not more than a fifth and five milliseconds"
    timing.add(np.nextafter(1.2 * 0.5 + 0.005, 1.0), 0.5)
    assert timing.overruns == 1


def test_an_agent_without_a_clock_has_no_budget_and_overruns_nothing():
    class Late(Diary):
        def act(self, actions=None):
            time.sleep(0.02)
            return actions[0]

    overruns = []
    for budget in (None, 0.001):
        agents = [Late(), Late()]
        for agent in agents:
            assert agent.time == 0.0
            agent.time = budget or agent.time
        overruns.append([timing.overruns for timing in play_game("kuhn_poker", agents, 1)[0].timing])
    assert overruns[0] == [0, 0] and min(overruns[1]) > 0


def test_in_a_warm_up_agents_know_what_they_have_seen_and_only_choices_are_asked():
    for game in ("leduc_poker", "phantom_ttt", "goofspiel(cards=2)"):
        agents = [Diary(), Diary()]
        warm_up(fl.load_game(game), agents)
        for seat, agent in enumerate(agents):
            assert agent.began[:2] == (str(fl.load_game(game)), seat)
            ((heard, actions),) = agent.asked
            assert len(actions) > 1
            held = fl.history_filter(game, heard, seat, mover=seat)
            assert held.exists() and held.construct().actions() == actions
    agents = [Diary(), Diary()]
    warm_up(Nim(1), agents)
    assert [agent.asked for agent in agents] == [[], []], "nobody ever has a choice"
