"""Pictures: figures with panels, heat maps, maps of a belief, and saving.

Needs matplotlib, the extra `foglight[plots]`, which is imported only when something is drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput

_EMPTY, _PLAYED = ".", "played"  # contents of a place that get no map of their own


def panels(number: int, width: float, height: float, columns: int = 0, **options: Any) -> tuple[Any, list[Any]]:
    """A figure of this size in inches, and its panels, row by row, each with a light grid; 0 columns: one row."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput("pictures need matplotlib; install it with: pip install 'foglight[plots]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    columns = columns or number
    axes = figure.subplots(-(-number // columns), columns, squeeze=False, **options).ravel().tolist()
    for one in axes[number:]:
        one.remove()
    for one in axes:
        one.grid(alpha=0.3)
    return figure, axes[:number]


def heat_map(axes: Any, shares: Any, texts: Mapping[tuple[int, int], str], colours: str = "inferno") -> None:
    """Draw shares from 0 to 1 as colours, with texts by row and column in a contrasting colour."""
    image = axes.imshow(shares, vmin=0, vmax=1, cmap=colours, aspect="auto")
    axes.grid(False)
    for (row, column), text in texts.items():
        red, green, blue, _ = image.cmap(image.norm(shares[row][column]))
        colour = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7, linespacing=1.3)


def draw_places(
    places: Sequence[str], columns: int, odds: Sequence[Mapping[str, float]], path: Path, title: str = ""
) -> None:
    """Draw the probabilities of things at places: one map per thing, or with 0 `columns`, without a board, a table.

    `odds` has, for each place, the probability of each thing there.
    """
    things = sorted({what for place in odds for what in place if what not in (_EMPTY, _PLAYED)})
    if not things:
        raise BadInput("there is nothing anywhere yet, so there is nothing to draw")
    if columns:
        figure, axes = panels(len(things), max(5.0, 1 + 2.2 * len(things)), 0.5 + 0.5 * len(places) / columns)
        for one, what in zip(axes, things, strict=True):
            shares = np.array([place.get(what, 0.0) for place in odds]).reshape(-1, columns)
            heat_map(one, shares, {at: f"{share:.0%}" for at, share in np.ndenumerate(shares) if share > 0.0})
            one.set(title=what, xticks=[], yticks=[], aspect="equal")
    else:
        unseen = [i for i, place in enumerate(odds) if _PLAYED not in place]
        figure, (axes,) = panels(1, 2 + 0.28 * len(unseen), 1 + 0.5 * len(things))
        heat_map(axes, [[odds[i].get(what, 0.0) for i in unseen] for what in things], {})
        axes.set_xticks(range(len(unseen)), [places[i] for i in unseen], rotation=90, fontsize=7)
        axes.set_yticks(range(len(things)), things)
    figure.suptitle(title, fontsize=8, wrap=True)
    save(figure, path)


def check_picture(path: Path) -> None:
    """Refuse a file name that cannot be written, before hours are spent on the picture's data."""
    kinds = panels(1, 1, 1)[0].canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in kinds:
        raise BadInput(f"cannot draw {path}; its name must end in one of .{', .'.join(sorted(kinds))}")
    if not path.parent.is_dir():
        raise BadInput(f"cannot draw {path}: there is no folder {path.parent}; make it, or choose another file")


def save(figure: Any, path: Path) -> None:
    """Write a picture; its format follows from the ending of the file's name."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot draw {path} ({error}); choose another file, such as picture.png") from None
