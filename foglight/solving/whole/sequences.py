"""The sequence form of a tree [Koller1996]: the arrays that solving needs, several times smaller than the tree.

A seat's sequence is its last own action; with perfect recall this identifies all of its earlier actions. A plan gives
each sequence the product of the probabilities of its actions. A seat's expected payoff is a sum over terminal histories

    sum over z of  chance(z) * payoff(z) * product over seats of plan[sequence(seat, z)]

so the gradient for one seat, given the plans of the others, is a product with a sparse matrix: no node is visited.
Terminal histories with the same sequences of all seats are one entry of this matrix; those that pay nothing have none.
The entries of a seat are stored under the sequences of the next seat, so that sequences which that seat never plays
cost nothing.

Sequences are numbered seat by seat, from seat 0 on. Each seat's numbers begin with its root sequences, one for each
information state it may be in at the roots of the tree; their plan is 1. The probability that a seat's own play leads
to such a state, its range, is a factor of the payoffs of the others (`under`). A seat's own values do not depend on its
own range, so they make sense where it is 0. Information states are numbered seat by seat, each after those that can
precede it.
"""

import functools
import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from foglight.checks.quick import quick_check
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import Game, forgetting
from foglight.solving.whole.tree import Tree, build_tree, seat_keys

Ranges = Sequence[np.ndarray]  # by seat, the reach probability by its own play of each information state at the roots


class Form(NamedTuple):
    """The arrays of a sequence form: S sequences, I information states, E entries."""

    sequence_begins: np.ndarray  # int64[seats + 1]: the first sequence of each seat
    state_begins: np.ndarray  # int64[seats + 1]: the first information state of each seat
    begins: np.ndarray  # int32[I]: the sequence of an information state's first action
    ends: np.ndarray  # int32[I]: one past the sequence of its last action
    parents: np.ndarray  # int32[I]: the sequence that leads to it
    entry_begins: (
        np.ndarray
    )  # int64[S + 1]: the first entry under each sequence; it pays the seat before the sequence's own
    targets: np.ndarray  # int32[E]: the sequence that earns the payoff
    others: np.ndarray  # int32[E, seats - 2]: the sequences of the remaining seats
    weights: np.ndarray  # float64[E]: chance probability times payoff


class SequenceForm:
    """A tree's sequence form, with the keys and actions that lead back to the game."""

    def __init__(self, tree: Tree, root_odds: np.ndarray | None = None) -> None:
        """`root_odds` are the chance probabilities of the roots; they need not add up to 1."""
        self.tree, seats = tree, tree.num_seats
        if why := forgetting(tree.game):
            raise BadInput(f"{tree.game}: {why}; a game without perfect recall cannot be solved exactly")
        numbers, keys = tree.information
        movers = np.zeros(len(keys), np.int64)
        movers[numbers[tree.deciding]] = tree.movers[tree.deciding]
        order = np.argsort(movers, kind="stable")  # seat by seat, else in order of first occurrence
        rank = np.full(len(order) + 1, -1, np.int32)  # the last is for -1
        rank[order] = np.arange(len(order))
        self.keys: np.ndarray = keys[order]  # uint64[I]
        self.states = rank[numbers]  # int32[N]: by node, -1 where no seat decides
        sizes = np.zeros(len(keys), np.int64)
        widths = np.diff(tree.first_children)
        sizes[self.states[tree.deciding]] = widths[tree.deciding]
        if (widths[tree.deciding] != sizes[self.states[tree.deciding]]).any():
            raise BadInput(f"{tree.game}: histories of one information state have different legal actions")
        # root sequences
        n = len(tree.roots)
        self.root_keys: list[np.ndarray] = []  # by seat, the keys of its information states at the roots, ascending
        root_states = np.empty((n, seats), np.int32)
        for seat in range(seats):
            root_keys, which = np.unique(seat_keys(tree.game, tree.roots, seat), return_inverse=True)
            self.root_keys.append(root_keys)
            root_states[:, seat] = which
        state_begins = np.searchsorted(movers[order], np.arange(seats + 1))
        own = [int(sizes[a:b].sum()) for a, b in itertools.pairwise(state_begins)]
        sequence_begins = np.cumsum([0, *(len(r) + o for r, o in zip(self.root_keys, own, strict=True))])
        begins = np.cumsum(sizes) - sizes
        for seat in range(seats):
            begins[state_begins[seat] : state_begins[seat + 1]] += sum(len(r) for r in self.root_keys[: seat + 1])
        # the last sequence of every seat at every node
        self.sequences = np.empty((tree.num_nodes, seats), np.int32)
        self.sequences[:n] = root_states + sequence_begins[:-1]
        parents = np.full(len(keys), -1, np.int32)
        forgetful = _follow(tree.movers, tree.first_children, self.states, begins, self.sequences, parents)
        if forgetful >= 0:
            raise BadInput(
                f"seat {tree.movers[forgetful]} of {tree.game} forgets its own earlier actions: a game without perfect "
                "recall cannot be solved exactly"
            )
        self.root_odds = np.ones(n) if root_odds is None else root_odds
        chance = self.chance[tree.terminals][:, None]
        entries = payoff_entries(self.sequences[tree.terminals], tree.payoffs * chance, int(sequence_begins[-1]))
        self.form = Form(
            sequence_begins.astype(np.int64),
            state_begins.astype(np.int64),
            begins.astype(np.int32),
            (begins + sizes).astype(np.int32),
            parents,
            *entries,
        )

    @cached_property
    def chance(self) -> np.ndarray:
        """The chance probability of each node, its root's included, float64[N]."""
        tree = self.tree
        roots = np.arange(tree.num_nodes)
        for first, last in zip(tree.level_begins[1:-1], tree.level_begins[2:], strict=True):
            roots[first:last] = roots[tree.parents[first:last]]
        return tree.reach * self.root_odds[roots]

    @property
    def num_sequences(self) -> int:
        return int(self.form.sequence_begins[-1])

    @property
    def num_states(self) -> int:
        return len(self.keys)

    @property
    def num_bytes(self) -> int:
        """The size of the form alone, which is what an iteration reads."""
        return sum(column.nbytes for column in self.form)

    @cached_property
    def actions(self) -> np.ndarray:
        """The action of each sequence, int64[S]; -1 for root sequences."""
        actions, tree = np.full(self.num_sequences, -1, np.int64), self.tree
        nodes = tree.deciding
        for offset in range(int(np.diff(tree.first_children).max(initial=0))):
            with_it = nodes[np.diff(tree.first_children)[nodes] > offset]
            children = tree.first_children[with_it] + offset
            actions[self.form.begins[self.states[with_it]] + offset] = tree.actions[children]
        return actions

    def start(self) -> np.ndarray:
        """A plan that is 1 at every root sequence and 0 elsewhere, float64[S]."""
        plan = np.zeros(self.num_sequences)
        for first, keys in zip(self.form.sequence_begins, self.root_keys, strict=False):
            plan[first : first + len(keys)] = 1.0
        return plan

    def under(self, ranges: Ranges | None) -> Form:
        """The form with payoffs weighted by these ranges, one array for each seat; None: all are 1."""
        if ranges is None:
            return self.form
        factors = self.start()
        for first, own, keys in zip(self.form.sequence_begins, ranges, self.root_keys, strict=False):
            factors[first : first + len(keys)] = own
        factors = factors[self.roots_of]
        weights = self.form.weights * np.repeat(factors, np.diff(self.form.entry_begins))
        return self.form._replace(weights=weights * factors[self.form.others].prod(1))

    @cached_property
    def roots_of(self) -> np.ndarray:
        """The root sequence at which each sequence begins, int32[S]."""
        roots = np.arange(self.num_sequences, dtype=np.int32)
        _find_roots(self.form.begins, self.form.ends, self.form.parents, roots)
        return roots


