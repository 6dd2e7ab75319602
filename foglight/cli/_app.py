"""Shared by all commands: the app and its groups, the consoles and tables."""

import sys
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from foglight.pieces import Where, where

app = typer.Typer(
    help="Play, solve and measure games in which players cannot see everything.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(help="Measure speed side by side with other libraries.", no_args_is_help=True)
study = typer.Typer(help="Reproduce published tables and figures.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.add_typer(study, name="study")

# without emoji, which would stand for the `:X:` in `cannot load nowhere:X: ...`
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Workers = Annotated[
    int | None,
    typer.Option(help="Most worker processes; the result does not depend on their number.", show_default=False),
]
On = Annotated[
    str,
    typer.Option(
        help="Where to work: local, ray (a Ray started here, on all cores), or the address of a running Ray cluster, "
        "HOST:PORT or ray://HOST:PORT."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers; at least 0.")]


def workers_of(on: str, workers: int | None, local: int | None) -> Where:
    """Where to work, from the options --on and --workers; `local` is the number of processes if none is given."""
    return where(Where(on, local if workers is None and on == "local" else workers))


def fail(message: str, code: int) -> NoReturn:
    """Print a message on stderr and exit with this code."""
    err.print(message)
    sys.exit(code)


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table; the keys of the first row are the headings."""
    table = Table(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row.values()))
    out.print(table)
