"""Several trainings side by side as one batched model: a GPU is idle while it trains one network as small as ours.

A stack has networks of one shape, each with its own data set, initial weights and order of batches: those that
`Training` would have, so that each network learns what it would learn alone, up to rounding. Weights have one more
dimension, and public belief states are padded to the same number of information states. On a GPU, a step is recorded
once and then replayed.

Needs torch and numpy, and no compiler:

    python -m foglight.values.networks.stack FOLDER --device cuda

trains what is prepared in a folder of a study, and goes on where it stopped.
"""

import argparse
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from foglight.files import write_whole
from foglight.names import BadInput
from foglight.values.networks.architectures import Shape, Tensor, check_device, shape_for, torch
from foglight.values.networks.datasets import Dataset, load_dataset
from foglight.values.networks.layout import layout_of
from foglight.values.networks.tensor_file import load_arrays, save_arrays
from foglight.values.networks.training import FORMAT, LAYOUT_PREFIX, Trained, TrainingSettings, origin

_TOGETHER = 4096  # batches whose order is prepared at a time

Weights = dict[str, Tensor]  # by name as in the single network, with the number of the network as first dimension


class Stack:
    """Networks of one shape in training, each on a data set of the same layout.

    Settings may differ in their seeds alone.
    """

    def __init__(self, data: Sequence[Dataset], settings: Sequence[TrainingSettings], device: str = "cpu") -> None:
        check_device(device)
        if len(data) != len(settings) or not data:
            raise BadInput(f"a stack needs one data set for each of its {len(settings)} settings, not {len(data)}")
        if len({json.dumps(asdict(how) | {"seed": 0}) for how in settings}) > 1:
            raise BadInput("the networks of a stack may differ in their seeds alone")
        if len({len(one) for one in data}) > 1:
            raise BadInput("the data sets of a stack must have equally many points")
        self.data, self.settings, self.device = list(data), list(settings), device
        how, layout = settings[0], data[0].layout
        self.shape = shape_for(layout, how.kind, how.base, how.width, how.mass)
        self.weights = self._initial()
        self._optimiser = torch.optim.Adam(
            list(self.weights.values()), lr=how.rate, foreach=True, capturable=device != "cpu"
        )
        self.steps = 0
        self.losses = [float("nan")] * len(data)  # of each network: the mean over the batches of the last `advance`
        self._publics = torch.stack([self._tensor(one.publics, torch.int64) for one in data])
        self._ranges = torch.stack([self._tensor(one.ranges) for one in data])
        self._targets = torch.stack([self._tensor(one.targets) for one in data])
        self._public, self._shared = self._tensor(layout.public), self._tensor(layout.shared)
        self._mask = self._tensor(layout.mask)
        self._places = self._tensor(layout.places.clip(0), torch.int64)
        self._signs = self._tensor(1.0 - 2.0 * layout.seats)
        public = np.broadcast_to(layout.public[:, None], (*layout.seats.shape, layout.public.shape[1]))
        self._features = self._tensor(np.concatenate([public, layout.private], 2).reshape(layout.seats.size, -1))
        self._total = torch.zeros(len(data), device=device)
        self._step: Callable[[], None] | None = None

    def _tensor(self, array: np.ndarray, kind: Any = torch.float32) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), dtype=kind, device=self.device)

    def _initial(self) -> Weights:
        """The weights that each network would begin with alone."""
        single = []
        for how in self.settings:
            torch.manual_seed(how.seed)
            single.append(self.shape.build().state_dict())
        return {
            name: torch.stack([weights[name] for weights in single]).to(self.device).requires_grad_()
            for name in single[0]
        }

    # One step ---------------------------------------------------------------------------------------------------------

    def _losses(self, points: Tensor, there: Tensor) -> Tensor:
        """The mean squared error of each network over its points, int64[S, B]; `there` is 0 for those that pad."""
        which = torch.arange(len(points), device=self.device)[:, None]
        publics = self._publics[which, points]
        counted = self._mask[publics] * there[:, :, None]
        wrong = self._values(publics, self._ranges[which, points]) - self._targets[which, points]
        return (counted * wrong**2).sum((1, 2)) / counted.sum((1, 2))

    def _values(self, publics: Tensor, ranges: Tensor) -> Tensor:
        """The values of all information states, float[S, B, K], of B public belief states for each network."""
        shared, public = self._shared[publics], self._public[publics]
        if self.shape.kind == "positional":
            places = self._places[publics]
            at = ranges.new_zeros(*publics.shape, self.shape.places).scatter_add(2, places, ranges)
            values = self._perceptron("regression", torch.cat([at, public], 2)).gather(2, places)
        else:
            bases = self._bases("change_of_basis", publics)
            context = (ranges[..., None] * bases).sum(2)
            regressed = self._perceptron("regression", torch.cat([context, public], 2))
            if self.shape.kind == "histories":
                faces = self._bases("faces", publics)
                others = shared @ (ranges[..., None] * faces)
                return (others * faces * regressed[:, :, None]).sum(3) * self._signs[publics]
            if self.shape.kind == "concatenation":
                beside = torch.cat([bases, regressed[:, :, None].expand_as(bases)], 3)
                joined = self._perceptron("join", beside.flatten(1, 2))
                values = joined.view(bases.shape[:3])
            else:
                values = (bases @ regressed[..., None])[..., 0]
        return values * (shared @ ranges[..., None])[..., 0] if self.shape.mass else values

    def _bases(self, name: str, publics: Tensor) -> Tensor:
        """The bases or faces of the information states of these public states, float[S, B, K, n]."""
        features = self._features.expand(len(publics), -1, -1)
        bases = self._perceptron(name, features).view(len(publics), *self._mask.shape, -1)
        return bases[torch.arange(len(publics), device=self.device)[:, None], publics]

    def _perceptron(self, name: str, rows: Tensor) -> Tensor:
        """One perceptron of each network, on its own rows: float[S, N, inputs] to float[S, N, outputs]."""
        layers = sorted(int(key.split(".")[1]) for key in self.weights if key.startswith(f"{name}.") and "bias" in key)
        for layer in layers:
            weight, bias = (self.weights[f"{name}.{layer}.{part}"] for part in ("weight", "bias"))
            rows = torch.baddbmm(bias[:, None], rows, weight.transpose(1, 2))
            rows = rows.relu() if layer != layers[-1] else rows
        return rows

    def _take_step(self, points: Tensor, there: Tensor) -> None:
        self._optimiser.zero_grad()
        losses = self._losses(points, there)
        losses.sum().backward()  # no network's weights are in another's loss
        self._optimiser.step()
        self._total += losses.detach()

    # Many steps -------------------------------------------------------------------------------------------------------

    def advance(self, steps: int) -> list[float]:
        """Train all networks for `steps` more steps; returns the mean loss of each."""
        self._total.zero_()
        last = self.steps + steps
        while self.steps < last:
            several = min(_TOGETHER, last - self.steps)
            points, there = self._order(several)
            if self.device == "cpu":
                for step in range(several):
                    self._take_step(points[step], there[step])
            else:
                self._replay(points, there)
            self.steps += several
        self.losses = (self._total / max(steps, 1)).tolist()
        return self.losses

    def _order(self, steps: int) -> tuple[Tensor, Tensor]:
        """The points of each network in the next batches, int64[steps, S, B], and where there is one."""
        batch, size = self.settings[0].batch, len(self.data[0])
        per_epoch = -(-size // batch)
        numbers = np.zeros((steps, len(self.data), batch), np.int64)
        there = np.zeros((steps, 1, batch), np.float32)
        epoch, orders = -1, np.zeros((len(self.data), size), np.int64)
        for i, step in enumerate(range(self.steps, self.steps + steps)):
            now, place = divmod(step, per_epoch)
            if now != epoch:
                epoch = now
                orders = np.stack([np.random.default_rng([how.seed, now]).permutation(size) for how in self.settings])
            points = orders[:, place * batch : (place + 1) * batch]
            numbers[i, :, : points.shape[1]] = points
            there[i, :, : points.shape[1]] = 1.0
        return self._tensor(numbers, torch.int64), self._tensor(there)

    def _replay(self, points: Tensor, there: Tensor) -> None:
        """Take the steps on a GPU: the first ones as they are, then by replaying a recorded one."""
        begin = 0
        if self._step is None:
            begin = min(3, len(points))  # the optimiser makes its state, and kernels are chosen
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for step in range(begin):
                    self._take_step(points[step], there[step])
            torch.cuda.current_stream().wait_stream(side)
            self._next_points, self._next_there = points[0].clone(), there[0].clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._take_step(self._next_points, self._next_there)
            self._step = graph.replay
        for step in range(begin, len(points)):
            self._next_points.copy_(points[step])
            self._next_there.copy_(there[step])
            self._step()

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write all networks as they are now to one file, which `load_stack` reads."""
        arrays = {name: weights.detach().cpu().numpy() for name, weights in self.weights.items()}
        arrays |= {LAYOUT_PREFIX + name: array for name, array in self.data[0].layout.arrays().items()}
        pairs = zip(self.data, self.settings, self.losses, strict=True)
        about = [origin(data, how, self.steps) | {"loss": loss} for data, how, loss in pairs]
        header = {"format": FORMAT, "shape": self.shape.data(), "about": about}
        save_arrays(path, arrays, json.dumps(header))

    def save_checkpoint(self, path: Path) -> None:
        """Write what training needs to go on."""
        room = io.BytesIO()
        weights = {name: weights.detach() for name, weights in self.weights.items()}
        torch.save({"weights": weights, "optimiser": self._optimiser.state_dict(), "steps": self.steps}, room)
        write_whole(path, room.getvalue())

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint; before the first `advance`."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        with torch.no_grad():
            for name, weights in self.weights.items():
                weights.copy_(state["weights"][name])
        self._optimiser.load_state_dict(state["optimiser"])
        self.steps = int(state["steps"])


def load_stack(path: Path) -> list[Trained]:
    """The networks of a file that `Stack.save` wrote."""
    arrays, text = load_arrays(path)
    header = json.loads(text)
    layout = layout_of({name.removeprefix(LAYOUT_PREFIX): array for name, array in arrays.items()})
    shape = Shape(**header["shape"])
    networks = []
    for number, about in enumerate(header["about"]):
        network = shape.build()
        weights = {name: array[number] for name, array in arrays.items() if not name.startswith(LAYOUT_PREFIX)}
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        network.eval()
        networks.append(Trained(network, shape, layout, about))
    return networks


# A folder of stacks ---------------------------------------------------------------------------------------------------
#
#     plan.json                        the stacks: for each its name, its data sets and settings, and its marks
#     data/NAME/                       data sets
#     networks/NAME-STEPS.safetensors  the networks of a stack at each mark
#     networks/NAME.pt                 its last checkpoint


def train_folder(
    folder: Path, device: str = "cpu", only: str = "", tell: Callable[[str], None] = lambda line: None
) -> None:
    """Train the stacks of a folder to their marks, those whose name begins with `only`; goes on where it stopped."""
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "networks").mkdir(exist_ok=True)
    for entry in plan:
        marks = [mark for mark in entry["marks"] if not network_file(folder, entry["name"], mark).exists()]
        if not marks or not entry["name"].startswith(only):
            continue
        begin = time.monotonic()
        data = [load_dataset(folder / "data" / name) for name in entry["data"]]
        stack = Stack(data, [TrainingSettings(**how) for how in entry["settings"]], device)
        checkpoint = folder / "networks" / f"{entry['name']}.pt"
        if checkpoint.exists():
            stack.resume(checkpoint)
        for mark in marks:
            stack.advance(mark - stack.steps)
            stack.save_checkpoint(checkpoint)
            stack.save(network_file(folder, entry["name"], mark))
            loss = sum(stack.losses) / len(stack.losses)
            tell(f"{entry['name']}: {mark:,} steps, loss {loss:.2e}, {time.monotonic() - begin:.0f} s")
        checkpoint.unlink()


def network_file(folder: Path, name: str, mark: int) -> Path:
    """The file of a stack's networks after so many steps."""
    return folder / "networks" / f"{name}-{mark}.safetensors"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the stacks of a folder that a study has prepared.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="train the stacks whose name begins so")
    given = parser.parse_args()
    train_folder(given.folder, given.device, given.only, lambda line: print(line, flush=True))  # noqa: T201
