"""Perfect information Monte Carlo [Long2010]: EPIMC of depth 1, with perfect information after the first decision."""

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
    """Tries each action in sampled worlds, and values it with perfect information from then on."""

    strength = "plays well, but thinks that all will be revealed"

    tries: Annotated[int, "what is tried in a sampled world: every action, or a random one", OneOf("every", "one")] = (
        _EVERY
    )
    depth: int = field(init=False, default=1)
    subgame: int = field(init=False, default=RECORDED)
    least: float = field(init=False, default=0.0)
    explore: float = field(init=False, default=0.0)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        """Algorithm 1 of [Arjonilla2024] tries every action in each world, Algorithm 2 at depth 1 a random one."""
        if self.tries == _ONE:
            return super().search(worlds, actions, random, begin)
        self._worlds = worlds
        sums, samples = np.zeros(len(actions)), 0

        def run(n: int) -> None:
            nonlocal samples
            each = max(1, n // len(actions))
            try_every_action(self.game, self._leaf, worlds.rows, worlds.weights, random, each, sums)
            samples += each

        self.spend(begin, run)
        values = (sums / samples).tolist()
        notes = {"depth": 1, "states": 1, "worlds tried": samples}
        return samples * len(actions), int(np.argmax(sums)), values, [samples] * len(actions), notes
