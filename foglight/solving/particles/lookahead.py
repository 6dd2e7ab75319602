"""One decision of continual resolving: solve a trunk below particles, and give the particles at its leaves.

An evaluator gives the values at the leaves. A trunk that reaches the end of the game has no leaves and needs no
evaluator; then all iterations run in compiled code.
"""

import contextlib
import time
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.solving.depth_limited.public import Unnoticed
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.depth_limited.trunk import Trunk, TrunkSolver
from foglight.solving.particles.belief import Particles
from foglight.solving.whole.plans import counterfactual_values, realised
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.tree import guessed_size

_PATIENCE = 3  # depths tried for the cut: the given depth and the next two
_TO_THE_END = 1 << 30  # a depth that no game reaches
_MOST = 2_000_000  # nodes of a trunk that can only be cut at the end of the game
_AT_ONCE = 10  # iterations between two looks at the clock


class Lookahead:
    """A trunk below particles with its solver; `depth`, in transitions, and `easy`, in nodes, are as in `cut`."""

    def __init__(self, particles: Particles, depth: int, evaluator: Evaluator, easy: int = 0) -> None:
        self.particles = particles
        self.trunk = cut(particles, depth, easy)
        self._solver: Any = (
            TrunkSolver(self.trunk, evaluator)
            if self.trunk.leaves
            else Regrets(self.trunk.sequences, "cfr+", particles.ranges)
        )
        self._numbers = {int(key): i for i, key in enumerate(self.trunk.sequences.keys)}
        self._average: np.ndarray | None = None

    @property
    def iterations(self) -> int:
        return int(self._solver.iterations)

    def solve(self, iterations: int, until: float = np.inf) -> None:
        """Run CFR+ iterations, at least one, and stop when `time.perf_counter` passes `until`, in seconds."""
        done = 0
        while done < iterations and (done == 0 or time.perf_counter() < until):
            n = min(_AT_ONCE if until < np.inf else iterations, iterations - done)
            self._solver.iterate(n)
            done += n
        self._average = None

    @property
    def average(self) -> np.ndarray:
        """The average behaviour of both seats, float64[S]."""
        if self._average is None:
            self._average = self._solver.average()
        return self._average

    def strategy(self, key: int) -> np.ndarray | None:
        """The probability of each legal action at an information state; None if it is not in the trunk."""
        number = self._numbers.get(int(key))
        if number is None:
            return None
        form = self.trunk.sequences.form
        return self.average[form.begins[number] : form.ends[number]]

    def values(self) -> list[np.ndarray]:
        """By seat, the counterfactual values of the particles' information states under the average behaviour."""
        if isinstance(self._solver, TrunkSolver):
            return self._solver.root_values(self.average)
        return counterfactual_values(self.trunk.sequences, self.average, self.particles.ranges)

    def below(self, seat: int, key: int) -> Particles | None:
        """The public belief state at the leaf with this information state of a seat; None if no leaf has it."""
        for number, leaf in enumerate(self.trunk.leaves):
            keys = leaf.public.keys[seat]
            place = int(np.searchsorted(keys, np.uint64(key)))
            if place < len(keys) and keys[place] == np.uint64(key):
                return self.at(number)
        return None

    def at(self, number: int) -> Particles:
        """The public belief state at the leaf with this number, under the average behaviour."""
        if not self.trunk.leaves:
            raise BadInput("the trunk reaches the end of the game and has no leaves")
        leaf, plan = self.trunk.leaves[number], realised(self.trunk.sequences, self.average)
        return Particles(leaf.public, self.trunk.leaf_range(leaf, plan))


def cut(particles: Particles, depth: int, easy: int = 0) -> Trunk:
    """The trunk below particles, cut after `depth` transitions, or one or two more where it cannot be cut there.

    A trunk cannot be cut where the public does not observe that a transition took place. If all three depths fail, or
    if the game has fewer than about `easy` nodes left, the trunk goes to the end of the game.
    """
    if easy and guessed_size(particles.public.game, particles.public.rows) < easy:
        depth = _TO_THE_END
    for deeper in range(depth, depth + _PATIENCE):
        with contextlib.suppress(Unnoticed):
            return Trunk(particles.public.game, deeper, particles.public, particles.ranges)
    if guessed_size(particles.public.game, particles.public.rows) > _MOST:
        raise Unnoticed(
            f"{particles.public.game} cannot be cut after {depth} transitions, nor one or two later, since the "
            "public does not notice that time passes, and it is too large to be solved to its end"
        )
    return Trunk(particles.public.game, _TO_THE_END, particles.public, particles.ranges)
