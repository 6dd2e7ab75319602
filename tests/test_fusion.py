"""Strategy fusion beside slow recursion over states."""

import dataclasses

import numpy as np
import pytest
from oracles import histories, information

import foglight as fl
from foglight import rules
from foglight.randomness import below, generator
from foglight.rules import deal, key, max_legal
from foglight.search.leaves import evaluate, rollout
from foglight.search.paths import fusion
from foglight.search.paths.fusion import count_fusion, fused_states, open_choices, strategy_fusion
from foglight.solving.whole.tree import build_tree
from foglight.worlds.tracker import Tracker

pytestmark = pytest.mark.plain
GAMES = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3,order=random)", "liars_dice(sides=2)"]


def after(state, action):
    copy = state.clone()
    copy.play(action)
    return copy


def open_value(state):
    """What seat 0 gets if all cards lie open."""
    if state.player == fl.TERMINAL:
        return state.returns()[0]
    values = [open_value(after(state, action)) for action in state.actions()]
    if state.player == fl.CHANCE:
        return sum(odds * value for (_, odds), value in zip(state.chance(), values, strict=True))
    return max(values) if state.player == 0 else min(values)


def best_in_the_open(state):
    values = [open_value(after(state, action)) for action in state.actions()]
    best = max(values) if state.player == 0 else min(values)
    return frozenset(k for k, value in enumerate(values) if abs(value - best) < 1e-9)


@pytest.mark.parametrize("game", GAMES)
def test_what_is_best_in_the_open_is_what_recursion_finds(game):
    tree = build_tree(game)
    found = {tuple(h): c for h, c in zip(tree.histories(np.arange(tree.num_nodes)), open_choices(tree), strict=True)}
    compared = 0
    for state in histories(game):
        if state.player >= 0:
            assert found[tuple(state.history())] == best_in_the_open(state)
            compared += 1
        else:
            assert found[tuple(state.history())] == frozenset()
    assert compared == len(tree.deciding)


@pytest.mark.parametrize("game", GAMES)
def test_fusion_is_where_no_action_suits_all_histories(game):
    states = {}
    for state in histories(game):
        if state.player >= 0:
            replayed, decisions = fl.new_state(game), 0
            for action in state.history():
                decisions += replayed.player >= 0
                replayed.play(action)
            states.setdefault(information(state), []).append((decisions, best_in_the_open(state)))
    found = []
    for depth in range(8):
        wanted = 0
        for met in states.values():
            sets = [best for decisions, best in met if decisions >= depth]
            wanted += bool(sets) and not frozenset.intersection(*sets)
        found.append(strategy_fusion(game, depth))
        assert found[-1] == wanted
    assert found[0] > 0 and found[-1] == 0


def test_fused_by_hand():
    assert fused_states({1: [frozenset({0}), frozenset({1})], 2: [frozenset({0, 1}), frozenset({1})]}) == 1
    assert fused_states({}) == 0


def test_open_play_is_for_two_seats():
    with pytest.raises(fl.BadInput, match="for two seats"):
        open_choices(build_tree("openspiel:kuhn_poker(players=3)"))


def slow_count(game, held, depth, worlds, draws):
    """As `count_fusion`, with a random game for each evaluation."""
    met, leaf = {}, rollout(game)
    sums = np.cumsum(held.weights)
    for i in range(worlds):
        state = State(game, held.rows[min(int(np.searchsorted(sums, (i + 0.5) / worlds, "right")), len(sums) - 1)])
        decisions = 0
        while state.mover() != fl.TERMINAL and (decisions < depth or state.mover() == fl.CHANCE):
            if state.mover() == fl.CHANCE:
                actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
                action = deal(game, state.world, draws, actions, odds)
            else:
                legal = state.legal()
                action, decisions = legal[below(draws, len(legal))], decisions + 1
            state = state.after(action)
        if state.mover() == fl.TERMINAL:
            continue
        totals = []
        for action in state.legal():
            total = 0.0
            for _ in range(fusion._REPEATS):
                payoffs = np.empty(2)
                evaluate(leaf, game, state.after(action).world, draws, payoffs)
                total += payoffs[state.mover()]
            totals.append(total)
        where = int(key(game, state.world, state.mover()))
        met.setdefault(where, []).append(totals.index(max(totals)))
    several = [choices for choices in met.values() if len(choices) > 1]
    return sum(len(set(choices)) > 1 for choices in several), len(several)


class State:
    """A world without its history."""

    def __init__(self, game, world):
        self.game, self.world = game, world.copy()

    def mover(self):
        return rules.player(self.game, self.world)

    def legal(self):
        actions = np.empty(max_legal(self.game), np.int64)
        return actions[: rules.legal(self.game, self.world, actions)].tolist()

    def after(self, action):
        following = State(self.game, self.world)
        rules.transition(self.game, self.world, action, following.world)
        return following


@pytest.mark.parametrize(("game", "moves"), [("leduc_poker", (0, 3)), ("kuhn_poker", (0, 1)), ("unseen_rps", ())])
def test_fusion_is_counted_on_worlds_as_they_weigh(game, moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(move)
    tracker = Tracker(state.game, 0)
    for observation in state.observations(0):
        tracker.observe(observation)
    held = tracker.worlds()
    met = fused = 0
    for seed in range(3):
        for depth, worlds in ((0, 7), (1, 20), (2, 30), (9, 5)):
            found = count_fusion(state.game, rollout(state.game), held, depth, worlds, generator(seed))
            assert found == slow_count(state.game, held, depth, worlds, generator(seed))
            fused, met = fused + found[0], met + found[1]
    assert 0 < fused <= met
    lone = dataclasses.replace(held, rows=held.rows[:1], weights=np.ones(1))
    assert count_fusion(state.game, rollout(state.game), lone, 0, 0, generator(1)) == (0, 0)


def test_worlds_are_spread_by_weight():
    """At depth 0 the root is met in every world, so what differs is which world it was."""
    game = fl.load_game("kuhn_poker")
    rows = np.array([after(after(fl.new_state(game), a), b).world for a, b in ((0, 1), (1, 0), (2, 0))])
    keys, best = np.zeros(20, np.uint64), np.zeros(20, np.int64)
    fusion._probe(game, rollout(game), rows, np.array([0.5, 0.1, 0.4]), 0, 1, generator(1), keys, best)
    own = [int(key(game, row, 0)) for row in rows]
    assert [own.index(int(k)) for k in keys] == [0] * 10 + [1] * 2 + [2] * 8
    fusion._probe(game, rollout(game), rows[:2], np.array([0.5, 0.3]), 0, 1, generator(1), keys, best)
    assert [own.index(int(k)) for k in keys] == [0] * 10 + [1] * 10, "weights may fail to add up to 1"
