"""The belief of a searching seat, in any game: the worlds in which it is its turn.

Trick-taking games that promise to hide only cards yield independent exact samples at any time. All other games are
tracked observation by observation. If the promise is missing and there are too many worlds to track, deals are drawn
all the same and filtered by the rules: these are legal worlds, but perhaps not all kinds of them.

Without a policy all choices of seats count alike, and a history as much as chance makes it likely. In native games but
one all histories are then alike, since what chance may do is equally likely there. With a policy, a world has the
probability that chance and the other seats lead to it; the seat's own choices are left out. The policy is one of
`foglight.policies`, or an agent's (`asked.py`).

A belief is lost if no world was found that explains the observations. The seat then goes on from the nearest worlds
(`worlds/nearest.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from foglight.compile import implements
from foglight.names import BadInput
from foglight.randomness import fold
from foglight.rules import Game, begin, key, new_worlds
from foglight.search.asked import MOST, Ask, Asked, log_odds
from foglight.search.sensible import Sensible
from foglight.worlds.deals.cards import are_deals_better, is_chance_even, worlds_in_layers
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.story import Unfit
from foglight.worlds.nearest import allowing, random_values, with_observations
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_INTERPRETED_CAP = 300  # worlds tracked where only Python can step them, a thousand times slower
_FEW = 500  # if fewer worlds are affordable, owners are guessed from pairs of cards
_HOPELESS = 1_000_000  # worlds after the deal above which tracking a sample of them is hopeless


class ChanceAlone(NamedTuple):
    """In place of a policy: what seats do counts alike, and only chance makes a history more or less likely."""


@implements(ChanceAlone, "weigh")
def _weigh_alike(policy, game, world, seat, actions, n, out):
    for i in range(n):
        out[i] = 1.0


class Belief:
    """The belief of one seat through one game.

    `cap` bounds the worlds. `policy` is how the other seats play, or `ask` gives their probabilities; with neither, all
    choices of seats count alike.
    """

    def __init__(self, game: Game, seat: int, cap: int, seed: int, policy: Any = None, ask: Ask | None = None) -> None:
        self.game, self.seat, self.cap, self.seed, self.policy = game, seat, cap, seed, policy
        self.observations: list[int] = []
        self.notes: dict[str, Any] = {}  # what is to be said about the worlds of the last call
        self._asked = None if ask is None else Asked(game, seat, ask)
        if policy is None and not is_chance_even(game):
            self.policy = ChanceAlone()
        self._tracker: Tracker | None = None
        if not are_deals_better(game, cap):
            self._track(cap)

    @property
    def lost(self) -> bool:
        """Whether there was an observation that no world explains."""
        return self._tracker is not None and self._tracker.strays > 0

    def _track(self, cap: int) -> None:
        compiled = isinstance(self.game, tuple)
        self._tracker = Tracker(
            self.game,
            self.seat,
            cap=cap if compiled else min(cap, _INTERPRETED_CAP),
            policy=self.policy if self._asked is None else self._asked.start(),
            seed=self.seed,
            refill=not isinstance(self.policy, Sensible),
        )

    def observe(self, observation: int) -> None:
        self.observations.append(observation)
        if self._tracker is not None:
            self._follow(self._tracker, observation)

    def key(self, otherwise: int) -> int:
        """The key of the seat's information state in a world that explains its observations, if worlds are tracked."""
        if self._tracker is None:
            return otherwise
        return int(key(self.game, self._tracker.worlds(turn_only=False).rows[0], self.seat))

    def _follow(self, tracker: Tracker, observation: int) -> None:
        if self._asked is not None:
            worlds = tracker.worlds(turn_only=False)
            tracker.weigh_by(self._asked.follow(worlds.rows, worlds.weights, observation))
        try:
            tracker.observe(observation)
        except BeliefLost:
            tracker.stray(observation)

    def worlds(self, actions: list[int] | None = None) -> Worlds:
        """At most `cap` worlds; if the belief is lost, the nearest ones in which exactly these actions are legal.

        Raises BeliefLost if there are none of these either, or if no actions are given.
        """
        self.notes = {}
        worlds = self._possible()
        if worlds is None:
            worlds = self._nearest(actions) if actions else None
            if worlds is None or len(worlds.weights) == 0:
                raise BeliefLost(f"seat {self.seat} has lost track of {self.game}")
            self.notes["belief"] = f"lost; went on from {len(worlds.weights):,} nearest worlds"
        if self._asked is not None:
            few = f", {self._asked.uniform:,} more taken as uniform" if self._asked.uniform else ""
            self.notes["weights"] = f"asked at {len(self._asked.answers):,} information states{few}"
        return worlds

    def random_values(self, actions: list[int], random: np.ndarray) -> np.ndarray:
        """By action, the mean payoff of random play where it is legal: in the last worlds, or else in any; or nan."""
        values = np.full(len(actions), np.nan)
        if self._tracker is not None:
            values = random_values(self.game, self.seat, self._tracker.worlds(turn_only=False).rows, actions, random)
        if np.isnan(values).all():
            first = new_worlds(self.game, _FEW)
            for world in first:
                begin(self.game, world)
            values = random_values(self.game, self.seat, first, actions, random)
        return values

    def _possible(self) -> Worlds | None:
        """Worlds that explain all observations; None if none was found."""
        if self._tracker is None:
            for guess in (False, True):
                try:
                    return self._dealt(guess)
                except Unfit:
                    continue
            self._catch_up()
        if self._tracker is None or self.lost:
            return None
        try:
            return self._tracker.worlds()
        except BeliefLost:
            return None

    def _nearest(self, actions: list[int]) -> Worlds | None:
        if self._tracker is not None:
            return self._tracker.nearest(actions)
        random = np.array([fold(self.seed, len(self.observations))], np.uint64)
        back = 1
        while back <= len(self.observations):  # deals that explain all but the last observations
            try:
                deals = DealFilter(self.game, self.observations[:-back], self.seat, guess=True)
                rows = deals.sample_worlds(max(1, deals.affordable(min(self.cap, _FEW))), int(random[0]) >> 1)
            except BadInput:
                rows = np.empty(0)
            if len(rows):
                equal = np.full(len(rows), 1.0 / len(rows))
                rows, weights = allowing(self.game, self.seat, rows, equal, actions, random)
                if len(weights):
                    return Worlds(with_observations(self.game, rows, self.seat, self.observations), weights, False)
            back *= 2
        return None

    def _catch_up(self) -> None:
        """Start tracking where deals have failed, unless there are far too many worlds."""
        if worlds_in_layers(self.game) > _HOPELESS:
            return
        self._track(self.cap)
        assert self._tracker is not None
        for observation in self.observations:
            self._follow(self._tracker, observation)

    def _dealt(self, guess: bool) -> Worlds:
        """Worlds drawn from deals; with `guess` without relying on the game's promises."""
        filter_ = DealFilter(self.game, self.observations, self.seat, None, self.seat, guess=guess)
        seed = int(fold(self.seed, len(self.observations))) >> 1
        n = filter_.affordable(self.cap)
        if n < (1 if guess else min(self.cap, _FEW)):
            raise Unfit(f"too few deals agree with all rules of {self.game}")
        if self.policy is None and self._asked is None:
            rows = filter_.sample_worlds(n, seed)
            return Worlds(rows, np.full(len(rows), 1.0 / len(rows)), False)
        if self._asked is not None:
            histories, _, rows = filter_.weighted(min(n, MOST), seed)
            logs = self._asked.odds(histories)
        else:
            histories, _, rows = filter_.weighted(n, seed)
            logs = log_odds(self.game, self.policy, histories, self.seat)
        best = logs.max()
        if best == -np.inf:  # the policy is wrong about some seat
            return Worlds(rows, np.full(len(rows), 1.0 / len(rows)), False)
        weights = np.exp(logs - best)
        return Worlds(rows[: len(weights)], weights / weights.sum(), False)
