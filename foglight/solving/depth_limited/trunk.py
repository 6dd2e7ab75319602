"""Depth-limited solving: the first moves of a game, its trunk, with an evaluator where it is cut [Moravcik2017].

In every update of a seat, the evaluator gives the counterfactual values of the public states at the cut under the
current ranges. They are added to the gradient of the sequences that lead there. With exact values, the average strategy
converges to the trunk of an equilibrium. `trunk_exploitability` measures how far it is from one: the seats must follow
the given strategy in the trunk and are free to play best after it [Seitz2019],

    - (value that seat 0 can guarantee with its trunk fixed)  - (the same for seat 1)
"""

from functools import cached_property
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.names import BadInput
from foglight.policies import Tabular
from foglight.rules import Game
from foglight.solving.depth_limited.public import Leaf, PublicState, leaves
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.linear import fixed_value
from foglight.solving.whole.plans import best_response, normalised, realise, realised, root_values, write_gradient
from foglight.solving.whole.regret import CFR_PLUS, METHODS, update
from foglight.solving.whole.sequences import Ranges, SequenceForm
from foglight.solving.whole.solved import table
from foglight.solving.whole.tree import build_tree


class Trunk:
    """A game from its start, or from a public belief state, cut `depth` transitions below.

    `root` is the public state to begin at. `ranges` are, by seat, the probabilities that its own play leads to each of
    its information states there. Without them the trunk begins at the start of the game. `memory` is in GiB.

        >>> trunk = fl.Trunk("kuhn_poker", depth=3)  # two cards, and the first action
        >>> len(trunk.public_states), trunk.sequences.num_states
        (2, 3)
    """

    def __init__(
        self, game: Game, depth: int, root: PublicState | None = None, ranges: Ranges | None = None, memory: float = 4.0
    ) -> None:
        if depth < 1:
            raise BadInput(f"a trunk needs a depth of at least 1, not {depth}")
        tree = build_tree(game, None if root is None else root.rows, depth, memory)
        self.root, self.ranges, self.memory = root, ranges, memory
        self.sequences = SequenceForm(tree, None if root is None else root.chance)
        self.leaves = leaves(self.sequences)

    @property
    def public_states(self) -> list[PublicState]:
        """The public states at which the trunk is cut."""
        return [leaf.public for leaf in self.leaves]

    def leaf_ranges(self, plan: np.ndarray) -> list[list[np.ndarray]]:
        """The ranges at the leaves under a plan: by leaf, then by seat."""
        return [self.leaf_range(leaf, plan) for leaf in self.leaves]

    def flat_ranges(self, plan: np.ndarray) -> np.ndarray:
        """The same in one flat array, ordered by leaf, then by seat."""
        return plan[self.ends] if self._factors is None else plan[self.ends] * self._factors[self.ends]

    @cached_property
    def ends(self) -> np.ndarray:
        """The sequences that lead to the information states at the leaves, ordered by leaf, then by seat: int32."""
        none = np.zeros(0, np.int32)
        return np.concatenate([none, *(own for leaf in self.leaves for own in leaf.sequences)])

    def leaf_range(self, leaf: Leaf, plan: np.ndarray) -> list[np.ndarray]:
        """The ranges at one leaf under a plan, by seat."""
        factors = np.ones(len(plan)) if self._factors is None else self._factors
        return [plan[own] * factors[own] for own in leaf.sequences]

    @cached_property
    def _factors(self) -> np.ndarray | None:
        """The range at the root of each sequence, float64[S]; None: all are 1."""
        if self.ranges is None:
            return None
        factors = self.sequences.start()
        for first, own in zip(self.sequences.form.sequence_begins, self.ranges, strict=False):
            factors[first : first + len(own)] = own
        return factors[self.sequences.roots_of]


class TrunkSolver:
    """A running solver of a trunk, with an evaluator at its leaves."""

    def __init__(self, trunk: Trunk, evaluator: Evaluator, method: str = "cfr+") -> None:
        self.trunk, self.evaluator = trunk, evaluator
        self._number, n = METHODS.index(method), trunk.sequences.num_sequences
        self.form = trunk.sequences.under(trunk.ranges)
        self.iterations = 0
        self.regrets, self.sums, self._gradient = np.zeros(n), np.zeros(n), np.zeros(n)
        self.behaviour = normalised(self.form, np.zeros(n))
        self.plan = realised(trunk.sequences, self.behaviour)
        evaluator.start(trunk.public_states)
        self._ends = [trunk.ends[own] for own in evaluator.places]  # by seat

    def iterate(self, n: int) -> None:
        for _ in range(n):
            self.iterations += 1
            for seat in range(self.trunk.sequences.tree.num_seats):
                _write_gradient(self.form, self.plan, seat, self._gradient)
                self._add_leaves(self.plan, seat, self._gradient)
                _update(
                    self.form, self._number, self.iterations, seat,
                    self.regrets, self.sums, self.behaviour, self.plan, self._gradient,
                )  # fmt: skip

    def _add_leaves(self, plan: np.ndarray, seat: int, gradient: np.ndarray) -> None:
        """Add a seat's values at the leaves to the gradient of the sequences that lead there."""
        if not self.trunk.leaves:
            return
        worth = self.evaluator.seat_values(self.trunk.flat_ranges(plan), seat)
        gradient += np.bincount(self._ends[seat], worth, len(gradient))

    def root_values(self, behaviour: np.ndarray) -> list[np.ndarray]:
        """By seat, the counterfactual values of its root sequences when all seats follow this behaviour."""
        plan = realised(self.trunk.sequences, behaviour)
        gradient = np.zeros(len(plan))
        for seat in range(self.trunk.sequences.tree.num_seats):
            _write_gradient(self.form, plan, seat, gradient)
            self._add_leaves(plan, seat, gradient)
            _pass_up(self.form, behaviour, seat, gradient)
        return root_values(self.trunk.sequences, gradient)

    def average(self) -> np.ndarray:
        """The average behaviour in the trunk, float64[S]."""
        return normalised(self.form, self.sums)

    def policy(self) -> Tabular:
        """The average behaviour as a policy."""
        return Tabular(*table(self.trunk.sequences, self.average()))


