"""Parallel Markov chains over deals: when they have settled, how far to thin them, and how far to trust what they drew.

Chains start far apart and are run until they agree. Each stretch of transitions is twice as long as the last, until
R-hat

    sqrt(1 - 1/n + B / W)      chains cut in halves of n states: B the variance of their means, W their mean variance

is below 1.01 for every statistic and a stretch is at least 50 autocorrelation times long. This is the plain split R-hat
[Gelman1992]: it needs no package, so a sample does not depend on what is installed.

Reports on a sample have ArviZ's bulk effective sample size and rank-normalised split R-hat [Vehtari2021], the worst
over all statistics. An R-hat above 1.01 means that the chains disagree. The effective size of a weighted sample is
(sum w)^2 / sum w^2.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.worlds.deals.count import HIDDEN
from foglight.worlds.deals.ring_swap import _ring_swap_chain, _swap_chain

_AGREED = 1.01  # R-hat below which chains agree
_LONGEST, _LONGEST_SWAPS = 1 << 14, 1 << 17  # transitions of the last stretch, by RingSwap or by drawn rings
_THINNEST = 1 << 11  # most transitions between draws, so that slow chains end; their effective size shows it
_FEWEST = 4  # draws per chain that ArviZ needs
_NOTED = 1 << 12  # most states of a stretch that enter the statistics
ADVICE = "effective sample size and R-hat need ArviZ; install it with: pip install 'foglight[diagnostics]'"


class Chain:
    """A Markov chain over the deals of one puzzle, and its counters."""

    def __init__(self, arguments: tuple, deal: np.ndarray, pattern: np.ndarray, weight: float, swaps: bool) -> None:
        self._arguments = arguments  # game, policy, layout, matrices, viewer, observations, generator
        self.deal, self.pattern, self.weight = deal.copy(), pattern.copy(), np.array([weight])
        self.swaps = swaps  # whether rings are drawn, instead of listed as in RingSwap
        self.transitions = self.accepted = self.burn_in = 0
        self.thin = 1
        self.settled = False

    def run(self, n: int, thin: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """n deals, patterns and probabilities, `thin` transitions apart.

        Where a matrix has too many neighbours to list, the chain continues by drawn rings.
        """
        out = (np.empty((n, len(self.deal)), np.int64), np.empty((n, *self.pattern.shape), np.int64), np.empty(n))
        chain = _swap_chain if self.swaps else _ring_swap_chain
        accepted = chain(*self._arguments, self.deal, self.pattern, self.weight, thin, out)
        if accepted == HIDDEN:
            self.swaps = True
            return self.run(n, thin)
        self.transitions += n * thin
        self.accepted += int(accepted)
        return out

    def settle(self) -> None:
        """Burn in this chain alone."""
        settle([self])

    def statistics(self, deals: np.ndarray, patterns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The log-probability and three random functions of the deal, float64[n, 4].

        The functions do not depend on the order of the undealt cards.
        """
        row_begins = self._arguments[3].row_begins
        scores = np.random.default_rng(0).normal(size=(3, 64, len(self.deal)))
        scores[:, :, row_begins[-2] :] = 0.0
        places = np.arange(len(self.deal))
        columns = [scores[k][deals, places].sum(1) for k in range(3)]
        return np.stack([np.log(np.maximum(weights, 1e-300)), *columns], axis=1)


def settle(chains: Sequence[Chain]) -> None:
    """Run chains until they agree, or for the longest burn-in; then choose the thinning, the same for all."""
    stretch = 256
    while True:
        apart = max(1, stretch // _NOTED)
        trace = np.stack([chain.statistics(*chain.run(stretch // apart, apart)) for chain in chains])
        time = apart * max(autocorrelation_time(column) for states in trace for column in states.T)
        settled = 50 * time <= stretch and bool(np.all(r_hat(trace) < _AGREED))
        for chain in chains:
            chain.burn_in += stretch
            chain.settled = settled
            chain.thin = min(_THINNEST, int(np.ceil(2 * time)))
        if settled or stretch >= (_LONGEST_SWAPS if chains[0].swaps else _LONGEST):
            return
        stretch *= 2


def draw(chains: Sequence[Chain], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """n deals and patterns from settled chains, one of each chain in turn; their trace, and how they were drawn."""
    settle(chains)
    thin = chains[0].thin
    drawn = [chain.run(-(-n // len(chains)), thin) for chain in chains]
    trace = np.stack([chain.statistics(*out) for chain, out in zip(chains, drawn, strict=True)])
    deals, patterns = (np.stack([out[i] for out in drawn], axis=1) for i in range(2))
    deals, patterns = deals.reshape(-1, deals.shape[-1])[:n], patterns.reshape(-1, *patterns.shape[-2:])[:n]
    transitions = sum(chain.transitions for chain in chains)
    report = {
        "method": "drawn rings" if chains[0].swaps else "RingSwap",
        "exact": False,
        "chains": len(chains),
        "acceptance": sum(chain.accepted for chain in chains) / transitions,
        "transitions": transitions,
        "burn_in": chains[0].burn_in,
        "settled": chains[0].settled,
        "thinning": thin,
    }
    return deals, patterns, trace, report


def r_hat(trace: np.ndarray) -> np.ndarray:
    """The plain split R-hat of each statistic of a trace, float64[chains, states, statistics]."""
    half = trace.shape[1] // 2
    parts = np.concatenate([trace[:, :half], trace[:, half : 2 * half]])
    within, between = parts.var(1, ddof=1).mean(0), parts.mean(1).var(0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 1e-12, np.inf, 0.0), where=within > 1e-12)
    return np.sqrt((half - 1) / half + ratio)


def chain_report(trace: np.ndarray) -> dict[str, Any]:
    """The worst effective sample size and R-hat of a trace, float64[chains, draws, statistics]; else advice."""
    chains, draws, _ = trace.shape
    if draws < _FEWEST:
        return {"advice": f"effective sample size and R-hat need {_FEWEST * chains} draws or more"}
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return {"advice": ADVICE}
    moving = trace[:, :, np.ptp(trace, axis=(0, 1)) > 1e-12]
    if moving.shape[2] == 0:  # there is only one history
        return {"effective": float(chains * draws), "r_hat": 1.0}
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = array_stats.ess(moving, chain_axis=0, draw_axis=1, method="bulk")
        ratios = array_stats.rhat(moving, chain_axis=0, draw_axis=1, method="rank")
    # chains that stand still in different places have no variance within: ArviZ then returns nan
    return {
        "effective": float(np.min(np.nan_to_num(effective, nan=1.0))),
        "r_hat": float(np.max(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf))),
    }


def effective_size(weights: np.ndarray) -> float:
    """The effective sample size of weighted draws."""
    total = float(weights.sum())
    return total**2 / float(np.square(weights).sum()) if total > 0.0 else 0.0


def autocorrelation_time(trace: np.ndarray) -> float:
    """Transitions per independent draw: 1 + 2 sum of autocorrelations, while their pairs are positive [Geyer1992]."""
    centred = trace - trace.mean()
    if not np.any(abs(centred) > 1e-12):
        return 1.0
    padded = np.fft.rfft(centred, 2 * len(trace))
    correlations = np.fft.irfft(abs(padded) ** 2)[: len(trace)]
    pairs = (correlations[: len(trace) // 2 * 2] / correlations[0]).reshape(-1, 2).sum(1)
    end = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs)
    return max(1.0, float(2 * pairs[:end].sum() - 1))
