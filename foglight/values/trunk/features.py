"""Features of public states and of seats' private information, for any game [Sustr2021, Section 4.1].

Perfect recall, from factored observations: a public state is the sequence of public observations. A seat's private
information is what its own observations tell beyond the public observation of the same transition, its own actions
included. Observation codes have no structure that all games share, so they are separated by exclusive or: given the
public code, own ^ public tells as much as the seat's own code, and it is 0 where nothing is private. Each pair (number
of earlier observations, code) that occurs is a feature, 1 or 0, unless every state has it. The seat is a feature too.

Imperfect recall: the features that a game's `private_features` gives for a seat's private information. Public states
keep perfect recall, and so do the places of a positional network.
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

Pairs = tuple[tuple[int, int], ...]  # (number of earlier observations, code)
RECALLS = ("perfect", "imperfect")


def trunk_layout(trunk: Trunk, recall: str = "perfect") -> Layout:
    """The layout of the public states where a trunk from the start of a two-seat game is cut."""
    tree = trunk.sequences.tree
    if recall not in RECALLS:
        raise BadInput(f"features have {' or '.join(RECALLS)} recall, not {recall}")
    if trunk.root is not None:
        raise BadInput("features need a trunk from the start of the game, since they are made of all observations")
    if tree.num_seats != 2:
        raise BadInput(f"value networks need two seats; {tree.game} has {tree.num_seats}")
    codes, public_keys = observed(tree), tree.public_keys[tree.leaves]
    publics: list[Pairs] = []
    states: list[tuple[int, int, int, Pairs]] = []  # public state, seat, key and private pairs of each
    offered: list[np.ndarray] = []
    for number, leaf in enumerate(trunk.leaves):
        nodes = tree.leaves[public_keys == np.uint64(leaf.public.key)]
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
    """The layout from the features of public states and of information states."""
    of = np.array([number for number, *_ in states])
    widths = np.bincount(of)
    shape = len(widths), int(widths.max())
    at = of, np.arange(len(of)) - np.repeat(np.cumsum(widths) - widths, widths)
    ranks = {place: i for i, place in enumerate(sorted({(seat, pairs) for _, seat, _, pairs in states}))}
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
    """One column, 1 or 0, for each item that some but not all rows have, in ascending order: float32[n, columns]."""
    columns = sorted({thing for row in rows for thing in row})  # type: ignore[type-var]
    where = {thing: i for i, thing in enumerate(columns)}
    hot = np.zeros((len(rows), len(columns)), np.float32)
    for i, row in enumerate(rows):
        hot[i, [where[thing] for thing in row]] = 1.0
    return hot[:, ~hot.all(0)]


def observed(tree: Tree) -> np.ndarray:
    """Each viewer's observation on the transition to each node, int64[N, 1 + seats]; NOTHING at roots.

    The column of a viewer is 1 + viewer, so the public, which is viewer -1, has column 0.
    """
    codes = np.full((tree.num_nodes, 1 + tree.num_seats), NOTHING, np.int64)
    before: Any = None
    above = 0
    for first, rows in levels(tree):
        if before is not None:
            nodes = slice(first, first + len(rows))
            parents, actions = tree.parents[nodes] - above, tree.actions[nodes].astype(np.int64)  # as rules take them
            _observe(tree.game, before, parents, actions, rows, codes[nodes])
        before, above = rows, first
    return codes


def public_pairs(tree: Tree, codes: np.ndarray, node: int) -> Pairs:
    """The public's observations on the way to a node."""
    own = [int(codes[step, 1 + PUBLIC]) for step in path(tree, node) if codes[step, 1 + PUBLIC] != NOTHING]
    return tuple(enumerate(own))


def private_pairs(tree: Tree, codes: np.ndarray, node: int, seat: int) -> Pairs:
    """What a seat's observations on the way to a node tell beyond the public's."""
    steps = [step for step in path(tree, node) if codes[step, 1 + seat] != NOTHING]
    beyond = [int(codes[step, 1 + seat] ^ codes[step, 1 + PUBLIC]) for step in steps]
    return tuple((before, code) for before, code in enumerate(beyond) if code != 0)


def path(tree: Tree, node: int) -> list[int]:
    """The nodes on the way to this one, without the root."""
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
