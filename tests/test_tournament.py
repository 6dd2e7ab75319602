"""Tournaments: everybody meets everybody on equal terms, and a killed one ends as if nothing had happened."""

import csv
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

import foglight as fl
from foglight import pictures
from foglight.arena import export as arena_export
from foglight.arena import report
from foglight.arena.export import COLUMNS, export, stored_rows
from foglight.arena.intervals import wilson
from foglight.arena.match import MatchResult
from foglight.arena.referee import Record
from foglight.arena.tournament import Tournament, play_tournament, seatings, tables, with_budget
from foglight.version import RESULTS_VERSION

PAIR = ["random", "first_legal"]
TIMES = ("moves", "seconds", "longest", "overruns")


def without_times(rows):
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


# Who meets whom -------------------------------------------------------------------------------------------------


def test_every_pair_meets_and_seats_are_even():
    assert tables("abcd", 2) == list(combinations("abcd", 2))
    assert seatings(("a", "b")) == [("a", "b"), ("b", "a")]


@pytest.mark.parametrize(("agents", "seats"), [("ab", 3), ("ab", 4), ("abc", 4), ("abcd", 3), ("abcde", 4), ("ab", 7)])
def test_tables_are_fair(agents, seats):
    chosen = tables(agents, seats)
    assert len({tuple(sorted(table)) for table in chosen}) == len(chosen)
    assert all(len(table) == seats for table in chosen)
    if len(agents) < seats:
        assert all(set(table) == set(agents) for table in chosen)
        assert all(max(Counter(table).values()) - min(Counter(table).values()) <= 1 for table in chosen)
    places = Counter((agent, seat) for t in chosen for order in seatings(t) for seat, agent in enumerate(order))
    per_table = Counter(agent for table in chosen for agent in table)
    assert len(set(per_table.values())) == 1, "every agent plays as often as any other"
    for agent in agents:
        assert len({places[agent, seat] for seat in range(seats)}) == 1 or seats > 4, "and on every seat"
        for table in chosen:
            taken = Counter(seat for order in seatings(table) for seat, name in enumerate(order) if name == agent)
            assert len(set(taken.values())) <= 1, "at every table"


def test_four_seats_change_partners_too():
    partners = Counter(order[2] for order in seatings(("a", "b", "c", "d")) if order[0] == "a")
    assert partners == {"b": 2, "c": 2, "d": 2}
    assert Counter(order for order in seatings(("a", "b", "a", "b"))).most_common(1)[0][1] == 1, "none twice"


def test_swapped_seats_get_the_same_deals():
    tournament = play_tournament(["kuhn_poker"], PAIR, games_each=40, seed=2)
    one, other = tournament.matches
    assert one.agents == tuple(PAIR) and other.agents == tuple(PAIR[::-1]) and one.games == other.games == 20
    deals = [[record.actions[:2] for record in match.records] for match in (one, other)]
    assert deals[0] == deals[1] and len(set(deals[0])) > 1
    rows = tournament.table()
    for agent in PAIR:
        seats = Counter((row["seat"], tuple(row["actions"][:2])) for row in rows if row["agent"] == agent)
        assert all(seats[0, deal] == seats[1, deal] for _, deal in seats)


def test_games_are_rounded_up_to_whole_seatings():
    assert play_tournament(["kuhn_poker"], PAIR, games_each=3).played == 4
    three = play_tournament(["oh_hell(players=3,tricks=3)"], PAIR, games_each=1)
    assert three.played == 6, "aab and abb, each in three orders"


# What it amounts to ---------------------------------------------------------------------------------------------


