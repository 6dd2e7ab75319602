"""Monte Carlo counterfactual regret minimisation [Lanctot2009]: each iteration visits a sampled part of the tree.

An iteration is one walk for each seat in turn. A walk updates its seat's regrets; behaviour follows from regrets as in
`cfr`. The expected change of each regret is what `cfr` would add.

    external  The walk tries all actions at its seat's nodes and draws one action everywhere else. At nodes of the next
              seat, it adds that seat's behaviour to that seat's sums, unweighted. With two seats, a walk visits such a
              node as often as the next seat's own plan reaches it; with more seats this is the usual approximation.
    outcome   The walk draws one history to its end; its seat's own actions are drawn with exploration 0.6. Values are
              divided by the probability of the draws; in regrets, the draws of chance and of the others cancel. The
              sums of the next seat get its behaviour, divided by the probability of the draws of all other seats
              ("stochastically weighted"). With more than two seats this is unbiased only as long as the remaining
              seats give no action probability 0.

An iteration of `outcome` costs one game per seat and changes little; the variance of its regrets grows with the length
of games. Prefer `external` unless a walk through all of a seat's own actions is too long.

With perfect recall a walk visits each of its seat's information states at most once, so one array over all sequences
can hold the values of its actions.
"""

from typing import NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.randomness import below, generator, unit, weighted_possible
from foglight.rules import CHANCE, TERMINAL
from foglight.solving.whole.plans import normalised
from foglight.solving.whole.sequences import SequenceForm

METHODS = ("external", "outcome")
_EXTERNAL, _OUTCOME = range(2)
EXPLORE = 0.6  # probability of a uniform draw at the own nodes of an outcome-sampling walk


class Board(NamedTuple):
    """The arrays of the tree that a walk reads."""

    movers: np.ndarray  # int8[N]
    first_children: np.ndarray  # int64[N + 1]
    odds: np.ndarray  # float64[N]
    states: np.ndarray  # int32[N]: the information state at each node
    begins: np.ndarray  # int32[I]: the sequence of an information state's first action
    ends: np.ndarray  # int32[I]
    rows: np.ndarray  # int32[N]: the row of a terminal node in `payoffs`; -1 elsewhere. A cut node pays nothing
    payoffs: np.ndarray  # float64[terminals, seats]
    roots: np.ndarray  # float64[roots]: the probability that a walk begins there
    depth: int  # levels of the tree


