"""The uncertainty of results: intervals for win rates, standard errors for means."""

import math
from collections.abc import Sequence
from statistics import NormalDist


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
