"""Counterfactual regret minimisation on a sequence form: CFR, CFR+, discounted, predictive and asymmetric CFR+.

One update of a seat computes a gradient (see `plans`), then passes up its information states and down again:

    value[I]  = sum over a of behaviour[a] * gradient[a]        gradient[parent of I] += value[I]
    regret[a] += gradient[a] - value[I]                         then the method's own rule, then new behaviour
    plan[a]   = plan[parent of I] * behaviour[a]

Seats are updated in turn. The average plan, weighted by iteration, approaches an equilibrium.

    cfr     [Zinkevich2007]  regrets add up; all iterations have weight 1
    cfr+    [Tammelin2014]   regrets below 0 become 0; iteration t has weight t
    dcfr    [Brown2019]      positive regrets are multiplied by t^1.5 / (t^1.5 + 1), negative ones by 1/2; weight t^2
    pcfr+   [Farina2021]     as cfr+, but the next behaviour counts the last change of regrets twice; weight t^2
    sapcfr+ [Meng2025]       as pcfr+, but it counts the last change once and a half; weight t^4

In [Meng2025] the second count is a free number, and weights are t^2. A half, and t^4, did best where we tried them.
"""

import numpy as np

from foglight.compile import jitable, kernel
from foglight.solving.whole.plans import for_all, normalised, realise, realised, write_gradient
from foglight.solving.whole.sequences import Form, Ranges, SequenceForm

METHODS = ("cfr", "cfr+", "dcfr", "pcfr+", "sapcfr+")
USUAL, USUAL_FACTORED = "cfr+", "sapcfr+"  # unless a method is given
_CFR, CFR_PLUS, DISCOUNTED, _PREDICTIVE, _ASYMMETRIC = range(5)  # indices into METHODS


class FormRegrets:
    """A running solver of a bare form, in which each seat has one root: its first sequence."""

    def __init__(self, form: Form, method: str = "cfr+") -> None:
        n = int(form.sequence_begins[-1])
        self.form, self.method, self.iterations = form, METHODS.index(method), 0
        self.regrets, self.sums, self.plan, self._gradient = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self.behaviour = normalised(form, self.sums)
        self.plan[form.sequence_begins[:-1]] = 1.0
        for_all(form, self.behaviour, self.plan)

    def iterate(self, n: int) -> None:
        _iterate(
            self.form, self.method, self.iterations, n,
            self.regrets, self.sums, self.behaviour, self.plan, self._gradient,
        )  # fmt: skip
        self.iterations += n

    def average(self) -> np.ndarray:
        """The average behaviour, float64[S]."""
        return normalised(self.form, self.sums)


class Regrets:
    """A running solver of a sequence form; call `iterate` as often as you like."""

    def __init__(self, sequences: SequenceForm, method: str = "cfr+", ranges: Ranges | None = None) -> None:
        self.sequences, self.method = sequences, method
        self.form = sequences.under(ranges)
        self._number = METHODS.index(method)
        n = sequences.num_sequences
        self.iterations = 0
        self.regrets, self.sums = np.zeros(n), np.zeros(n)
        self.behaviour = normalised(sequences.form, np.zeros(n))
        self.plan = realised(sequences, self.behaviour)
        self._gradient = np.zeros(n)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that resuming needs, beside the number of iterations."""
        return {"regrets": self.regrets, "sums": self.sums, "behaviour": self.behaviour, "plan": self.plan}

    def iterate(self, n: int) -> None:
        _iterate(
            self.form, self._number, self.iterations, n,
            self.regrets, self.sums, self.behaviour, self.plan, self._gradient,
        )  # fmt: skip
        self.iterations += n

    def average(self) -> np.ndarray:
        """The average behaviour, float64[S]."""
        return normalised(self.sequences.form, self.sums)


@kernel
def _iterate(form, method, done, n, regrets, sums, behaviour, plan, gradient):
    for t in range(done + 1, done + n + 1):
        for seat in range(len(form.sequence_begins) - 1):
            write_gradient(form, plan, seat, gradient)
            update(form, method, t, seat, regrets, sums, behaviour, plan, gradient)
            realise(form, behaviour, seat, plan)


@jitable
def update(form, method, t, seat, regrets, sums, behaviour, plan, gradient):
    """Update a seat's regrets, behaviour and sums of plans from the gradient of its sequences, at iteration t."""
    weight = weight_of(method, t)
    for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
        first, last = form.begins[i], form.ends[i]
        value = 0.0
        for s in range(first, last):
            value += behaviour[s] * gradient[s]
            sums[s] += weight * plan[s]
        gradient[form.parents[i]] += value
        learn(method, t, first, last, value, gradient, regrets, behaviour)


@jitable
def weight_of(method, t):
    """The weight of iteration t in the average."""
    if method == _CFR:
        return 1.0
    if method == CFR_PLUS:
        return float(t)
    square = float(t) * float(t)
    return square * square if method == _ASYMMETRIC else square


@jitable
def learn(method, t, first, last, value, gradient, regrets, behaviour):
    """Update regrets and behaviour at an information state with sequences from `first` on, which is worth `value`."""
    kept = float(t) ** 1.5
    kept /= kept + 1.0
    total = 0.0
    for s in range(first, last):
        regret = gradient[s] - value
        grown = regrets[s] + regret
        if method == _CFR:
            regrets[s] = grown
            behaviour[s] = max(grown, 0.0)
        elif method == CFR_PLUS:
            grown = max(grown, 0.0)
            regrets[s] = grown
            behaviour[s] = grown
        elif method == DISCOUNTED:
            behaviour[s] = max(grown, 0.0)
            regrets[s] = grown * kept if grown > 0.0 else grown * 0.5
        else:
            grown = max(grown, 0.0)
            regrets[s] = grown
            behaviour[s] = max(grown + (0.5 * regret if method == _ASYMMETRIC else regret), 0.0)
        total += behaviour[s]
    if total > 0.0:
        share = 1.0 / total
        for s in range(first, last):
            behaviour[s] *= share
    else:
        share = 1.0 / (last - first)
        for s in range(first, last):
            behaviour[s] = share
