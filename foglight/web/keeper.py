"""The games of the page on disk. The file is a store: finished games are matches that every command reads.

Games in progress have a table of their own, which is written after each action, so that a killed server loses nothing.
"""

import json
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from foglight.arena.referee import Record
from foglight.arena.store import Match, Store
from foglight.names import BadInput
from foglight.version import RESULTS_VERSION
from foglight.web.offers import HUMAN

_SCHEMA = """
CREATE TABLE IF NOT EXISTS page_games (
    id INTEGER PRIMARY KEY, game TEXT NOT NULL, seats TEXT NOT NULL, seed INTEGER NOT NULL, actions TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS page_seats (
    token TEXT PRIMARY KEY, id INTEGER NOT NULL REFERENCES page_games, seat INTEGER NOT NULL) WITHOUT ROWID;
"""


class Kept(NamedTuple):
    """A game as it was kept."""

    id: int
    game: str
    seats: tuple[str, ...]
    seed: int
    actions: tuple[int, ...]


class Keeper:
    """The file of a server's games."""

    def __init__(self, path: str | Path) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._store = Store(path)
        self._connection = self._store.connection
        self._connection.executescript(_SCHEMA)

    def add(self, game: str, seats: Sequence[str], seed: int) -> tuple[int, dict[int, str]]:
        """A new game: its number, and the token of each seat on which a person sits."""
        tokens = {seat: secrets.token_urlsafe(18) for seat, who in enumerate(seats) if who == HUMAN}
        with self._transaction():
            row = self._connection.execute(
                "INSERT INTO page_games (game, seats, seed, actions) VALUES (?,?,?,'[]')",
                (game, json.dumps(list(seats)), seed),
            )
            number = int(row.lastrowid or 0)
            self._connection.executemany(
                "INSERT INTO page_seats VALUES (?,?,?)", [(token, number, seat) for seat, token in tokens.items()]
            )
        return number, tokens

    def seat(self, token: str) -> tuple[int, int]:
        """The game and the seat that a token stands for."""
        row = self._connection.execute("SELECT id, seat FROM page_seats WHERE token = ?", (token,)).fetchone()
        if row is None:
            raise BadInput("there is no such game here; begin a new one")
        return int(row[0]), int(row[1])

    def load(self, number: int) -> Kept:
        """A game by its number."""
        row = self._connection.execute("SELECT * FROM page_games WHERE id = ?", (number,)).fetchone()
        return Kept(row[0], row[1], tuple(json.loads(row[2])), row[3], tuple(json.loads(row[4])))

    def save(self, number: int, actions: Sequence[int]) -> None:
        """Keep the actions so far."""
        text = json.dumps(list(actions), separators=(",", ":"))
        with self._store.advice():
            self._connection.execute("UPDATE page_games SET actions = ? WHERE id = ?", (text, number))

    def finish(self, number: int, record: Record, code: Sequence[str]) -> None:
        """Keep a finished game as a match of one game; `code` as in Match."""
        kept = self.load(number)
        match = Match(kept.game, kept.seats, kept.seed, RESULTS_VERSION, tuple(code))
        self._store.add(self._store.match(match), 0, record)

    def close(self) -> None:
        self._store.close()

    def _transaction(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection  # commits at the end of `with`, or rolls back
