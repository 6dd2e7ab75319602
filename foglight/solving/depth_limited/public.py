"""Public states: the histories that look the same to everybody, and what each seat may be in there.

A public state together with a range for each seat, how likely its own play leads to each of its information states, is
a public belief state. Worlds are rows of a game, one for each history; chance says how likely nature's part of it is.
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
    """A tree cannot be cut where the public does not notice that time passes."""


@dataclass(frozen=True)
class PublicState:
    """All histories of a public state at which a subgame may begin."""

    game: Game
    key: int
    rows: Any  # their worlds: uint64[n, W], or boxed
    chance: np.ndarray  # float64[n]
    keys: list[np.ndarray]  # by seat, its information states, ascending
    states: np.ndarray  # int64[n, seats]: which of them each history is in


def public_state(game: Game, public_key: int, rows: Any, chance: np.ndarray) -> PublicState:
    """The public state of these worlds."""
    keys, states = [], np.empty((len(rows), num_players(game)), np.int64)
    for seat in range(num_players(game)):
        found, states[:, seat] = np.unique(seat_keys(game, rows, seat), return_inverse=True)
        keys.append(found)
    return PublicState(game, public_key, rows, chance, keys, states)


@dataclass(frozen=True)
class Leaf:
    """A public state at which a tree is cut, and by which sequence each information state is reached there."""

    public: PublicState
    sequences: list[np.ndarray]  # by seat, int32 for each of its information states


def leaves(sequences: SequenceForm) -> list[Leaf]:
    """The public states at which the tree is cut, in the order in which they are met."""
    tree = sequences.tree
    shown = tree.public_keys[tree.leaves]
    inside = np.ones(tree.num_nodes, bool)
    inside[tree.leaves] = False
    inside[tree.terminals] = False
    if np.isin(shown, tree.public_keys[inside]).any():
        raise Unnoticed(
            f"{tree.game} cannot be cut at depth {tree.depth}: there the public does not notice that time passes; "
            "cut it where everybody sees something"
        )
    found = []
    _, firsts = np.unique(shown, return_index=True)
    for first in np.sort(firsts):
        which = np.flatnonzero(shown == shown[first])
        nodes = tree.leaves[which]
        public = public_state(tree.game, int(shown[first]), chosen(tree.leaf_rows, which), sequences.chance[nodes])
        by_seat = []
        for seat, keys in enumerate(public.keys):
            own = np.empty(len(keys), np.int32)
            own[public.states[:, seat]] = sequences.sequences[nodes, seat]
            by_seat.append(own)
        found.append(Leaf(public, by_seat))
    return found
