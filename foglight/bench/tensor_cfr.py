"""CFR+ for many belief states on tensors, on a CPU or a GPU: what `batched` does, with PyTorch and NumPy alone.

    python -m foglight.bench.tensor_cfr FILE --device cuda

solves what `foglight bench values --export FILE` has written, compares, and prints belief states a second.

Rows of float[S + 1, B] are sequences; the last stands for the actions that an information state does not have, is 0 and
stays so. A seat's states are worked on in levels, by how many own actions lead to them. Sums have the order that they
have in the compiled solver, which says why that matters: the first summands of all sums are added at once, then the
second of those that have two, and so on. So results are the same on every device. On a GPU one iteration is recorded
as a graph and replayed, as asking for its many small steps takes longer than the steps.
"""

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from foglight.names import BadInput

if importlib.util.find_spec("torch") is None:
    raise BadInput("solving on tensors needs PyTorch; install it with: pip install 'foglight[values]'")

import torch
from torch import Tensor

Arrays = Mapping[str, np.ndarray]  # as `solving.depth_limited.batched.form_arrays` gives them
DTYPES = {"float64": torch.float64, "float32": torch.float32}
CLOSE = 1e-9  # how near float64 comes to the compiled solver
REPEATS = 3


class Sums(NamedTuple):
    """Sums of rows. Step k holds the k-th row of every sum that has so many."""

    places: Tensor  # int64[P]: where each sum belongs; those of many rows first
    steps: list[Tensor]  # int64: rows


class Level(NamedTuple):
    """The information states of a seat to which equally many own actions lead. N states, A actions at most."""

    states: Tensor  # int64[N]
    actions: Tensor  # int64[A, N]: their sequences
    sequences: Tensor  # int64: the same, without gaps
    before: Tensor  # int64: the sequence before each
    values: Sums  # for sequences, of the states that follow


class Side(NamedTuple):
    """What updating a seat needs."""

    own: slice  # its sequences
    acting: slice  # those that are actions
    factors: Tensor  # int64[T]: of the terms
    sources: list[Tensor]  # int64[T], for each other seat
    entries: Sums  # for its sequences, of terms
    states: Tensor  # int64: the information state of each action
    actions: Tensor  # int64[A, N]: the sequences of its states
    places: Tensor  # int64: among those states, that of each action
    uniform: Tensor  # float[actions, 1]: 1 / how many there are
    levels: list[Level]


class TensorRegrets:
    """The running state of a solver of B belief states at once."""

    def __init__(
        self,
        arrays: Arrays,
        ranges: Sequence[np.ndarray],
        device: str = "cpu",
        dtype: torch.dtype = torch.float64,
    ) -> None:
        """`ranges`: by seat, float64[root sequences, B]."""
        self.iterations, self.device = 0, torch.device(device)
        self._firsts, self._roots = arrays["sequence_begins"].tolist()[:-1], [len(own) for own in ranges]
        n, size, roots = len(arrays["start"]), ranges[0].shape[1], arrays["term_roots"]
        factors = np.zeros((n, size))
        for first, own in zip(self._firsts, ranges, strict=True):
            factors[first : first + len(own)] = own
        given = arrays["term_weights"][:, None] * factors[roots[:, 0]] * factors[roots[:, 1:]].prod(1)
        self._factors = torch.tensor(given, dtype=dtype, device=self.device)
        self._start = torch.tensor(np.append(arrays["start"], 0.0), dtype=dtype, device=self.device)[:, None]
        self._sides = [_side(arrays, seat, self._start) for seat in range(len(self._firsts))]
        self.regrets, self.sums, self._gradient, self._behaviour = (
            torch.zeros((n + 1, size), dtype=dtype, device=self.device) for _ in range(4)
        )
        self._values = torch.zeros((len(arrays["begins"]), size), dtype=dtype, device=self.device)
        self._weight = torch.zeros((), dtype=dtype, device=self.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        for side in self._sides:
            _behave(side, self.regrets, self._behaviour)
        self._plan = self._realised(self._behaviour)

    def iterate(self, n: int) -> None:
        for _ in range(n):
            if self._graph is not None:
                self._graph.replay()
                continue
            self._step()
            if self.device.type == "cuda":
                self._graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self._graph):  # records, does nothing
                    self._step()
        self.iterations += n

    def average(self) -> np.ndarray:
        """The average behaviour, float64[S, B]."""
        return self._average()[:-1].double().cpu().numpy()

    def values(self) -> list[np.ndarray]:
        """By seat, the counterfactual values of its root sequences under the average, float64[root sequences, B]."""
        behaviour = self._average()
        plan, gradient = self._realised(behaviour), torch.zeros_like(behaviour)
        for side in self._sides:
            self._earn(side, behaviour, plan, gradient)
        found = gradient.double().cpu().numpy()
        return [found[first : first + roots] for first, roots in zip(self._firsts, self._roots, strict=True)]

    def _step(self) -> None:
        self._weight += 1.0
        for side in self._sides:
            acting = side.acting
            self._earn(side, self._behaviour, self._plan, self._gradient)
            regret = self._gradient[acting] - self._values[side.states]
            self.regrets[acting] = (self.regrets[acting] + regret).clamp_(min=0.0)
            _behave(side, self.regrets, self._behaviour)
            self.sums[acting] += self._weight * self._plan[acting]
            _realise(side, self._behaviour, self._plan)

    def _earn(self, side: Side, behaviour: Tensor, plan: Tensor, gradient: Tensor) -> None:
        """What a seat's sequences are worth if it goes on as it behaves, and what its information states are."""
        terms = self._factors[side.factors]
        for sources in side.sources:
            terms *= plan[sources]
        gradient[side.own] = 0.0
        _add(side.entries, terms, gradient)
        for level in reversed(side.levels):
            values = behaviour[level.actions[0]] * gradient[level.actions[0]]
            for actions in level.actions[1:]:
                values += behaviour[actions] * gradient[actions]
            self._values[level.states] = values
            _add(level.values, self._values, gradient)

    def _average(self) -> Tensor:
        behaviour = torch.zeros_like(self.sums)
        for side in self._sides:
            _behave(side, self.sums, behaviour)
        return behaviour

    def _realised(self, behaviour: Tensor) -> Tensor:
        plan = self._start.expand_as(behaviour).clone()
        for side in self._sides:
            _realise(side, behaviour, plan)
        return plan


