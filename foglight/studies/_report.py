"""The report: one page with every table and figure of the four papers, our number beside the published one.

The page is made from data alone, those in the folder beside it (`_stored`).
"""

from collections import Counter
from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

from foglight.studies import load_study, study_names
from foglight.studies._claims import NOT_TRIED, OWN, VERDICTS, Claim
from foglight.studies._stored import Run
from foglight.text import markdown

WIDTH = 120  # characters of a line of the page, outside tables


class Paper(NamedTuple):
    """A paper, and by each table, figure or theorem that has numbers the studies that measure it."""

    title: str
    key: str  # in papers.bib
    page: str  # our detailed results
    sources: dict[str, tuple[str, ...]]
    note: str = ""


PAPERS = (
    Paper(
        "History filtering",
        "Solinas2023",
        "filtering.md",
        {
            "Table 1": ("filtering_sizes",),
            "Table 2": ("filtering_entropy",),
            "Figure 4": ("filtering_values",),
            "Figure 5": ("filtering_burn_in",),
            "Figure 6": ("filtering_values",),
            "Theorem 1": ("sat_hardness",),
        },
    ),
    Paper(
        "EPIMC",
        "Arjonilla2024",
        "epimc.md",
        {
            "Figure 1": ("epimc_fusion",),
            "Propositions 1 to 3": ("epimc_fusion",),
            "Figure 2": ("epimc_depth",),
            "Figure 3": ("epimc_subgame",),
            "Figure 4": ("epimc_leaf",),
            "Figure 5": ("epimc_rivals",),
        },
        "Win rates are against PIMC, whose budget is the 1 of a ratio such as 100:1. Games of Dark Chess 4×4 repeat "
        "each other move for move, so its intervals are too narrow.",
    ),
    Paper(
        "Particle value functions",
        "Sustr2021",
        "particle_values.md",
        {
            "Table 1": ("goofspiel_sizes",),
            "Figure 2": ("linear_targets",),
            "Appendix C": ("linear_targets",),
            "Figure 3": ("trunk_mass", "trunk_values"),
            "Figure 4": ("sparse_trunks",),
        },
    ),
    Paper("Sketches", "Bernardoni2019", "sketches.md", {"Table": ("sketch_speedup",)}),
)


# As data ------------------------------------------------------------------------------------------------------------


def entries(runs: dict[str, Run]) -> list[dict[str, Any]]:
    """All claims in the order of the papers, then findings of our own, each with its study and its run."""
    claims = {name: run.claims() for name, run in runs.items()}
    rows = []
    for paper in PAPERS:
        for source, studies in paper.sources.items():
            for study in studies:
                several = [one for one in claims.get(study, []) if one.source.startswith(source)]
                nothing = Claim(source, f"The study `{study}` measures it.", "", "", NOT_TRIED, "It was not run yet.")
                rows += [_entry(paper.title, study, runs.get(study), one) for one in several or [nothing]]
        own = {study for studies in paper.sources.values() for study in studies}
        for study in sorted(own & claims.keys()):  # what has no row of its own, but is wrong in the paper
            rows += [
                _entry(paper.title, study, runs[study], one)
                for one in claims[study]
                if one.fault and not any(one.source.startswith(source) for source in paper.sources)
            ]
    for study in study_names():
        rows += [_entry("", study, runs[study], one) for one in claims.get(study, []) if one.source == OWN]
        if study not in runs and not any(study in several for paper in PAPERS for several in paper.sources.values()):
            rows.append(_entry("", study, None, Claim(OWN, _title(study), "", "", NOT_TRIED, "")))
    return rows


def _entry(paper: str, study: str, run: Run | None, claim: Claim) -> dict[str, Any]:
    return {"paper": paper, "study": study, "run": run.form_text() if run else "not run", **claim._asdict()}


def _title(study: str) -> str:
    return str(load_study(study).__doc__).splitlines()[0]


# As a page ----------------------------------------------------------------------------------------------------------


HEAD = """# Results: which claims of four papers hold

Every table and figure with numbers in the four papers, our number beside the published one. This page is made by
`foglight study report` from the data in `data/`; nothing in it is written by hand. A verdict follows from the data by a
rule in the study's file (`claims`): a statement is **reproduced** if every part of it holds, **in part** if some do,
**not** if none does and at least one fails, **undecided** if the data decide nothing at 95 %, and **not tried** if
there are none. A part is one game, size or line that the statement speaks of. Numbers in brackets are 95 % intervals; ±
is a standard error. *Run* is the form of the study: full is the published size. Figures that only illustrate are left
out.
"""


def page(runs: dict[str, Run]) -> str:
    """The page, as Markdown."""
    rows = entries(runs)
    parts = [HEAD, _counts(rows)]
    for paper in PAPERS:
        text = f"In detail: [results]({paper.page}). {paper.note}"
        parts.append(f"## {paper.title} [{paper.key}]\n\n{fill(text, WIDTH)}\n")
        several = [row for row in rows if row["paper"] == paper.title and _in_table(paper, row)]
        parts.append(_table(several))
    parts += ["## Where we believe a paper is wrong\n", _faults(rows)]
    parts += ["## Beyond the papers\n", _own(rows)]
    parts += ["## Where the numbers come from\n", _sources(runs)]
    return "\n".join(parts)


def _in_table(paper: Paper, row: dict[str, Any]) -> bool:
    return any(row["source"].startswith(source) for source in paper.sources)


def _counts(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for paper in PAPERS:
        counts = Counter(row["verdict"] for row in rows if row["paper"] == paper.title and _in_table(paper, row))
        lines.append([paper.title, *(counts[verdict] or "" for verdict in VERDICTS)])
    return markdown(["paper, statements", *VERDICTS], lines)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns = ["where", "statement", "published", "ours", "verdict", "run", "why"]
    lines = [
        [
            row["source"],
            row["statement"],
            row["published"],
            row["ours"],
            f"**{row['verdict']}**",
            f"`{row['study']}`: {row['run']}",
            row["why"],
        ]
        for row in rows
    ]
    return markdown(columns, [[_cell(text) for text in line] for line in lines], left=range(len(columns)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _faults(rows: Sequence[dict[str, Any]]) -> str:
    texts = [f"- *{row['paper']}.* {row['fault']}" for row in rows if row["fault"]]
    return "\n".join(fill(text, WIDTH, subsequent_indent="  ") for text in texts) + "\n"


def _own(rows: Sequence[dict[str, Any]]) -> str:
    several = [row for row in rows if not row["paper"]]
    lines = [
        [f"`{row['study']}`: {row['run']}", row["statement"], row["ours"] or row["verdict"], row["why"]]
        for row in several
    ]
    columns = ["study", "question", "answer", "how"]
    return markdown(columns, [[_cell(text) for text in line] for line in lines], left=range(len(columns)))


def _sources(runs: dict[str, Run]) -> str:
    lines = []
    for name in study_names():
        if name not in runs:
            lines.append([f"`{name}`", "not run", "", "", "", ""])
            continue
        run = runs[name]
        seconds = f"{run.seconds:,}" if run.seconds is not None else "not known"
        lines.append([f"`{name}`", run.form_text(), str(run.seed), run.date, seconds, run.version])
    return markdown(["study", "form", "seed", "date", "core-seconds", "version"], lines, left=(0, 1))
