"""Common parts of the studies' tables: Markdown, means with standard errors, selection of results."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Results = dict[str, dict[str, Any]]  # the result of each cell, by its name


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]], left: Iterable[int] = (0,)) -> str:
    """A Markdown table; the columns with the numbers `left` are aligned to the left, all others to the right."""
    marks = ["---" if i in set(left) else "---:" for i in range(len(columns))]
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(marks)}|"]
    lines += ["|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def chosen(results: Results, **facts: Any) -> list[dict[str, Any]]:
    """The results in which all these entries have these values."""
    return [result for result in results.values() if facts.items() <= result.items()]


def named(results: Results, *words: Any) -> list[dict[str, Any]]:
    """The results of the cells whose names begin with these words."""
    wanted = list(map(str, words))
    return [result for cell, result in results.items() if cell.split()[: len(wanted)] == wanted]


def mean_and_error(runs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean over runs, the first axis, and its standard error; NaN for a single run."""
    runs = np.asarray(runs)
    error = runs.std(0, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else np.full(runs.shape[1:], np.nan)
    return runs.mean(0), error


def plus_minus(mean: float, error: float, digits: int = 3) -> str:
    """A mean with its standard error, as text."""
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
