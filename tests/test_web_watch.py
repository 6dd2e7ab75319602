"""Watching stores: the page's tables are those of the arena, they grow with a match, and no file is ever changed."""

import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest

import foglight as fl
from foglight.arena.export import export
from foglight.arena.referee import Record, Timing
from foglight.arena.store import Match, Store, stored_position
from foglight.web.sharing import game_file
from foglight.web.watching import AT_A_TIME, Pictures, WatchedStore, watched

TRIO = ["random", "first_legal", "pimc(iterations=5)"]


def tables_of(result):
    """The table of a match as the arena computes it."""
    return [
        {
            "agent": agent,
            "games": result.games,
            "win_rate": result.win_rate(k),
            "interval": list(result.interval(k)),
            "mean_return": result.mean_returns[k],
        }
        for k, agent in enumerate(result.agents)
    ]


def digest(path):
    """The content of a store's files, apart from SQLite's own bookkeeping of who reads."""
    wal = path.with_name(path.name + "-wal")
    return hashlib.sha256(path.read_bytes() + (wal.read_bytes() if wal.exists() else b"")).hexdigest()


@pytest.fixture(scope="module")
def tournament(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "games.sqlite"
    return path, fl.play_tournament(["kuhn_poker", "liars_dice"], TRIO, games_each=30, seed=3, store=path)


def test_tables_and_ratings_are_those_of_the_arena(tournament):
    path, result = tournament
    before = digest(path)
    summary = WatchedStore(path).summary()
    assert [match["table"] for match in summary["matches"]] == [tables_of(match) for match in result.matches]
    assert [(m["game"], tuple(m["agents"]), m["games"]) for m in summary["matches"]] == [
        (match.game, match.agents, match.games) for match in result.matches
    ]
    assert summary["games"] == result.played and summary["name"] == "games.sqlite"
    assert [rating["game"] for rating in summary["ratings"]] == list(result.games)
    for shown in summary["ratings"]:
        rows = [{"agent": r.agent, "rating": r.rating, "interval": [r.low, r.high], "games": r.games}
                for r in result.ratings(shown["game"])]  # fmt: skip
        assert shown["rows"] == rows and len(rows) == 3
    assert len(summary["matches"]) == 12 and digest(path) == before
    json.dumps(summary, allow_nan=False)


def test_winners_who_share_and_four_seats_are_counted_as_in_the_arena(tmp_path):
    """A third of a win has no exact binary fraction, and neither has a third of a comparison."""
    path = tmp_path / "games.sqlite"
    result = fl.play_tournament(["hearts"], ["random", "first_legal"], games_each=12, seed=0, store=path)
    summary = WatchedStore(path).summary()
    assert [match["table"] for match in summary["matches"]] == [tables_of(match) for match in result.matches]
    rows = [(r.agent, r.rating, [r.low, r.high]) for r in result.ratings(result.games[0])]
    assert [(row["agent"], row["rating"], row["interval"]) for row in summary["ratings"][0]["rows"]] == rows
    rng, shared = random.Random(1), tmp_path / "shared.sqlite"
    names = ("a", "b", "c", "d")
    records = [Record(tuple(rng.choice([0.1, 0.3, 1.0]) for _ in names), (1,)) for _ in range(500)]
    with closing(Store(shared)) as store:
        match = store.match(Match("g", names, 0, "v", ()))
        for number, record in enumerate(records):
            store.add(match, number, record)
    expected = tables_of(fl.MatchResult("g", names, 0, tuple(records)))
    assert WatchedStore(shared).summary()["matches"][0]["table"] == expected
    ties = {record.returns.count(max(record.returns)) for record in records}
    assert ties == {1, 2, 3, 4}


def test_lists_of_games_and_single_games(tmp_path):
    path = tmp_path / "games.sqlite"
    result = fl.play_match("kuhn_poker", ["random", "first_legal"], games=130, seed=4, store=path)
    store = WatchedStore(path)
    match = store.summary()["matches"][0]["match"]
    first, second, none = (store.games(match, start) for start in (0, AT_A_TIME, 130))
    assert [len(part["games"]) for part in (first, second, none)] == [100, 30, 0] and second["of"] == 130
    rows = [{"number": i, "returns": list(r.returns), "moves": len(r.actions)} for i, r in enumerate(result.records)]
    assert first["games"] + second["games"] == rows
    for number in (0, 1, 129):
        game = store.game(match, number)
        assert game.record == result.records[number] and game.match.game == "kuhn_poker"
        assert game.agents == (("random", "first_legal"), ("first_legal", "random"))[number % 2]
    for wrong in (lambda: store.game(match, 130), lambda: store.game(7, 0), lambda: store.games(7)):
        with pytest.raises(fl.BadInput, match=r"holds no game|has no match 7"):
            wrong()


def test_ratings_count_the_latest_code_of_each_agent(tmp_path):
    path, record = tmp_path / "games.sqlite", Record((1.0, -1.0), (0,))
    with closing(Store(path)) as store:
        for code, winner in (("old", (1.0, -1.0)), ("new", (-1.0, 1.0))):
            for agents in (("a", "b"), ("b", "a")):
                prints = ("game", *(code if agent == "a" else "same" for agent in agents))
                match = store.match(Match("g", agents, 0, "v", prints))
                for number in range(10):
                    own = winner if agents[number % 2] == "a" else winner[::-1]
                    store.add(match, number, Record(own, (0,)))
        alone = store.match(Match("h", ("a", "b"), 0, "v", ()))  # one match is no tournament
        store.add(alone, 0, record)
    summary = WatchedStore(path).summary()
    assert [rating["game"] for rating in summary["ratings"]] == ["g"] and len(summary["matches"]) == 5
    rows = summary["ratings"][0]["rows"]
    assert [row["agent"] for row in rows] == ["b", "a"] and rows[0]["games"] == 20 and rows[0]["rating"] > 0


# Growing ----------------------------------------------------------------------------------------------------------

WRITER = """
import sys, time
from foglight.arena.referee import Record
from foglight.arena.store import Match, Store
store = Store(sys.argv[1])
match = store.match(Match("g", ("a", "b"), 0, "v", ()))
order = [number ^ 1 for number in range(400)]  # as when two workers take turns
for number in order:
    store.add(match, number, Record((1.0, -1.0) if number % 3 else (0.0, 0.0), (number, 1)))
    print(number, flush=True)
    sys.stdin.readline()
store.close()
"""


def test_a_store_is_watched_while_another_process_writes_it(tmp_path):
    path = tmp_path / "games.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        store, tags, written = None, set(), 0
        for line in process.stdout:
            written += 1
            store = store or WatchedStore(path)
            summary = store.summary()
            assert summary["games"] == written, f"game {line.strip()} is in the file, so it is shown"
            assert store.summary(summary["tag"]) is None
            tags.add(summary["tag"])
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.wait(60) == 0 and (written, len(tags)) == (400, 400)
    finally:
        process.kill()
        process.wait()
    alone = tmp_path / "alone.sqlite"  # without the file of the latest writes beside it
    alone.write_bytes(path.read_bytes())
    assert WatchedStore(alone).summary()["games"] == 400, "SQLite has tidied up: nobody holds the file"
    drawn = sum(number % 3 == 0 for number in range(400))
    row = store.summary()["matches"][0]["table"][0]
    assert row["win_rate"] == ((400 - drawn) / 2 + drawn / 2) / 400


def test_a_look_at_an_unchanged_store_reads_nothing(tmp_path, monkeypatch):
    path = tmp_path / "games.sqlite"
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=10, seed=0, store=path)
    then = time.time_ns() - 10**10
    os.utime(path, ns=(then, then))  # written ten seconds ago
    store = WatchedStore(path)
    tag, looks = store.summary()["tag"], []
    monkeypatch.setattr(WatchedStore, "_opened", lambda self: looks.append(1))
    assert all(store.summary(tag) is None for _ in range(1000)) and looks == []
    monkeypatch.undo()
    assert WatchedStore(path).summary()["tag"] == tag, "a tag of before a restart is still good"
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=11, seed=0, store=path)
    assert store.summary(tag)["games"] == 11


