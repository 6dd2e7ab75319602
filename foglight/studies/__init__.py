"""Studies: one file per published table or figure, found by name; run, compare with the published numbers, draw.

A study is a list of cells, each a small piece of work with a name; `run` works through those that are missing, keeps
each result as it is done, and then writes a table and a picture beside the data. Killed at any moment, it goes on where
it ended.
"""

import importlib
import json
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from foglight.files import write_whole
from foglight.names import BadInput, unknown
from foglight.pictures import check_picture
from foglight.version import __version__

Progress = Callable[[int, int], None]


class Study(Protocol):
    """What a study's file says."""

    __doc__: str

    def cells(self, quick: bool, seed: int) -> dict[str, dict[str, Any]]:
        """Everything there is to work out: a name, and the arguments of `work`."""

    def work(self, **arguments: Any) -> dict[str, Any]:
        """One cell's result, as plain data."""

    def table(self, results: dict[str, dict[str, Any]]) -> str:
        """The results beside the published ones, as Markdown."""

    def draw(self, results: dict[str, dict[str, Any]], path: Path) -> None:
        """The results as a picture."""


def study_names() -> list[str]:
    """The names of the studies, ascending."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load_study(name: str) -> Any:
    """The study of that name."""
    if name not in study_names():
        raise BadInput(unknown("study", name, study_names()))
    return importlib.import_module(f"{__name__}.{name}")


def run_study(name: str, folder: Path, quick: bool, seed: int, progress: Progress | None = None) -> str:
    """Work out what is missing in `folder`, then write `data.json`, `table.md` and `picture.png`; the table."""
    study = load_study(name)
    cells = study.cells(quick, seed)
    ledger = Ledger(folder / f"cells-{'quick' if quick else 'full'}-{seed}.jsonl")
    check_picture(folder / "picture.png")
    for done, (cell, arguments) in enumerate(cells.items()):
        if progress is not None:
            progress(done, len(cells))
        if cell not in ledger.results:
            ledger.add(cell, study.work(**arguments))
    results = {cell: ledger.results[cell] for cell in cells}
    table = study.table(results)
    write_whole(folder / "data.json", json.dumps(results, indent=1).encode())
    write_whole(folder / "table.md", table.encode())
    study.draw(results, folder / "picture.png")
    return str(table)


class Ledger:
    """Results in a file, one line each, written as they are done; a line torn by a kill is done again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        except OSError as error:
            raise BadInput(f"cannot use {path.parent} for results: {error}") from None
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("version") == __version__:
                self.results[entry["cell"]] = entry["result"]

    def add(self, cell: str, result: dict[str, Any]) -> None:
        # the newline comes first, so that a torn line before it spoils itself only
        line = "\n" + json.dumps({"cell": cell, "version": __version__, "result": result})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.results[cell] = result
