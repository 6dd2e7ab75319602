"""The parts of the page that are plain Python: offers, a table, the keeper, the bucket."""

import json
import random

import pytest

import foglight as fl
from foglight.arena.store import open_store
from foglight.web.guard import Bucket
from foglight.web.keeper import Keeper
from foglight.web.offers import HUMAN, Offers
from foglight.web.table import Table

OFFERS = Offers(agents=["epimc(iterations=50)"])


# Offers ---------------------------------------------------------------------------------------------------------------


def test_offers_are_what_can_be_played():
    data = OFFERS.data()
    assert {game["name"] for game in data["games"]} == set(fl.game_names())
    assert all(game["rules"] and game["players"] >= 1 for game in data["games"])
    agents = {agent["name"]: agent for agent in data["agents"]}
    assert "human" not in agents and "policy" not in agents  # nobody sits at the server, and no file is given
    assert agents["scout"]["plays"] == ["rbc"] and agents["random"]["plays"] is None
    assert agents["epimc"]["takes_time"] and not agents["epimc(iterations=50)"]["takes_time"]
    assert all(agent["strength"] for agent in agents.values())
    json.dumps(data)


def test_a_choice_becomes_a_text():
    assert OFFERS.game("dark_hex", {"rows": "3", "cols": 3}) == "dark_hex(rows=3,cols=3)"
    assert OFFERS.game("battleship", {"ships": "[1,2]", "repeats": "forbidden"}).endswith("repeats=forbidden)")
    assert OFFERS.known("dark_hex(rows=3,cols=3)") == "dark_hex(rows=3,cols=3)"
    assert OFFERS.agent("epimc", 0.5, "kuhn_poker") == "epimc(time=0.5)"
    assert OFFERS.agent("epimc(iterations=50)", 3, "kuhn_poker") == "epimc(iterations=50)"
    assert OFFERS.agent("random", None, "kuhn_poker") == "random"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("dark_hx", {}),
        ("os:system", {}),
        ("tests.planted:Hunt", {}),
        (7, {}),
        ("dark_hex", []),
        ("dark_hex", {"rows": "__import__('os')"}),
        ("dark_hex", {"rows": "3,cols=2"}),
        ("dark_hex", {"rows": "3)"}),
        ("dark_hex", {"rows": "9"}),
        ("dark_hex", {"rows": {"a": 1}}),
        ("dark_hex", {"rows": None}),
        ("dark_hex", {"rows": "9" * 500}),
        ("dark_hex", {"depth": "3"}),
        ("openspiel:efg_game", {}),
        ("openspiel:kuhn_poker", {"players": 3}),
    ],
)
def test_other_choices_of_games_are_refused(name, parameters):
    with pytest.raises(fl.BadInput) as refusal:
        OFFERS.game(name, parameters)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("epimc(time=1000)", 1),
        ("epimc(leaf=value(x.npz))", 1),
        ("policy", 1),
        ("human", 1),
        ("os:system", 1),
        (None, 1),
        (["epimc"], 1),
        ("epimc", 11),
        ("epimc", 0),
        ("epimc", -1),
        ("epimc", float("nan")),
        ("epimc", "1"),
        ("epimc", True),
        ("scout", 1),
    ],
)
def test_other_choices_of_agents_are_refused(name, seconds):
    with pytest.raises(fl.BadInput):
        OFFERS.agent(name, seconds, "kuhn_poker")


# A table --------------------------------------------------------------------------------------------------------------


def test_a_table_plays_as_the_referee_does():
    """Played by hand on all seats, with the moves of a match: the same outcomes of chance follow from the seed."""
    compared = 0
    for game in ("leduc_poker", "kuhn_poker", "liars_dice(dice=1,sides=3)"):
        agents = [fl.load_agent("random"), fl.load_agent("random")]
        record, _ = fl.play_game(game, agents, seed=5)
        table = Table(game, (HUMAN, HUMAN), 5)
        actions = list(record.actions)
        while not table.over:
            table.play_chance()
            if not table.over:
                seat = table.state.player
                table.act(seat, actions[len(table.state.history())], table.seen(seat))
            half = Table(game, (HUMAN, HUMAN), 5, table.state.history())  # as after a restart
            assert half.state.history() == table.state.history()
            half.play_chance()
            ahead = half.state.history()
            assert actions[: len(ahead)] == ahead
            compared += 1
        assert table.record() == record
    assert compared >= 8