def test_a_file_that_is_replaced_or_loses_games_is_read_anew(tmp_path):
    path, other = tmp_path / "games.sqlite", tmp_path / "other.sqlite"
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=10, seed=0, store=path)
    fl.play_match("kuhn_poker", ["first_legal", "first_legal"], games=10, seed=1, store=other)
    store = WatchedStore(path)
    shutil.move(other, path)
    assert store.summary()["matches"][0]["agents"] == ["first_legal", "first_legal"]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM games WHERE number = 0")
    assert store.summary()["games"] == 9
    path.unlink()
    with pytest.raises(fl.BadInput, match="there is no store"):
        store.summary()


# Files that are no stores -----------------------------------------------------------------------------------------


def test_foreign_damaged_and_missing_files_get_one_line(tmp_path, tournament):
    whole = tournament[0].read_bytes()
    foreign = tmp_path / "foreign.sqlite"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE cake (x)")
    view = tmp_path / "view.sqlite"
    with closing(sqlite3.connect(view)) as connection:
        connection.execute(f"PRAGMA application_id = {0x666F676C}")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
        connection.execute(
            f"CREATE VIEW games AS {endless} 1 AS match, x AS number, '' AS returns, '' AS actions FROM n"
        )
        connection.commit()
    (tmp_path / "empty.sqlite").write_bytes(b"")
    (tmp_path / "text.sqlite").write_text("not a database, but long enough for a header " * 100)
    (tmp_path / "half.sqlite").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "torn.sqlite").write_bytes(whole[:5000] + b"\xff" * 3000 + whole[8000:])
    refused = 0
    for name in ("foreign", "view", "empty", "text", "half", "torn", "missing"):
        path = tmp_path / f"{name}.sqlite"
        before = path.read_bytes() if path.exists() else b""
        with pytest.raises(fl.BadInput) as error:
            watched([path])
        assert len(str(error.value).splitlines()) == 1 and path.name in str(error.value)
        assert (path.read_bytes() if path.exists() else b"") == before
        refused += 1
    assert refused == 7


