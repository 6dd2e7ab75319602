"""Proof by repetition: properties that must hold always, tried very often.

    legality      hidden worlds that the library samples, judged by the rules
    twins         agents in games that look the same to them and are not: they must do the same
    fuzz          nonsense as input: it must end in success or in one line
    playthroughs  games that OpenSpiel keeps for its own tests, followed by our rules
    beliefs       all seats' beliefs through games between agents: none may be lost, nor miss the true world

A proof is a list of cells, small pieces of work that do not depend on each other. Each result is stored when it is
done, so a proof that is killed resumes where it stopped. Results of other code count as missing. The module of a proof
has `work`, which gives the result of a cell as counts and findings, and `table`, which adds results up.
"""

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foglight.agents import agent_class, agent_names
from foglight.files import write_whole
from foglight.fingerprints import code_of
from foglight.games import game_names, load_game
from foglight.pieces import Lot, Workers, opened
from foglight.studies import Ledger

PROOFS = ("legality", "twins", "fuzz", "playthroughs", "beliefs")
Progress = Callable[[int, int], None]  # cells done, cells in all
Cells = Mapping[str, Mapping[str, Any]]  # the arguments of `work`, by the cell's name
Results = dict[str, dict[str, Any]]  # by the cell's name


def prove(
    proof: str, cells: Cells, folder: Path, progress: Progress = lambda *_: None, workers: Workers = 1
) -> Results:
    """Work on the cells that are missing in `folder`, and write `PROOF.json` and `PROOF.md` there.

    `workers` work on cells side by side, and are as in `play_match`.
    """
    module = importlib.import_module(f"{__name__}.{proof}")
    ledger = Ledger(folder / f"{proof}.jsonl", _code(module.work))
    missing = {cell: arguments for cell, arguments in cells.items() if cell not in ledger.results}
    progress(len(cells) - len(missing), len(cells))
    with opened(workers if missing else 1) as place:
        for done in place.run(_working, [Lot(proof, list(missing.items()))]):
            for (cell, _), result in zip(done.pieces, done.results, strict=True):
                ledger.add(cell, result)
                del missing[cell]
            progress(len(cells) - len(missing), len(cells))
    results = {cell: ledger.results[cell] for cell in cells}
    write_whole(folder / f"{proof}.json", json.dumps(results, indent=1).encode())
    write_whole(folder / f"{proof}.md", markdown(module.table(results)).encode())
    return results


def markdown(rows: list[dict[str, Any]]) -> str:
    """Rows as a table in Markdown; the keys of the first row are the headings."""
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(map(_text, row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if isinstance(value, float) else str(value)


def _code(work: Any) -> str:
    """A digest of the code that a proof is about: its own, and that of all native games and agents."""
    classes = [type(load_game(name)) for name in game_names()] + [agent_class(name) for name in agent_names()]
    digests = " ".join(map(code_of, [work, *classes]))
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


@contextmanager
def _working() -> Iterator[Callable[[str, Any], dict[str, Any]]]:
    """Working on the cells of a proof, each with its name and its arguments."""
    yield lambda proof, piece: importlib.import_module(f"{__name__}.{proof}").work(**piece[1])
