"""What all commands share: the app and its groups, the consoles, tables and bars."""

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
bench = typer.Typer(help="Measure speed against a peer, in one run.", no_args_is_help=True)
study = typer.Typer(help="Reproduce published tables and figures.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.add_typer(study, name="study")

out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print data for programs instead of text.")]
Seed = Annotated[int, typer.Option(help="Everything random follows from it.")]


def fail(message: str, code: int) -> NoReturn:
    err.print(message)
    sys.exit(code)


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row.values()))
    out.print(table)


@contextmanager
def bar(noun: str) -> Iterator[Any]:
    """A bar on stderr, for people; refreshed by hand, so that no thread of it is there when workers are forked."""
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
