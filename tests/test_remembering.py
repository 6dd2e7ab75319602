"""Agents that remember: with a budget in iterations they are restored by being asked at their earlier decisions."""

import random

import numpy as np
import pytest

import foglight as fl
from foglight.agents import Seat, seated
from foglight.arena.referee import Referee
from foglight.proofs.twins import compare

AGENTS = ["oos(iterations=60)", "ismcts(iterations=60,reuse=yes)", "epimc(iterations=60,reuse=yes)"]
GAME = "goofspiel(cards=4)"


def last_decision(seat, seed):
    """The last decision with a choice of a seat in a random game."""
    rng, state, last = random.Random(seed), fl.new_state(GAME), None
    while state.player != fl.TERMINAL:
        if state.player == seat and len(state.actions()) > 1:
            last = state.clone()
        state.play(rng.choice(state.actions()))
    return last


def followed(agent, state, seed):
    """The explanation of an agent that was asked at each decision while the game was played."""
    seat, now = Seat(agent, state.game, state.player, seed), fl.new_state(state.game)
    for action in state.history():
        seat.tell(now.observations(state.player))
        if now.player == state.player:
            agent.act(now.actions())
        now.play(action)
    seat.tell(now.observations(state.player))
    agent.act(now.actions())
    return agent.explain()


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_restored_by_its_decisions(name):
    afresh = 0
    for seed in range(8):
        state = last_decision(seed % 2, seed)
        wanted = followed(fl.load_agent(name), state, seed)
        agent = fl.load_agent(name)
        assert agent.remembers
        seated(agent, state, state.player, seed)
        agent.act(state.actions())
        again = agent.explain()
        assert (again.action, again.visits, again.notes) == (wanted.action, wanted.visits, wanted.notes)
        assert again.values == pytest.approx(wanted.values, nan_ok=True)
        Seat(agent, state.game, state.player, seed, state.observations(state.player))  # without its decisions
        agent.act(state.actions())
        afresh += agent.explain().values != wanted.values or agent.explain().notes != wanted.notes
    assert afresh >= 6, "what was found earlier makes a difference"


@pytest.mark.parametrize("name", AGENTS)
def test_asked_twice_it_answers_the_same_and_learns_nothing(name):
    state = last_decision(0, 1)
    agent = fl.load_agent(name)
    seated(agent, state, 0, 3)
    first = agent.act(state.actions())
    values, shares = agent.explain().values, agent.probabilities(state.actions())
    assert agent.act(state.actions()) == first and agent.explain().values == values
    assert np.array_equal(agent.probabilities(state.actions()), shares) and shares[state.actions().index(first)] > 0.0
    agent.time = 0.01  # a budget in seconds is spent whenever it is asked
    assert agent.act(state.actions()) in state.actions() and agent.explain().visits != first


@pytest.mark.parametrize("name", AGENTS)
def test_a_resumed_game_goes_on_as_if_never_interrupted(name):
    record, _ = Referee(fl.load_game(GAME), [fl.load_agent(name) for _ in range(2)], seed=4).finish()
    for cut in (3, 5, 7):
        agents = [fl.load_agent(name) for _ in range(2)]
        resumed, _ = Referee(fl.load_game(GAME), agents, seed=4, actions=record.actions[:cut]).finish()
        assert resumed.actions == record.actions


@pytest.mark.parametrize("name", ["oos(iterations=8,cap=200)", "ismcts(iterations=8,cap=200,reuse=yes)"])
def test_twins_are_answered_alike_and_restored(name):
    result = compare(name, GAME, pairs=60, seed=2)
    assert result["pairs"] >= 60 and result["different"] == result["unrestored"] == 0, result["findings"]


@pytest.mark.parametrize("name", AGENTS)
def test_what_owes_an_agent_is_owed_by_those_that_remember(name):
    checks = fl.check_agent(name, GAME, games=2)
    assert checks.ok and checks.comparisons["replayed observations"] >= 3, str(checks)


def test_without_reuse_decisions_do_not_depend_on_earlier_ones():
    for name in ("oos(iterations=60,reuse=no)", "ismcts(iterations=60,reuse=no)", "epimc(iterations=60,reuse=no)"):
        state = last_decision(0, 2)
        wanted = followed(fl.load_agent(name), state, 0)
        agent = fl.load_agent(name)
        assert not agent.remembers
        Seat(agent, state.game, 0, 0, state.observations(0))
        agent.act(state.actions())
        assert agent.explain().values == pytest.approx(wanted.values, nan_ok=True)


@pytest.mark.parametrize(("nodes", "memories"), [(64, 2), (100_000, 1)])
def test_a_crowded_memory_is_emptied(nodes, memories):
    """Three cards are bid in two decisions with a choice: 64 actions are half full after the first one."""
    agent, state = fl.load_agent(f"oos(iterations=200,nodes={nodes})"), last_decision(0, 1)
    seat, now, seen = Seat(agent, state.game, 0, 0), fl.new_state(state.game), []
    for action in state.history():
        seat.tell(now.observations(0))
        if now.player == 0 and len(now.actions()) > 2:
            agent.act(now.actions())
            seen.append(agent._walks)
        now.play(action)
    assert len(seen) == 2 and len(set(map(id, seen))) == memories