DAMAGES = {
    "UPDATE games SET returns = '[1, 2, 3]' WHERE number = 3": "game 3 of match 1 has unusable returns",
    "UPDATE games SET returns = '[NaN, 1]' WHERE number = 3": "game 3 of match 1 has unusable returns",
    "UPDATE games SET returns = x'00ff' WHERE number = 3": "game 3 of match 1 has unusable returns",
    "UPDATE games SET number = 'three' WHERE number = 3": "game 'three' of match 1 has unusable number",
    "UPDATE games SET number = -3 WHERE number = 3": "has unusable number",
    "UPDATE matches SET agents = '[]'": "match 1 has unusable agents",
    "UPDATE matches SET code = '[1]'": "match 1 has unusable code",
    "UPDATE matches SET seed = 'x'": "match 1 has unusable seed",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_that_sqlite_does_not_notice_is_named(tmp_path, damage):
    path = tmp_path / "games.sqlite"
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=10, seed=0, store=path)
    store = WatchedStore(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    for look in (lambda: WatchedStore(path), store.summary):
        if look == store.summary and "SET returns" in damage:
            continue  # what a match is made of is read again when it has got or lost games
        with pytest.raises(fl.BadInput, match=DAMAGES[damage]):
            look()


def test_a_store_of_before_fingerprints_is_shown_and_stays_as_it_is(tmp_path):
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"""PRAGMA application_id = {0x666F676C};
            CREATE TABLE matches (match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL,
                seed INTEGER NOT NULL, version TEXT NOT NULL, UNIQUE (game, agents, seed, version));
            CREATE TABLE games (match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL,
                returns TEXT NOT NULL, actions TEXT NOT NULL, PRIMARY KEY (match, number)) WITHOUT ROWID;
            INSERT INTO matches VALUES (1, 'kuhn_poker', '["a", "b"]', 0, '0.1');
            INSERT INTO games VALUES (1, 0, '[1.0, -1.0]', '[0, 1, 1, 0]');"""
        )
    before = path.read_bytes()
    store = WatchedStore(path)
    assert store.summary()["matches"][0]["table"][0]["win_rate"] == 1.0
    assert store.game(1, 0).record.actions == (0, 1, 1, 0) and store.game(1, 0).match.code == ()
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="folders that cannot be written are a matter of POSIX here")
def test_a_store_in_a_folder_that_cannot_be_written_is_shown():
    with tempfile.TemporaryDirectory() as name:  # everybody may go there, unlike to pytest's folders
        folder = Path(name)
        path = folder / "games.sqlite"
        fl.play_match("kuhn_poker", ["random", "first_legal"], games=10, seed=0, store=path)
        look = "import sys; from pathlib import Path; from foglight.web.watching import WatchedStore\n"
        look += "if sys.argv[2] == '0': __import__('os').setuid(65534)\n"
        look += "print(WatchedStore(Path(sys.argv[1])).summary()['games'])"
        folder.chmod(0o555)
        try:
            done = subprocess.run(
                [sys.executable, "-c", look, str(path), str(os.getuid())], capture_output=True, text=True, check=False
            )
        finally:
            folder.chmod(0o755)
        assert (done.stdout, done.returncode) == ("10\n", 0), done.stderr
        assert [file.name for file in folder.iterdir()] == ["games.sqlite"]


