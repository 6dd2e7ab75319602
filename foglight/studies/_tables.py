"""Common parts of the studies' tables: means with standard errors, selection of results."""

from typing import Any

import numpy as np

Results = dict[str, dict[str, Any]]  # the result of each cell, by its name


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
