"""Write the notebooks of this folder from the pages of docs/tutorials: `python examples/notebooks.py`.

A page is the source, and its notebook has the same text and code. A block ```python becomes a cell, and the output that
the page shows behind it is left out: the notebook makes its own. A block with a file's name becomes a cell that writes
the file. Everything else is text.
"""

import json
import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent.parent / "docs" / "tutorials"
NOTEBOOKS = Path(__file__).parent
_BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```\n(?:\s*^```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """The pages that are notebooks, too."""
    return sorted(page for page in PAGES.glob("*.md") if page.stem != "index")


def notebook(page: Path) -> str:
    """The notebook of a page, as the text of its file."""
    text, cells, begin = page.read_text(encoding="utf-8"), [], 0
    for block in _BLOCK.finditer(text):
        cells.append(_cell("markdown", _linked(text[begin : block.start()])))
        file = block[1].partition("file=")[2].strip()
        cells.append(_cell("code", f"%%writefile {file}\n{block[2]}" if file else block[2]))
        begin = block.end()
    cells.append(_cell("markdown", _linked(text[begin:])))
    content = {
        "cells": [{**cell, "id": f"{page.stem}-{i}"} for i, cell in enumerate(cells) if cell["source"]],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str) -> dict[str, Any]:
    lines = source.strip("\n").splitlines(keepends=True)
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": lines}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _linked(text: str) -> str:
    """The text with links that lead from this folder to where they led from the page."""

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        if path.startswith(("http://", "https://")) or not path:
            return match[0]
        if "/" not in path:
            path = f"../docs/tutorials/{path}" if path == "index.md" else path.replace(".md", ".ipynb")
        else:
            path = path.replace("../", "../docs/", 1)
        return f"]({path}{mark}{anchor})"

    return _LINK.sub(link, text)


if __name__ == "__main__":
    for source in pages():
        (NOTEBOOKS / f"{source.stem}.ipynb").write_text(notebook(source), encoding="utf-8")
