"""Damaged files: policies, networks, data sets, stores and saved games, each read in every way there is."""

import contextlib
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from foglight.agents import load_agent
from foglight.arena.export import export
from foglight.arena.match import play_match
from foglight.arena.session import Session, load_saved, resumed
from foglight.arena.store import stored_position
from foglight.games import load_game
from foglight.names import BadInput
from foglight.proofs.fuzz.changes import FINE, Input, damaged, other_json
from foglight.solving.solver import solve
from foglight.solving.whole.solved import Solved
from foglight.values.networks.datasets import DatasetRequest, load_dataset
from foglight.values.networks.shipped import shipped_network
from foglight.values.networks.tensor_file import load_arrays
from foglight.values.networks.training import load_network
from foglight.values.trunk.generation import generate_dataset


def good_files(folder: Path) -> dict[str, bytes]:
    """A policy, a network, a data set, a store and a saved game."""
    solve("kuhn_poker", iterations=5).save(folder / "policy.npz")
    play_match("kuhn_poker", ["random", "first_legal"], games=20, seed=1, store=folder / "games.sqlite")
    session = _session(folder / "saved.game")
    assert session.exists()
    network = shipped_network(load_game("leduc_poker"))
    assert network is not None
    shutil.copy(network, folder / "network.safetensors")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _session(file: Path) -> Path:
    """A game that was left and kept."""
    moves = iter(["pass", "quit"])
    Session(
        "dark_hex(rows=2,cols=2)", "random", file=file, ask=lambda _: next(moves, "quit"), tell=lambda _: None
    ).play()
    return file


@contextlib.contextmanager
def files() -> Iterator[Input]:
    """Damaged files, each read in every way there is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = good_files(folder)
        request = DatasetRequest("kuhn_poker", 3, strategies=4)
        generate_dataset(request, folder / "data")
        parts = {path.name: path.read_bytes() for path in (folder / "data").iterdir()}

        def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
            what = rng.choice(("policy.npz", "games.sqlite", "saved.game", "network.safetensors", "data"))
            if what == "data":
                return _damaged_dataset(folder / "data", parts, rng)
            content = good[what]
            if what == "saved.game" and rng.random() < 0.7:
                changed = json.dumps(other_json(json.loads(content), rng)).encode()
            else:
                changed = damaged(content, rng)
            path = folder / what
            reader = rng.choice(_READERS[what])

            def use() -> str:
                for beside in ("-wal", "-shm", "-journal"):
                    path.with_name(path.name + beside).unlink(missing_ok=True)
                path.write_bytes(changed)
                try:
                    reader(path)
                except BadInput as error:
                    after = path.read_bytes()
                    # a match may add games to a store before it comes upon the damage
                    if len(after) < len(changed) if reader is _go_on else after != changed:
                        return f"the file was refused, and yet changed: {error}"
                    raise
                return FINE

            return f"{reader.__name__} of {what}, {len(changed)} bytes", use

        yield make


def _damaged_dataset(folder: Path, parts: dict[str, bytes], rng: random.Random) -> tuple[str, Callable[[], str]]:
    name = rng.choice(list(parts))
    changed = damaged(parts[name], rng)
    if name.endswith(".json") and rng.random() < 0.7:
        changed = json.dumps(other_json(json.loads(parts[name]), rng)).encode()

    def use() -> str:
        for other, content in parts.items():
            (folder / other).write_bytes(content)
        (folder / name).write_bytes(changed)
        load_dataset(folder, rng.choice((None, "kuhn_poker", "leduc_poker")))
        return FINE

    return f"data set with another {name}, {len(changed)} bytes", use


def _position_in(path: Path) -> None:
    stored_position(path, "kuhn_poker", 3).information(0)


def _table_of(path: Path) -> None:
    export(path, path.with_name("table.csv"))


def _go_on(path: Path) -> None:
    play_match("kuhn_poker", ["random", "first_legal"], games=21, seed=1, store=path)


def _policy_in(path: Path) -> None:
    with load_agent(f"policy(file={json.dumps(str(path))})") as agent:
        agent.start("kuhn_poker", 0, 0)
        agent.observe(1)
        agent.act([0, 1])


def _resume(path: Path) -> None:
    resumed(path, ask=lambda _: "quit", tell=lambda _: None).play()


_READERS: dict[str, tuple[Callable[[Path], Any], ...]] = {
    "policy.npz": (Solved.load, _policy_in),
    "games.sqlite": (_position_in, _table_of, _go_on),
    "saved.game": (load_saved, _resume),
    "network.safetensors": (load_arrays, load_network),
}
