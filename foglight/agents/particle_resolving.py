"""Continual resolving with particles [Sustr2021, Section 5.1]: the step that the paper leaves as future work.

The agent keeps at most `particles` histories of the present public state, with each seat's reach probability. It solves
a trunk of `depth` transitions below them by CFR+, with a value network at the leaves, and plays the average strategy.
After that it continues from the public belief state at the leaf that play has reached. When no particle explains the
observations, a tracker regenerates the particles. If none can be found, the action is the best one by random playouts
from the nearest worlds (`worlds/nearest.py`).

New particles are made where the agent is asked, so a decision depends on earlier ones (`Agent.remembers`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents import Agent, Explanation
from foglight.names import BadInput, Between, Word
from foglight.randomness import fold, weighted
from foglight.rules import Game, num_players
from foglight.search.belief import Belief
from foglight.search.leaves import rollout
from foglight.search.paths.open_worlds import try_every_action
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.particles.belief import Particles, first_particles, regenerated, thinned
from foglight.solving.particles.lookahead import Lookahead, cut
from foglight.solving.particles.random_play import RandomPlay
from foglight.worlds.regeneration import BeliefLost

_NONE, _SHIPPED = "none", "auto"
_AUTO = 0  # the depth for which the network was trained, or to the end of the game if that takes fewer than _EASY nodes
_EASY = 150_000  # nodes: a smaller rest of the game is solved faster to the end than with a network
_MANY = 10**9  # iterations: no limit
_DEFAULT_ITERATIONS = 100
_REMEMBERED = 1000  # most solved trunks in memory
_NEAREST, _PLAYOUTS = 1000, 1000  # where the belief is lost: worlds, and playouts of each action


@dataclass
class ParticleResolving(Agent):
    """Solves a depth-limited trunk at every move, on a bounded set of histories, with a value network at the leaves."""

    strength = "cautious and strong where a network or the end is near"

    gives_reasons = True
    remembers = True
    network: Annotated[
        str,
        "file of the value network; auto: the library's for this game, or none; none: leaves are valued by random play",
    ] = _SHIPPED
    particles: Annotated[int, "most histories in the belief", Between(1, 10**6)] = 200
    depth: Annotated[
        int,
        "transitions per trunk; auto: the network's depth (2 without one), or to the end of the game if that takes "
        f"fewer than {_EASY} nodes",
        Word("auto", _AUTO),
        Between(0, 100),
    ] = _AUTO
    iterations: Annotated[
        int, f"CFR+ iterations per trunk; 0: {_DEFAULT_ITERATIONS}, unless time is given", Between(0, 10**6)
    ] = 0
    time: Annotated[float, "budget per decision in seconds; 0: no time budget", Between(0, 86400)] = 0.0

    def __post_init__(self) -> None:
        if self.iterations and self.time:
            raise BadInput("give iterations or time, not both")
        self._prepared: tuple[Any, Any] = (None, None)  # a game, and its evaluator and depth

    def check(self, game: Game) -> None:
        if num_players(game) != 2:
            raise BadInput(f"particle_resolving is for two seats, {game} has {num_players(game)}")

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        if self._prepared[0] != self.game:
            evaluator, depth = self._evaluator_for(self.game)
            cut(first_particles(self.game), depth, 0 if self.depth else _EASY)  # raises BadInput if it is impossible
            self._prepared = self.game, (evaluator, depth)
            self._memory: dict[int, Lookahead] = {}  # by public state, while the particles are all of its histories
        self._evaluator, self._depth = self._prepared[1]
        self._root: Particles = first_particles(self.game)
        self._whole = True  # whether the particles are all histories of the public state
        self._look: Lookahead | None = None
        self._path: list[int] = []  # keys of our information states since the root
        self._regenerations = 0

    def _evaluator_for(self, game: Game) -> tuple[Evaluator, int]:
        from foglight.values.networks.shipped import shipped_network  # needs no PyTorch by itself

        path = shipped_network(game) if self.network == _SHIPPED else self.network
        if path is None or self.network == _NONE:
            return RandomPlay(seed=0), self.depth or 2
        from foglight.values.networks.architectures import one_thread
        from foglight.values.networks.evaluator import Network

        one_thread()
        network = Network(path)
        if network.trained.about["game"] != str(game):
            raise BadInput(f"the network {path} is for {network.trained.about['game']}, not for {game}")
        if network.trained.layout is not None:
            raise BadInput(f"the network {path} is for one trunk only; train one with: foglight train '{game}'")
        return network, self.depth or int(network.trained.about["depth"])

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self._path.append(self.key)

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = list(actions or self.legal_actions())
        odds = self.probabilities(actions)
        choice = int(weighted(self.random(), odds, len(odds)))
        self.explain().action = actions[choice]
        return actions[choice]

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        begin = time.perf_counter()
        actions = list(actions or self.legal_actions())
        odds = np.full(len(actions), 1.0 / len(actions))
        notes: dict[str, Any] = {}
        if len(actions) > 1:
            try:
                strategy = self._strategy(begin)
            except BeliefLost:
                values, notes = self._values_nearby(actions)
                odds = np.eye(len(actions))[int(np.argmax(np.nan_to_num(values, nan=-np.inf)))]
            else:
                if len(strategy) != len(actions):
                    raise BadInput(
                        f"{len(actions)} actions are given as legal; after the observations {len(strategy)} are"
                    )
                odds = strategy
        look = self._look
        if look is not None:
            notes |= {
                "strategy": [round(float(share), 3) for share in odds],
                "leaves": len(look.trunk.leaves),
                "regenerations": self._regenerations,
            }
        self.explanation = Explanation(
            actions[int(odds.argmax())],
            actions,
            worlds=0 if look is None else len(look.particles),
            iterations=0 if look is None else look.iterations,
            seconds=time.perf_counter() - begin,
            notes=notes,
        )
        return odds

    def _values_nearby(self, actions: list[int]) -> tuple[np.ndarray, dict[str, Any]]:
        """The value of each action by random playouts from the nearest worlds, and what to note."""
        random = self.random()
        belief = Belief(self.game, self.seat, max(self.particles, _NEAREST), int(random[0]) >> 1)
        for observation in self.observations:
            belief.observe(observation)
        try:
            worlds, sums = belief.worlds(actions), np.zeros(len(actions))
        except BeliefLost:
            return belief.random_values(actions, random), {"belief": "lost; valued by random play in near worlds"}
        try_every_action(self.game, rollout(self.game), worlds.rows, worlds.weights, random, _PLAYOUTS, sums)
        return sums, {"belief": f"lost; went on from {len(worlds.weights):,} nearest worlds"}

    def _strategy(self, begin: float) -> np.ndarray:
        """Solve trunks until one contains the present decision; its average strategy there."""
        while True:
            if self._look is None:
                self._look = self._solved(begin)
            below = self._first_below(self._look)
            if below is None:
                break
            self._root, self._path = below
            self._look = None
        strategy = self._look.strategy(self.key)
        if strategy is None:
            self._regenerations += 1
            seed = int(fold(self.key, self.seed)) >> 1
            self._root = regenerated(self.game, self.seat, self.observations, self.particles, seed)
            self._whole, self._path = False, []
            self._look = self._solved(begin)
            strategy = self._look.strategy(self.key)
        if strategy is None:
            raise BeliefLost(f"seat {self.seat} has lost track of {self.game}")
        return strategy

    def _solved(self, begin: float) -> Lookahead:
        """The solved trunk below the root. It is remembered if it depends on the public state alone."""
        name = self._root.public.key
        if self._whole and not self.time and name in self._memory:
            return self._memory[name]
        look = Lookahead(self._root, self._depth, self._evaluator, 0 if self.depth else _EASY)
        look.solve(*self._budget(begin))
        if self._whole and not self.time and len(self._memory) < _REMEMBERED:
            self._memory[name] = look
        return look

    def _first_below(self, look: Lookahead) -> tuple[Particles, list[int]] | None:
        """The particles at the leaf that play has passed, and our path since; None if play is still in the trunk."""
        for i, key in enumerate(self._path):
            below = look.below(self.seat, key)
            if below is not None:
                random = np.random.default_rng([key >> 1, self.seed])
                particles = thinned(below, self.particles, random, self.seat, key)
                self._whole = self._whole and particles is below
                return particles, self._path[i + 1 :]
        return None

    def _budget(self, begin: float) -> tuple[int, float]:
        """The most iterations, and the time at which to stop, by `time.perf_counter`."""
        if self.time:
            return _MANY, begin + 0.95 * self.time
        return self.iterations or _DEFAULT_ITERATIONS, np.inf
