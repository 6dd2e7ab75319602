"""Fitting the network that corrects the evaluation of chess: positions, descriptions, weights as whole numbers."""

import numpy as np
import pytest

import foglight as fl
from foglight.blind_chess import network_fit
from foglight.chess import evaluation as estimate
from foglight.chess import network
from foglight.compile import kernel

torch = pytest.importorskip("torch")


@kernel
def _formula(rows, out):
    for i in range(len(rows)):
        out[i] = estimate.centipawns(8, rows[i])


@kernel
def _corrected(rows, out):
    for i in range(len(rows)):
        out[i] = estimate.corrected(8, rows[i])


def corrections(weights, data):
    """What a network adds to the formula, by the weights as whole numbers and the descriptions of all pieces."""
    table = np.vstack([weights["weights"], np.zeros_like(weights["weights"][:1])]).astype(np.int64)
    hidden = table[data.pieces].sum(axis=1) + weights["bias"]
    hidden += np.round(data.formula).astype(np.int64)[:, None] * weights["estimate"] >> 8
    return ((np.maximum(hidden, 0) * weights["output"]).sum(axis=1) + weights["constant"]) / network.UNIT


def test_what_is_learned_is_what_the_evaluation_sees():
    """The descriptions of pieces, and the shipped weights, give the corrections that the compiled network gives."""
    rows = network_fit.positions(3000, 7)
    formula, corrected = np.empty(len(rows)), np.empty(len(rows))
    _formula(rows, formula)
    _corrected(rows, corrected)
    open_ = np.abs(formula) <= estimate.MOST
    data = network_fit.describe(rows, formula)
    with np.load(network.PATH) as weights:
        assert corrections(weights, data) == pytest.approx((corrected - formula)[open_], abs=1e-6)
    assert open_.sum() == len(data.pieces) > 2000


def test_positions_follow_from_the_seed_and_differ():
    rows, same, other = (network_fit.positions(2000, seed) for seed in (1, 1, 2))
    assert (rows == same).all() and not (rows == other).all()
    assert len(np.unique(rows, axis=0)) > 1800


def test_a_network_learns_what_the_formula_lacks_and_keeps_it_as_whole_numbers():
    """Every knight of the mover is worth 150 more than the formula says: most of the error must vanish."""
    rows = network_fit.positions(30_000, 3)
    out = np.empty(len(rows))
    _formula(rows, out)
    data = network_fit.describe(rows, out)
    assert len(data.formula) > 20_000 and (data.formula == data.wanted).all()
    knights = ((data.pieces >= 256) & (data.pieces < 512)).sum(axis=1)
    data = data._replace(wanted=data.formula + 150.0 * knights)
    told = []
    weights, (before, after) = network_fit.fit(data, 25, 0, lambda done, total: told.append((done, total)))
    assert before > 0.1 and after < before / 4 and told[-1][0] == told[-1][1] == len(told)
    for name, array in (("WEIGHTS", "weights"), ("BIAS", "bias"), ("ESTIMATE", "estimate"), ("OUTPUT", "output")):
        assert (
            weights[array].shape == getattr(network, name).shape
            and weights[array].dtype == getattr(network, name).dtype
        )
    assert np.abs(weights["weights"]).max() <= network.OFFSET
    correction = corrections(weights, data)
    assert np.abs(correction - 150.0 * knights).mean() < 60.0  # whole numbers lose little


def test_blocks_are_made_once(monkeypatch, tmp_path):
    monkeypatch.setattr(network_fit, "BLOCK", 50)
    asked = []

    def valued(rows, depth, show, done, total):
        asked.append((len(rows), depth, done, total))
        return np.arange(len(rows), dtype=float)

    monkeypatch.setattr(network_fit, "valued", valued)
    rows, values = network_fit.collected(tmp_path, 2, 4)
    again, _ = network_fit.collected(tmp_path, 3, 4)
    assert asked == [(50, 4, 0, 100), (50, 4, 50, 100), (50, 4, 100, 150)]
    assert (again[:100] == rows).all() and values.tolist() == [*range(50)] * 2


def test_an_engine_says_what_positions_are_worth_to_the_side_to_move():
    pytest.importorskip("chess")
    try:
        rows = network_fit.positions(20, 5)
        values = network_fit.valued(rows, 1, lambda *_: None, 0, 20)
    except fl.BadInput as error:
        pytest.skip(str(error))
    out = np.empty(20)
    _formula(rows, out)
    assert np.corrcoef(np.clip(values, -2000, 2000), np.clip(out, -2000, 2000))[0, 1] > 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "x.npz", "--blocks", "0"], "error: --blocks, --depth and --epochs must be at least 1"),
        (["--out", "nowhere/x.npz"], "error: there is no folder nowhere; choose another --out"),
    ],
)
def test_bad_options_get_one_line_before_anything_is_made(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=words):
        network_fit.main(arguments)
    assert not list(tmp_path.iterdir())
