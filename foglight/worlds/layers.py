"""Filtering any game by layers of distinct worlds [Solinas2023, Theorem 2]: one pass forward, then walks back.

A layer holds the distinct worlds that explain the first t observations after the same number of unnoticed transitions.
Each world keeps its entries: the worlds of earlier layers that lead to it, by which action and with which probability.
So

    count(world)  = sum of count(parent) over its entries         exact integers, no history is ever listed
    weight(world) = sum of weight(parent) * odds(entry)           reach probabilities, rescaled layer by layer

A history is drawn by choosing a last world by weight and then entries backwards (forward filtering, backward sampling).
The cost is the number of distinct worlds and transitions, which `limit` bounds; it is polynomial exactly where the
public tree is sparse.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from foglight.names import BadInput
from foglight.rules import NOTHING, Game, begin, key, new_worlds, player
from foglight.state import State, replay
from foglight.worlds.expansion import as_array, transitions

_MANY = 2.0**60  # histories from which on counts are Python integers


class Entry(NamedTuple):
    """Transitions from the worlds of one layer to those of another."""

    source: int  # number of the source layer
    parents: np.ndarray  # int64[e]: worlds of the source layer
    actions: np.ndarray  # int64[e]
    children: np.ndarray  # int64[e]: worlds of the target layer, ascending
    odds: np.ndarray  # float64[e]


class Layer(NamedTuple):
    """The distinct worlds of a layer, and the transitions into them."""

    rows: np.ndarray  # uint64[n, W]
    weights: np.ndarray  # float64[n], divided by the layer's scale
    counts: np.ndarray  # histories, int64[n] while that suffices, then Python integers
    entries: list[Entry]


class Layers:
    """The histories that give `viewer` exactly these observations."""

    def __init__(
        self, game: Game, observations: Sequence[int], viewer: int, policy: Any, limit: int, mover: int | None = None
    ) -> None:
        self.game, self.viewer, self.limit = game, viewer, limit
        self.observations = list(observations)
        self.policy = policy
        self._sampled = 0  # histories in the last sample
        start = as_array(new_worlds(game, 1))
        begin(game, start[0])
        self.layers = [Layer(start, np.ones(1), np.ones(1, np.int64), [])]
        self.log_scale = 0.0
        last = [0]
        for observation in self.observations:
            last = self._advance(self._with_unnoticed(last), observation)
        last = self._with_unnoticed(last)
        self.ends = [  # (layer, world) where a history may end
            (i, world)
            for i in last
            for world, row in enumerate(self.layers[i].rows)
            if mover is None or player(game, row) == mover
        ]

    # The five problems -------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        return bool(self.ends)

    def construct(self, seed: int = 0) -> State:
        return self.sample(1, seed)[0]

    def count(self) -> int:
        return sum(int(self.layers[i].counts[world]) for i, world in self.ends)

    def enumerate(self) -> Iterator[tuple[State, float]]:
        self._require()
        for end in self.ends:
            for actions, odds in self._histories(*end):
                yield replay(self.game, actions), odds

    def sample(self, n: int, seed: int = 0) -> list[State]:
        return [replay(self.game, actions) for actions in self.sample_actions(n, seed)]

    def sample_actions(self, n: int, seed: int = 0) -> list[list[int]]:
        """The actions of n histories drawn in proportion to their weights."""
        self._require()
        self._sampled = n
        random = np.random.default_rng(seed)
        weights = np.array([self.layers[i].weights[world] for i, world in self.ends])
        chosen = random.choice(len(self.ends), size=n, p=weights / weights.sum())
        return [self._drawn(self.ends[int(c)], random) for c in chosen]

    def diagnostics(self) -> dict[str, Any]:
        return {
            "method": "layers",
            "exact": True,
            "worlds": len(self.ends),
            "largest_layer": max(len(layer.rows) for layer in self.layers),
            "layers": len(self.layers),
            "effective": float(self._sampled),
        }

    def ranges(self, seat: int) -> dict[int, tuple[float, int, int]]:
        """By key, the information states that `seat` may be in: weight, and layer and number of one of the worlds."""
        states: dict[int, tuple[float, int, int]] = {}
        for i, world in self.ends:
            number = int(key(self.game, self.layers[i].rows[world], seat))
            weight, *where = states.get(number, (0.0, i, world))
            states[number] = (weight + float(self.layers[i].weights[world]), where[0], where[1])
        return states

    def one_history(self, layer: int, world: int) -> State:
        """One history that leads to this world."""
        return replay(self.game, self._drawn((layer, world), np.random.default_rng(0)))

    def _require(self) -> None:
        if not self.exists():
            raise BadInput(f"no history gives these {len(self.observations)} observations; check with exists() first")

    # Walking back ------------------------------------------------------------------------------------------------

    def _into(self, layer: int, world: int) -> Iterator[tuple[int, int, int, float]]:
        """The entries of a world: the layer and world before, the action, its probability."""
        for entry in self.layers[layer].entries:
            low, high = np.searchsorted(entry.children, [world, world + 1])
            for e in range(low, high):
                yield entry.source, int(entry.parents[e]), int(entry.actions[e]), float(entry.odds[e])

    def _drawn(self, end: tuple[int, int], random: np.random.Generator) -> list[int]:
        """The actions of a random history that ends in this world, drawn backwards by weight."""
        layer, world = end
        actions: list[int] = []
        while layer != 0:
            ways = list(self._into(layer, world))
            weights = np.array([self.layers[before].weights[parent] * odds for before, parent, _, odds in ways])
            layer, world, action, _ = ways[int(random.choice(len(ways), p=weights / weights.sum()))]
            actions.append(action)
        return actions[::-1]

    def _histories(self, layer: int, world: int) -> Iterator[tuple[list[int], float]]:
        """Every history that leads to this world, with its reach probability."""
        stack: list[tuple[int, int, tuple[int, ...], float]] = [(layer, world, (), 1.0)]
        while stack:
            at, here, after, odds = stack.pop()
            if at == 0:
                yield list(after), odds
            for before, parent, action, share in self._into(at, here) if at else ():
                stack.append((before, parent, (action, *after), odds * share))

    # Going forward -----------------------------------------------------------------------------------------------

    def _with_unnoticed(self, sources: list[int]) -> list[int]:
        """The numbers of these layers and of the layers that unnoticed transitions lead to."""
        reached, front = list(sources), list(sources)
        while front:
            layer = self._layer(front, NOTHING)
            front = []
            if layer is not None:
                self.layers.append(layer)
                front = [len(self.layers) - 1]
            reached += front
        return reached

    def _advance(self, sources: list[int], observation: int) -> list[int]:
        """Append the layer after the viewer's next observation; returns its number, or none if no world explains it."""
        layer = self._layer(sources, observation)
        if layer is None:
            return []
        scale = layer.weights.max()
        if scale > 0.0:
            self.log_scale += math.log(scale)
            layer = layer._replace(weights=layer.weights / scale)
        self.layers.append(layer)
        return [len(self.layers) - 1]

    def _layer(self, sources: list[int], observation: int) -> Layer | None:
        """The distinct worlds after those of some layers, when the viewer observes this; None if there are none."""
        rules = self.game, self.policy
        every = [(i, transitions(*rules, self.layers[i].rows, self.viewer, observation)) for i in sources]
        incoming = [(i, steps) for i, steps in every if len(steps.rows)]
        if not incoming:
            return None
        rows, children = _distinct(self._told_apart(np.concatenate([steps.rows for _, steps in incoming])))
        self._check_size(len(rows))
        weights, counts, entries = np.zeros(len(rows)), np.zeros(len(rows), np.int64), []
        big = sum(float(self.layers[i].counts[steps.parents].sum()) for i, steps in incoming) > _MANY
        if big:
            counts = counts.astype(object)
        begin_ = 0
        for i, (_, parents, actions, odds, _) in incoming:
            source = self.layers[i]
            into = children[begin_ : begin_ + len(parents)]
            begin_ += len(parents)
            np.add.at(weights, into, source.weights[parents] * odds)
            np.add.at(counts, into, source.counts.astype(object)[parents] if big else source.counts[parents])
            order = np.argsort(into, kind="stable")
            entries.append(Entry(i, parents[order], actions[order], into[order], odds[order]))
        return self._kept(Layer(rows, weights, counts, entries))

    # What a kind of layers may do otherwise ----------------------------------------------------------------------

    def _told_apart(self, rows: np.ndarray) -> np.ndarray:
        """Worlds with all that tells them apart."""
        return rows

    def _check_size(self, worlds: int) -> None:
        """Refuse a layer that is too large."""
        if worlds > self.limit:
            raise BadInput(
                f"more than {self.limit} worlds agree with the first observations; "
                "raise the limit, or use fl.Tracker, which keeps a sample of them"
            )

    def _kept(self, layer: Layer) -> Layer:
        """The worlds of a layer that are kept."""
        return layer


def _distinct(worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct worlds, and for each world its index among them."""
    if worlds.dtype != object:
        rows, which = np.unique(worlds, axis=0, return_inverse=True)
        return rows, which.reshape(-1)
    place: dict[bytes, int] = {}
    which = np.array([place.setdefault(world.tobytes(), len(place)) for world in worlds], np.int64)
    return worlds[np.unique(which, return_index=True)[1]], which
