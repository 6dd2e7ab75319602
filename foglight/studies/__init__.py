"""Studies: one file per published table or figure, found by its name, with our results beside the published ones.

A study is a list of cells; each cell is a small piece of work with a name. `run_study` works through the missing cells,
stores each result when it is done, and then writes a table and a picture beside the data. If it is killed, or was given
only so many seconds, it resumes where it stopped.
"""

import importlib
import inspect
import json
import os
import pkgutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from foglight.files import write_whole
from foglight.fingerprints import addressed_code, addressed_modules, code_of
from foglight.names import BadInput, note, unknown
from foglight.pictures import check_picture
from foglight.pieces import Lot, Workers, opened
from foglight.version import __version__

Progress = Callable[[int, int], None]  # cells done, cells in all


class Study(Protocol):
    """The functions of a study's file."""

    __doc__: str

    def cells(self, quick: bool, seed: int) -> dict[str, dict[str, Any]]:
        """All cells: the arguments of `work`, by the cell's name."""

    def work(self, **arguments: Any) -> dict[str, Any]:
        """The result of one cell, as plain data. A parameter `folder` gets the folder of the study.

        A study may also have a function `prepare(cells, folder)`, which makes what several cells need, before any of
        them is worked on.
        """

    def table(self, results: dict[str, dict[str, Any]]) -> str:
        """The results beside the published ones, as Markdown.

        A study with `GROWS = True` can make its table, its picture and its claims from the first few of its cells.
        """

    def draw(self, results: dict[str, dict[str, Any]], path: Path) -> None:
        """The results as a picture.

        A study of a paper also has a function `claims(results)`: what the paper says, and whether the results agree
        (`_claims`). A function `kept(results)` reduces large results to what claims need.
        """


def study_names() -> list[str]:
    """The names of the studies, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load_study(name: str) -> Any:
    """The study with this name, or the module of this name, if it is a study of your own."""
    if name in study_names():
        return importlib.import_module(f"{__name__}.{name}")
    try:
        study = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise BadInput(f"cannot load the study {name}: {error}") from None
        why = f"there is no module {name}; run where Python can import it" if "." in name else ""
        raise BadInput(why or unknown("study", name, study_names())) from None
    parts = {"cells", "work", "table", "draw"}
    if missing := sorted(parts - vars(study).keys()):
        raise BadInput(f"{name} is no study: it has no function {missing[0]}; a study has cells, work, table and draw")
    return study


def run_study(
    name: str,
    folder: Path,
    quick: bool,
    seed: int,
    progress: Progress | None = None,
    workers: Workers = 1,
    seconds: float | None = None,
) -> str:
    """Compute the cells missing in `folder`, write `data.json`, `table.md` and `picture.png`; returns the table.

    `workers` work on cells side by side, and are as in `play_match`. After `seconds`, if given, the study stops, and
    cells that have begun are lost. Then the table is of the cells that are done, if the study can make one.
    """
    begin = time.monotonic()
    study = load_study(name)
    cells = study.cells(quick, seed)
    # ours change with the version; hours of work are not lost when some line of the library is edited
    code = "" if name in study_names() else code_of(study.work) + addressed_code(json.dumps(cells))
    ledger = Ledger(folder / f"cells-{'quick' if quick else 'full'}-{seed}.jsonl", code)
    check_picture(folder / "picture.png")
    missing = {cell: arguments for cell, arguments in cells.items() if cell not in ledger.results}
    if progress is not None:
        progress(len(cells) - len(missing), len(cells))
    if missing and "prepare" in vars(study):
        study.prepare(missing, folder)
    own = {"folder": folder.absolute()} if "folder" in inspect.signature(study.work).parameters else {}
    modules = [study.work.__module__, *addressed_modules(json.dumps(cells))]
    # fresh ones: threads of PyTorch do not survive a fork
    with opened(workers if missing else 1, modules=modules, fresh=True) as place:
        for done in place.run(_working, [Lot((name, own), list(missing.items()))]):
            for (cell, _), (result, spent) in zip(done.pieces, done.results, strict=True):
                ledger.add(cell, result, spent)
                del missing[cell]
            if progress is not None:
                progress(len(cells) - len(missing), len(cells))
            if seconds is not None and time.monotonic() - begin > seconds:
                break
    if missing and not (getattr(study, "GROWS", False) and len(missing) < len(cells)):
        return f"{len(cells) - len(missing)} of {len(cells)} cells are done; the same command goes on\n"
    results = {cell: ledger.results[cell] for cell in cells if cell not in missing}
    table = study.table(results)
    if missing:
        table += f"\n{len(results)} of {len(cells)} cells are done.\n"
    write_whole(folder / "data.json", json.dumps(results, indent=1).encode())
    write_whole(folder / "table.md", table.encode())
    study.draw(results, folder / "picture.png")
    return str(table)


@contextmanager
def _working() -> Iterator[Callable[..., tuple[dict[str, Any], float]]]:
    """Working on cells, each with its name and its arguments; a result comes with the seconds it took."""

    def work(common: tuple[str, dict[str, Any]], piece: tuple[str, dict[str, Any]]) -> tuple[dict[str, Any], float]:
        (study, own), (cell, arguments) = common, piece
        begin = time.monotonic()
        try:
            result = dict(load_study(study).work(**arguments, **own))
            return result, time.monotonic() - begin
        except Exception as error:
            note(error, f"cell {cell!r} of {study} fails")
            raise

    yield work


class Ledger:
    """Results in a file, one per line, written when they are done.

    The cell of a torn line is computed again, and so are cells of another version or of other `code`, a fingerprint.
    """

    def __init__(self, path: Path, code: str = "") -> None:
        self.path, self.key = path, {"version": __version__, "code": code}
        self.results: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}  # that each cell took, as far as it is known
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
            if {"version": entry.get("version"), "code": entry.get("code", "")} == self.key:
                self.results[entry["cell"]] = entry["result"]
                if "seconds" in entry:
                    self.seconds[entry["cell"]] = entry["seconds"]

    def add(self, cell: str, result: dict[str, Any], seconds: float | None = None) -> None:
        """Store the result of a cell, and the seconds it took, if they are known."""
        known = {} if seconds is None else {"seconds": round(seconds, 3)}
        # the newline comes first, so that a torn line before it spoils no other
        line = "\n" + json.dumps({"cell": cell, **self.key, **known, "result": result})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.results[cell] = result
        self.seconds |= {cell: seconds} if seconds is not None else {}
