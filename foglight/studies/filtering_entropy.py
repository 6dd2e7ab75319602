"""Table 2 of history filtering: entropy and variance of public belief states by policy bias [Solinas2023, Supplement].

Entropy, in bits, is that of the histories' normalised reach probabilities within the public state. Variance is that of
the histories' values for seat 0 under the same weights. Positions are played by the policy itself, and players may have
shown voids. Of all readings of the paper, this one comes closest to its numbers at the two smaller sizes. At the
largest, where our entropy is one to two bits too high, `filtering_positions` tries others. Without voids entropy is
higher: at a bias of 0.5 about 7.4, 13.1 and 18.4 bits. It is higher still if positions come from random play, since the
cards played then tell less about the hands. Policies see hands, not the order of dealing.
"""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.policies import Biased
from foglight.solving.whole.expectation import expected_returns
from foglight.studies._tables import Results, mean_and_error, named, plus_minus
from foglight.studies.filtering_sizes import SIZES, position
from foglight.text import markdown
from foglight.worlds.deals.filter import DealFilter

BIASES = (0.5, 0.7, 0.9)
PUBLISHED = {  # size: entropies by bias, then variances by bias, each with its standard error
    192: ((6.84, 0.05), (6.13, 0.07), (4.89, 0.07), (12.98, 1.12), (10.11, 0.95), (5.36, 0.93)),
    12_960: ((12.04, 0.06), (10.99, 0.08), (9.30, 0.08), (8.77, 1.02), (6.01, 0.86), (2.38, 0.58)),
    544_320: ((16.21, 0.25), (14.06, 0.45), (12.36, 0.17), (10.55, 1.17), (11.44, 2.40), (8.77, 2.01)),
}


def belief(size: int, policy: Any, seed: int) -> tuple[DealFilter, np.ndarray, np.ndarray]:
    """A public belief state played by the policy: its filter, and each history's probability and value for seat 0."""
    state = position(size, seed, policy, voids=True)
    deals = DealFilter(state.game, state.observations(-1), -1, policy)
    parts = [(weights, values_of(deals, worlds)) for _, weights, worlds in deals.batches()]
    odds, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return deals, odds / odds.sum(), values


def values_of(deals: DealFilter, worlds: np.ndarray) -> np.ndarray:
    """The expected payoff of seat 0 from each world when all seats follow the policy."""
    return expected_returns(deals.game, deals.policy, worlds)[:, 0]


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    runs = {192: 30, 12_960: 10, 544_320: 2} if quick else dict.fromkeys(SIZES, 100)
    return {
        f"{size} {bias} {run}": {"size": size, "bias": bias, "seed": 1000 * seed + run}
        for size in SIZES
        for bias in BIASES
        for run in range(runs[size])
    }


def work(size: int, bias: float, seed: int) -> dict[str, Any]:
    _, odds, values = belief(size, Biased(bias, seed), seed)
    positive = odds[odds > 0]
    mean = float(odds @ values)
    return {"entropy": float(-positive @ np.log2(positive)), "variance": float(odds @ (values - mean) ** 2)}


def _summary(results: Results, size: int, bias: float, what: str) -> tuple[float, float]:
    mean, error = mean_and_error([result[what] for result in named(results, size, bias)])
    return float(mean), float(error)


def table(results: Results) -> str:
    rows = []
    for size, published in PUBLISHED.items():
        for i, bias in enumerate(BIASES):
            entropy, variance = (_summary(results, size, bias, what) for what in ("entropy", "variance"))
            numbers = [plus_minus(*number, 2) for number in (entropy, published[i], variance, published[3 + i])]
            rows.append([f"{size:,}", bias, *numbers, len(named(results, size, bias))])
    return markdown(["size", "bias", "entropy", "published", "variance", "published", "runs"], rows, left=())


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(2, 8, 3)
    for k, (axes, what) in enumerate(zip(parts, ("entropy", "variance"), strict=True)):
        for size, published in PUBLISHED.items():
            ours = [_summary(results, size, bias, what) for bias in BIASES]
            line = axes.errorbar(BIASES, [o[0] for o in ours], [o[1] for o in ours], marker="o", label=f"{size:,}")
            theirs = published[3 * k : 3 * k + 3]
            axes.errorbar(
                BIASES, [t[0] for t in theirs], [t[1] for t in theirs], ls=":", marker="x", color=line[0].get_color()
            )
        axes.set(xlabel="policy bias", ylabel=what + (" (bits)" if what == "entropy" else ""), xticks=BIASES)
    parts[0].legend(title="histories (dotted: published)", fontsize=7, title_fontsize=7)
    save(figure, path)
