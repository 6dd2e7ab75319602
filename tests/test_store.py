"""The store by itself: what goes in comes out, both tables or neither, and safe against kills."""

import pytest

import foglight as fl
from foglight.arena.referee import Record, Timing
from foglight.arena.store import Match, Store, open_store, stored_position


def match_of(game, agents, seed, code="x"):
    return Match(game, tuple(agents), seed, "v", (code,) * (1 + len(agents)))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "games.sqlite")
    yield store
    store.close()


def test_what_goes_in_comes_out(store):
    first, second = store.match(match_of("g", ["a", "b"], 1)), store.match(match_of("g", ["b", "a"], 1))
    assert first != second and store.match(match_of("g", ["a", "b"], 1)) == first
    timed = Record((1.0, -1.0), (3, 1), (Timing(1, 0.5, 0.25, 0), Timing(2, 0.75, 0.5, 1)))
    untimed = Record((0.0, 0.0), (2,))
    store.add(first, 7, timed)
    store.add(first, 2, untimed)
    store.add(second, 7, untimed)
    store.add(first, 7, untimed)  # it is there already
    assert store.numbers(first, 100) == {2, 7} and store.numbers(first, 7) == {2} and store.numbers(second, 7) == set()
    assert [(r.actions, r.timing) for r in store.records(first, 8)] == [((2,), ()), ((3, 1), timed.timing)]
    assert [r.actions for r in store.records(first, 7)] == [(2,)]
    listed = [(agents, number, record.returns) for (_, agents, *_), number, record in store.games()]
    assert listed == [(("a", "b"), 2, (0.0, 0.0)), (("a", "b"), 7, (1.0, -1.0)), (("b", "a"), 7, (0.0, 0.0))]


def test_a_game_and_its_times_are_kept_both_or_neither(store):
    match = store.match(match_of("g", ["a", "b"], 1))
    torn = Record((1.0, -1.0), (3,), (Timing(1, 0.5, 0.5, 0), Timing(None, 0.5, 0.5, 0)))  # no number of moves
    with pytest.raises(fl.BadInput, match="cannot use"):
        store.add(match, 0, torn)
    assert store.numbers(match, 9) == set() and not store.connection.in_transaction
    assert store.connection.execute("SELECT count(*) FROM times").fetchone() == (0,)
    store.add(match, 0, Record((1.0, -1.0), (3,)))
    assert store.numbers(match, 9) == {0}


def test_a_transaction_that_never_began_is_not_rolled_back(store, tmp_path):
    match = store.match(match_of("g", ["a", "b"], 1))
    other = Store(tmp_path / "games.sqlite")
    store.connection.execute("PRAGMA busy_timeout = 0")
    other.connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(fl.BadInput, match="locked"):
        store.add(match, 0, Record((1.0, -1.0), (3,)))
    other.connection.execute("ROLLBACK")
    other.close()
    store.add(match, 0, Record((1.0, -1.0), (3,)))
    assert store.numbers(match, 9) == {0}


def test_writing_is_safe_against_kills(store, tmp_path):
    again = Store(tmp_path / "games.sqlite")
    for one in (store, again):
        assert one.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert one.connection.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
        assert one.connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"fogl"),)
    again.close()


def test_the_position_of_a_stored_game(store, tmp_path):
    path = tmp_path / "games.sqlite"
    for i, agents in enumerate((["a", "b"], ["b", "a"])):
        store.add(store.match(match_of("kuhn_poker", agents, 1)), 4, Record((1.0, -1.0), (2, i, 0)))
    assert stored_position(path, "kuhn_poker", 4).history() == [2, 0, 0], "of the first match"
    assert stored_position(path, "kuhn_poker", 4, after=2).history() == [2, 0]
    for game, number in (("kuhn_poker", 5), ("h", 4)):
        with pytest.raises(fl.BadInput, match=f"holds no game {number} of {game}"):
            stored_position(path, game, number)
    with pytest.raises(fl.BadInput, match="there is no store"):
        open_store(tmp_path / "nothing.sqlite")
    with pytest.raises(fl.BadInput, match="there is no store"):
        open_store(tmp_path)


