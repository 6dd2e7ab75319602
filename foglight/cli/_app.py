"""Shared by all commands: the app and its groups, the consoles, tables and progress bars."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

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


class _Rate(ProgressColumn):
    """How much is done in a second, or in an hour if that is little."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.1f}/s" if speed >= 0.1 else f"{3600 * speed:,.0f}/h")


class Bar:
    """A progress bar, to be called with what is done and what there is in all."""

    def __init__(self, progress: Progress, noun: str) -> None:
        self._progress, self._noun = progress, noun
        self._task = progress.add_task(noun, total=None)
        self._text, self._deaths = noun, ""

    def __call__(
        self, done: int, total: int, exploitability: float | None = None, loss: float | None = None, now: str = ""
    ) -> None:
        self._text = now or self._noun
        self._text += "" if loss is None or math.isnan(loss) else f", loss {loss:.2e}"
        self._text += "" if exploitability is None else f", exploitability {exploitability:.2e}"
        self._show(completed=done, total=total)

    def of(self, place: Where) -> Where:
        """The same place; the bar shows how many of its workers have died."""
        return place._replace(mourner=self._mourn)

    def _mourn(self, deaths: int) -> None:
        self._deaths = f", {deaths} worker{'s' * (deaths > 1)} died"
        self._show()

    def _show(self, **news: Any) -> None:
        self._progress.update(self._task, description=self._text + self._deaths, refresh=True, **news)


@contextmanager
def bar(noun: str) -> Iterator[Bar]:
    """A progress bar on stderr, shown on a terminal only.

    It refreshes when it is updated: a refresh thread of its own would be forked into the workers.
    """
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn()]
    with Progress(*columns, console=err, auto_refresh=False, disable=not err.is_terminal) as progress:
        yield Bar(progress, noun)