def sequence_form(game: str | Game, memory: float = 4.0) -> SequenceForm:
    """The sequence form of a whole game; the last four are cached. `memory` is in GiB."""
    loaded = load_game(game)
    quick_check(loaded)
    return _sequence_form(loaded, memory)


@functools.lru_cache(maxsize=4)
def _sequence_form(game: Game, memory: float) -> SequenceForm:
    return SequenceForm(build_tree(game, memory=memory))


def payoff_entries(ends: np.ndarray, amounts: np.ndarray, total: int) -> tuple[np.ndarray, ...]:
    """The last four arrays of a `Form` with `total` sequences.

    `ends` are the last sequences of each seat at n terminal histories, and `amounts` each seat's payoff there times the
    history's chance probability: both are [n, seats].
    """
    seats = ends.shape[1]
    counts, parts = np.zeros(total + 1, np.int64), []
    for leader in range(seats):  # the seat under whose sequences the entries are stored
        seat = (leader - 1) % seats
        columns = [leader, seat, *(other for other in range(seats) if other not in (leader, seat))][:seats]
        paid = np.flatnonzero(amounts[:, seat] != 0.0)
        lines = ends[paid][:, columns]
        order = np.lexsort(lines.T[::-1])
        lines, weights = lines[order], amounts[paid, seat][order]
        fresh = np.ones(len(lines), bool)
        fresh[1:] = (lines[1:] != lines[:-1]).any(1)
        firsts = np.flatnonzero(fresh)
        counts[1:] += np.bincount(lines[firsts, 0], minlength=total)
        weights = np.add.reduceat(weights, firsts) if len(firsts) else weights
        parts.append((lines[firsts, min(1, seats - 1)], lines[firsts, 2:], weights))
    targets, others, weights = (np.ascontiguousarray(np.concatenate(part)) for part in zip(*parts, strict=True))
    return np.cumsum(counts), targets, others, weights


@kernel
def _follow(movers, first_children, states, begins, sequences, parents):
    """Fill each node's sequences and each state's parent; returns a node without perfect recall, or -1."""
    for node in range(len(movers)):
        state, mover = states[node], movers[node]
        if state >= 0:
            if parents[state] < 0:
                parents[state] = sequences[node, mover]
            elif parents[state] != sequences[node, mover]:
                return node
        for child in range(first_children[node], first_children[node + 1]):
            for seat in range(sequences.shape[1]):
                sequences[child, seat] = sequences[node, seat]
            if state >= 0:
                sequences[child, mover] = begins[state] + child - first_children[node]
    return -1


@kernel
def _find_roots(begins, ends, parents, roots):
    """Write the root sequence of every sequence to `roots`, which begins as the sequences' own numbers."""
    for i in range(len(begins)):
        for s in range(begins[i], ends[i]):
            roots[s] = roots[parents[i]]
