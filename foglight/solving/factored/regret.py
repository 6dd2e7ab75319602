"""Counterfactual regret minimisation on a factored form, with symmetric plans.

Most information states are soon left alone: the other seat no longer plays there, or the seat itself does not. Where a
gradient is 0 twice in a row, regrets and behaviour stay as they are; where a plan is 0 twice, so does the plan. Such
states are passed over, with the same results.
"""

from typing import Any

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.solving.factored.form import FactoredForm, normalised, plan_of
from foglight.solving.factored.products import Products
from foglight.solving.whole.regret import DISCOUNTED, METHODS, USUAL_FACTORED, learn, weight_of

_RESTS, _UNREACHED = 1, 2  # of an information state, as bits: its gradient was 0 at the last update; its plan is 0


class FactoredRegrets:
    """A running solver of a factored form; call `iterate` as often as you like."""

    def __init__(self, form: FactoredForm, method: str = USUAL_FACTORED) -> None:
        self.form, self.method, self.iterations = form, method, 0
        if method not in METHODS:
            raise BadInput(f"{form.game} is too large for {method}; {', '.join(METHODS)} and lp can solve it")
        self._number = METHODS.index(method)
        self.regrets, self.sums, self.gradients = form.zeros(), form.zeros(), form.zeros()
        self.products = Products(form)
        self._quiet = tuple(np.zeros(len(side.fixed), np.uint8) for side in form.sides)  # _RESTS, _UNREACHED
        self.behaviour = self.average()
        self.plans = tuple(plan_of(form, seat, own) for seat, own in enumerate(self.behaviour))

    def iterate(self, n: int) -> None:
        for t in range(self.iterations + 1, self.iterations + n + 1):
            for seat, side in enumerate(self.form.sides):
                self.products.write_gradient(seat, self.plans[1 - seat], self.gradients[seat])
                arrays = self._quiet, self.regrets, self.sums, self.behaviour, self.plans, self.gradients
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
def _update(side, method, t, quiet, regrets, sums, behaviour, plan, gradient):
    _learn_all(side, method, t, quiet, regrets[0], sums[0], behaviour[0], plan[0], gradient[0])
    _realise_all(side, quiet, behaviour[0], plan[0])


@jitable
def _learn_all(side, method, t, quiet, regrets, sums, behaviour, plan, gradient):
    weight, may_rest = weight_of(method, t), method != DISCOUNTED  # which changes regrets without a gradient
    for i in range(len(side.begins) - 2, -1, -1):
        first, last = side.begins[i], side.begins[i + 1]
        if not quiet[i] & _UNREACHED:
            for s in range(first, last):
                sums[s] += weight * plan[s]
        rests = may_rest
        for s in range(first, last):
            rests = rests and gradient[s] == 0.0
        if rests and quiet[i] & _RESTS:
            continue
        quiet[i] = quiet[i] & _UNREACHED | (_RESTS if rests else 0)
        value = 0.0
        for s in range(first, last):
            value += behaviour[s] * gradient[s]
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            gradient[side.parents[k]] += value
        learn(method, t, first, last, value, gradient, regrets, behaviour)


@jitable
def _realise_all(side, quiet, behaviour, plan):
    plan[0] = 1.0
    for i in range(len(side.begins) - 1):
        reach = 0.0
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            reach += plan[side.parents[k]]
        if reach == 0.0 and quiet[i] & _UNREACHED:
            continue
        quiet[i] = quiet[i] & _RESTS | (_UNREACHED if reach == 0.0 else 0)
        for s in range(side.begins[i], side.begins[i + 1]):
            plan[s] = reach * behaviour[s]
