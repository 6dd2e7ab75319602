"""Training a value network on a data set: Adam at 1e-3, batches of 64, mean squared error [Sustr2021, Appendix F].

The loss is the mean over the information states of a batch. The order of points in an epoch follows from the seed and
the epoch's number, so a checkpoint needs only the weights, the optimiser's state and the number of steps. On a CPU,
training resumed from a checkpoint gives the same bits as training that never stopped. A finished network is one
safetensors file: its weights, the layout it was trained for, and a JSON header with its shape and origin.

Needs torch and numpy, and no compiler.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.values.networks.architectures import Shape, shape_for, torch
from foglight.values.networks.datasets import Dataset
from foglight.values.networks.descent import Descent
from foglight.values.networks.layout import Layout, layout_of
from foglight.values.networks.points import Lessons, Points
from foglight.values.networks.tensor_file import load_arrays, save_arrays
from foglight.version import RESULTS_VERSION, __version__

FORMAT = 2
LAYOUT_PREFIX = "layout."  # of the layout's arrays in a file


@dataclass(frozen=True)
class TrainingSettings:
    """How to train a network. Equal settings on equal data give equal networks on one machine.

    `kind` of network is `positional`, `particle`, `concatenation` or `histories`. `batch` is in points. `rate` is the
    learning rate of Adam. `base` and `width` are widths of layers, the paper's unless given.

        >>> fl.TrainingSettings("positional", seed=1).rate
        0.001
    """

    kind: str = "particle"
    seed: int = 0
    batch: int = 64
    rate: float = 1e-3
    base: int | None = None
    width: int | None = None
    mass: bool = True  # False: the paper's network, whose outputs are not multiplied by the mass


class Training:
    """A network in training on a data set; call `advance` as often as you like.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = fl.generate_dataset(fl.DatasetRequest("kuhn_poker", depth=3, strategies=4), folder)
    >>> training = fl.Training(data, fl.TrainingSettings("positional"))
    >>> before = training.whole_loss()
    >>> training.advance(steps=20) > 0, training.whole_loss() < before
    (True, True)
    """

    def __init__(self, data: Dataset, settings: TrainingSettings | None = None, device: str = "cpu") -> None:
        self.data, self.settings, self.device = data, settings or TrainingSettings(), device
        how, there = self.settings, data.layout.mask[data.publics]
        shape = shape_for(data.layout, how.kind, how.base, how.width, how.mass)
        self._descent = Descent(shape, how.seed, how.rate, device)
        self.network = self._descent.network
        points = Points(data.layout.features(), data.publics, data.ranges[there], data.targets[there])
        self._lessons = Lessons(points, device)
        self.steps = 0
        self.loss = float("nan")  # mean over the batches of the last `advance`

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every point of the data has been seen once."""
        return -(-len(self.data) // self.settings.batch)

    @property
    def epochs(self) -> float:
        """How often the data has been seen so far."""
        return self.steps / self.steps_per_epoch

    def advance(self, steps: int) -> float:
        """Train for `steps` more steps; returns the mean loss of their batches."""
        total = torch.zeros((), device=self.device)
        for loss in self._descent.steps(self._lessons.of(self._order(steps))):
            total += loss
            self.steps += 1
        self.loss = float(total) / max(steps, 1)
        return self.loss

    def whole_loss(self, most: int = 4096) -> float:
        """The loss over the first `most` points of the data set."""
        (lesson,) = self._lessons.of([np.arange(min(most, len(self.data)))])
        with torch.no_grad():
            return float(self._descent.loss(lesson))

    def _order(self, steps: int) -> Iterator[np.ndarray]:
        """The numbers of the points in each of the next batches."""
        order, batch = np.zeros(0, np.int64), self.settings.batch
        for step in range(self.steps, self.steps + steps):
            epoch, place = divmod(step, self.steps_per_epoch)
            if place == 0 or not len(order):
                order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.data))
            yield order[place * batch : (place + 1) * batch]

    # Checkpoints ----------------------------------------------------------------------------------------------------

    def _identity(self) -> str:
        """What a checkpoint must have been made from to be resumed here."""
        return json.dumps({"settings": asdict(self.settings), "data": self.data.digest, "version": RESULTS_VERSION})

    def save(self, path: Path | str) -> None:
        """Write a checkpoint from which training can resume."""
        self._descent.save(Path(path), identity=self._identity(), steps=self.steps)

    def resume(self, path: Path | str) -> None:
        """Resume from a checkpoint of the same settings and data."""
        self.steps = int(self._descent.load(Path(path), identity=self._identity())["steps"])

    # The finished network -------------------------------------------------------------------------------------------

    def trained(self) -> "Trained":
        """The network as it is now, with its layout and origin."""
        about = origin(self.data, self.settings, self.steps)
        return Trained(self.network, self._descent.shape, self.data.layout, about)


def origin(data: Dataset, settings: TrainingSettings, steps: int) -> dict[str, Any]:
    """What a network's file says about its training."""
    request = data.request
    return {
        "game": request.game,
        "depth": request.depth,
        "recall": request.recall,
        "points": len(data),
        "steps": steps,
        "settings": asdict(settings),
    }


@dataclass(frozen=True)
class Trained:
    """A network, the layout it was trained for, and its origin."""

    network: Any
    shape: Shape
    layout: Layout | None  # None: it gives values anywhere, from the features that the game offers
    about: dict[str, Any]  # the game it is for, and how it was trained

    def save(self, path: Path | str) -> None:
        """Write the network to a safetensors file."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        for name, array in ({} if self.layout is None else self.layout.arrays()).items():
            arrays[LAYOUT_PREFIX + name] = array
        header = {"format": FORMAT, "version": __version__, "shape": self.shape.data(), "about": self.about}
        save_arrays(path, arrays, json.dumps(header))


def load_network(path: Path | str, device: str = "cpu") -> Trained:
    """Read a trained network from a file."""
    arrays, text = load_arrays(path)
    laid_out = {name for name in arrays if name.startswith(LAYOUT_PREFIX)}
    layout = {name.removeprefix(LAYOUT_PREFIX): arrays[name] for name in laid_out}
    weights = {name: array for name, array in arrays.items() if name not in laid_out}
    try:
        header = json.loads(text)
        if header["format"] != FORMAT:
            raise BadInput(f"{path} has format {header['format']}; this version reads {FORMAT}")
        shape = Shape(**header["shape"])
        network = shape.build()
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        network.to(device).eval()
        return Trained(network, shape, layout_of(layout) if layout else None, header["about"])
    except BadInput:
        raise
    except (ValueError, KeyError, TypeError, RuntimeError) as error:  # PyTorch's own are RuntimeErrors
        raise BadInput(f"{path} is damaged: {' '.join(str(error).split())[:200]}; train the network again") from None
