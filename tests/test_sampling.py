"""Monte Carlo CFR: right in expectation, convergent, and the same again from its seed or a checkpoint."""

import numpy as np
import pytest

from foglight.names import BadInput
from foglight.solving.solver import nash_conv, solve
from foglight.solving.whole import sampling
from foglight.solving.whole.plans import gaps, normalised, realised, write_gradient
from foglight.solving.whole.regret import update
from foglight.solving.whole.sampling import METHODS, Sampling
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.solving.whole.solved import Solved
from foglight.solving.whole.tree import build_tree

SIGMAS = 5.0  # a normal variable is further from its mean once in 1.7 million draws


def after_the_deal():
    """Kuhn poker from its six deals, which chance makes unevenly."""
    rows = build_tree("kuhn_poker", depth=2).leaf_rows
    return SequenceForm(build_tree("kuhn_poker", roots=rows), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))


FORMS = {
    "kuhn_poker": lambda: sequence_form("kuhn_poker"),
    "kuhn_poker after the deal": after_the_deal,
    "goofspiel": lambda: sequence_form("goofspiel(cards=3)"),
}


def some_behaviour(sequences):
    """Different everywhere; with two seats, some actions are ruled out."""
    sums = np.random.default_rng(5).random(sequences.num_sequences)
    return normalised(sequences.form, np.where(sums < 0.2, 0.0 if sequences.tree.num_seats == 2 else 0.2, sums))


def walks(sequences, method, seat, n):
    """What n walks, each from the same behaviour, add to regrets and sums: float64[n, S] each."""
    solver, behaviour = Sampling(sequences, method, 7), some_behaviour(sequences)
    regrets, sums = np.empty((n, len(behaviour))), np.empty((n, len(behaviour)))
    for i in range(n):
        solver.regrets[:], solver.sums[:], solver.behaviour[:] = 0.0, 0.0, behaviour
        solver._walk(1, np.array([seat]))
        regrets[i], sums[i] = solver.regrets, solver.sums
    return regrets, sums


def exact_regrets(sequences, seat):
    form, behaviour = sequences.form, some_behaviour(sequences)
    regrets, sums, gradient = (np.zeros(sequences.num_sequences) for _ in range(3))
    plan = realised(sequences, behaviour)
    write_gradient(form, plan, seat, gradient)
    update(form, 0, 1, seat, regrets, sums, behaviour, plan, gradient)
    return regrets


def exact_sums(sequences, seat):
    """A sequence of the seat after `seat` counts as its plan does, times how likely chance allows its state."""
    form, tree = sequences.form, sequences.tree
    masses = np.bincount(sequences.states[tree.deciding], sequences.chance[tree.deciding])
    expected, plan = np.zeros(sequences.num_sequences), realised(sequences, some_behaviour(sequences))
    after = (seat + 1) % tree.num_seats
    for i in range(form.state_begins[after], form.state_begins[after + 1]):
        here = slice(form.begins[i], form.ends[i])
        expected[here] = masses[i] * plan[here] / sequences.root_odds.sum()
    return expected


def check_means(samples, expected):
    errors = samples.std(0) / np.sqrt(len(samples))
    assert (abs(samples.mean(0) - expected) <= SIGMAS * errors + 1e-12).all()


# False alarms: a few dozen numbers are compared in each case, so fewer than one in 10^4 seeds would fail in any.
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FORMS)
def test_one_walk_adds_the_regrets_of_cfr_in_expectation(name, method, seat):
    sequences = FORMS[name]()
    regrets, sums = walks(sequences, method, seat, 20_000)
    assert abs(exact_regrets(sequences, seat)).max() > 0.01
    check_means(regrets, exact_regrets(sequences, seat))
    check_means(sums, exact_sums(sequences, seat))


