"""CFR+ for many ranges of one sequence form at once: belief states of one public state, or of one forest.

Belief states are solved in tiles. The arrays of a tile are float64[S, width]: a row is a sequence, a column a belief
state. All loops over a row are sums and products without branches, which the compiler turns into vector instructions.
A tile is solved to the end before the next begins, so that it stays in the cache.

Belief states differ in their ranges alone, which are factors of the payoffs of the others (`SequenceForm.under`). Many
entries of the form share one product, a term, which is computed once:

    factor = weight * ranges of the others' root sequences          once
    term   = factor * plans of the others                           once per update
    gradient[s] = sum of the terms of its entries

The arithmetic is that of `Regrets(..., "cfr+")`, in the same order, so that results are the same to the last bit. They
have to be: where two actions have equal values, the last bit decides which of them has positive regret, and multiplying
in another order gave quite different average strategies in Leduc poker after 100 iterations. `Regrets` skips sequences
that are never played. Here they cannot be skipped, since another belief state of the tile may play them; that is two
thirds of the entries, and the price of solving side by side.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.solving.whole.sequences import Ranges, SequenceForm

TILE = 150_000  # approximate size of each of the six arrays of a tile, in numbers
NARROWEST, WIDEST = 32, 128  # belief states per tile: vectors hardly pay in shorter rows, and longer ones gain nothing


class Terms(NamedTuple):
    """The products that gradients are sums of: T terms, seat by seat; E entries, as in a form; F factors."""

    begins: np.ndarray  # int64[seats + 1]: the first term of each seat's gradient
    sources: np.ndarray  # int32[T, seats - 1]: the sequences of the other seats, whose plans are multiplied
    factors: np.ndarray  # int32[T]: the number of the term's factor
    weights: np.ndarray  # float64[F]: chance probability times payoff
    roots: np.ndarray  # int32[F, seats - 1]: the root sequences whose ranges are multiplied
    entry_begins: np.ndarray  # int64[S + 1]: the first entry of each sequence
    entries: np.ndarray  # int32[E]: the number of the entry's term


_cache: WeakKeyDictionary[SequenceForm, Terms] = WeakKeyDictionary()


def terms_of(sequences: SequenceForm) -> Terms:
    """The terms of a form, computed once per form."""
    if sequences not in _cache:
        _cache[sequences] = _make_terms(sequences)
    return _cache[sequences]


def _make_terms(sequences: SequenceForm) -> Terms:
    form, n = sequences.form, sequences.num_sequences
    order = np.argsort(form.targets, kind="stable")  # by earning sequence, else in the order of the form
    leaders = np.repeat(np.arange(n, dtype=np.int32), np.diff(form.entry_begins))
    sources, weights = np.column_stack([leaders, form.others])[order], form.weights[order]
    seats = np.searchsorted(form.sequence_begins, form.targets[order], side="right") - 1
    firsts, entries = _distinct(seats, *sources.T, weights)
    begins = np.searchsorted(seats[firsts], np.arange(len(form.sequence_begins)))
    sources, weights = sources[firsts], weights[firsts]
    roots = sequences.roots_of[sources]
    firsts, factors = _distinct(*roots.T, weights)
    entry_begins = np.zeros(n + 1, np.int64)
    entry_begins[1:] = np.cumsum(np.bincount(form.targets, minlength=n))
    return Terms(begins, sources, factors, weights[firsts], roots[firsts], entry_begins, entries)


def _distinct(*keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first index of each distinct combination of keys, in ascending order; each row's combination, int32[n]."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        distinct, which = np.unique(key, return_inverse=True)
        codes = np.unique(codes * len(distinct) + which, return_inverse=True)[1]
    return np.unique(codes, return_index=True)[1], codes.astype(np.int32)


def form_arrays(sequences: SequenceForm) -> dict[str, np.ndarray]:
    """A form and its terms as plain arrays by name, for `bench.tensor_cfr` or a file."""
    terms = {f"term_{name}": array for name, array in terms_of(sequences)._asdict().items()}
    return sequences.form._asdict() | terms | {"start": sequences.start()}


class BatchedRegrets:
    """A running CFR+ solver of B belief states at once."""

    def __init__(self, sequences: SequenceForm, ranges: Ranges, width: int | None = None) -> None:
        """`ranges`: by seat, float64[root sequences, B]. `width`: belief states per tile; None: as suits the form."""
        if sequences.tree.num_seats < 2:
            raise BadInput(f"belief states need two seats or more; {sequences.tree.game} has one")
        shapes = [own.shape for own in ranges]
        self.size = shapes[0][-1]
        if self.size < 1 or shapes != [(len(keys), self.size) for keys in sequences.root_keys]:
            roots = ", ".join(f"[{len(keys)}, B]" for keys in sequences.root_keys)
            raise BadInput(f"ranges of these belief states must be arrays {roots}, not {shapes}")
        self.sequences, self.iterations = sequences, 0
        self._terms = terms_of(sequences)
        tiles = -(-self.size // (width or min(max(NARROWEST, TILE // sequences.num_sequences), WIDEST)))
        width = -(-self.size // (8 * tiles)) * 8  # the same for all tiles, and a multiple of a vector's 8 numbers
        factors = np.zeros((sequences.num_sequences, tiles * width))
        for first, own in zip(sequences.form.sequence_begins, ranges, strict=False):
            factors[first : first + len(own), : self.size] = own
        weighted = self._terms.weights[:, None] * factors[self._terms.roots[:, 0]]
        weighted *= factors[self._terms.roots[:, 1:]].prod(1)
        self._factors = _tiled(weighted, width)
        shape = (tiles, sequences.num_sequences, width)
        self.regrets, self.sums = np.zeros(shape), np.zeros(shape)

    def iterate(self, n: int) -> None:
        _iterate(
            self.sequences.form, self._terms, self._factors, self.sequences.start(), self.iterations, n,
            self.regrets, self.sums,
        )  # fmt: skip
        self.iterations += n

    def average(self) -> np.ndarray:
        """The average behaviour, float64[S, B]."""
        behaviour = np.zeros(self.sums.shape)
        _behave(self.sequences.form, self.sums, behaviour)
        return self._joined(behaviour)

    def values(self) -> list[np.ndarray]:
        """By seat, the counterfactual values of its root sequences under the average, float64[root sequences, B]."""
        gradient = np.zeros(self.sums.shape)
        _earn(self.sequences.form, self._terms, self._factors, self.sequences.start(), self.sums, gradient)
        worth, firsts = self._joined(gradient), self.sequences.form.sequence_begins
        return [worth[first : first + len(k)] for first, k in zip(firsts, self.sequences.root_keys, strict=False)]

    def _joined(self, tiled: np.ndarray) -> np.ndarray:
        """Tiles as one array again, without the padding of the last tile."""
        return tiled.transpose(1, 0, 2).reshape(tiled.shape[1], -1)[:, : self.size].copy()


def _tiled(array: np.ndarray, width: int) -> np.ndarray:
    """float64[n, B] as float64[tiles, n, width]."""
    return np.ascontiguousarray(array.reshape(len(array), -1, width).transpose(1, 0, 2))


@kernel
def _iterate(form, terms, factors, start, done, n, regrets, sums):
    size, width = regrets.shape[1:]
    behaviour, plan, gradient = np.zeros((size, width)), np.zeros((size, width)), np.zeros((size, width))
    parts, value, total = np.zeros((len(terms.factors), width)), np.zeros(width), np.zeros(width)
    for tile in range(len(regrets)):
        for i in range(len(form.begins)):
            _add_up(form, i, regrets[tile], total)
            _match(form, i, regrets[tile], behaviour, value, total)
        _begin(form, start, behaviour, plan)
        for t in range(done + 1, done + n + 1):
            for seat in range(len(form.sequence_begins) - 1):
                _write_gradient(form, terms, factors[tile], plan, seat, parts, gradient)
                _update(form, seat, regrets[tile], behaviour, gradient, value, total)
                _advance(form, float(t), seat, behaviour, plan, sums[tile])


@kernel
def _behave(form, sums, behaviour):
    total = np.zeros(sums.shape[2])
    for tile in range(len(sums)):
        _average(form, sums[tile], behaviour[tile], total)


@kernel
def _earn(form, terms, factors, start, sums, gradient):
    size, width = sums.shape[1:]
    behaviour, plan, total = np.zeros((size, width)), np.zeros((size, width)), np.zeros(width)
    parts = np.zeros((len(terms.factors), width))
    for tile in range(len(sums)):
        _average(form, sums[tile], behaviour, total)
        _begin(form, start, behaviour, plan)
        for seat in range(len(form.sequence_begins) - 1):
            _write_gradient(form, terms, factors[tile], plan, seat, parts, gradient[tile])
            for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
                parent = form.parents[i]
                for s in range(form.begins[i], form.ends[i]):
                    for b in range(width):
                        gradient[tile, parent, b] += behaviour[s, b] * gradient[tile, s, b]


@jitable
def _write_gradient(form, terms, factors, plan, seat, parts, gradient):
    """What each sequence of a seat earns at the terminal histories it ends in, given the others' plans."""
    width = gradient.shape[1]
    for k in range(terms.begins[seat], terms.begins[seat + 1]):
        f, q = terms.factors[k], terms.sources[k, 0]
        for b in range(width):
            parts[k, b] = factors[f, b] * plan[q, b]
        for other in range(1, terms.sources.shape[1]):
            q = terms.sources[k, other]
            for b in range(width):
                parts[k, b] *= plan[q, b]
    for s in range(form.sequence_begins[seat], form.sequence_begins[seat + 1]):
        for b in range(width):
            gradient[s, b] = 0.0
        e, last = terms.entry_begins[s], terms.entry_begins[s + 1]
        while e + 4 <= last:  # four entries at a time, so that their sum is loaded and stored once
            i, j, k, m = terms.entries[e], terms.entries[e + 1], terms.entries[e + 2], terms.entries[e + 3]
            for b in range(width):
                gradient[s, b] = gradient[s, b] + parts[i, b] + parts[j, b] + parts[k, b] + parts[m, b]
            e += 4
        for rest in range(e, last):
            k = terms.entries[rest]
            for b in range(width):
                gradient[s, b] += parts[k, b]


