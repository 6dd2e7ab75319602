"""All worlds that agree with a viewer's observations, by breadth-first enumeration [Solinas2023, Theorem 2].

A layer is the set of distinct worlds that explain the first t observations (`expansion.py`). A transition that shows
the viewer the next observation leads to the next layer; one that shows nothing stays in its layer; any other is
impossible. The result is exact. The cost grows with the number of distinct worlds in the layers, which `limit` bounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import Game, begin, legal, max_legal, new_worlds, player
from foglight.worlds.expansion import Expansion


def consistent_worlds(game: str | Game, observations: Sequence[int], viewer: int, limit: int = 1_000_000) -> Any:
    """The distinct worlds in which `viewer` has observed exactly this, as rows in ascending order, perhaps none.

    Boxed worlds come as a list, in no particular order.
    """
    game = load_game(game)
    rows = new_worlds(game, 1)
    begin(game, rows[0])
    boxed = isinstance(rows, list)
    expansion, random = Expansion(game, viewer, None, 0 if boxed else rows.shape[1]), np.zeros(1, np.uint64)
    layer = expansion.close(rows, np.ones(1), limit, random)
    for observation in observations:
        if layer.thinned:
            break
        layer = expansion.follow(layer.rows, layer.weights, observation, limit, random)
    if layer.thinned:
        raise BadInput(f"more than {limit} worlds agree with these observations; raise the limit")
    return layer.rows if boxed else np.unique(layer.rows, axis=0)


def legal_actions(game: str | Game, observations: Sequence[int], seat: int) -> list[int]:
    """The legal actions of `seat` when it is to move after these observations, which determine them."""
    game = load_game(game)
    out = np.empty(max_legal(game), np.int64)
    n = _legal_somewhere(game, consistent_worlds(game, observations, seat), seat, out)
    if n == 0:
        raise BadInput(f"seat {seat} has no move after the observations {list(observations)}")
    return out[:n].tolist()


def check_actions(game: Game, worlds: Any, seat: int, actions: Sequence[int]) -> None:
    """Raise BadInput if these are not the legal actions of `seat`, which is to move in these worlds.

    Kernels trust the actions: with others they would write where they must not.
    """
    out = np.empty(max_legal(game), np.int64)
    possible = out[: _legal_somewhere(game, worlds, seat, out)].tolist()
    if list(actions) != possible:
        raise BadInput(f"the actions {list(actions)} are given as legal; after the observations {possible} are")


@kernel
def _legal_somewhere(game, worlds, seat, out):
    """Write the legal actions of the first world in which `seat` moves; returns how many, 0 without such a world."""
    for i in range(len(worlds)):
        if player(game, worlds[i]) == seat:
            return legal(game, worlds[i], out)
    return 0