def test_scores_and_ratings_by_hand():
    # agent 0 of a match sits on seat 0 in even games. ab: a wins, a wins; ba: b wins, draw; so a has 2.5 of 4
    ab = MatchResult("g", ("a", "b"), 0, (Record((1, -1), ()), Record((-1, 1), ())))
    ba = MatchResult("g", ("b", "a"), 0, (Record((1, -1), ()), Record((0, 0), ())))
    tournament = Tournament(("g",), ("a", "b"), 0, (ab, ba))
    assert tournament.scores().tolist() == [[0, 2.5], [1.5, 0]]
    row = tournament.crosstable()[0]
    assert (row["agent"], row["against"], row["games"], row["win_rate"]) == ("a", "b", 4, 0.625)
    assert row["interval"] == list(wilson(2.5, 4))
    first, second = tournament.ratings(prior=0)
    assert (first.agent, second.agent) == ("a", "b")
    assert first.rating - second.rating == pytest.approx(400 * 0.2218487, abs=1e-4)  # log10(2.5 / 1.5)


def test_three_seats_count_half_a_comparison_each():
    # a is ahead of both b, and two seats of b are not compared: a scores 2 comparisons of weight 1/2
    match = MatchResult("g", ("a", "b", "b"), 0, (Record((5, 1, 0), ()),))
    assert Tournament(("g",), ("a", "b"), 0, (match,)).scores().tolist() == [[0, 1], [0, 0]]


def test_the_stronger_agent_is_rated_higher_on_each_game():
    # first_legal always passes in Kuhn poker: every other time random bets and wins, else a showdown is even; so random
    # wins 3 of 4 games, and of 200, half is 8 standard errors away
    tournament = play_tournament(["kuhn_poker", "leduc_poker"], PAIR, games_each=200, seed=1)
    assert tournament.ratings("kuhn_poker")[0].agent == "random"
    assert tournament.scores().sum() == 400 == tournament.played
    assert tournament.scores().tolist() == sum(tournament.scores(game) for game in tournament.games).tolist()
    with pytest.raises(fl.BadInput, match="unknown game of this tournament"):
        tournament.ratings("phantom_ttt")


def test_any_number_of_workers_and_any_store_give_the_same_table(tmp_path):
    games = ["phantom_ttt", "oh_hell(players=3,tricks=3)"]
    one = play_tournament(games, PAIR, games_each=12, seed=4)
    two = play_tournament(games, PAIR, games_each=12, seed=4, workers=2)
    kept = play_tournament(games, PAIR, games_each=12, seed=4, store=tmp_path / "games.sqlite")
    assert one == two == kept
    assert one.summary() == two.summary()
    assert without_times(one.table()) == without_times(two.table())
    assert without_times(stored_rows(tmp_path / "games.sqlite")) == without_times(one.table())


def test_a_longer_tournament_goes_on_from_a_shorter_one(tmp_path):
    store, reports = tmp_path / "games.sqlite", []
    play_tournament(["kuhn_poker"], PAIR, games_each=20, store=store)
    longer = play_tournament(
        ["kuhn_poker", "phantom_ttt"], PAIR, 30, store=store, progress=lambda done, total: reports.append((done, total))
    )
    assert reports[0] == (20, 60) and reports[-1] == (60, 60)
    assert longer == play_tournament(["kuhn_poker", "phantom_ttt"], PAIR, 30)


# Budgets and bad input ------------------------------------------------------------------------------------------


