"""Information set Monte Carlo tree search [Cowling2012], as every seat sees it, or as the searching seat does."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._searching import Searcher
from foglight.names import Between, OneOf
from foglight.rules import Game
from foglight.search.leaves import minimax, rollout
from foglight.search.trees.ismcts import Growth
from foglight.worlds.tracker import Worlds


@dataclass
class Ismcts(Searcher):
    """grows one tree over all worlds by UCB; plays what it has tried most"""

    exploration: Annotated[float, Between(0, 1000)] = 1.0
    observers: Annotated[int, OneOf("single", "multi")] = 1
    leaf: Annotated[int, OneOf("rollout", "minimax")] = 0
    nodes: Annotated[int, Between(1, 10**8)] = 1_000_000  # 24 bytes each, times 2 to 4

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._leaf = minimax(self.game) if self.leaf else rollout(self.game)

    def search(self, held: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        growth = Growth(self.game, self.seat, self.observers, self.exploration, self.nodes)
        done = self.spend(begin, lambda n: growth.run(self._leaf, held.rows, held.weights, random, n))
        values, visits = growth.root(held.rows[0], actions)
        order = np.lexsort((np.nan_to_num(values, nan=-np.inf), visits))
        notes = {"nodes": int(growth.used[0])}
        return done, int(order[-1]), values.tolist(), visits.tolist(), notes
