"""CFR+ for many belief states on tensors, on a CPU or a GPU: the same as `batched`, with PyTorch and NumPy alone.

    python -m foglight.bench.tensor_cfr FILE --device cuda

solves the belief states that `foglight bench values --export FILE` has written, compares their values, and prints
belief states per second.

Arrays are float[S + 1, B]: a row is a sequence, a column a belief state. The last row stands for the missing actions of
information states that have fewer than others; it is always 0. A seat's information states are updated in levels, by
the number of own actions that lead to them. Summands are added in the same order as in the compiled solver (`batched`
says why that matters): first the first summands of all sums at once, then the second ones of all sums that have two,
and so on. So results are the same on every device. On a GPU one iteration is recorded as a graph and replayed, because
launching its many small steps takes longer than running them.
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

Arrays = Mapping[str, np.ndarray]  # as made by `solving.depth_limited.batched.form_arrays`
DTYPES = {"float64": torch.float64, "float32": torch.float32}
CLOSE = 1e-9  # largest difference of values from the compiled solver, in float64
REPEATS = 3  # measurements


class Sums(NamedTuple):
    """Sums of rows. Step k has the k-th row of every sum with more than k rows."""

    places: Tensor  # int64[P]: the row that gets each sum; sums of most rows first
    steps: list[Tensor]  # int64: the rows to add


class Level(NamedTuple):
    """The N information states of a seat after the same number of own actions, with at most A actions each."""

    states: Tensor  # int64[N]
    actions: Tensor  # int64[A, N]: the sequences of their actions; the last row where there are fewer
    sequences: Tensor  # int64: the same sequences without gaps
    before: Tensor  # int64: the parent of each of these sequences
    values: Sums  # adds the values of states to their parent sequences


class Side(NamedTuple):
    """The indices that updating a seat needs: T terms, N information states."""

    own: slice  # its sequences
    acting: slice  # its sequences without the root sequences
    factors: Tensor  # int64[T]: the factor of each term
    sources: list[Tensor]  # by other seat, int64[T]: its sequence in each term
    entries: Sums  # adds terms to its sequences
    states: Tensor  # int64: the information state of each action, by its number in the form
    actions: Tensor  # int64[A, N]: the sequences of each state's actions
    places: Tensor  # int64: the information state of each action, by its number among the seat's
    uniform: Tensor  # float[actions, 1]: 1 / the number of actions at the state
    levels: list[Level]


class TensorRegrets:
    """A running CFR+ solver of B belief states at once."""

    def __init__(
        self, arrays: Arrays, ranges: Sequence[np.ndarray], device: str = "cpu", dtype: torch.dtype = torch.float64
    ) -> None:
        """`ranges`: by seat, float64[root sequences, B]."""
        self.iterations, self.device = 0, torch.device(device)
        self._firsts, self._roots = arrays["sequence_begins"].tolist()[:-1], [len(own) for own in ranges]
        n, size, roots = len(arrays["start"]), ranges[0].shape[1], arrays["term_roots"]
        factors = np.zeros((n, size))
        for first, own in zip(self._firsts, ranges, strict=True):
            factors[first : first + len(own)] = own
        weighted = arrays["term_weights"][:, None] * factors[roots[:, 0]] * factors[roots[:, 1:]].prod(1)
        self._factors = torch.tensor(weighted, dtype=dtype, device=self.device)
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
                with torch.cuda.graph(self._graph):  # records the steps without running them
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
        worth = gradient.double().cpu().numpy()
        return [worth[first : first + roots] for first, roots in zip(self._firsts, self._roots, strict=True)]

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
        """Write the values of a seat's sequences and information states under its own behaviour."""
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
    """Add the sums of rows to their places in `to`."""
    total = to[sums.places]
    for step in sums.steps:
        total[: len(step)] += rows[step]
    to[sums.places] = total