def test_a_budget_is_given_to_all_who_take_it():
    agents = ["random", "epimc", "epimc(depth=2)"]
    assert [str(agent) for agent in with_budget(agents, "time=0.05")] == [
        "random",
        "epimc(time=0.05)",
        "epimc(depth=2,time=0.05)",
    ]
    assert str(with_budget(agents, "iterations=10000")[1]) == "epimc(iterations=10000)"
    assert with_budget(agents, "") == agents


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"games": []}, "at least one"),
        ({"games": "kuhn_poker"}, "in a list"),
        ({"games": ["kuhn_poker", "kuhn_poker"]}, "game kuhn_poker is named twice"),
        ({"games": ["kuhn_pokr"]}, "did you mean"),
        ({"agents": ["random"]}, "at least two agents"),
        ({"agents": ["random", "random"]}, "agent random is named twice"),
        ({"agents": ["random", "human"]}, "use 'foglight play'"),
        ({"agents": ["random", "nobody"]}, "unknown agent 'nobody'"),
        ({"games_each": 0}, "games must be a whole number of at least 1"),
        ({"workers": 0}, "workers must be a whole number"),
        ({"budget": "time=0.1"}, "takes a budget; leave out time=0.1"),
        ({"budget": "speed=9"}, "a budget is time=SECONDS or iterations=NUMBER"),
        ({"budget": "time=0"}, "above 0"),
        ({"agents": ["random", "epimc(7)"], "budget": "time=1"}, "has a budget of its own"),
        ({"agents": ["random", "epimc"], "budget": "time=-1"}, "time must be from 0"),
    ],
)
def test_impossible_tournaments_get_advice(arguments, advice):
    with pytest.raises(fl.BadInput) as caught:
        play_tournament(**{"games": ["kuhn_poker"], "agents": PAIR, **arguments})
    assert advice in str(caught.value) and "\n" not in str(caught.value)


TWO = ("tournament", "random", "first_legal", "--game", "kuhn_poker")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (TWO[:3], "Missing option '--game'"),
        ((*TWO, "--time", "1", "--iterations", "5"), "not both"),
        ((*TWO, "--anchor", "nobody"), "--anchor must be one of the agents"),
        ((*TWO, "--plot", "picture.frob"), "its name must end in one of"),
        ((*TWO, "--plot", "/no/such/folder/x.png"), "there is no folder"),
        ((*TWO, "--store", __file__), "choose another file"),
        (("export", "/no/such/store", "x.csv"), "there is no store"),
        (("export", __file__, "x.csv"), "cannot use"),
        (("export", __file__, "x.xls"), "must end in .parquet or .csv"),
        (("export", __file__, "/no/such/folder/x.csv"), "there is no folder"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, arguments, advice):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert advice in err and err.count("\n") == 1


def test_the_command_line_rates_draws_and_exports(run, tmp_path):
    store, plot, table = tmp_path / "games.sqlite", tmp_path / "t.png", tmp_path / "t.csv"
    command = (*TWO, "--game", "phantom_ttt", "--games", "20", "--store", str(store), "--anchor", "random")
    code, out, _ = run(*command, "--json", "--plot", str(plot))
    expected = play_tournament(["kuhn_poker", "phantom_ttt"], PAIR, 20).summary("random")
    assert code == 0 and json.loads(out) == expected and plot.stat().st_size > 5000
    assert next(row for row in expected["ratings"] if row["agent"] == "random")["rating"] == 0
    code, out, _ = run(*command)
    assert code == 0 and "Elo" in out and "first_legal" in out
    code, out, _ = run("export", str(store), str(table))
    assert code == 0 and "80 rows" in out and table.exists()


