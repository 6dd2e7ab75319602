"""Training a value network on a data set: Adam at 1e-3, batches of 64, mean squared error [Sustr2021, Appendix F].

The loss is the mean over the information states that there are; padding does not count. Every epoch goes through all
points in an order that follows from the seed and the epoch's number, so a checkpoint holds weights, the optimiser's
state and the number of steps, and on a CPU going on from one gives the same bits as never having stopped. A finished
network is one safetensors file: weights, the layout it was trained for, and a JSON header that says what it is.

Needs torch and numpy, and no compiler.
"""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.values.networks.architectures import Particle, Shape, Tables, check_device, shape_for, torch
from foglight.values.networks.datasets import Dataset, write_whole
from foglight.values.networks.layout import Layout, layout_of
from foglight.values.networks.tensor_file import load_arrays, save_arrays
from foglight.version import __version__

FORMAT = 2
_LAYOUT = "layout."


@dataclass(frozen=True)
class Settings:
    """How to train; equal settings on equal data give equal networks on one machine.

    `kind` is the network's: `positional`, `particle`, `concatenation` or `histories`. `batch` counts points, `rate` is
    Adam's. `base` and `width` are sizes of layers, the paper's unless given.

        >>> fl.Settings("positional", seed=1).rate
        0.001
    """

    kind: str = "particle"
    seed: int = 0
    batch: int = 64
    rate: float = 1e-3
    base: int | None = None
    width: int | None = None
    mass: bool = True  # no: the paper's network, whose answer is not multiplied by the mass


class Training:
    """A network in training on a data set: `advance` it as long as you like.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = fl.generate(fl.Request("kuhn_poker", depth=3, strategies=4), folder)
    >>> training = fl.Training(data, fl.Settings("positional"))
    >>> before = training.whole_loss()
    >>> training.advance(steps=20) > 0, training.whole_loss() < before
    (True, True)
    """

    def __init__(self, data: Dataset, settings: Settings | None = None, device: str = "cpu") -> None:
        self.data, self.settings, self.device = data, settings or Settings(), device
        check_device(device)
        how = self.settings
        self.shape = shape_for(data.layout, how.kind, how.base, how.width, how.mass)
        torch.manual_seed(self.settings.seed)
        self.network = self.shape.build().to(device)
        # one kernel for all parameters: several times faster for networks this small
        self._optimiser = torch.optim.Adam(self.network.parameters(), lr=self.settings.rate, foreach=True)
        self._tables = Tables(data.layout, device)
        self._publics = torch.tensor(data.publics, device=device)
        self._ranges = torch.tensor(data.ranges, device=device)
        self._targets = torch.tensor(data.targets, device=device)
        self._epoch, self._order = -1, torch.zeros(0, dtype=torch.int64)
        self.steps = 0
        self.loss = float("nan")  # mean over the batches of the last `advance`

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.data) // self.settings.batch)

    @property
    def epochs(self) -> float:
        return self.steps / self.steps_per_epoch

    def advance(self, steps: int) -> float:
        """So many steps more; the mean loss of their batches."""
        total = torch.zeros((), device=self.device)
        for _ in range(steps):
            which = self._next_batch()
            self._optimiser.zero_grad()
            loss = self._loss(which)
            loss.backward()
            self._optimiser.step()
            total += loss.detach()
            self.steps += 1
        self.loss = float(total) / max(steps, 1)
        return self.loss

    def whole_loss(self, most: int = 4096) -> float:
        """The loss over the first points of the data set, by default at most 4096."""
        with torch.no_grad():
            return float(self._loss(torch.arange(min(most, len(self.data)), device=self.device)))

    def _loss(self, which: Any) -> Any:
        publics = self._publics[which]
        batch = self._tables.batch(publics, self._ranges[which])
        if isinstance(self.network, Particle) and len(self._tables.public) < len(which):
            # fewer public states than points: every base is needed several times and made once
            bases = self.network.bases(self._tables.public, self._tables.private)
            found = self.network.values(batch, bases[publics])
        else:
            found = self.network(batch)
        return ((found - self._targets[which]) ** 2).sum() / batch.mask.sum()

    def _next_batch(self) -> Any:
        epoch, place = divmod(self.steps, self.steps_per_epoch)
        if epoch != self._epoch:
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.data))
            self._epoch, self._order = epoch, torch.tensor(order, device=self.device)
        return self._order[place * self.settings.batch : (place + 1) * self.settings.batch]

    # Checkpoints ----------------------------------------------------------------------------------------------------

    def _identity(self) -> str:
        return json.dumps({"settings": asdict(self.settings), "data": self.data.digest, "version": __version__})

    def save(self, path: Path | str) -> None:
        """A checkpoint to go on from."""
        room = io.BytesIO()
        state = {"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()}
        torch.save(state | {"identity": self._identity(), "steps": self.steps}, room)
        write_whole(Path(path), room.getvalue())

    def resume(self, path: Path | str) -> None:
        """Go on from a checkpoint of the same settings and data."""
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            identity, steps = state["identity"], int(state["steps"])
        except Exception as error:  # torch has no error of its own for what it cannot read
            raise BadInput(f"cannot read the checkpoint {path}: {str(error).splitlines()[0]}") from None
        if identity != self._identity():
            raise BadInput(f"{path} is a checkpoint of other settings or other data; remove it or name another file")
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.steps = steps

    # The finished network -------------------------------------------------------------------------------------------

    def trained(self) -> "Trained":
        """The network as it is now, with what it is for."""
        request = self.data.request
        about = {
            "game": request.game,
            "depth": request.depth,
            "recall": request.recall,
            "points": len(self.data),
            "steps": self.steps,
            "settings": asdict(self.settings),
        }
        return Trained(self.network, self.shape, self.data.layout, about)


@dataclass(frozen=True)
class Trained:
    """A network, the layout it was trained for, and what it is."""

    network: Any
    shape: Shape
    layout: Layout | None  # None: it answers anywhere, by the features that the game offers
    about: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write a safetensors file."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self.network.state_dict().items()}
        for name, array in ({} if self.layout is None else self.layout.arrays()).items():
            arrays[_LAYOUT + name] = array
        header = {"format": FORMAT, "version": __version__, "shape": self.shape.data(), "about": self.about}
        save_arrays(path, arrays, json.dumps(header))


def load_network(path: Path | str, device: str = "cpu") -> Trained:
    """Read a trained network."""
    arrays, text = load_arrays(path)
    header = json.loads(text)
    if header["format"] != FORMAT:
        raise BadInput(f"{path} has format {header['format']}; this version reads {FORMAT}")
    laid_out = {name.removeprefix(_LAYOUT): array for name, array in arrays.items() if name.startswith(_LAYOUT)}
    shape = Shape(**header["shape"])
    network = shape.build().to(device)
    weights = {name: torch.tensor(array) for name, array in arrays.items() if not name.startswith(_LAYOUT)}
    network.load_state_dict(weights)
    network.eval()
    return Trained(network, shape, layout_of(laid_out) if laid_out else None, header["about"])
