"""Subgames below public states, and evaluators, which give the counterfactual values of public belief states.

Several subgames are solved as one forest. They share no history and no information state, so one solver solves them all
at once, as fast as one game of their total size.
"""

from collections.abc import Callable, Sequence

import numpy as np

from foglight.names import BadInput
from foglight.solving.depth_limited.public import PublicState
from foglight.solving.whole.plans import counterfactual_values
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import Ranges, SequenceForm
from foglight.solving.whole.tree import build_tree


class Subgames:
    """The subgames below some public states of one game, down to the end of the game; `memory` is in GiB.

    >>> trunk = fl.Trunk("kuhn_poker", depth=3)
    >>> below = fl.Subgames(trunk.public_states)
    >>> len(below.publics), [len(keys) for keys in below.sequences.root_keys]  # after a check, and after a bet
    (2, [6, 6])
    """

    def __init__(self, publics: Sequence[PublicState], memory: float = 4.0) -> None:
        if not publics:
            raise BadInput("subgames begin at public states, but none was given; a trunk to the end of a game has none")
        self.publics = list(publics)
        rows = [public.rows for public in publics]
        joined = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else [row for part in rows for row in part]
        tree = build_tree(publics[0].game, joined, memory=memory)
        self.sequences = SequenceForm(tree, np.concatenate([public.chance for public in publics]))
        # by public state and seat, the places of its information states among the roots
        self._places = [
            [np.searchsorted(roots, keys) for roots, keys in zip(self.sequences.root_keys, public.keys, strict=True)]
            for public in publics
        ]

    def joined(self, ranges: Sequence[Ranges]) -> list[np.ndarray]:
        """Join the ranges of the public states: for each seat, one range over the roots of the forest."""
        whole = [np.zeros(len(keys)) for keys in self.sequences.root_keys]
        for places, by_seat in zip(self._places, ranges, strict=True):
            for seat, own in enumerate(by_seat):
                whole[seat][places[seat]] = own
        return whole

    def parted(self, whole: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Part numbers over the forest's roots, one array per seat, into those of each public state, by seat."""
        return [[numbers[own] for numbers, own in zip(whole, places, strict=True)] for places in self._places]

    def solver(self, ranges: Sequence[Ranges], method: str = "cfr+") -> Regrets:
        """A fresh solver of all subgames under these ranges."""
        return Regrets(self.sequences, method, self.joined(ranges))


class Evaluator:
    """The counterfactual values of public belief states: override `value` for one, or `values` for all at once.

    A range gives, for each information state of a seat, the probability that the seat's own play leads there. A
    counterfactual value is a sum over the histories of an information state: chance probability, times the ranges of
    the other seats, times the payoff.

    A trunk to the end of a game has no leaves: then there are no public states, and the results are empty.

        >>> class Zero(fl.Evaluator):
        ...     def value(self, public, ranges):
        ...         return [np.zeros(len(own)) for own in ranges]
        >>> policy = fl.solve_trunk(fl.Trunk("kuhn_poker", depth=3), Zero(), iterations=10)
        >>> len(policy.keys)  # seat 0 with each of three cards
        3
    """

    def start(self, publics: Sequence[PublicState]) -> None:
        """Prepare for these public states: all later calls are about them, in this order."""
        self.publics = list(publics)
        sizes = [len(keys) for public in publics for keys in public.keys]
        self._ends = np.cumsum(sizes)[:-1]
        seats = len(publics[0].keys) if publics else 0
        whose = np.repeat(np.tile(np.arange(seats), len(publics)), np.array(sizes, np.int64))
        self.places = [np.flatnonzero(whose == seat) for seat in range(seats)]  # by seat, in flat arrays

    def value(self, public: PublicState, ranges: Ranges) -> list[np.ndarray]:
        """By seat, the counterfactual values of its information states at one public state."""
        raise NotImplementedError

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        """The same for all public states: by public state, then by seat."""
        return [self.value(public, by_seat) for public, by_seat in zip(self.publics, ranges, strict=True)]

    def flat_values(self, ranges: np.ndarray) -> np.ndarray:
        """The same in one flat array, ordered by public state, then by seat; so are the ranges given."""
        if not self.publics:
            return np.zeros(0)
        parts = iter(np.split(ranges, self._ends))
        values = self.values([[next(parts) for _ in public.keys] for public in self.publics])
        return np.concatenate([own for by_seat in values for own in by_seat])

    def seat_values(self, ranges: np.ndarray, seat: int) -> np.ndarray:
        """The part of `flat_values` for one seat."""
        return self.flat_values(ranges)[self.places[seat]] if self.publics else np.zeros(0)


class Function(Evaluator):
    """An evaluator that calls a function of a public state and its ranges.

    >>> zero = fl.Function(lambda public, ranges: [np.zeros(len(own)) for own in ranges])
    >>> fl.solve_trunk(fl.Trunk("kuhn_poker", depth=3), zero, iterations=10).probabilities.tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """

    def __init__(self, function: Callable[[PublicState, Ranges], list[np.ndarray]]) -> None:
        self._function = function

    def value(self, public: PublicState, ranges: Ranges) -> list[np.ndarray]:
        return self._function(public, ranges)


class Oracle(Evaluator):
    """An evaluator that solves the subgames at every call: exact in the limit of many iterations. `memory` is in GiB.

    >>> trunk = fl.Trunk("kuhn_poker", depth=3)
    >>> policy = fl.solve_trunk(trunk, fl.Oracle(iterations=50), iterations=50)
    >>> fl.trunk_exploitability(trunk, policy) < 0.05
    True
    """

    def __init__(self, iterations: int = 500, method: str = "cfr+", memory: float = 4.0) -> None:
        self.iterations, self.method, self.memory = iterations, method, memory

    def start(self, publics: Sequence[PublicState]) -> None:
        super().start(publics)
        self.subgames = Subgames(publics, self.memory) if publics else None

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        if self.subgames is None:
            return []
        solver = self.subgames.solver(ranges, self.method)
        solver.iterate(self.iterations)
        values = counterfactual_values(self.subgames.sequences, solver.average(), self.subgames.joined(ranges))
        return self.subgames.parted(values)
