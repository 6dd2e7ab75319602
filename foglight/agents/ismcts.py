"""Information set Monte Carlo tree search [Cowling2012], with the searching seat or every seat as an observer."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._searching import Searcher
from foglight.names import Between, OneOf
from foglight.rules import Game
from foglight.search.leaves import minimax, rollout
from foglight.search.trees.ismcts import MULTI, Growth
from foglight.worlds.tracker import Worlds


@dataclass
class Ismcts(Searcher):
    """Grows one tree over all worlds by UCB, and plays the action with the most visits."""

    strength = "strong, and hard to read"

    exploration: Annotated[float, "exploration constant of UCB", Between(0, 1000)] = 1.0
    observers: Annotated[
        int,
        "whose information states are the nodes: the searching seat's, or each mover's own",
        OneOf("single", "multi"),
    ] = MULTI
    leaf: Annotated[
        int, "value of a leaf: one random playout, or alpha-beta to the end", OneOf("rollout", "minimax")
    ] = 0
    nodes: Annotated[int, "most actions in the tree, of 24 bytes times 2 to 4", Between(1, 10**8)] = 1_000_000

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._leaf = minimax(self.game) if self.leaf else rollout(self.game)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        growth = Growth(self.game, self.seat, self.observers, self.exploration, self.nodes)
        done = self.spend(begin, lambda n: growth.run(self._leaf, worlds.rows, worlds.weights, random, n))
        values, visits = growth.root(worlds.rows[0], actions)
        order = np.lexsort((np.nan_to_num(values, nan=-np.inf), visits))
        (nodes,) = growth.used.tolist()
        return done, int(order[-1]), values.tolist(), visits.tolist(), {"nodes": nodes}
