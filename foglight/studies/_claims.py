"""Claims: a paper's statement, our number beside the published one, and a verdict that follows from the results.

A statement has parts: one for each game, size or line that it speaks of. By our results a part holds, fails, or is open
if they do not decide at 95 %. The verdict follows from the parts:

    reproduced   every part holds
    in part      some parts hold
    not          no part holds, and at least one fails
    undecided    every part is open
    not tried    there are no results
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

REPRODUCED, IN_PART, NOT, UNDECIDED, NOT_TRIED = VERDICTS = "reproduced", "in part", "not", "undecided", "not tried"
OWN = ""  # the source of what no paper says
CLOSE = 0.25  # errors and ratios that differ by no more than this share count as equal


class Claim(NamedTuple):
    """What a paper says, and what we found."""

    source: str  # the table or figure, such as "Figure 3", or OWN
    statement: str  # in our words
    published: str
    ours: str  # with 95 % intervals
    verdict: str
    why: str  # it agrees or differs: one sentence
    fault: str = ""  # why we believe that the paper is wrong here, with the evidence


def claim(
    source: str,
    statement: str,
    published: str,
    ours: str,
    parts: Iterable[bool | None],
    why: str,
    otherwise: str = "",
    fault: str = "",
) -> Claim:
    """A claim with the verdict that follows from its parts. `otherwise` is why it differs, if not every part holds."""
    verdict = judged(parts)
    if verdict == NOT_TRIED:
        return Claim(source, statement, published, "", verdict, "The results so far do not reach this far.")
    because = why if verdict == REPRODUCED or not otherwise else otherwise
    return Claim(source, statement, published, ours, verdict, because, fault)


def finding(statement: str, ours: str, why: str = "") -> Claim:
    """A result of our own, which no paper has."""
    return Claim(OWN, statement, "", ours, "", why)


def judged(parts: Iterable[bool | None]) -> str:
    """The verdict of a statement whose parts hold, fail (False) or are open (None)."""
    several = list(parts)
    if not several:
        return NOT_TRIED
    if all(several):
        return REPRODUCED
    if any(several):
        return IN_PART
    return NOT if False in several else UNDECIDED


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    def above(self, limit: float) -> bool | None:
        """Whether the number is above a limit, if its interval decides that."""
        return True if self.low > limit else False if self.high < limit else None

    def below(self, limit: float) -> bool | None:
        """Whether the number is below a limit, if its interval decides that."""
        return True if self.high < limit else False if self.low > limit else None

    def near(self, target: float, margin: float) -> bool | None:
        """Whether the number is within a margin of a target, if its interval decides that."""
        if target - margin <= self.low and self.high <= target + margin:
            return True
        return False if self.high < target - margin or self.low > target + margin else None

    def text(self, digits: int = 2, unit: str = "") -> str:
        """The number with its interval in brackets."""
        scale, unit = (100, " %") if unit == "%" else (1, unit)
        value, low, high = (f"{scale * number:.{digits}f}" for number in self)
        return f"{value}{unit} ({low} to {high})"


def mean_of(values: Any) -> Estimate:
    """The mean of independent numbers, with its interval by Student's distribution; of fewer than two, all is open."""
    from scipy.stats import t

    several = np.asarray(values, float)
    if len(several) < 2:
        return Estimate(float(several.mean()) if len(several) else math.nan, -math.inf, math.inf)
    reach = t.ppf(0.975, len(several) - 1) * several.std(ddof=1) / len(several) ** 0.5
    mean = float(several.mean())
    return Estimate(mean, mean - float(reach), mean + float(reach))


def ratio_of(tops: Any, bottoms: Any) -> Estimate:
    """The ratio of the means of paired numbers, with its interval by the delta method."""
    above, below = np.asarray(tops, float), np.asarray(bottoms, float)
    ratio = float(above.mean() / below.mean())
    error = mean_of(above - ratio * below)
    reach = (error.high - error.low) / 2 / float(below.mean())
    return Estimate(ratio, ratio - reach, ratio + reach)


def factor_of(tops: Any, bottoms: Any) -> Estimate:
    """The factor between paired positive numbers: the geometric mean of their ratios, with its interval."""
    logs = mean_of(np.log(np.asarray(tops, float) / np.asarray(bottoms, float)))
    return Estimate(*(math.exp(min(log, 700.0)) for log in logs))


def median_of(values: Sequence[float]) -> Estimate:
    """The median of independent numbers, with its interval by order statistics."""
    from scipy.stats import binom

    ordered = np.sort(np.asarray(values, float))
    low = max(int(binom.ppf(0.025, len(ordered), 0.5)) - 1, 0)
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[len(ordered) - 1 - low]))


def agrees(ours: tuple[float, float], theirs: tuple[float, float], of: int = 1) -> bool | None:
    """Whether two means, each with its standard error, may be equal: a test at 5 % for `of` such pairs together.

    A pair is open if one of its errors is unknown.
    """
    error = math.hypot(ours[1], theirs[1])
    if math.isnan(error):
        return None
    return abs(ours[0] - theirs[0]) <= NormalDist().inv_cdf(1 - 0.025 / of) * error


def count(parts: Iterable[bool | None]) -> str:
    """How many parts hold, as text: `5 of 9`."""
    several = list(parts)
    return f"{sum(part is True for part in several)} of {len(several)}"
