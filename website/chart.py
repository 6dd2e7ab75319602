"""The table of `docs/benchmarks.md` as bars: `python -m website.chart` draws them again when the table changes."""

import re
from pathlib import Path

from foglight.pictures import panels, save
from website.pages import ROOT

TABLE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "pictures" / "benchmarks.png"
ROW = re.compile(
    r"^\| (?P<what>[^|]+) \|[^|]+\| [^|]*?, (?P<peer>\w[\w-]*) \| (?P<ratio>[\d .]+?)(?: to (?P<high>[\d .]+))?× \|",
    re.M,
)


def ratios() -> list[tuple[str, str, float, float]]:
    """What was measured, the peer, and the lowest and the highest ratio to it; the largest first."""
    rows = [
        (row["what"].replace("`", ""), row["peer"], number(row["ratio"]), number(row["high"] or row["ratio"]))
        for row in ROW.finditer(TABLE.read_text(encoding="utf-8"))
    ]
    return sorted(rows, key=lambda row: row[2])


def number(text: str) -> float:
    return float(text.replace(" ", ""))


def draw(path: Path) -> None:
    rows = ratios()
    figure, (axes,) = panels(1, 9, 0.36 * len(rows) + 0.8)
    axes.barh(
        range(len(rows)),
        [row[2] for row in rows],
        color=["#0b6e69" if row[1] == "OpenSpiel" else "#8aa5b8" for row in rows],
    )
    for place, (_, peer, low, high) in enumerate(rows):
        text = f"{low:,g}×" if low == high else f"{low:,g} to {high:,g}×"
        axes.text(low * 1.1, place, f"{text}, {peer}", va="center", fontsize=8)
    axes.set(xscale="log", xlim=(1, 30_000), xlabel="times as fast as the peer", yticks=range(len(rows)))
    axes.set_yticklabels([row[0] for row in rows], fontsize=8)
    axes.grid(axis="y", visible=False)
    save(figure, path)


if __name__ == "__main__":
    draw(PICTURE)
