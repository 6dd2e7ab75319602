"""What a searching seat holds possible, whatever the game: the worlds in which it is its turn.

Trick-taking games give independent exact samples whenever they are asked for; all others are tracked move by move.
"""

from typing import Any

import numpy as np

from foglight.cards.tricks import is_trick_taking
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import fold
from foglight.worlds.deals import DealFilter
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_INTERPRETED_CAP = 300  # worlds that only Python can move are a thousand times slower


class Belief:
    """The belief of one seat through one game; `uniform_play` weighs worlds by how likely random play reaches them."""

    def __init__(self, game: Any, seat: int, cap: int, seed: int, uniform_play: bool = False) -> None:
        self.game, self.seat, self.cap, self.seed = game, seat, cap, seed
        self.policy = Uniform() if uniform_play else None
        self.observations: list[int] = []
        self.lost = False
        self._tracker: Tracker | None = None
        if not is_trick_taking(game):
            compiled = isinstance(game, tuple)
            self._tracker = Tracker(
                game, seat, cap=cap if compiled else min(cap, _INTERPRETED_CAP), policy=self.policy, seed=seed
            )

    def observe(self, observation: int) -> None:
        self.observations.append(observation)
        if self._tracker is not None and not self.lost:
            try:
                self._tracker.observe(observation)
            except BeliefLost:
                self.lost = True

    def worlds(self) -> Worlds:
        """At most `cap` worlds; raises BeliefLost if none can be found."""
        if self._tracker is not None:
            if self.lost:
                raise BeliefLost(f"seat {self.seat} has lost track of {self.game}")
            return self._tracker.worlds()
        filter_ = DealFilter(self.game, self.observations, self.seat, self.policy, self.seat)
        seed = int(fold(self.seed, len(self.observations))) >> 1
        if self.policy is None:
            rows = filter_.sample_worlds(self.cap, seed)
            return Worlds(rows, np.full(len(rows), 1.0 / len(rows)), False)
        rows, weights = filter_.weighted_worlds(self.cap, seed)
        if not weights.any():
            raise BadInput(f"random play never leads to what seat {self.seat} has seen")
        return Worlds(rows, weights / weights.sum(), False)
