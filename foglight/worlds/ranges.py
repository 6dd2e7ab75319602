"""FILTER-RANGE [Solinas2023]: the information states of one seat among the histories of a filter."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from foglight.names import BadInput
from foglight.rules import num_words
from foglight.state import replay
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.layers import Layers


class RangeFilter:
    """The information states of one seat that agree with a viewer's observations, each as a list of observations."""

    def __init__(self, layers: Layers, seat: int) -> None:
        self._layers, self.seat = layers, seat
        self._states = layers.ranges(seat)

    def exists(self) -> bool:
        return bool(self._states)

    def count(self) -> int:
        return len(self._states)

    def construct(self, seed: int = 0) -> list[int]:
        return self.sample(1, seed)[0]

    def enumerate(self) -> Iterator[tuple[list[int], float]]:
        """Each information state with its share of the total weight."""
        self._layers._require()
        total = sum(weight for weight, _, _ in self._states.values())
        for weight, layer, world in self._states.values():
            yield self._observed(layer, world), weight / total

    def sample(self, n: int, seed: int = 0) -> list[list[int]]:
        self._layers._require()
        states = list(self._states.values())
        weights = np.array([weight for weight, _, _ in states])
        chosen = np.random.default_rng(seed).choice(len(states), size=n, p=weights / weights.sum())
        return [self._observed(*states[c][1:]) for c in chosen]

    def _observed(self, layer: int, world: int) -> list[int]:
        return self._layers.one_history(layer, world).observations(self.seat)


class DealRangeFilter:
    """A `RangeFilter` for trick-taking games.

    Sampling lists no histories; counting and enumerating go through all of them.
    """

    def __init__(self, deals: DealFilter, seat: int, limit: int) -> None:
        self._deals, self.seat, self._limit = deals, seat, limit

    def exists(self) -> bool:
        return self._deals.exists()

    def count(self) -> int:
        return len(self._states[1]) if self.exists() else 0

    def construct(self, seed: int = 0) -> list[int]:
        return self._deals.construct(seed).observations(self.seat)

    def enumerate(self) -> Iterator[tuple[list[int], float]]:
        weights, histories = self._states
        for history, share in zip(histories, (weights / weights.sum()).tolist(), strict=True):
            yield replay(self._deals.game, history.tolist()).observations(self.seat), share

    def sample(self, n: int, seed: int = 0) -> list[list[int]]:
        return [state.observations(self.seat) for state in self._deals.sample(n, seed)]

    @cached_property
    def _states(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The weight of each information state, and one history that leads to it."""
        self._deals.histories.require()
        total = self._deals.histories.total
        if total > self._limit:
            raise BadInput(
                f"a range needs a list of all histories, and there are {total}, more than {self._limit}; "
                "raise the limit, or sample"
            )
        place: dict[int, int] = {}
        shares, shown = np.zeros(total), list[np.ndarray]()
        for histories, weights, worlds in self._deals.batches():
            keys = worlds[:, num_words(self._deals.game) + 1 + self.seat]
            hashes, first, which = np.unique(keys, return_index=True, return_inverse=True)
            for number, i in zip(hashes.tolist(), first.tolist(), strict=True):
                if place.setdefault(number, len(place)) == len(shown):
                    shown.append(histories[i])
            sums = np.bincount(which, weights, len(hashes))
            np.add.at(shares, [place[number] for number in hashes.tolist()], sums)
        return shares[: len(shown)], shown
