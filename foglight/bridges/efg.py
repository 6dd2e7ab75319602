"""Extensive-form games from files of Gambit: `efg:kuhn.efg`, or `efg(file="my games/kuhn.efg")`. LiteEFG's work too.

world   word 0: the number of the node
action  its position among the actions of the information set

The rules are tables in arrays, so they run compiled, once for all files. Payoffs along a path add up. Outcomes of
chance that have the probability 0 are left out. A seat observes its own actions and the information sets at which it is
to move, and nothing else: not even that time passes, nor that the game is over. The public observes nothing, since
nothing in a file says what everybody knows. Whoever plays remembers what it has observed, so a game whose players
forget can be played, but it is then easier than the one in the file; solvers refuse it.
"""

import functools
import hashlib
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from foglight.addresses import game_text
from foglight.bridges import game_files
from foglight.bridges.efg_files import Document, InformationSet, read, written
from foglight.bridges.efg_tables import ACTION, COUNT, FIRST, MOVER, NONE, PARENT, SET, Tables, tabulated
from foglight.compile import implements
from foglight.names import BadInput, parse_spec
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL, Bounds

_LARGEST = 1 << 28  # bytes of a file


class _Arrays(NamedTuple):
    """What compiled rules read; see `efg_tables.Tables`."""

    nodes: np.ndarray
    odds: np.ndarray
    payoffs: np.ndarray
    seats: int
    widest: int  # the largest number of actions


class Efg(_Arrays):
    """The game in a file. Games are equal if they come from the same path with the same content."""

    file: Annotated[str, "an .efg file of Gambit"]

    def __new__(cls, file: str) -> "Efg":
        return _restored(file, _content(file))

    document: Document
    sets: list[InformationSet]  # by number in the tables
    forgetful: InformationSet | None
    digest: str

    def _asdict(self) -> dict[str, Any]:
        return {"file": self.file}  # its only parameter

    def __str__(self) -> str:
        short = f"efg:{self.file}"
        try:
            return short if str(parse_spec(short)) == short else game_text(self)
        except BadInput:
            return game_text(self)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Efg) and (self.file, self.digest) == (other.file, other.digest)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.file, self.digest))

    def __reduce__(self) -> Any:
        return _restored, (self.file, "\n".join(written(self.document)))

    @functools.cached_property
    def set_names(self) -> list[str]:
        """A name for each information set that its player has no second time."""
        seen: dict[tuple[int, str], int] = {}
        plain = [" ".join(one.name.split()) for one in self.sets]
        for one, name in zip(self.sets, plain, strict=True):
            seen[one.player, name.lower()] = seen.get((one.player, name.lower()), 0) + 1
        return [
            name if name and seen[one.player, name.lower()] == 1 else f"{name} [{one.number}]".strip()
            for one, name in zip(self.sets, plain, strict=True)
        ]

    @functools.cached_property
    def depth(self) -> int:
        """The number of actions on the longest path."""
        depths = np.zeros(len(self.nodes), np.int64)
        for i in range(1, len(depths)):
            depths[i] = depths[self.nodes[i, PARENT]] + 1
        return int(depths.max())

    @functools.cached_property
    def names_of_actions(self) -> list[tuple[str, ...]]:
        """A name for each action of each information set that no other action there has."""
        return [_distinct(one.actions) for one in self.sets]


