"""The configuration of Zensical: `zensical.toml` beside this file, with the navigation filled in.

A page that is new in `docs/` appears among the guides, in `docs/tutorials/` among the tutorials, in `docs/results/`
among the results, without being listed here.
"""

import json
import re
from pathlib import Path

TEMPLATE = Path(__file__).parent / "zensical.toml"
START = ["index.md", "start.md", "page.md"]
GUIDES = ["guides.md", "games.md", "writing_games.md", "beliefs.md", "search.md", "solving.md", "arena.md", "values.md"]
RESULTS = ["results/index.md", "benchmarks.md"]
DESIGN = ["design.md", "testing.md", "contributing.md", "changelog.md", "security.md", "papers.md"]
COMPARED = "compared.md"
SHORT = {  # titles that are too long for the sidebar, or twice in it
    "fog.md": "Fog-of-War chess",
    "rbc.md": "Reconnaissance Blind Chess",
    "sketches.md": "Sets of worlds, sketches",
    "tutorials/index.md": "Overview",
    "reference/index.md": "Overview",
    "commands/index.md": "Overview",
    "results/benchmarks.md": "Benchmarks in detail",
    "results/sketches.md": "Sketches",
    "testing.md": "Testing",
    "compared.md": "Compared",
}


def configuration(texts: dict[str, str], port: int) -> str:
    text = TEMPLATE.read_text(encoding="utf-8").replace("localhost:0", f"localhost:{port}")
    lines = ",\n".join(f"  {toml(entry)}" for entry in navigation(texts))
    return text.replace("nav = []", f"nav = [\n{lines},\n]")


def navigation(texts: dict[str, str]) -> list[dict[str, object]]:
    """What the reader finds at the top of every page, from the left to the right."""
    placed = {*START, *GUIDES, *RESULTS, *DESIGN, COMPARED}
    others = [page for page in sorted(texts) if "/" not in page and page not in placed]

    def titled(pages: list[str]) -> list[dict[str, str]]:
        return [{title_of(page, texts[page]): page} for page in pages]

    sections: dict[str, object] = {
        "Start": [*titled(START)],
        "Tutorials": [*titled(below("tutorials", texts))],
        "Guides": [*titled([*GUIDES, *others])],
        "Reference": [*titled(below("reference", texts)), {"Command line": titled(below("commands", texts))}],
        "Results": [*titled([*RESULTS, *(page for page in below("results", texts) if page not in RESULTS)])],
        "Design": [*titled(DESIGN)],
    }
    return [*({title: entries} for title, entries in sections.items() if entries), {"Compared": COMPARED}]


def below(folder: str, texts: dict[str, str]) -> list[str]:
    """The pages of a folder: its index, those that the index links to, in that order, and the others."""
    index = f"{folder}/index.md"
    order = [f"{folder}/{name}" for name in re.findall(r"\]\((\w[\w-]*\.md)[)#]", texts.get(index, ""))]
    pages = [page for page in texts if page.startswith(f"{folder}/")]
    return sorted(pages, key=lambda page: (page != index, order.index(page) if page in order else len(order), page))


def title_of(page: str, text: str) -> str:
    """The first heading, shortened to what the sidebar needs."""
    if page in SHORT:
        return SHORT[page]
    found = re.search(r"^# (.*)$", text, re.M)
    title = re.sub(r"^Results: | \[\w+\]| \{ #.*\}$|`", "", found[1] if found else page)
    return title[0].upper() + title[1:] if page.startswith("results/") else title


def toml(value: object) -> str:
    """Lists, tables and texts of the navigation as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)
