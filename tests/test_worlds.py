"""The worlds that agree with what somebody observed, against listing every history of the game."""

import random

import pytest
from oracles import histories, random_game

import foglight as fl
from foglight.worlds.consistent import consistent_worlds, legal_actions

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("game", ["kuhn_poker", "unseen_rps", "goofspiel(cards=3)", "dark_hex(rows=2,cols=2)"])
def test_consistent_worlds_are_those_of_all_histories_that_look_the_same(game):
    worlds_of = {}
    for state in histories(game):
        for viewer in range(fl.PUBLIC, state.num_players):
            worlds_of.setdefault((viewer, *state.observations(viewer)), set()).add(state.world.tobytes())
    for (viewer, *observations), expected in worlds_of.items():
        found = [row.tobytes() for row in consistent_worlds(game, observations, viewer)]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_what_cannot_have_happened_has_no_worlds():
    assert len(consistent_worlds("kuhn_poker", [1, 2], 0)) == 0, "nobody gets a second card"
    with pytest.raises(ValueError, match="seat 0 has no move after the observations"):
        legal_actions("kuhn_poker", [1, 2], 0)


def test_too_many_worlds_are_refused_with_their_number():
    state = fl.new_state("dark_hex")
    for action in (0, 1, 2, 3):
        state.play(action)
    with pytest.raises(ValueError, match="more than 100 worlds agree"):
        consistent_worlds("dark_hex", state.observations(0), 0, limit=100)


@pytest.mark.parametrize(
    "game",
    [pytest.param("phantom_ttt", marks=pytest.mark.long_plain), "leduc_poker", "goofspiel(cards=4,order=random)"],
)
def test_the_truth_is_always_among_the_consistent_worlds(game):
    for state in random_game(game, random.Random(4)):
        for viewer in range(fl.PUBLIC, 2):
            if viewer == fl.PUBLIC and game == "phantom_ttt":
                continue  # everything may be true: the public sees nothing of it
            found = {row.tobytes() for row in consistent_worlds(game, state.observations(viewer), viewer)}
            assert state.world.tobytes() in found
