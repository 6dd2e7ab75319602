"""Networks that come with the library, by game. Finding one needs no PyTorch."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from foglight.rules import Game
from foglight.values.networks.tensor_file import read_about

_FOLDER = "trained"


def shipped_network(game: Game) -> Path | None:
    """The file of the network that comes with the library for this game; None if there is none."""
    return _shipped().get(str(game))


@cache
def _shipped() -> dict[str, Path]:
    """The files of all networks that come with the library, by game."""
    paths = {}
    for path in sorted(Path(str(files(__package__) / _FOLDER)).glob("*.safetensors")):
        about = read_about(path)
        if about is not None:
            paths[json.loads(about)["about"]["game"]] = path
    return paths