# Pictures ---------------------------------------------------------------------------------------------------------


def test_pictures_of_studies_are_listed_by_index_and_only_these_are_given(tmp_path):
    runs = tmp_path / "runs"
    (runs / "b").mkdir(parents=True)
    (runs / "b" / "picture.png").write_bytes(b"png")
    (runs / "a.SVG").write_bytes(b"<svg/>")
    (runs / "data.json").write_text("{}")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (runs / "link.png").symlink_to(tmp_path / "secret.png")
    (runs / "folder.png").mkdir()
    stores, pictures = watched([runs])
    assert stores == [] and len(pictures) == 2
    expected = [("runs/a.SVG", "image/svg+xml"), ("runs/b/picture.png", "image/png")]
    assert [(row["name"], row["type"]) for row in pictures.listed()] == expected
    assert [pictures.content(index) for index in (0, 1)] == [(b"<svg/>", "image/svg+xml"), (b"png", "image/png")]
    (runs / "0.png").write_bytes(b"new")
    assert [row["index"] for row in pictures.listed()] == [0, 1, 2] and pictures.content(2)[0] == b"new"
    (runs / "0.png").unlink()
    (runs / "0.png").symlink_to(tmp_path / "secret.png")  # it was a picture when it was listed
    for index in (-1, 3, 2):
        with pytest.raises(fl.BadInput):
            pictures.content(index)
    assert len(Pictures([])) == 0


# Sharing ----------------------------------------------------------------------------------------------------------


def test_a_shared_game_is_a_store_that_every_command_reads(tmp_path, run):
    record = fl.play_match("dark_hex(rows=2,cols=2)", ["random", "first_legal"], games=4, seed=2).records[3]
    timed = Record(record.returns, record.actions, (Timing(2, 0.5, 0.25, 0), Timing(1, 0.5, 0.25, 0)))
    match = Match("dark_hex(rows=2,cols=2)", ("random", "first_legal"), 2, "v", ("x", "y", "z"))
    content = game_file(match, 3, timed)
    assert content == game_file(match, 3, timed), "the same game gives the same bytes"
    assert content[18:20] == b"\x01\x01", "SQLite's mark of one file without a second one for the latest writes"
    path = tmp_path / "shared.sqlite"
    path.write_bytes(content)
    assert [file.name for file in tmp_path.iterdir()] == ["shared.sqlite"]
    code, out, _ = run("belief", match.game, "--store", str(path), "--json")
    state = stored_position(path, match.game, 0)
    assert code == 0 and state.history() == list(record.actions) and json.loads(out) == fl.belief(state, 0).summary()
    code, out, _ = run("export", str(path), str(tmp_path / "table.csv"))
    assert code == 0 and out.startswith("2 rows written") and export(path, tmp_path / "again.csv") == 2
    stores, _ = watched([path])
    summary = stores[0].summary()
    assert summary["games"] == 1 and summary["matches"][0]["agents"] == ["first_legal", "random"]
    game = stores[0].game(summary["matches"][0]["match"], 0)
    assert game.record == record and game.record.timing == timed.timing
    assert game.agents == ("first_legal", "random") and game.match.code == ()
    assert (len(content), game_file(match, 0, timed) == content) == (len(content), False) and len(content) < 40_000