def _behave(side: Side, numbers: Tensor, behaviour: Tensor) -> None:
    """Write a seat's behaviour in proportion to these numbers; uniform where all are 0."""
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
        """The sums that add each of `rows` to its place in `places`, in this order."""
        distinct, which, counts = np.unique(places, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        firsts, by_place = np.cumsum(counts) - counts, np.argsort(which, kind="stable")
        longer = (order[counts[order] > k] for k in range(counts.max(initial=0)))
        return Sums(moved(distinct[order]), [moved(rows[by_place[firsts[own] + k]]) for k, own in enumerate(longer)])

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
    """Belief states with their values, to be solved again on another machine."""

    name: str
    arrays: Arrays
    ranges: list[np.ndarray]  # by seat, float64[root sequences, B]
    values: list[np.ndarray]  # by seat, float64[root sequences, B]: counterfactual values by the compiled solver
    iterations: int
    rate: float  # belief states per second, one by one, on one core of the machine that wrote the case


def save_cases(path: Any, cases: Sequence[Case]) -> None:
    """Write cases to one .npz file."""
    entries: dict[str, Any] = {}
    for i, case in enumerate(cases):
        plain = {"name": case.name, "iterations": case.iterations, "rate": case.rate}
        by_seat = [(f"{key}_{seat}", own) for key in _BY_SEAT for seat, own in enumerate(getattr(case, key))]
        entries |= {f"{i}.{key}": np.asarray(value) for key, value in [*plain.items(), *by_seat]}
        entries |= {f"{i}.form.{key}": value for key, value in case.arrays.items()}
    np.savez_compressed(path, **entries)


def load_cases(path: Any) -> list[Case]:
    """Read the cases of a file that `save_cases` has written."""
    try:
        with np.load(path) as file:
            entries = dict(file)
    except (OSError, ValueError, BadZipFile):
        raise BadInput(f"{path} is not a file that foglight bench values --export has written") from None
    cases, i = [], 0
    while f"{i}.name" in entries:
        head, form = f"{i}.", f"{i}.form."
        arrays = {key[len(form) :]: value for key, value in entries.items() if key.startswith(form)}
        seats = range(len(arrays["sequence_begins"]) - 1)
        ranges, values = ([entries[f"{head}{key}_{seat}"] for seat in seats] for key in _BY_SEAT)
        iterations, rate = int(entries[f"{head}iterations"]), float(entries[f"{head}rate"])
        cases.append(Case(str(entries[f"{head}name"]), arrays, ranges, values, iterations, rate))
        i += 1
    return cases


_BY_SEAT = ("ranges", "values")


def measure(case: Case, device: str = "cpu", dtype: torch.dtype = torch.float64) -> tuple[float, float]:
    """Belief states per second, and the largest error of their values.

    The time is the median of a few, from making a solver to its values. Raises RuntimeError if values in float64 are
    off by more than `CLOSE`.
    """
    times = []
    for _ in range(1 + REPEATS):  # the first warms up
        begin = time.perf_counter()
        solver = TensorRegrets(case.arrays, case.ranges, device, dtype)
        solver.iterate(case.iterations)
        values = solver.values()  # copied to the CPU, so the device has finished
        times.append(time.perf_counter() - begin)
    off = max(float(abs(own - exact).max()) for own, exact in zip(values, case.values, strict=True))
    if dtype == torch.float64 and not off <= CLOSE:
        raise RuntimeError(f"{case.name}: values on {device} are off by {off:.1e}")
    return case.ranges[0].shape[1] / statistics.median(times[1:]), off


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m foglight.bench.tensor_cfr", description="Solve beliefs on tensors."
    )
    parser.add_argument("file", help="a file written by foglight bench values --export")
    parser.add_argument("--device", default="cpu", help="the device to solve on, cpu or cuda")
    parser.add_argument("--dtype", default="float64", choices=DTYPES, help="the precision of all arrays")
    parser.add_argument("--beliefs", type=int, help="belief states solved at once; the file's are repeated as needed")
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
