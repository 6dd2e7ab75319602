"""A whole game as flat arrays: every history a node, breadth first, the children of a node side by side.

Information states are numbered in the order in which they are met, so that whatever comes after another has a higher
number; so are public states. A tree may begin at several worlds, as a subgame does, and may be cut at a depth; the
histories at which it is cut are its leaves. Worlds are kept for the roots and the leaves only.
"""

from functools import cached_property
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import below, generator
from foglight.rules import (
    CHANCE,
    PUBLIC,
    TERMINAL,
    Game,
    begin,
    chance,
    copy_world,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    returns,
    step,
    transition,
)
from foglight.worlds.expansion import chosen

GIBIBYTE = 1 << 30
_NODE_BYTES = 45  # of a node in the arrays below, information states and payoffs not counted
_PROBES = 200  # random games by which a tree's size is guessed
_HOPELESS = 100  # a tree that looks this many times too large is not begun


class TooLarge(BadInput):
    """The tree does not fit into the memory allowed."""


class Tree:
    """The histories of a game, from its roots down to the end or to where it is cut."""

    game: Game
    depth: int | None  # at which it is cut
    level_begins: np.ndarray  # int64[levels + 1]: the nodes of each depth
    movers: np.ndarray  # int8[N]: the seat that moves, CHANCE or TERMINAL
    parents: np.ndarray  # int32[N], -1 for roots
    first_children: np.ndarray  # int64[N + 1]: the children of node i are first_children[i] to first_children[i + 1]
    actions: np.ndarray  # int32[N]: the action that leads here
    odds: np.ndarray  # float64[N]: how likely chance makes that step; 1 for a seat's action
    keys: np.ndarray  # uint64[N]: of the mover's information state; 0 where nobody decides
    public_keys: np.ndarray  # uint64[N]
    payoffs: np.ndarray  # float64[terminals, seats], in the order of the terminal nodes
    roots: Any  # the worlds of the roots
    leaves: np.ndarray  # int64[L]: the nodes at which it is cut
    leaf_rows: Any  # their worlds

    @property
    def num_nodes(self) -> int:
        return len(self.movers)

    @property
    def num_seats(self) -> int:
        return self.payoffs.shape[1]

    @property
    def num_bytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    @cached_property
    def terminals(self) -> np.ndarray:
        """The terminal nodes, int64."""
        return np.flatnonzero(self.movers == TERMINAL)

    @cached_property
    def deciding(self) -> np.ndarray:
        """The nodes at which a seat moves, and has something to choose from, int64."""
        return np.flatnonzero((self.movers >= 0) & (np.diff(self.first_children) > 0))

    @cached_property
    def information(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of the information state at each node, int32[N], -1 where nobody decides; and their keys."""
        return _numbered(self.keys, self.deciding)

    @cached_property
    def public(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of the public state of each node, int32[N]; and their keys."""
        return _numbered(self.public_keys, np.arange(self.num_nodes))

    @cached_property
    def reach(self) -> np.ndarray:
        """How likely chance leads to each node, given its root, float64[N]."""
        reach = self.odds.copy()
        for first, last in zip(self.level_begins[1:-1], self.level_begins[2:], strict=True):
            reach[first:last] *= reach[self.parents[first:last]]
        return reach

    def histories(self, nodes: np.ndarray) -> list[list[int]]:
        """The actions that lead from a root to each of these nodes."""
        found = []
        for node in nodes.tolist():
            actions: list[int] = []
            while self.parents[node] >= 0:
                actions.append(int(self.actions[node]))
                node = int(self.parents[node])
            found.append(actions[::-1])
        return found


def _numbered(keys: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers from 0 on for the distinct keys at these places, in the order in which they first occur."""
    distinct, firsts, which = np.unique(keys[where], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    numbers = np.full(len(keys), -1, np.int32)
    numbers[where] = rank[which]
    return numbers, distinct[order]


def build_tree(game: str | Game, roots: Any = None, depth: int | None = None, memory: float = 4.0) -> Tree:
    """The tree below some worlds, or of the whole game; `memory` is in GiB."""
    game = load_game(game)
    if roots is None:
        roots = new_worlds(game, 1)
        begin(game, roots[0])
        if depth is None:
            _check_size(game, memory)
    tree = Tree()
    tree.game, tree.roots, tree.depth = game, roots, depth
    n = len(roots)
    columns: dict[str, list[np.ndarray]] = {
        "parents": [np.full(n, -1, np.int32)],
        "actions": [np.full(n, -1, np.int32)],
        "odds": [np.ones(n)],
    }
    begins, first, level = [0, n], 0, 0
    payoffs = []
    for name in ("movers", "keys", "public_keys", "first_children"):
        columns[name] = []
    tree.leaves, tree.leaf_rows = np.zeros(0, np.int64), roots[:0]
    rows: Any = roots
    while n:
        movers, keys, public = np.empty(n, np.int8), np.empty(n, np.uint64), np.empty(n, np.uint64)
        counts, ends = np.zeros(n, np.int64), np.zeros((n, num_players(game)))
        _survey(game, rows, movers, keys, public, counts, ends)
        payoffs.append(ends[movers == TERMINAL])
        if level == depth:
            cut = np.flatnonzero(movers != TERMINAL)
            tree.leaves, tree.leaf_rows = first + cut, chosen(rows, cut)
            counts[:] = 0
            keys[cut] = 0
        columns["movers"].append(movers)
        columns["keys"].append(keys)
        columns["public_keys"].append(public)
        columns["first_children"].append(first + n + np.cumsum(counts) - counts)
        more = int(counts.sum())
        width = rows.shape[1] * 8 if isinstance(rows, np.ndarray) else 1000
        need = (first + n + more) * _NODE_BYTES + (n + more) * width
        if need > memory * GIBIBYTE or first + n + more >= 1 << 31:
            raise TooLarge(
                f"{game} is too large to hold: {first + n + more:,} nodes down to depth {level + 1} and more below, "
                f"over {memory:g} GiB; {ADVICE}"
            )
        children = new_worlds(game, more)
        actions, odds = branch(game, rows, counts, children)
        parents = np.repeat(np.arange(first, first + n, dtype=np.int32), counts)
        for name, column in (("parents", parents), ("actions", actions), ("odds", odds)):
            columns[name].append(column)
        rows, first, n, level = children, first + n, more, level + 1
        begins.append(first + n)
    for name, parts in columns.items():
        setattr(tree, name, np.concatenate(parts))
    tree.first_children = np.append(tree.first_children, first)
    tree.payoffs = np.concatenate(payoffs)
    tree.level_begins = np.array(begins[:-1], np.int64)
    return tree


def branch(game: Game, rows: Any, counts: np.ndarray, children: Any) -> tuple[np.ndarray, np.ndarray]:
    """Fill `children` with the worlds after every action at every row that has any counted; the actions and odds."""
    actions, odds = np.empty(len(children), np.int32), np.empty(len(children))
    if len(children):
        _branch(game, rows, counts, children, actions, odds)
    return actions, odds


ADVICE = "give more memory, take a smaller game, cut it at a depth, or search instead of solving"


def _check_size(game: Game, memory: float) -> None:
    """Refuse a hopeless game at once: random games guess the number of nodes, without bias [Knuth1975]."""
    start = new_worlds(game, 1)
    begin(game, start[0])
    size = guessed_size(game, start)
    if size * _NODE_BYTES > _HOPELESS * memory * GIBIBYTE:
        raise TooLarge(f"{game} is too large to hold: it has about 10^{np.log10(size):.0f} nodes; {ADVICE}")


def guessed_size(game: Game, roots: Any) -> float:
    """About how many nodes there are below some worlds down to the end, from random games."""
    sizes = np.empty(_PROBES)
    _probe(game, roots, generator(0), sizes)
    return float(sizes.mean()) * len(roots)


@kernel
def _probe(game, roots, random, sizes):
    """In each random game, the number of nodes below its root if all of the tree were like it."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(sizes)):
        world = new_worlds(game, 1)[0]
        copy_world(game, world, roots[below(random, len(roots))])
        sizes[i], width = 1.0, 1.0
        mover = player(game, world)
        while mover != TERMINAL and width < 1e100:
            n = chance(game, world, actions, odds) if mover == CHANCE else legal(game, world, actions)
            width *= n
            sizes[i] += width
            step(game, world, actions[below(random, n)])
            mover = player(game, world)


@kernel
def _survey(game, rows, movers, keys, public, counts, ends):
    """Who moves, what it knows, how many children there are, and what each seat gets at the end."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(rows)):
        mover = player(game, rows[i])
        movers[i], keys[i] = mover, 0
        public[i] = key(game, rows[i], PUBLIC)
        if mover == TERMINAL:
            returns(game, rows[i], ends[i])
        elif mover == CHANCE:
            counts[i] = chance(game, rows[i], actions, odds)
        else:
            counts[i] = legal(game, rows[i], actions)
            keys[i] = key(game, rows[i], mover)


@kernel
def _branch(game, rows, counts, children, actions, odds):
    """The worlds after every action at every row, and how they came about."""
    room, shares = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    at = 0
    for i in range(len(rows)):
        if counts[i] > 0:
            if player(game, rows[i]) == CHANCE:
                n = chance(game, rows[i], room, shares)
            else:
                n = legal(game, rows[i], room)
                shares[:n] = 1.0
            for j in range(n):
                transition(game, rows[i], room[j], children[at])
                actions[at], odds[at] = room[j], shares[j]
                at += 1


def seat_keys(game: Game, rows: Any, seat: int) -> np.ndarray:
    """The key of a seat's information state in each world, uint64[n]."""
    out = np.empty(len(rows), np.uint64)
    _write_keys(game, rows, seat, out)
    return out


@kernel
def _write_keys(game, rows, seat, out):
    for i in range(len(rows)):
        out[i] = key(game, rows[i], seat)
