"""Training points, which are public belief states with their values, and the batches made of them.

To make a batch is to find where its parts are in the lists of all points. This is done in NumPy for many batches at a
time, so that a training step only cuts slices and reads rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from foglight.values.networks.architectures import Batch, Tensor, torch
from foglight.values.networks.layout import Features

_TOGETHER = 64  # batches prepared at a time


@dataclass(frozen=True)
class Points:
    """n public belief states and their values; J information states, ordered by point."""

    features: Features  # of the public states; several points may share one
    publics: np.ndarray  # int64[n]: the public state of each point
    ranges: np.ndarray  # float32[J]: each seat's range adds up to 1
    targets: np.ndarray  # float32[J]: counterfactual values in the units of `layout`

    def __len__(self) -> int:
        return len(self.publics)


class Lesson(NamedTuple):
    """A batch with its targets, and the features of the N information states from which bases are made."""

    batch: Batch
    targets: Tensor  # float[J]
    public: Tensor  # float[N, F]
    private: Tensor  # float[N, G]
    rows: Tensor | None  # int64[J]: the batch's information states among the N; None if they are the same


class Lessons:
    """Makes lessons of points, on a device."""

    def __init__(self, points: Points, device: str = "cpu") -> None:
        self._points, self._device = points, device
        features = points.features
        self._public, self._private = self._tensor(features.public), self._tensor(features.private)
        self._of = self._tensor(features.of, torch.int64)
        self._sizes = np.bincount(features.of, minlength=len(features.public))
        self._histories = np.bincount(features.of[features.pairs[:, 0]], minlength=len(features.public))
        self._first_states, self._first_histories = begins(self._sizes), begins(self._histories)
        self._first_rows = begins(self._sizes[points.publics])

    def _tensor(self, array: np.ndarray, kind: Any = torch.float32) -> Tensor:
        return torch.as_tensor(array, dtype=kind, device=self._device)

    def of(self, order: Iterable[np.ndarray]) -> Iterator[Lesson]:
        """A lesson for each array of point numbers."""
        steps = iter(order)
        while several := list(islice(steps, _TOGETHER)):
            yield from self._prepared(several)

    def _prepared(self, several: list[np.ndarray]) -> Iterator[Lesson]:
        """The lessons of several batches, each given by the numbers of its points."""
        features, which = self._points.features, np.concatenate(several)
        counts = np.array([len(points) for points in several])
        firsts = begins(counts)  # the first point of each batch
        publics = self._points.publics[which]
        sizes, histories = self._sizes[publics], self._histories[publics]
        states, rows = _runs(self._first_states[publics], sizes), _runs(self._first_rows[which], sizes)
        first = begins(sizes)
        first -= np.repeat(first[firsts], counts)  # the first information state of each point, counted in its batch
        chosen = _runs(self._first_histories[publics], histories)
        pairs = features.pairs[chosen] + np.repeat(first - self._first_states[publics], histories)[:, None]
        numbers = np.repeat(np.arange(len(which)) - np.repeat(firsts, counts), sizes)
        lengths = counts, np.add.reduceat(sizes, firsts), 2 * np.add.reduceat(histories, firsts)
        per_point, per_state, per_history = (length.tolist() for length in lengths)

        def parts(column: np.ndarray, lengths: list[int], kind: Any = torch.int64) -> Any:
            return self._tensor(column, kind).split(lengths)

        batches = zip(
            parts(publics, per_point),
            parts(numbers, per_state),
            parts(features.places[states].clip(0), per_state),
            parts(self._points.ranges[rows], per_state, torch.float32),
            parts(1.0 - 2.0 * features.seats[states], per_state, torch.float32),
            # each history counts for both of its information states
            parts(pairs.ravel(), per_history),
            parts(pairs[:, ::-1].ravel(), per_history),
            parts(np.repeat(features.chance[chosen], 2), per_history, torch.float32),
            parts(states, per_state),
            parts(self._points.targets[rows], per_state, torch.float32),
            strict=True,
        )
        for public, of, places, ranges, signs, owners, others, chance, own, targets in batches:
            everything = slice(None)
            batch = Batch(self._public[public], of, places, ranges, everything, signs, owners, others, chance)
            yield self._lesson(batch, targets, own)

    def _lesson(self, batch: Batch, targets: Tensor, states: Tensor) -> Lesson:
        if len(self._of) < len(states):
            # the batch repeats information states: make each base once and use it several times
            return Lesson(batch, targets, self._public[self._of], self._private, states)
        return Lesson(batch, targets, self._public[self._of[states]], self._private[states], None)


def begins(sizes: np.ndarray) -> np.ndarray:
    """The start of each of several consecutive runs of these sizes."""
    return np.cumsum(sizes) - sizes


def _runs(firsts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The concatenated numbers of several runs, given the first number and the size of each."""
    return np.repeat(firsts - begins(sizes), sizes) + np.arange(sizes.sum())
