"""Ratings: Bradley and Terry's maximum likelihood, as others find it, and intervals that hold what they promise."""

import math

import numpy as np
import pytest

from foglight.arena.ratings import ELO, _likelihood, bradley_terry, rate
from foglight.names import BadInput


def test_two_agents_by_hand():
    # 30 of 40 games: odds 3, so 400 log10(3) = 190.85 Elo apart; the variance of the log-odds is 1/30 + 1/10
    a, b = rate(["a", "b"], [[0, 30], [10, 0]], anchor="b", prior=0)
    assert a.rating == pytest.approx(400 * math.log10(3)) and b.rating == 0
    assert a.error == pytest.approx(ELO * math.sqrt(1 / 30 + 1 / 10)) and b.error == 0
    assert (a.low, a.high) == pytest.approx((a.rating - 1.959964 * a.error, a.rating + 1.959964 * a.error))
    assert (a.score, a.games, b.score) == (30, 40, 10)
    centred = rate(["a", "b"], [[0, 30], [10, 0]], prior=0)
    assert centred[0].rating == pytest.approx(a.rating / 2) == -centred[1].rating
    assert centred[0].error == pytest.approx(a.error / 2)


@pytest.mark.parametrize("seed", range(8))
def test_ratings_are_choixs(seed):
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    wins = rng.integers(0, 15, (n, n)) + np.roll(np.eye(n, dtype=int), 1, 0)  # everybody has lost to somebody
    draws = np.triu(rng.integers(0, 6, (n, n)), 1)
    draws = draws + draws.T
    np.fill_diagonal(wins, 0)
    strengths, covariance = bradley_terry(wins + draws / 2, 0.0)
    # a draw is half a win for both: two wins for each win and one for each side of a draw
    doubled = [(i, k) for i in range(n) for k in range(n) for _ in range(2 * wins[i, k] + draws[i, k])]
    assert strengths == pytest.approx(choix.opt_pairwise(n, doubled, alpha=0, tol=1e-12), abs=1e-6)
    hessian = choix.opt.PairwiseFcts(doubled, 0.0).hessian(strengths) / 2
    apart = np.eye(n) - 1 / n
    assert apart @ covariance @ apart == pytest.approx(np.linalg.pinv(hessian, rcond=1e-10), abs=1e-6)


@pytest.mark.parametrize("prior", [0.0, 1.0, 3.5])
def test_gradient_and_hessian_are_those_of_the_likelihood(prior):
    rng = np.random.default_rng(1)
    w, r, step = rng.random((4, 4)) * 9 * (1 - np.eye(4)), rng.normal(size=4), 1e-5
    _, gradient, curvature = _likelihood(r, w, prior)
    for i, unit in enumerate(np.eye(4)):
        up, down = (_likelihood(r + sign * step * unit, w, prior) for sign in (1, -1))
        assert gradient[i] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-6)
        fixed = 0.25 if prior == 0 else 0.0  # what keeps the mean in place is not part of the likelihood
        assert curvature[i] - fixed == pytest.approx(-(up[1] - down[1]) / (2 * step), abs=1e-6)


def test_the_unbeaten_have_finite_ratings_with_a_prior_only():
    scores = [[0, 20, 20], [0, 0, 10], [0, 10, 0]]
    best, second, third = rate(["a", "b", "c"], scores)
    assert 300 < best.rating - second.rating < 2000 and second.rating == pytest.approx(third.rating)
    with pytest.raises(BadInput, match="give a prior above 0"):
        rate(["a", "b", "c"], scores, prior=0)


def test_agents_that_never_met_are_average_with_a_wide_interval():
    lonely = rate(["a", "b", "c"], [[0, 3, 0], [3, 0, 0], [0, 0, 0]])[2]
    assert lonely.rating == pytest.approx(0, abs=1e-6) and lonely.high - lonely.low > 500


def test_the_prior_is_drowned_by_games():
    scores = np.array([[0, 600, 700], [400, 0, 550], [300, 450, 0]])
    with_prior, without = rate(["a", "b", "c"], scores), rate(["a", "b", "c"], scores, prior=0)
    for one, other in zip(with_prior, without, strict=True):
        assert one.rating == pytest.approx(other.rating, abs=0.5)


def test_extreme_scores_converge():
    a, _, c = rate(["a", "b", "c"], [[0, 1e7, 1e7], [1, 0, 1e7], [0, 1, 0]], prior=0, anchor="b")
    assert a.rating == pytest.approx(2800, rel=1e-3) and c.rating == pytest.approx(-2800, rel=1e-3)


def test_intervals_hold_the_truth_as_often_as_they_say():
    # 2 000 round robins of 5 agents, 100 games a pair: each 95 % interval holds its true rating about 1 900 times,
    # standard deviation 9.7. 60 off is 6.2 of them; a false alarm, for 15 intervals, less than once in 10^7 runs
    rng = np.random.default_rng(5)
    truth = np.array([-1.0, -0.3, 0.0, 0.4, 0.9])
    chances = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    upper = np.triu(np.ones((5, 5), bool), 1)
    names = list("abcde")
    held = {(anchor, prior): np.zeros(5) for anchor, prior in ((None, 0.0), ("c", 0.0), (None, 1.0))}
    for _ in range(2000):
        wins = np.where(upper, rng.binomial(100, chances), 0)
        scores = wins + np.where(upper, 100 - wins, 0).T
        for (anchor, prior), count in held.items():
            centre = truth.mean() if anchor is None else truth[names.index(anchor)]
            rated = rate(names, scores, anchor=anchor, prior=prior)
            count += [r.low <= t <= r.high for r, t in zip(rated, ELO * (truth - centre), strict=True)]
    for (anchor, _), count in held.items():
        count = count[[i for i in range(5) if names[i] != anchor]]
        assert (abs(count - 1900) < 60).all(), count


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"scores": [[0, 1]]}, "scores must be 2 rows of 2 numbers"),
        ({"scores": [[0, -1], [1, 0]]}, "none below 0"),
        ({"scores": [[0, math.nan], [1, 0]]}, "scores must be"),
        ({"anchor": "c"}, "unknown agent 'c'"),
        ({"prior": -1}, "prior must be at least 0"),
        ({"confidence": 1}, "confidence between 0 and 1"),
    ],
)
def test_impossible_ratings_get_advice(arguments, advice):
    with pytest.raises(BadInput, match=advice):
        rate(**{"agents": ["a", "b"], "scores": [[0, 1], [1, 0]], **arguments})
