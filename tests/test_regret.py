"""Regret minimisation beside a slow walk of every history, iteration by iteration."""

import numpy as np
import pytest
from oracles import cfr, histories, information

from foglight.rules import key
from foglight.solving.whole.regret import METHODS, FormRegrets, Regrets
from foglight.solving.whole.sequences import sequence_form


@pytest.mark.parametrize("form_only", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=3)", "unseen_rps"])
def test_every_method_does_what_recursion_does(game, method, form_only):
    averages, regrets, sums = cfr(game, 6, method)
    sequences = sequence_form(game)
    solver = FormRegrets(sequences.form, method) if form_only else Regrets(sequences, method)
    assert solver.iterations == 0
    solver.iterate(1)  # going on is the same as one run
    solver.iterate(5)
    assert solver.iterations == 6
    average, form = solver.average(), sequences.form
    places = {int(k): i for i, k in enumerate(sequences.keys)}
    seen = set()
    for state in histories(game):
        if state.player >= 0:
            i = places[int(key(state.game, state.world, state.player))]
            own = slice(form.begins[i], form.ends[i])
            assert average[own] == pytest.approx(averages[information(state)], abs=1e-9)
            assert solver.regrets[own] == pytest.approx(regrets[information(state)], abs=1e-9)
            assert solver.sums[own] == pytest.approx(sums[information(state)], abs=1e-9)
            seen.add(i)
    assert len(seen) == sequences.num_states


def test_the_state_of_a_solver_is_all_that_going_on_needs():
    first = Regrets(sequence_form("kuhn_poker"), "pcfr+")
    first.iterate(3)
    second = Regrets(sequence_form("kuhn_poker"), "pcfr+")
    for name, column in first.state().items():
        getattr(second, name)[:] = column
    second.iterations = 3
    for solver in (first, second):
        solver.iterate(2)
    assert np.array_equal(first.average(), second.average())
    assert set(first.state()) == {"regrets", "sums", "behaviour", "plan"}