# In Leduc poker most information states are rare, so random mixtures of all regrets are compared: 16 numbers.
@pytest.mark.parametrize("method", METHODS)
def test_mixtures_of_regrets_are_right_in_a_larger_game(method):
    sequences = sequence_form("leduc_poker")
    mixtures = np.random.default_rng(3).normal(size=(sequences.num_sequences, 8))
    regrets, sums = walks(sequences, method, 1, 4_000)
    check_means(regrets @ mixtures, exact_regrets(sequences, 1) @ mixtures)
    check_means(sums @ mixtures, exact_sums(sequences, 1) @ mixtures)


# 16 numbers again.
@pytest.mark.parametrize("seat", [0, 1, 2])
def test_outcome_sampling_is_right_for_three_seats(seat):
    sequences = sequence_form("openspiel:kuhn_poker(players=3)")
    regrets, sums = walks(sequences, "outcome", seat, 20_000)
    mixtures = np.random.default_rng(3).normal(size=(sequences.num_sequences, 8))
    check_means(regrets @ mixtures, exact_regrets(sequences, seat) @ mixtures)
    check_means(sums @ mixtures, exact_sums(sequences, seat) @ mixtures)


@pytest.mark.parametrize(
    ("name", "method", "iterations", "most"),
    [
        ("kuhn_poker", "external", 100_000, 0.01),
        ("kuhn_poker", "outcome", 100_000, 0.02),
        ("leduc_poker", "external", 100_000, 0.12),
        ("leduc_poker", "outcome", 1_000_000, 0.2),
    ],
)
def test_the_average_approaches_equilibrium(name, method, iterations, most):
    policy = solve(name, iterations, method, seed=1)
    assert policy.exploitability < most
    assert policy.value == pytest.approx({"kuhn_poker": -1 / 18, "leduc_poker": -0.085606}[name], abs=most)


@pytest.mark.parametrize("method", METHODS)
def test_three_seats(method):
    name = "openspiel:kuhn_poker(players=3)"
    policy = solve(name, 200_000, method, seed=1)
    assert nash_conv(name, policy) < 0.1 < nash_conv(name, {})  # {}: uniform


@pytest.mark.parametrize("method", METHODS)
def test_going_on_gives_the_same_as_never_stopping(method, tmp_path):
    whole = solve("leduc_poker", 1000, method, seed=4)
    part = solve("leduc_poker", 300, method, seed=4)
    part.save(tmp_path / "part.npz")
    for resumed in (part, Solved.load(tmp_path / "part.npz"), tmp_path / "part.npz"):
        again = solve("leduc_poker", 1000, method, seed=4, resume=resumed)
        assert np.array_equal(again.probabilities, whole.probabilities)
        assert again.state.keys() == whole.state.keys() >= {"random"}
        assert all(np.array_equal(again.state[name], whole.state[name]) for name in whole.state)
    assert not np.array_equal(solve("leduc_poker", 1000, method, seed=5).probabilities, whole.probabilities)


def test_going_on_with_another_seed_is_refused():
    part = solve("kuhn_poker", 10, "external", seed=1)
    with pytest.raises(BadInput, match="its seed is 1, not 2"):
        solve("kuhn_poker", 20, "external", seed=2, resume=part)


@pytest.mark.plain
@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_interpreted_walks_are_the_same(method):
    sequences, solvers = sequence_form("kuhn_poker"), []
    for walk in (sampling._walk, sampling._walk.py_func):
        solver = Sampling(sequences, method, 3)
        walk(
            solver._board, METHODS.index(method), 200, np.arange(2),
            solver.regrets, solver.sums, solver.behaviour, solver._values, solver.random,
        )  # fmt: skip
        solvers.append(solver)
    first, second = (solver.state() for solver in solvers)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert (
        gaps(sequences, solvers[0].average()).mean()
        < gaps(sequences, normalised(sequences.form, 0 * first["sums"])).mean()
    )


def test_a_game_for_one_is_refused():
    with pytest.raises(BadInput, match="sampling needs two seats or more"):
        solve("openspiel:catch(rows=3,columns=2)", 10, "external")