class Sampling:
    """A running solver of a sequence form; call `iterate` as often as you like."""

    def __init__(self, sequences: SequenceForm, method: str = "external", seed: int = 0) -> None:
        self.sequences, self.method = sequences, method
        self._number = METHODS.index(method)
        self._board = _board(sequences)
        n = sequences.num_sequences
        self.iterations = 0
        self.regrets, self.sums = np.zeros(n), np.zeros(n)
        self.behaviour = normalised(sequences.form, np.zeros(n))
        self.random = generator(seed)
        self._values = np.zeros(n)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that resuming needs, beside the number of iterations."""
        return {"regrets": self.regrets, "sums": self.sums, "behaviour": self.behaviour, "random": self.random}

    def iterate(self, n: int) -> None:
        self._walk(n, np.arange(self.sequences.tree.num_seats))
        self.iterations += n

    def _walk(self, n: int, seats: np.ndarray) -> None:
        """n walks for each of these seats in turn."""
        _walk(
            self._board, self._number, n, seats, self.regrets, self.sums, self.behaviour, self._values, self.random
        )  # fmt: skip

    def average(self) -> np.ndarray:
        """The average behaviour, float64[S]."""
        return normalised(self.sequences.form, self.sums)


def _board(sequences: SequenceForm) -> Board:
    tree, form = sequences.tree, sequences.form
    if tree.num_seats < 2:
        raise BadInput(f"sampling needs two seats or more, and {tree.game} has one; take another method, such as cfr+")
    ends = tree.movers == TERMINAL
    mass = sequences.root_odds.sum()
    return Board(
        tree.movers,
        tree.first_children,
        tree.odds,
        sequences.states,
        form.begins,
        form.ends,
        np.where(ends, np.cumsum(ends) - 1, -1).astype(np.int32),
        tree.payoffs * mass,
        sequences.root_odds / mass,
        len(tree.level_begins),
    )


@kernel
def _walk(board, method, n, seats, regrets, sums, behaviour, values, random):
    path, chosen = np.empty(board.depth, np.int64), np.empty(board.depth, np.int64)
    for _ in range(n):
        for seat in seats:
            if method == _EXTERNAL:
                _try_all(board, seat, regrets, sums, behaviour, values, random, path, chosen)
            else:
                _play_once(board, seat, regrets, sums, behaviour, random, path, chosen)


@jitable
def _try_all(board, seat, regrets, sums, behaviour, values, random, path, chosen):
    """An external-sampling walk; `path` has its seat's nodes above, `chosen` the sequence being tried at each."""
    after = (seat + 1) % board.payoffs.shape[1]
    node, depth, going = _draw(random, board.roots, 0, len(board.roots)), 0, True
    while going:
        while board.first_children[node] < board.first_children[node + 1]:
            first, mover, state = board.first_children[node], board.movers[node], board.states[node]
            if mover == CHANCE:
                node = _draw(random, board.odds, first, board.first_children[node + 1])
            elif mover == seat:
                path[depth], chosen[depth] = node, board.begins[state]
                depth += 1
                node = first
            else:
                begin, end = board.begins[state], board.ends[state]
                if mover == after:
                    for s in range(begin, end):
                        sums[s] += behaviour[s]
                node = first + _draw(random, behaviour, begin, end) - begin
        value = _payoff(board, node, seat)
        going = False
        while depth > 0 and not going:
            state = board.states[path[depth - 1]]
            begin, end = board.begins[state], board.ends[state]
            values[chosen[depth - 1]] = value
            chosen[depth - 1] += 1
            if chosen[depth - 1] < end:
                node = board.first_children[path[depth - 1]] + chosen[depth - 1] - begin
                going = True
            else:
                value = 0.0
                for s in range(begin, end):
                    value += behaviour[s] * values[s]
                for s in range(begin, end):
                    regrets[s] += values[s] - value
                _match(regrets, behaviour, begin, end)
                depth -= 1


@jitable
def _play_once(board, seat, regrets, sums, behaviour, random, path, chosen):
    """An outcome-sampling walk; `path` has its seat's information states, `chosen` the sequence taken at each."""
    after = (seat + 1) % board.payoffs.shape[1]
    node, depth = _draw(random, board.roots, 0, len(board.roots)), 0
    own, further = 1.0, 1.0  # probability of the draws of `seat`, and of those of seats other than `seat` and `after`
    while board.first_children[node] < board.first_children[node + 1]:
        first, mover, state = board.first_children[node], board.movers[node], board.states[node]
        if mover == CHANCE:
            node = _draw(random, board.odds, first, board.first_children[node + 1])
        else:
            begin, end = board.begins[state], board.ends[state]
            if mover == seat and unit(random) < EXPLORE:
                s = begin + below(random, end - begin)
            else:
                s = _draw(random, behaviour, begin, end)
            if mover == seat:
                path[depth], chosen[depth] = state, s
                depth += 1
                own *= EXPLORE / (end - begin) + (1.0 - EXPLORE) * behaviour[s]
            elif mover == after:
                for other in range(begin, end):
                    sums[other] += behaviour[other] / (own * further)
            else:
                further *= behaviour[s]
            node = first + s - begin
    value = _payoff(board, node, seat) / own
    while depth > 0:
        depth -= 1
        begin, end = board.begins[path[depth]], board.ends[path[depth]]
        regrets[chosen[depth]] += value
        value *= behaviour[chosen[depth]]
        for s in range(begin, end):
            regrets[s] -= value
        _match(regrets, behaviour, begin, end)


@jitable
def _payoff(board, node, seat):
    return board.payoffs[board.rows[node], seat] if board.rows[node] >= 0 else 0.0


@jitable
def _draw(random, weights, begin, end):
    """Draw an index from begin to end - 1 in proportion to its weight."""
    return begin + weighted_possible(random, weights[begin:end], end - begin)


@jitable
def _match(regrets, behaviour, begin, end):
    """Write behaviour in proportion to positive regrets, uniform if there are none."""
    total = 0.0
    for s in range(begin, end):
        total += max(regrets[s], 0.0)
    for s in range(begin, end):
        behaviour[s] = max(regrets[s], 0.0) / total if total > 0.0 else 1.0 / (end - begin)
