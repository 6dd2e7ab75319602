"""Matches: fair seats, one seed, honest intervals, and nothing lost when somebody pulls the plug."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scipy.stats import binomtest

import foglight as fl
from foglight.arena import match as arena_match
from foglight.arena.intervals import mean_and_error, wilson
from foglight.arena.referee import Record
from foglight.arena.store import Match, Store

PAIR = ["random", "first_legal"]


@pytest.mark.parametrize(("wins", "games"), [(0, 10), (3, 10), (10, 10), (412, 1000)])
def test_wilson_intervals_are_scipys(wins, games):
    expected = binomtest(wins, games).proportion_ci(0.95, method="wilson")
    assert wilson(wins, games) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_standard_errors_by_hand():
    # 1, 2, 3, 4: mean 5/2, variance 5/3, so the error is sqrt(5/12)
    assert mean_and_error([1, 2, 3, 4]) == pytest.approx((2.5, (5 / 12) ** 0.5))
    mean, error = mean_and_error([7])
    assert mean == 7 and error != error


def test_agents_change_seats_and_draws_count_half():
    # with two agents, agent 0 sits on seat 0 in even games and on seat 1 in odd ones
    records = (Record((1, -1), ()), Record((1, -1), ()), Record((0, 0), ()), Record((-1, 1), ()))
    result = fl.MatchResult("phantom_ttt", ("a", "b"), 0, records)
    assert result.returns(0) == [1, -1, 0, 1]
    assert (result.win_rate(0), result.win_rate(1)) == (2.5 / 4, 1.5 / 4)
    assert result.mean_returns == [0.25, -0.25]
    low, high = result.interval(0)
    assert low < 2.5 / 4 < high


def test_a_match_follows_from_its_seed_alone():
    first = fl.play_match("phantom_ttt", PAIR, games=40, seed=3)
    assert fl.play_match("phantom_ttt", PAIR, games=40, seed=3) == first
    assert fl.play_match("phantom_ttt", PAIR, games=40, seed=3, workers=2) == first
    assert fl.play_match("phantom_ttt", PAIR, games=40, seed=4) != first
    assert first.records[:20] == fl.play_match("phantom_ttt", PAIR, games=20, seed=3).records


def test_random_against_random_is_the_value_of_random_play():
    # among random players x gains 0.2968 (compiled playouts, 10^6 games), and agents are even, since seats swap;
    # 1 000 games, payoffs of spread below 1, 5 standard errors: a false alarm once in 1.7 million
    result = fl.play_match("phantom_ttt", ["random", "random"], games=1000, seed=1)
    assert abs(result.mean_returns[0]) < 5 * 1000**-0.5
    seats = [record.returns[0] for record in result.records]
    assert abs(sum(seats) / 1000 - 0.2968) < 5 * 1000**-0.5


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"agents": ["random"]}, "kuhn_poker is for 2 agents, not 1; name one for each"),
        ({"agents": "random"}, "kuhn_poker is for 2 agents, not 1"),
        ({"agents": ["random", "nobody"]}, "unknown agent 'nobody'"),
        ({"agents": ["random", "human"]}, "human needs somebody at the terminal"),
        ({"games": 0}, "games must be a whole number of at least 1, not 0"),
        ({"workers": 0}, "workers must be a whole number of at least 1, not 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"games": 1.5}, "games must be a whole number of at least 1, not 1.5"),
    ],
)
def test_impossible_matches_get_advice(arguments, advice):
    with pytest.raises(ValueError) as caught:
        fl.play_match(**{"game": "kuhn_poker", "agents": ["random", "random"], **arguments})
    assert advice in str(caught.value)


# The store ------------------------------------------------------------------------------------------------------


def table(path):
    with sqlite3.connect(path, timeout=60) as connection:
        matches = connection.execute("SELECT * FROM matches ORDER BY match").fetchall()
        return matches, connection.execute("SELECT * FROM games ORDER BY match, number").fetchall()


def test_a_stored_match_goes_on_where_it_ended(tmp_path, monkeypatch):
    store = tmp_path / "games.sqlite"
    fl.play_match("kuhn_poker", PAIR, games=10, seed=1, store=store)
    played = []
    real = arena_match._play
    monkeypatch.setattr(
        arena_match, "_play", lambda plan, number, agents: played.append(number) or real(plan, number, agents)
    )
    longer = fl.play_match("kuhn_poker", PAIR, games=15, seed=1, store=store)
    assert played == [10, 11, 12, 13, 14], "no game is played twice"
    assert longer == fl.play_match("kuhn_poker", PAIR, games=15, seed=1)
    assert fl.play_match("kuhn_poker", PAIR, games=5, seed=1, store=store).games == 5
    fl.play_match("kuhn_poker", PAIR, games=3, seed=2, store=store)
    assert len(table(store)[0]) == 2, "another seed is another match in the same file"


def test_stored_games_can_be_replayed(tmp_path):
    store = tmp_path / "games.sqlite"
    fl.play_match("dark_hex(rows=3,cols=3)", PAIR, games=5, store=store)
    for _, _, returns, actions in table(store)[1]:
        state = fl.new_state("dark_hex(rows=3,cols=3)")
        for action in json.loads(actions):
            state.play(action)
        assert state.player == fl.TERMINAL
        assert state.returns() == json.loads(returns)


@pytest.mark.parametrize("what", ["text", "other database", "torn", "folder", "no folder"])
def test_a_store_that_cannot_be_used_is_left_alone(tmp_path, what):
    store = tmp_path / "store"
    if what == "text":
        store.write_text("dear diary, " * 500)
    elif what == "other database":
        with sqlite3.connect(store) as connection:
            connection.execute("CREATE TABLE precious (x)")
        connection.close()
    elif what == "torn":
        fl.play_match("kuhn_poker", PAIR, games=400, store=store)
        content = bytearray(store.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        store.write_bytes(content)
    elif what == "folder":
        store.mkdir()
    else:
        store = tmp_path / "missing" / "store"
    before = store.read_bytes() if store.is_file() else None
    with pytest.raises(fl.BadInput) as caught:
        fl.play_match("kuhn_poker", PAIR, games=2, store=store)
    assert "\n" not in str(caught.value) and str(store) in str(caught.value)
    assert (store.read_bytes() if store.is_file() else None) == before


def test_every_process_may_write_at_once(tmp_path):
    store = Store(tmp_path / "games.sqlite")
    match = store.match(Match("g", ("a",), 0, "v", ("x", "y")))
    other = Store(tmp_path / "games.sqlite")
    assert other.match(Match("g", ("a",), 0, "v", ("x", "y"))) == match
    store.add(match, 0, Record((1.0,), (1, 2)))
    other.add(match, 0, Record((5.0,), (9,)))
    other.add(match, 1, Record((2.0,), ()))
    assert store.records(match, 10) == [Record((1.0,), (1, 2)), Record((2.0,), ())], "the first one stays"


# Killing --------------------------------------------------------------------------------------------------------

LONG = ["random", "random", "--game", "dark_hex(rows=8,cols=8)", "--games", "800", "--seed", "5"]


def start_match(store, workers, most=None):
    """The match as a process, which stands still, if asked to, before it adds more than so many games."""
    program = ["-m", "foglight"] if most is None else [str(Path(__file__).with_name("halting.py")), str(most)]
    options = ["--workers", str(workers), "--store", str(store), "--json"]
    command = [sys.executable, *program, "match", *LONG, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(store):
    try:
        return len(table(store)[1])
    except sqlite3.OperationalError:
        return 0


def running_with(text):
    """Processes that have this text in their command line, from the process table."""
    return [p for p in Path("/proc").glob("[0-9]*/cmdline") if text.encode() in _read(p)]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "games.sqlite"
    out, _ = start_match(store, 1).communicate(timeout=300)
    return out, table(store)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for orphans in /proc")
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])  # one: a tournament is killed
def test_kill_9_loses_no_finished_game_and_repeats_none(tmp_path, workers, undisturbed):
    store = tmp_path / "games.sqlite"
    kills = 0
    for enough, most in ((1, 150), (400, 600)):  # the last 200 of them may be one batch, of which none is stored
        process = start_match(store, workers, most)
        while process.poll() is None and stored(store) < enough:
            time.sleep(0.01)
        kept = table(store)[1] if stored(store) else []
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        now = table(store)[1]
        assert [row for row in now if row in kept] == kept, "a game that was stored is still there, unchanged"
    deadline = time.monotonic() + 120
    while running_with(str(store)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running_with(str(store)), "workers end when their parent is killed"
    assert kills == 2
    assert 0 < stored(store) < 800, "the kills came in the middle"
    out, err = start_match(store, workers).communicate(timeout=300)
    assert (out, table(store)) == undisturbed, err


def test_a_killed_worker_is_replaced(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    real = arena_match._play

    def dies_once(plan, number, agents):
        if number == 7 and not victim.exists():
            victim.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return real(plan, number, agents)

    expected = fl.play_match("kuhn_poker", PAIR, games=60, seed=2)
    monkeypatch.setattr(arena_match, "_play", dies_once)
    assert fl.play_match("kuhn_poker", PAIR, games=60, seed=2, workers=2) == expected
    assert victim.exists()


def test_workers_that_keep_dying_are_given_up(monkeypatch, run):
    monkeypatch.setattr(arena_match, "_play", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(RuntimeError, match="worker processes keep dying; 60 games are left to play"):
        fl.play_match("kuhn_poker", PAIR, games=60, seed=2, workers=2)
    code, _, said = run("match", "random", "first_legal", "--game", "kuhn_poker", "--games", "60", "--workers", "2")
    (line,) = (line for line in said.splitlines() if "dying" in line)
    assert code == 1 and "has ended 3 workers in a row" in line and "Traceback" not in said


def test_an_error_in_a_worker_reaches_the_caller(monkeypatch):
    def fails(plan, number, agents):
        raise ZeroDivisionError("in a worker")

    monkeypatch.setattr(arena_match, "_play", fails)
    with pytest.raises(ZeroDivisionError, match="in a worker"):
        fl.play_match("kuhn_poker", PAIR, games=60, seed=2, workers=2)
