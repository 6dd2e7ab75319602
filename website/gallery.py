"""A picture of each game, in a process with the JIT off: compiling for one position would take a hundred times as long.

`python -m website.gallery FOLDER` writes them.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import foglight as fl
from website.catalogue import native_games
from website.pages import ROOT

MOVES = 7  # decisions before the position that is shown, at most
SEED = 3


def pictures() -> dict[str, bytes]:
    """SVG files by the names of games."""
    with tempfile.TemporaryDirectory(prefix="foglight-") as folder:
        command = [sys.executable, "-m", "website.gallery", folder]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True)
        return {path.stem: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def position(name: str) -> fl.State:
    """A position of the game in which somebody is to decide, after random moves that follow from the seed."""
    generator, state = random.Random(SEED), fl.new_state(name)
    shown, decisions = state.clone(), 0
    while decisions < MOVES and state.player != fl.TERMINAL:
        decisions += state.player != fl.CHANCE
        state.play(generator.choice(state.actions()))
        if state.player >= 0:
            shown = state.clone()
    return shown


if __name__ == "__main__":
    for game in native_games():
        position(game).draw(Path(sys.argv[1]) / f"{game}.svg", seat=0)
