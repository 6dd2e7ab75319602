"""Ratings of agents with intervals, by the Bradley-Terry model.

Agent i beats agent j with probability s(r_i - r_j), s(x) = 1 / (1 + exp(-x)); a draw counts as half a win for both. We
maximise

    l(r) = sum_ij w_ij log s(r_i - r_j)  +  p/2 sum_i [log s(r_i) + log s(-r_i)]

where w_ij is the score of i against j. The second sum is the prior: every agent has drawn p games (by default one)
against an imaginary average opponent. The prior keeps the rating of an agent that never lost finite, and connects
agents that never met; beside a hundred real games it hardly counts. l is concave, so Newton's method with the exact
gradient and Hessian finds the maximum. The inverse of the negated Hessian there is the covariance of the ratings.

Only differences of ratings mean anything, so one point is fixed: either the mean rating is 0, or the rating of an
anchor agent is. The anchor's interval then has width 0, and the other intervals are those of the distance to the
anchor. Ratings are in Elo units: 400 points are odds of 10 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from foglight.names import BadInput, unknown

ELO = 400 / math.log(10)  # Elo points per unit of strength
_STEPS = 200  # most steps of Newton's method; about ten are usual


@dataclass(frozen=True)
class Rating:
    """An agent's strength in Elo units.

    >>> best = fl.rate(["a", "b"], [[0, 30], [10, 0]])[0]
    >>> best.agent, best.score, best.games, best.low < best.rating < best.high
    ('a', 30.0, 40.0, True)
    """

    agent: str
    rating: float
    error: float  # the standard error of the rating
    low: float  # the ends of the interval
    high: float
    score: float  # games won; draws count half
    games: float


def rate(
    agents: Sequence[str],
    scores: Any,  # [agents, agents]: the score of the row's agent against the column's
    *,
    anchor: str | None = None,
    prior: float = 1.0,
    confidence: float = 0.95,
) -> list[Rating]:
    """The ratings, in the order of the agents.

    `anchor` names the agent whose rating is 0; by default the mean rating is 0. `prior` is the number of games that
    each agent is supposed to have drawn against an average opponent. `confidence` is that of the intervals.

        >>> first, second = fl.rate(["a", "b"], [[0, 30], [10, 0]], anchor="b", prior=0)
        >>> round(first.rating), second.rating  # 3 to 1 are 191 points
        (191, 0.0)
    """
    w = np.array(scores, float)
    if w.shape != (len(agents), len(agents)) or not np.isfinite(w).all() or (w < 0).any():
        raise BadInput(f"scores must be {len(agents)} rows of {len(agents)} numbers, none below 0")
    if anchor is not None and anchor not in agents:
        raise BadInput(unknown("agent", anchor, agents))
    if not prior >= 0 or not 0 < confidence < 1:
        raise BadInput(f"prior must be at least 0, not {prior}, and confidence between 0 and 1, not {confidence}")
    np.fill_diagonal(w, 0.0)
    strengths, covariance = bradley_terry(w, prior)
    n = len(agents)
    centre = np.full(n, 1 / n) if anchor is None else (np.arange(n) == agents.index(anchor)).astype(float)
    shift = np.eye(n) - centre  # subtracts the rating that is set to 0
    ratings = ELO * (shift @ strengths)
    errors = ELO * np.sqrt(np.maximum(np.diag(shift @ covariance @ shift.T), 0.0))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return [
        Rating(name, float(r), float(e), float(r - z * e), float(r + z * e), float(score), float(games))
        for name, r, e, score, games in zip(agents, ratings, errors, w.sum(1), (w + w.T).sum(1), strict=True)
    ]


def bradley_terry(w: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """The strengths r, in natural logarithms, and their covariance.

    Without a prior only differences are determined; the strengths then have mean 0.
    """
    from scipy.sparse.csgraph import connected_components

    n = len(w)
    if prior == 0 and n > 1 and connected_components(w > 0, connection="strong")[0] > 1:
        raise BadInput("some agents never lost to the others, so ratings are not finite; give a prior above 0")
    r = np.zeros(n)
    value, gradient, curvature = _likelihood(r, w, prior)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        gain = float(gradient @ step)
        if gain < 1e-20 * max(1.0, w.sum()):
            break
        size = 1.0
        while size > 1e-12:  # halve the step until l rises
            there, *others = _likelihood(r + size * step, w, prior)
            if there >= value + 1e-4 * size * gain or gain < 1e-12 * abs(value):
                break
            size /= 2
        r = r + size * step
        value, (gradient, curvature) = there, others
    return r, np.linalg.inv(curvature)


def _likelihood(r: np.ndarray, w: np.ndarray, prior: float) -> tuple[float, np.ndarray, np.ndarray]:
    """l(r), its gradient, and its negated Hessian."""
    from scipy.special import expit, log_expit

    apart = r[:, None] - r[None, :]
    wins, alone = expit(apart), expit(r)
    value = float((w * log_expit(apart)).sum() + prior / 2 * (log_expit(r) + log_expit(-r)).sum())
    gradient = (w * (1 - wins) - w.T * wins).sum(1) + prior * (0.5 - alone)
    between = (w + w.T) * wins * (1 - wins)
    curvature = np.diag(between.sum(1) + prior * alone * (1 - alone)) - between
    if prior == 0:
        curvature += 1 / len(r)  # l is constant along (1, ..., 1); this fixes the mean and no difference
    return value, gradient, curvature
