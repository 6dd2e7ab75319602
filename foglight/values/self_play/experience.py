"""The training points that self-play collects, and the network that learns from them.

Needs torch and numpy, and no compiler. A file of points has these arrays, for n public belief states with J information
states and H histories in total:

    public   float32[n, F], private float32[J, G]      features
    sizes    int64[n], histories int64[n]              numbers of information states and of histories of each point
    seats    int64[J], ranges float32[J], targets float32[J]
    pairs    int64[H, 2]                               the information states of each history, numbered within its point
    chance   float32[H]                                as in `layout.Features`
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from foglight.files import write_arrays
from foglight.values.networks.architectures import Shape, one_thread
from foglight.values.networks.descent import Descent
from foglight.values.networks.layout import PADDING, Features
from foglight.values.networks.points import Lessons, Points, begins
from foglight.values.networks.training import Trained

_SLOWER = 0.95  # share of the learning rate lost over all rounds; it falls linearly, round by round


@dataclass(frozen=True)
class Plan:
    """How to learn by self-play. Equal plans give equal networks on one machine."""

    game: str
    depth: int = 2  # transitions per trunk
    particles: int = 100  # most histories at the root of a trunk
    iterations: int = 50  # CFR+ iterations per trunk
    rounds: int = 12
    games: int = 100  # per round
    steps: int = 500  # training steps per round, after its games
    batch: int = 32  # points
    rate: float = 1e-3  # learning rate of the first round
    kind: str = "histories"
    base: int = 64  # width of a base
    width: int = 256  # width of the regression's hidden layers
    memory: int = 30_000  # points: the oldest round is dropped if the later ones have this many without it
    seed: int = 0
    easy: int = 0  # nodes: a trunk goes to the end of the game if fewer than about this many are left
    mass: bool = True  # whether the network's outputs are multiplied by the mass


def joined(several: Sequence[Points]) -> Points:
    """Concatenate points; `several` must not be empty."""
    publics = begins(np.array([len(points.features.public) for points in several])).tolist()
    states = begins(np.array([len(points.features.of) for points in several])).tolist()
    firsts = {"of": publics, "pairs": states, "publics": publics}  # shifts of columns that are indices into others

    def column(name: str, parts: Sequence[Any]) -> np.ndarray:
        shifts = firsts.get(name, [0] * len(parts))
        return np.concatenate([getattr(part, name) + first for part, first in zip(parts, shifts, strict=True)])

    listed = [points.features for points in several]
    features = Features(**{field.name: column(field.name, listed) for field in fields(Features)})
    return Points(features, *(column(name, several) for name in ("publics", "ranges", "targets")))


def write_points(path: Path, points: Points) -> None:
    """Write points to a file. Each point has its own public state, in the same order."""
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
    """Read the points of a file."""
    with np.load(path) as file:
        stored = dict(file)
    sizes, n = stored["sizes"], len(stored["sizes"])
    pairs = stored["pairs"] + np.repeat(begins(sizes), stored["histories"])[:, None]
    of, places = np.repeat(np.arange(n), sizes), np.full(sizes.sum(), PADDING)
    features = Features(stored["public"], stored["private"], places, of, stored["seats"], pairs, stored["chance"])
    return Points(features, np.arange(n), stored["ranges"], stored["targets"])


class Learner:
    """A network in training, and the points that it learns from."""

    def __init__(self, plan: Plan, public: int, private: int, device: str = "cpu") -> None:
        """`public` and `private` are the numbers of public and of private features."""
        one_thread()
        self.plan = plan
        shape = Shape(plan.kind, public, private, 0, plan.base, plan.width, plan.mass)
        self._descent = Descent(shape, plan.seed, plan.rate, device)
        self._points: list[Points] = []
        self.rounds = 0
        self.loss = float("nan")  # mean over the batches of the last round so far

    def remember(self, points: Points) -> None:
        """Add the points of a round; drop the oldest rounds while the later ones have at least `memory` points."""
        self._points.append(points)
        while sum(map(len, self._points[1:])) >= self.plan.memory:
            del self._points[0]

    def train(self) -> Iterator[int]:
        """Train for one round; yields the number of each finished step, from 1."""
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
        """Write a checkpoint after a round."""
        self._descent.save(path, rounds=self.rounds, loss=self.loss)

    def resume(self, path: Path) -> None:
        """Resume after the last finished round, if there is one."""
        if path.exists():
            state = self._descent.load(path)
            self.rounds, self.loss = state["rounds"], state["loss"]
            for number in range(self.rounds):
                self.remember(read_points(path.with_name(f"points-{number:04}.npz")))

    def trained(self) -> Trained:
        """The network as it is now, with its plan."""
        about = asdict(self.plan) | {"rounds": self.rounds, "learned": "self-play"}
        return Trained(self._descent.network, self._descent.shape, None, about)
