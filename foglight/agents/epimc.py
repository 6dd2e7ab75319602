"""Extended perfect information Monte Carlo [Arjonilla2024]: reason on information states for a few decisions, then
evaluate the sampled worlds with perfect information."""

import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from foglight.agents._leaf import LeafOption, leaf_for
from foglight.agents._searching import Searcher
from foglight.names import BadInput, Between, OneOf, Word
from foglight.randomness import weighted
from foglight.rules import Game, max_legal, num_players
from foglight.search.paths.fusion import count_fusion
from foglight.search.paths.information_set_search import search
from foglight.search.paths.sampled_form import sampled_form
from foglight.search.paths.sampling import first_of, new_paths, sample
from foglight.search.paths.steered import REFUSED, STATES, States, halve, is_crowded, new_states, walk
from foglight.solving.whole.regret import FormRegrets
from foglight.worlds.tracker import Worlds

_STEERED, RECORDED, _CFR = range(3)
_AUTO = 0
_DEEPEST = 4  # decisions: the largest depth of `depth=auto`
_SUPPORTED = 0.05  # least share of visits to settled states at which a level counts towards the depth that is reported
_CFR_ITERATIONS = 1000
_ROOM = 1_000_000  # states or paths of `memory=auto` under a time budget
_SAMPLING = 0.5  # share of the time for sampling, beside CFR+; building the form has its own


