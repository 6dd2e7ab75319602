"""Subgames below public states, and what public belief states are worth.

Several subgames are one forest: they share no history and no information state, so that one solver solves all of them
at once, as fast as one game of their joint size.
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
    """The subgames below some public states of one game, down to the end.

    >>> trunk = fl.Trunk("kuhn_poker", depth=3)
    >>> below = fl.Subgames(trunk.public_states)
    >>> len(below.publics), [len(keys) for keys in below.sequences.root_keys]  # after a check, and after a bet
    (2, [6, 6])
    """

    def __init__(self, publics: Sequence[PublicState], memory: float = 4.0) -> None:
        if not publics:
            raise BadInput("subgames begin at public states, and none was given; a trunk to the end of a game has none")
        self.publics = list(publics)
        rows = [public.rows for public in publics]
        joined = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else [row for part in rows for row in part]
        tree = build_tree(publics[0].game, joined, memory=memory)
        self.sequences = SequenceForm(tree, np.concatenate([public.chance for public in publics]))
        # where each seat's information states of each public state are among the roots
        self._places = [
            [np.searchsorted(roots, keys) for roots, keys in zip(self.sequences.root_keys, public.keys, strict=True)]
            for public in publics
        ]

    def joined(self, ranges: Sequence[Ranges]) -> list[np.ndarray]:
        """The ranges of the public states as one range of the forest for each seat."""
        whole = [np.zeros(len(keys)) for keys in self.sequences.root_keys]
        for places, given in zip(self._places, ranges, strict=True):
            for seat, own in enumerate(given):
                whole[seat][places[seat]] = own
        return whole

    def parted(self, whole: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Numbers for the forest's roots, by seat, back to the public states."""
        return [[numbers[own] for numbers, own in zip(whole, places, strict=True)] for places in self._places]

    def solver(self, ranges: Sequence[Ranges], method: str = "cfr+") -> Regrets:
        """A fresh solver of all subgames under these ranges."""
        return Regrets(self.sequences, method, self.joined(ranges))


class Evaluator:
    """What public belief states are worth: `value` says it for one, or override `values` to answer for all at once.

    Ranges are probabilities of the seats' own play, by seat and information state. Values are counterfactual: for each
    information state the sum over its histories of chance, times the ranges of the other seats, times the payoff.

    A trunk to the end of a game has no leaves: then all that is asked about is nothing, and the answers are empty.

        >>> class Zero(fl.Evaluator):
        ...     def value(self, public, ranges):
        ...         return [np.zeros(len(own)) for own in ranges]
        >>> policy = fl.solve_trunk(fl.Trunk("kuhn_poker", depth=3), Zero(), iterations=10)
        >>> len(policy.keys)  # seat 0 with each of three cards
        3
    """

    def start(self, publics: Sequence[PublicState]) -> None:
        """These are the public states that will be asked about."""
        self.publics = list(publics)
        sizes = [len(keys) for public in publics for keys in public.keys]
        self._ends = np.cumsum(sizes)[:-1]
        seats = len(publics[0].keys) if publics else 0
        whose = np.repeat(np.tile(np.arange(seats), len(publics)), np.array(sizes, np.int64))
        self.places = [np.flatnonzero(whose == seat) for seat in range(seats)]  # of a seat's information states

    def value(self, public: PublicState, ranges: Ranges) -> list[np.ndarray]:
        """The values of each seat's information states."""
        raise NotImplementedError

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        """For each of the public states, by seat."""
        return [self.value(public, given) for public, given in zip(self.publics, ranges, strict=True)]

    def flat_values(self, ranges: np.ndarray) -> np.ndarray:
        """The same in one array: public state after public state, seat after seat."""
        if not self.publics:
            return np.zeros(0)
        parts = iter(np.split(ranges, self._ends))
        found = self.values([[next(parts) for _ in public.keys] for public in self.publics])
        return np.concatenate([own for by_seat in found for own in by_seat])

    def seat_values(self, ranges: np.ndarray, seat: int) -> np.ndarray:
        """Of these, one seat's."""
        return self.flat_values(ranges)[self.places[seat]] if self.publics else np.zeros(0)


class Function(Evaluator):
    """A plain function of a public state and its ranges.

    >>> zero = fl.Function(lambda public, ranges: [np.zeros(len(own)) for own in ranges])
    >>> fl.solve_trunk(fl.Trunk("kuhn_poker", depth=3), zero, iterations=10).probabilities.tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """

    def __init__(self, function: Callable[[PublicState, Ranges], list[np.ndarray]]) -> None:
        self._function = function

    def value(self, public: PublicState, ranges: Ranges) -> list[np.ndarray]:
        return self._function(public, ranges)


class Oracle(Evaluator):
    """Solves the subgames, every time anew: exact as iterations grow. `memory` is in GiB.

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
        found = counterfactual_values(self.subgames.sequences, solver.average(), self.subgames.joined(ranges))
        return self.subgames.parted(found)
