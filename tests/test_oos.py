"""Online outcome sampling: unbiased however it is aimed, closer to equilibrium with more walks, and it arrives."""

import random

import numpy as np
import pytest
from oracles import expected, histories, random_game
from test_agents_contract import asked

import foglight as fl
from foglight.arena.referee import play_game
from foglight.names import BadInput
from foglight.randomness import generator
from foglight.rules import key
from foglight.search.trees.oos import Walks, aim
from foglight.tables import find

SIGMAS = 5.0  # a normal variable is further from its mean once in 1.7 million draws


def target_state(game):
    """A late decision of a random game."""
    return [state for state in random_game(game, random.Random(3)) if state.player >= 0][-1]


def walks_to(state, public=False, limit=1000, delta=0.9):
    """Walks aimed at what the mover of a state knows."""
    seat = state.player
    target = aim(state.game, seat, state.observations(seat), public, limit)
    walks = Walks(state.game, seat, 0.4, delta, 10**6)
    walks.turn_to(int(key(state.game, state.world, seat)), target)
    return walks


def code(state):
    return np.uint64(key(state.game, state.world, state.player))


def prepared(game, walks):
    """A memory that holds all states of a game, with some behaviour; (state key, place) to probability."""
    draws = generator(1)
    for _ in range(300):
        walks.memory.regrets[:] = 0.0
        walks.run(20, draws)
    rng, policy = np.random.default_rng(5), {}
    walks.memory.regrets[:] = 0.0
    for state in histories(game):
        if state.player >= 0 and int(code(state)) not in policy:
            assert find(walks.memory.keys, code(state)) >= 0, "all states have been met"
            first, n = walks.memory.begins[find(walks.memory.keys, code(state))], len(state.actions())
            wishes = rng.random(n)
            wishes[wishes < 0.2] = 0.0
            wishes[rng.integers(n)] += 0.1
            walks.memory.regrets[first : first + n] = wishes / wishes.sum()
            policy[int(code(state))] = wishes / wishes.sum()
    return policy


def exact(game, walks, policy, explorer):
    """What a walk ought to add to the regrets of the explorer and to the sums of the other, in expectation."""
    regrets, sums = np.zeros(len(walks.memory.regrets)), np.zeros(len(walks.memory.sums))

    def visit(state, reaches, odds):
        shares = [share for _, share in state.chance()]
        if state.player >= 0:
            first, shares = walks.memory.begins[find(walks.memory.keys, code(state))], policy[int(code(state))]
            if state.player != explorer:
                sums[first : first + len(shares)] += odds * reaches[state.player] * shares
        values = []
        for action, share in zip(state.actions(), shares, strict=True):
            after, further = state.clone(), list(reaches)
            after.play(action)
            if state.player >= 0:
                further[state.player] *= share
            values.append(expected(after, lambda s: policy[int(code(s))])[explorer])
            visit(after, further, odds if state.player >= 0 else odds * share)
        if state.player == explorer:
            others = odds * reaches[1 - explorer]
            regrets[first : first + len(shares)] += others * (np.array(values) - np.dot(shares, values))

    visit(fl.new_state(game), [1.0, 1.0], 1.0)
    return regrets, sums


# False alarms: fewer than 100 numbers are compared in each case, so about one in 2000 seeds would fail in any of them.
@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=3)"])
@pytest.mark.parametrize(
    ("public", "limit", "delta"), [(False, 1000, 0.0), (False, 1000, 0.9), (True, 1000, 0.9), (False, 1, 0.9)]
)
def test_one_walk_adds_the_regrets_of_cfr_in_expectation(game, public, limit, delta):
    walks = walks_to(target_state(game), public, limit, delta)
    policy = prepared(game, walks)
    behaviour, draws, n, used = walks.memory.regrets.copy(), generator(2), 20_000, walks.used[1]
    for explorer in range(2):
        added = np.zeros((2, n, used))
        for i in range(n):
            walks.memory.regrets[:], walks.memory.sums[:] = behaviour, 0.0
            walks.used[2] = explorer
            walks.run(1, draws)
            added[0, i], added[1, i] = (walks.memory.regrets - behaviour)[:used], walks.memory.sums[:used]
        for samples, wanted in zip(added, exact(game, walks, policy, explorer), strict=True):
            errors = samples.std(0) / np.sqrt(n)
            assert abs(wanted).max() > 0.01
            assert (abs(samples.mean(0) - wanted[:used]) <= SIGMAS * errors + 1e-12).all()


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "phantom_ttt", "dark_hex(rows=2,cols=2)"])
def test_a_targeted_walk_arrives(game):
    """While strategies are still uniform, each walk to a target whose hopes are known passes through it."""
    walks, draws = walks_to(target_state(game), limit=10**5, delta=0.99), generator(1)
    for _ in range(300):
        walks.memory.regrets[:] = 0.0
        walks.run(1, draws)
    assert walks.seen[:, 0].sum() >= 280  # of 300; all but 3 on average, and fewer than 280 once in 10^10