@dataclass
class Epimc(Searcher):
    """Reasons on information states for `depth` decisions, and with perfect information after that."""

    strength = "strong: knows what it will not know next"

    depth: Annotated[
        int,
        f"decisions on information states; auto: as many as the samples support, at most {_DEEPEST}",
        Word("auto", _AUTO),
        Between(0, 12),
    ] = _AUTO
    subgame: Annotated[
        int,
        "search to that depth: bandits that steer paths, or random paths solved by information set search or CFR+",
        OneOf("steered", "iss", "cfr+"),
    ] = _STEERED
    leaf: LeafOption = "rollout"
    least: Annotated[
        float,
        "visits per action that an information state needs before its mover chooses; with fewer it plays at random",
        Between(0, 1000),
    ] = 1.0
    explore: Annotated[float, "weight of exploration in the bandits of subgame=steered", Between(0, 10)] = 1.0
    memory: Annotated[
        int,
        "most information states (steered) or paths (iss, cfr+) kept per decision; auto: as the budget needs",
        Word("auto", _AUTO),
        Between(0, 10**8),
    ] = _AUTO
    reuse: Annotated[
        int,
        "whether what information states have learned is kept for later decisions of a game, if steered",
        OneOf("no", "yes"),
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.remembers = bool(self.reuse) and self.subgame == _STEERED
        if 0 < self.memory < self.iterations and self.subgame != _STEERED:
            raise BadInput(
                f"memory={self.memory} paths cannot hold iterations={self.iterations}; "
                f"give memory=auto, or at least as much memory as iterations"
            )
        self._solving = 0.5  # the share of the time for solving the sampled paths, as measured in earlier decisions

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self._leaf: Any = leaf_for(self.game, self.leaf)
        self._worlds: Worlds | None = None
        self._states: States | None = None

    def search(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        self._worlds = worlds
        if self.subgame == _STEERED:
            return self._steered(worlds, actions, random, begin)
        return self._recorded(worlds, actions, random, begin)

    def _steered(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        """Steer paths by bandits, and drop the worse half of the first moves again and again."""
        k, depth = len(actions), self.depth or _DEEPEST
        most = min(self.memory or _ROOM, max(self.budget or _ROOM, 1000) * depth)
        states = self._states
        if states is None or not self.reuse or is_crowded(states, most):
            states = new_states(most * (1 + self.reuse), min(max_legal(self.game), 2 * k))
        self._states = states
        states.visited[:], states.settled[:], states.tally[REFUSED] = 0, 0, 0
        sums, counts = np.zeros(k), np.zeros(k, np.int64)
        done = 0

        def run(moves: np.ndarray, share: float) -> None:
            def sample_paths(n: int) -> None:
                walk(
                    self.game, self._leaf, states, worlds.rows, worlds.weights, random, n, depth, self.least,
                    self.explore, moves, sums, counts,
                )  # fmt: skip

            nonlocal done
            done += self.spend(begin, sample_paths, share, before=done)

        moves = halve(k, depth, run, sums, counts)
        values = np.divide(sums, counts, out=np.full(k, np.nan), where=counts > 0)
        settled = [round(float(share), 3) for share in states.settled / np.maximum(states.visited, 1)][1:depth]
        reasoned = 1 + next((i for i, share in enumerate(settled) if share < _SUPPORTED), len(settled))
        notes = {"depth": reasoned, "states": int(states.tally[STATES]), "settled": settled}
        if refused := int(states.tally[REFUSED]):
            notes["memory"] = f"full; {refused} visits were to states it could not hold, played at random"
        best = moves[np.argmax(np.where(counts[moves] > 0, values[moves], -np.inf))]
        return done, int(best), values.tolist(), counts.tolist(), notes

    def _recorded(self, worlds: Worlds, actions: list[int], random: np.ndarray, begin: float) -> Any:
        """The paper's search: record paths of uniformly random play, then solve them."""
        depth = self.depth or _DEEPEST
        room = self.budget or self.memory or _ROOM
        paths, done = new_paths(room, depth, num_players(self.game)), 0

        def run(n: int) -> None:
            nonlocal done
            sample(self.game, self._leaf, worlds.rows, worlds.weights, random, done, done + n, paths)
            done += n

        sampling = (1.0 - self._solving) * (_SAMPLING if self.subgame == _CFR else 1.0)
        self.spend(begin, run, sampling if self.time else 1.0, most=room)
        paths = first_of(paths, done)
        started = time.perf_counter()
        solution = search(paths, self.seat, self.least if self.depth == _AUTO else 0.0)
        notes: dict[str, Any] = {"depth": depth, "states": solution.states.tolist()}
        if self.time and done == room:
            notes["memory"] = f"full after {done} paths, before the time was over"
        choice = int(np.nanargmax(solution.values))
        form, keys = sampled_form(paths) if self.subgame == _CFR else (None, None)
        now = time.perf_counter()
        if self.time:
            measured = 1.5 * (now - started) / (now - begin)
            self._solving = min(0.8, max(0.1, measured, 0.5 * (self._solving + measured)))
        if form is not None:
            solver = FormRegrets(form)
            while solver.iterations < _CFR_ITERATIONS and not self._late(begin, solver.iterations, now):
                solver.iterate(1 if self.time else _CFR_ITERATIONS)
            average, root = solver.average(), int(np.flatnonzero(keys == paths.keys[0, 0])[0])
            odds = average[form.begins[root] : form.ends[root]]
            choice = int(weighted(random, odds, len(odds)))
            notes |= {"odds": [round(float(share), 3) for share in odds], "cfr iterations": solver.iterations}
        return done, choice, solution.values.tolist(), solution.visits.tolist(), notes

    def _late(self, begin: float, iterations: int, started: float) -> bool:
        """Whether one more iteration of CFR+ might exceed the time budget, or the decision is stopped."""
        now = time.perf_counter()
        over = self.stopped() or (iterations and now + (now - started) / iterations > begin + self.time)
        return bool(self.time and iterations and over)

    def fusion(self, worlds: int = 200) -> tuple[int, int]:
        """Strategy fusion just below the depth of the last decision, with the leaf evaluation of the search.

        The first number counts the information states with strategy fusion, the second those that at least two of
        `worlds` sampled worlds reach.
        """
        if self._worlds is None:
            return 0, 0
        depth = int((self.explanation.notes if self.explanation else {}).get("depth", self.depth or _DEEPEST))
        return count_fusion(self.game, self._leaf, self._worlds, depth, worlds, self.random())
