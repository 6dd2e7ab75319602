"""The uncertainty of results: intervals for win rates and for bounded payoffs, standard errors for means."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

_BOLDNESS = 0.5  # largest share of the capital that a bet of `betting` may lose


def wilson(successes: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval [Wilson1927] of a rate.

    A draw may count as half a success: the variance of such a score is at most the binomial one, so the interval is too
    wide rather than too narrow.
    """
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    reach = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; nan for the error of fewer than two values, and for the mean of none."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    mean = math.fsum(values) / n
    if n == 1:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)


def betting(values: Sequence[float], low: float, high: float, confidence: float = 0.95) -> tuple[float, float]:
    """An interval for the mean of independent values from `low` to `high`, by betting [WaudbySmith2024].

    A mean m is refused if somebody who bets that the mean is larger, or one who bets that it is smaller, would have
    multiplied their capital by 2 / (1 - confidence) at odds that are fair if m is the mean. Whatever the distribution
    and however few the values are, the interval covers with at least this probability. Where a normal distribution
    would do, it is 1.4 times as wide as that one's.
    """
    n, alpha = len(values), 1.0 - confidence
    if n == 0:
        return low, high
    x = (np.asarray(values, np.float64) - low) / (high - low)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (counts + 1)
    spreads = (0.25 + np.cumsum((x - means) ** 2)) / (counts + 1)
    spreads = np.concatenate([[0.25], spreads[:-1]])  # a bet knows only the values before it
    bets = np.sqrt(2.0 * math.log(2.0 / alpha) / (n * spreads))

    def least(values: np.ndarray) -> float:
        """The smallest mean that is not refused by bets on a larger one."""
        bottom, top = 0.0, 1.0
        while top - bottom > 1e-9:
            mean = 0.5 * (bottom + top)
            capital = np.log1p(np.minimum(bets, _BOLDNESS / mean) * (values - mean)).sum()
            if capital >= math.log(2.0 / alpha):
                bottom = mean
            else:
                top = mean
        return bottom

    scale = high - low
    return low + scale * least(x), high - scale * least(1.0 - x)
