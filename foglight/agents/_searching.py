"""The base class of searching agents: a belief, a budget in iterations or seconds, and explanations of decisions."""

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
_FIRST_CHUNK = 64  # iterations before the first look at the clock, while their rate is unknown


@dataclass
class Searcher(Agent):
    """An agent that searches from the worlds of its belief."""

    gives_reasons = True
    iterations: Annotated[
        int,
        "budget per decision: leaf evaluations (pimc, epimc, iimc), simulations (ismcts) or walks (oos); "
        f"0: {DEFAULT_ITERATIONS}, unless time is given",
        Between(0, 10**9),
    ] = 0
    time: Annotated[float, "budget per decision in seconds; 0: no time budget", Between(0, 86400)] = 0.0
    cap: Annotated[int, "most worlds in the belief", Between(1, 10**7)] = 20_000
    weights: Annotated[
        int,
        "weights of worlds in the belief: all histories equal, or by their probability under uniformly random play",
        OneOf("histories", "uniform_play"),
    ] = 0

    def __post_init__(self) -> None:
        if self.iterations and self.time:
            raise BadInput("give iterations or time, not both")
        self._rate = 0.0  # iterations per second in the last decision

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
        size, done = 0, 0
        choice = below(random, len(actions)) if len(actions) > 1 else 0
        if len(actions) > 1:
            try:
                worlds = self.belief.worlds()
            except BeliefLost:
                notes["belief"] = "lost; played at random"
            else:
                size = len(worlds.weights)
                done, choice, values, visits, notes = self.search(worlds, actions, random, begin)
        exact = size > 0 and worlds.exact
        seconds = time.perf_counter() - begin
        self.explanation = Explanation(actions[choice], actions, values, visits, size, exact, done, seconds, notes)
        return actions[choice]

    def search(
        self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float
    ) -> tuple[int, int, list[float], list[int], dict[str, Any]]:
        """Search from these worlds, and choose an action.

        `begin` is when the decision began, by `time.perf_counter`. The result is the number of iterations, the index of
        the chosen action, the value and the visits of each action, and notes for the explanation.
        """
        raise NotImplementedError

    @property
    def budget(self) -> int:
        """Iterations per decision; 0 if the budget is in seconds."""
        return 0 if self.time else self.iterations or DEFAULT_ITERATIONS

    def spend(
        self, begin: float, run: Callable[[int], None], share: float = 1.0, most: int = 10**9, before: int = 0
    ) -> int:
        """Call `run(n)` with chunks of n iterations until `share` of the decision's budget is spent.

        The result is the number of iterations of this call, at most `most`. A time budget counts from `begin`; a budget
        in iterations includes the `before` iterations of earlier calls. The rate of the last decision sizes the first
        chunk.
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
                # seconds until the next look at the clock; the first are few, for the rate may have changed
                patience = max(0.25 * self.time, 0.005) if done else 0.02 * self.time
                chunk = int(self._rate * min(left, patience) * 0.9)
            else:
                chunk = _FIRST_CHUNK
            if (left <= 0.0 or chunk < 1) and done + before > 0:  # at least one iteration is run, however late it is
                break
            chunk = min(max(chunk, 1), most - done)
            started = time.perf_counter()
            run(chunk)
            elapsed = time.perf_counter() - started
            spent += elapsed
            done += chunk
            self._rate = min(done / max(spent, 1e-9), chunk / max(elapsed, 1e-9))  # the rate falls as trees grow
        return done
