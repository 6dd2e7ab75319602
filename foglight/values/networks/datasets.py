"""Data sets on disk: public belief states of one trunk with their counterfactual values, in shards.

    layout.npz          the layout's arrays
    shard-0000.npz ...  publics int32[n], ranges float32[n, K], targets float32[n, K], normalised as in `layout`
    manifest.json       the request, the versions that made the data, and the SHA-256 of every finished file

A shard is written whole, by rename, and then entered into the manifest. If generation is killed, it resumes where it
stopped. Reading needs neither Numba nor the game.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from foglight.files import write_whole
from foglight.names import BadInput
from foglight.values.networks.layout import Layout, layout_of

FORMAT = 2
MANIFEST, LAYOUT = "manifest.json", "layout.npz"


@dataclass(frozen=True)
class DatasetRequest:
    """What a data set contains. Equal requests give equal files, whatever the number of processes.

    The trunk is the game cut `depth` transitions below its start. `strategies` is the number of random strategies
    drawn in it. `recall` is `perfect` or `imperfect` (`docs/values.md`).

        >>> request = fl.DatasetRequest("kuhn_poker", depth=3, strategies=50)
        >>> request.num_shards, request.iterations
        (2, 100)
    """

    game: str
    depth: int
    strategies: int = 1000
    iterations: int = 100  # CFR+ iterations in the subgames
    seed: int = 0
    recall: str = "perfect"
    sparse: float = 1.0  # least probability with which an information state is kept in a range
    per_shard: int = 25  # strategies per shard

    @property
    def num_shards(self) -> int:
        """The number of files."""
        return -(-self.strategies // self.per_shard)

    def name(self, shard: int) -> str:
        """The name of one of them."""
        return f"shard-{shard:04}.npz"


@dataclass(frozen=True)
class Dataset:
    """A whole data set in memory: n points, at most K information states each."""

    request: DatasetRequest
    layout: Layout
    publics: np.ndarray  # int64[n]: the number of each point's public state
    ranges: np.ndarray  # float32[n, K]
    targets: np.ndarray  # float32[n, K]
    digest: str  # SHA-256 over the manifest's list of files

    def __len__(self) -> int:
        return len(self.publics)


def load_dataset(folder: Path | str, game: str | None = None) -> Dataset:
    """Read a finished data set. One that is damaged, unfinished or of another game is refused."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise BadInput(f"{folder} is not a data set: it has no {MANIFEST}")
    request = DatasetRequest(**manifest["request"])
    if game is not None:
        from foglight.games import load_game  # imported here, because training needs no game

        if request.game != str(load_game(game)):
            raise BadInput(f"{folder} is for {request.game}, not for {game}")
    missing = [name for name in map(request.name, range(request.num_shards)) if name not in manifest["files"]]
    if missing:
        raise BadInput(f"{folder} is not finished: {len(missing)} of {request.num_shards} shards are missing")
    layout = layout_of(checked(folder, LAYOUT, manifest["files"]))
    shards = [checked(folder, request.name(i), manifest["files"]) for i in range(request.num_shards)]
    publics, ranges, targets = (np.concatenate([s[k] for s in shards]) for k in ("publics", "ranges", "targets"))
    if len(publics) != manifest["points"] or ranges.shape != (len(publics), layout.seats.shape[1]):
        raise BadInput(f"{folder} is damaged: it holds {len(publics)} points where {manifest['points']} were written")
    digest = hashlib.sha256(json.dumps(sorted(manifest["files"].items())).encode()).hexdigest()
    return Dataset(request, layout, publics.astype(np.int64), ranges, targets, digest)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest, or None if there is none yet."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise BadInput(f"{folder / MANIFEST} has format {manifest['format']}; this version reads {FORMAT}")
        request, kinds = DatasetRequest(**manifest["request"]), {"game": str, "recall": str, "sparse": int | float}
        wrong = [key for key, value in asdict(request).items() if not isinstance(value, kinds.get(key, int))]
        if wrong or request.per_shard < 1 or type(manifest["points"]) is not int:
            raise ValueError(f"{wrong[0] if wrong else 'points or per_shard'} is not what was written")
        return {**manifest, "files": dict(manifest["files"])}
    except FileNotFoundError:
        return None
    except BadInput:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"cannot read {folder / MANIFEST}: {error}; remove the folder and generate it again") from None


def write_manifest(folder: Path, request: DatasetRequest, files: Mapping[str, str], points: int, made_by: Any) -> None:
    manifest = {
        "format": FORMAT,
        "request": asdict(request),
        "made_by": made_by,
        "points": points,
        "files": dict(sorted(files.items())),
    }
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def checked(folder: Path, name: str, files: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The arrays of a file, if its SHA-256 is the one in the manifest."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {folder / name}: {error.strerror}; generate the data set again") from None
    if hashlib.sha256(content).hexdigest() != files.get(name):
        raise BadInput(f"{folder / name} is damaged: it is not the file that was written; generate the data set again")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (ValueError, BadZipFile) as error:
        raise BadInput(f"{folder / name} is damaged: {error}; generate the data set again") from None
