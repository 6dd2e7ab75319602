"""Online outcome sampling [Lisy2015]: walks from the start of the game, aimed at the present, minimise regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._searching import Searcher
from foglight.names import BadInput, Between, OneOf
from foglight.randomness import weighted
from foglight.rules import Game, key, num_players
from foglight.search.trees.oos import ACTIONS, INFORMATION_SET, PUBLIC_STATE, Walks, aim
from foglight.worlds.tracker import Worlds

_RATE = 20_000  # most worlds per layer for which hopes are computed, per second of the time budget
_INTERPRETED_LIMIT = 300  # most worlds per layer in an interpreted game


@dataclass
class Oos(Searcher):
    """Minimises regret on walks from the start of the game, aimed at the present; plays the average strategy."""

    strength = "cautious: nears an equilibrium in small games"

    target: Annotated[
        int,
        "where walks are aimed: at the seat's information state, or at the public state",
        OneOf("information_set", "public"),
    ] = INFORMATION_SET
    explore: Annotated[
        float, "probability of a random action of the seat whose regrets a walk updates", Between(0.01, 1)
    ] = 0.4
    delta: Annotated[float, "probability that a walk is aimed at the target", Between(0, 0.99)] = 0.9
    nodes: Annotated[int, "most actions remembered, of 32 bytes times 1 to 2", Between(1, 10**8)] = 1_000_000
    reuse: Annotated[int, "whether the tree is kept from one decision of a game to the next", OneOf("no", "yes")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.remembers = bool(self.reuse)

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._strategy: np.ndarray | None = None  # of the last decision
        self._walks: Walks | None = None

    def check(self, game: Game) -> None:
        if num_players(game) != 2:
            raise BadInput(f"oos is for two seats, {game} has {num_players(game)}; take ismcts, or another agent")
        super().check(game)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        limit = min(self.cap, max(100, int(_RATE * self.time))) if self.time else self.cap
        if not isinstance(self.game, tuple):
            limit = min(limit, _INTERPRETED_LIMIT)
        target = aim(self.game, self.seat, self.observations, self.target == PUBLIC_STATE, limit)
        root = int(key(self.game, worlds.rows[0], self.seat))
        walks = self._walks
        if walks is None or not self.reuse or walks.crowded:
            walks = Walks(self.game, self.seat, self.explore, self.delta, self.nodes)
        walks.turn_to(root, target)
        self._walks = walks
        done = self.spend(begin, lambda n: walks.run(n, random))
        self._strategy = walks.average(len(actions))
        visits, weights, sums = walks.seen[: len(actions)].T
        values = np.divide(sums, weights, out=np.full(len(actions), np.nan), where=weights > 0.0)
        notes = {
            "strategy": self._strategy.tolist(),
            "nodes": int(walks.used[ACTIONS]),
            "aim": "hopes" if len(target.keys) > 1 else "observations",
        }
        choice = weighted(random, self._strategy, len(actions))
        return done, choice, values.tolist(), visits.astype(int).tolist(), notes

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        actions = list(actions or self.legal_actions())
        choice = actions.index(self.act(actions))
        if self._strategy is None or not self.explain().iterations:  # there was no search
            return np.eye(len(actions))[choice]
        return self._strategy
