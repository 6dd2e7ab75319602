"""A belief on the terminal."""

from typing import Any

from foglight.worlds.marginals import Marginals

NOTHING_THERE = "."


def heat(belief: Marginals) -> Any:
    """The belief for a terminal: a heat map of the board if the game has one, otherwise a table."""
    return _board(belief) if belief.columns else _table(belief)


def _uncertain(odds: dict[str, float]) -> tuple[str, float]:
    """The likeliest content of a place other than nothing, and its probability."""
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
