"""The base class of searching agents: a belief, a budget in iterations or seconds, and explanations of decisions."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents import Agent, Another, Explanation, Seat, load_agent
from foglight.compile import has_rule
from foglight.names import BadInput, Between
from foglight.policies import Uniform
from foglight.randomness import below, fold
from foglight.rules import Game
from foglight.search.belief import Belief
from foglight.search.sensible import sensible
from foglight.worlds.consistent import check_actions
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Worlds

DEFAULT_ITERATIONS = 10_000
HISTORIES, _UNIFORM_PLAY, SENSIBLE_PLAY, BY_GAME = "histories", "uniform_play", "sensible_play", "auto"
_DOUBT = 0.1  # probability that the other seats act at random, where their agent only says what it would play
_LONGEST_CHUNK = 0.25  # seconds: a search that is asked to stop ends about so soon
_FIRST_CHUNK = 64  # most iterations before the first look at the clock; each further chunk is at most twice the last


@dataclass(frozen=True)
class Weights(Another):
    """The limits of the option `weights`: a word, or an agent."""

    words: tuple[str, ...] = (HISTORIES, _UNIFORM_PLAY, SENSIBLE_PLAY)  # the first is the default

    def __str__(self) -> str:
        return f"{', '.join(self.words)}, policy(file=FILE) or another agent, such as ismcts(iterations=100)"

    def check(self, kind: type, value: Any) -> Any:
        return value if value in self.words else super().check(kind, value) or self.words[0]


@dataclass
class Searcher(Agent):
    """An agent that searches from the worlds of its belief."""

    gives_reasons = True
    can_stop = True
    iterations: Annotated[
        int,
        "budget per decision: leaf evaluations (pimc, epimc, iimc), simulations (ismcts) or walks (oos); "
        f"0: {DEFAULT_ITERATIONS}, unless time is given",
        Between(0, 10**9),
    ] = 0
    time: Annotated[float, "budget per decision in seconds; 0: no time budget", Between(0, 86400)] = 0.0
    cap: Annotated[int, "most worlds in the belief", Between(1, 10**7)] = 20_000
    weights: Annotated[
        Any,
        "weights of worlds in the belief: all histories equal, or by the probability that the other seats play them: "
        "at random, as the game's evaluation would like it, by a policy in a file, or as some agent",
        Weights(),
    ] = HISTORIES

    def __post_init__(self) -> None:
        if self.iterations and self.time:
            raise BadInput("give iterations or time, not both")
        self._rate = 0.0  # iterations per second in the last decision
        plain = self.weights in (HISTORIES, _UNIFORM_PLAY, SENSIBLE_PLAY, BY_GAME)
        self._model = None if plain else load_agent(self.weights)  # how the other seats play

    def check(self, game: Game) -> None:
        if self._model is not None:
            self._model.check(game)
        if self.weights == SENSIBLE_PLAY and not has_rule("evaluation", type(game)):
            raise BadInput(f"{game} has no rule 'evaluation' to say what sensible play is; leave weights out")

    def close(self) -> None:
        if self._model is not None:
            self._model.close()

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        policy: Any = Uniform() if self.weights == _UNIFORM_PLAY else None
        if self._is_sensible(self.game):
            policy = sensible(self.game)
        if self._model is not None:
            policy = self._model.exact_policy(self.game)
        ask = self._ask if self._model is not None and policy is None else None
        self._answered: tuple[int, int] | None = None  # information state and seed of the last decision
        self.belief = Belief(self.game, seat, self._most_worlds(), int(fold(seed, seat)) >> 1, policy, ask)

    def _is_sensible(self, game: Game) -> bool:
        """Whether worlds are weighed by sensible play."""
        return bool(self.weights == SENSIBLE_PLAY)

    def _most_worlds(self) -> int:
        """The most worlds in the belief."""
        return self.cap

    def _ask(self, seat: int, observations: list[int], actions: list[int]) -> Sequence[float]:
        """What the agent of `weights` plays on another seat, as probabilities of its legal actions."""
        model = self._model
        assert model is not None
        Seat(model, self.game, seat, int(fold(self.seed, seat)) >> 1, observations)
        odds = np.asarray(model.probabilities(actions), np.float64)
        doubt = _DOUBT if type(model).probabilities is Agent.probabilities else 0.0
        return list((1.0 - doubt) * odds + doubt / len(actions))

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self.belief.observe(observation)

    def act(self, actions: Sequence[int] | None = None) -> int:
        begin = time.perf_counter()
        actions = list(actions or self.legal_actions())
        if self._is_answered and self.explanation is not None:
            return self.explanation.action  # asked twice, it must not search twice: later decisions would differ
        random = self.random()
        notes: dict[str, Any] = {}
        values: list[float] = []
        visits: list[int] = []
        size, done = 0, 0
        choice = below(random, len(actions)) if len(actions) > 1 else 0
        if len(actions) > 1:
            try:
                worlds = self.belief.worlds(actions)
            except BeliefLost:
                choice, values, notes = self._guess(actions, random, choice)
            else:
                check_actions(self.game, worlds.rows[:1], self.seat, actions)
                size = len(worlds.weights)
                done, choice, values, visits, notes = self.search(worlds, actions, random, begin)
                notes |= self.belief.notes
        exact = size > 0 and worlds.exact
        seconds = time.perf_counter() - begin
        self.explanation = Explanation(actions[choice], actions, values, visits, size, exact, done, seconds, notes)
        self._answered = self.key, self.seed
        return actions[choice]

    @property
    def _is_answered(self) -> bool:
        """Whether it has made this decision before, and remembers what it has found."""
        return self.remembers and not self.time and self._answered == (self.key, self.seed)

    def _guess(self, actions: list[int], random: np.ndarray, drawn: int) -> tuple[int, list[float], dict[str, Any]]:
        """What to play where the belief is lost, and no near world allows exactly these actions: `drawn` at worst."""
        values = self.belief.random_values(actions, random)
        if np.isnan(values).all():
            return drawn, values.tolist(), {"belief": "lost; no world was found that allows any of the actions"}
        how = "lost; valued by random play in worlds that allow some of the actions"
        return int(np.nanargmax(values)), values.tolist(), {"belief": how}

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

        The result is the number of iterations of this call, at most `most`. A time budget counts from `begin`, and
        nothing more is run once the decision is `stopped`; a budget in iterations includes the `before` iterations of
        earlier calls. The rate of the last decision sizes the first chunk.
        """
        if not self.time:
            n = min(most, max(1 - before, int(self.budget * share) - before))
            if n > 0:
                run(n)
            return max(n, 0)
        end = begin + self.time * share
        done, spent, largest = 0, 0.0, _FIRST_CHUNK
        while done < most:
            left = end - time.perf_counter()
            chunk = largest
            if self._rate:
                # seconds until the next look at the clock; the first are few, for the rate may have changed
                patience = max(min(0.25 * self.time, _LONGEST_CHUNK), 0.005) if done else 0.02 * self.time
                chunk = min(chunk, int(self._rate * min(left, patience) * 0.9))
            if (
                left <= 0.0 or chunk < 1 or self.stopped()
            ) and done + before > 0:  # at least one iteration is run, however late it is
                break
            chunk = min(max(chunk, 1), most - done)
            largest = 2 * chunk
            started = time.perf_counter()
            run(chunk)
            elapsed = time.perf_counter() - started
            spent += elapsed
            done += chunk
            self._rate = min(done / max(spent, 1e-9), chunk / max(elapsed, 1e-9))  # the rate falls as trees grow
        return done
