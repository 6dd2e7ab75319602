"""A game tree as flat arrays: every history is a node, nodes are in breadth-first order, siblings are adjacent.

Information states are numbered in the order of their first nodes, so a state that follows another has a higher number;
so are public states. A tree may have several roots, as a subgame does, and may be cut at a depth. The non-terminal
histories at the cut are its leaves. Worlds are kept for the roots and the leaves only.
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
NODE_BYTES = 45  # bytes per node in the arrays of `Tree`, without information states and payoffs
BOXED_BYTES = 1000  # of a world that is an object, roughly
_PROBES = 200  # random games from which a tree's size is estimated
_HOPELESS = 100  # a tree estimated at more than this multiple of the memory is refused at once


class TooLarge(BadInput):
    """The tree does not fit into the given memory."""


class Tree:
    """The histories of a game, from the roots to the end of the game or to a cut: N nodes, L leaves."""

    game: Game
    depth: int | None  # of the cut, in transitions below the roots; None: no cut
    level_begins: np.ndarray  # int64[levels + 1]: the first node of each depth
    movers: np.ndarray  # int8[N]: the seat that moves, CHANCE or TERMINAL
    parents: np.ndarray  # int32[N], -1 for roots
    first_children: np.ndarray  # int64[N + 1]: node i has the children first_children[i] to first_children[i + 1] - 1
    actions: np.ndarray  # int32[N]: the action that leads to the node, -1 for roots
    odds: np.ndarray  # float64[N]: the chance probability of that action; 1 for a seat's action
    keys: np.ndarray  # uint64[N]: the key of the mover's information state; 0 where no seat decides
    public_keys: np.ndarray  # uint64[N]: the key of the public state
    payoffs: np.ndarray  # float64[terminals, seats], in the order of the terminal nodes
    roots: Any  # the worlds of the roots
    leaves: np.ndarray  # int64[L]: the nodes at the cut
    leaf_rows: Any  # the worlds of the leaves

    @property
    def num_nodes(self) -> int:
        return len(self.movers)

    @property
    def num_seats(self) -> int:
        return self.payoffs.shape[1]

    @property
    def num_bytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    @property
    def is_zero_sum(self) -> bool:
        """Whether two seats play for payoffs that add up to 0 in every history."""
        return self.num_seats == 2 and abs(self.payoffs.sum(1)).max(initial=0.0) < 1e-9

    @cached_property
    def terminals(self) -> np.ndarray:
        """The terminal nodes, int64."""
        return np.flatnonzero(self.movers == TERMINAL)

    @cached_property
    def deciding(self) -> np.ndarray:
        """The nodes at which a seat decides, int64: it is to move, and the tree is not cut there."""
        return np.flatnonzero((self.movers >= 0) & (np.diff(self.first_children) > 0))

    @cached_property
    def information(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each node's information state, int32[N], -1 where no seat decides; and the states' keys."""
        return _numbered(self.keys, self.deciding)

    @cached_property
    def public(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each node's public state, int32[N]; and the public states' keys."""
        return _numbered(self.public_keys, np.arange(self.num_nodes))

    @cached_property
    def reach(self) -> np.ndarray:
        """The chance probability of each node, given its root, float64[N]."""
        reach = self.odds.copy()
        for first, last in zip(self.level_begins[1:-1], self.level_begins[2:], strict=True):
            reach[first:last] *= reach[self.parents[first:last]]
        return reach

    def histories(self, nodes: np.ndarray) -> list[list[int]]:
        """The actions from a root to each of these nodes."""
        histories = []
        for node in nodes.tolist():
            actions: list[int] = []
            while self.parents[node] >= 0:
                actions.append(int(self.actions[node]))
                node = int(self.parents[node])
            histories.append(actions[::-1])
        return histories


def _numbered(keys: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct keys at the places `where` from 0, in order of first occurrence; -1 at other places."""
    distinct, firsts, which = np.unique(keys[where], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    numbers = np.full(len(keys), -1, np.int32)
    numbers[where] = rank[which]
    return numbers, distinct[order]


def build_tree(game: str | Game, roots: Any = None, depth: int | None = None, memory: float = 4.0) -> Tree:
    """The tree below some worlds, or of the whole game, cut after `depth` transitions; `memory` is in GiB."""
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
        width = rows.shape[1] * 8 if isinstance(rows, np.ndarray) else BOXED_BYTES
        need = (first + n + more) * NODE_BYTES + (n + more) * width
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
    """Fill `children` with the worlds after every action at every row with `counts` above 0; the actions and odds."""
    actions, odds = np.empty(len(children), np.int32), np.empty(len(children))
    if len(children):
        _branch(game, rows, counts, children, actions, odds)
    return actions, odds


ADVICE = "give more memory, take a smaller game, cut it at a depth, or search instead of solving"


def fits(game: Game, memory: float) -> bool:
    """Whether the tree of a whole game is likely to fit into so many GiB, by an estimate from random games."""
    start = new_worlds(game, 1)
    begin(game, start[0])
    return guessed_size(game, start) * NODE_BYTES <= memory * GIBIBYTE


def _check_size(game: Game, memory: float) -> None:
    """Refuse a hopelessly large game at once, by an unbiased estimate from random games [Knuth1975]."""
    start = new_worlds(game, 1)
    begin(game, start[0])
    size = guessed_size(game, start)
    if size * NODE_BYTES > _HOPELESS * memory * GIBIBYTE:
        raise TooLarge(f"{game} is too large to hold: it has about 10^{np.log10(size):.0f} nodes; {ADVICE}")


def guessed_size(game: Game, roots: Any) -> float:
    """An estimate from random games of the number of nodes from some worlds down to the end of the game."""
    sizes = np.empty(_PROBES)
    _probe(game, roots, generator(0), sizes)
    return float(sizes.mean()) * len(roots)


@kernel
def _probe(game, roots, random, sizes):
    """Write one estimate per random game: the number of nodes if every node of a depth had as many children."""
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
    """Write each world's mover, its information state's key, the public key, the number of children and the payoffs."""
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
    """Write the worlds after every action at every row, with the actions and their chance probabilities."""
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
