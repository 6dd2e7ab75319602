"""One decision of continual resolving: a trunk below particles, solved, and the particles where it ends.

What comes after the trunk is valued by an evaluator. Where the trunk reaches the end of the game nothing is left to
value, and all iterations run in compiled code.
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

_PATIENCE = 3  # transitions further down that a trunk may end
_TO_THE_END = 1 << 30
_MOST = 2_000_000  # nodes of a trunk that has no other end than the game's
_AT_ONCE = 10  # iterations between two looks at the clock


class Lookahead:
    """A trunk of `depth` transitions below particles, or a few more, where everybody sees that time has passed."""

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
        """Iterate, at most until a time of `time.perf_counter`; once at least."""
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
        """What to do in an information state: a probability for each legal action; None if it is not in the trunk."""
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
        """The public belief state at the end of the trunk in which a seat may be in this information state."""
        for number, leaf in enumerate(self.trunk.leaves):
            keys = leaf.public.keys[seat]
            place = int(np.searchsorted(keys, np.uint64(key)))
            if place < len(keys) and keys[place] == np.uint64(key):
                return self.at(number)
        return None

    def at(self, number: int) -> Particles:
        """The public belief state at a leaf of the trunk."""
        if not self.trunk.leaves:
            raise BadInput("the trunk reaches the end of the game")
        leaf, plan = self.trunk.leaves[number], realised(self.trunk.sequences, self.average)
        return Particles(leaf.public, self.trunk.leaf_range(leaf, plan))


def cut(particles: Particles, depth: int, easy: int = 0) -> Trunk:
    """The trunk below particles, so many transitions deep or a few more.

    It goes to the end of the game where that takes fewer than about `easy` nodes, and where it can end nowhere else,
    since the public does not notice that time passes.
    """
    if easy and guessed_size(particles.public.game, particles.public.rows) < easy:
        depth = _TO_THE_END
    for deeper in range(depth, depth + _PATIENCE):
        with contextlib.suppress(Unnoticed):
            return Trunk(particles.public.game, deeper, particles.public, particles.ranges)
    if guessed_size(particles.public.game, particles.public.rows) > _MOST:
        raise Unnoticed(
            f"{particles.public.game} cannot be cut after {depth} transitions, nor a few later, since the public does "
            "not notice that time passes, and it is too large to be solved to its end"
        )
    return Trunk(particles.public.game, _TO_THE_END, particles.public, particles.ranges)
