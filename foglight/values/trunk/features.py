"""Features of public states and of what a seat privately knows, for any game [Sustr2021, Section 4.1].

Perfect recall, from factored observations: a public state is what everybody has observed, one after the other; private
is what a seat's own observation says beyond the public one of the same transition, its own actions included. Codes have
no structure that all games share, so a seat's is taken apart by exclusive or: own ^ public, given the public one, tells
as much as own, and is 0 where nothing is private. Each pair (how many observations before, code) that occurs is a
feature, 1 or 0, unless it always does. The seat is a feature too.

Imperfect recall: where a game's `private_features` says what matters of what a seat privately knows, that instead.
Public states keep perfect recall, and so do the places of a positional network.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.names import BadInput
from foglight.rules import NOTHING, PUBLIC, num_players, observe
from foglight.solving.depth_limited.trunk import Trunk
from foglight.solving.whole.behaviour import levels
from foglight.solving.whole.tree import Tree
from foglight.values.networks.encoding import offered_private
from foglight.values.networks.layout import PADDING, Layout
from foglight.worlds.expansion import chosen

Pairs = tuple[tuple[int, int], ...]  # (how many observations before, code)
RECALLS = ("perfect", "imperfect")


def trunk_layout(trunk: Trunk, recall: str = "perfect") -> Layout:
    """Where a trunk from the start of a two-seat game is cut, with features."""
    tree = trunk.sequences.tree
    if recall not in RECALLS:
        raise BadInput(f"features have {' or '.join(RECALLS)} recall, not {recall}")
    if trunk.root is not None:
        raise BadInput("features need a trunk from the start of the game: they tell all that was observed")
    if tree.num_seats != 2:
        raise BadInput(f"value networks are for two seats; {tree.game} has {tree.num_seats}")
    codes, shown = observed(tree), tree.public_keys[tree.leaves]
    publics: list[Pairs] = []
    states: list[tuple[int, int, int, Pairs]] = []  # public state, seat, key, what is private, for each
    offered: list[np.ndarray] = []
    for number, leaf in enumerate(trunk.leaves):
        nodes = tree.leaves[shown == np.uint64(leaf.public.key)]
        publics.append(public_pairs(tree, codes, int(nodes[0])))
        for seat, keys in enumerate(leaf.public.keys):
            firsts = np.unique(leaf.public.states[:, seat], return_index=True)[1]
            for key, first in zip(keys.tolist(), firsts.tolist(), strict=True):
                states.append((number, seat, key, private_pairs(tree, codes, int(nodes[first]), seat)))
            if recall == "imperfect":
                offered.append(offered_private(tree.game, chosen(leaf.public.rows, firsts), seat))
    if recall == "imperfect":
        private = np.concatenate(offered)
        if not private.shape[1]:
            raise BadInput(f"{tree.game} offers no imperfect-recall features; take perfect recall")
    else:
        private = one_hot([[(seat, *pair) for pair in pairs] for _, seat, _, pairs in states])
    turns = np.eye(tree.num_seats, dtype=np.float32)[[seat for _, seat, _, _ in states]]
    return _laid_out(trunk, one_hot(publics), states, np.concatenate([private, turns], axis=1))


def _laid_out(trunk: Trunk, public: np.ndarray, states: list[Any], private: np.ndarray) -> Layout:
    of = np.array([number for number, *_ in states])
    widths = np.bincount(of)
    shape = len(widths), int(widths.max())
    at = of, np.arange(len(of)) - np.repeat(np.cumsum(widths) - widths, widths)
    ranks = {known: i for i, known in enumerate(sorted({(seat, pairs) for _, seat, _, pairs in states}))}
    keys, seats, places = np.zeros(shape, np.uint64), np.full(shape, PADDING), np.full(shape, PADDING)
    keys[at] = np.array([key for _, _, key, _ in states], np.uint64)
    seats[at] = [seat for _, seat, _, _ in states]
    places[at] = [ranks[seat, pairs] for _, seat, _, pairs in states]
    features = np.zeros((*shape, private.shape[1]), np.float32)
    features[at] = private
    public_keys = np.array([leaf.public.key for leaf in trunk.leaves], np.uint64)
    scales = np.array([leaf.public.chance.max() for leaf in trunk.leaves])
    shared = np.zeros((*shape, shape[1]), np.float32)
    for number, leaf in enumerate(trunk.leaves):
        first, second = leaf.public.states.T + np.array([[0], [len(leaf.public.keys[0])]])
        np.add.at(shared[number], (first, second), leaf.public.chance / scales[number])
    shared += shared.swapaxes(1, 2)
    return Layout(public_keys, public, keys, seats, places, features, scales, shared)


def one_hot(rows: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """A column for each thing that is in some of the rows but not in all, in ascending order: float32[n, columns]."""
    columns = sorted({thing for row in rows for thing in row})  # type: ignore[type-var]
    where = {thing: i for i, thing in enumerate(columns)}
    found = np.zeros((len(rows), len(columns)), np.float32)
    for i, row in enumerate(rows):
        found[i, [where[thing] for thing in row]] = 1.0
    return found[:, ~found.all(0)]


def observed(tree: Tree) -> np.ndarray:
    """What each viewer observed on the step to each node, the public first: int64[N, 1 + seats]; roots have NOTHING."""
    codes = np.full((tree.num_nodes, 1 + tree.num_seats), NOTHING, np.int64)
    before: Any = None
    above = 0
    for first, rows in levels(tree):
        if before is not None:
            nodes = slice(first, first + len(rows))
            _observe(tree.game, before, tree.parents[nodes] - above, tree.actions[nodes], rows, codes[nodes])
        before, above = rows, first
    return codes


def public_pairs(tree: Tree, codes: np.ndarray, node: int) -> Pairs:
    """All that the public has observed."""
    seen = [int(codes[step, 0]) for step in path(tree, node) if codes[step, 0] != NOTHING]
    return tuple(enumerate(seen))


def private_pairs(tree: Tree, codes: np.ndarray, node: int, seat: int) -> Pairs:
    """What a seat has observed beyond the public."""
    steps = [step for step in path(tree, node) if codes[step, 1 + seat] != NOTHING]
    beyond = [int(codes[step, 1 + seat] ^ codes[step, 0]) for step in steps]
    return tuple((before, code) for before, code in enumerate(beyond) if code != 0)


def path(tree: Tree, node: int) -> list[int]:
    """The nodes from below the root down to this one."""
    steps = []
    while tree.parents[node] >= 0:
        steps.append(node)
        node = int(tree.parents[node])
    return steps[::-1]


@kernel
def _observe(game, before, parents, actions, after, codes):
    for i in range(len(after)):
        for viewer in range(PUBLIC, num_players(game)):
            codes[i, 1 + viewer] = observe(game, before[parents[i]], actions[i], after[i], viewer)
