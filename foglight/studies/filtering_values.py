"""Figures 4 and 6 of history filtering: error of the value of a public belief state by sampler [Solinas2023].

The value of a public belief state is the expected payoff of seat 0 when all seats follow the policy: the mean over its
histories, weighted by reach probability. It is known exactly here, by enumeration, and estimated from n histories:

    true        drawn from the exact probabilities
    importance  drawn uniformly, weighted by reach probability
    gibbs       from the RingSwap chain, 20 transitions before each

Figure 4 has policies learned by independent Q-learning, Figure 6 random policies by bias. Positions are played by the
policy, and may show voids. A run is one position. The paper makes one estimate with each sampler per run. We make
several, and a run's error is their mean, because samplers differ by less than the spread of single estimates. Errors
are means over runs, with standard errors.
"""

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.policies import Biased
from foglight.solving.whole.q_learning import q_learning
from foglight.studies import filtering_entropy
from foglight.studies._claims import CLOSE, Claim, claim, count, mean_of, ratio_of
from foglight.studies._tables import Results, mean_and_error, named, plus_minus
from foglight.studies.filtering_sizes import SIZES, position
from foglight.text import markdown
from foglight.worlds.deals.filter import DealFilter

METHODS = ("true", "importance", "gibbs")
SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 400)
BURN_IN = 20  # transitions before each sample
REPEATS = 10  # estimates of each sampler per run
LEARNED = "learned"
POLICIES = (LEARNED, "0.5", "0.7", "0.9")


@functools.lru_cache(maxsize=4)
def learned(game: str) -> Any:
    """A policy by independent Q-learning."""
    return q_learning(game, 150_000, explore=0.2, seed=0, room=1 << 21)


def belief(size: int, policy: str, seed: int) -> tuple[DealFilter, np.ndarray, np.ndarray]:
    """A public belief state played by the policy of this name, as in `filtering_entropy`."""
    chosen: Any = learned(str(position(size, 0).game)) if policy == LEARNED else Biased(float(policy), seed)
    return filtering_entropy.belief(size, chosen, seed)


def gibbs_values(deals: DealFilter, n: int, burn_in: int, seed: int) -> np.ndarray:
    """The values of n histories from the chain, `burn_in` transitions before each."""
    hands, patterns, _ = deals.chain(seed).run(n, burn_in)
    return filtering_entropy.values_of(deals, deals.last_worlds(hands, patterns))


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    runs = {192: 20, 12_960: 10, 544_320: 2} if quick else dict.fromkeys(SIZES, 100)
    return {
        f"{policy} {size} {run}": {"policy": policy, "size": size, "seed": 1000 * seed + run}
        for policy in ((LEARNED, "0.7") if quick else POLICIES)
        for size in SIZES
        for run in range(runs[size])
    }


def work(policy: str, size: int, seed: int) -> dict[str, Any]:
    deals, odds, values = belief(size, policy, seed)
    truth, most = float(odds @ values), max(SAMPLES)
    rng = np.random.default_rng(seed)
    errors = {method: np.zeros((REPEATS, len(SAMPLES))) for method in METHODS}
    for repeat in range(REPEATS):
        uniform = rng.integers(len(odds), size=most)
        drawn = {
            "true": (values[rng.choice(len(odds), most, p=odds)], np.ones(most)),
            "importance": (values[uniform], odds[uniform]),
            "gibbs": (gibbs_values(deals, most, BURN_IN, REPEATS * seed + repeat), np.ones(most)),
        }
        for method, (sampled, weights) in drawn.items():
            errors[method][repeat] = [abs(np.average(sampled[:n], weights=weights[:n]) - truth) for n in SAMPLES]
    return {method: of_method.mean(0).tolist() for method, of_method in errors.items()}


def _mean(results: Results, policy: str, size: int, method: str) -> tuple[np.ndarray, np.ndarray]:
    return mean_and_error([result[method] for result in named(results, policy, size)])


def _policies(results: Results) -> list[str]:
    return list(dict.fromkeys(cell.split()[0] for cell in results))


def table(results: Results) -> str:
    shown = [SAMPLES.index(n) for n in (10, 100, 400)]
    rows = []
    for policy, size, method in itertools.product(_policies(results), SIZES, METHODS):
        mean, error = _mean(results, policy, size, method)
        numbers = (plus_minus(mean[i], error[i]) for i in shown)
        rows.append([policy, f"{size:,}", method, *numbers, len(named(results, policy, size))])
    columns = ["policy", "size", "sampler", "10 samples", "100", "400", "runs"]
    note = (
        f"Each run is the mean of {REPEATS} estimates. "
        "The paper gives curves, no numbers: gibbs close to true, importance above both, at every size."
    )
    return markdown(columns, rows, left=(0, 2)) + f"\n{note}\n"


def kept(results: Results) -> Results:
    """The errors with the most samples, which is what claims need."""
    return {cell: {method: errors[-1:] for method, errors in result.items()} for cell, result in results.items()}


def claims(results: Results) -> list[Claim]:
    random = [policy for policy in _policies(results) if policy != LEARNED]
    return [
        *_sampler_claims(results, "Figure 4", "learned policies", [LEARNED]),
        *_sampler_claims(results, "Figure 6", "random policies", random),
    ]


def _sampler_claims(results: Results, figure: str, who: str, policies: list[str]) -> list[Claim]:
    better, close = [], []
    ratios: dict[str, list[str]] = {"gibbs": [], "importance": []}  # a text for each policy
    for policy in policies:
        rows: dict[str, list[str]] = {"gibbs": [], "importance": []}
        for size in SIZES:
            runs = named(results, policy, size)
            true, importance, gibbs = (np.array([run[method][-1] for run in runs]) for method in METHODS)
            better.append(mean_of(importance - gibbs).above(0))
            close.append(mean_of(gibbs - (1 + CLOSE) * true).below(0))
            rows["gibbs"].append(ratio_of(gibbs, true).text(2, "×"))
            rows["importance"].append(ratio_of(importance, true).text(2, "×"))
        for method, texts in rows.items():
            name = "" if policy == LEARNED else f"bias {policy}: "
            ratios[method].append(name + ", ".join(texts))
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    return [
        claim(
            figure,
            f"With {who} the Gibbs sampler errs less than importance sampling, with {sizes} histories, at "
            f"{max(SAMPLES)} samples.",
            "less",
            f"importance over true: {'; '.join(ratios['importance'])}",
            better,
            "Uniform proposals waste samples on histories that the policy makes unlikely.",
            f"Certain in {count(better)} cases; where the policy is nearly uniform, importance sampling wastes little.",
        ),
        claim(
            figure,
            f"With {who} the Gibbs sampler with {BURN_IN} transitions a sample is as good as exact sampling, "
            f"with {sizes} histories.",
            "close",
            f"Gibbs over true: {'; '.join(ratios['gibbs'])}",
            close,
            "At most a quarter more error counts as close, for certain at 95 %.",
            f"At most a quarter more error counts as close, certain in {count(close)} cases; with sharp policies and "
            f"many histories {BURN_IN} transitions are too few.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    policies = _policies(results)
    cases = list(itertools.product(policies, SIZES))
    figure, parts = panels(len(cases), 10, 2.6 * len(policies), columns=len(SIZES))
    for axes, (policy, size) in zip(parts, cases, strict=True):
        for method in METHODS:
            mean, error = _mean(results, policy, size, method)
            axes.errorbar(SAMPLES, mean, error, label=method, capsize=2)
        axes.set(xscale="log", title=f"{policy}, {size:,} histories", xlabel="samples", ylabel="value error")
    parts[0].legend()
    save(figure, path)