def _add(sums: Sums, rows: Tensor, to: Tensor) -> None:
    """Add the sums of rows to the places where they belong."""
    total = to[sums.places]
    for step in sums.steps:
        total[: len(step)] += rows[step]
    to[sums.places] = total


def _behave(side: Side, numbers: Tensor, behaviour: Tensor) -> None:
    """A seat's behaviour in proportion to these numbers, uniform where all are 0."""
    total = numbers[side.actions[0]]
    for actions in side.actions[1:]:
        total += numbers[actions]
    share, some = (1.0 / total)[side.places], (total > 0.0)[side.places]
    behaviour[side.acting] = torch.where(some, numbers[side.acting] * share, side.uniform)


def _realise(side: Side, behaviour: Tensor, plan: Tensor) -> None:
    """Turn a seat's behaviour into its plan."""
    for level in side.levels:
        plan[level.sequences] = plan[level.before] * behaviour[level.sequences]


# From plain arrays ----------------------------------------------------------------------------------------------


def _side(arrays: Arrays, seat: int, like: Tensor) -> Side:
    """The part of a form that belongs to a seat, on the device of `like`."""

    def moved(array: np.ndarray) -> Tensor:
        return torch.tensor(np.ascontiguousarray(array, np.int64), device=like.device)

    def sums(places: np.ndarray, rows: np.ndarray) -> Sums:
        """To each place, rows in this order."""
        found, which, counts = np.unique(places, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        firsts, by_place = np.cumsum(counts) - counts, np.argsort(which, kind="stable")
        longer = (order[counts[order] > k] for k in range(counts.max(initial=0)))
        return Sums(moved(found[order]), [moved(rows[by_place[firsts[own] + k]]) for k, own in enumerate(longer)])

    first, last = arrays["sequence_begins"][seat : seat + 2].tolist()
    states = np.arange(*arrays["state_begins"][seat : seat + 2])
    begins, ends, parents = (arrays[name][states].astype(np.int64) for name in ("begins", "ends", "parents"))
    sizes, nothing = ends - begins, len(arrays["start"])
    padded = begins + np.arange(sizes.max(initial=1))[:, None]
    padded = np.where(padded < ends, padded, nothing)  # int64[A, N]
    # terms and entries
    terms = slice(*arrays["term_begins"][seat : seat + 2].tolist())
    entry_begins = arrays["term_entry_begins"]
    entries = arrays["term_entries"][entry_begins[first] : entry_begins[last]] - terms.start
    earning = np.repeat(np.arange(first, last), np.diff(entry_begins[first : last + 1]))
    # levels
    depths, depth = np.zeros(nothing, np.int64), np.zeros(len(states), np.int64)
    for i in range(len(states)):
        depth[i] = depths[parents[i]] + 1
        depths[begins[i] : ends[i]] = depth[i]
    levels = []
    for number in range(1, depth.max(initial=0) + 1):
        here = np.flatnonzero(depth == number)
        by_state = padded[:, here].T
        levels.append(
            Level(
                moved(states[here]),
                moved(by_state.T),
                moved(by_state[by_state != nothing]),
                moved(np.repeat(parents[here], sizes[here])),
                sums(parents[here][::-1], states[here][::-1]),
            )
        )
    places = np.repeat(np.arange(len(states)), sizes)
    return Side(
        slice(first, last),
        slice(last - len(places), last),
        moved(arrays["term_factors"][terms]),
        [moved(sources) for sources in arrays["term_sources"][terms].T],
        sums(earning, entries),
        moved(states[places]),
        moved(padded),
        moved(places),
        (1.0 / moved(sizes[places]).to(like.dtype))[:, None],
        levels,
    )


# On its own -----------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Belief states with their values, to solve again elsewhere."""

    name: str
    arrays: Arrays
    ranges: list[np.ndarray]  # by seat, float64[root sequences, B]
    values: list[np.ndarray]  # the same, by the compiled solver
    iterations: int
    rate: float  # belief states a second, one by one on a core of the machine that wrote it


def save_cases(path: Any, cases: Sequence[Case]) -> None:
    """Write cases as one .npz."""
    found: dict[str, Any] = {}
    for i, case in enumerate(cases):
        plain = {"name": case.name, "iterations": case.iterations, "rate": case.rate}
        by_seat = [(f"{key}_{seat}", own) for key in _BY_SEAT for seat, own in enumerate(getattr(case, key))]
        found |= {f"{i}.{key}": np.asarray(value) for key, value in [*plain.items(), *by_seat]}
        found |= {f"{i}.form.{key}": value for key, value in case.arrays.items()}
    np.savez_compressed(path, **found)


def load_cases(path: Any) -> list[Case]:
    """Read what `save_cases` has written."""
    try:
        with np.load(path) as file:
            found = dict(file)
    except (OSError, ValueError, BadZipFile):
        raise BadInput(f"{path} is no file that foglight bench values --export has written") from None
    cases, i = [], 0
    while f"{i}.name" in found:
        head, form = f"{i}.", f"{i}.form."
        arrays = {key[len(form) :]: value for key, value in found.items() if key.startswith(form)}
        seats = range(len(arrays["sequence_begins"]) - 1)
        ranges, values = ([found[f"{head}{key}_{seat}"] for seat in seats] for key in _BY_SEAT)
        iterations, rate = int(found[f"{head}iterations"]), float(found[f"{head}rate"])
        cases.append(Case(str(found[f"{head}name"]), arrays, ranges, values, iterations, rate))
        i += 1
    return cases


_BY_SEAT = ("ranges", "values")


def measure(case: Case, device: str = "cpu", dtype: torch.dtype = torch.float64) -> tuple[float, float]:
    """Belief states a second, from a fresh solver to values, the median of a few; how far values are off at most.

    Raises RuntimeError if float64 is off by more than `CLOSE`.
    """
    taken = []
    for _ in range(1 + REPEATS):  # the first warms up
        begin = time.perf_counter()
        solver = TensorRegrets(case.arrays, case.ranges, device, dtype)
        solver.iterate(case.iterations)
        found = solver.values()  # on the CPU, so that the device is done
        taken.append(time.perf_counter() - begin)
    off = max(float(abs(own - known).max()) for own, known in zip(found, case.values, strict=True))
    if dtype == torch.float64 and not off <= CLOSE:
        raise RuntimeError(f"{case.name}: values on {device} are off by {off:.1e}")
    return case.ranges[0].shape[1] / statistics.median(taken[1:]), off


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m foglight.bench.tensor_cfr", description="Solve on tensors.")
    parser.add_argument("file", help="as written by foglight bench values --export")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", default="float64", choices=DTYPES)
    parser.add_argument("--beliefs", type=int, help="so many at once, those of the file again and again")
    given = parser.parse_args(arguments)
    if given.beliefs is not None and given.beliefs < 1:
        parser.error(f"--beliefs must be at least 1, not {given.beliefs}")
    try:
        torch.zeros(1, device=given.device)
        cases = load_cases(given.file)
    except (BadInput, RuntimeError, AssertionError) as error:  # PyTorch raises either where a device is missing
        parser.error(str(error).splitlines()[0])
    for case in cases:
        if given.beliefs is not None:
            which = np.arange(given.beliefs) % case.ranges[0].shape[1]
            ranges, values = ([own[:, which] for own in part] for part in (case.ranges, case.values))
            case = case._replace(ranges=ranges, values=values)
        rate, off = measure(case, given.device, DTYPES[given.dtype])
        sys.stdout.write(
            f"{case.name}: {case.ranges[0].shape[1]} belief states on {given.device}, {given.dtype}: {rate:,.0f}/s, "
            f"{rate / case.rate:.2f} times one by one there; values off by at most {off:.1e}\n"
        )


if __name__ == "__main__":
    main()
