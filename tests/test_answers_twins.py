"""Commands in Python: fl.analyse, fl.belief, worlds as states, and playouts from worlds."""

import json
import re

import numpy as np
import pytest

import foglight as fl
from foglight.solving.whole.expectation import expected_returns

AGENT = "epimc(depth=2,iterations=300)"
HEX = "dark_hex(rows=3,cols=3)"
SHIPS = ["a1", "c3", "b2 right", "a1 down", "a1"]


def played(game, *moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(state.parse_action(move))
    return state


# Asking an agent --------------------------------------------------------------------------------------------------


def timeless(summary):
    return {**summary, "seconds": 0.0}


def test_analyse_gives_what_the_command_prints(run):
    thought = fl.analyse(played(HEX, "b2", "b2", "a1"), AGENT, seed=3)
    code, out, _ = run("analyse", HEX, "b2", "b2", "a1", "--agent", AGENT, "--seed", "3", "--json")
    assert code == 0 and timeless(json.loads(out)) == timeless(thought.summary())
    code, out, _ = run("analyse", HEX, "b2", "b2", "a1", "--agent", AGENT, "--seed", "3")
    clock = r"time +[\d,.]+ ms"
    assert code == 0 and re.sub(clock, "", out) == re.sub(clock, "", f"{thought}\n")


class Closing(fl.Agent):
    """Plays the last legal action, says so, and counts how often it was closed."""

    gives_reasons = True
    closed = 0

    def act(self, actions=None):
        self.explanation = fl.Explanation(actions[-1], list(actions))
        return actions[-1]

    def close(self):
        self.closed += 1


def test_an_agent_that_was_given_is_asked_and_left_open():
    agent = Closing()
    thought = fl.analyse(played("kuhn_poker", "jack", "queen"), agent)
    assert (thought.seat, thought.agent, thought.action, agent.closed) == (0, f"{__name__}:Closing", "bet", 0)
    assert agent.observations == played("kuhn_poker", "jack", "king").observations(0), (
        "it knows its seat's observations"
    )
    assert [row["action"] for row in thought.actions] == ["bet", "check"] and "never tried" in str(thought)


@pytest.mark.parametrize(
    ("moves", "agent", "seed", "advice"),
    [
        ((), AGENT, 0, "chance is to move; play its outcome first"),
        (("jack", "queen", "bet", "fold"), AGENT, 0, "nobody decides here: the game is over"),
        (("jack", "queen"), "random", 0, "random does not say why it plays what it plays"),
        (("jack", "queen"), AGENT, -1, "seed must be at least 0, not -1"),
    ],
)
def test_analyse_refuses_in_one_line(moves, agent, seed, advice):
    with pytest.raises(fl.BadInput) as error:
        fl.analyse(played("kuhn_poker", *moves), agent, seed)
    assert advice in str(error.value) and "\n" not in str(error.value)


# Beliefs ----------------------------------------------------------------------------------------------------------


def test_belief_gives_what_the_command_prints(run):
    state = played("battleship", *SHIPS)
    found = fl.belief(state, 0)
    code, out, _ = run("belief", "battleship", *SHIPS, "--json")
    assert code == 0 and json.loads(out) == found.summary() and found.histories == 14 and found.deals is None
    code, out, _ = run("belief", "battleship", *SHIPS)
    assert code == 0 and [line.rstrip() for line in out.splitlines()] == str(found).splitlines()
    assert str(found).startswith(state.information(0))


def test_the_seat_to_move_is_asked_unless_another_is_given():
    state = played("kuhn_poker", "jack", "queen")
    assert fl.belief(state) == fl.belief(state, 0) != fl.belief(state, 1)
    assert fl.belief(state, 1).odds[0] == pytest.approx({"jack": 0.5, "king": 0.5})
    assert fl.belief(state, fl.PUBLIC).title == "kuhn_poker: the public view"
    with pytest.raises(fl.BadInput, match="has seats 0 to 1, not -2; or take PUBLIC, -1"):
        fl.belief(fl.new_state("kuhn_poker"))  # chance is to move


def test_a_table_has_every_content_of_every_place():
    found, places = fl.belief(played("battleship", *SHIPS), 0), {}
    for row in found.table():
        places.setdefault(row["place"], {})[row["content"]] = row["probability"]
    assert places == found.summary()["places"] and len(places) == 18
    assert all(sum(odds.values()) == pytest.approx(1.0) for odds in places.values())


def test_colours_mark_what_is_uncertain():
    for state, uncertain in ((played("battleship", *SHIPS), 8), (played("kuhn_poker", "jack", "queen"), 2)):
        found = fl.belief(state, 0)
        coloured = found.heat(colour=True)
        assert len(re.findall(r"\x1b\[48;2;\d+;\d+;0m", coloured)) == uncertain
        assert found._repr_svg_().count('class="heat"') == uncertain
        plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
        assert [line.rstrip() for line in plain.splitlines()] == found.heat().splitlines()


def test_boards_that_are_not_square_have_their_names_above_them():
    lines = fl.belief(fl.new_state("battleship(width=3,height=2)"), 0).heat().splitlines()
    assert [lines.index("seat 0"), lines.index("seat 1"), len(lines)] == [0, 3, 6]


def test_a_policy_weighs_histories():
    """Who always bets with the king and never with the queen has the king."""
    state = played("kuhn_poker", "queen", "jack", "bet")
    honest = fl.tabular({_key(card): odds for card, odds in (("queen", [1.0, 0.0]), ("king", [0.0, 1.0]))})
    found = fl.belief(state, 1, policy=honest)
    assert found.odds[0] == {"king": 1.0} and "by their reach probability" in str(found)
    assert fl.belief(state, 1).odds[0] == {"queen": 0.5, "king": 0.5}


def _key(card):
    state, agent = played("kuhn_poker", card, "jack"), fl.load_agent("random")
    fl.Seat(agent, state.game, 0, 0, state.observations(0))
    return agent.key


# Worlds as states -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["kuhn_poker", "phantom_ttt", "openspiel:kuhn_poker"])
def test_a_world_becomes_a_state_that_plays_on_alike(game):
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    rng, compared = np.random.default_rng(5), 0
    for _ in range(5):
        state = fl.new_state(game)
        copy = fl.state_of(game, state.world)
        while True:
            fresh = fl.state_of(state.game, state.world)
            for other in (copy, fresh, fresh.clone()):
                assert (other.player, other.actions(), other.returns()) == (
                    state.player,
                    state.actions(),
                    state.returns(),
                )
                assert (str(other), other.choices(), other.chance()) == (str(state), state.choices(), state.chance())
                compared += 1
            if not state.actions():
                break
            action = int(rng.choice(state.actions()))
            state.play(action)
            copy.play(action)
    assert compared >= 5 * 3 * 4


def test_a_state_of_a_world_is_a_copy():
    state = played("phantom_ttt", "b2")
    row = state.world.copy()
    copy = fl.state_of("phantom_ttt", row)
    row[:] = 0
    assert (copy.world == state.world).all() and str(copy) == str(state)


def test_a_world_alone_has_no_history():
    state = fl.state_of("kuhn_poker", played("kuhn_poker", "jack", "queen").world)
    state.play(1)
    asked = 0
    for question in (
        state.history,
        lambda: state.observations(0),
        lambda: state.information(0),
        lambda: state.log(0),
        lambda: fl.belief(state),
        lambda: fl.analyse(state, AGENT),
        state.clone().history,
    ):
        with pytest.raises(fl.BadInput, match="made from a world alone, so its history and observations are not known"):
            question()
        asked += 1
    assert asked == 7 and fl.Uniform().at(state) == {"fold": 0.5, "call": 0.5}


@pytest.mark.parametrize("row", [np.zeros(3, np.uint64), np.zeros((1, 4), np.uint64), np.zeros(4), [1, 2], None])
def test_what_is_no_world_is_refused(row):
    with pytest.raises(fl.BadInput, match="a world of kuhn_poker is one row of 4 whole numbers"):
        fl.state_of("kuhn_poker", row)


# Playouts ---------------------------------------------------------------------------------------------------------


def test_playouts_from_worlds_are_spread_by_weight():
    """Worlds in which the game is over pay what they pay: 300 of 400 games one amount, 100 the other."""
    rows = np.array([played("kuhn_poker", *moves).world for moves in (("jack", "queen", "bet", "fold"), END)])
    assert fl.random_playouts("kuhn_poker", 400, rows=rows, weights=[3, 1]) == (
        [0.75 * 1 - 0.25 * 2, 0.25 * 2 - 0.75],
        0,
    )
    assert fl.random_playouts("kuhn_poker", 400, rows=rows) == ([-0.5, 0.5], 0)
    assert fl.random_playouts("kuhn_poker", 3, rows=rows[1]) == ([-2.0, 2.0], 0)
    assert fl.random_playouts("kuhn_poker", 400, rows=rows, weights=[0, 5]) == ([-2.0, 2.0], 0)


END = ("jack", "queen", "bet", "call")


def test_playouts_from_a_belief_come_to_what_is_expected():
    tracker = fl.Tracker("leduc_poker", seat=0)
    for observation in played("leduc_poker", "Ks", "Jh", "raise", "call", "Kh").observations(0):
        tracker.observe(observation)
    worlds = tracker.worlds()
    exact = float(worlds.weights @ expected_returns(tracker.game, fl.Uniform(), worlds.rows)[:, 0])
    means, steps = fl.random_playouts("leduc_poker", 100_000, seed=4, rows=worlds.rows, weights=worlds.weights)
    # payoffs are at most 13, so the standard error is below 0.042; 5 of them: a false alarm less than once in a million
    assert len(worlds.weights) > 1 and steps > 100_000 and abs(means[0] - exact) < 5 * 0.042
    again = fl.random_playouts("leduc_poker", 100_000, seed=4, rows=worlds.rows, weights=worlds.weights)
    assert again == (means, steps)


def test_playouts_from_worlds_of_openspiel():
    pytest.importorskip("pyspiel")
    world = played("openspiel:kuhn_poker", "Deal:0", "Deal:1", "Bet").world
    means, steps = fl.random_playouts("openspiel:kuhn_poker", 20, rows=[world, world])
    assert steps == 20 and -2.0 <= means[0] <= 1.0


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"rows": np.zeros((0, 4), np.uint64)}, "playouts need at least one row"),
        ({"rows": np.zeros((2, 4), np.uint64), "weights": [1]}, "for each, a weight that is not negative"),
        ({"rows": np.zeros((2, 4), np.uint64), "weights": [1, -1]}, "for each, a weight that is not negative"),
        ({"rows": np.zeros((2, 4), np.uint64), "weights": [0, 0]}, "for each, a weight that is not negative"),
        ({"rows": np.zeros((2, 5), np.uint64)}, "a world of kuhn_poker is one row of 4 whole numbers"),
    ],
)
def test_worlds_that_cannot_be_played_are_refused(options, advice):
    with pytest.raises(fl.BadInput, match=advice):
        fl.random_playouts("kuhn_poker", 10, **options)
    with pytest.raises(fl.BadInput, match="give a game with rows, or a state without them"):
        fl.random_playouts(fl.new_state("kuhn_poker"), 10, **options)
