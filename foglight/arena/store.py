"""Finished games on disk: one SQLite file, one row per game, written as the game ends.

A match is identified by its game, its agents, its seed, the version of our results and the code that plays, and a game
by its match and its number. So a match after an edit of a bot is another one, and the games before the edit stay. Games
are written by `INSERT OR IGNORE` under that key, so no game is stored twice, and no stored game is lost when a process
is killed. Thinking times have a table of their own: the other two tables are the same whenever a match is repeated. An
older file gets what it lacks when it is opened; its old games have no times and no fingerprints of code.

A file may be damaged, or written by another program. `_checked` checks every game as it is read, for everything that
callers rely on. Whether its actions are legal shows only when it is replayed (`stored_position`).

A store that is opened to read only is never changed: what an older file lacks is put before it as temporary views.
"""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from foglight.arena.referee import Record, Timing
from foglight.names import BadInput
from foglight.state import State, replay

_APPLICATION = 0x666F676C  # "fogl", the SQLite application id of our files
_SCHEMA = """
CREATE TABLE IF NOT EXISTS matches (
    match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL,
    code TEXT NOT NULL, UNIQUE (game, agents, seed, version, code));
CREATE TABLE IF NOT EXISTS games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL, returns TEXT NOT NULL, actions TEXT NOT NULL,
    PRIMARY KEY (match, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS times (
    match INTEGER NOT NULL, number INTEGER NOT NULL, seat INTEGER NOT NULL, moves INTEGER NOT NULL,
    seconds REAL NOT NULL, longest REAL NOT NULL, overruns INTEGER NOT NULL,
    PRIMARY KEY (match, number, seat)) WITHOUT ROWID;
"""
_ADD_CODE = """
CREATE TABLE new_matches (
    match INTEGER PRIMARY KEY, game TEXT NOT NULL, agents TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL,
    code TEXT NOT NULL, UNIQUE (game, agents, seed, version, code));
INSERT INTO new_matches SELECT match, game, agents, seed, version, '[]' FROM matches;
DROP TABLE matches;
ALTER TABLE new_matches RENAME TO matches;
"""

_TABLES = [statement.split()[5] for statement in _SCHEMA.split(";\n") if statement]
_REMEDY = "choose another file, or remove what is damaged with sqlite3"


class Match(NamedTuple):
    """What a match is known by."""

    game: str
    agents: tuple[str, ...]  # their names
    seed: int
    version: str  # of foglight's results: the first release whose games are those of the release that played
    code: tuple[str, ...]  # fingerprints of the code: of the game, then of each agent; empty if they are unknown


