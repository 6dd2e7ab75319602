"""A network for one trunk, from random strategies to the finished file: data, training, trunk exploitability.

All files are in one folder. If training is killed, it resumes from them:

    data/                 the data set
    state.pt              the last checkpoint
    network.safetensors   the network at that checkpoint
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from foglight.names import BadInput
from foglight.pieces import Workers
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk
from foglight.solving.whole.tree import TooLarge
from foglight.values.networks.architectures import check_kind, one_thread
from foglight.values.networks.datasets import DatasetRequest
from foglight.values.networks.evaluator import Network
from foglight.values.networks.training import Training, TrainingSettings
from foglight.values.trunk.generation import generate_dataset

NETWORK = "network.safetensors"
_CHECKS = 20  # checkpoints in a whole training; at each one the trunk is judged
_JUDGING = 1000  # CFR+ iterations for the trunk's exploitability


class Progress(NamedTuple):
    """How far training has come."""

    what: str  # "shards" or "steps"
    done: int
    total: int
    loss: float | None = None
    exploitability: float | None = None  # of the trunk solved with the network as it is: the sum of both seats


def train_trunk(
    request: DatasetRequest,
    settings: TrainingSettings,
    steps: int,
    folder: Path | str,
    device: str = "cpu",
    workers: Workers = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Train until `steps` in total, from the folder's state on; returns the network's file.

    `workers` make the data set, and are as in `play_match`.
    """
    if steps < 1:
        raise BadInput(f"steps must be at least 1, not {steps}")
    check_kind(settings.kind, settings.mass)
    folder, say = Path(folder), progress or (lambda _: None)
    data = generate_dataset(request, folder / "data", workers, lambda done, total: say(Progress("shards", done, total)))
    one_thread()
    training, state = Training(data, settings, device), folder / "state.pt"
    if state.exists():
        training.resume(state)
    trunk = Trunk(request.game, request.depth)
    try:
        judge = TrunkJudge(trunk)
    except TooLarge:
        judge = None
    every, worth = max(1, steps // _CHECKS), None
    while training.steps < steps:
        training.advance(min(every - training.steps % every, steps - training.steps))
        training.save(state)
        training.trained().save(folder / NETWORK)
        if judge is not None:
            policy = solve_trunk(trunk, Network(training.trained(), device), 100)
            worth = judge.exploitability(policy, _JUDGING)
        say(Progress("steps", training.steps, steps, training.loss, worth))
    return folder / NETWORK
