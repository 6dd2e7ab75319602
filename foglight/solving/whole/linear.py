"""Exact equilibria of two-seat zero-sum games: the linear program of the sequence form [Koller1996].

The plan x of one seat that earns most against a best response:

    maximise  ranges . v    with   x[root] = range,  sum over a at I of x[a] = x[parent of I],  x >= 0
                            and    v[of s] <= payoffs[s] . x + sum of v[I] over the states I that follow s

for each sequence s of the other seat. v[of s] is the least that the other seat can let the first one get from there on.
It belongs to the information state of s, or to s itself if s is a root. The other seat's plan is the dual solution: the
marginals of these constraints. HiGHS solves the program by dual simplex, which is as exact as its interior point method
here, and faster on every game we tried.

At information states that a seat's own plan never reaches, its behaviour is uniform. The result is an equilibrium, but
not one that punishes every mistake.
"""

from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.solving.whole.plans import normalised
from foglight.solving.whole.sequences import Ranges, SequenceForm

_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the smallest HiGHS accepts

_LARGEST = 1e12  # payoffs beyond which a solution in floating-point numbers means nothing, and HiGHS may refuse


def equilibrium(sequences: SequenceForm, ranges: Ranges | None = None) -> tuple[float, np.ndarray]:
    """The game's value to seat 0, and the equilibrium behaviour of both seats, float64[S]."""
    value, plan = _solve(sequences, 0, _start(sequences, ranges), None, None)
    return value, normalised(sequences.form, plan)


def fixed_value(
    sequences: SequenceForm, seat: int, behaviour: np.ndarray, fixed: np.ndarray, ranges: Ranges | None = None
) -> float:
    """The most a seat can get against a best response if its behaviour is given at the states in `fixed`, bool[I]."""
    return _solve(sequences, seat, _start(sequences, ranges), behaviour, fixed)[0]


def _start(sequences: SequenceForm, ranges: Ranges | None) -> np.ndarray:
    """A plan, float64[S]: the ranges at the root sequences (1 without ranges), 0 elsewhere."""
    start = sequences.start()
    if ranges is not None:
        for first, own in zip(sequences.form.sequence_begins, ranges, strict=False):
            start[first : first + len(own)] = own
    return start


def _solve(
    sequences: SequenceForm, seat: int, start: np.ndarray, behaviour: np.ndarray | None, fixed: np.ndarray | None
) -> tuple[float, np.ndarray]:
    """The value to `seat`, and the plans of both seats, float64[S]; `start` has the plans of the root sequences."""
    from scipy import sparse
    from scipy.optimize import linprog  # imported here: slow, and rarely needed

    tree, form = sequences.tree, sequences.form
    if tree.num_seats != 2:
        raise BadInput(f"{tree.game} has {tree.num_seats} seats; a linear program solves games of two seats only")
    if np.ptp(tree.payoffs.sum(1)) > 1e-9:  # a constant sum is as good as 0: only one seat's payoffs are used
        raise BadInput(f"{tree.game} is not zero-sum, so it has no single value; a linear program cannot solve it")
    if (largest := abs(tree.payoffs).max(initial=0.0)) > _LARGEST:
        raise BadInput(
            f"{tree.game} pays up to {largest:g}, and a linear program takes {_LARGEST:g} at most; scale it down"
        )
    other = 1 - seat
    begin, end = (int(n) for n in form.sequence_begins[seat : seat + 2])
    first, last = (int(n) for n in form.sequence_begins[other : other + 2])
    flow, theirs = _flow(sequences, seat, behaviour, fixed), _flow(sequences, other, None, None)
    a, b = form.entry_begins[first], form.entry_begins[last]
    payoffs = sparse.csr_array(
        (form.weights[a:b], form.targets[a:b] - begin, form.entry_begins[first : last + 1] - a),
        shape=(last - first, end - begin),
    )
    # variables: the plan x, then v
    own_roots, other_roots = (len(sequences.root_keys[who]) for who in (seat, other))
    aims = np.zeros(end - begin + theirs.shape[0])
    aims[end - begin : end - begin + other_roots] = -start[first : first + other_roots]
    sums = np.zeros(flow.shape[0])
    sums[:own_roots] = start[begin : begin + own_roots]
    result = linprog(
        aims,
        A_ub=sparse.hstack([-payoffs, theirs.T], format="csc"),
        b_ub=np.zeros(last - first),
        A_eq=sparse.hstack([flow, sparse.csr_array((flow.shape[0], theirs.shape[0]))], format="csc"),
        b_eq=sums,
        bounds=np.concatenate(
            [np.tile([0.0, np.inf], (end - begin, 1)), np.tile([-np.inf, np.inf], (theirs.shape[0], 1))]
        ),
        method="highs-ds",
        options=_TOLERANCES,
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS could not solve {tree.game}: {result.message}")
    plan = np.zeros(sequences.num_sequences)
    plan[begin:end] = result.x[: end - begin]
    plan[first:last] = -result.ineqlin.marginals
    return 0.0 - result.fun, np.maximum(plan, 0.0)  # 0.0 - x, so that a value of zero is 0.0 and not -0.0


def _flow(sequences: SequenceForm, seat: int, behaviour: np.ndarray | None, fixed: np.ndarray | None) -> Any:
    """The equations of a seat's plans as a sparse matrix: one row per root sequence, then the rows of each state.

    A free state has one row: the plans of its actions add up to the plan of its parent. A fixed state has one row per
    action: its plan is the given share of the parent's.
    """
    from scipy import sparse

    form, roots = sequences.form, len(sequences.root_keys[seat])
    begin, end = form.sequence_begins[seat : seat + 2]
    states = np.arange(*form.state_begins[seat : seat + 2])
    starts, widths = form.begins[states].astype(np.int64), (form.ends - form.begins)[states].astype(np.int64)
    is_fixed = np.zeros(len(states), bool) if fixed is None else fixed[states]
    counts = np.where(is_fixed, widths, 1)  # rows of each state
    rows = roots + np.cumsum(counts) - counts
    within = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
    actions = np.repeat(starts, widths) + within
    shared = np.repeat(rows, widths) + np.where(np.repeat(is_fixed, widths), within, 0)
    leading = np.repeat(form.parents[states], counts)
    shares = np.ones(len(leading))
    if behaviour is not None:
        order = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        shares = np.where(np.repeat(is_fixed, counts), behaviour[np.repeat(starts, counts) + order], 1.0)
    columns = np.concatenate([np.arange(roots) + begin, actions, leading]) - begin
    lines = np.concatenate([np.arange(roots), shared, roots + np.arange(counts.sum())])
    numbers = np.concatenate([np.ones(roots + len(actions)), -shares])
    return sparse.csr_array((numbers, (lines, columns)), shape=(roots + int(counts.sum()), int(end - begin)))
