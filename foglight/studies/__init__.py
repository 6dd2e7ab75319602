"""Studies: one file per published table or figure, some for questions of our own, found by name.

Our results stand beside the published ones. A study is a list of cells; each cell is a small piece of work with a name.
`run_study` works through the missing cells, stores each result when it is done, and then writes a table and a picture
beside the data. If it is killed, or was given only so many seconds, it resumes where it stopped.
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
from foglight.version import RESULTS_VERSION

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
        (`_claims`). A function `kept(results)` reduces large results to what claims need. If that joins the results of
        several cells into one, `covered(name, result, cells)` says which cells a joined result is of. A function
        `enough(cells, results)` says whether a part of the full form suffices for claims.

        EDITION, 1 if there is none, is raised when a study's cells get other results under the same names.
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
    begin_with: Path | None = None,
    only: str = "",
) -> str:
    """Compute the cells missing in `folder`, write `data.json`, `table.md` and `picture.png`; returns the table.

    `workers` work on cells side by side, and are as in `play_match`. After `seconds`, if given, the study stops, and
    cells that have begun are lost; it also stops when no cell is missing that has `only` in its name. Then the table is
    of the cells that are done, if the study can make one. With `begin_with`, a folder of stored results such as
    `docs/results/data`, the cells stored there count as done.
    """
    begin = time.monotonic()
    study = load_study(name)
    cells = study.cells(quick, seed)
    if not any(only in cell for cell in cells):
        raise BadInput(f"no cell of {name} has {only!r} in its name; the first is {next(iter(cells))!r}")
    # ours have an edition; hours of work are not lost when some line of the library is edited
    own = name in study_names()
    code = "" if own else code_of(study.work) + addressed_code(json.dumps(cells)) + RESULTS_VERSION
    form = "quick" if quick else "full"
    ledger = Ledger(folder / f"cells-{form}-{seed}.jsonl", code, edition_of(study))
    if begin_with is not None:
        from foglight.studies._stored import take_up

        if not own:
            raise BadInput(f"there are no stored results of {name}; they are kept of the studies of foglight")
        take_up(name, form, seed, ledger, begin_with)
    check_picture(folder / "picture.png")
    done = finished(study, cells, ledger.results)[1]
    missing = {cell: arguments for cell, arguments in cells.items() if cell not in done}
    wanted = {cell: arguments for cell, arguments in missing.items() if only in cell}
    if progress is not None:
        progress(len(cells) - len(missing), len(cells))
    if wanted and "prepare" in vars(study):
        study.prepare(wanted, folder)
    given = {"folder": folder.absolute()} if "folder" in inspect.signature(study.work).parameters else {}
    modules = [study.work.__module__, *addressed_modules(json.dumps(cells))]
    # fresh ones: threads of PyTorch do not survive a fork
    with opened(workers if wanted else 1, modules=modules, fresh=True) as place:
        for part in place.run(_working, [Lot((name, given), list(wanted.items()))]):
            for (cell, _), (result, spent) in zip(part.pieces, part.results, strict=True):
                ledger.add(cell, result, spent)
                del missing[cell]
            if progress is not None:
                progress(len(cells) - len(missing), len(cells))
            if seconds is not None and time.monotonic() - begin > seconds:
                break
    if missing and not (getattr(study, "GROWS", False) and len(missing) < len(cells)):
        return f"{len(cells) - len(missing)} of {len(cells)} cells are done; the same command goes on\n"
    results, done = finished(study, cells, ledger.results)
    table = study.table(results)
    if missing:
        table += f"\n{len(done)} of {len(cells)} cells are done.\n"
    write_whole(folder / "data.json", json.dumps(results, indent=1).encode())
    write_whole(folder / "table.md", table.encode())
    study.draw(results, folder / "picture.png")
    return str(table)


def edition_of(study: Any) -> int:
    """The edition of a study's results."""
    return int(getattr(study, "EDITION", 1))


def finished(
    study: Any, cells: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The results that count, and the cells that they are of.

    They are in the order of the cells. A cell of an older form of the study may have the same name, and other agents. A
    joined result replaces those of its cells.
    """
    joined: dict[str, set[str]] = {}
    if "covered" in vars(study):
        names = (name for name in results if name not in cells)
        joined = {name: of for name in names if (of := study.covered(name, results[name], cells))}
    holder = {cell: name for name, of in joined.items() for cell in of}
    for cell, arguments in cells.items():
        if cell in results and cell not in holder and _belongs(results[cell], arguments):
            holder[cell] = cell
    return {holder[cell]: results[holder[cell]] for cell in cells if cell in holder}, set(holder)


def _belongs(result: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether a result is of the agents that the cell has now."""
    return all(result.get(key, arguments[key]) == arguments[key] for key in ("agent", "opponent") if key in arguments)


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

    The cell of a torn line is computed again, and so are cells of another edition or of other `code`, a fingerprint.
    """

    def __init__(self, path: Path, code: str = "", edition: int = 1) -> None:
        self.path, self.key = path, {"edition": edition, "code": code}
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
            # lines of version 0.1.0 name no edition: all were of the first
            if {"edition": entry.get("edition", 1), "code": entry.get("code", "")} == self.key:
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
