"""What the studies of value networks share: trunks, and networks trained on data sets of the published sizes."""

import functools
import tempfile
from collections.abc import Sequence
from typing import Any

from foglight.names import BadInput
from foglight.studies._tables import Results

TRUNKS = {"goofspiel(cards=5)": 4, "leduc_poker": 7}  # depth: two rounds; five transitions after the two deals
STRATEGIES = 1000
SEEDS = {True: 1, False: 10}  # by quick
LONGEST = 2**17  # steps, of a full run
JUDGING = 1000  # iterations of CFR+


def cells_of(exact: str, kinds: Sequence[str], quick: bool, seed: int, **arguments: Any) -> Results:
    """For each game a cell of exact values, and one for each kind of network and run."""
    found: Results = {}
    for game in TRUNKS:
        found[f"{game}, {exact}"] = {"game": game, "kind": exact}
        for run in range(seed, seed + SEEDS[quick]):
            for kind in kinds:
                given = {"game": game, "kind": kind, "seed": run, "strategies": STRATEGIES}
                found[f"{game}, {kind}, {run}"] = given | arguments
    return found


def training_of(game: str, kind: str, strategies: int, seed: int, mass: bool = True) -> tuple[Any, str]:
    """A network that is yet to be trained, and the device on which it will be."""
    torch = limited_torch()
    from foglight.values.networks.training import Settings, Training

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Training(_data(game, strategies, seed), Settings(kind, seed=seed, mass=mass), device), device


def limited_torch() -> Any:
    """PyTorch on one core: networks this small only wait for more."""
    try:
        import torch
    except ImportError:
        raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'") from None
    torch.set_num_threads(1)
    return torch


@functools.lru_cache(maxsize=1)
def _data(game: str, strategies: int, seed: int) -> Any:
    from foglight.values.networks.datasets import Request
    from foglight.values.trunk.generation import generate

    with tempfile.TemporaryDirectory() as folder:
        return generate(Request(game, TRUNKS[game], strategies, seed=seed), folder, processes=2)
