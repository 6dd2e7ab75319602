"""Any small game as an `.efg` file of Gambit: `fl.export_game`, `foglight export-game`.

The tree of the game is written as it is, with the names of its actions. An information set has as its name what its
seat has observed, in words. Each chance node is an information set of its own, since chance knows everything. A game
that was read from a file is written as the file has it, outcomes of inner nodes included.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from foglight.bridges.efg import Efg
from foglight.bridges.efg_files import CHANCE_PLAYER, Document, InformationSet, Node, Outcome, written
from foglight.files import write_whole
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import (
    NOTHING,
    TERMINAL,
    Game,
    action_names,
    begin,
    new_worlds,
    num_players,
    observation_text,
    observe,
    title,
)
from foglight.solving.whole.behaviour import levels
from foglight.solving.whole.tree import BOXED_BYTES, GIBIBYTE, NODE_BYTES, TooLarge, Tree, build_tree, guessed_size

Progress = Callable[[int, int], None]  # called with the nodes done and the nodes in all
_HOPELESS = 100  # a tree that seems to have this many times the limit of nodes is refused at once
_EVERY = 1000  # nodes between two calls of a progress function
_SIMPLE = 1_000_000  # the largest denominator of a probability that is written as the fraction it is close to
_LONGEST = 400  # characters of an information set's name


@dataclass(frozen=True)
class Exported:
    """What was written."""

    game: str
    file: str
    nodes: int
    information_sets: int
    players: int

    def __str__(self) -> str:
        return f"{self.file}: {self.nodes:,} nodes and {self.information_sets:,} information sets of {self.game}"

    def data(self) -> dict[str, Any]:
        """It as plain data."""
        return asdict(self)


def export_game(game: Game, path: str | Path, *, limit: int = 100_000, progress: Progress | None = None) -> Exported:
    """Write a game as an `.efg` file, which Gambit reads, and `fl.load_game("efg:PATH")` too.

    It may be any game whose tree has at most `limit` nodes. The result says how many nodes and information sets there
    are. `progress` is called with the number of nodes done and the number of all nodes.

        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> print(str(fl.export_game("kuhn_poker", f"{folder.name}/kuhn.efg")).replace(folder.name, "FOLDER"))
        FOLDER/kuhn.efg: 58 nodes and 12 information sets of kuhn_poker
        >>> round(18 * fl.game_value(f"efg:{folder.name}/kuhn.efg"), 6)
        -1.0
        >>> folder.cleanup()
    """
    loaded, path = load_game(game), Path(path)
    if type(limit) is not int or limit < 1:
        raise BadInput(f"limit must be a whole number of at least 1, not {limit!r}")
    if path.suffix.lower() != ".efg":
        raise BadInput(f"cannot write {path}; its name must end in .efg")
    if not path.parent.is_dir():
        raise BadInput(f"cannot write {path}: there is no folder {path.parent}; make it, or choose another file")
    document = loaded.document if isinstance(loaded, Efg) else _Writer(loaded, limit, progress).document()
    if len(document.nodes) > limit:
        raise BadInput(f"{loaded} has {len(document.nodes):,} nodes, and the limit is {limit:,}; give a higher limit")
    write_whole(path, "".join(f"{line}\n" for line in written(document)).encode())
    sets = {
        node.information_set
        for node in document.nodes
        if node.information_set is not None and node.information_set.player != CHANCE_PLAYER
    }
    return Exported(str(loaded), str(path), len(document.nodes), len(sets), len(document.players))


class _Writer:
    """The document of a game, from its tree."""

    def __init__(self, game: Game, limit: int, progress: Progress | None) -> None:
        self.game, self.progress = game, progress
        self.tree = _tree(game, limit)
        self.rows: list[Any] = [row for _, rows in levels(self.tree) for row in rows]  # the world of each node
        numbers, _ = self.tree.information
        self.states = numbers.tolist()  # of information, by node; -1 where no seat decides
        self.sets: dict[int, InformationSet] = {}  # by state
        self.counts = [0] * (1 + num_players(game))  # information sets by player, chance first
        self.labels: set[tuple[int, str]] = set()
        self.outcomes: dict[tuple[float, ...], Outcome] = {}
        self.payoffs = np.zeros((self.tree.num_nodes, num_players(game)))
        self.payoffs[self.tree.terminals] = self.tree.payoffs

    def document(self) -> Document:
        nodes = []
        for done, node in enumerate(_depth_first(self.tree)):
            nodes.append(self.node(node))
            if self.progress is not None and done % _EVERY == 0:
                self.progress(done, self.tree.num_nodes)
        if self.progress is not None:
            self.progress(self.tree.num_nodes, self.tree.num_nodes)
        players = tuple(f"seat {seat}" for seat in range(num_players(self.game)))
        return Document(title(self.game), players, str(self.game), tuple(nodes))

    def node(self, node: int) -> Node:
        if self.tree.movers[node] == TERMINAL:
            return Node("", None, self.outcome(tuple(self.payoffs[node].tolist())))
        state = self.states[node]
        if state < 0:
            return Node("", self.chance(node))
        if state not in self.sets:
            self.sets[state] = self.information_set(node)
        return Node("", self.sets[state])

    def outcome(self, payoffs: tuple[float, ...]) -> Outcome:
        if payoffs not in self.outcomes:
            exact = tuple(Fraction(repr(payoff)) for payoff in payoffs)
            self.outcomes[payoffs] = Outcome(1 + len(self.outcomes), ", ".join(map(str, exact)), exact)
        return self.outcomes[payoffs]

    def chance(self, node: int) -> InformationSet:
        self.counts[0] += 1
        begin, end = self.tree.first_children[node : node + 2]
        return InformationSet(
            CHANCE_PLAYER, self.counts[0], "", self.names(node), _exact(self.tree.odds[begin:end].tolist())
        )

    def information_set(self, node: int) -> InformationSet:
        seat = int(self.tree.movers[node])
        self.counts[1 + seat] += 1
        number = self.counts[1 + seat]
        name = self.seen(node, seat)[-_LONGEST:]
        if (seat, name) in self.labels:  # Gambit wants them to be different
            name = f"{name} [{number}]"
        self.labels.add((seat, name))
        return InformationSet(1 + seat, number, name, self.names(node))

    def names(self, node: int) -> tuple[str, ...]:
        begin, end = self.tree.first_children[node : node + 2]
        world = self.rows[node]
        return tuple(action_names(self.game, world, int(action))[0] for action in self.tree.actions[begin:end])

    def seen(self, node: int, seat: int) -> str:
        """What a seat has observed on the way to a node, in words."""
        parts = []
        while self.tree.parents[node] >= 0:
            above, action = int(self.tree.parents[node]), int(self.tree.actions[node])
            step = (self.rows[above], action, self.rows[node], seat)
            if observe(self.game, *step) != NOTHING:
                parts.append(observation_text(self.game, *step))
            node = above
        return ", ".join(reversed(parts)) or "nothing yet"


def _tree(game: Game, limit: int) -> Tree:
    """The tree of a game that has at most `limit` nodes."""
    start = new_worlds(game, 1)
    begin(game, start[0])
    advice = "give a higher limit, or take a smaller game"
    guess = guessed_size(game, start)
    if guess > _HOPELESS * limit:
        raise BadInput(f"{game} has about 10^{np.log10(guess):.0f} nodes, and the limit is {limit:,}; {advice}")
    world = start[0].nbytes if isinstance(start, np.ndarray) else BOXED_BYTES
    try:
        tree = build_tree(game, memory=1.01 * (limit + 1) * (NODE_BYTES + world) / GIBIBYTE)  # enough up to the limit
    except TooLarge:
        raise BadInput(f"{game} has more than {limit:,} nodes, which is the limit; {advice}") from None
    if tree.num_nodes > limit:
        raise BadInput(f"{game} has {tree.num_nodes:,} nodes, and the limit is {limit:,}; {advice}")
    return tree


def _depth_first(tree: Tree) -> Iterator[int]:
    """The nodes of a tree, each before those below it."""
    front = [0]
    while front:
        node = front.pop()
        yield node
        front.extend(range(int(tree.first_children[node + 1]) - 1, int(tree.first_children[node]) - 1, -1))


def _exact(odds: list[float]) -> tuple[Fraction, ...]:
    """Probabilities as fractions that add up to exactly 1."""
    simple = [Fraction(share).limit_denominator(_SIMPLE) for share in odds]
    if sum(simple) == 1 and all(abs(float(near) - share) < 1e-12 for near, share in zip(simple, odds, strict=True)):
        return tuple(simple)
    exact = [Fraction(share) for share in odds]
    return tuple(share / sum(exact) for share in exact)
