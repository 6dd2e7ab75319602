"""Figure 5 of history filtering: burn-in between samples of the Gibbs sampler at equal cost [Solinas2023].

A sample is taken after every `burn` transitions of the RingSwap chain. At the same number of transitions, a shorter
burn-in gives more samples that are less independent. Errors are those of the value of a public belief state, as in
`filtering_values`, with policies learned by independent Q-learning.
"""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.studies._claims import Claim, claim, mean_of, ratio_of
from foglight.studies._tables import Results, mean_and_error, named, plus_minus
from foglight.studies.filtering_sizes import SIZES
from foglight.studies.filtering_values import LEARNED, belief, gibbs_values
from foglight.text import markdown

BURNS = (1, 5, 20, 100)  # transitions per sample
TRANSITIONS = (100, 200, 500, 1000, 2000, 5000, 10_000)


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    runs = {192: 20, 12_960: 10, 544_320: 2} if quick else dict.fromkeys(SIZES, 100)
    return {f"{size} {run}": {"size": size, "seed": 1000 * seed + run} for size in SIZES for run in range(runs[size])}


def work(size: int, seed: int) -> dict[str, Any]:
    """By burn-in, the error of the value after each number of transitions."""
    deals, odds, values = belief(size, LEARNED, seed)
    truth, errors = float(odds @ values), {}
    for burn in BURNS:
        sampled = gibbs_values(deals, max(TRANSITIONS) // burn, burn, seed)
        errors[str(burn)] = [abs(float(sampled[: n // burn].mean()) - truth) for n in TRANSITIONS]
    return errors


def _mean(results: Results, size: int, burn: int) -> tuple[np.ndarray, np.ndarray]:
    return mean_and_error([result[str(burn)] for result in named(results, size)])


def table(results: Results) -> str:
    shown = [TRANSITIONS.index(n) for n in (200, 1000, 10_000)]
    rows = []
    for size in SIZES:
        for burn in BURNS:
            mean, error = _mean(results, size, burn)
            rows.append([f"{size:,}", burn, *(plus_minus(mean[i], error[i]) for i in shown)])
    columns = ["size", "transitions a sample", "200 transitions", "1 000", "10 000"]
    note = "The paper gives curves: burning fewer can be better at an equal number of transitions."
    return markdown(columns, rows, left=()) + f"\n{note}\n"


def kept(results: Results) -> Results:
    """The errors after the fewest and after the most transitions, which is what claims need."""
    return {cell: {burn: [one[0], one[-1]] for burn, one in result.items()} for cell, result in results.items()}


def claims(results: Results) -> list[Claim]:
    fewest, most = min(BURNS), max(BURNS)
    parts, texts = [], []
    for at in (0, -1):
        ratios = []
        for size in SIZES:
            less, more = (np.array([one[str(burn)][at] for one in named(results, size)]) for burn in (fewest, most))
            parts.append(mean_of(more - less).above(0))
            ratios.append(ratio_of(more, less).text(1, "×"))
        texts.append(f"after {TRANSITIONS[at]:,} transitions {', '.join(ratios)}")
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    return [
        claim(
            "Figure 5",
            f"At an equal number of transitions, a shorter burn-in errs less, with {sizes} histories.",
            "less",
            f"error with {most} transitions a sample over that with {fewest}: {'; '.join(texts)}",
            parts,
            "More samples outweigh their dependence, if evaluating a sample costs nothing.",
        )
    ]


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(len(SIZES), 10, 3)
    for axes, size in zip(parts, SIZES, strict=True):
        for burn in BURNS:
            mean, error = _mean(results, size, burn)
            axes.errorbar(TRANSITIONS, mean, error, label=f"{burn}", capsize=2)
        axes.set(xscale="log", yscale="log", title=f"{size:,} histories", xlabel="transitions", ylabel="value error")
    parts[0].legend(title="transitions a sample")
    save(figure, path)
