"""Diagnostics say how far a sample can be trusted, and what is missing to say more."""

import sys

import numpy as np
import pytest
from test_deals import SMALL, TINY, position

import foglight as fl
from foglight.compile import implements
from foglight.policies import Biased, Uniform
from foglight.worlds.deals import chains
from foglight.worlds.deals.chains import chain_report, effective_size, r_hat, settle
from foglight.worlds.deals.filter import DealFilter


class Nobody:
    """Plays nothing at all, so that every history has probability 0."""


@implements(Nobody, "weigh")
def _weigh(policy, game, world, seat, actions, n, out):
    out[:n] = 0.0


def filtered(name, plays, policy, void=False):
    state = position(name, plays, void)
    return fl.history_filter(name, state.observations(fl.PUBLIC), policy=policy)


def test_what_a_gibbs_sample_tells():
    pytest.importorskip("arviz_stats")
    f = filtered(SMALL, 3, Biased(0.5))
    assert len(f.sample(802)) == 802
    told = f.diagnostics()
    assert (told["method"], told["exact"], told["chains"], told["settled"]) == ("RingSwap", False, 4, True)
    assert 0.2 < told["acceptance"] < 1.0
    assert told["burn_in"] >= 256 and told["thinning"] >= 2
    assert told["transitions"] == 4 * (told["burn_in"] + 201 * told["thinning"])
    assert 300 < told["effective"] < 1200 and 0.99 < told["r_hat"] < 1.05
    assert "advice" not in told


def test_without_arviz_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    f = filtered(TINY, 3, Biased(0.5))
    f.sample(100)
    told = f.diagnostics()
    assert told["settled"] and "effective" not in told and "r_hat" not in told
    assert "pip install 'foglight[diagnostics]'" in told["advice"]


def test_a_sample_does_not_depend_on_what_is_installed(monkeypatch):
    f = filtered(TINY, 3, Biased(0.5))
    drawn = [state.history() for state in f.sample(20, seed=3)]
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    assert [state.history() for state in f.sample(20, seed=3)] == drawn


def test_few_draws_say_nothing_about_chains():
    f = filtered(TINY, 3, Biased(0.5))
    assert len(f.sample(5)) == 5 and f.diagnostics()["advice"].endswith("need 16 draws or more")
    assert f.sample(0) == [] and f.diagnostics()["settled"]


def test_exact_samplers_are_worth_what_they_draw():
    state = position(TINY, 3, False)
    for method in ("deals", "layers"):
        f = fl.history_filter(TINY, state.observations(fl.PUBLIC), method=method)
        f.sample(50)
        assert f.diagnostics()["exact"] and f.diagnostics()["effective"] == 50.0
        f.sample(7)
        assert f.diagnostics()["effective"] == 7.0
    pytest.importorskip("pysat")
    f = fl.history_filter("three_sat(variables=3,clauses=1)", [1, 1, 1], method="sat")
    f.sample(9)
    assert f.diagnostics()["exact"] and f.diagnostics()["effective"] == 9.0


def test_weighted_samples_are_worth_less():
    assert effective_size(np.array([1.0, 1.0, 2.0])) == pytest.approx(16 / 6)
    assert effective_size(np.zeros(3)) == 0.0
    deals = DealFilter(TINY, position(TINY, 3, False).observations(fl.PUBLIC), fl.PUBLIC, Biased(0.7))
    _, weights, _ = deals.weighted(500)
    told = deals.diagnostics()
    assert told["method"] == "importance" and not told["exact"]
    assert told["effective"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum()) and told["effective"] < 450


def test_a_policy_that_rules_everything_out_is_told():
    state = position(TINY, 3, False)
    for mover in (None, state.player):
        f = DealFilter(TINY, state.observations(0), 0, Nobody(), mover)
        assert not f.exists() and f.count() == 0
        with pytest.raises(
            fl.BadInput, match=r"or the policy rules all of them out; give a policy that may play every"
        ):
            f.sample(5)


def test_r_hat_by_hand():
    # two chains of four states; halves (0, 2), (0, 2), (4, 6), (4, 6): W = 2, B = variance of (1, 1, 5, 5) = 16/3
    trace = np.array([[[0.0], [2.0], [0.0], [2.0]], [[4.0], [6.0], [4.0], [6.0]]])
    assert r_hat(trace) == pytest.approx([np.sqrt(1 / 2 + 16 / 3 / 2)])
    assert r_hat(np.ones((2, 4, 1))) == pytest.approx([np.sqrt(1 / 2)]), "nothing moves, nobody disagrees"
    apart = np.zeros((2, 4, 1))
    apart[1] = 1.0
    assert r_hat(apart) == [np.inf], "each stands still elsewhere"


def test_chains_that_disagree_are_not_trusted():
    pytest.importorskip("arviz_stats")
    noise = np.random.default_rng(0).normal(size=(4, 200, 2))
    good = chain_report(noise)
    assert good["r_hat"] < 1.02 and good["effective"] > 500
    noise[0, :, 1] += 3.0
    bad = chain_report(noise)
    assert bad["r_hat"] > 1.2 and bad["effective"] < 50
    still = np.zeros((4, 200, 2))
    assert chain_report(still) == {"effective": 800.0, "r_hat": 1.0}
    still[0] = 1.0
    assert chain_report(still)["r_hat"] > 1.2


def test_burn_in_ends_at_the_longest_and_says_so(monkeypatch):
    monkeypatch.setattr(chains, "_LONGEST", 512)
    state = position(SMALL, 3, False)
    some = DealFilter(SMALL, state.observations(fl.PUBLIC), fl.PUBLIC, Biased(0.95, 1)).chains(4, seed=1, swaps=False)
    settle(some)
    assert [chain.burn_in for chain in some] == [256 + 512] * 4
    assert not any(chain.settled for chain in some)


def test_chains_start_apart_and_follow_the_seed():
    state = position(SMALL, 3, False)
    deals = DealFilter(SMALL, state.observations(fl.PUBLIC), fl.PUBLIC, Uniform())
    starts = [chain.deal.tolist() for chain in deals.chains(4, seed=1)]
    assert len({tuple(start) for start in starts}) == 4
    assert [chain.deal.tolist() for chain in deals.chains(4, seed=1)] == starts
    with pytest.raises(fl.BadInput, match="chains must be at least 1, not 0"):
        deals.sample(5, chains=0)


def test_many_cells_ask_for_the_cheaper_chain():
    for name, plays, swaps in ((SMALL, 3, False), ("spades", 8, True)):
        deals = DealFilter(name, position(name, plays, False).observations(fl.PUBLIC), fl.PUBLIC, Uniform())
        assert {chain.swaps for chain in deals.chains(2)} == {swaps}
