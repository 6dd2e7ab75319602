"""A form as tensors on a device, ordered so that an iteration is a few wide steps.

A seat's information states are in levels: a state is one level below the deepest of the sequences that lead to it. They
are numbered level by level, and so are their sequences; within a level in the order of their parents. All that is added
up is a `Sums`: a list of places for each sum, one after another.

Terms are in the order in which the compiled solver adds them, so that results are the same to the last bit. They have
to be: where two actions are worth the same, the last bit decides which of them has positive regret
(`depth_limited.batched`).
"""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foglight.solving.tensors.device import torch
from foglight.solving.tensors.plain import Choices, Factor, PlainForm, others_of

Tensor = torch.Tensor


@dataclass(eq=False)
class Sums:
    """Sums of numbers of a source: sum i is over the places `begins[i]` to `begins[i + 1] - 1`."""

    begins: Tensor  # int64[n + 1]
    index: Tensor | None  # int32[E]: the number's place in the source; None: the place itself
    weights: Tensor | None = None  # float32 or float64[E]: factors of the numbers
    turns: Tensor | None = None  # int8[E]: by which symmetry the source is turned, where it has mirror images
    _mean: float | None = None

    @cached_property
    def owners(self) -> Tensor:
        """The sum that each place belongs to, int64[E]."""
        return _owners(self.begins)

    def width(self, most: int) -> int:
        """A power of 2 that is about the mean number of terms of the sums that have any, and at most `most`."""
        if self._mean is None:
            sizes = self.begins.diff()
            self._mean = float(sizes.sum()) / max(1, int((sizes > 0).sum()))
        width = 1
        while width < min(self._mean, most):
            width *= 2
        return width


@dataclass(eq=False)
class Side:
    """The decisions of a seat: I information states, S sequences."""

    order: Tensor  # int64[S]: the number in the form of each sequence here
    states: Tensor  # int64[I]: the number in the form of each information state here
    levels: list[int]  # the first information state of each level, and the number of all
    firsts: list[int]  # the first sequence of each level, and the number of all
    actions: Sums  # by information state: its sequences, without an index
    links: Sums  # by information state: the sequences that lead to it
    children: Sums  # by sequence: the information states it leads to
    link_firsts: list[int]  # by level, the first place in `links`, and the number of all
    child_firsts: list[int]  # by level, the first place in `children`, and the number of all; the root's are before
    most_children: list[int]  # by level, of any of its sequences
    most_actions: list[int]  # by level, of any of its information states
    weights: Tensor | None  # float64[S]: 1 / the number of mirror images that a sequence stands for

    @cached_property
    def owners(self) -> Tensor:
        """The information state of each sequence, int32[S]; the root's is of no meaning."""
        root = torch.zeros(1, dtype=torch.int32, device=self.order.device)
        return torch.cat([root, self.actions.owners.int()])

    @property
    def depth(self) -> int:
        return len(self.levels) - 1


@dataclass(eq=False)
class Rows:
    """One seat's factor: S sequences, R rows."""

    by_row: Sums  # sequences
    by_sequence: Sums  # rows
    values: Sums  # by row: rows of the other seat, weighted by payoffs
    fixed: Tensor | None = None  # int64[I]: symmetries, as bits
    kept: Tensor | None = None  # int64[S]

    @property
    def count(self) -> int:
        return len(self.by_row.begins) - 1


@dataclass(eq=False)
class Terms:
    """What a seat earns in a sequence form."""

    sums: Sums  # by sequence; for two seats with an index into the other's sequences, and with weights
    weights: Tensor  # float64[E]
    others: list[Tensor]  # int32[E] for each of the seats `others_of`


