"""Continual resolving with particles [Sustr2021, Section 5.1]: the step that the paper leaves as future work.

The agent holds at most `particles` histories of the present public state, with how likely each seat's own play leads to
them. It solves a trunk of `depth` transitions below them with CFR+, a value network at its leaves, plays its average
strategy there, and goes on from the public belief state in which the trunk ends. When none of the particles explains
what it observes, the filters make new ones.
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
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.particles.belief import Particles, first_particles, regenerated, thinned
from foglight.solving.particles.lookahead import Lookahead, cut
from foglight.solving.particles.random_play import RandomPlay
from foglight.worlds.regeneration import BeliefLost

_NONE, _SHIPPED = "none", "auto"
_AUTO = 0  # the depth that the network was trained for, or to the end where that is not far
_EASY = 150_000  # nodes that are faster to solve than a network is to ask
_MANY = 10**9
_REMEMBERED = 1000  # trunks


@dataclass
class ParticleResolving(Agent):
    """resolves a trunk at every move, on a bounded set of histories, with a value network at its leaves"""

    gives_reasons = True
    network: str = _SHIPPED
    particles: Annotated[int, Between(1, 10**6)] = 200
    depth: Annotated[int, Word("auto", _AUTO), Between(0, 100)] = _AUTO
    iterations: Annotated[int, Between(0, 10**6)] = 0
    time: Annotated[float, Between(0, 86400)] = 0.0

    def __post_init__(self) -> None:
        if self.iterations and self.time:
            raise BadInput("give iterations or time, not both")
        self._known: tuple[Any, Any] = (None, None)  # the game that an evaluator was made for, and it

    def check(self, game: Game) -> None:
        if num_players(game) != 2:
            raise BadInput(f"particle_resolving is for two seats, {game} has {num_players(game)}")

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        if self._known[0] != self.game:
            evaluator, depth = self._evaluator_for(self.game)
            cut(first_particles(self.game), depth, 0 if self.depth else _EASY)  # says so if that cannot be
            self._known = self.game, (evaluator, depth)
            self._memory: dict[int, Lookahead] = {}  # by public state, while all of its histories are held
        self._evaluator, self._depth = self._known[1]
        self._root: Particles = first_particles(self.game)
        self._whole = True  # whether the particles are all histories of the public state
        self._look: Lookahead | None = None
        self._passed: list[int] = []  # our information states since the root
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
        self._passed.append(self.key)

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
                found = self._strategy(begin)
            except BeliefLost:
                notes["belief"] = "lost; played at random"
            else:
                odds = found
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

    def _strategy(self, begin: float) -> np.ndarray:
        """Go on to where we are, and say what to do there."""
        while True:
            if self._look is None:
                self._look = self._solved(begin)
            below = self._first_below(self._look)
            if below is None:
                break
            self._root, self._passed = below
            self._look = None
        found = self._look.strategy(self.key)
        if found is None:
            self._regenerations += 1
            seed = int(fold(self.key, self.seed)) >> 1
            self._root = regenerated(self.game, self.seat, self.observations, self.particles, seed)
            self._whole, self._passed = False, []
            self._look = self._solved(begin)
            found = self._look.strategy(self.key)
        if found is None:
            raise BeliefLost(f"seat {self.seat} has lost track of {self.game}")
        return found

    def _solved(self, begin: float) -> Lookahead:
        """The trunk below the root, solved; remembered where the public state alone decides what comes out."""
        name = self._root.public.key
        if self._whole and not self.time and name in self._memory:
            return self._memory[name]
        look = Lookahead(self._root, self._depth, self._evaluator, 0 if self.depth else _EASY)
        look.solve(*self._budget(begin))
        if self._whole and not self.time and len(self._memory) < _REMEMBERED:
            self._memory[name] = look
        return look

    def _first_below(self, look: Lookahead) -> tuple[Particles, list[int]] | None:
        """The particles at the leaf that we have passed, and what we have passed since; None if we are in the trunk."""
        for i, key in enumerate(self._passed):
            below = look.below(self.seat, key)
            if below is not None:
                random = np.random.default_rng([key >> 1, self.seed])
                kept = thinned(below, self.particles, random, self.seat, key)
                self._whole = self._whole and kept is below
                return kept, self._passed[i + 1 :]
        return None

    def _budget(self, begin: float) -> tuple[int, float]:
        if self.time:
            return _MANY, begin + 0.95 * self.time
        return self.iterations or 100, np.inf
