"""Common parts of the studies of value networks: trunks, and networks trained on data sets of the published sizes."""

import functools
import tempfile
from collections.abc import Sequence
from typing import Any

from foglight.names import BadInput
from foglight.studies._tables import Results

TRUNKS = {"goofspiel(cards=5)": 4, "leduc_poker": 7}  # depth in transitions: two rounds; two deals and five more
STRATEGIES = 1000  # random strategies per data set
SEEDS = {True: 1, False: 10}  # runs per kind of network, by quick
LONGEST = 2**17  # training steps of a full run
JUDGING = 1000  # CFR+ iterations for a trunk's exploitability


def cells_of(exact: str, kinds: Sequence[str], quick: bool, seed: int, **arguments: Any) -> Results:
    """The cells: for each game one with exact values at the leaves, and one for each kind of network and run."""
    cells: Results = {}
    for game in TRUNKS:
        cells[f"{game}, {exact}"] = {"game": game, "kind": exact}
        for run in range(seed, seed + SEEDS[quick]):
            for kind in kinds:
                common = {"game": game, "kind": kind, "seed": run, "strategies": STRATEGIES}
                cells[f"{game}, {kind}, {run}"] = common | arguments
    return cells


def training_of(game: str, kind: str, strategies: int, seed: int, mass: bool = True) -> tuple[Any, str]:
    """An untrained network with its data set, and the device that it will be trained on."""
    torch = limited_torch()
    from foglight.values.networks.training import Training, TrainingSettings

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Training(_data(game, strategies, seed), TrainingSettings(kind, seed=seed, mass=mass), device), device


def limited_torch() -> Any:
    """PyTorch limited to one thread: more only slow networks this small."""
    try:
        import torch
    except ImportError:
        raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'") from None
    torch.set_num_threads(1)
    return torch


@functools.lru_cache(maxsize=1)
def _data(game: str, strategies: int, seed: int) -> Any:
    """The data set of a game's trunk."""
    from foglight.values.networks.datasets import DatasetRequest
    from foglight.values.trunk.generation import generate_dataset

    with tempfile.TemporaryDirectory() as folder:
        return generate_dataset(DatasetRequest(game, TRUNKS[game], strategies, seed=seed), folder, workers=2)
