"""Filtering a game whose observations form a Boolean formula, by a SAT solver [Solinas2023, Theorem 1].

Such a game has the rule `formula`: the clauses that its observations amount to, and the history that each satisfying
assignment stands for. One history takes one call of the solver, however many variables there are. Counting and sampling
go through all satisfying assignments, which `limit` bounds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.rules import Game, formula
from foglight.state import State, replay

_SOLVER = "glucose4"


class Sat:
    """The histories that the satisfying assignments of a formula stand for."""

    def __init__(self, game: Game, observations: Sequence[int], viewer: int, policy: Any, limit: int) -> None:
        try:
            from pysat.solvers import Solver
        except ImportError:
            raise BadInput("this filter needs a SAT solver; install one with: pip install 'foglight[sat]'") from None
        parts = formula(game, list(observations), viewer)
        if parts is None:
            raise BadInput(f"{game} has no formula for its observations; use method='layers'")
        if policy is not None:
            raise BadInput("method='sat' takes no policy; use method='layers'")
        self.game, self.limit, self._solver = game, limit, Solver
        self.variables, self.clauses, self.history = parts
        self._sampled = 0  # histories in the last sample

    def exists(self) -> bool:
        return next(self._models(), None) is not None

    def construct(self, seed: int = 0) -> State:
        model = next(self._models(seed), None)
        if model is None:
            raise BadInput("no history gives these observations; check with exists() first")
        return replay(self.game, self.history(model))

    def count(self) -> int:
        return sum(1 for _ in self._bounded())

    def enumerate(self) -> Iterator[tuple[State, float]]:
        for model in self._bounded():
            yield replay(self.game, self.history(model)), 1.0

    def sample(self, n: int, seed: int = 0) -> list[State]:
        models = list(self._bounded())
        if not models:
            raise BadInput("no history gives these observations; check with exists() first")
        self._sampled = n
        chosen = np.random.default_rng(seed).integers(len(models), size=n)
        return [replay(self.game, self.history(models[c])) for c in chosen]

    def diagnostics(self) -> dict[str, Any]:
        size = {"variables": self.variables, "clauses": len(self.clauses)}
        return {"method": "sat", "exact": True, "solver": _SOLVER, **size, "effective": float(self._sampled)}

    def _bounded(self) -> Iterator[list[bool]]:
        for i, model in enumerate(self._models()):
            if i == self.limit:
                raise BadInput(f"more than {self.limit} assignments satisfy the observations; raise the limit")
            yield model

    def _models(self, seed: int | None = None) -> Iterator[list[bool]]:
        """The satisfying assignments; the seed determines which one comes first."""
        with self._solver(name=_SOLVER, bootstrap_with=self.clauses) as solver:
            # a clause that always holds makes the solver name every variable
            for variable in range(1, self.variables + 1):
                solver.add_clause([variable, -variable])
            if seed is not None:
                signs = np.random.default_rng(seed).integers(2, size=self.variables)
                solver.set_phases([int(v if s else -v) for v, s in enumerate(signs, start=1)])
            for model in solver.enum_models():
                values = set(model)
                yield [variable in values for variable in range(1, self.variables + 1)]