@pytest.mark.plain
@pytest.mark.parametrize("public", [False, True])
def test_compiled_and_interpreted_walks_are_the_same(public):
    from foglight.search.trees import oos

    found = []
    for walk in (oos.walk, oos.walk.py_func):
        walks, draws = walks_to(target_state("kuhn_poker"), public), generator(3)
        walk(
            walks.game, walks.target, walks.seat, walks.root, 0.4, 0.9, draws, 300, True,
            walks.memory, walks.used, walks.seen,
        )  # fmt: skip
        found.append(walks)
    for one, other in zip(found[0].memory, found[1].memory, strict=True):
        assert np.array_equal(one, other)


def test_memory_grows_and_is_bounded():
    state = target_state("phantom_ttt")
    large, small = walks_to(state), walks_to(state)
    small.nodes = 2000
    for walks in (large, small):
        walks.run(3000, generator(1))
    assert large.used[1] > 4000
    assert small.used[1] <= len(small.memory.keys) <= 2048
    for walks in (large, small):
        assert walks.average(4) == pytest.approx(walks.average(4) / walks.average(4).sum())


@pytest.mark.parametrize("target", ["information_set", "public"])
@pytest.mark.parametrize("game", ["kuhn_poker", "unseen_rps"])
def test_more_walks_are_exploited_less(game, target):
    """The seed is fixed, so nothing is left to chance; at most 0.04 is left of 0.1 and more."""
    lost = []
    for walks in (100, 100_000):
        policy = fl.agent_policy(f"oos(iterations={walks},target={target})", game)
        lost.append(fl.exploitability(game, policy))
    assert lost[1] < 0.04 < 0.1 < lost[0]


@pytest.mark.long  # smaller games show it too
def test_more_walks_are_exploited_less_in_leduc_poker():
    lost = [
        fl.exploitability("leduc_poker", fl.agent_policy(f"oos(iterations={n})", "leduc_poker")) for n in (50, 2000)
    ]
    assert lost[1] < 0.75 * lost[0]


def test_it_mixes_as_it_says():
    """It answers rock-paper-scissors with all three; 600 seeds, chi-square at 1e-6."""
    from scipy.stats import chisquare

    state = fl.new_state("unseen_rps")
    state.play(1)
    counts = np.zeros(3)
    for seed in range(600):
        agent = fl.load_agent("oos(iterations=5000)")
        agent.start(state.game, 1, seed)
        for observation in state.observations(1):
            agent.observe(observation)
        counts[agent.act() - 1] += 1
    assert agent.explain().notes["strategy"] == pytest.approx([1 / 3] * 3, abs=0.1)
    assert chisquare(counts).pvalue > 1e-6


# 200 games each. Standard errors are 0.06 and 0.33, the means 0.36 and 1.2: more than 3 of them above the bounds, a
# false alarm once in 10^3 seeds; the seed is fixed.
@pytest.mark.parametrize("game", ["leduc_poker", pytest.param("phantom_ttt", marks=pytest.mark.long)])
def test_it_beats_random_play(game):
    assert mean_return(game, "oos(iterations=2000)", 200) > 0.15


def mean_return(game, agent, games):
    """What an agent gets a game against random play, on each seat in turn."""
    ours, total = fl.load_agent(agent), 0.0
    for i in range(games):
        agents = [fl.load_agent("random"), fl.load_agent("random")]
        agents[i % 2] = ours
        total += play_game(game, agents, i)[1].returns()[i % 2]
    return total / games


def test_three_seats_are_refused():
    with pytest.raises(BadInput, match="oos is for two seats, oh_hell"):
        fl.load_agent("oos").start("oh_hell", 0, 0)


@pytest.mark.parametrize("game", ["openspiel:leduc_poker", pytest.param("dark_chess(size=4)", marks=pytest.mark.long)])
def test_other_games(game):
    state = target_state(game)
    assert asked("oos", state, 1, state.actions()) in state.actions()
