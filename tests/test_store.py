"""The store by itself: what goes in comes out, both tables or neither, and safe against kills."""

import pytest

import foglight as fl
from foglight.arena.referee import Record, Timing
from foglight.arena.store import Store, open_store, stored_position


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "games.sqlite")
    yield store
    store.close()


def test_what_goes_in_comes_out(store):
    first, second = store.match("g", ["a", "b"], 1, "v"), store.match("g", ["b", "a"], 1, "v")
    assert first != second and store.match("g", ["a", "b"], 1, "v") == first
    timed = Record((1.0, -1.0), (3, 1), (Timing(1, 0.5, 0.25, 0), Timing(2, 0.75, 0.5, 1)))
    untimed = Record((0.0, 0.0), (2,))
    store.add(first, 7, timed)
    store.add(first, 2, untimed)
    store.add(second, 7, untimed)
    store.add(first, 7, untimed)  # it is there already
    assert store.numbers(first, 100) == {2, 7} and store.numbers(first, 7) == {2} and store.numbers(second, 7) == set()
    assert [(r.actions, r.timing) for r in store.records(first, 8)] == [((2,), ()), ((3, 1), timed.timing)]
    assert [r.actions for r in store.records(first, 7)] == [(2,)]
    listed = [(agents, number, record.returns) for _, agents, _, _, number, record in store.games()]
    assert listed == [(("a", "b"), 2, (0.0, 0.0)), (("a", "b"), 7, (1.0, -1.0)), (("b", "a"), 7, (0.0, 0.0))]


def test_a_game_and_its_times_are_kept_both_or_neither(store):
    match = store.match("g", ["a", "b"], 1, "v")
    torn = Record((1.0, -1.0), (3,), (Timing(1, 0.5, 0.5, 0), Timing(None, 0.5, 0.5, 0)))  # no number of moves
    with pytest.raises(fl.BadInput, match="cannot use"):
        store.add(match, 0, torn)
    assert store.numbers(match, 9) == set() and not store.connection.in_transaction
    assert store.connection.execute("SELECT count(*) FROM times").fetchone() == (0,)
    store.add(match, 0, Record((1.0, -1.0), (3,)))
    assert store.numbers(match, 9) == {0}


def test_a_transaction_that_never_began_is_not_rolled_back(store, tmp_path):
    match = store.match("g", ["a", "b"], 1, "v")
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
        store.add(store.match("kuhn_poker", agents, 1, "v"), 4, Record((1.0, -1.0), (2, i, 0)))
    assert stored_position(path, "kuhn_poker", 4).history() == [2, 0, 0], "of the first match"
    assert stored_position(path, "kuhn_poker", 4, after=2).history() == [2, 0]
    for game, number in (("kuhn_poker", 5), ("h", 4)):
        with pytest.raises(fl.BadInput, match=f"holds no game {number} of {game}"):
            stored_position(path, game, number)
    with pytest.raises(fl.BadInput, match="there is no store"):
        open_store(tmp_path / "nothing.sqlite")
    with pytest.raises(fl.BadInput, match="there is no store"):
        open_store(tmp_path)
