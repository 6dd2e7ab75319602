"""A belief for people: on the terminal and as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.worlds.marginals import Marginals

NOTHING_THERE = "."


def heat(belief: Marginals) -> Any:
    """The belief for a terminal: a board whose cells glow where something may be hidden, or a table."""
    return _board(belief) if belief.columns else _table(belief)


def _uncertain(odds: dict[str, float]) -> tuple[str, float]:
    """The likeliest thing that may be there beside nothing, and how likely it is."""
    things = {what: share for what, share in odds.items() if what != NOTHING_THERE}
    return max(things.items(), key=lambda item: item[1]) if things else (NOTHING_THERE, 0.0)


def _board(belief: Marginals) -> Any:
    from rich.text import Text

    text = Text()
    for first in range(0, len(belief.places), belief.columns):
        row = range(first, first + belief.columns)
        if first % (belief.columns * belief.columns) == 0 and " " in belief.places[first]:
            text.append(f"{belief.places[first].rpartition(' ')[0]}\n")
        for i in row:
            what, share = _uncertain(belief.odds[i])
            certain = share > 1 - 1e-9 or share == 0.0
            shown = f"{what:>5}" if certain else f"{what} {share:>3.0%}"
            level = 0 if certain else int(40 + 180 * share)
            text.append(f" {shown:^6} ", style=f"on rgb({level},{level // 4},0)" if level else "")
        text.append("\n")
    return text


def _table(belief: Marginals) -> Any:
    from rich.table import Table
    from rich.text import Text

    columns = sorted({what for odds in belief.odds for what in odds})
    table = Table(box=None, pad_edge=False)
    for column in ("", *columns):
        table.add_column(column, justify="right")
    for place, odds in zip(belief.places, belief.odds, strict=True):
        if "played" not in odds:
            shares = [odds.get(what, 0.0) for what in columns]
            cells = [Text(f"{share:.0%}" if share else "", style=_glow(share)) for share in shares]
            table.add_row(place, *cells)
    return table


def _glow(share: float) -> str:
    level = int(40 + 180 * share)
    return f"on rgb({level},{level // 4},0)" if 0.0 < share < 1 - 1e-9 else ""


def draw(belief: Marginals, path: Path, title: str) -> None:
    """The belief as a picture: one map for each thing that may be somewhere."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput("pictures need matplotlib; install it with: pip install 'foglight[plots]'") from None
    things = sorted({what for odds in belief.odds for what in odds if what not in (NOTHING_THERE, "played")})
    if not things:
        raise BadInput("there is nothing anywhere yet, so there is nothing to draw")
    if belief.columns:
        figure = Figure(
            figsize=(max(5.0, 1 + 2.2 * len(things)), 0.5 + 0.5 * len(belief.places) / belief.columns),
            layout="constrained",
        )
        for k, what in enumerate(things):
            shares = np.array([odds.get(what, 0.0) for odds in belief.odds]).reshape(-1, belief.columns)
            axes = figure.add_subplot(1, len(things), k + 1)
            axes.imshow(shares, vmin=0, vmax=1, cmap="inferno")
            axes.set(title=what, xticks=[], yticks=[])
            for (row, column), share in np.ndenumerate(shares):
                if share > 0.0:
                    colour = "black" if share > 0.6 else "white"
                    axes.text(column, row, f"{share:.0%}", ha="center", va="center", color=colour, fontsize=7)
    else:
        open_ = [i for i, odds in enumerate(belief.odds) if "played" not in odds]
        shares = np.array([[belief.odds[i].get(what, 0.0) for i in open_] for what in things])
        figure = Figure(figsize=(2 + 0.28 * len(open_), 1 + 0.5 * len(things)), layout="constrained")
        axes = figure.add_subplot()
        axes.imshow(shares, vmin=0, vmax=1, cmap="inferno", aspect="auto")
        axes.set_xticks(range(len(open_)), [belief.places[i] for i in open_], rotation=90, fontsize=7)
        axes.set_yticks(range(len(things)), things)
    figure.suptitle(title, fontsize=8, wrap=True)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot write the picture {path}: {error}") from None
