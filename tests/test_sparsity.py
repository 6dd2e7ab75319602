"""How many histories public states have, beside listing every history."""

import json

import pytest
from card_games import AnyCards
from oracles import histories

import foglight as fl
from foglight.worlds.sparsity import SizesAt, _growth


def slow_sizes(game):
    """By number of public observations, the sizes of all public states, ascending."""
    sizes = {}
    for state in histories(game):
        public = tuple(state.observations(fl.PUBLIC))
        sizes[public] = sizes.get(public, 0) + 1
    by_t = {}
    for public, size in sizes.items():
        by_t.setdefault(len(public), []).append(size)
    return by_t


GAMES = [
    "kuhn_poker",
    "goofspiel(cards=3)",
    "dark_hex(rows=2,cols=2)",
    "unseen_rps",
    "three_sat(variables=3,clauses=1)",
]
GAMES.append(AnyCards(players=2, suits=1, ranks=5, size=2))  # hands are seen at once, so that histories merge to worlds


@pytest.mark.parametrize("game", GAMES)
def test_sizes_of_all_public_states(game):
    found, slow = fl.public_state_sizes(game), slow_sizes(game)
    assert found.exact and found.uncounted == 0
    assert [at.t for at in found.sizes] == sorted(slow)
    for at in found.sizes:
        assert (at.states, at.largest) == (len(slow[at.t]), max(slow[at.t]))
        assert at.mean == pytest.approx(sum(slow[at.t]) / len(slow[at.t]))


def test_random_games_meet_public_states_of_the_right_size():
    game = "goofspiel(cards=3)"
    found, slow = fl.public_state_sizes(game, limit=30, games=40), slow_sizes(game)
    assert not found.exact and len(found.sizes) > 2
    assert all(at.largest in slow[at.t] and at.states <= len(slow[at.t]) for at in found.sizes)
    large = fl.public_state_sizes("spades", games=1)
    assert not large.exact and large.sizes[-1].largest > 10**30
    assert fl.public_state_sizes("phantom_ttt", limit=20, games=1).uncounted > 0


def test_growth_is_told_apart():
    cubes = [SizesAt(t, 1, (t + 1) ** 3, 0.0) for t in range(20)]
    powers = [SizesAt(t, 1, 3**t, 0.0) for t in range(20)]
    growth, degree, _ = _growth(cubes)
    assert growth == "polynomial" and 2 < degree < 3.2
    growth, _, factor = _growth([*powers, SizesAt(20, 1, 5, 0.0)])  # what comes after the peak does not matter
    assert growth == "exponential" and factor == pytest.approx(3)
    assert _growth(powers[::-1])[0] == "early"


def test_the_command(run):
    code, out, _ = run("sparsity", "kuhn_poker")
    assert code == 0 and "all public states" in out
    found = json.loads(run("sparsity", "kuhn_poker", "--json")[1])
    assert found["sizes"][0] == {"t": 0, "states": 1, "largest": 10, "mean": 10.0} and found["exact"]
    with pytest.raises(fl.BadInput, match="at least 1"):
        fl.public_state_sizes("kuhn_poker", games=0)
