"""Recursive perfect information Monte Carlo, or imperfect information Monte Carlo [Furtak2013]."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._leaf import LeafOption, leaf_for
from foglight.agents._searching import Searcher
from foglight.names import Between
from foglight.rules import Game
from foglight.search.trees.iimc import EVALUATIONS, alike, new_tally, play_out
from foglight.worlds.tracker import Worlds


@dataclass
class Iimc(Searcher):
    """Plays each action out with players that search by PIMC themselves, from what each of them knows."""

    strength = "plays well in small games, slowly"

    samples: Annotated[int, "worlds that a player inside a playout samples per decision", Between(1, 1000)] = 5
    leaf: LeafOption = "rollout"

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._leaf = leaf_for(self.game, self.leaf)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        groups, tally, root = alike(self.game, worlds.rows, worlds.weights), new_tally(len(actions)), np.array(actions)
        limit = 0  # leaf evaluations in total

        def run(n: int) -> None:
            nonlocal limit
            limit += n
            share = max(1, n // len(actions))
            play_out(
                self.game, self._leaf, worlds.rows, groups, self.seat, self.samples, root, random, limit, share, tally
            )

        self.spend(begin, run)
        values = np.divide(tally.values, tally.visits, out=np.full(len(actions), np.nan), where=tally.visits > 0)
        notes = {"playouts": int(tally.visits.sum())}
        return int(tally.next[EVALUATIONS]), int(np.nanargmax(values)), values.tolist(), tally.visits.tolist(), notes
