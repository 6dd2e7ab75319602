"""Damaged stores: whoever reads one gets what is in it, or one line that says what is wrong. Nothing else."""

import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

import foglight as fl
from foglight.arena.export import export
from foglight.arena.store import Store, stored_position
from foglight.arena.tournament import play_tournament
from foglight.state import replay
from foglight.version import RESULTS_VERSION

PAIR = ["random", "first_legal"]
HEX = "dark_hex(rows=2,cols=2)"
GAMES = 60  # kept of each match
COLUMNS = {
    "matches": ("match", "game", "agents", "seed", "version", "code"),
    "games": ("match", "number", "returns", "actions"),
    "times": ("match", "number", "seat", "moves", "seconds", "longest", "overruns"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with two matches of Kuhn poker and two of a tiny Dark Hex, over several pages."""
    path = tmp_path_factory.mktemp("whole") / "games.sqlite"
    play_tournament(["kuhn_poker", HEX], PAIR, 2 * GAMES, seed=1, store=path)
    assert path.stat().st_size >= 6 * 4096 and not path.with_name("games.sqlite-wal").exists()
    return path


# Everything that reads stores -----------------------------------------------------------------------------------


def resume(path, tmp_path, run):
    return fl.play_match("kuhn_poker", PAIR, GAMES + 2, seed=1, store=path).summary()


def tournament(path, tmp_path, run):
    return play_tournament([HEX], PAIR, 2 * GAMES, seed=1, store=path).summary()


def position(path, tmp_path, run):
    return [stored_position(path, "kuhn_poker", number).information(0) for number in range(5)]


def parquet(path, tmp_path, run):
    pytest.importorskip("pyarrow")
    return export(path, tmp_path / "table.parquet")


def csv(path, tmp_path, run):
    return export(path, tmp_path / "table.csv")


def command(*arguments):
    def reader(path, tmp_path, run):
        code, out, err = run(*arguments, "--store", str(path))
        said = [line for line in err.splitlines() if not line.startswith("compiling ")]
        if code == 2:
            assert len(said) == 1
            raise fl.BadInput(said[0])
        assert (code, said) == (0, []) and out
        return out

    return reader


READERS = {
    "csv": csv,
    "parquet": parquet,
    "position": position,
    "belief": command("belief", "kuhn_poker", "--number", "3", "--json"),
    "analyse": command("analyse", HEX, "--after", "1", "--agent", "pimc(iterations=10)", "--json"),
    "resume": resume,
    "tournament": tournament,
}
LOOK_UP = {"position", "belief", "analyse"}  # these read one game


def outcomes(damaged, tmp_path, run):
    """What each reader makes of a file: None if it succeeded, or its one line."""
    found = {}
    for name, reader in READERS.items():
        path = tmp_path / "games.sqlite"
        for beside in ("", "-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
            if (source := damaged.with_name(damaged.name + beside)).exists():
                shutil.copy(source, path.with_name(path.name + beside))
        try:
            reader(path, tmp_path, run)
            found[name] = None
        except fl.BadInput as error:
            found[name] = str(error)
            assert len(found[name].splitlines()) == 1
            assert "games.sqlite" in found[name]
    return found


# Bytes ----------------------------------------------------------------------------------------------------------


def flip(content, rng):
    for _ in range(rng.choice([1, 4, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def flip_header(content, rng):
    for _ in range(rng.choice([1, 2])):
        content[rng.randrange(100)] = rng.randrange(256)


def flip_in_text(content, rng):
    """Inside what is written in the tables, so that SQLite notices nothing."""
    starts = [i for i in range(len(content)) if content[i : i + 2] in (b"[1", b"[-", b'["', b"ku", b"da")]
    for _ in range(rng.choice([1, 3])):
        content[rng.choice(starts) + rng.randrange(4)] = rng.choice(b'[]",0.9eN-\xff\x00\n')


def truncate(content, rng):
    del content[rng.randrange(len(content)) :]


def page(content, rng):
    i = rng.randrange(len(content) // 4096) * 4096
    content[i : i + 4096] = rng.choice([bytes(4096), rng.randbytes(4096)])


def swap_pages(content, rng):
    i, k = (4096 * page for page in rng.sample(range(1, len(content) // 4096), 2))
    content[i : i + 4096], content[k : k + 4096] = content[k : k + 4096], content[i : i + 4096]


BYTES = [flip, flip_header, flip_in_text, truncate, page, swap_pages]


@pytest.mark.parametrize("damage", BYTES)
def test_bytes_damaged_anywhere_give_a_result_or_one_line(whole, tmp_path, run, damage):
    tally = Counter()
    for seed in range(15):
        rng, content = random.Random(f"{damage.__name__} {seed}"), bytearray(whole.read_bytes())
        damage(content, rng)
        damaged = tmp_path / "damaged.sqlite"
        damaged.write_bytes(content)
        if seed % 5 == 0:
            damaged.with_name("damaged.sqlite-wal").write_bytes(rng.randbytes(5000))
        else:
            damaged.with_name("damaged.sqlite-wal").unlink(missing_ok=True)
        tally += Counter(line is not None for line in outcomes(damaged, tmp_path, run).values())
    assert tally.total() == 15 * len(READERS)
    assert min(tally[True], tally[False]) >= 5, "some of this can be read, some cannot"


# Rows -----------------------------------------------------------------------------------------------------------

BAD = {  # what a column may not hold
    "game": [None, 7, b"kuhn_poker", 1.5],
    "agents": [
        None,
        3,
        b'["random","first_legal"]',
        "",
        "random",
        "{}",
        "[]",
        '["random"',
        '["random",7]',
        '["\\ud800"]',
    ],
    "seed": [None, "one", 1.5, -1, b"1"],
    "version": [None, 4, b"1"],
    "code": [None, 4, b"[]", "", "{}", "[1,2,3]", '["a"]'],
    "number": [None, "three", 2.5, -1, b"\x03"],
    "returns": [
        *(
            None,
            1.0,
            b"[1.0,-1.0]",
            "",
            "[1.0",
            "[1.0]",
            "[]",
            "[1.0,-1.0,0.0]",
            "null",
            "{}",
            '["a","b"]',
            "[NaN,0.0]",
        ),
        *("[Infinity,0.0]", "[true,false]", "[null,1.0]", "[[1.0],[-1.0]]", "[" * 99999, f"[{'9' * 9999},1]"),
    ],
    "actions": [
        *(None, 0, b"[0]", "", "[0", "0", "{}", '"0"', '["0"]', "[0.5]", "[-1]", "[true]", "[null]", "[[0]]"),
        *(f"[{2**63}]", f"[{10**30}]"),
    ],
    "seat": ["zero", 0.5, -1, 7, b"\x00"],
    "moves": [None, "many", 1.5, -1],
    "seconds": [None, "long", b"1"],
    "longest": [None, "long", float("inf")],
    "overruns": [None, "none", 0.5, -3],
}
CASES = [(column, value) for column, values in BAD.items() for value in values]


def plain(path, target):
    """A copy whose tables promise nothing about what is in them, but that matches have numbers."""
    shutil.copy(path, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        for table, columns in COLUMNS.items():
            connection.execute(f"ALTER TABLE {table} RENAME TO old")
            first = f"{columns[0]} INTEGER PRIMARY KEY" if table == "matches" else columns[0]
            connection.execute(f"CREATE TABLE {table} ({', '.join((first, *columns[1:]))})")
            connection.execute(f"INSERT INTO {table} SELECT * FROM old")
            connection.execute("DROP TABLE old")


def test_a_store_whose_tables_promise_nothing_is_read_all_the_same(whole, tmp_path, run):
    plain(whole, tmp_path / "plain.sqlite")
    assert set(outcomes(tmp_path / "plain.sqlite", tmp_path, run).values()) == {None}


def test_what_no_game_can_hold_is_named_by_everybody_who_reads_it(whole, tmp_path, run):
    tally = Counter()
    plain(whole, tmp_path / "plain.sqlite")
    for column, value in CASES:
        damaged = tmp_path / "damaged.sqlite"
        shutil.copy(tmp_path / "plain.sqlite", damaged)
        table = next(table for table, columns in COLUMNS.items() if column in columns)
        with closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
            # one row; of the times the last seat's, so that a game is short of it
            where = "match = (SELECT min(match) FROM matches WHERE game = 'kuhn_poker')"
            where += {"matches": "", "games": " AND number = 3", "times": " AND number = 3 AND seat = 1"}[table]
            changed = connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,)).rowcount
            assert changed == 1
        part = "times" if table == "times" else column
        for name, line in outcomes(damaged, tmp_path, run).items():
            tally[name, line is None] += 1
            assert line is None or f" has unusable {part}; choose another file" in line, (column, value, name)
            if name in ("csv", "parquet"):
                assert line is not None, (column, value)
            # a match or game under another name is not met by those who look for theirs
            if name in ("position", "belief", "resume") and table != "matches" and column != "number":
                assert line is not None, (column, value, name)
            if name in ("analyse", "tournament"):
                assert line is None, "they read another match"
    assert len(CASES) == 87
    assert tally["csv", False] == tally["parquet", False] == len(CASES)
    assert tally["tournament", True] == tally["analyse", True] == len(CASES)
    assert tally["resume", False] >= 50 and tally["belief", False] >= 50


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("DELETE FROM games", LOOK_UP),  # its times are left over, and must not meet the games played instead
        ("DROP TABLE times", set()),  # as in files from before times
        ("DELETE FROM times", set()),
        ("DROP TABLE games", LOOK_UP),  # opened as a store without games
        ("ALTER TABLE games DROP COLUMN returns", set(READERS)),
        ("ALTER TABLE games DROP COLUMN actions", set(READERS)),
        ("ALTER TABLE matches DROP COLUMN seed", set(READERS)),
        ("ALTER TABLE times DROP COLUMN longest", set(READERS)),
        ("DELETE FROM times WHERE seat = 0", set(READERS)),
        ("DELETE FROM games WHERE number = 3", {"position", "belief"}),  # a match plays it again
        ("UPDATE times SET seat = 5 WHERE seat = 1", set(READERS)),
        ("UPDATE games SET actions = '[77]'", LOOK_UP),  # only a replay shows that
        ("UPDATE games SET actions = '[0,1,0,0,0,0]'", {"position", "belief"}),  # goes on after the end
        ("INSERT INTO games SELECT * FROM games", set(READERS)),  # every game twice
        ("INSERT INTO games SELECT match, number - 100, returns, actions FROM games", set(READERS) - LOOK_UP),
    ],
)
def test_tables_and_rows_changed_by_hand(whole, tmp_path, run, sql, refused):
    plain(whole, tmp_path / "damaged.sqlite")
    with closing(sqlite3.connect(tmp_path / "damaged.sqlite", isolation_level=None)) as connection:
        connection.execute(sql)
    found = outcomes(tmp_path / "damaged.sqlite", tmp_path, run)
    assert {name for name, line in found.items() if line is not None} == refused, found


def test_a_match_refuses_a_damaged_store_before_it_plays(whole, tmp_path):
    path = tmp_path / "games.sqlite"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE games SET returns = '[1.0]' WHERE number = 59")
        before = connection.execute("SELECT * FROM games").fetchall()
        with pytest.raises(fl.BadInput, match="game 59 of match 1 has unusable returns"):
            fl.play_match("kuhn_poker", PAIR, GAMES + 50, seed=1, store=path)
        assert connection.execute("SELECT * FROM games").fetchall() == before


@pytest.mark.parametrize("table", ["games", "matches"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_that_keeps_nothing_ends_a_match(tmp_path, table, workers):
    """Such as one whose index is damaged: what is written cannot be found, and would be played for ever."""
    path = tmp_path / "games.sqlite"
    Store(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"CREATE TRIGGER no BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END")
    with pytest.raises(
        fl.BadInput, match=f"games.sqlite is damaged: it does not keep {'game' if table == 'games' else 'the match'} "
    ):
        fl.play_match("kuhn_poker", PAIR, 5, store=path, workers=workers)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("--number", "-1"), "number must be a whole number of at least 0, not -1"),
        (("--number", str(10**30)), f"number must be a whole number of at least 0, not {10**30}"),
        (("--after", "-2"), "after must be a whole number of at least 0, not -2"),
        (("--number", "500"), "holds no game 500 of kuhn_poker"),
        (("jack",), "give moves, or a game of a store with --store, not both"),
    ],
)
def test_what_a_store_cannot_be_asked_gets_advice(whole, run, arguments, advice):
    code, _, err = run("belief", "kuhn_poker", *arguments, "--store", str(whole))
    assert code == 2 and advice in err and err.count("\n") == 1


def test_what_is_kept_comes_back_as_it_was(whole, tmp_path, run):
    """The undamaged file, so that the tests above are known to damage something."""
    assert set(outcomes(whole, tmp_path, run).values()) == {None}
    with closing(Store(whole)) as store:
        kept = list(store.games())
    assert len(kept) == 4 * GAMES
    for (game, agents, seed, version, _), number, record in kept:
        assert (seed, version, sorted(agents)) == (1, RESULTS_VERSION, sorted(PAIR)) and number < GAMES
        assert list(record.returns) == replay(game, record.actions).returns()


def test_a_game_that_somebody_removed_is_played_again(whole, tmp_path):
    """The way out of a damaged store that its one line names; the times of the game may be left behind."""
    path = tmp_path / "games.sqlite"
    shutil.copy(whole, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE games SET returns = '[1.0]' WHERE match = 1 AND number = 3")
        with pytest.raises(fl.BadInput, match=r"game 3 of match 1 has unusable returns; .* remove what is damaged"):
            fl.play_match("kuhn_poker", PAIR, GAMES, seed=1, store=path)
        assert connection.execute("DELETE FROM games WHERE match = 1 AND number = 3").rowcount == 1
    mended = fl.play_match("kuhn_poker", PAIR, GAMES, seed=1, store=path)
    assert mended == fl.play_match("kuhn_poker", PAIR, GAMES, seed=1)
    assert mended.timing(0).moves == fl.play_match("kuhn_poker", PAIR, GAMES, seed=1).timing(0).moves