class Store:
    """A connection to a file of matches. Several processes may have one; a run of workers has one, the driver's."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = str(path)
        if read_only:
            self._open_to_read()
            return
        with self.advice():
            self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            owner = self.connection.execute("PRAGMA application_id").fetchone()[0]
            tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables and owner != _APPLICATION:
                raise BadInput(f"{self.path} is another program's database; choose another file for the store")
            self.connection.execute(
                "PRAGMA synchronous = NORMAL"
            )  # with WAL mode, this is safe when a process is killed
            if owner != _APPLICATION:
                self.connection.execute("PRAGMA journal_mode = WAL")
                self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._add_code()
            self.connection.executescript(_SCHEMA)

    def _open_to_read(self) -> None:
        """Connect without changing the file. What it lacks is there, empty, for this connection alone."""
        address = Path(self.path).resolve().as_uri()
        with self.advice():
            try:
                self.connection = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=60, isolation_level=None)
                owner = self.connection.execute("PRAGMA application_id").fetchone()[0]
            except sqlite3.OperationalError:
                # SQLite needs to write beside a file in WAL mode; where it may not, nobody else writes either
                if Path(f"{self.path}-wal").exists():
                    raise
                self.connection = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None)
                owner = self.connection.execute("PRAGMA application_id").fetchone()[0]
            if owner != _APPLICATION:
                raise BadInput(f"{self.path} is no store of foglight; foglight match --store makes one")
            kinds = dict(self.connection.execute("SELECT name, type FROM sqlite_master").fetchall())
            if any(kinds.get(table, "table") != "table" for table in _TABLES):  # a view could compute for ever
                raise BadInput(f"{self.path} is damaged: it has something else under the name of a table; {_REMEDY}")
            columns = [row[1] for row in self.connection.execute("PRAGMA table_info(matches)")]
            for statement in _SCHEMA.split(";\n")[: len(_TABLES)]:
                if statement.split()[5] not in kinds:
                    self.connection.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE"))
            if "matches" in kinds and "code" not in columns:
                self.connection.execute("CREATE TEMP VIEW matches AS SELECT *, '[]' AS code FROM main.matches")

    def _add_code(self) -> None:
        """Give the table of matches in an older file the column of the code."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            columns = [row[1] for row in self.connection.execute("PRAGMA table_info(matches)")]
            if columns == ["match", "game", "agents", "seed", "version"]:
                for statement in _ADD_CODE.split(";\n"):
                    self.connection.execute(statement)
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def match(self, match: Match) -> int:
        """The number of a match in this file; a new match is added."""
        key = _key(match)
        with self.advice():
            self.connection.execute(
                "INSERT OR IGNORE INTO matches (game, agents, seed, version, code) VALUES (?,?,?,?,?)", key
            )
            row = self.connection.execute(f"SELECT match FROM matches WHERE {_SAME} AND code = ?", key).fetchone()
        if row is None or not _whole(row[0]):
            raise BadInput(f"{self.path} is damaged: it does not keep the match of {match.game}; {_REMEDY}")
        return int(row[0])

    def others(self, match: Match) -> list[tuple[Match, int]]:
        """The same match played by other code, oldest first, with the number of its games in this file."""
        query = f"""
            SELECT code, count(number) FROM matches JOIN games USING (match)
            WHERE {_SAME} AND code != ? GROUP BY match ORDER BY match"""
        with self.advice():
            rows = self.connection.execute(query, _key(match)).fetchall()
        return [(match._replace(code=tuple(map(str, _items(code)))), games) for code, games in rows]

    def add(self, match: int, number: int, record: Record) -> None:
        """Add a finished game and its times in one transaction."""
        self.add_all(match, [(number, record)])

    def add_all(self, match: int, games: Iterable[tuple[int, Record]]) -> None:
        """Add finished games, by number, and their times in one transaction."""
        with self.advice():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                for number, record in games:
                    self._insert(match, number, record)
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _insert(self, match: int, number: int, record: Record) -> None:
        row = (match, number, json.dumps(record.returns), json.dumps(record.actions))
        times = [
            (match, number, seat, t.moves, t.seconds, t.longest, t.overruns) for seat, t in enumerate(record.timing)
        ]
        new = self.connection.execute("INSERT OR IGNORE INTO games VALUES (?,?,?,?)", row).rowcount
        if new:
            # a game that was removed by hand may have left its times behind
            self.connection.execute("DELETE FROM times WHERE match = ? AND number = ?", (match, number))
            self.connection.executemany("INSERT INTO times VALUES (?,?,?,?,?,?,?)", times)
        elif number not in self.numbers(match, number + 1):  # else we would play it over and over
            raise BadInput(f"{self.path} is damaged: it does not keep game {number} of match {match}; {_REMEDY}")

    def numbers(self, match: int, below: int) -> set[int]:
        """The numbers of the stored games of a match, among those below `below`."""
        with self.advice():
            rows = self.connection.execute("SELECT number FROM games WHERE match = ? AND number < ?", (match, below))
            return {number for (number,) in rows}

    def records(self, match: int, below: int) -> list[Record]:
        """The stored games of a match with numbers below `below`, ascending."""
        return [record for _, _, record in self._read("WHERE match = ? AND number < ?", (match, below))]

    def games(self) -> Iterator[tuple[Match, int, Record]]:
        """All games in the file, match after match: the match, the number and the record of each."""
        yield from self._read("", ())

    def game(self, match: int, number: int) -> tuple[Match, Record]:
        """One game, by the number of its match in this file and its own."""
        row = next(self._read("WHERE match = ? AND number = ?", (match, number)), None)
        if row is None:
            raise BadInput(f"{self.path} holds no game {number} of match {match}")
        return row[0], row[2]

    def slice(self, match: int, start: int, most: int) -> list[tuple[int, Record]]:
        """At most `most` games of a match with their numbers, ascending, after leaving out the first `start`."""
        which = """WHERE match = ? AND number IN
            (SELECT number FROM games WHERE match = ? ORDER BY number LIMIT ? OFFSET ?)"""
        return [(number, record) for _, number, record in self._read(which, (match, match, most, start))]

    def matches(self) -> dict[int, Match]:
        """All matches by their numbers in this file, those without games too."""
        found = {}
        with self.advice():
            rows = self.connection.execute(
                "SELECT match, game, agents, seed, version, code FROM matches ORDER BY match"
            )
            for number, *values in rows:
                known, wrong = _match(*values)
                if known is None or not _whole(number):
                    raise BadInput(
                        f"{self.path} is damaged: match {_short(number)} has unusable {wrong or 'number'}; {_REMEDY}"
                    )
                found[number] = known
        return found

    def sizes(self) -> dict[int, tuple[int, int]]:
        """The number of games of each match, and the sum of their numbers: both tell whether there are others now."""
        with self.advice():
            rows = self.connection.execute("SELECT match, count(*), total(number) FROM games GROUP BY match")
            return {match: (count, total) for match, count, total in rows.fetchall()}

    def outcomes(self, match: int, known: Match) -> Counter[tuple[int, tuple[float, ...]]]:
        """How often a match ended how: games by their number modulo the number of seats, and by their returns.

        The first says which agent sits where. SQLite counts, so this takes no memory for each game.
        """
        query = """
            SELECT number % ?, returns, typeof(number), count(*), min(number) FROM games WHERE match = ?
            GROUP BY 1, 2, 3"""
        players, found = len(known.agents), Counter[tuple[int, tuple[float, ...]]]()
        with self.advice():
            for turn, returns, _, count, number in self.connection.execute(query, (players, match)):
                payoffs = _items(returns)
                if not _whole(number) or len(payoffs) != players or not all(map(_number, payoffs)):
                    self._damaged(number, match, "returns" if _whole(number) else "number")
                found[turn, tuple(map(float, payoffs))] += count
        return found

    def close(self) -> None:
        self.connection.close()

    def _read(self, which: str, values: tuple[Any, ...]) -> Iterator[tuple[Match, int, Record]]:
        query = f"""
            SELECT match, number, game, agents, seed, version, code, returns, actions,
                seat, moves, seconds, longest, overruns
            FROM games JOIN matches USING (match) LEFT JOIN times USING (match, number)
            {which} ORDER BY match, number, seat"""
        with self.advice():
            for _, seats in groupby(self.connection.execute(query, values), lambda row: row[:2]):
                yield self._checked(list(seats))

    def _checked(self, rows: list[tuple[Any, ...]]) -> tuple[Match, int, Record]:
        """A game from its rows, one per seat with times or a single row without; BadInput if it is damaged."""
        match, number, *values, returns, actions = rows[0][:9]
        known, wrong = _match(*values)
        if known is None or not _whole(number):
            self._damaged(number, match, wrong if _whole(number) else "number")
        names, payoffs, played = known.agents, _items(returns), _items(actions)
        times = [row[9:] for row in rows if row[9] is not None]
        right = {
            "returns": len(payoffs) == len(names) and all(map(_number, payoffs)),
            "actions": isinstance(played, list) and all(map(_whole, played)),
            "times": [time[0] for time in times] in ([], list(range(len(names))))
            and all(_whole(m) and _number(s) and _number(most) and _whole(o) for _, m, s, most, o in times),
        }
        for part, fine in right.items():
            if not fine:
                self._damaged(number, match, part)
        record = Record(tuple(map(float, payoffs)), tuple(played), tuple(Timing(*time[1:]) for time in times))
        return known, number, record

    def _damaged(self, number: Any, match: Any, part: str) -> NoReturn:
        what = f"{self.path} is damaged: game {_short(number)} of match {_short(match)} has unusable {part}"
        raise BadInput(f"{what}; {_REMEDY}")

    @contextmanager
    def advice(self) -> Iterator[None]:
        """Turn an error of SQLite into a BadInput that says what to do."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter if a message of SQLite quotes damaged text
            why = " ".join(str(error).split())  # one line, although it may quote the file
            what = f"cannot use {self.path} as a store ({why})"
            raise BadInput(f"{what}; choose another file or move it away") from None


_SAME = "game = ? AND agents = ? AND seed = ? AND version = ?"


def _key(match: Match) -> tuple[Any, ...]:
    """The values of a match in its row."""
    return match.game, json.dumps(match.agents), match.seed, match.version, json.dumps(match.code)


def _match(game: Any, agents: Any, seed: Any, version: Any, code: Any) -> tuple[Match | None, str]:
    """A match from the values in its row, or None and the name of the first value that is unusable."""
    names, prints = _items(agents), _items(code)
    right = {
        "game": _text(game),
        "agents": bool(names) and all(map(_text, names)),
        "seed": _whole(seed),
        "version": _text(version),
        "code": isinstance(prints, list) and len(prints) in (0, 1 + len(names)) and all(map(_text, prints)),
    }
    wrong = next((part for part, fine in right.items() if not fine), "")
    return (None if wrong else Match(game, tuple(names), seed, version, tuple(prints))), wrong


def _items(text: Any) -> list[Any] | tuple[()]:
    """The items of a JSON list; an empty tuple for anything else."""
    try:
        value = json.loads(text) if isinstance(text, str) else ()
    except (ValueError, RecursionError):
        return ()
    return value if isinstance(value, list) else ()


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 2**63)


def _text(value: Any) -> bool:
    return isinstance(value, str) and value == value.encode("utf-8", "ignore").decode("utf-8")


def _short(value: Any) -> str:
    return repr(value)[:40]


def open_store(path: Path, *, read_only: bool = False) -> Store:
    """The store in an existing file."""
    if not path.is_file():
        raise BadInput(f"there is no store {path}; foglight match --store makes one")
    return Store(path, read_only=read_only)


def stored_position(path: Path, game: str, number: int, after: int | None = None) -> State:
    """The state after the first `after` actions (by default all) of a stored game.

    If several matches have a game of this number, it is taken from the first match.
    """
    for name, value in (("number", number), ("after", after)):
        if value is not None and not _whole(value):
            raise BadInput(f"{name} must be a whole number of at least 0, not {value}")
    with closing(open_store(path)) as store:
        row = next(store._read("WHERE game = ? AND number = ?", (game, number)), None)
    if row is None:
        raise BadInput(f"{path} holds no game {number} of {game}")
    try:
        return replay(game, row[-1].actions[:after])
    except BadInput as error:
        raise BadInput(f"{path} is damaged: game {number} of {game} cannot be replayed, for {error}") from None
