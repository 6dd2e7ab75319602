"""The games of a store as a table for other programs: one row per game and seat, as CSV or Parquet.

| column | meaning |
|---|---|
| game, seed, version, number | the match (its game, its seed, the version of results), and the game's number in it |
| agents, seat, agent | the agents in the order of the match, the row's seat, and the agent on it |
| game_code, agent_code | fingerprints of the code of the game and of this agent; empty if they are unknown |
| return, score | the seat's payoff, and its share of the win: 1 / k for each of k winners |
| moves, seconds, longest, overruns | the seat's thinking time, as in `Timing`; empty if it was not measured |
| actions | all actions of the game, outcomes of chance included |
"""

import csv
import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from foglight.arena.referee import Record
from foglight.arena.store import Match, open_store
from foglight.files import replacing
from foglight.frames import arrow_schema
from foglight.names import BadInput

_BATCH = 10_000  # rows in memory at a time
COLUMNS = {
    "game": "text",
    "seed": "whole",
    "version": "text",
    "number": "whole",
    "agents": "texts",
    "seat": "whole",
    "agent": "text",
    "game_code": "text",
    "agent_code": "text",
    "return": "number",
    "score": "number",
    "moves": "whole",
    "seconds": "number",
    "longest": "number",
    "overruns": "whole",
    "actions": "wholes",
}


def game_rows(match: Match, number: int, record: Record) -> list[dict[str, Any]]:
    """A finished game as plain data, one row per seat."""
    rows, best = [], max(record.returns)
    for seat, payoff in enumerate(record.returns):
        timing = record.timing[seat] if record.timing else None
        agent = (seat - number) % len(match.agents)
        rows.append(
            {
                "game": match.game,
                "seed": match.seed,
                "version": match.version,
                "number": number,
                "agents": list(match.agents),
                "seat": seat,
                "agent": match.agents[agent],
                "game_code": match.code[0] if match.code else "",
                "agent_code": match.code[1 + agent] if match.code else "",
                "return": float(payoff),
                "score": (payoff == best) / record.returns.count(best),
                "moves": timing.moves if timing else None,
                "seconds": timing.seconds if timing else None,
                "longest": timing.longest if timing else None,
                "overruns": timing.overruns if timing else None,
                "actions": list(record.actions),
            }
        )
    return rows


def stored_rows(store: Path) -> Iterator[dict[str, Any]]:
    """All games of a store, match after match."""
    with closing(open_store(store)) as source:
        for game in source.games():
            yield from game_rows(*game)


def export(store: Path, file: Path) -> int:
    """Write all games of a store into a file whose name ends in .parquet or .csv, and return the number of rows."""
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    if file.suffix not in writers:
        raise BadInput(f"cannot export to {file}; its name must end in .parquet or .csv")
    if not file.parent.is_dir():
        raise BadInput(f"cannot write {file}: there is no folder {file.parent}; make it, or choose another file")
    open_store(store).close()
    if file.is_dir() or (file.exists() and file.samefile(store)):
        raise BadInput(
            f"cannot write {file}: it is {'a folder' if file.is_dir() else 'the store'}; choose another file"
        )
    with replacing(file) as part:
        return writers[file.suffix](stored_rows(store), part)


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _write_csv(rows: Iterator[dict[str, Any]], file: Path) -> int:
    """Write rows as CSV, with lists as JSON; the number of rows."""
    count = 0
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([json.dumps(value) if isinstance(value, list) else value for value in row.values()])
            count += 1
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], file: Path) -> int:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise BadInput("Parquet needs pyarrow; install it with: pip install 'foglight[parquet]', or use .csv") from None
    schema, count = arrow_schema(COLUMNS), 0
    with ParquetWriter(file, schema) as writer:
        for batch in _batches(rows):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))
            count += len(batch)
    return count
