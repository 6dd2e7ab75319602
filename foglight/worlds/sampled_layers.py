"""Histories of games too large to list: layers of positions, of which a weighted sample is kept where they are many.

It is forward filtering and backward sampling as in `layers.py`, with two differences. Worlds that differ only in what
the viewers remember are one position, which merges most of the worlds of a phantom game; weights stay exact. And a
layer of more than `limit` positions is thinned to about so many, without bias. What is drawn is always a legal history
that shows the viewer exactly its observations. It is drawn with exactly the right probability while nothing was
thinned; `exact` says so. Thinned layers may die out: then no history is found, though there is one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foglight.policies import Uniform
from foglight.rules import Game, num_words, player
from foglight.worlds.expansion import thin
from foglight.worlds.layers import Entry, Layer, Layers


class SampledLayers(Layers):
    """Histories that give `viewer` exactly these observations, from layers of at most `limit` positions."""

    def __init__(
        self,
        game: Game,
        observations: Sequence[int],
        viewer: int,
        policy: Any,
        limit: int,
        mover: int | None = None,
        seed: int = 0,
    ) -> None:
        self.exact = True
        self._random = np.random.default_rng(seed)
        super().__init__(game, observations, viewer, policy, limit, mover)

    def keep_ends(self, fits: Callable[[int], bool]) -> None:
        """Keep the histories after which the mover is one of these."""
        self.ends = [(i, world) for i, world in self.ends if fits(int(player(self.game, self.layers[i].rows[world])))]

    def _told_apart(self, rows: np.ndarray) -> np.ndarray:
        if rows.dtype != object and (self.policy is None or isinstance(self.policy, Uniform)):
            rows[:, num_words(self.game) :] = 0  # what viewers remember; no policy reads it
        return rows

    def _check_size(self, worlds: int) -> None:
        """Any size is welcome: `_kept` thins it."""

    def _kept(self, layer: Layer) -> Layer:
        if len(layer.rows) <= self.limit:
            return layer
        self.exact = False
        kept, weights, _ = thin(layer.weights, self.limit, float(self._random.random()))
        number = np.full(len(layer.rows), -1, np.int64)
        number[kept] = np.arange(len(kept))
        entries = []
        for source, parents, actions, children, odds in layer.entries:
            stays = number[children] >= 0
            entries.append(Entry(source, parents[stays], actions[stays], number[children[stays]], odds[stays]))
        return Layer(layer.rows[kept], weights, layer.counts[kept], entries)
