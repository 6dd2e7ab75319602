"""Linear programs: known values, equilibria nobody gains against, and agreement with pure strategies one by one."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import foglight as fl
from foglight.names import BadInput
from foglight.solving.solver import game_value, solve
from foglight.solving.whole.linear import equilibrium, fixed_value
from foglight.solving.whole.plans import best_response, counterfactual_values, gaps, normalised
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.solving.whole.tree import build_tree

VALUES = {
    "kuhn_poker": -1 / 18,
    "leduc_poker": -0.085606424078,
    "goofspiel(cards=4)": 0.0,
    "goofspiel(cards=5)": 0.0,
    "openspiel:kuhn_poker": -1 / 18,
}


@pytest.mark.parametrize("name", VALUES)
def test_known_values(name):
    assert game_value(name) == pytest.approx(VALUES[name], abs=1e-8)


@pytest.mark.parametrize("name", ["unseen_rps", *VALUES, "liars_dice(dice=1,sides=4)"])
def test_nobody_gains_against_an_equilibrium(name):
    sequences = sequence_form(name)
    value, behaviour = equilibrium(sequences)
    assert gaps(sequences, behaviour) == pytest.approx([0.0, 0.0], abs=1e-8)
    assert counterfactual_values(sequences, behaviour)[0][0] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice=1,sides=4)"])
def test_cfr_plus_is_as_far_from_the_value_as_it_can_be_exploited_at_most(name):
    policy = solve(name, 500)
    assert abs(policy.value - game_value(name)) <= 2 * policy.exploitability  # the mean of what the seats could gain
    assert policy.exploitability < 0.01


# Pure strategies one by one --------------------------------------------------------------------------------------


def information_states(state, seat, found):
    """All the information states of a seat below a state, with their legal actions."""
    if state.player == fl.TERMINAL:
        return found
    if state.player == seat:
        found[tuple(state.observations(seat))] = state.actions()
    for action in state.actions():
        after = state.clone()
        after.play(action)
        information_states(after, seat, found)
    return found


def pure_strategies(name, seat):
    states = information_states(fl.new_state(name), seat, {})
    return [dict(zip(states, choice, strict=True)) for choice in itertools.product(*states.values())]


def outcomes(state, plans, odds=1.0):
    """What seat 0 gets from two pure strategies."""
    if state.player == fl.TERMINAL:
        return odds * state.returns()[0]
    if state.player == fl.CHANCE:
        moves = state.chance()
    else:
        moves = [(plans[state.player][tuple(state.observations(state.player))], 1.0)]
    total = 0.0
    for action, share in moves:
        after = state.clone()
        after.play(action)
        total += outcomes(after, plans, odds * share)
    return total


def matrix_value(payoffs):
    """The value of a matrix game to the seat that picks the row: maximise v with payoffs' x >= v, sum x = 1."""
    rows, columns = payoffs.shape
    result = linprog(
        [*np.zeros(rows), -1.0],
        A_ub=np.hstack([-payoffs.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[*np.ones(rows), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    return -result.fun


# Rock-paper-scissors is worth 0, a way out what it pays if that is more. In Kuhn poker each seat has three cards and
# two situations in which to pass or bet: 2^6 pure strategies.
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("unseen_rps", (4, 3)), ("unseen_rps(leave_value=0.5)", (4, 3)), ("kuhn_poker", (64, 64))],
)
def test_the_matrix_of_all_pure_strategies_has_the_same_value(name, sizes):
    ours, theirs = pure_strategies(name, 0), pure_strategies(name, 1)
    assert (len(ours), len(theirs)) == sizes
    start = fl.new_state(name)
    payoffs = np.array([[outcomes(start, (one, other)) for other in theirs] for one in ours])
    assert game_value(name) == pytest.approx(matrix_value(payoffs), abs=1e-9)


# Fixed behaviour -------------------------------------------------------------------------------------------------


def some_behaviour(sequences):
    return normalised(sequences.form, np.random.default_rng(2).random(sequences.num_sequences))


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)"])
def test_nothing_fixed_is_the_game_and_everything_fixed_a_best_response(name):
    sequences = sequence_form(name)
    behaviour, none = some_behaviour(sequences), np.zeros(sequences.num_states, bool)
    for seat, sign in ((0, 1.0), (1, -1.0)):
        assert fixed_value(sequences, seat, behaviour, none) == pytest.approx(sign * game_value(name), abs=1e-8)
        best, _ = best_response(sequences, behaviour, 1 - seat)
        assert fixed_value(sequences, seat, behaviour, ~none) == pytest.approx(-best[0], abs=1e-8)


def test_what_is_fixed_of_the_other_seat_does_not_matter():
    sequences = sequence_form("leduc_poker")
    theirs = np.arange(sequences.num_states) >= sequences.form.state_begins[1]
    assert fixed_value(sequences, 0, some_behaviour(sequences), theirs) == pytest.approx(
        VALUES["leduc_poker"], abs=1e-8
    )


def test_a_kuhn_bluff_fixed_too_high_costs_what_the_caller_gains():
    # Seat 0 must bet with jack and king, too many bluffs, so that a queen gains by calling. The matrix of the pure
    # strategies that obey tells what that costs.
    sequences = sequence_form("kuhn_poker")
    behaviour, fixed = np.zeros(sequences.num_sequences), np.zeros(sequences.num_states, bool)
    obeying = []
    for card in ("jack", "king"):
        state = fl.new_state("kuhn_poker")
        for word in (card, "queen"):
            state.play(state.parse_action(word))
        i = np.flatnonzero(sequences.keys == fl.rules.key(state.game, state.world, 0))[0]
        fixed[i] = True
        behaviour[sequences.form.begins[i] + 1] = 1.0
        obeying.append(tuple(state.observations(0)))
    ours = [plan for plan in pure_strategies("kuhn_poker", 0) if all(plan[seen] == 1 for seen in obeying)]
    assert len(ours) == 16
    start, theirs = fl.new_state("kuhn_poker"), pure_strategies("kuhn_poker", 1)
    payoffs = np.array([[outcomes(start, (one, other)) for other in theirs] for one in ours])
    value = fixed_value(sequences, 0, behaviour, fixed)
    assert value == pytest.approx(matrix_value(payoffs), abs=1e-9)
    assert value < game_value("kuhn_poker") - 0.01


def test_fixing_an_equilibriums_trunk_costs_nothing_and_fixing_more_never_helps():
    sequences = sequence_form("leduc_poker")
    value, behaviour = equilibrium(sequences)
    order = np.arange(sequences.num_states) % 468  # of each seat's 468 information states, as they are met
    assert fixed_value(sequences, 0, behaviour, order < 40) == pytest.approx(value, abs=1e-8)
    assert fixed_value(sequences, 1, behaviour, order < 40) == pytest.approx(-value, abs=1e-8)
    behaviour = some_behaviour(sequences)
    worth = [fixed_value(sequences, 0, behaviour, order < n) for n in (0, 10, 100, 300, 468)]
    assert (np.diff(worth) < 1e-9).all()


# Ranges ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dealt():
    """Kuhn poker from its six deals: each seat knows its card."""
    rows = build_tree("kuhn_poker", depth=2).leaf_rows
    return SequenceForm(build_tree("kuhn_poker", roots=rows), np.full(6, 1 / 6))


def test_ranges_of_one_are_the_whole_game(dealt):
    value, behaviour = equilibrium(dealt)
    assert value == pytest.approx(-1 / 18, abs=1e-8)
    assert gaps(dealt, behaviour) == pytest.approx([0.0, 0.0], abs=1e-8)


def test_any_ranges_have_an_equilibrium_that_cfr_plus_finds_too(dealt):
    ranges = [np.array([0.9, 0.2, 0.5]), np.array([0.3, 1.0, 0.0])]
    value, behaviour = equilibrium(dealt, ranges)
    assert gaps(dealt, behaviour, ranges) == pytest.approx([0.0, 0.0], abs=1e-8)
    solver = Regrets(dealt, "cfr+", ranges)
    solver.iterate(2000)
    average = solver.average()
    reached = counterfactual_values(dealt, average, ranges)[0] @ ranges[0]
    assert abs(reached - value) <= gaps(dealt, average, ranges).sum() < 1e-3


def test_fixed_behaviour_under_ranges(dealt):
    ranges = [np.array([0.9, 0.2, 0.5]), np.array([0.3, 1.0, 0.0])]
    value, _ = equilibrium(dealt, ranges)
    behaviour, none = some_behaviour(dealt), np.zeros(dealt.num_states, bool)
    for seat, sign in ((0, 1.0), (1, -1.0)):
        assert fixed_value(dealt, seat, behaviour, none, ranges) == pytest.approx(sign * value, abs=1e-8)
        best, _ = best_response(dealt, behaviour, 1 - seat, ranges)
        assert fixed_value(dealt, seat, behaviour, ~none, ranges) == pytest.approx(-best @ ranges[1 - seat], abs=1e-8)


# What cannot be solved -------------------------------------------------------------------------------------------


def test_other_games_are_refused():
    with pytest.raises(BadInput, match="has 3 seats; a linear program solves games of two seats only"):
        game_value("openspiel:kuhn_poker(players=3)")
    with pytest.raises(BadInput, match="is not zero-sum"):
        game_value("openspiel:tiny_hanabi")
