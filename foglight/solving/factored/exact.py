"""Exact solutions of large games: linear programs on the supports of both seats, and a proof in whole numbers.

A game with a million sequences often has an equilibrium that plays a few thousand of them. The program of the sequence
form [Koller1996] is solved with these alone. Then each seat's best response among all sequences is found; what it plays
is added, and the program is solved again [McMahan2003], until no best response gains anything.

The plans are then rounded to fractions and proved: best responses to plans in fractions are computed in whole numbers.
If what seat 0 gets for sure is what seat 1 concedes at most, it is the value of the game.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from foglight.compile import kernel
from foglight.solving.factored.form import FactoredForm, best_response, respond
from foglight.solving.factored.parts import Side

_SUPPORT = 1e-6  # plans from which on a sequence is in the first program
_GAIN = 1e-9  # that best responses may have at the end
_DENOMINATORS = 100, 10_000, 1_000_000  # the largest of a plan in fractions, one after the other
_LARGEST = 1 << 62  # of whole numbers in the proof


class Exact(NamedTuple):
    """An equilibrium with symmetric plans, float64[1, S] for each seat, and what is proved of the game's value."""

    plans: tuple[np.ndarray, np.ndarray]
    value: float  # of the game to seat 0, by the last program
    gains: tuple[float, float]  # of best responses to these plans
    bounds: tuple[Fraction | None, Fraction | None]  # what seat 0 gets for sure, and what seat 1 concedes, if proved
    sizes: tuple[int, int]  # sequences in the last program

    @property
    def proved(self) -> Fraction | None:
        """The value of the game, if it is proved."""
        return self.bounds[0] if self.bounds[0] == self.bounds[1] else None


def equilibrium(form: FactoredForm, plans: Any) -> Exact:
    """An equilibrium near these plans, by linear programs on supports."""
    supports = [np.zeros(len(side.actions), np.bool_) for side in form.sides]
    for side, plan, support in zip(form.sides, plans, supports, strict=True):
        _add_sequences(side, plan[0] > _SUPPORT, plan[0], support)
    while True:
        value, found = _solve(form, supports)
        gains, before = [], [int(support.sum()) for support in supports]
        for seat, side in enumerate(form.sides):
            worth, values = best_response(form, found[1 - seat], seat)
            gains.append(worth - (value if seat == 0 else -value))
            if gains[seat] > _GAIN:
                best = np.zeros(len(side.actions), np.bool_)
                _add_sequences(side, best, values[0], best)
                supports[seat] |= best
        sizes = [int(support.sum()) for support in supports]
        if sizes == before:
            break
    lowest, highest = (proved_bound(form, seat, plan[0]) for seat, plan in enumerate(found))
    return Exact(found, value, (gains[0], gains[1]), (lowest, highest), (sizes[0], sizes[1]))


@kernel
def _add_sequences(side, wanted, preferred, support):
    """Add sequences to a support, and what they need: a way there, and an action wherever play may lead.

    Where there is a choice, the sequence with the largest `preferred` is taken.
    """
    support[0] = True
    for i in range(len(side.begins) - 2, -1, -1):
        needed, led = False, False
        for s in range(side.begins[i], side.begins[i + 1]):
            support[s] = support[s] or wanted[s]
            needed = needed or support[s]
        parent = side.parents[side.link_begins[i]]
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            led = led or support[side.parents[k]] or wanted[side.parents[k]]
            if preferred[side.parents[k]] > preferred[parent]:
                parent = side.parents[k]
        if needed and not led:
            support[parent] = True
    for i in range(len(side.begins) - 1):
        led, best = False, side.begins[i]
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            led = led or support[side.parents[k]]
        if led:
            some = False
            for s in range(side.begins[i], side.begins[i + 1]):
                some = some or support[s]
                if preferred[s] > preferred[best]:
                    best = s
            if not some:
                support[best] = True


