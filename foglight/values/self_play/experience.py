"""What self-play has found out, and the network that learns from it. Needs torch and numpy, and no compiler."""

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foglight.names import BadInput
from foglight.values.networks.architectures import Ragged, Shape, check_device, one_thread, shared_matrix, torch
from foglight.values.networks.datasets import write_whole
from foglight.values.networks.training import Trained

_SLOWER = 0.95  # by how much the rate of learning falls until the last round


@dataclass(frozen=True)
class Plan:
    """What to learn; equal plans give equal networks on one machine."""

    game: str
    depth: int = 2  # transitions of a trunk
    particles: int = 100
    iterations: int = 50  # of CFR+ in a trunk
    rounds: int = 12
    games: int = 100  # of each round
    steps: int = 500  # of training after each round
    batch: int = 32
    rate: float = 1e-3
    kind: str = "histories"
    base: int = 64
    width: int = 256
    memory: int = 30_000  # points, the latest, that are learned from
    seed: int = 0
    easy: int = 0  # trunks go to the end where that takes fewer nodes
    mass: bool = True  # whether the network's answer is multiplied by the mass


class Points(NamedTuple):
    """Public belief states and what they are worth, as one list of information states; n of them."""

    public: np.ndarray  # float32[n, F]
    sizes: np.ndarray  # int64[n]: information states of each
    private: np.ndarray  # float32[J, G]
    seats: np.ndarray  # int64[J]
    ranges: np.ndarray  # float32[J]: each seat's adds up to 1
    targets: np.ndarray  # float32[J]: values over the other seat's range and the scale
    histories: np.ndarray  # int64[n]: of each
    pairs: np.ndarray  # int64[H, 2]: the information states of each history, counted within its public state
    chance: np.ndarray  # float32[H]


def joined(several: list[Points]) -> Points:
    """Points one after the other."""
    if not several:
        none = np.zeros(0, np.int64)
        return Points(np.zeros((0, 0)), none, np.zeros((0, 0)), none, none, none, none, none, none)
    return Points(*(np.concatenate(column) for column in zip(*several, strict=True)))


def stored(path: Path) -> Points:
    """From a file."""
    with np.load(path) as stored:
        return Points(**{name: stored[name] for name in Points._fields})


class Learner:
    """A network, and the points that it learns from."""

    def __init__(self, plan: Plan, public: int, private: int, device: str = "cpu") -> None:
        """`public` and `private` are how many features there are of both kinds."""
        check_device(device)
        one_thread()
        self.plan = plan
        self.shape = Shape(plan.kind, public, private, 0, plan.base, plan.width, plan.mass)
        torch.manual_seed(plan.seed)
        self.network: Any = self.shape.build().to(device)
        self._device = device
        self._optimiser = torch.optim.Adam(self.network.parameters(), lr=plan.rate, foreach=True)
        self._points: list[Points] = []
        self.rounds = 0
        self.loss = float("nan")

    def remember(self, points: Points) -> None:
        """Something more to learn from; the oldest is forgotten when there is too much."""
        self._points.append(points)
        while sum(len(part.sizes) for part in self._points[1:]) >= self.plan.memory:
            del self._points[0]

    def train(self) -> Iterator[int]:
        """The steps of one round, one after the other."""
        points = joined(self._points)
        firsts, pairs = (np.cumsum(n) - n for n in (points.sizes, points.histories))
        random = np.random.default_rng([self.plan.seed, 0, self.rounds])
        for group in self._optimiser.param_groups:
            group["lr"] = self.plan.rate * (1.0 - _SLOWER * self.rounds / self.plan.rounds)
        total = 0.0
        for step in range(self.plan.steps):
            which = random.integers(len(points.sizes), size=min(self.plan.batch, len(points.sizes)))
            given, private, targets = _batch(points, which, firsts, pairs, self._device)
            self._optimiser.zero_grad()
            bases = self.network.ragged_bases(given.public[given.of], private)
            loss = ((self.network.ragged_values(given, bases) - targets) ** 2).mean()
            loss.backward()
            self._optimiser.step()
            total += float(loss.detach())
            self.loss = total / (step + 1)
            yield step + 1
        self.rounds += 1

    def save(self, path: Path) -> None:
        room = io.BytesIO()
        state = {"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()}
        torch.save(state | {"rounds": self.rounds, "loss": self.loss}, room)
        write_whole(path, room.getvalue())

    def resume(self, path: Path) -> None:
        """Go on after the last finished round, if there is one."""
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self._device, weights_only=True)
            self.network.load_state_dict(state["network"])
            self._optimiser.load_state_dict(state["optimiser"])
            self.rounds, self.loss = state["rounds"], state["loss"]
        except Exception as error:  # torch has no error of its own for what it cannot read
            raise BadInput(f"cannot read {path}: {str(error).splitlines()[0]}; remove the folder") from None
        for number in range(self.rounds):
            self.remember(stored(path.with_name(f"points-{number:04}.npz")))

    def trained(self) -> Trained:
        about = asdict(self.plan) | {"rounds": self.rounds, "learned": "self-play"}
        return Trained(self.network, self.shape, None, about)


def _batch(
    points: Points, which: np.ndarray, firsts: np.ndarray, pairs: np.ndarray, device: str
) -> tuple[Ragged, Any, Any]:
    """Some of the points as tensors: what is given, features, targets."""
    sizes, histories = points.sizes[which], points.histories[which]
    states = _runs(firsts[which], sizes)
    of = np.repeat(np.arange(len(which)), sizes)
    begins = np.repeat(np.cumsum(sizes) - sizes, histories)
    chosen = _runs(pairs[which], histories)
    shared = shared_matrix(points.pairs[chosen] + begins[:, None], points.chance[chosen], len(of), device)

    def tensor(array: np.ndarray, kind: Any = torch.float32) -> Any:
        return torch.tensor(array, dtype=kind, device=device)

    places = tensor(np.zeros(len(of)), torch.int64)
    signs = tensor(1.0 - 2.0 * points.seats[states])
    ranges, private, targets = (tensor(part[states]) for part in (points.ranges, points.private, points.targets))
    public = tensor(points.public[which])
    asked = tensor(np.arange(len(of)), torch.int64)
    return Ragged(public, tensor(of, torch.int64), places, ranges, signs, asked, shared), private, targets


def _runs(firsts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers of several runs, one after the other."""
    return np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
