"""History filtering [Solinas2023]: what may have happened, given what somebody has observed.

    FILTER          viewer=PUBLIC: the histories of a public state that a joint policy may reach
    FILTER-BELIEF   viewer=seat: the histories of that seat's information state
    FILTER-RANGE    .range(seat): the information states of a seat within it

each with five problems: exists, construct, count, enumerate, sample. A history belongs to the observations if it gives
the viewer exactly them, whoever moves next, unless a mover is asked for: a seat that is asked to act knows that it is
its turn. Without a policy every history counts alike; with one, its weight is its reach probability, chance included.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from foglight.cards.tricks import is_trick_taking
from foglight.games import load_game
from foglight.names import BadInput, unknown
from foglight.rules import PUBLIC, formula, num_players
from foglight.state import State, replay
from foglight.worlds.deals import DealFilter
from foglight.worlds.layers import Layers
from foglight.worlds.marginals import Marginals, marginals
from foglight.worlds.sat import Sat

METHODS = ("auto", "layers", "deals", "sat")


class HistoryFilter:
    """The histories that agree with a viewer's observations."""

    def __init__(
        self,
        game: Any,
        observations: Sequence[int],
        viewer: int,
        policy: Any,
        method: str,
        limit: int,
        mover: int | None,
    ) -> None:
        self.game = load_game(game)
        self.observations = [int(observation) for observation in observations]
        self.viewer, self._limit = viewer, limit
        if method not in METHODS:
            raise BadInput(unknown("filter method", method, METHODS))
        if not PUBLIC <= viewer < num_players(self.game):
            raise BadInput(
                f"there is no viewer {viewer}; give a seat from 0 to {num_players(self.game) - 1}, or PUBLIC"
            )
        self.method = self._chosen(method, policy, mover)
        self._worker: Any
        if self.method == "sat":
            self._worker = Sat(self.game, self.observations, viewer, policy, limit)
        elif self.method == "deals":
            self._worker = DealFilter(self.game, self.observations, viewer, policy, mover)
        else:
            self._worker = Layers(self.game, self.observations, viewer, policy, limit, mover)

    def _chosen(self, method: str, policy: Any, mover: int | None) -> str:
        if method != "auto":
            return method
        if is_trick_taking(self.game):
            return "deals"
        if mover is not None or policy is not None or importlib.util.find_spec("pysat") is None:
            return "layers"
        return "layers" if formula(self.game, self.observations, self.viewer) is None else "sat"

    def exists(self) -> bool:
        """Whether anything could have led there."""
        return bool(self._worker.exists())

    def construct(self, seed: int = 0) -> State:
        """Some history that could have."""
        state: State = self._worker.construct(seed)
        return state

    def count(self) -> int:
        """How many there are, exactly."""
        return int(self._worker.count())

    def enumerate(self) -> Iterator[tuple[State, float]]:
        """All of them, each with its reach probability, or 1 without a policy."""
        yield from self._worker.enumerate()

    def sample(self, n: int, seed: int = 0) -> list[State]:
        """Draws in proportion to the weights: independent, or from chains, as `diagnostics` tells."""
        if n < 0:
            raise BadInput(f"cannot draw {n} histories; give a number of at least 0")
        states: list[State] = self._worker.sample(n, seed)
        return states

    def belief(self, most: int = 2000, seed: int = 0) -> Marginals:
        """What is where, how likely, at the end of these histories: exact, or from `most` draws if there are more."""
        if isinstance(self._worker, Layers) and len(self._worker.ends) <= most:
            self._worker._require()
            ends = [(self._worker.layers[i], world) for i, world in self._worker.ends]
            worlds, weights = [layer.rows[w] for layer, w in ends], [float(layer.weights[w]) for layer, w in ends]
            return marginals(self.game, worlds, weights, exact=True)
        worlds = [state.world for state in self.sample(most, seed)]
        return marginals(self.game, worlds, [1.0] * len(worlds), exact=False)

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample was drawn, how many independent draws it is worth, and whether chains agree."""
        return dict(self._worker.diagnostics())

    def range(self, seat: int) -> "RangeFilter | DealRangeFilter":
        """The information states of a seat within these histories."""
        if not 0 <= seat < num_players(self.game):
            raise BadInput(f"there is no seat {seat}; {self.game} has seats 0 to {num_players(self.game) - 1}")
        if isinstance(self._worker, DealFilter):
            return DealRangeFilter(self._worker, seat, self._limit)
        if not isinstance(self._worker, Layers):
            raise BadInput(f"ranges need method='layers', not {self.method!r}")
        return RangeFilter(self._worker, seat)


class RangeFilter:
    """The information states of one seat that agree with a viewer's observations, each as what the seat observed."""

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
        """Each information state with its share of the weight."""
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
    """The same in a trick-taking game. Drawing lists nothing; counting and listing go through all histories."""

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
        return self._deals.ranges(self.seat, self._limit)


def history_filter(
    game: Any,
    observations: Sequence[int],
    viewer: int = PUBLIC,
    policy: Any = None,
    method: str = "auto",
    limit: int = 1_000_000,
    mover: int | None = None,
) -> HistoryFilter:
    """What may have happened, given that `viewer` has observed this; `limit` bounds the worlds held at a time.

    With `mover`, only histories after which that seat, or CHANCE, is to move.
    """
    return HistoryFilter(game, observations, viewer, policy, method, limit, mover)
