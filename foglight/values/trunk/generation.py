"""Training data: random strategies in a trunk, and the counterfactual values of the public belief states at its leaves.

Strategies are drawn by `random_behaviour`. Targets are the counterfactual values after 100 iterations of CFR+ in the
subgames [Sustr2021, Appendix F]. The subgames of all public states are one forest, and the strategies of a shard are
solved side by side.

A sparse data set keeps only some of each range: each information state with a probability between `sparse` and 1, which
is drawn once for each public state and seat. The likeliest information state of each seat is always kept.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from foglight.files import npz, write_arrays, write_digested
from foglight.games import load_game
from foglight.names import BadInput
from foglight.pieces import Lot, Workers, opened, where
from foglight.solving.depth_limited.batched import BatchedRegrets
from foglight.solving.depth_limited.subgame import Subgames
from foglight.solving.depth_limited.trunk import Trunk
from foglight.solving.whole.plans import random_behaviour, realised
from foglight.values.networks.datasets import (
    LAYOUT,
    Dataset,
    DatasetRequest,
    checked,
    load_dataset,
    read_manifest,
    write_manifest,
)
from foglight.values.networks.layout import normalised
from foglight.values.trunk.features import trunk_layout
from foglight.version import RESULTS_VERSION

Progress = Callable[[int, int], None]  # shards done, shards in all


def generate_dataset(
    request: DatasetRequest, folder: Path | str, workers: Workers = 1, progress: Progress | None = None
) -> Dataset:
    """Generate the shards that are missing in `folder`; returns the whole data set. `workers` is as in `play_match`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = fl.generate_dataset(fl.DatasetRequest("kuhn_poker", depth=3, strategies=4), folder)
    >>> len(data)  # four strategies at two public states
    8
    """
    request = replace(request, game=str(load_game(request.game)))
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot use {folder} for a data set: {error.strerror}") from None
    manifest = read_manifest(folder)
    if manifest is not None and DatasetRequest(**manifest["request"]) != request:
        raise BadInput(f"{folder} holds another data set, {DatasetRequest(**manifest['request'])}; give another folder")
    made_by = {"foglight": RESULTS_VERSION, "numpy": np.__version__}
    if manifest is not None and manifest["made_by"] != made_by:
        raise BadInput(f"{folder} was begun by {manifest['made_by']}, not by {made_by}; give another folder")
    maker = _maker(request)
    points = request.strategies * len(maker.layout.public)
    files = {} if manifest is None else _sound(folder, manifest["files"])
    if LAYOUT not in files:
        files[LAYOUT] = write_arrays(folder / LAYOUT, maker.layout.arrays())
    missing = [shard for shard in range(request.num_shards) if request.name(shard) not in files]
    write_manifest(folder, request, files, points, made_by)
    place = where(workers if len(missing) > 1 else 1)
    if not place.is_here:
        maker.warm()  # before forking, so that workers share the kernels
    with opened(place, modules=[type(load_game(request.game)).__module__]) as crew:
        for _, shards, contents in crew.run(_making, [Lot(request, missing)]):
            for shard, content in zip(shards, contents, strict=True):
                files[request.name(shard)] = write_digested(folder / request.name(shard), content)
            write_manifest(folder, request, files, points, made_by)
            if progress is not None:
                progress(len(files) - 1, request.num_shards)
    return load_dataset(folder)


def _sound(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """The files whose SHA-256 is that in the manifest."""
    sound = {}
    for name, digest in files.items():
        try:
            checked(folder, name, files)
        except BadInput:
            continue
        sound[name] = digest
    return sound


class Maker:
    """Makes the shards of a data set, each from its own random stream."""

    def __init__(self, request: DatasetRequest) -> None:
        self.request = request
        self.trunk = Trunk(request.game, request.depth)
        if not self.trunk.leaves:
            raise BadInput(f"{request.game} is over before depth {request.depth}; cut it earlier")
        self.layout = trunk_layout(self.trunk, request.recall)
        self.subgames = Subgames(self.trunk.public_states)

    def shard(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of a shard."""
        random = np.random.default_rng([self.request.seed, number])
        first = number * self.request.per_shard
        several = min(self.request.per_shard, self.request.strategies - first)
        publics = np.arange(len(self.layout.public))
        ranges = []
        for _ in range(several):
            plan = realised(self.trunk.sequences, random_behaviour(self.trunk.sequences, random))
            own = normalised(self.layout, self.layout.packed(self.trunk.leaf_ranges(plan)), publics)
            if self.request.sparse < 1.0:
                own = normalised(self.layout, self._thinned(own, random), publics)
            ranges.append(own)
        return {
            "publics": np.tile(publics, several).astype(np.int32),
            "ranges": np.concatenate(ranges).astype(np.float32),
            "targets": np.concatenate(self._valued(ranges)).astype(np.float32),
        }

    def _thinned(self, ranges: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Ranges with some information states set to 0; each seat's likeliest one is kept."""
        thin = np.zeros(ranges.shape)
        for seat in range(2):
            own = np.where(self.layout.seats == seat, ranges, 0.0)
            kept = random.random(own.shape) < random.uniform(self.request.sparse, 1.0, (len(own), 1))
            kept[np.arange(len(own)), own.argmax(1)] = True
            thin += own * kept
        return thin

    def _valued(self, ranges: list[np.ndarray]) -> list[np.ndarray]:
        """The targets for these ranges, solved side by side."""
        joined = [self.subgames.joined(self.layout.parted(whole)) for whole in ranges]
        solver = BatchedRegrets(self.subgames.sequences, [np.stack(own, 1) for own in zip(*joined, strict=True)])
        solver.iterate(self.request.iterations)
        values = solver.values()
        parted = [self.subgames.parted([own[:, i] for own in values]) for i in range(len(ranges))]
        return [self.layout.packed(numbers) / self.layout.scales[:, None] for numbers in parted]

    def warm(self) -> None:
        """Compile or load the kernels."""
        self._valued([self.layout.packed(self.trunk.leaf_ranges(self.trunk.sequences.start()))])


@functools.lru_cache(maxsize=1)
def _maker(request: DatasetRequest) -> Maker:
    """The maker of a data set; forked workers inherit it."""
    return Maker(request)


@contextmanager
def _making() -> Iterator[Callable[[DatasetRequest, int], bytes]]:
    """Making the files of shards in a worker."""
    yield lambda request, shard: npz(_maker(request).shard(shard))