def test_ctrl_c_says_how_to_go_on(run, monkeypatch, tmp_path):
    def stops(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("foglight.arena.tournament.play_plans", stops)
    code, _, err = run(*TWO, "--store", str(tmp_path / "games.sqlite"))
    assert code == 130 and "the same command goes on" in err and err.count("\n") == 1
    assert "--store FILE would keep games" in run(*TWO)[2]


# Export ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    store = tmp_path_factory.mktemp("stored") / "games.sqlite"
    return store, play_tournament(["kuhn_poker"], PAIR, games_each=10, store=store)


def test_rows_are_complete_plain_data(stored):
    store, tournament = stored
    rows = list(stored_rows(store))
    assert rows == tournament.table() and json.loads(json.dumps(rows)) == rows
    assert all(list(row) == list(COLUMNS) for row in rows) and len(rows) == 20
    for row in rows:
        state = fl.new_state(row["game"])
        for action in row["actions"]:
            state.play(action)
        assert state.returns()[row["seat"]] == row["return"]
        assert row["agent"] in row["agents"] and row["version"] == RESULTS_VERSION


def test_parquet_and_csv_hold_the_rows(stored, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    store, tournament = stored
    monkeypatch.setattr(arena_export, "_BATCH", 7)  # several batches
    assert export(store, tmp_path / "t.parquet") == 20
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == tournament.table()
    assert export(store, tmp_path / "t.csv") == 20
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["actions"]) for row in rows] == [row["actions"] for row in tournament.table()]
    assert [float(row["seconds"]) for row in rows] == [row["seconds"] for row in tournament.table()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"], "nothing is left lying about"


def test_games_without_times_are_exported_without(stored, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    store = tmp_path / "games.sqlite"
    play_tournament(["kuhn_poker"], PAIR, games_each=4, store=store)
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM times")
    export(store, tmp_path / "t.parquet")
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert len(rows) == 8 and all(row["seconds"] is None for row in rows)


def test_the_store_is_never_written_over(tmp_path):
    store = tmp_path / "games.csv"
    play_tournament(["kuhn_poker"], PAIR, games_each=4, store=store)
    before = store.read_bytes()
    with pytest.raises(fl.BadInput, match="it is the store"):
        export(store, store)
    assert store.read_bytes() == before


def test_a_missing_package_is_named(stored, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fl.BadInput, match=r"pip install 'foglight\[parquet\]'"):
        export(stored[0], tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(fl.BadInput, match=r"pip install 'foglight\[plots\]'"):
        pictures.check_picture(tmp_path / "t.png")


# Pictures -------------------------------------------------------------------------------------------------------


def test_error_bars_are_wilson_intervals(tmp_path):
    pytest.importorskip("matplotlib")
    _, (axes,) = pictures.panels(1, 4, 3)
    report.win_rate_axes(axes, {"only": [(1000, 30, 40), (100, 20, 40)]})
    line = axes.containers[0].lines
    assert list(line[0].get_ydata()) == [0.5, 0.75] and list(line[0].get_xdata()) == [100, 1000]
    bars = [tuple(segment[:, 1]) for segment in line[2][0].get_segments()]
    assert bars == [pytest.approx(wilson(20, 40)), pytest.approx(wilson(30, 40))]
    report.draw_win_rates(tmp_path / "w.svg", {"a": [(1, 0, 9)], "b": [(1, 9, 9)]}, title="extremes")
    assert (tmp_path / "w.svg").stat().st_size > 1000


# Killing --------------------------------------------------------------------------------------------------------

LONG = ["random", "first_legal", "--game", "dark_hex(rows=8,cols=8)", "--game", "dark_hex(rows=7,cols=7)"]


def start(store, workers, most=None):
    """The tournament as a process, which stands still, if asked to, before it adds more than so many games."""
    program = ["-m", "foglight"] if most is None else [str(Path(__file__).with_name("halting.py")), str(most)]
    command = [sys.executable, *program, "tournament", *LONG, "--games", "400", "--seed", "5", "--json"]
    command += ["--workers", str(workers), "--store", str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def contents(store):
    with sqlite3.connect(store, timeout=60) as connection:
        return [connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in ("matches", "games")]


def count(store):
    try:
        return len(contents(store)[1])
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "games.sqlite"
    out, _ = start(store, 1).communicate(timeout=300)
    return out, contents(store), without_times(stored_rows(store))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])  # two: a match is killed
def test_kill_9_in_the_middle_changes_nothing(tmp_path, workers, undisturbed):
    store = tmp_path / "games.sqlite"
    for enough, most in ((1, 150), (300, 550)):  # the last 200 of them may be one batch, of which none is stored
        process = start(store, workers, most)
        while process.poll() is None and count(store) < enough:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert 300 <= count(store) < 800, "the kills came in the middle"
    out, err = start(store, workers).communicate(timeout=300)
    assert (out, contents(store)) == undisturbed[:2], err
    rows = list(stored_rows(store))
    assert without_times(rows) == undisturbed[2]
    assert all(row["moves"] is not None for row in rows), "a game and its times are kept together"
