"""The belief of a searching seat, in any game: the worlds in which it is its turn.

Trick-taking games that promise to hide only cards yield independent exact samples at any time. All other games are
tracked observation by observation. If the promise is missing and there are too many worlds to track, deals are drawn
all the same and filtered by the rules: these are legal worlds, but perhaps not all kinds of them.
"""

import numpy as np

from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import fold
from foglight.rules import Game
from foglight.worlds.deals.cards import are_deals_better, worlds_in_layers
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.story import Unfit
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_INTERPRETED_CAP = 300  # worlds tracked where only Python can step them, a thousand times slower
_FEW = 500  # if fewer worlds are affordable, owners are guessed from pairs of cards
_HOPELESS = 1_000_000  # worlds after the deal above which tracking a sample of them is hopeless


class Belief:
    """The belief of one seat through one game.

    `cap` bounds the worlds. `uniform_play` weighs worlds by their reach probability under uniformly random play.
    """

    def __init__(self, game: Game, seat: int, cap: int, seed: int, uniform_play: bool = False) -> None:
        self.game, self.seat, self.cap, self.seed = game, seat, cap, seed
        self.policy = Uniform() if uniform_play else None
        self.observations: list[int] = []
        self.lost = False
        self._tracker: Tracker | None = None
        if not are_deals_better(game, cap):
            self._track(cap)

    def _track(self, cap: int) -> None:
        compiled = isinstance(self.game, tuple)
        self._tracker = Tracker(
            self.game,
            self.seat,
            cap=cap if compiled else min(cap, _INTERPRETED_CAP),
            policy=self.policy,
            seed=self.seed,
        )

    def observe(self, observation: int) -> None:
        self.observations.append(observation)
        if self._tracker is not None and not self.lost:
            self._follow(self._tracker, observation)

    def _follow(self, tracker: Tracker, observation: int) -> None:
        try:
            tracker.observe(observation)
        except BeliefLost:
            self.lost = True

    def worlds(self) -> Worlds:
        """At most `cap` worlds; raises BeliefLost if none can be found."""
        if self._tracker is None:
            for guess in (False, True):
                try:
                    return self._dealt(guess)
                except Unfit:
                    continue
            self._catch_up()
        if self._tracker is None or self.lost:
            raise BeliefLost(f"seat {self.seat} has lost track of {self.game}")
        return self._tracker.worlds()

    def _catch_up(self) -> None:
        """Start tracking where deals have failed, unless there are far too many worlds."""
        if worlds_in_layers(self.game) > _HOPELESS:
            return
        self._track(self.cap)
        assert self._tracker is not None
        for observation in self.observations:
            if not self.lost:
                self._follow(self._tracker, observation)

    def _dealt(self, guess: bool) -> Worlds:
        """Worlds drawn from deals; with `guess` without relying on the game's promises."""
        filter_ = DealFilter(self.game, self.observations, self.seat, self.policy, self.seat, guess=guess)
        seed = int(fold(self.seed, len(self.observations))) >> 1
        n = filter_.affordable(self.cap)
        if n < (1 if guess else min(self.cap, _FEW)):
            raise Unfit(f"too few deals agree with all rules of {self.game}")
        if self.policy is None:
            rows = filter_.sample_worlds(n, seed)
            return Worlds(rows, np.full(len(rows), 1.0 / len(rows)), False)
        _, weights, rows = filter_.weighted(n, seed)
        if not weights.any():
            raise BadInput(f"random play never leads to the observations of seat {self.seat}")
        return Worlds(rows, weights / weights.sum(), False)
