"""Shared by all commands: the app and its groups, the consoles, tables and progress bars."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

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
Seed = Annotated[int, typer.Option(help="Seed of all random numbers; at least 0.")]


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


@contextmanager
def bar(noun: str) -> Iterator[Any]:
    """A progress bar on stderr, shown on a terminal only.

    It refreshes when it is updated: a refresh thread of its own would be forked into the workers.
    """
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=err, auto_refresh=False, disable=not err.is_terminal) as bar:
        task = bar.add_task(noun, total=None)

        def update(
            done: int, total: int, exploitability: float | None = None, loss: float | None = None, now: str = noun
        ) -> None:
            text = now if loss is None else f"{now}, loss {loss:.2e}"
            text += "" if exploitability is None else f", exploitability {exploitability:.2e}"
            bar.update(task, completed=done, total=total, description=text, refresh=True)

        yield update
