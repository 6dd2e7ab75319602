"""Public states: the histories that the public cannot tell apart, with the information states of each seat there.

A range gives the probability that a seat's own play leads to each of its information states. A public state with a
range for each seat is a public belief state. Each history has one world and its chance probability.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.rules import Game, num_players
from foglight.solving.whole.sequences import SequenceForm
from foglight.solving.whole.tree import seat_keys
from foglight.worlds.expansion import chosen


class Unnoticed(BadInput):
    """The tree cannot be cut here, because the public does not observe that a transition took place."""


@dataclass(frozen=True)
class PublicState:
    """All histories of a public state at which a subgame may begin: n of them."""

    game: Game
    key: int
    rows: Any  # the worlds of the histories: uint64[n, W], or boxed
    chance: np.ndarray  # float64[n]: the chance probabilities of the histories
    keys: list[np.ndarray]  # by seat, the keys of its information states, ascending
    states: np.ndarray  # int64[n, seats]: the number, in `keys`, of each seat's information state at each history


def public_state(game: Game, public_key: int, rows: Any, chance: np.ndarray) -> PublicState:
    """The public state of these worlds."""
    keys, states = [], np.empty((len(rows), num_players(game)), np.int64)
    for seat in range(num_players(game)):
        own, states[:, seat] = np.unique(seat_keys(game, rows, seat), return_inverse=True)
        keys.append(own)
    return PublicState(game, public_key, rows, chance, keys, states)


@dataclass(frozen=True)
class Leaf:
    """A public state at which a tree is cut, and the sequence that leads to each information state there."""

    public: PublicState
    sequences: list[np.ndarray]  # by seat, int32: one sequence for each of its information states


def leaves(sequences: SequenceForm) -> list[Leaf]:
    """The public states at which the tree is cut, in the order of their first nodes."""
    tree = sequences.tree
    keys_at_cut = tree.public_keys[tree.leaves]
    inside = np.ones(tree.num_nodes, bool)
    inside[tree.leaves] = False
    inside[tree.terminals] = False
    if np.isin(keys_at_cut, tree.public_keys[inside]).any():
        raise Unnoticed(
            f"{tree.game} cannot be cut at depth {tree.depth}: there the public does not notice that time passes; "
            "cut it where everybody sees something"
        )
    result = []
    _, firsts = np.unique(keys_at_cut, return_index=True)
    for first in np.sort(firsts):
        which = np.flatnonzero(keys_at_cut == keys_at_cut[first])
        nodes = tree.leaves[which]
        public = public_state(
            tree.game, int(keys_at_cut[first]), chosen(tree.leaf_rows, which), sequences.chance[nodes]
        )
        by_seat = []
        for seat, keys in enumerate(public.keys):
            own = np.empty(len(keys), np.int32)
            own[public.states[:, seat]] = sequences.sequences[nodes, seat]
            by_seat.append(own)
        result.append(Leaf(public, by_seat))
    return result
