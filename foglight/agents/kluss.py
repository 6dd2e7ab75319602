"""Knowledge-limited unfrozen subgame solving [Zhang2025]: the other seat may hold possible what we know to be false."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._leaf import AUTO, ENGINE, AutoLeafOption, leaf_for
from foglight.agents._searching import BY_GAME, HISTORIES, Searcher, Weights
from foglight.compile import has_rule
from foglight.names import Between, OneOf
from foglight.randomness import fold, weighted
from foglight.rules import Game, key
from foglight.search.leaves import Rollout
from foglight.search.limited.report import Report, report
from foglight.search.limited.search import LimitedSearch, Plan
from foglight.worlds.expansion import chosen
from foglight.worlds.tracker import Worlds

_GADGETS = ("none", "resolve", "maxmargin", "mixed", "auto")
_PURIFY = ("no", "yes", "one", "auto")
_MOST_ACTIONS = 3  # of a purified strategy
_MOST_WORLDS, _MOST_SENSIBLE = 20_000, 3_000  # in the belief


@dataclass
class Kluss(Searcher):
    """Solves a growing tree of what it holds possible, and of what the other seat may hold possible."""

    strength = "strong, and bluffs"
    remembers = True

    cap: Annotated[
        int,
        f"most worlds in the belief; 0: {_MOST_WORLDS:,}, or {_MOST_SENSIBLE:,} if weighed by sensible play",
        Between(0, 10**7),
    ] = 0
    weights: Annotated[
        Any,
        "weights of worlds in the belief: all histories equal, or by the probability that the other seat plays them: "
        "at random, as the game's evaluation would like it, by a policy in a file, or as some agent; "
        "auto: sensible play in games without chance that have an evaluation, else histories",
        Weights((BY_GAME, *Weights.words)),
    ] = BY_GAME
    order: Annotated[
        int, "worlds in the tree: 1: those it holds possible; 2: also those that the other seat may", Between(1, 2)
    ] = 2
    frozen: Annotated[
        int,
        "whether its strategy in worlds that it knows to be false stays that of the last search",
        OneOf("no", "yes"),
    ] = 0
    gadget: Annotated[
        int,
        "how the other seat chooses among what it may know at the root; "
        "auto: none, if all worlds that agree with what everybody observed can be listed, else mixed",
        OneOf(*_GADGETS),
    ] = 4
    expansion: Annotated[int, "who explores when the tree grows", OneOf("one_sided", "both")] = 0
    purify: Annotated[
        int,
        "whether to play fewer actions than the strategy has; yes: the most likely one where the last strategy was "
        f"not safe, else at most {_MOST_ACTIONS} of those that are stable; one: the same with only one of these; "
        "auto: one, except in a game that is held whole",
        OneOf(*_PURIFY),
    ] = 3
    iterate: Annotated[
        int,
        "which strategy of CFR+ counts: that of the last iteration, or the average; "
        "auto: the last, except in a game that is held whole",
        OneOf("last", "average", "auto"),
    ] = 2
    positions: Annotated[int, "worlds held possible in the tree", Between(1, 10**6)] = 256
    leaf: AutoLeafOption = AUTO
    playouts: Annotated[int, "random playouts per leaf, with leaf=rollout; their mean counts", Between(1, 1000)] = 16
    small: Annotated[
        int, "histories up to which a game is held whole, and solved from its start", Between(0, 10**6)
    ] = 40_000
    nodes: Annotated[int, "most nodes of the tree, of 120 bytes and a world each", Between(1000, 10**8)] = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._engine: Any = None

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.close()
        leaf = leaf_for(self.game, AUTO if self.leaf == ENGINE else self.leaf)
        self._engine = leaf_for(self.game, ENGINE) if self.leaf == ENGINE else None
        playouts = self.playouts if isinstance(leaf, Rollout) else 1
        plan = Plan(
            self.gadget,
            self.order,
            bool(self.frozen),
            bool(self.expansion),
            self.positions,
            self.nodes,
            playouts,
            self.small,
            self.iterate,
            self.weights not in (BY_GAME, HISTORIES) or self._is_sensible(self.game),
        )
        self._search = LimitedSearch(self.game, seat, leaf, plan, self._engine)
        self._keys = [self._key_in_worlds()]
        self._decisions = 0
        self._result: tuple[int, Report] | None = None  # of the last search, with its information state

    def _is_sensible(self, game: Game) -> bool:
        if self.weights == BY_GAME:
            return isinstance(game, tuple) and has_rule("evaluation", type(game)) and not has_rule("chance", type(game))
        return super()._is_sensible(game)

    def _most_worlds(self) -> int:
        return self.cap or (_MOST_SENSIBLE if self._is_sensible(self.game) else _MOST_WORLDS)

    def close(self) -> None:
        """End the engine's process; it starts again when it is next needed."""
        super().close()
        if self._engine is not None:
            self._engine.close()

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self._keys.append(self._key_in_worlds())

    def _key_in_worlds(self) -> int:
        """The key of the seat's information state in the worlds that agree with its observations."""
        return self.key if isinstance(self.game, tuple) else self.belief.key(self.key)

    def _with_one_key(self, worlds: Worlds) -> Worlds:
        """The same worlds; if an interpreted game's belief is lost, those that look to the seat like the first one."""
        if isinstance(self.game, tuple) or not self.belief.lost:
            return worlds
        keys = np.array([key(self.game, row, self.seat) for row in worlds.rows], np.uint64)
        self._keys[-1] = int(keys[0])
        some = np.flatnonzero(keys == keys[0])
        weights = worlds.weights[some]
        return Worlds(chosen(worlds.rows, some), weights / weights.sum(), False)

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        search = self._search
        chance = random
        random = np.array([fold(self.seed, self._decisions)], np.uint64)  # the same whatever has been observed
        self._decisions += 1
        budget = self.budget or int(self._rate * self.time)
        worlds = self._with_one_key(worlds)
        keys = np.array(self._keys, np.uint64)
        search.enter(self._keys[-1], keys, worlds, self.observations, len(actions), budget, random)
        before = search.evaluations
        done = self.spend(begin, lambda n: search.run(n, random), before=min(before, max(0, self.budget - 1)))
        said = report(search)
        self._result = self.key, said
        odds = self._odds(said)
        choice = int(weighted(chance, odds, len(odds)))
        search.value = said.value
        notes = {
            "odds": [round(float(share), 3) for share in odds],
            "strategy": [round(float(share), 3) for share in said.strategy],
            **said.notes,
        }
        return before + done, choice, said.values.tolist(), said.visits.tolist(), notes

    def _odds(self, said: Report) -> np.ndarray:
        """The probabilities by which to play."""
        purify = _PURIFY[self.purify]
        if purify == "no" or (purify == "auto" and self._search.whole):
            return said.strategy
        stable = np.where(said.stable, said.strategy, 0.0)
        if not stable.any():
            stable = _alone(said.strategy)
        few = np.where(_ranks(stable) < (_MOST_ACTIONS if purify == "yes" else 1), stable, 0.0)
        return said.unsafe * _alone(said.strategy) + (1.0 - said.unsafe) * few / few.sum()

    def probabilities(self, actions: Any = None) -> np.ndarray:
        actions = list(actions or self.legal_actions())
        choice = self.act(actions)
        if self._result is None or self._result[0] != self.key:  # nothing was searched here
            return np.array([float(action == choice) for action in actions])
        return self._odds(self._result[1])


def _alone(strategy: np.ndarray) -> np.ndarray:
    """The most likely action for certain."""
    odds = np.zeros(len(strategy))
    odds[int(np.argmax(strategy))] = 1.0
    return odds


def _ranks(strategy: np.ndarray) -> np.ndarray:
    """0 for the most likely action, 1 for the next one, and so on."""
    return np.argsort(np.argsort(-strategy, kind="stable"))
