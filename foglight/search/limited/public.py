"""The worlds that agree with what everybody has observed: where order 2 comes from if the last tree lacks it.

A seat's observations imply the public ones; a history that agrees with the former shows the latter. Where the public
observes much, as in dice, poker or Battleship, all worlds that agree with it can be kept. Those that the other seat
cannot tell from one of ours are what it may hold possible. Where there are too many, as in chess, the search goes
without them.
"""

import numpy as np

from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.rules import PUBLIC, Game
from foglight.worlds.expansion import TooLong
from foglight.worlds.layers import Layers
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_MOST_OWN = 4000  # worlds of a layer of the seat's own belief
_MOST = 30_000  # worlds that agree with the public observations


class PublicWorlds:
    """The worlds that agree with what everybody has observed, through one game."""

    def __init__(self, game: Game, seat: int) -> None:
        self.game, self.seat = game, seat
        self._tracker: Tracker | None = None
        self._given_up = not isinstance(game, tuple)

    @property
    def known(self) -> bool:
        """Whether all worlds could be listed so far."""
        return self._tracker is not None and not self._given_up

    def worlds(self, observations: list[int]) -> Worlds | None:
        """All worlds at the seat's turn, in a game with few enough; None in any other."""
        if self._given_up:
            return None
        try:
            layers = Layers(self.game, observations, self.seat, Uniform(), _MOST_OWN, self.seat)
            shown = layers.one_history(*layers.ends[0]).observations(PUBLIC)
            if self._tracker is None:
                self._tracker = Tracker(self.game, PUBLIC, cap=_MOST)
            for observation in shown[len(self._tracker.observations) :]:
                self._tracker.observe(observation)
            worlds = self._tracker.worlds(turn_only=False)
        except (BadInput, BeliefLost, TooLong):
            worlds = None
        if worlds is None or not worlds.exact:
            self._given_up = True
            return None
        return Worlds(np.asarray(worlds.rows), worlds.weights, True)