def _content(file: str) -> str:
    path = Path(file)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a device may never end
            raise BadInput(f"cannot read {file}: it is no file; give the path of an .efg file, as in efg:kuhn.efg")
        if path.stat().st_size > _LARGEST:
            raise BadInput(f"{file} has more than {_LARGEST:,} bytes; that is too large for an .efg file")
        return path.read_text("utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BadInput(f"cannot read {file}: {why}; give the path of an .efg file, as in efg:kuhn.efg") from None


@functools.lru_cache(maxsize=32)
def _read(file: str, content: str) -> tuple[Document, Tables, str]:
    document = game_files.read(content, file) if game_files.is_game_file(content) else read(content, file)
    digest = hashlib.sha256("\n".join(written(document)).encode()).hexdigest()
    return document, tabulated(document, file), digest


def _restored(file: str, content: str) -> Efg:
    """The game of a file's content."""
    document, tables, digest = _read(file, content)
    widest = max(1, int(tables.nodes[:, COUNT].max()))
    game = tuple.__new__(Efg, (tables.nodes, tables.odds, tables.payoffs, len(document.players), widest))
    game.file, game.document, game.sets, game.forgetful = file, document, tables.sets, tables.forgetful
    game.digest = digest
    return game


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names with a number where one is empty or occurs twice."""
    plain = [" ".join(name.split()) for name in names]
    low = [name.lower() for name in plain]
    chosen: list[str] = []
    for i, name in enumerate(plain):
        best = name if name and low.count(low[i]) == 1 else f"{name} #{i + 1}".strip()
        while best != name and best.lower() in [*low, *(other.lower() for other in chosen)]:
            best += "#"
        chosen.append(best)
    return tuple(chosen)


# The rules ------------------------------------------------------------------------------------------------------


@implements(Efg)
def num_players(game):
    return game.seats


@implements(Efg)
def num_words(game):
    return 1


@implements(Efg)
def num_actions(game):
    return game.widest


@implements(Efg)
def player(game, world):
    return game.nodes[np.int64(world[0]), MOVER]


@implements(Efg)
def legal(game, world, out):
    n = game.nodes[np.int64(world[0]), COUNT]
    for i in range(n):
        out[i] = i
    return n


@implements(Efg)
def chance(game, world, out, odds):
    first = game.nodes[np.int64(world[0]), FIRST]
    n = 0
    for i in range(game.nodes[np.int64(world[0]), COUNT]):
        if game.odds[first + i] > 0.0:
            out[n], odds[n] = i, game.odds[first + i]
            n += 1
    return n


@implements(Efg)
def step(game, world, action):
    world[0] = np.uint64(game.nodes[np.int64(world[0]), FIRST] + action)


@implements(Efg)
def observe(game, before, action, after, viewer):
    if viewer == PUBLIC:
        return NOTHING
    code = 0
    if game.nodes[np.int64(before[0]), MOVER] == viewer:
        code = 1 + action
    if game.nodes[np.int64(after[0]), MOVER] == viewer:
        code += (1 + game.nodes[np.int64(after[0]), SET]) * (1 + game.widest)
    return code


@implements(Efg)
def returns(game, world, out):
    for seat in range(game.seats):
        out[seat] = game.payoffs[np.int64(world[0]), seat]


@implements(Efg)
def forgetting(game):
    if game.forgetful is None:
        return ""
    return f"{_who(game, game.forgetful.player - 1)} has forgotten something at {game.forgetful}"


@implements(Efg)
def bounds(game):
    ends = game.payoffs[game.nodes[:, MOVER] == TERMINAL]
    sums = ends.sum(1)
    total = float(np.round(sums[0], 12)) if np.ptp(sums) < 1e-9 else None
    return Bounds(float(ends.min()), float(ends.max()), total, game.depth)


# Text for people ------------------------------------------------------------------------------------------------


def _who(game: Efg, seat: int) -> str:
    name = " ".join(game.document.players[seat].split())
    return f"{name} (seat {seat})" if name not in ("", f"seat {seat}") else f"seat {seat}"


def _path(game: Efg, node: int) -> list[str]:
    """The actions that lead to a node."""
    names = []
    while game.nodes[node, PARENT] != NONE:
        above = int(game.nodes[node, PARENT])
        names.append(game.names_of_actions[game.nodes[above, SET]][game.nodes[node, ACTION]])
        node = above
    return names[::-1]


@implements(Efg)
def title(game):
    return " ".join(game.document.title.split()) or Path(game.file).stem


@implements(Efg)
def how_to_play(game):
    seats = ", ".join(_who(game, seat) for seat in range(game.seats))
    comment = " ".join(game.document.comment.split())
    forgets = forgetting(game)
    return "\n".join(
        [
            f"A game from a file of Gambit for {seats}.",
            *([comment] if comment else []),
            *([f"In the file, {forgets}; here everybody remembers."] if forgets else []),
            "Write a move as the file names it.",
        ]
    )


@implements(Efg)
def action_names(game, world, action):
    return (game.names_of_actions[game.nodes[int(world[0]), SET]][int(action)],)


@implements(Efg)
def board(game, world):
    node = int(world[0])
    mover = int(game.nodes[node, MOVER])
    name = " ".join(game.document.title.split()) or Path(game.file).stem
    path = ", ".join(_path(game, node)) or "nothing yet"
    if mover == TERMINAL:
        now = "over: " + ", ".join(f"{_who(game, seat)} gets {pay:g}" for seat, pay in enumerate(game.payoffs[node]))
    elif mover == CHANCE:
        now = "chance is to move"
    else:
        now = f"{_who(game, mover)} is to move at '{game.set_names[game.nodes[node, SET]]}'"
    return f"{name}\nplayed: {path}\n{now}"


@implements(Efg)
def view(game, world, seat):
    node = int(world[0])
    turn = f"\nyour move at '{game.set_names[game.nodes[node, SET]]}'" if game.nodes[node, MOVER] == seat else ""
    return f"you are {_who(game, seat)}{turn}"


@implements(Efg)
def observation_text(game, before, action, after, viewer):
    here, there = int(before[0]), int(after[0])
    parts = []
    if game.nodes[here, MOVER] == viewer:
        parts.append(f"you play {game.names_of_actions[game.nodes[here, SET]][int(action)]}")
    if game.nodes[there, MOVER] == viewer:
        parts.append(f"you are at '{game.set_names[game.nodes[there, SET]]}'")
    return " and ".join(parts)


@implements(Efg)
def places(game):
    return [f"action {i + 1}" for i in range(game.depth)], 0


@implements(Efg)
def contents(game, world):
    played = _path(game, int(world[0]))
    return [*played, *("." * (game.depth - len(played)))]