BIG = 2**63
FINE = [  # column and value
    ("number", 0), ("number", BIG - 1), ("seed", BIG - 1), ("game", ""), ("agents", '["a", "ü"]'),
    ("returns", "[1, -1]"), ("returns", "[1.5, -1e300]"), ("returns", f"[{1 - BIG}, {BIG - 1}]"),
    ("actions", "[]"), ("actions", f"[0, {BIG - 1}]"), ("moves", 0), ("seconds", 2), ("longest", 0.5), ("overruns", 7),
]  # fmt: skip
DAMAGED = [
    ("number", -1), ("number", "x"), ("number", 1.5), ("seed", -1), ("seed", "x"), ("seed", 0.5), ("game", b"\xff"),
    ("version", b"v"), ("agents", "[]"), ("agents", "{}"), ("agents", '["a", 5]'), ("agents", '["a", "\\ud800"]'),
    ("agents", '["a"]'), ("agents", "["), ("agents", b"[]"), ("returns", "[1]"), ("returns", '[1, "x"]'),
    ("returns", "[NaN, 1]"), ("returns", "[1, Infinity]"), ("returns", "[true, 1]"), ("returns", f"[1, {BIG}]"),
    ("returns", f"[{-BIG}, 1]"), ("actions", '{"a": 1}'), ("actions", "5"), ("actions", '[1, "x"]'),
    ("actions", "[1.5]"), ("actions", "[-1]"), ("actions", "[true]"),
    ("actions", f"[{BIG}]"), ("seat", 5), ("moves", "x"), ("moves", -1),
    ("seconds", "x"), ("longest", "x"), ("overruns", "x"), ("overruns", 0.5),
]  # fmt: skip


def with_value(path, column, value):
    """A store of one timed game with this value in all rows of a column, as it is read; the file is used up."""
    store = Store(path)
    match = store.match(match_of("g", ["a", "b"], 1))
    store.add(match, 3, Record((1.0, -1.0), (3, 1), (Timing(1, 0.5, 0.25, 0), Timing(2, 0.75, 0.5, 1))))
    table = next(t for t, columns in TABLES.items() if column in columns)
    if column == "number":
        store.connection.execute("UPDATE times SET number = ?", (value,))
    only = " WHERE seat = 1" if table == "times" else ""
    store.connection.execute(f"UPDATE {table} SET {column} = ?{only}", (value,))
    try:
        return next(store.games())
    finally:
        store.close()


TABLES = {
    "matches": ("game", "agents", "seed", "version", "code"),
    "games": ("number", "returns", "actions"),
    "times": ("seat", "moves", "seconds", "longest", "overruns"),
}


@pytest.mark.parametrize(("column", "value"), FINE)
def test_what_can_be_is_read(column, value, tmp_path):
    game = with_value(tmp_path / "games.sqlite", column, value)
    assert game[-1].timing[0] == Timing(1, 0.5, 0.25, 0)


@pytest.mark.parametrize(("column", "value"), DAMAGED)
def test_what_cannot_be_is_refused_by_its_name(column, value, tmp_path):
    part = "times" if column in TABLES["times"] else column
    if (column, value) == ("agents", '["a"]'):
        part = "code"  # there are fingerprints of two agents
    with pytest.raises(fl.BadInput, match=f"is damaged: game .* of match 1 has unusable {part}; "):
        with_value(tmp_path / "games.sqlite", column, value)


def test_a_long_value_is_quoted_in_part(tmp_path):
    with pytest.raises(fl.BadInput, match=f"game '{'x' * 39} of match 1 has unusable number"):
        with_value(tmp_path / "games.sqlite", "number", "x" * 100)


def test_times_that_a_removed_game_left_behind_are_replaced(store):
    match = store.match(match_of("g", ["a", "b"], 1))
    times = (Timing(1, 0.5, 0.25, 0), Timing(2, 0.75, 0.5, 1))
    for moves in (1, 5):
        record = Record((1.0, -1.0), (3, 1), (Timing(moves, 0.5, 0.25, 0), times[1]))
        store.add(match, 3, record)
        assert store.records(match, 9)[0].timing == record.timing
        store.connection.execute("DELETE FROM games")
