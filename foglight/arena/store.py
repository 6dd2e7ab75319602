"""Finished games on disk: one SQLite file, one row a game, written as it ends.

A match is known by its game, its agents, its seed and our version; a game by its match and its number. Writing is
`INSERT OR IGNORE` under that key, so that nothing is stored twice and nothing stored is lost, whoever is killed when.
How long seats thought has a table of its own: the other two are the same whenever a match is played again. A file from
before that table gets it when it is opened, and its old games stay without times.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from foglight.arena.referee import Record, Timing
from foglight.names import BadInput

_APPLICATION = 0x666F676C  # "fogl", SQLite's way to say whose file it is
_SCHEMA = """
CREATE TABLE IF NOT EXISTS matches (
    match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL,
    UNIQUE (game, agents, seed, version));
CREATE TABLE IF NOT EXISTS games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL, returns TEXT NOT NULL, actions TEXT NOT NULL,
    PRIMARY KEY (match, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS times (
    match INTEGER NOT NULL, number INTEGER NOT NULL, seat INTEGER NOT NULL, moves INTEGER NOT NULL,
    seconds REAL NOT NULL, longest REAL NOT NULL, overruns INTEGER NOT NULL,
    PRIMARY KEY (match, number, seat)) WITHOUT ROWID;
"""


class Store:
    """A file of matches; every process opens its own."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        with self._advice():
            self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            owner = self.connection.execute("PRAGMA application_id").fetchone()[0]
            tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables and owner != _APPLICATION:
                raise BadInput(f"{self.path} is another program's database; choose another file for the store")
            self.connection.execute("PRAGMA synchronous = NORMAL")  # safe against kills, with the log of WAL mode
            if owner != _APPLICATION:
                self.connection.execute("PRAGMA journal_mode = WAL")
                self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            self.connection.executescript(_SCHEMA)

    def match(self, game: str, agents: Sequence[str], seed: int, version: str) -> int:
        """The number of a match in this file, new or known."""
        known = (game, json.dumps(list(agents)), seed, version)
        with self._advice():
            self.connection.execute(
                "INSERT OR IGNORE INTO matches (game, agents, seed, version) VALUES (?,?,?,?)", known
            )
            return int(
                self.connection.execute(
                    "SELECT match FROM matches WHERE game = ? AND agents = ? AND seed = ? AND version = ?", known
                ).fetchone()[0]
            )

    def add(self, match: int, number: int, record: Record) -> None:
        """Keep a finished game and its times, both or neither."""
        row = (match, number, json.dumps(record.returns), json.dumps(record.actions))
        times = [
            (match, number, seat, t.moves, t.seconds, t.longest, t.overruns) for seat, t in enumerate(record.timing)
        ]
        with self._advice():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                new = self.connection.execute("INSERT OR IGNORE INTO games VALUES (?,?,?,?)", row).rowcount
                if new:
                    self.connection.executemany("INSERT INTO times VALUES (?,?,?,?,?,?,?)", times)
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def numbers(self, match: int, below: int) -> set[int]:
        """The numbers of the games kept so far."""
        with self._advice():
            rows = self.connection.execute("SELECT number FROM games WHERE match = ? AND number < ?", (match, below))
            return {number for (number,) in rows}

    def records(self, match: int, below: int) -> list[Record]:
        """The games kept so far, by number."""
        return [record for *_, record in self._read("WHERE match = ? AND number < ?", (match, below))]

    def games(self) -> Iterator[tuple[str, tuple[str, ...], int, str, int, Record]]:
        """Everything in the file: game, agents, seed, version, number and record, match after match."""
        yield from self._read("", ())

    def close(self) -> None:
        self.connection.close()

    def _read(self, which: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        query = f"""
            SELECT match, number, game, agents, seed, version, returns, actions, moves, seconds, longest, overruns
            FROM games JOIN matches USING (match) LEFT JOIN times USING (match, number)
            {which} ORDER BY match, number, seat"""
        with self._advice():
            rows = self.connection.execute(query, values)
            for _, seats in groupby(rows, lambda row: row[:2]):
                first, *others = seats
                _, number, game, agents, seed, version, returns, actions = first[:8]
                timing = [Timing(*row[8:]) for row in (first, *others) if row[8] is not None]
                record = Record(tuple(json.loads(returns)), tuple(json.loads(actions)), tuple(timing))
                yield game, tuple(json.loads(agents)), seed, version, number, record

    @contextmanager
    def _advice(self) -> Iterator[None]:
        """What SQLite complains about, in words that help."""
        try:
            yield
        except (sqlite3.Error, json.JSONDecodeError, TypeError) as error:
            what = f"cannot use {self.path} as a store ({error})"
            raise BadInput(f"{what}; nothing in it was changed, choose another file or move it away") from None


def open_store(path: Path) -> Store:
    """A store that must be there already."""
    if not path.is_file():
        raise BadInput(f"there is no store {path}; foglight match --store makes one")
    return Store(path)


def stored_actions(path: Path, game: str, number: int) -> list[int]:
    """The actions of a game kept in a file; if several matches hold that number, of the first."""
    with closing(open_store(path)) as store, store._advice():
        query = "SELECT actions FROM games JOIN matches USING (match) WHERE game = ? AND number = ? ORDER BY match"
        row = store.connection.execute(query, (game, number)).fetchone()
        if row is None:
            raise BadInput(f"{path} holds no game {number} of {game}")
        return [int(action) for action in json.loads(row[0])]
