"""What all searching agents share: a belief, a budget in iterations or seconds, and an account of each decision."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents import Agent, Explanation
from foglight.names import BadInput, Between, OneOf
from foglight.randomness import below, fold
from foglight.rules import Game
from foglight.search.belief import Belief
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Worlds

DEFAULT_ITERATIONS = 10_000
_FIRST_CHUNK = 64  # iterations before the clock is looked at for the first time


@dataclass
class Searcher(Agent):
    """An agent that looks ahead from sampled worlds."""

    gives_reasons = True
    iterations: Annotated[int, Between(0, 10**9)] = 0
    time: Annotated[float, Between(0, 86400)] = 0.0
    cap: Annotated[int, Between(1, 10**7)] = 20_000
    weights: Annotated[int, OneOf("histories", "uniform_play")] = 0

    def __post_init__(self) -> None:
        if self.iterations and self.time:
            raise BadInput("give iterations or time, not both")
        self._rate = 0.0  # iterations a second, from the last decision

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.belief = Belief(self.game, seat, self.cap, int(fold(seed, seat)) >> 1, bool(self.weights))

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self.belief.observe(observation)

    def act(self, actions: Sequence[int] | None = None) -> int:
        begin = time.perf_counter()
        actions = list(actions or self.legal_actions())
        random = self.random()
        notes: dict[str, Any] = {}
        values: list[float] = []
        visits: list[int] = []
        worlds, done = 0, 0
        choice = below(random, len(actions)) if len(actions) > 1 else 0
        if len(actions) > 1:
            try:
                held = self.belief.worlds()
            except BeliefLost:
                notes["belief"] = "lost; played at random"
            else:
                worlds = len(held.weights)
                done, choice, values, visits, notes = self.search(held, actions, random, begin)
        exact = worlds > 0 and held.exact
        seconds = time.perf_counter() - begin
        self.explanation = Explanation(actions[choice], actions, values, visits, worlds, exact, done, seconds, notes)
        return actions[choice]

    def search(
        self, held: Worlds, actions: list[int], random: np.ndarray, begin: float
    ) -> tuple[int, int, list[float], list[int], dict[str, Any]]:
        """Iterations done, the place of the action chosen, values and visits of all, and notes."""
        raise NotImplementedError

    @property
    def budget(self) -> int:
        """Iterations for a decision; 0 if time decides."""
        return 0 if self.time else self.iterations or DEFAULT_ITERATIONS

    def spend(
        self, begin: float, run: Callable[[int], None], share: float = 1.0, most: int = 10**9, before: int = 0
    ) -> int:
        """Call `run` with chunks of iterations until that share of the budget is used up; how many were run now.

        Time is counted from `begin`, iterations from the `before` that were run already. The rate of the last decision
        sizes the first chunk.
        """
        if not self.time:
            n = min(most, max(1 - before, int(self.budget * share) - before))
            if n > 0:
                run(n)
            return max(n, 0)
        end = begin + self.time * share
        done, spent = 0, 0.0
        while done < most:
            left = end - time.perf_counter()
            if self._rate:
                patience = max(0.25 * self.time, 0.005) if done else 0.02 * self.time  # rates change with the stage
                chunk = int(self._rate * min(left, patience) * 0.9)
            else:
                chunk = _FIRST_CHUNK
            if (left <= 0.0 or chunk < 1) and done + before > 0:  # something is tried, however late it is
                break
            chunk = min(max(chunk, 1), most - done)
            started = time.perf_counter()
            run(chunk)
            elapsed = time.perf_counter() - started
            spent += elapsed
            done += chunk
            self._rate = min(done / max(spent, 1e-9), chunk / max(elapsed, 1e-9))  # trees grow, and get slower
        return done
