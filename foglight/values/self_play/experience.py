"""The points that self-play collects, and the network that learns from them. Needs torch and numpy, and no compiler.

A file of points has these arrays, for n public belief states with J information states and H histories in all:

    public   float32[n, F], private float32[J, G]      features
    sizes    int64[n], histories int64[n]              information states and histories of each
    seats    int64[J], ranges float32[J], targets float32[J]
    pairs    int64[H, 2]                               the information states of each history, counted within its point
    chance   float32[H]
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from foglight.values.networks.architectures import Shape, one_thread
from foglight.values.networks.datasets import write_arrays
from foglight.values.networks.descent import Descent
from foglight.values.networks.layout import PADDING, Features
from foglight.values.networks.points import Lessons, Points, begins
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


def joined(several: Sequence[Points]) -> Points:
    """Points one after the other, at least one."""
    publics = begins(np.array([len(points.features.public) for points in several])).tolist()
    states = begins(np.array([len(points.features.of) for points in several])).tolist()
    firsts = {"of": publics, "pairs": states, "publics": publics}  # these number what stands in other columns

    def column(name: str, parts: Sequence[Any]) -> np.ndarray:
        shifts = firsts.get(name, [0] * len(parts))
        return np.concatenate([getattr(part, name) + first for part, first in zip(parts, shifts, strict=True)])

    listed = [points.features for points in several]
    features = Features(**{field.name: column(field.name, listed) for field in fields(Features)})
    return Points(features, *(column(name, several) for name in ("publics", "ranges", "targets")))


def write_points(path: Path, points: Points) -> None:
    """Write points, each of which has a public state of its own, in this order."""
    features, n = points.features, len(points)
    sizes, owners = np.bincount(features.of, minlength=n), features.of[features.pairs[:, 0]]
    write_arrays(
        path,
        {
            "public": features.public,
            "sizes": sizes,
            "private": features.private,
            "seats": features.seats,
            "ranges": points.ranges,
            "targets": points.targets,
            "histories": np.bincount(owners, minlength=n),
            "pairs": features.pairs - begins(sizes)[owners][:, None],
            "chance": features.chance.astype(np.float32),
        },
    )


def read_points(path: Path) -> Points:
    """The points of a file."""
    with np.load(path) as file:
        stored = dict(file)
    sizes, n = stored["sizes"], len(stored["sizes"])
    pairs = stored["pairs"] + np.repeat(begins(sizes), stored["histories"])[:, None]
    of, places = np.repeat(np.arange(n), sizes), np.full(sizes.sum(), PADDING)
    features = Features(stored["public"], stored["private"], places, of, stored["seats"], pairs, stored["chance"])
    return Points(features, np.arange(n), stored["ranges"], stored["targets"])


class Learner:
    """A network, and the points that it learns from."""

    def __init__(self, plan: Plan, public: int, private: int, device: str = "cpu") -> None:
        """`public` and `private` are how many features there are of both kinds."""
        one_thread()
        self.plan = plan
        shape = Shape(plan.kind, public, private, 0, plan.base, plan.width, plan.mass)
        self._descent = Descent(shape, plan.seed, plan.rate, device)
        self._points: list[Points] = []
        self.rounds = 0
        self.loss = float("nan")  # mean over the batches of the last round so far

    def remember(self, points: Points) -> None:
        """Add points to learn from; beyond `memory`, those of the oldest rounds are forgotten."""
        self._points.append(points)
        while sum(map(len, self._points[1:])) >= self.plan.memory:
            del self._points[0]

    def train(self) -> Iterator[int]:
        """The steps of one round, one after the other."""
        points, plan = joined(self._points), self.plan
        random = np.random.default_rng([plan.seed, 0, self.rounds])
        batch = min(plan.batch, len(points))
        order = (random.integers(len(points), size=batch) for _ in range(plan.steps))
        self._descent.rate = plan.rate * (1.0 - _SLOWER * self.rounds / plan.rounds)
        total = 0.0
        for step, loss in enumerate(self._descent.steps(Lessons(points, self._descent.device).of(order)), 1):
            total += float(loss)
            self.loss = total / step
            yield step
        self.rounds += 1

    def save(self, path: Path) -> None:
        self._descent.save(path, rounds=self.rounds, loss=self.loss)

    def resume(self, path: Path) -> None:
        """Go on after the last finished round, if there is one."""
        if path.exists():
            state = self._descent.load(path)
            self.rounds, self.loss = state["rounds"], state["loss"]
            for number in range(self.rounds):
                self.remember(read_points(path.with_name(f"points-{number:04}.npz")))

    def trained(self) -> Trained:
        about = asdict(self.plan) | {"rounds": self.rounds, "learned": "self-play"}
        return Trained(self._descent.network, self._descent.shape, None, about)