def _solve(form: FactoredForm, supports: list[np.ndarray]) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The value to seat 0 of the game with these sequences alone, and both plans: the program and its dual solution."""
    from scipy import sparse
    from scipy.optimize import linprog

    chosen = [np.flatnonzero(support) for support in supports]
    fits = [_fits(side, own) for side, own in zip(form.sides, chosen, strict=True)]
    shape = form.sides[0].num_rows, form.sides[1].num_rows
    meetings = form.ends.of[0]
    payoffs = sparse.csr_array((form.ends.payoffs.astype(float), meetings.rows, meetings.begins), shape)
    earned = fits[1].T @ (payoffs.T @ fits[0])
    flow, theirs = (_flow(side, own) for side, own in zip(form.sides, chosen, strict=True))
    n, states = len(chosen[0]), theirs.shape[0]
    aims, sums = np.zeros(n + states), np.zeros(flow.shape[0])
    aims[n], sums[0] = -1.0, 1.0
    result = linprog(
        aims,
        A_ub=sparse.hstack([-earned, theirs.T], format="csc"),
        b_ub=np.zeros(len(chosen[1])),
        A_eq=sparse.hstack([flow, sparse.csr_array((flow.shape[0], states))], format="csc"),
        b_eq=sums,
        bounds=np.concatenate([np.tile([0.0, np.inf], (n, 1)), np.tile([-np.inf, np.inf], (states, 1))]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS could not solve {form.game} on its supports: {result.message}")
    first, second = form.zeros()
    first[0, chosen[0]] = np.maximum(result.x[:n], 0.0)
    second[0, chosen[1]] = np.maximum(-result.ineqlin.marginals, 0.0)
    return form.ends.shift - result.fun, (first, second)


def _fits(side: Side, chosen: np.ndarray) -> Any:
    """The columns of L for some sequences: by row and sequence, how much of the sequence fits."""
    from scipy import sparse

    sizes = side.entry_begins[chosen + 1] - side.entry_begins[chosen]
    starts = np.repeat(side.entry_begins[chosen] - np.cumsum(sizes) + sizes, sizes)
    rows = side.rows[starts + np.arange(sizes.sum())]
    columns = np.repeat(np.arange(len(chosen)), sizes)
    weights = np.repeat(side.weights[chosen], sizes)
    return sparse.csr_array((weights, (rows, columns)), (side.num_rows, len(chosen)))


def _flow(side: Side, chosen: np.ndarray) -> Any:
    """The equations of plans: the root's is 1, and at each information state plans add up to those that lead there."""
    from scipy import sparse

    numbers = np.full(len(side.actions), -1)
    numbers[chosen] = np.arange(len(chosen))
    owners = np.searchsorted(side.begins, chosen[1:], "right") - 1
    states, lines = np.unique(owners, return_inverse=True)
    sizes = side.link_begins[states + 1] - side.link_begins[states]
    starts = np.repeat(side.link_begins[states] - np.cumsum(sizes) + sizes, sizes)
    parents = numbers[side.parents[starts + np.arange(sizes.sum())]]
    leading = np.repeat(np.arange(len(states)), sizes)[parents >= 0]
    parents = parents[parents >= 0]
    values = np.concatenate([np.ones(len(chosen)), -np.ones(len(parents))])
    rows = np.concatenate([[0], 1 + lines, 1 + leading])
    columns = np.concatenate([np.arange(len(chosen)), parents])
    return sparse.csr_array((values, (rows, columns)), (1 + len(states), len(chosen)))


# Proofs in whole numbers ----------------------------------------------------------------------------------------


def proved_bound(form: FactoredForm, seat: int, plan: np.ndarray) -> Fraction | None:
    """What seat 0 gets against a best response to a seat's plan in fractions; None if no fractions fit."""
    for largest in _DENOMINATORS:
        used = np.flatnonzero(plan > 0.5 / largest)
        fractions = [Fraction(float(share)).limit_denominator(largest) for share in plan[used]]
        common = math.lcm(*(share.denominator for share in fractions))
        if common < _LARGEST:
            whole = np.zeros(len(plan), np.int64)
            whole[used] = [int(share * common) for share in fractions]
            if whole[0] == common and _is_plan(form.sides[seat], whole):
                return _bound(form, seat, whole)
    return None


@kernel
def _is_plan(side, plan):
    for i in range(len(side.begins) - 1):
        rest = 0
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            rest += plan[side.parents[k]]
        for s in range(side.begins[i], side.begins[i + 1]):
            rest -= plan[s]
        if rest != 0:
            return False
    return True


def _bound(form: FactoredForm, seat: int, plan: np.ndarray) -> Fraction | None:
    """The payoff of seat 0 against a best response to a seat's plan; the plan is in parts of its first number."""
    other, ends = 1 - seat, form.ends
    images = [np.rint(1.0 / side.weights).astype(np.int64) for side in form.sides]
    times = math.lcm(*(int(n) for own in images for n in np.unique(own)))
    worth = ends.payoffs if other == 0 else -ends.payoffs
    payoffs = worth.astype(np.int64)
    scale = int(plan[0]) * times * times
    if (payoffs != worth).any() or not float(ends.shift).is_integer():
        return None
    if scale * int(abs(payoffs).sum()) > _LARGEST:
        return None
    own, their = form.sides[seat], form.sides[other]
    chances, values = np.zeros(own.num_rows, np.int64), np.zeros(their.num_rows, np.int64)
    sizes = np.diff(own.entry_begins)
    np.add.at(chances, own.rows, np.repeat(plan * (times // images[seat]), sizes))
    pairs = ends.rows
    np.add.at(values, pairs[:, other], payoffs * chances[pairs[:, seat]])
    sums = np.concatenate([[0], np.cumsum(values[their.rows])])
    gradient = np.diff(sums[their.entry_begins]) * (times // images[other])
    respond(their, form.group, gradient[None])
    best = Fraction(int(gradient[0]), scale)
    return Fraction(int(ends.shift)) + (best if other == 0 else -best)
