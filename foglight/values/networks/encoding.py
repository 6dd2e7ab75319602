"""Features of any public state, from a game's rules `public_features` and `private_features`.

A network that gives values for public states not listed in advance needs features that can be computed from a world.
They leave out the history that led there; the ranges carry the rest.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.compile import has_rule, kernel
from foglight.names import BadInput
from foglight.rules import MOST_FEATURES, Game, private_features, public_features
from foglight.solving.depth_limited.public import PublicState
from foglight.values.networks.layout import PADDING, Features, Layout
from foglight.worlds.expansion import chosen


def offers_features(game: Game) -> bool:
    """Whether a game has the rules for features."""
    return has_rule("public_features", type(game)) and has_rule("private_features", type(game))


def encode(publics: Sequence[PublicState]) -> Features:
    """The features of public states of a two-seat game, by the game's own rules."""
    game = publics[0].game
    if not offers_features(game):
        raise BadInput(f"{game} offers no features; play it without a network")
    common = [offered_public(game, chosen(public.rows, np.zeros(1, np.int64))) for public in publics]
    private = []
    for public in publics:
        for seat in range(2):
            rows = chosen(public.rows, np.unique(public.states[:, seat], return_index=True)[1])
            private.append(_with_seat(offered_private(game, rows, seat), seat))
    size = sum(map(len, private))
    return _features(publics, np.concatenate(common), np.concatenate(private), np.full(size, PADDING))


def listed(publics: Sequence[PublicState], layout: Layout) -> Features:
    """The features of public states of a trunk, or of parts of them, from the trunk's layout."""
    numbers = layout.chosen([public.key for public in publics])
    where: list[tuple[int, np.ndarray]] = []
    for number, public in zip(numbers.tolist(), publics, strict=True):
        keys = layout.keys[number]
        order = np.argsort(keys)
        for own in public.keys:
            columns = order[np.searchsorted(keys, own, sorter=order).clip(max=len(keys) - 1)]
            if (keys[columns] != own).any():
                raise BadInput(
                    "the network does not know all of these information states; take the trunk it was trained for"
                )
            where.append((number, columns))
    private = np.concatenate([layout.private[number, columns] for number, columns in where])
    places = np.concatenate([layout.places[number, columns] for number, columns in where])
    return _features(publics, layout.public[numbers], private, places)


def _features(publics: Sequence[PublicState], common: np.ndarray, private: np.ndarray, places: np.ndarray) -> Features:
    """Add to these features the seats, public states and histories of the information states."""
    sizes = np.array([[len(keys) for keys in public.keys] for public in publics])
    of = np.repeat(np.arange(len(publics)), sizes.sum(1))
    seats = np.repeat(np.tile([0, 1], len(publics)), sizes.ravel())
    firsts = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(-1, 2)
    pairs = np.concatenate([public.states + first for public, first in zip(publics, firsts, strict=True)])
    chance = np.concatenate([public.chance / public.chance.max() for public in publics])
    return Features(common, private, places, of, seats, pairs, chance)


def _with_seat(features: np.ndarray, seat: int) -> np.ndarray:
    """Features with two more columns: the seat, one-hot."""
    turns = np.zeros((len(features), 2), np.float32)
    turns[:, seat] = 1.0
    return np.concatenate([features, turns], axis=1)


def offered_public(game: Game, rows: Any) -> np.ndarray:
    """The game's features of the public state of each world, float32[n, F]."""
    out = np.zeros((len(rows), MOST_FEATURES), np.float32)
    return out[:, : _write_public(game, rows, out)]


def offered_private(game: Game, rows: Any, seat: int) -> np.ndarray:
    """The game's features of a seat's information state in each world, float32[n, G]."""
    out = np.zeros((len(rows), MOST_FEATURES), np.float32)
    return out[:, : _write_private(game, rows, seat, out)]


@kernel
def _write_public(game, rows, out):
    n = 0
    for i in range(len(rows)):
        n = public_features(game, rows[i], out[i])
    return n


@kernel
def _write_private(game, rows, seat, out):
    n = 0
    for i in range(len(rows)):
        n = private_features(game, rows[i], seat, out[i])
    return n
