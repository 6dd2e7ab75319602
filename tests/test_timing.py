"""The clock: every move is timed, overruns are counted, and none of it changes a game."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest

import foglight as fl
from foglight.agents import Agent
from foglight.arena import match as arena_match
from foglight.arena.referee import Record, Timing, warm_up
from foglight.arena.store import Match, Store
from foglight.names import Between

PAIR = ["random", "first_legal"]


class Clock:
    """The clock of a process, which moves only while somebody sleeps."""

    now = 0.0


@dataclass
class Sleeper(Agent):
    """thinks for `sleep` seconds, whatever its budget says, and the first time in a process for `cold` seconds more"""

    time: Annotated[float, Between(0, 10)] = 0.0
    sleep: Annotated[float, Between(0, 10)] = 0.0
    cold: Annotated[float, Between(0, 10)] = 0.0

    def act(self, actions=None):
        Clock.now += self.sleep + self.cold
        self.cold = 0.0
        return actions[0]


@pytest.fixture
def sleeper(monkeypatch):
    """The address of an agent that takes a time budget and does not keep it, by a clock that is set for the test."""
    monkeypatch.setattr(Clock, "now", 0.0)
    monkeypatch.setattr("foglight.arena.referee.time", SimpleNamespace(perf_counter=lambda: Clock.now))
    monkeypatch.setattr(arena_match, "_warm", set())
    return f"{__name__}:Sleeper"


def test_an_overrun_is_more_than_a_fifth_and_five_milliseconds():
    # 100 ms allow 1.2 * 100 + 5 = 125 ms
    timing = Timing()
    for seconds in (0.1, 0.1249, 0.1251, 0.3):
        timing.add(seconds, 0.1)
    assert (timing.moves, timing.longest, timing.overruns) == (4, 0.3, 2)
    assert timing.seconds == pytest.approx(0.65)
    timing.add(99.0, 0.0)
    assert timing.overruns == 2, "nobody overruns a budget that was not given"
    other = Timing(1, 200.0, 200.0, 1)
    other.join(timing)
    assert (other.moves, other.longest, other.overruns) == (6, 200.0, 3)


@pytest.mark.parametrize("workers", [1, 2])
def test_overruns_are_reported_of_who_overran(sleeper, workers):
    # 10 ms allow 17 ms, and 100 ms allow 125 ms
    agents = [f"{sleeper}(time=0.01,sleep=0.03)", f"{sleeper}(time=0.1,sleep=0.12)"]
    result = fl.play_match("kuhn_poker", agents, games=8, workers=workers)
    slow, quick = result.timing(0), result.timing(1)
    assert slow.overruns == slow.moves > 0 and quick.overruns == 0 and quick.moves > 0
    for timing, seconds in ((slow, 0.03), (quick, 0.12)):
        assert (timing.longest, timing.seconds) == (pytest.approx(seconds), pytest.approx(seconds * timing.moves))
    rows = result.summary()["agents"]
    assert rows[0]["timing"]["overruns"] == slow.overruns and rows[0]["timing"]["mean_ms"] == pytest.approx(30)
    assert rows[1]["timing"]["longest_ms"] == pytest.approx(120)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_decision_of_a_process_is_thrown_away(sleeper, workers):
    agents = [f"{sleeper}(time=0.2,sleep=0.1,cold=0.5)", "random"]
    timing = fl.play_match("kuhn_poker", agents, games=8, workers=workers).timing(0)
    assert timing.overruns == 0 and timing.longest == pytest.approx(0.1)


@pytest.mark.parametrize("remembers, decisions", [(False, 1), (True, 2)])
def test_every_agent_is_asked_in_a_warm_up_and_twice_if_it_remembers(remembers, decisions):
    class Counting(Agent):
        asked = 0

        def act(self, actions=None):
            self.asked += 1
            assert len(actions) > 1
            return actions[0]

    Counting.remembers = remembers
    for game in ("phantom_ttt", "goofspiel(cards=5)", "oh_hell(players=3,tricks=3)"):
        agents = [Counting() for _ in range(fl.new_state(game).num_players)]
        warm_up(fl.load_game(game), agents)
        assert [agent.asked for agent in agents] == [decisions] * len(agents)


def test_moves_are_those_of_the_seat():
    record = fl.play_match("phantom_ttt", PAIR, games=1).records[0]
    assert sum(timing.moves for timing in record.timing) == len(record.actions), "no chance in this game"
    assert all(0 < timing.longest <= timing.seconds for timing in record.timing)


def test_time_is_no_part_of_what_was_played():
    assert Record((1.0,), (2,), (Timing(1, 0.5, 0.5),)) == Record((1.0,), (2,))


def test_searching_by_iterations_gives_the_same_games_with_any_number_of_workers():
    agents = ["epimc(depth=1,iterations=50)", "random"]
    one, two = (fl.play_match("phantom_ttt", agents, games=6, seed=3, workers=workers) for workers in (1, 2))
    assert one == two
    assert one.timing(0).moves == two.timing(0).moves > 0


def test_data_of_agents_without_a_clock_are_the_same_every_time():
    first, second = (fl.play_match("kuhn_poker", PAIR, games=10).summary() for _ in range(2))
    assert first == second and first["agents"][0]["timing"] is None


def test_the_command_line_shows_times(run, sleeper):
    command = ("match", f"{sleeper}(time=0.001,sleep=0.02)", "random", "--game", "kuhn_poker", "--games", "2")
    code, out, _ = run(*command)
    assert code == 0 and all(word in out for word in ("ms a", "longest", "overruns"))
    assert '"overruns": 0' not in run(*command, "--json")[1]


# The store ------------------------------------------------------------------------------------------------------

OLD_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x666F676C;
CREATE TABLE matches (
    match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL,
    UNIQUE (game, agents, seed, version));
CREATE TABLE games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL, returns TEXT NOT NULL, actions TEXT NOT NULL,
    PRIMARY KEY (match, number)) WITHOUT ROWID;
"""