@jitable
def _update(form, seat, regrets, behaviour, gradient, value, total):
    """Update a seat's regrets and behaviour from the gradient of its sequences."""
    width = len(value)
    for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
        parent = form.parents[i]
        for b in range(width):
            value[b] = 0.0
            total[b] = 0.0
        for s in range(form.begins[i], form.ends[i]):
            for b in range(width):
                value[b] += behaviour[s, b] * gradient[s, b]
        for b in range(width):
            gradient[parent, b] += value[b]
        for s in range(form.begins[i], form.ends[i]):
            for b in range(width):
                grown = max(regrets[s, b] + (gradient[s, b] - value[b]), 0.0)
                regrets[s, b] = grown
                total[b] += grown
        _match(form, i, regrets, behaviour, value, total)


@jitable
def _match(form, i, regrets, behaviour, share, total):
    """Write behaviour at a state in proportion to its regrets, which add up to `total`; uniform where that is 0."""
    uniform = 1.0 / (form.ends[i] - form.begins[i])
    for b in range(len(total)):
        some = total[b] > 0.0
        share[b] = 1.0 / total[b] if some else 0.0
        total[b] = 0.0 if some else uniform
    for s in range(form.begins[i], form.ends[i]):
        for b in range(len(total)):
            behaviour[s, b] = regrets[s, b] * share[b] + total[b]