def solve_trunk(trunk: Trunk, evaluator: Evaluator, iterations: int = 100, method: str = "cfr+") -> Tabular:
    """A policy for the trunk, with an evaluator at its leaves; `method` is cfr, cfr+, dcfr, pcfr+ or sapcfr+.

    >>> trunk = fl.Trunk("kuhn_poker", depth=3)
    >>> policy = fl.solve_trunk(trunk, fl.Oracle(iterations=50), iterations=50)
    >>> len(policy.keys)
    3
    """
    if method not in METHODS:
        raise BadInput(f"trunks are solved by {', '.join(METHODS)}, not by {method}")
    solver = TrunkSolver(trunk, evaluator, method)
    solver.iterate(iterations)
    return solver.policy()


class TrunkJudge:
    """Measures strategies of one trunk; the sequence form of the whole game is built once.

    >>> judge = fl.TrunkJudge(fl.Trunk("kuhn_poker", depth=3))
    >>> judge.exploitability(fl.solve("kuhn_poker", method="lp")) < 1e-9 < judge.exploitability(fl.Uniform())
    True
    """

    def __init__(self, trunk: Trunk) -> None:
        self.trunk = trunk
        root = trunk.root
        tree = build_tree(trunk.sequences.tree.game, None if root is None else root.rows, memory=trunk.memory)
        self.whole = SequenceForm(tree, None if root is None else root.chance)
        if tree.num_seats != 2:
            raise BadInput(f"trunk exploitability needs two seats; {tree.game} has {tree.num_seats}")
        self.fixed = np.isin(self.whole.keys, trunk.sequences.keys)

    def exploitability(self, policy: Any, iterations: int | None = None) -> float:
        """The trunk exploitability of a policy, exact by linear programming; with CFR+ iterations, an upper bound."""
        behaviour = behaviour_of(self.whole, policy)
        if iterations is None:
            return -sum(fixed_value(self.whole, seat, behaviour, self.fixed, self.trunk.ranges) for seat in (0, 1))
        return -sum(self._guaranteed(seat, behaviour, iterations) for seat in (0, 1))

    def _guaranteed(self, seat: int, behaviour: np.ndarray, iterations: int) -> float:
        """A value that a seat can guarantee: its trunk is fixed, and CFR+ chooses its play after it."""
        form, n = self.whole.under(self.trunk.ranges), len(behaviour)
        own = np.zeros(n, bool)
        for i in np.flatnonzero(self.fixed[form.state_begins[seat] : form.state_begins[seat + 1]]):
            state = form.state_begins[seat] + i
            own[form.begins[state] : form.ends[state]] = True
        places = np.flatnonzero(own)
        sums, current = np.zeros(n), normalised(form, np.zeros(n))
        current[places] = behaviour[places]
        plan = realised(self.whole, current)
        _iterate_around(form, iterations, places, behaviour[places], np.zeros(n), sums, current, plan, np.zeros(n))
        average = normalised(form, sums)
        average[places] = behaviour[places]
        other = 1 - seat
        best = best_response(self.whole, average, other, self.trunk.ranges)[0]
        range_ = np.ones(len(best)) if self.trunk.ranges is None else self.trunk.ranges[other]
        return -float(range_ @ best)


def trunk_exploitability(trunk: Trunk, policy: Any, iterations: int | None = None) -> float:
    """How exploitable a policy is in the trunk; `iterations` as in `TrunkJudge.exploitability`.

    >>> trunk = fl.Trunk("kuhn_poker", depth=3)
    >>> fl.trunk_exploitability(trunk, fl.solve("kuhn_poker", method="lp")) < 1e-9
    True
    """
    return TrunkJudge(trunk).exploitability(policy, iterations)


@kernel
def _write_gradient(form, plan, seat, gradient):
    write_gradient(form, plan, seat, gradient)


@kernel
def _pass_up(form, behaviour, seat, gradient):
    """Add to each sequence of a seat the values of the sequences that follow it."""
    for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
        for s in range(form.begins[i], form.ends[i]):
            gradient[form.parents[i]] += behaviour[s] * gradient[s]


@kernel
def _update(form, method, t, seat, regrets, sums, behaviour, plan, gradient):
    update(form, method, t, seat, regrets, sums, behaviour, plan, gradient)
    realise(form, behaviour, seat, plan)


@kernel
def _iterate_around(form, n, fixed, given, regrets, sums, behaviour, plan, gradient):
    """CFR+ in which the sequences `fixed` keep the behaviour `given`."""
    for t in range(1, n + 1):
        for seat in range(len(form.sequence_begins) - 1):
            write_gradient(form, plan, seat, gradient)
            update(form, CFR_PLUS, t, seat, regrets, sums, behaviour, plan, gradient)
            for k in range(len(fixed)):
                behaviour[fixed[k]] = given[k]
            realise(form, behaviour, seat, plan)