class TensorForm:
    """A form on a device."""

    def __init__(self, plain: PlainForm, device: str) -> None:
        self.game, self.zero_sum, self.device = plain.game, plain.zero_sum, torch.device(device)
        self.plain = plain
        self.shift = plain.coupling.shift if plain.coupling else 0.0
        ranks, self.sides = [], []
        for seat, choices in enumerate(plain.choices):
            side, rank = _side(choices, plain.factors[seat].weights if plain.factors else None, self.device)
            self.sides.append(side)
            ranks.append(rank)
        self.rows: list[Rows] = []
        self.terms: list[Terms] = []
        if plain.coupling:
            for seat, factor in enumerate(plain.factors):
                self.rows.append(self._rows(seat, factor, ranks[seat]))
        else:
            for seat in range(len(plain.choices)):
                self.terms.append(self._terms(seat, ranks))

    def _terms(self, seat: int, ranks: list[Tensor]) -> Terms:
        entries, seats = self.plain.entries[seat], len(self.plain.choices)
        targets, order = torch.sort(ranks[seat][self.moved(entries.targets).long()], stable=True)
        others = self.moved(entries.others)
        columns = [ranks[other][others[:, k][order].long()].int() for k, other in enumerate(others_of(seat, seats))]
        begins = _begins(torch.bincount(targets, minlength=len(ranks[seat])))
        weights = self.moved(entries.weights)[order]
        sums = Sums(begins, columns[0], weights) if seats == 2 else Sums(begins, None)
        return Terms(sums, weights, columns)

    def _rows(self, seat: int, factor: Factor, rank: Tensor) -> Rows:
        coupling, group = self.plain.coupling, self.plain.group
        assert coupling is not None
        begins, rows, side = self.moved(factor.entry_begins), self.moved(factor.rows), self.sides[seat]
        turns = None if factor.turns is None else self.moved(factor.turns)
        # by sequence
        counts, places = _ragged(begins, side.order)
        by_sequence = Sums(_begins(counts), rows[places])
        if turns is not None and group is not None:
            by_sequence.turns = self.moved(group.inverse)[turns[places].long()].to(torch.int8)
        # by row
        owners = rank[_owners(begins)].int()
        order = torch.argsort(rows, stable=True)
        counts = torch.bincount(rows, minlength=factor.num_rows)
        by_row = Sums(_begins(counts), owners[order], None, None if turns is None else turns[order])
        del order, owners, places
        # where rows meet
        ends, payoffs = self.moved(coupling.rows), self.moved(coupling.payoffs)
        own, order = torch.sort(ends[:, seat], stable=True)
        values = Sums(
            _begins(torch.bincount(own, minlength=factor.num_rows)),
            ends[:, 1 - seat][order].contiguous(),
            payoffs[order] * (1.0 if seat == 0 else -1.0),
        )
        if coupling.turns is None or group is None or turns is None:
            return Rows(by_row, by_sequence, values)
        how = self.moved(coupling.turns)[order].long()
        values.turns = (how if seat == 0 else self.moved(group.inverse)[how]).to(torch.int8)
        assert factor.fixed is not None and factor.kept is not None
        fixed, kept = self.moved(factor.fixed)[side.states], self.moved(factor.kept)[side.order]
        return Rows(by_row, by_sequence, values, fixed, kept)

    def moved(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def zeros(self, images: int = 0) -> list[Tensor]:
        """By seat, an array over sequences, float64[S], or float64[images, S]."""
        shape = (images,) if images else ()
        return [torch.zeros((*shape, len(side.order)), dtype=torch.float64, device=self.device) for side in self.sides]

    def inward(self, seat: int, array: np.ndarray) -> Tensor:
        """An array over the form's sequences of a seat in the order of this one."""
        return self.moved(array)[..., self.sides[seat].order]

    def outward(self, seat: int, tensor: Tensor) -> np.ndarray:
        """An array over the sequences here in the order of the form."""
        result = torch.empty_like(tensor)
        result[..., self.sides[seat].order] = tensor
        return result.cpu().numpy()


def _begins(counts: Tensor) -> Tensor:
    """Where parts of these sizes begin, and where the last ends."""
    return torch.cat([torch.zeros(1, dtype=torch.int64, device=counts.device), counts.cumsum(0)])


def _owners(begins: Tensor) -> Tensor:
    counts = begins.diff()
    return torch.repeat_interleave(torch.arange(len(counts), device=begins.device), counts)


def _ragged(begins: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """The sizes of parts taken in another order, and the places of their content."""
    begins = begins.long()
    counts = begins.diff()[order]
    shifts = begins[order] - (counts.cumsum(0) - counts)
    return counts, torch.repeat_interleave(shifts, counts) + torch.arange(int(counts.sum()), device=order.device)


def _side(choices: Choices, weights: np.ndarray | None, device: torch.device) -> tuple[Side, Tensor]:
    """A seat's decisions, and the number here of each of the form's sequences."""

    def moved(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    begins, link_begins, parents = (moved(part).long() for part in choices)
    states, total, sizes = len(begins) - 1, int(choices.begins[-1]) if len(choices.begins) else 1, begins.diff()
    owners, link_owners = _owners(begins), _owners(link_begins)
    # levels
    depths = torch.zeros(states, dtype=torch.int64, device=device)
    while True:
        above = torch.cat([depths.new_zeros(1), depths[owners]])[parents]
        deeper = depths.new_zeros(states).scatter_reduce_(0, link_owners, above + 1, "amax")
        if torch.equal(deeper, depths):
            break
        depths = deeper
    # a new number for each sequence and state
    rank, order = torch.zeros(total, dtype=torch.int64, device=device), []
    levels, firsts = [0], [1]
    for level in range(1, int(depths.max()) + 1 if states else 1):
        here = torch.nonzero(depths == level)[:, 0]
        here = here[torch.argsort(rank[parents[link_begins[here]]], stable=True)]
        counts, places = _ragged(begins, here)
        rank[places] = firsts[-1] + torch.arange(len(places), device=device)
        order.append(here)
        levels.append(levels[-1] + len(here))
        firsts.append(firsts[-1] + len(places))
    state_order = torch.cat(order) if order else depths
    state_rank = torch.empty_like(state_order)
    state_rank[state_order] = torch.arange(states, device=device)
    sequence_order = torch.empty_like(rank)
    sequence_order[rank] = torch.arange(total, device=device)
    counts, places = _ragged(link_begins, state_order)
    links = Sums(_begins(counts), rank[parents[places]].int())
    # the compiled solver adds the values of children from the last to the first
    by_parent, reverse = torch.sort(rank[parents.flip(0)], stable=True)
    counts = torch.bincount(by_parent, minlength=total)
    children = Sums(_begins(counts), state_rank[link_owners.flip(0)[reverse]].int())
    side = Side(
        sequence_order,
        state_order,
        levels,
        firsts,
        Sums(1 + _begins(sizes[state_order]), None),
        links,
        children,
        links.begins[levels].tolist(),
        children.begins[firsts].tolist(),
        [int(counts[a:b].max()) for a, b in itertools.pairwise(firsts)],
        [int(sizes[here].max()) for here in order],
        None if weights is None else moved(weights)[sequence_order],
    )
    return side, rank
