"""Progress bars: one line on a terminal, one element in a notebook, nothing anywhere else.

A bar is drawn when it is told something, and by no thread of its own, which would be forked into workers.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from foglight.pieces import Where
from foglight.text import html_bar

_OFTEN = 0.1  # seconds between two pictures of a bar in a notebook

Draw = Callable[[str, int, int | None], None]  # with a text, what is done, and what there is in all


class Bar:
    """A progress bar, to be called with what is done and what there is in all."""

    def __init__(self, draw: Draw, noun: str) -> None:
        self._draw, self._noun, self._deaths = draw, noun, ""
        self._now: tuple[str, int, int | None] = noun, 0, None
        self._show()

    def __call__(
        self, done: int, total: int, exploitability: float | None = None, loss: float | None = None, now: str = ""
    ) -> None:
        text = now or self._noun
        text += "" if loss is None or math.isnan(loss) else f", loss {loss:.2e}"
        text += "" if exploitability is None else f", exploitability {exploitability:.2e}"
        self._now = text, done, total
        self._show()

    def of(self, place: Where) -> Where:
        """The same place; the bar shows how many of its workers have died."""
        return place._replace(mourner=self._mourn)

    def _mourn(self, deaths: int) -> None:
        self._deaths = f", {deaths} worker{'s' * (deaths > 1)} died"
        self._show()

    def _show(self) -> None:
        text, done, total = self._now
        self._draw(text + self._deaths, done, total)


@contextmanager
def progress_bar(noun: str = "done") -> Iterator[Bar]:
    """A progress bar for the time of a `with` statement: on a terminal, in a notebook, and silent in files and pipes.

    `noun` names what is counted. Whatever takes a `progress` takes a bar.

        >>> with fl.progress_bar("games") as bar:
        ...     result = fl.play_match("kuhn_poker", ["random", "random"], games=10, progress=bar)
        >>> result.games
        10
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        yield Bar(_in_notebook(), noun)
    else:
        with _on_terminal() as draw:
            yield Bar(draw, noun)


def _in_notebook() -> Draw:
    """Draw into one output of the cell, again and again, so that a notebook keeps one bar and not each step of it."""
    from IPython.display import HTML, display

    begun, last, handle = time.monotonic(), -math.inf, None

    def draw(text: str, done: int, total: int | None) -> None:
        nonlocal last, handle
        now = time.monotonic()
        if done == total or now - last > _OFTEN:
            last, rate = now, done / max(now - begun, 1e-9)
            picture = HTML(html_bar(text, done, total, _speed(rate) if done else ""))
            if handle is None:
                handle = display(picture, display_id=True)
            else:
                handle.update(picture)

    return draw


@contextmanager
def _on_terminal() -> Iterator[Draw]:
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
    from rich.text import Text

    class Rate(ProgressColumn):
        """How much is done in a second, or in an hour if that is little."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(_speed(speed) if speed else "")

    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn()]
    with Progress(*columns, console=console, auto_refresh=False, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def draw(text: str, done: int, total: int | None) -> None:
            given: dict[str, Any] = {} if total is None else {"completed": done, "total": total}
            progress.update(task, description=text, refresh=total is not None, **given)

        yield draw


def _speed(rate: float) -> str:
    return f"{rate:,.1f}/s" if rate >= 0.1 else f"{3600 * rate:,.0f}/h"
