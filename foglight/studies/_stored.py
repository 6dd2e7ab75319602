"""Stored results: what is kept of each study's runs, in a file NAME.json in the folder beside the page.

The results are reduced to what the study's claims need, together with how they came about. `gather` takes them from
folders of runs. The other way, `take_up` gives a run in a new folder the cells that are stored.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from foglight.files import write_whole
from foglight.names import BadInput
from foglight.studies import Ledger, edition_of, finished, load_study, study_names
from foglight.studies._claims import Claim
from foglight.studies._tables import Results
from foglight.version import __version__

DIGITS = 6  # significant digits of stored numbers
SHARE = 0.2  # of the cells of a full form, from which on it is preferred to the quick form, if the study can grow
FORMS = "quick", "full"


@dataclass(frozen=True)
class Run:
    """The results of a study, and how they came about."""

    study: str
    form: str  # one of FORMS
    cells: int  # done
    of: int  # cells in all
    seed: int
    date: str
    seconds: float | None  # of one core, if all cells are known
    version: str
    results: Results
    edition: int = 1  # of the study
    begun: bool = False  # whether there are too few cells for a verdict; the page does not use them

    @property
    def rank(self) -> tuple[bool, int]:
        """More is better: the full form before the quick one, then cells."""
        return self.form == "full", self.cells

    def form_text(self) -> str:
        return self.form if self.cells == self.of else f"{self.form}, {self.cells} of {self.of} cells"

    def claims(self) -> list[Claim]:
        return list(load_study(self.study).claims(self.results))


def gather(runs: Path, data: Path) -> list[str]:
    """Store what the folders of runs have beyond the stored data; returns the studies whose data changed."""
    if not runs.is_dir():
        raise BadInput(f"there is no folder {runs}; run a study first, such as: foglight study run filtering_sizes")
    changed = []
    for name in study_names():
        read = [run for path in sorted((runs / name).glob("cells-*-*.jsonl")) if (run := _read(name, path))]
        for begun in (False, True):
            several = [run for run in read if run.begun == begun]
            if not several:
                continue
            best, before = max(several, key=lambda run: run.rank), stored(name, data, begun)
            if before is None or best.rank >= before.rank:
                _store(best, data)
                changed += [name] if best != before and name not in changed else []
        _forget(name, data)
    return changed


def _forget(name: str, data: Path) -> None:
    """Remove the cells that were stored of a beginning, once the same form counts with as many."""
    whole, begun = stored(name, data), stored(name, data, begun=True)
    if whole is None or begun is None or (whole.seed, whole.edition) != (begun.seed, begun.edition):
        return
    if whole.rank >= begun.rank:
        _path(name, data, begun=True).unlink()


def _read(name: str, path: Path) -> Run | None:
    """The results in a file of a run; None if there are none, or too few of the quick form."""
    _, form, seed = path.stem.split("-", 2)
    if form not in FORMS or not seed.isdigit():
        return None
    study = load_study(name)
    ledger = Ledger(path, edition=edition_of(study))
    cells = study.cells(form == "quick", int(seed))
    results, done = finished(study, cells, ledger.results)
    complete = len(done) == len(cells)
    begun = not complete and not _counts(study, form, cells, results, len(done))
    if not results or (begun and form == "quick"):
        return None
    known = results.keys() <= ledger.seconds.keys()  # older runs have no seconds
    reduced = study.kept(results) if "kept" in vars(study) and (complete or "covered" in vars(study)) else results
    return Run(
        study=name,
        form=form,
        cells=len(done),
        of=len(cells),
        seed=int(seed),
        date=datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat(),
        seconds=round(sum(ledger.seconds[cell] for cell in results)) if known else None,
        version=__version__,
        results=_rounded(reduced),
        edition=edition_of(study),
        begun=begun,
    )


def _counts(study: Any, form: str, cells: Mapping[str, Any], results: Results, done: int) -> bool:
    """Whether a run that is not complete suffices for the study's claims."""
    if not getattr(study, "GROWS", False):
        return False
    if form == "quick":
        return True
    return bool(study.enough(cells, results)) if "enough" in vars(study) else done >= SHARE * len(cells)


def _rounded(value: Any) -> Any:
    """The same data with fewer digits, as JSON would give them back."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {str(key): _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def _store(run: Run, data: Path) -> None:
    """Write a run's data, one cell a line."""
    about = asdict(run)
    cells = [f"  {json.dumps(cell)}: {json.dumps(result)}" for cell, result in about.pop("results").items()]
    head = json.dumps(about, indent=1).removesuffix("\n}")
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot use {data} for data: {error}") from None
    text = f'{head},\n "results": {{\n' + ",\n".join(cells) + "\n }\n}\n"
    write_whole(_path(run.study, data, run.begun), text.encode())


def stored(name: str, data: Path, begun: bool = False) -> Run | None:
    """The stored results of a study, if there are any; or those of a form that has only begun."""
    path = _path(name, data, begun)
    if not path.exists():
        return None
    try:
        return Run(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"cannot read {path}: {error}; delete it, and make it again with --runs") from None


def _path(name: str, data: Path, begun: bool) -> Path:
    return data / (f"{name}-begun.json" if begun else f"{name}.json")


def all_stored(data: Path) -> dict[str, Run]:
    """The stored results of all studies that have some."""
    runs = {name: run for name in study_names() if (run := stored(name, data)) is not None}
    if not runs:
        raise BadInput(
            f"there are no results in {data}; run in a clone of foglight, or give a folder of runs as --runs"
        )
    return runs


def take_up(name: str, form: str, seed: int, ledger: Ledger, data: Path) -> None:
    """Add the stored cells of this form to a ledger, as far as it does not have them.

    Studies that play the same matches have their results in common.
    """
    if not data.is_dir():
        raise BadInput(f"there is no folder {data}; give one with data of studies, such as docs/results/data")
    study = load_study(name)
    cells = study.cells(form == "quick", seed)
    joins = "covered" in vars(study)
    for other in [name, *(one for one in study_names() if one != name and joins)]:
        for run in (stored(other, data, begun) for begun in (False, True)):
            if run is None or (run.form, run.seed, run.edition) != (form, seed, edition_of(load_study(other))):
                continue
            if "kept" in vars(study) and not joins and run.cells == run.of:
                continue  # complete, and reduced to what claims need
            results = run.results if other == name else study.matching(run.results, cells)
            seconds = None if run.seconds is None else run.seconds / len(run.results) if other == name else 0.0
            for cell, result in results.items():
                before, after = (finished(study, cells, ledger.results | more)[1] for more in ({}, {cell: result}))
                if after > before:
                    ledger.add(cell, result, seconds)
