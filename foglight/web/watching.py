"""Stores and pictures of studies as plain data for the page, growing while matches are played.

A store is opened to read only, for as long as one answer takes: watching never changes a file, never keeps a writer
waiting, and leaves no connection behind that would keep SQLite from tidying up. Whether there is something new shows in
the times and sizes of the files, so a look at a store that has not changed reads nothing. Matches that have got games
since the last look are counted anew by SQLite, by the few ways in which games end.

What `foglight match` and `foglight tournament` print and what is shown here is equal to the last digit: sums are exact.
"""

import contextlib
import hashlib
import itertools
import json
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from foglight.arena.intervals import wilson
from foglight.arena.match import share
from foglight.arena.ratings import rate
from foglight.arena.referee import Record
from foglight.arena.store import Match, Store, open_store
from foglight.arena.tournament import Wins, pair_scores, won
from foglight.names import BadInput

AT_A_TIME = 100  # games in one answer
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}  # of pictures, by the end of the name
MOST_PICTURES = 2_000
LARGEST = 20_000_000  # bytes of a picture
_SETTLING = 0.1  # seconds after a write during which another one may leave the same time on the file

Stamp = tuple[int, ...]  # what a file system tells about a file and the file of its latest writes


class StoredGame(NamedTuple):
    """One finished game of a store."""

    match: Match
    number: int
    record: Record

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents by seat."""
        return seated(self.match.agents, self.number)


def seated(agents: Sequence[str], number: int) -> tuple[str, ...]:
    """The agents of a match in the order of the seats that they have in the game of this number."""
    return tuple(agents[(seat - number) % len(agents)] for seat in range(len(agents)))


class WatchedStore:
    """A store that may be growing. Threads may share it."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self._lock = threading.Lock()
        self._stamp: Stamp = ()
        self._settled = False
        self._sizes: dict[int, tuple[int, int]] = {}
        self._tallies: dict[int, _Tally] = {}
        self._summary: dict[str, Any] = {}
        self.summary()  # a file that is no store is refused at once

    def summary(self, tag: str = "") -> dict[str, Any] | None:
        """All matches with their tables, and ratings; None if that is what it was when it had this tag."""
        with self._lock:
            self._look()
            return None if tag == self._summary["tag"] else self._summary

    def games(self, match: int, start: int = 0) -> dict[str, Any]:
        """Some games of a match, in the order of their numbers, from the one at index `start`; and how many it has."""
        with self._lock, self._opened() as store:
            self._look()
            if match not in self._tallies:
                raise BadInput(f"{self.name} has no match {match}")
            rows = [
                {"number": number, "returns": list(record.returns), "moves": len(record.actions)}
                for number, record in store.slice(match, start, AT_A_TIME)
            ]
            return {"games": rows, "of": self._tallies[match].games}

    def game(self, match: int, number: int) -> StoredGame:
        """One game."""
        with self._lock, self._opened() as store:
            known, record = store.game(match, number)
            return StoredGame(known, number, record)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Store]:
        with contextlib.closing(open_store(self.path, read_only=True)) as store:
            yield store

    def _look(self) -> None:
        """Bring the tallies up to date, if the file is not the one that was read."""
        stamp = _stamp(self.path)
        if self._settled and stamp == self._stamp:
            return
        written = max(stamp[2::3], default=0)
        settled = time.time_ns() - written > _SETTLING * 1e9
        if stamp[:1] != self._stamp[:1]:  # another file under this name
            self._sizes, self._tallies = {}, {}
        with self._opened() as store:
            matches, sizes = store.matches(), store.sizes()
            changed = [
                number
                for number, known in matches.items()
                if number not in self._tallies
                or self._tallies[number].match != known
                or sizes.get(number) != self._sizes.get(number)
            ]
            fresh = {number: _Tally(matches[number], store.outcomes(number, matches[number])) for number in changed}
        if changed or matches.keys() != self._tallies.keys() or not self._summary:
            self._tallies = {number: fresh.get(number) or self._tallies[number] for number in matches}
            self._summary = self._summed()
        self._sizes, self._stamp, self._settled = sizes, stamp, settled

    def _summed(self) -> dict[str, Any]:
        data = {
            "name": self.name,
            "games": sum(tally.games for tally in self._tallies.values()),
            "matches": [
                {
                    "match": number,
                    "game": tally.match.game,
                    "agents": list(tally.match.agents),
                    "seed": tally.match.seed,
                    "version": tally.match.version,
                    "games": tally.games,
                    "table": tally.table(),
                }
                for number, tally in self._tallies.items()
            ],
            "ratings": ratings(list(self._tallies.values())),
        }
        return {**data, "tag": hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]}


def _stamp(path: Path) -> Stamp:
    """Number, size and time of a file and of the file that SQLite keeps beside it for the latest writes."""
    numbers: list[int] = []
    for beside in ("", "-wal"):
        with contextlib.suppress(OSError):
            facts = os.stat(f"{path}{beside}")
            if facts.st_size:  # whoever opens the store to read leaves an empty one
                numbers += [facts.st_ino, facts.st_size, facts.st_mtime_ns]
    return tuple(numbers)