# By HTTP ----------------------------------------------------------------------------------------------------------


def test_stores_pictures_and_files_by_http(tmp_path):
    pytest.importorskip("starlette")
    pytest.importorskip("httpx2")
    from starlette.testclient import TestClient

    from foglight.web.app import Page
    from foglight.web.offers import Offers
    from foglight.web.workers import Workers

    path, runs = tmp_path / "games.sqlite", tmp_path / "runs"
    result = fl.play_match("kuhn_poker", ["random", "first_legal"], games=130, seed=4, store=path)
    with closing(Store(path)) as store:
        store.add(store.match(Match("os.path:join", ("a", "b"), 0, "v", ())), 0, Record((1.0, -1.0), (0,)))
    runs.mkdir()
    (runs / "picture.svg").write_bytes(b"<svg/>")
    stores, pictures = watched([path, runs])
    page = Page(Offers(), tmp_path / "page.sqlite", Workers(1), stores=stores, pictures=pictures)
    with TestClient(page.application()) as client:
        offers = client.get("/api/offers").json()
        assert offers["stores"] == [{"index": 0, "name": "games.sqlite"}] and offers["pictures"] == 1
        summary = client.get("/api/stores/0").json()
        assert summary == stores[0].summary() and summary["matches"][0]["table"] == tables_of(result)
        assert client.get("/api/stores/0", params={"tag": summary["tag"]}).status_code == 304
        assert client.get("/api/stores/0/1?from=100").json() == stores[0].games(1, 100)
        replay = client.get("/api/replay/s.0.1.7").json()
        assert replay["returns"] == list(result.records[7].returns) and replay["agents"] == ["first_legal", "random"]
        assert len(replay["steps"]) == len(result.records[7].actions) and replay["seat"] is None
        assert client.get(f"/api/replay/s.0.1.7/{len(replay['steps'])}").json()["over"]
        content = client.get("/api/replay/s.0.1.7/file")
        (tmp_path / "shared.sqlite").write_bytes(content.content)
        assert content.headers["content-type"] == "application/vnd.sqlite3"
        assert WatchedStore(tmp_path / "shared.sqlite").game(1, 0).record == result.records[7]
        reply = client.get("/api/replay/s.0.2.0")
        assert reply.status_code == 400 and "os.path:join" in reply.json()["error"], "what a file names is not imported"
        assert client.get("/api/pictures").json()[0]["name"] == "runs/picture.svg"
        picture = client.get("/api/pictures/0")
        assert (picture.content, picture.headers["content-type"]) == (b"<svg/>", "image/svg+xml")
        wrong = ["stores/1", "stores/0/3", "stores/0/1?from=-1", "stores/0/1?from=1e3", "pictures/1", "pictures/../0"]
        wrong += [f"replay/{source}" for source in ("s.0.1.130", "s.1.1.1", "s.0.1", "s.0.1.-1", "s.x.1.1", "s.0.1.١")]
        wrong += [f"stores/{'9' * 30}", f"stores/0/{'9' * 30}", f"replay/s.0.1.{'9' * 30}/file", "replay/s.0.1.7/99"]
        assert len(wrong) == 16 and all(client.get(f"/api/{one}").status_code in (400, 404) for one in wrong)
        (token,) = (
            entry["token"]
            for entry in client.post(
                "/api/games", json={"game": "kuhn_poker", "seats": ["me", {"agent": "first_legal"}]}
            ).json()["seats"]
        )
        assert client.get(f"/api/replay/t.{token}/file").status_code == 409, "it is not over"
        with client.websocket_connect(f"/api/play/{token}") as socket:
            while (view := json.loads(socket.receive_text()))["turn"] != "over":
                if view["turn"] == "yours":
                    socket.send_text(json.dumps({"do": "act", "action": view["moves"][0][0], "seen": view["seen"]}))
        (tmp_path / "mine.sqlite").write_bytes(client.get(f"/api/replay/t.{token}/file").content)
        mine = WatchedStore(tmp_path / "mine.sqlite").game(1, 0)
        assert mine.agents == ("human", "first_legal") and list(mine.record.returns) == view["over"]["returns"]
