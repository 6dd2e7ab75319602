"""Finished games on disk: one SQLite file, one row a game, written as it ends.

A match is known by its game, its agents, its seed and our version; a game by its match and its number. Writing is
`INSERT OR IGNORE` under that key, so that nothing is stored twice and nothing stored is lost, whoever is killed when.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from foglight.arena.referee import Record
from foglight.names import BadInput

_APPLICATION = 0x666F676C  # "fogl", SQLite's way to say whose file it is
_SCHEMA = """
CREATE TABLE IF NOT EXISTS matches (
    match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL,
    UNIQUE (game, agents, seed, version));
CREATE TABLE IF NOT EXISTS games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL, returns TEXT NOT NULL, actions TEXT NOT NULL,
    PRIMARY KEY (match, number)) WITHOUT ROWID;
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
        """Keep a finished game."""
        row = (match, number, json.dumps(record.returns), json.dumps(record.actions))
        with self._advice():
            self.connection.execute("INSERT OR IGNORE INTO games VALUES (?,?,?,?)", row)

    def numbers(self, match: int, below: int) -> set[int]:
        """The numbers of the games kept so far."""
        with self._advice():
            rows = self.connection.execute("SELECT number FROM games WHERE match = ? AND number < ?", (match, below))
            return {number for (number,) in rows}

    def records(self, match: int, below: int) -> list[Record]:
        """The games kept so far, by number."""
        with self._advice():
            rows = self.connection.execute(
                "SELECT returns, actions FROM games WHERE match = ? AND number < ? ORDER BY number", (match, below)
            )
            return [Record(tuple(json.loads(returns)), tuple(json.loads(actions))) for returns, actions in rows]

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def _advice(self) -> Iterator[None]:
        """What SQLite complains about, in words that help."""
        try:
            yield
        except (sqlite3.Error, json.JSONDecodeError, TypeError) as error:
            what = f"cannot use {self.path} as a store ({error})"
            raise BadInput(f"{what}; nothing in it was changed, choose another file or move it away") from None


def stored_actions(path: Path, game: str, number: int) -> list[int]:
    """The actions of a game kept in a file; if several matches hold that number, of the first."""
    if not path.is_file():
        raise BadInput(f"there is no store {path}; foglight match --store makes one")
    store = Store(path)
    with store._advice():
        query = "SELECT actions FROM games JOIN matches USING (match) WHERE game = ? AND number = ? ORDER BY match"
        row = store.connection.execute(query, (game, number)).fetchone()
        store.close()
        if row is None:
            raise BadInput(f"{path} holds no game {number} of {game}")
        return [int(action) for action in json.loads(row[0])]
