"""How far a sample can be trusted: effective sample size, and R-hat over parallel chains.

For chains these are ArviZ's bulk effective sample size and rank-normalised split R-hat [Vehtari2021], the worst over
all statistics. An R-hat above 1.01 means that the chains disagree. The effective size of a weighted sample is (sum w)^2
/ sum w^2.
"""

from typing import Any

import numpy as np

ADVICE = "effective sample size and R-hat need ArviZ; install it with: pip install 'foglight[diagnostics]'"
_FEWEST = 4  # draws per chain that ArviZ needs


def of_chains(trace: np.ndarray) -> dict[str, Any]:
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


def of_weights(weights: np.ndarray) -> float:
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
