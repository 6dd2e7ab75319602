"""Filtering the 3-FSAT game is hard for enumeration and easy for a solver, told by counting and never by the clock."""

import itertools
import random

import pytest

import foglight as fl
from foglight.names import BadInput
from foglight.studies import run_study, sat_hardness

pytest.importorskip("pysat")
CHOSEN, DRAWN, FIRST_CLAUSE = 1, 4, 5  # what the public observes


def shown(variables, clauses):
    """The public's observations of these clauses, each three literals by ascending variable, counted from 1."""
    codes = [CHOSEN] * variables
    for clause in clauses:
        literals = sum(abs(literal) << 6 * i for i, literal in enumerate(clause))
        signs = sum((literal < 0) << i for i, literal in enumerate(clause))
        codes += [DRAWN] * 3 + [FIRST_CLAUSE + (literals << 3 | signs)]
    return codes


def largest_layer(variables):
    state = sat_hardness.play(variables, seed=1)
    found = fl.history_filter(state.game, state.observations(fl.PUBLIC), method="layers")
    return found.diagnostics()["largest_layer"]


def test_enumeration_at_least_doubles_with_each_variable():
    sizes = [largest_layer(n) for n in range(3, 10)]
    # all assignments, times the triples that nature may be drawing: 2^3 * 1, 2^4 * 4, 2^5 * 10, 2^6 * 20, ...
    assert sizes == [8, 64, 320, 1280, 4480, 14_336, 43_008]
    assert all(after >= 2 * before for before, after in itertools.pairwise(sizes))


@pytest.mark.parametrize("seed", range(3))
def test_a_solver_constructs_what_enumeration_cannot_reach(seed):
    state = sat_hardness.play(60, seed)
    seen = state.observations(fl.PUBLIC)
    with pytest.raises(BadInput, match="more than 20000 worlds"):
        fl.history_filter(state.game, seen, method="layers", limit=20_000)
    found = fl.history_filter(state.game, seen)
    assert found.method == "sat" and found.exists()
    assert found.construct(seed=seed).observations(fl.PUBLIC) == seen


def test_both_ways_count_the_same_histories():
    for seed in range(5):
        state = sat_hardness.play(6, seed)
        seen = state.observations(fl.PUBLIC)
        counts = [fl.history_filter(state.game, seen, method=method).count() for method in ("layers", "sat")]
        assert counts[0] == counts[1] >= 1


def test_a_formula_that_cannot_hold_has_no_history():
    every_sign = [[a * 1, b * 2, c * 3] for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    for method in ("layers", "sat"):
        seven = fl.history_filter("three_sat(variables=4,clauses=8)", shown(4, every_sign[:7]), method=method)
        assert seven.count() == 2, "x1, x2 and x3 are settled, x4 is free"
        eight = fl.history_filter("three_sat(variables=4,clauses=8)", shown(4, every_sign), method=method)
        assert not eight.exists() and eight.count() == 0


def test_a_large_formula_that_cannot_hold_has_no_history():
    # a random formula of 300 clauses has 2^50 * (7 / 8)^300 = 0.005 satisfying assignments on average
    rng = random.Random(2)
    clauses = [[v * rng.choice((1, -1)) for v in sorted(rng.sample(range(1, 51), 3))] for _ in range(300)]
    found = fl.history_filter("three_sat(variables=50,clauses=300)", shown(50, clauses))
    assert found.method == "sat" and not found.exists()
    with pytest.raises(BadInput, match="no history"):
        found.construct()


def test_the_study_shows_both(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sat_hardness, "ENUMERATED", {True: range(3, 6)})
    monkeypatch.setattr(sat_hardness, "SOLVED", (20,))
    table = run_study("sat_hardness", tmp_path, quick=True, seed=1)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [row[:3] for row in rows] == [["3", "13", "8"], ["4", "17", "64"], ["5", "21", "320"], ["20", "85", ""]]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
