"""Information set tree search: what it finds in small games, how its tree grows, and that it plays."""

import numpy as np
import pytest
from test_oos import mean_return, target_state

import foglight as fl
from foglight.randomness import generator
from foglight.search import ismcts
from foglight.search.ismcts import MULTI, SINGLE, Growth
from foglight.search.leaves import rollout
from foglight.worlds.tracker import Tracker

OBSERVERS = ["single", "multi"]


def thought(agent, state, seed=0):
    """What an agent thinks of a state in which it moves."""
    loaded = fl.load_agent(agent)
    loaded.start(state.game, state.player, seed)
    for observation in state.observations(state.player):
        loaded.observe(observation)
    loaded.act(state.actions())
    return loaded.explain()


def grown(state, n, observers=MULTI, nodes=10**6, simulate=None):
    tracker = Tracker(state.game, state.player)
    for observation in state.observations(state.player):
        tracker.observe(observation)
    held, growth, draws = tracker.worlds(), Growth(state.game, state.player, observers, 1.0, nodes), generator(1)
    if simulate is None:
        growth.run(rollout(state.game), held.rows, held.weights, draws, n)
    else:
        growth._make_room(n)
        simulate(
            state.game, rollout(state.game), held.rows, held.weights, state.player, observers, 1.0, draws, n, 10**6,
            growth.tree, growth.used, growth.ranges,
        )  # fmt: skip
    return growth, held


@pytest.mark.parametrize("observers", OBSERVERS)
def test_a_king_bets_or_calls_and_a_jack_folds(observers):
    # seat 1 facing a bet in Kuhn poker: the king wins 2 by calling, the jack loses 2; folding costs 1
    for card, action, value in ((2, 1, 2.0), (0, 0, -1.0)):
        state = fl.new_state("kuhn_poker")
        for played in (1, card, 1):
            state.play(played)
        found = thought(f"ismcts(iterations=1000,observers={observers})", state)
        assert found.action == action
        assert found.values[action] == pytest.approx(value)


@pytest.mark.parametrize("observers", OBSERVERS)
def test_it_takes_a_win_and_stops_one(observers):
    # x has a1 b1 and o has a2 b2, and x has run into both of them: x wins at c1
    state = fl.new_state("phantom_ttt")
    for cell in (0, 3, 1, 4):
        state.play(cell)
    state.play(3)
    state.play(4)
    assert thought(f"ismcts(iterations=3000,observers={observers})", state).action == 2


@pytest.mark.parametrize("observers", [SINGLE, MULTI])
@pytest.mark.parametrize("game", ["phantom_ttt", "leduc_poker", "goofspiel(cards=4)"])
def test_counts_add_up(game, observers):
    state = target_state(game)
    growth, held = grown(state, 5000, observers)
    values, visits = growth.root(held.rows[0], state.actions())
    tree = growth.tree
    assert visits.sum() == 5000
    assert np.count_nonzero(tree.keys) == growth.used[0] <= 5000
    assert (tree.available >= tree.visits).all()
    assert (tree.visits[tree.keys != 0] > 0).all()
    low, high = growth.ranges[state.player]
    assert ((values >= low) & (values <= high)).all()


def test_the_tree_is_bounded():
    state = fl.new_state("phantom_ttt")
    free, bounded = grown(state, 20_000)[0], grown(state, 20_000, nodes=500)[0]
    assert free.used[0] > 10_000
    assert bounded.used[0] == 500
    assert len(bounded.tree.keys) == 1024
    assert bounded.root(state.world, state.actions())[1].sum() == 20_000


@pytest.mark.plain
@pytest.mark.parametrize("observers", [SINGLE, MULTI])
def test_compiled_and_interpreted_trees_are_the_same(observers):
    state = target_state("leduc_poker")
    trees = [grown(state, 300, observers, simulate=how)[0].tree for how in (ismcts.simulate, ismcts.simulate.py_func)]
    for one, other in zip(*trees, strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=0.0)


def test_worlds_are_taken_as_often_as_they_weigh():
    order, weights = np.zeros(1000, np.int64), np.array([0.5, 0.0, 0.3, 0.2])
    ismcts._draw_order(generator(1), weights, order, 1000)
    assert np.bincount(order).tolist() == [500, 0, 300, 200]
    assert (np.diff(order) != 0).mean() > 0.5, "in random order"


# 200 games each. Standard errors are 0.05 and 0.33, the means 0.75 and 1.5: about 4 of them above the bounds, a false
# alarm once in 10^4 seeds; the seed is fixed.
@pytest.mark.parametrize("observers", OBSERVERS)
def test_it_beats_random_play(observers):
    assert mean_return("phantom_ttt", f"ismcts(iterations=1000,observers={observers})", 200) > 0.5
    assert mean_return("leduc_poker", f"ismcts(iterations=1000,observers={observers})", 200) > 0.2


@pytest.mark.parametrize("game", ["oh_hell(players=3,suits=3,ranks=4,tricks=3)", "openspiel:kuhn_poker(players=3)"])
@pytest.mark.parametrize("observers", OBSERVERS)
def test_any_number_of_seats(game, observers):
    found = thought(f"ismcts(iterations=200,observers={observers})", target_state_with_a_choice(game))
    assert sum(found.visits) == found.iterations == 200


def target_state_with_a_choice(game):
    state = fl.new_state(game)
    while state.player < 0 or len(state.actions()) < 2:
        state.play(state.actions()[0])
    return state


def test_it_keeps_its_time():
    state = fl.new_state("phantom_ttt")
    thought("ismcts(iterations=10)", state)  # compiles
    assert thought("ismcts(time=0.1)", state).seconds < 0.125 + 0.1  # and as much again for a busy machine
