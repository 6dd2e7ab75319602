"""Counterfactual regret minimisation on a factored form, with symmetric plans."""

from typing import Any

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.solving.factored.form import FactoredForm, normalised, plan_of, realise
from foglight.solving.factored.products import Products
from foglight.solving.whole.regret import METHODS, learn, weight_of


class FactoredRegrets:
    """A running solver of a factored form; call `iterate` as often as you like."""

    def __init__(self, form: FactoredForm, method: str = "pcfr+") -> None:
        self.form, self.method, self.iterations = form, method, 0
        if method not in METHODS:
            raise BadInput(f"{form.game} is too large for {method}; cfr, cfr+, dcfr, pcfr+ and lp can solve it")
        self._number = METHODS.index(method)
        self.regrets, self.sums, self.gradients = form.zeros(), form.zeros(), form.zeros()
        self._products = Products(form)
        self.behaviour = self.average()
        self.plans = tuple(plan_of(form, seat, own) for seat, own in enumerate(self.behaviour))

    def iterate(self, n: int) -> None:
        for t in range(self.iterations + 1, self.iterations + n + 1):
            for seat, side in enumerate(self.form.sides):
                self._products.write_gradient(seat, self.plans[1 - seat], self.gradients[seat])
                arrays = self.regrets, self.sums, self.behaviour, self.plans, self.gradients
                _update(side, self._number, t, *(pair[seat] for pair in arrays))
            self.iterations = t

    def average(self) -> Any:
        """By seat, the average behaviour, float64[1, S]."""
        first, second = (normalised(self.form, seat, sums) for seat, sums in enumerate(self.sums))
        return first, second

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that resuming needs, beside the number of iterations."""
        arrays = {"regrets": self.regrets, "sums": self.sums, "behaviour": self.behaviour, "plan": self.plans}
        return {f"{name}{seat}": pair[seat] for name, pair in arrays.items() for seat in range(2)}


@kernel
def _update(side, method, t, regrets, sums, behaviour, plan, gradient):
    _learn_all(side, method, t, regrets[0], sums[0], behaviour[0], plan[0], gradient[0])
    realise(side, behaviour, plan)


@jitable
def _learn_all(side, method, t, regrets, sums, behaviour, plan, gradient):
    weight = weight_of(method, t)
    for i in range(len(side.begins) - 2, -1, -1):
        first, last = side.begins[i], side.begins[i + 1]
        value = 0.0
        for s in range(first, last):
            value += behaviour[s] * gradient[s]
            sums[s] += weight * plan[s]
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            gradient[side.parents[k]] += value
        learn(method, t, first, last, value, gradient, regrets, behaviour)