def test_a_table_refuses_what_is_out_of_turn():
    table = Table("kuhn_poker", (HUMAN, HUMAN), 1)
    table.play_chance()
    assert (table.turn(0), table.turn(1)) == ("yours", "waiting")
    for seat, action, seen in ((1, 0, 1), (0, 0, 0), (0, 7, 1), (0, True, 1), (0, 0.0, 1), (0, "0", 1), (0, 0, None)):
        with pytest.raises(fl.BadInput):
            table.act(seat, action, seen)
    table.act(0, 0, 1)
    with pytest.raises(fl.BadInput, match="changed"):
        table.act(0, 0, 1)  # the same order once more, as of a double click
    assert table.state.history()[2:] == [0]


def test_a_view_has_the_moves_of_the_mover_alone_and_the_truth_at_the_end():
    table = Table("kuhn_poker", (HUMAN, "random"), 1)
    table.play_chance()
    mine, other = table.view(0), table.view(1)
    assert [name for _, name in mine["moves"]] == ["check", "bet"] and other["moves"] == []
    assert mine["players"] == ["you", "random"] and other["players"] == ["a person", "you"]
    assert "data-actions" in mine["svg"] and "data-actions" not in other["svg"] and "<style" not in mine["svg"]
    assert mine["over"] is None
    table.act(0, 1, 1)
    table.play(0)
    over = table.view(0)
    assert over["turn"] == "over" and over["over"]["returns"] == [1.0, -1.0] and over["moves"] == []


def test_silence_changes_nothing_that_is_shown():
    """In Phantom Tic-Tac-Toe a seat does not hear the tries of the other: nothing about its view may change."""
    table = Table("phantom_ttt", (HUMAN, HUMAN), 0)
    table.act(0, 4, 0)
    before = [table.view(0)]
    table.act(1, 4, 0)  # taken: seat 1 tries again
    before.append(table.view(0))
    assert len(table.state.history()) == 2 and before[0] == before[1]


# The keeper -----------------------------------------------------------------------------------------------------------


def test_games_are_kept_and_finished_ones_are_matches(tmp_path):
    path = tmp_path / "folder" / "page.sqlite"
    keeper, rng = Keeper(path), random.Random(3)
    kept = {}
    for seed in range(5):
        number, tokens = keeper.add("kuhn_poker", (HUMAN, "random"), seed)
        table = Table("kuhn_poker", (HUMAN, "random"), seed)
        for _ in range(seed):
            table.play_chance()
            if not table.over:
                table.play(rng.choice(table.state.actions()))
                keeper.save(number, table.state.history())
        if table.over:
            keeper.finish(number, table.record(), ["a", "", "b"])
            keeper.finish(number, table.record(), ["a", "", "b"])  # as after a kill: it is kept once
        kept[tokens[0]] = (number, tuple(table.state.history()), table.over)
    keeper.close()
    keeper = Keeper(path)
    for seed, (token, (number, actions, _)) in enumerate(kept.items()):
        assert keeper.seat(token) == (number, 0)
        again = keeper.load(number)
        assert (again.game, again.seats, again.seed) == ("kuhn_poker", (HUMAN, "random"), seed)
        assert again.actions == actions
    with pytest.raises(fl.BadInput, match="no such game"):
        keeper.seat("guess")
    keeper.close()
    store = open_store(path)
    games = list(store.games())
    assert len(games) == sum(over for _, _, over in kept.values()) >= 2
    assert all(match.agents == (HUMAN, "random") for match, _, _ in games)
    store.close()


def test_a_file_of_another_program_is_refused(tmp_path):
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"no database at all, and long enough to be read as one" * 40)
    with pytest.raises(fl.BadInput, match="cannot use"):
        Keeper(path)


def test_a_bucket_empties_and_fills(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("foglight.web.guard.time.monotonic", lambda: now[0])
    bucket = Bucket(2.0, 3.0)
    for _ in range(3):
        bucket.take()
    with pytest.raises(fl.BadInput, match="too many"):
        bucket.take()
    now[0] = 0.6
    bucket.take()
    with pytest.raises(fl.BadInput):
        bucket.take()
