"""Perfect information Monte Carlo [Long2010]: EPIMC of depth 1, with perfect information after the first decision."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from foglight.agents._leaf import ENGINE, LeafOrEngine
from foglight.agents.epimc import RECORDED, Epimc
from foglight.names import BadInput, OneOf
from foglight.rules import Game
from foglight.search.paths.open_worlds import every_child, try_every_action
from foglight.worlds.tracker import Worlds

_EVERY, _ONE = range(2)


@dataclass
class Pimc(Epimc):
    """Tries each action in sampled worlds, and values it with perfect information from then on."""

    strength = "plays well, but thinks that all will be revealed"

    tries: Annotated[int, "what is tried in a sampled world: every action, or a random one", OneOf("every", "one")] = (
        _EVERY
    )
    leaf: LeafOrEngine = "rollout"
    depth: int = field(init=False, default=1)
    subgame: int = field(init=False, default=RECORDED)
    least: float = field(init=False, default=0.0)
    explore: float = field(init=False, default=0.0)
    reuse: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.leaf == ENGINE and self.tries == _ONE:
            raise BadInput("leaf=engine values all actions in one call; leave out tries=one")
        self._leaf: Any = None

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.close()
        super().start(game, seat, seed)

    def close(self) -> None:
        """End the engine's process; it starts again when it is next needed."""
        if self.leaf == ENGINE and self._leaf is not None:
            self._leaf.close()

    def fusion(self, worlds: int = 200) -> tuple[int, int]:
        return (0, 0) if self.leaf == ENGINE else super().fusion(worlds)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        """Algorithm 1 of [Arjonilla2024] tries every action in each world, Algorithm 2 at depth 1 a random one."""
        if self.tries == _ONE:
            return super().search(worlds, actions, random, begin)
        self._worlds = worlds
        sums, samples = np.zeros(len(actions)), 0

        def run(n: int) -> None:
            nonlocal samples
            each = max(1, n // len(actions))
            if self.leaf == ENGINE:
                children = every_child(self.game, worlds.rows, worlds.weights, random, each, len(actions))
                payoffs = self._leaf.values(children).reshape(each, len(actions)).sum(axis=0)
                sums[:] += payoffs if self.seat == 0 else -payoffs
            else:
                try_every_action(self.game, self._leaf, worlds.rows, worlds.weights, random, each, sums)
            samples += each

        self.spend(begin, run)
        values = (sums / samples).tolist()
        notes = {"depth": 1, "states": 1, "worlds tried": samples}
        return samples * len(actions), int(np.argmax(sums)), values, [samples] * len(actions), notes
