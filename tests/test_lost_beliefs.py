"""Agents whose belief is lost: they go on from the nearest worlds, and say so."""

import random

import numpy as np
import pytest

import foglight as fl
from foglight.rules import key, legal, max_legal, player
from foglight.worlds import tracker
from foglight.worlds.nearest import random_values

SEARCHERS = ["pimc", "epimc", "ismcts", "iimc", "oos"]


@pytest.fixture
def fragile(monkeypatch):
    """Trackers that replace no dead sample."""

    def refuse(*_, **__):
        raise fl.BeliefLost("on purpose")

    monkeypatch.setattr(tracker, "regenerate", refuse)
    monkeypatch.setattr(tracker, "starts", lambda *_: [])
    monkeypatch.setattr(fl.Tracker, "_filtered_again", lambda *_, **__: None)


def decisions(game, agent, games, seed=0):
    """Play random games, ask the agent at each decision of its seat, and yield the state and its explanation."""
    rng = random.Random(seed)
    for number in range(games):
        state = fl.new_state(game)
        seat = fl.Seat(agent, state.game, number % 2, seed)
        while state.player != fl.TERMINAL:
            seat.tell(state.observations(seat.number))
            if state.player == seat.number and len(state.actions()) > 1:
                assert agent.act(state.actions()) in state.actions()
                yield state, agent.explain()
            state.play(rng.choice(state.actions()))


@pytest.mark.parametrize("name", SEARCHERS)
def test_a_searcher_goes_on_from_its_nearest_worlds(name, fragile):
    agent = fl.load_agent(f"{name}(iterations=40,cap=3)")
    lost = 0
    for _, why in decisions("battleship", agent, games=4):
        said = why.notes.get("belief", "")
        lost += said == f"lost; went on from {why.worlds} nearest worlds" and not why.exact
        assert "no world" not in said
    assert lost >= 8


def test_particles_are_followed_by_nearest_worlds(fragile, monkeypatch):
    from foglight.agents import particle_resolving

    def lose(*_):
        raise fl.BeliefLost("on purpose")

    monkeypatch.setattr(particle_resolving, "regenerated", lose)
    agent = fl.load_agent("particle_resolving(network=none,particles=2,depth=1,iterations=2)")
    lost = [why.notes["belief"] for _, why in decisions("goofspiel(cards=5)", agent, games=6) if "belief" in why.notes]
    assert len(lost) >= 3 and all("nearest worlds" in said for said in lost)


@pytest.mark.parametrize(("game", "games"), [("battleship", 8), ("dark_hex(rows=4,cols=4)", 15)])
def test_nearest_worlds_share_the_turn_the_actions_and_what_was_observed(game, games, fragile):
    agent, judged = fl.load_agent("pimc(iterations=8,cap=20)"), 0
    out = np.empty(max_legal(fl.load_game(game)), np.int64)
    for state, why in decisions(game, agent, games, seed=1):
        if "nearest worlds" in why.notes.get("belief", ""):
            worlds = agent.belief.worlds(state.actions())
            assert worlds.weights.sum() == pytest.approx(1.0) and len(worlds.rows) == why.worlds
            for row in worlds.rows:
                assert player(state.game, row) == state.player and int(key(state.game, row, state.player)) == agent.key
                assert out[: legal(state.game, row, out)].tolist() == state.actions()
                judged += 1
    assert judged >= 50


def test_what_is_restored_goes_on_from_the_same_worlds(fragile):
    one, number = fl.load_agent("pimc(iterations=40,cap=5)"), 0
    for state, why in decisions("battleship", one, games=4, seed=3):
        if "belief" in why.notes:
            two = fl.load_agent("pimc(iterations=40,cap=5)")
            fl.Seat(two, state.game, state.player, 3, state.observations(state.player))
            two.act(state.actions())
            assert two.explain().values == pytest.approx(why.values, nan_ok=True) and two.explain().notes == why.notes
            number += 1
    assert number >= 5


@pytest.mark.plain
def test_random_values_find_the_move_that_wins():
    """x has a1 and b1 and wins on c1, whatever o's hidden stones; a2 and b2 only perhaps."""
    state = fl.new_state("phantom_ttt")
    for move in ("a1", "a3", "b1", "b3"):
        state.play(state.parse_action(move))
    actions = [state.parse_action(move) for move in ("c1", "a2", "b2")]
    rows = np.repeat(state.world[None], 50, axis=0)
    values = random_values(state.game, 0, rows, actions, np.ones(1, np.uint64))
    assert values[0] == 1.0 > max(values[1:]) and not np.isnan(values).any()
    state.play(actions[0])  # the game is over
    nowhere = random_values(state.game, 1, state.world[None], actions, np.ones(1, np.uint64))
    assert np.isnan(nowhere).all()
