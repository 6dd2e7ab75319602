"""`foglight bench values`: time to make training data, and belief states solved side by side or on tensors.

The belief states are those of random strategies at one public state of a trunk's cut: the one whose form has most
entries. Solved one by one, each gets a fresh `Regrets`. Arrays that do not depend on ranges are built beforehand for
both sides. The sides take turns, and medians count. All of it runs on one core, except that making data uses two
processes, and CUDA its device.
"""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foglight.bench.figures import Figure, Row
from foglight.files import replacing
from foglight.names import BadInput, unknown
from foglight.solving.depth_limited.batched import BatchedRegrets, form_arrays
from foglight.solving.depth_limited.subgame import Subgames
from foglight.solving.depth_limited.trunk import Trunk
from foglight.solving.whole.plans import counterfactual_values, random_behaviour, realised
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import Ranges, SequenceForm
from foglight.values.networks.datasets import DatasetRequest
from foglight.values.trunk.generation import generate_dataset

if TYPE_CHECKING:  # needs PyTorch
    from foglight.bench.tensor_cfr import Case

SECTIONS = ("data", "batch", "tensors")
ALL = "all"
TITLE = "values: figures, peers and bars"
INSTALL = "pip install 'foglight[values]'"
GOOFSPIEL = "goofspiel(cards=5)"
TRUNKS = {GOOFSPIEL: 4, "leduc_poker": 7}  # depth of the cut, in transitions
STRATEGIES, BELIEFS = 1000, 256  # of the data set; belief states solved at once
ITERATIONS, REPEATS = 100, 5  # CFR+ iterations per belief state; measurements of each side

Task = tuple[str, Callable[[], list[Row]]]


def tasks(section: str = ALL, seed: int = 0, strategies: int = STRATEGIES, beliefs: int = BELIEFS) -> list[Task]:
    """The tasks of a section, or of all sections."""
    if section not in (*SECTIONS, ALL):
        raise BadInput(unknown("section", section, (*SECTIONS, ALL)))
    for name, number in (("strategies", strategies), ("beliefs", beliefs)):
        if number < 1:
            raise BadInput(f"{name} must be at least 1, not {number}")
    title = TITLE
    if section in ("tensors", ALL) and not has_torch():
        if section == "tensors":
            raise BadInput(f"this section needs PyTorch; install it with: {INSTALL}")
        title = f"{TITLE} (without tensors; for them: {INSTALL})"
    by_section: dict[str, list[Callable[[], list[Row]]]] = {
        "data": [partial(data, strategies, seed)],
        "batch": [partial(batch, game, beliefs, seed) for game in TRUNKS],
        "tensors": [partial(tensors, game, beliefs, seed) for game in TRUNKS] if has_torch() else [],
    }
    return [(title, task) for name in SECTIONS if section in (name, ALL) for task in by_section[name]]


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def data(strategies: int, seed: int) -> list[Row]:
    """The time to make a data set with two processes, with kernels loaded."""
    request = DatasetRequest(GOOFSPIEL, TRUNKS[GOOFSPIEL], strategies, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        generate_dataset(DatasetRequest(GOOFSPIEL, TRUNKS[GOOFSPIEL], 1, seed=seed), Path(folder) / "first")
        begin = time.perf_counter()
        points = len(generate_dataset(request, Path(folder) / "all", workers=2))
        seconds = time.perf_counter() - begin
    return [Figure(f"{points:,} points of training data, {GOOFSPIEL}, two processes", seconds, " s", at_most=180)]


def batch(game: str, beliefs: int, seed: int) -> list[Row]:
    """Belief states per second, side by side and one by one; fails if their values differ."""
    sequences, ranges = belief_states(game, beliefs, seed)
    _same(_one_by_one(sequences, ranges), _side_by_side(sequences, ranges))
    times = _turns([lambda: _side_by_side(sequences, ranges), lambda: _one_by_one(sequences, ranges)])
    here, there = (beliefs / seconds for seconds in times)
    return [Figure(f"{beliefs} belief states side by side, {game}", here, "/s", "one by one", there, times=4)]


def tensors(game: str, beliefs: int, seed: int) -> list[Row]:
    """Belief states per second on tensors, on each device that PyTorch has; fails if values differ."""
    import torch

    from foglight.bench.tensor_cfr import measure

    figures: list[Row] = []
    solved, threads = case(game, beliefs, seed), torch.get_num_threads()
    torch.set_num_threads(1)
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        what = f"{beliefs} belief states on tensors, {device}, {game}"
        figures.append(Figure(what, measure(solved, device)[0], "/s", "one by one", solved.rate))
    torch.set_num_threads(threads)
    return figures


def case(game: str, beliefs: int, seed: int) -> "Case":
    """Belief states with their values and rate, solved one by one."""
    from foglight.bench.tensor_cfr import Case

    sequences, ranges = belief_states(game, beliefs, seed)
    values = _one_by_one(sequences, ranges)
    (seconds,) = _turns([lambda: _one_by_one(sequences, ranges)])
    return Case(game, form_arrays(sequences), ranges, values, ITERATIONS, beliefs / seconds)


def export(path: Path, seed: int = 0, beliefs: int = BELIEFS) -> None:
    """Write the belief states of all games for `python -m foglight.bench.tensor_cfr`."""
    from foglight.bench.tensor_cfr import save_cases

    with replacing(path) as part, part.open("wb") as file:
        save_cases(file, [case(game, beliefs, seed) for game in TRUNKS])


def belief_states(game: str, beliefs: int, seed: int) -> tuple[SequenceForm, list[np.ndarray]]:
    """The subgame below a public state, and ranges there: by seat, float64[root sequences, B]."""
    trunk, random = Trunk(game, TRUNKS[game]), np.random.default_rng(seed)
    subgames = [Subgames([public]) for public in trunk.public_states]
    largest = int(np.argmax([len(one.sequences.form.weights) for one in subgames]))
    drawn = []
    for _ in range(beliefs):
        plan = realised(trunk.sequences, random_behaviour(trunk.sequences, random))
        drawn.append(subgames[largest].joined([trunk.leaf_ranges(plan)[largest]]))
    return subgames[largest].sequences, [np.stack(own, axis=1) for own in zip(*drawn, strict=True)]


def _one_by_one(sequences: SequenceForm, ranges: Ranges) -> list[np.ndarray]:
    values = []
    for b in range(ranges[0].shape[1]):
        own_ranges = [own[:, b] for own in ranges]
        solver = Regrets(sequences, "cfr+", own_ranges)
        solver.iterate(ITERATIONS)
        values.append(counterfactual_values(sequences, solver.average(), own_ranges))
    return [np.stack(own, axis=1) for own in zip(*values, strict=True)]


def _side_by_side(sequences: SequenceForm, ranges: Ranges) -> list[np.ndarray]:
    solver = BatchedRegrets(sequences, ranges)
    solver.iterate(ITERATIONS)
    return solver.values()


def _same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    off = max(float(abs(a - b).max()) for a, b in zip(one, other, strict=True))
    if not off <= 1e-10:
        raise RuntimeError(f"values solved side by side are off by {off:.1e}")


def _turns(sides: list[Callable[[], object]]) -> list[float]:
    """The seconds that each side takes: the median of a few measurements, in turns."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(REPEATS):
        for side, seconds in zip(sides, times, strict=True):
            begin = time.perf_counter()
            side()
            seconds.append(time.perf_counter() - begin)
    return [statistics.median(seconds) for seconds in times]
