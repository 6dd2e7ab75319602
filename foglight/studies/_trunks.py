"""Common parts of the studies of value networks: trunks, data sets of the published sizes, networks trained on them.

The studies share their networks. These are in a folder of stacks beside the folders of the studies
(`values.networks.stack`): all runs of one kind of network are trained side by side. `plan` writes the data sets and the
plan, so that training may happen where there is only torch; `prepare` trains here what is not there yet.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foglight.files import write_whole
from foglight.names import BadInput
from foglight.studies._tables import Results

TRUNKS = {"goofspiel(cards=5)": 4, "leduc_poker": 7}  # depth in transitions: two rounds; two deals and five more
STRATEGIES = 1000  # random strategies per data set
SEEDS = {True: 1, False: 10}  # runs per kind of network, by quick
_ALL = tuple(2**k for k in range(7, 18))
MARKS = {True: _ALL[:-4], False: _ALL}  # training steps at which networks are kept, by quick
JUDGING = 1000  # CFR+ iterations for a trunk's exploitability
FOLDER = "trunks"  # of the networks, beside the folders of the studies
_PLAN = "plan.json"


def cells_of(exact: str, kinds: Sequence[str], quick: bool, seed: int, mass: Sequence[bool] = (True,)) -> Results:
    """The cells: for each game one with exact values at the leaves, and one for each kind of network and run."""
    cells: Results = {}
    for game in TRUNKS:
        if exact:
            cells[f"{game}, {exact}"] = {"game": game, "kind": exact}
        for kind in kinds:
            for factor in mass:
                stack = {"game": game, "kind": kind, "mass": factor, "first": seed, "runs": SEEDS[quick]}
                for run in range(SEEDS[quick]):
                    name = f"{game}, {kind}, {seed + run}" if factor else f"{game}, {kind}, no mass, {seed + run}"
                    cells[name] = stack | {"run": run, "marks": MARKS[quick], "strategies": STRATEGIES}
    return cells


def plan(cells: Results, folder: Path) -> Path:
    """Write the data sets of these cells and the plan for training; returns the folder of the networks."""
    networks_at = folder.parent / FOLDER
    stacks = {_name(cell): cell for cell in cells.values() if "run" in cell}
    for cell in stacks.values():
        _plan(networks_at, cell)
    return networks_at


def prepare(cells: Results, folder: Path) -> None:
    """Train the networks of these cells that are not there yet."""
    for cell in cells.values():
        if "run" in cell:
            networks(folder, cell, ())


def networks(folder: Path, cell: dict[str, Any], marks: Sequence[int]) -> list[Any]:
    """The network of a cell after each of these numbers of steps, trained here if it is not there yet.

    `folder` is that of the study.
    """
    limited_torch()
    from foglight.values.networks.stack import load_stack, network_file, train_folder

    networks_at, name = folder.parent / FOLDER, _name(cell)
    if not all(network_file(networks_at, name, mark).exists() for mark in cell["marks"]):
        _plan(networks_at, cell)
        train_folder(networks_at, only=name)
    return [load_stack(network_file(networks_at, name, mark))[cell["run"]] for mark in marks]


def _plan(folder: Path, cell: dict[str, Any]) -> None:
    """Make the data sets of a stack, and enter it into the plan."""
    from foglight.values.networks.datasets import DatasetRequest
    from foglight.values.networks.training import TrainingSettings
    from foglight.values.trunk.generation import generate_dataset

    game, name = cell["game"], _name(cell)
    seeds = range(cell["first"], cell["first"] + cell["runs"])
    data = [f"{_word(game)}-{cell['strategies']}-{seed}" for seed in seeds]
    for seed, where in zip(seeds, data, strict=True):
        request = DatasetRequest(game, TRUNKS[game], cell["strategies"], seed=seed)
        generate_dataset(request, folder / "data" / where, workers=2)
    settings = [asdict(TrainingSettings(cell["kind"], seed=seed, mass=cell["mass"])) for seed in seeds]
    try:
        plan = json.loads((folder / _PLAN).read_text())
    except FileNotFoundError:
        plan = []
    entry = {"name": name, "data": data, "settings": settings, "marks": list(cell["marks"])}
    others = [stack for stack in plan if stack["name"] != name]
    write_whole(folder / _PLAN, json.dumps([*others, entry], indent=1).encode())


def _name(cell: dict[str, Any]) -> str:
    """The name of the stack that a cell belongs to."""
    kind = cell["kind"] if cell["mass"] else f"{cell['kind']}_no_mass"
    last = cell["first"] + cell["runs"] - 1
    return f"{_word(cell['game'])}-{cell['strategies']}-{kind}-{cell['first']}-{last}"


def _word(game: str) -> str:
    return game.partition("(")[0]


def limited_torch() -> Any:
    """PyTorch limited to one thread: more only slow networks this small."""
    try:
        import torch
    except ImportError:
        raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'") from None
    torch.set_num_threads(1)
    return torch