@pytest.fixture
def old_store(tmp_path):
    """Five games in a file as it was before moves were timed and code had fingerprints."""
    new, old = tmp_path / "new.sqlite", tmp_path / "old.sqlite"
    fl.play_match("kuhn_poker", PAIR, games=5, seed=1, store=new)
    connection = sqlite3.connect(old, isolation_level=None)
    connection.executescript(OLD_SCHEMA)
    connection.execute("ATTACH ? AS new", (str(new),))
    connection.execute("INSERT INTO matches SELECT match, game, agents, seed, version FROM new.matches")
    connection.execute("INSERT INTO games SELECT * FROM new.games")
    connection.close()
    return old


def test_an_older_store_keeps_its_games_which_are_of_unknown_code(old_store):
    result = fl.play_match("kuhn_poker", PAIR, games=10, seed=1, store=old_store)
    assert result == fl.play_match("kuhn_poker", PAIR, games=10, seed=1)
    assert (result.earlier, result.changed) == (5, ())
    with closing(Store(old_store)) as store:
        kept = [(match.code == (), number) for match, number, _ in store.games()]
    assert kept == [(True, number) for number in range(5)] + [(False, number) for number in range(10)]
    again = fl.play_match("kuhn_poker", PAIR, games=10, seed=1, store=old_store)
    assert again == result and again.earlier == 5


def test_games_without_times(tmp_path):
    path = tmp_path / "games.sqlite"
    fl.play_match("kuhn_poker", PAIR, games=5, seed=1, store=path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM times")
    result = fl.play_match("kuhn_poker", PAIR, games=10, seed=1, store=path)
    whole = fl.play_match("kuhn_poker", PAIR, games=10, seed=1)
    assert result == whole
    assert [bool(record.timing) for record in result.records] == [False] * 5 + [True] * 5
    assert result.timing(0).moves == sum(whole.records[i].timing[i % 2].moves for i in range(5, 10))
    untimed = fl.play_match("kuhn_poker", PAIR, games=5, seed=1, store=path)
    assert untimed.timing(0) is None and untimed.summary()["agents"][0]["timing"] is None


def test_times_come_back_from_the_store(tmp_path):
    store = Store(tmp_path / "games.sqlite")
    match = store.match(Match("g", ("a", "b"), 0, "v", ("x", "y", "z")))
    timing = (Timing(3, 0.1 + 0.2, 0.2, 1), Timing(0, 0.0, 0.0, 0))
    store.add(match, 0, Record((1.0, -1.0), (1,), timing))
    store.add(match, 0, Record((1.0, -1.0), (1,), (Timing(9), Timing(9))))
    store.add(match, 1, Record((1.0, -1.0), (1,)))
    assert [record.timing for record in store.records(match, 5)] == [timing, ()], "the first one stays"
