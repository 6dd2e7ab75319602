"""The factored sequence form: payoffs of a game with private transitions as a product of sparse matrices.

Let x and y be the plans of the two seats. A common history happens with probability X * Y, where X is the sum of x over
the sequences of seat 0 that fit it, and Y the same for seat 1. So the expected payoff of seat 0 is

    sum over ends e of  payoff(e) * X[row0(e)] * Y[row1(e)]            X = L0 x, Y = L1 y

and a gradient is two products with L0 and L1, which have one entry for each sequence that fits a row. No history is
visited: there are as many as the entries of L0, of L1 and of the ends multiply to.

Payoffs are shifted by a constant, so that the commonest one is 0 and its ends need not be kept. A constant changes no
regret.
"""

from typing import NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.rules import Game, bounds
from foglight.solving.factored.symmetry import Group, group_of
from foglight.solving.factored.walk import UNFIT, Walk, walk


class Side(NamedTuple):
    """One seat's part of a form: I information states, S sequences, of which 0 is the root."""

    begins: np.ndarray  # int32[I + 1]: the sequence of an information state's first action
    link_begins: np.ndarray  # int32[I + 1]
    parents: np.ndarray  # int32[links]: the sequences that lead to an information state
    weights: np.ndarray  # float64[S]: 1 / the number of mirror images that a sequence stands for
    entry_begins: np.ndarray  # int64[S + 1]
    rows: np.ndarray  # int32[E]: the rows that a sequence fits
    num_rows: int


class Ends(NamedTuple):
    """Where common histories end, except those that pay `shift`."""

    rows: np.ndarray  # int32[T, 2]: the row of each seat
    payoffs: np.ndarray  # float32[T]: of seat 0, less the shift, times the number of mirror images
    shift: float


class FactoredForm:
    """The factored form of a game, up to its symmetries."""

    def __init__(self, game: Game, group: Group | None = None, shift: float=0.0) -> None:
        self.game, self.group = game, group or group_of(game)
        length = bounds(game).length
        if not length:
            raise BadInput(f"{game} has no bound on its length")
        walks = [walk(game, seat, self.group, length, shift) for seat in range(2)]
        if any(found.result == UNFIT for found in walks):
            raise BadInput(f"{game} does not factor")
        self.walks = walks
        self.sides = tuple(_side(found, len(self.group.images)) for found in walks)
        self.ends = Ends(np.stack([found.ends for found in walks], 1), walks[0].payoffs, shift)


def _side(found: Walk, symmetries: int) -> Side:
    states, sequences = len(found.keys), len(found.actions)
    links = np.unique(found.links[:, 0] * sequences + found.links[:, 1])  # mirror images give the same ones
    link_begins = np.searchsorted(links // sequences, np.arange(states + 1))
    which = found.entries[:, 1] // symmetries
    entry_begins = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=sequences))])
    rows = found.entries[np.argsort(which, kind="stable"), 0]
    return Side(
        np.append(found.begins, sequences).astype(np.int32),
        link_begins.astype(np.int32),
        (links % sequences).astype(np.int32),
        found.weights,
        entry_begins.astype(np.int64),
        np.ascontiguousarray(rows),
        found.rows,
    )


@jitable
def realise(side, behaviour, plan):
    """Turn a seat's behaviour into its plan."""
    plan[0] = 1.0
    for i in range(len(side.begins) - 1):
        reach = 0.0
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            reach += plan[side.parents[k]]
        for s in range(side.begins[i], side.begins[i + 1]):
            plan[s] = reach * behaviour[s]


@jitable
def spread(side, plan, chances):
    """The probability of each row by the seat's own play: L x."""
    chances[:] = 0.0
    for s in range(len(plan)):
        share = plan[s] * side.weights[s]
        if share > 0.0:
            for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                chances[side.rows[e]] += share


@jitable
def couple(ends, seat, chances, values):
    """What each row of a seat is worth to it, from the probabilities of the other seat's rows."""
    values[:] = 0.0
    sign = 1.0 if seat == 0 else -1.0
    for e in range(len(ends.payoffs)):
        values[ends.rows[e, seat]] += sign * ends.payoffs[e] * chances[ends.rows[e, 1 - seat]]


@jitable
def collect(side, values, gradient):
    """What each sequence earns where it ends: the transpose of L times the values of rows."""
    for s in range(len(gradient)):
        total = 0.0
        for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
            total += values[side.rows[e]]
        gradient[s] = side.weights[s] * total


@jitable
def gradient_for(sides, ends, seat, plan, chances, values, gradient):
    """The gradient of a seat, given the plan of the other."""
    spread(sides[1 - seat], plan, chances)
    couple(ends, seat, chances, values)
    collect(sides[seat], values, gradient)


@jitable
def update(side, t, regrets, sums, behaviour, plan, gradient):
    """Predictive CFR+ on one side."""
    weight = float(t) * float(t)
    for i in range(len(side.begins) - 2, -1, -1):
        first, last = side.begins[i], side.begins[i + 1]
        value = 0.0
        for s in range(first, last):
            value += behaviour[s] * gradient[s]
            sums[s] += weight * plan[s]
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            gradient[side.parents[k]] += value
        total = 0.0
        for s in range(first, last):
            regret = gradient[s] - value
            regrets[s] = max(regrets[s] + regret, 0.0)
            behaviour[s] = max(regrets[s] + regret, 0.0)
            total += behaviour[s]
        for s in range(first, last):
            behaviour[s] = behaviour[s] / total if total > 0.0 else 1.0 / (last - first)


@kernel
def iterate(sides, ends, done, n, regrets, sums, behaviour, plans, gradients, chances, values):
    for t in range(done + 1, done + n + 1):
        for seat in range(2):
            gradient_for(sides, ends, seat, plans[1 - seat], chances[1 - seat], values[seat], gradients[seat])
            update(sides[seat], t, regrets[seat], sums[seat], behaviour[seat], plans[seat], gradients[seat])
            realise(sides[seat], behaviour[seat], plans[seat])


@kernel
def respond(sides, ends, seat, plan, chances, values, gradient):
    """The value of a best response to the other's plan, without the shift."""
    gradient_for(sides, ends, seat, plan, chances, values, gradient)
    side = sides[seat]
    for i in range(len(side.begins) - 2, -1, -1):
        best = gradient[side.begins[i]]
        for s in range(side.begins[i], side.begins[i + 1]):
            best = max(best, gradient[s])
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            gradient[side.parents[k]] += best
    return gradient[0]


@kernel
def plan_of(side, behaviour, plan):
    realise(side, behaviour, plan)


@kernel
def normalise(side, sums, behaviour):
    for i in range(len(side.begins) - 1):
        first, last = side.begins[i], side.begins[i + 1]
        total = 0.0
        for s in range(first, last):
            total += sums[s]
        for s in range(first, last):
            behaviour[s] = sums[s] / total if total > 0.0 else 1.0 / (last - first)
