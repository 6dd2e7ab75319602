"""Perfect information Monte Carlo [Long2010]: EPIMC that looks one decision ahead, and sees open worlds from there."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from foglight.agents.epimc import RECORDED, Epimc
from foglight.names import OneOf
from foglight.search.paths.open_worlds import try_every_action
from foglight.worlds.tracker import Worlds

_EVERY, _ONE = range(2)


@dataclass
class Pimc(Epimc):
    """tries each action in sampled worlds, as if all cards lay open from then on"""

    tries: Annotated[int, OneOf("every", "one")] = _EVERY
    depth: int = field(init=False, default=1)
    subgame: int = field(init=False, default=RECORDED)
    least: float = field(init=False, default=0.0)
    explore: float = field(init=False, default=0.0)

    def search(self, held: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        """Algorithm 1 of [Arjonilla2024] tries every action in each world, Algorithm 2 at depth 1 a random one."""
        if self.tries == _ONE:
            return super().search(held, actions, random, begin)
        self._held = held
        sums, worlds = np.zeros(len(actions)), 0

        def run(n: int) -> None:
            nonlocal worlds
            each = max(1, n // len(actions))
            try_every_action(self.game, self._leaf, held.rows, held.weights, random, each, sums)
            worlds += each

        self.spend(begin, run)
        values = (sums / worlds).tolist()
        notes = {"depth": 1, "states": 1, "worlds tried": worlds}
        return worlds * len(actions), int(np.argmax(sums)), values, [worlds] * len(actions), notes