@jitable
def _advance(form, weight, seat, behaviour, plan, sums):
    """Add a seat's plan to the sums, then turn its new behaviour into its plan."""
    for i in range(form.state_begins[seat], form.state_begins[seat + 1]):
        parent = form.parents[i]
        for s in range(form.begins[i], form.ends[i]):
            for b in range(plan.shape[1]):
                sums[s, b] += weight * plan[s, b]
                plan[s, b] = plan[parent, b] * behaviour[s, b]


@jitable
def _begin(form, start, behaviour, plan):
    """Write the plan of a behaviour."""
    for s in range(len(start)):
        for b in range(plan.shape[1]):
            plan[s, b] = start[s]
    for i in range(len(form.begins)):
        parent = form.parents[i]
        for s in range(form.begins[i], form.ends[i]):
            for b in range(plan.shape[1]):
                plan[s, b] = plan[parent, b] * behaviour[s, b]


@jitable
def _average(form, sums, behaviour, total):
    """Write behaviour in proportion to sums of plans; uniform where all are 0."""
    for i in range(len(form.begins)):
        _add_up(form, i, sums, total)
        uniform = 1.0 / (form.ends[i] - form.begins[i])
        for s in range(form.begins[i], form.ends[i]):
            for b in range(len(total)):
                behaviour[s, b] = sums[s, b] / total[b] if total[b] > 0.0 else uniform


@jitable
def _add_up(form, i, numbers, total):
    """Write the sum over the actions of state i to `total`, by belief state."""
    for b in range(len(total)):
        total[b] = 0.0
    for s in range(form.begins[i], form.ends[i]):
        for b in range(len(total)):
            total[b] += numbers[s, b]
