"""Information set Monte Carlo tree search [Cowling2012], with the searching seat or every seat as an observer."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._leaf import LeafOption, leaf_for
from foglight.agents._searching import Searcher
from foglight.names import Between, OneOf
from foglight.rules import Game
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
    leaf: LeafOption = "rollout"
    nodes: Annotated[int, "most actions in the tree, of 24 bytes times 2 to 4", Between(1, 10**8)] = 1_000_000
    reuse: Annotated[int, "whether the tree is kept from one decision of a game to the next", OneOf("no", "yes")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.remembers = bool(self.reuse)

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._leaf = leaf_for(self.game, self.leaf)
        self._growth: Growth | None = None

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        growth = self._growth
        if growth is None or not self.reuse or 2 * int(growth.used[0]) > self.nodes:  # half of the room is needed here
            growth = Growth(self.game, self.seat, self.observers, self.exploration, self.nodes)
        self._growth = growth
        done = self.spend(begin, lambda n: growth.run(self._leaf, worlds.rows, worlds.weights, random, n))
        values, visits = growth.root(worlds.rows[0], actions)
        order = np.lexsort((np.nan_to_num(values, nan=-np.inf), visits))
        (nodes,) = growth.used.tolist()
        return done, int(order[-1]), values.tolist(), visits.tolist(), {"nodes": nodes}
