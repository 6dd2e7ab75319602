"""Online outcome sampling [Lisy2015]: regret minimisation from the start of the game, aimed at where we are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._searching import Searcher
from foglight.names import BadInput, Between, OneOf
from foglight.randomness import weighted
from foglight.rules import Game, key, num_players
from foglight.search.trees.oos import Walks, aim
from foglight.worlds.tracker import Worlds

_RATE = 20_000  # worlds a layer whose hopes may be worked out, for each second of a time budget
_INTERPRETED_LIMIT = 300  # and where only Python can move worlds


@dataclass
class Oos(Searcher):
    """minimises regret on walks from the start that are aimed at the present; plays its average strategy"""

    target: Annotated[int, OneOf("information_set", "public")] = 0
    explore: Annotated[float, Between(0.01, 1)] = 0.4
    delta: Annotated[float, Between(0, 0.99)] = 0.9
    nodes: Annotated[int, Between(1, 10**8)] = 1_000_000  # 32 bytes each, times 1 to 2

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._strategy: np.ndarray | None = None

    def check(self, game: Game) -> None:
        if num_players(game) != 2:
            raise BadInput(f"oos is for two seats, {game} has {num_players(game)}; take ismcts, or another agent")

    def search(self, held: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        limit = min(self.cap, max(100, int(_RATE * self.time))) if self.time else self.cap
        if not isinstance(self.game, tuple):
            limit = min(limit, _INTERPRETED_LIMIT)
        target = aim(self.game, self.seat, self.observations, self.target == 1, limit)
        root = int(key(self.game, held.rows[0], self.seat))
        walks = Walks(self.game, self.seat, root, target, self.explore, self.delta, self.nodes)
        done = self.spend(begin, lambda n: walks.run(n, random))
        self._strategy = walks.average(len(actions))
        visits, weights, values = walks.seen[: len(actions)].T
        worth = np.divide(values, weights, out=np.full(len(actions), np.nan), where=weights > 0.0)
        notes = {
            "strategy": self._strategy.tolist(),
            "nodes": int(walks.used[1]),
            "aim": "hopes" if len(target.keys) > 1 else "observations",
        }
        return done, weighted(random, self._strategy, len(actions)), worth.tolist(), visits.astype(int).tolist(), notes

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        actions = list(actions or self.legal_actions())
        self._strategy = None
        self.act(actions)
        return np.full(len(actions), 1.0 / len(actions)) if self._strategy is None else self._strategy
