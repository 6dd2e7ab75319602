"""Parallel Markov chains over deals: when they have settled, how far to thin them, and what they drew.

Chains start far apart and are run until they agree. Each stretch of transitions is twice as long as the last, until
R-hat

    sqrt(1 - 1/n + B / W)      chains cut in halves of n states: B the variance of their means, W their mean variance

is below 1.01 for every statistic and a stretch is at least 50 autocorrelation times long. This is the plain split R-hat
[Gelman1992]: it needs no package, so a sample does not depend on what is installed. Reports on a sample use the
rank-normalised R-hat (`diagnostics.py`).
"""

from collections.abc import Sequence

import numpy as np

from foglight.worlds.deals.count import HIDDEN
from foglight.worlds.deals.diagnostics import autocorrelation_time
from foglight.worlds.deals.ring_swap import _ring_swap_chain, _swap_chain

_AGREED = 1.01  # R-hat below which chains agree
_LONGEST, _LONGEST_SWAPS = 1 << 14, 1 << 17  # transitions of the last stretch, by RingSwap or by drawn rings
_THINNEST = 1 << 11  # most transitions between draws, so that slow chains end; their effective size shows it
_NOTED = 1 << 12  # most states of a stretch that enter the statistics


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


def r_hat(trace: np.ndarray) -> np.ndarray:
    """The plain split R-hat of each statistic of a trace, float64[chains, states, statistics]."""
    half = trace.shape[1] // 2
    parts = np.concatenate([trace[:, :half], trace[:, half : 2 * half]])
    within, between = parts.var(1, ddof=1).mean(0), parts.mean(1).var(0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 1e-12, np.inf, 0.0), where=within > 1e-12)
    return np.sqrt((half - 1) / half + ratio)