class _Tally:
    """A match and how often it ended how."""

    def __init__(self, match: Match, outcomes: Counter[tuple[int, tuple[float, ...]]]) -> None:
        self.match, self.games = match, outcomes.total()
        players = range(len(match.agents))
        scores, payoffs = [Fraction(0)] * len(players), [Fraction(0)] * len(players)
        wins: dict[tuple[int, int], float] = dict.fromkeys(itertools.permutations(players, 2), 0.0)
        for (turn, returns), count in outcomes.items():
            own = [returns[(agent + turn) % len(players)] for agent in players]
            for agent in players:
                scores[agent] += count * Fraction(share(own[agent], returns))
                payoffs[agent] += count * Fraction(own[agent])
            for i, k in wins:
                wins[i, k] += count * won(own[i], own[k])
        self.wins: Wins = wins
        # rounded once, as the arena's sums are
        self._scores, self._payoffs = list(map(float, scores)), list(map(float, payoffs))

    def table(self) -> list[dict[str, Any]]:
        """A row for each agent, in the order of the match; None where there are no games yet."""
        return [
            {
                "agent": agent,
                "games": self.games,
                "win_rate": score / self.games if self.games else None,
                "interval": list(wilson(score, self.games)),
                "mean_return": payoff / self.games if self.games else None,
            }
            for agent, score, payoff in zip(self.match.agents, self._scores, self._payoffs, strict=True)
        ]


def ratings(tallies: Sequence[_Tally]) -> list[dict[str, Any]]:
    """The ratings on each game, best agent first, where a store has several matches of one seed and version.

    If the code of a game or of an agent has changed, its latest games count, as in `foglight tournament`.
    """
    groups: dict[tuple[str, int, str], list[_Tally]] = defaultdict(list)
    for tally in tallies:
        groups[tally.match.game, tally.match.seed, tally.match.version].append(tally)
    found = []
    for (game, seed, version), group in groups.items():
        latest = {name: code for tally in group for name, code in _codes(tally.match).items()}
        now = [tally for tally in group if all(latest[name] == code for name, code in _codes(tally.match).items())]
        agents = list(dict.fromkeys(agent for tally in now for agent in tally.match.agents))
        scores = pair_scores(agents, [(tally.match.agents, tally.wins) for tally in now])
        if len(now) > 1 and len(agents) > 1 and scores.any():
            rows = sorted(rate(agents, scores), key=lambda rating: -rating.rating)
            table = [
                {"agent": r.agent, "rating": r.rating, "interval": [r.low, r.high], "games": r.games} for r in rows
            ]
            found.append({"game": game, "seed": seed, "version": version, "rows": table})
    return found


def _codes(match: Match) -> dict[str, str]:
    """The fingerprints of the code of a game, under an empty name, and of its agents."""
    return dict(zip(("", *match.agents), match.code or [""] * (1 + len(match.agents)), strict=True))


# Pictures ---------------------------------------------------------------------------------------------------------


class Pictures:
    """The pictures in some folders and below them. Only these can be had, by their index, which never changes."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._files: list[tuple[str, Path]] = []
        self._lock = threading.Lock()
        self.listed()

    def __len__(self) -> int:
        return len(self._files)

    def listed(self) -> list[dict[str, Any]]:
        """Index, name and type of each picture; new pictures come after those that were there before."""
        with self._lock:
            there = {path for _, path in self._files}
            for folder in self._folders:
                for path in sorted(folder.rglob("*")):
                    if len(self._files) < MOST_PICTURES and path not in there and _is_picture(path, folder):
                        self._files.append((str(path.relative_to(folder.parent)), path))
            return [
                {"index": index, "name": name, "type": TYPES[path.suffix.lower()]}
                for index, (name, path) in enumerate(self._files)
            ]

    def content(self, index: int) -> tuple[bytes, str]:
        """The bytes of a picture and their type."""
        if not 0 <= index < len(self._files):
            raise BadInput(f"there is no picture {index}")
        name, path = self._files[index]
        try:
            if not any(_is_picture(path, folder) for folder in self._folders):
                raise BadInput(f"{name} is no longer a picture that can be shown")
            return path.read_bytes(), TYPES[path.suffix.lower()]
        except OSError as error:
            raise BadInput(f"cannot read {name} ({error.strerror or error})") from None


def _is_picture(path: Path, folder: Path) -> bool:
    """Whether this is a file of the folder itself, not a link to somewhere else, and of a size that can be sent."""
    return (
        path.suffix.lower() in TYPES
        and path.is_file()
        and path.resolve().is_relative_to(folder)
        and path.stat().st_size <= LARGEST
    )


def watched(paths: Sequence[Path]) -> tuple[list[WatchedStore], Pictures]:
    """The stores among these files, and the pictures in these folders; anything else is refused with one line."""
    for path in paths:
        if not path.exists():
            raise BadInput(f"there is no file or folder {path}; name stores and folders of pictures")
    stores = [WatchedStore(path) for path in paths if not path.is_dir()]
    return stores, Pictures([path for path in paths if path.is_dir()])
