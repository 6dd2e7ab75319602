"""Depth-limited solving: trunks with exact leaves approach equilibrium, resolving keeps what it promises."""

import numpy as np
import pytest

import foglight as fl
from foglight.policies import Biased, Uniform
from foglight.solving.depth_limited.resolving import opponent_values, resolve_safely, resolve_unsafely
from foglight.solving.depth_limited.subgame import Evaluator, Function, Oracle, Subgames
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, TrunkSolver, solve_trunk, trunk_exploitability
from foglight.solving.solver import game_value, solve
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import best_response, counterfactual_values, realised
from foglight.solving.whole.sequences import sequence_form

TRUNKS = [("kuhn_poker", 3), ("goofspiel(cards=3)", 2), ("goofspiel(cards=4)", 2), ("leduc_poker", 7)]


def spliced(game, policy, others):
    """Behaviour on the whole game: the first policy, but what the others know at their own states."""
    sequences = sequence_form(game)
    behaviour = behaviour_of(sequences, policy)
    for other in others:
        theirs = behaviour_of(sequences, other)
        for i in np.flatnonzero(np.isin(sequences.keys, other.keys)):
            own = slice(sequences.form.begins[i], sequences.form.ends[i])
            behaviour[own] = theirs[own]
    return behaviour


# Leaves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "depth"), TRUNKS)
def test_the_values_of_the_leaves_add_up_to_the_game(game, depth):
    """A policy's values at the leaves, summed over its own range, and what ends in the trunk give the game's value."""
    policy = Biased(0.6)
    trunk = Trunk(game, depth)
    plan = realised(trunk.sequences, behaviour_of(trunk.sequences, policy))
    ranges = trunk.leaf_ranges(plan)
    subgames = Subgames(trunk.public_states)
    below = behaviour_of(subgames.sequences, policy)
    worth = subgames.parted(counterfactual_values(subgames.sequences, below, subgames.joined(ranges)))
    whole = counterfactual_values(sequence_form(game), behaviour_of(sequence_form(game), policy))
    in_trunk = counterfactual_values(trunk.sequences, behaviour_of(trunk.sequences, policy))
    for seat in (0, 1):
        at_leaves = sum(given[seat] @ by_seat[seat] for given, by_seat in zip(ranges, worth, strict=True))
        assert in_trunk[seat][0] + at_leaves == pytest.approx(whole[seat][0], abs=1e-12)


def test_public_states_hold_their_histories():
    trunk = Trunk("leduc_poker", 7)
    assert len(trunk.public_states) == 54
    for public in trunk.public_states:
        assert len(public.rows) == len(public.chance) == 20  # 5 cards that one seat may hold, 4 for the other
        assert [len(keys) for keys in public.keys] == [5, 5]
        assert public.chance.sum() == pytest.approx(1 / 6)  # of the public card


def test_a_cut_that_nobody_notices_is_refused():
    with pytest.raises(fl.BadInput, match="cannot be cut at depth 1"):
        Trunk("phantom_ttt", 1)


# Solving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "depth", "bound"), [("kuhn_poker", 3, 0.01), ("goofspiel(cards=4)", 2, 0.01)])
def test_with_exact_leaves_a_trunk_approaches_an_equilibrium(game, depth, bound):
    trunk = Trunk(game, depth)
    judge = TrunkJudge(trunk)
    solver = TrunkSolver(trunk, Oracle(300))
    found = []
    for _ in range(3):
        solver.iterate(60)
        found.append(judge.exploitability(solver.policy()))
    assert found[-1] < bound < judge.exploitability(Uniform())
    assert found[-1] < found[0]
    assert solver.iterations == 180


def test_an_equilibrium_has_an_equilibriums_trunk():
    for game, depth in TRUNKS[:3]:
        policy = solve(game, 20_000, "pcfr+")
        assert policy.exploitability < 1e-5
        assert trunk_exploitability(Trunk(game, depth), policy) == pytest.approx(0.0, abs=5e-5)


def test_trunk_exploitability_by_programming_and_by_regret_agree():
    judge = TrunkJudge(Trunk("goofspiel(cards=4)", 2))
    for policy in (Uniform(), Biased(0.5), Biased(0.9)):
        exact = judge.exploitability(policy)
        assert exact <= judge.exploitability(policy, 4000) + 1e-9
        assert judge.exploitability(policy, 4000) == pytest.approx(exact, abs=2e-3)
        assert exact > 0.01


def test_a_trunk_that_is_the_whole_game_needs_no_leaves():
    trunk = Trunk("kuhn_poker", 99)
    assert trunk.leaves == []
    policy = solve_trunk(trunk, Function(lambda public, ranges: []), 100)
    assert np.allclose(policy.probabilities, solve("kuhn_poker", 100).probabilities, atol=1e-12)


def check_empty(evaluator, trunk):
    """What an evaluator says of no leaves."""
    plan = trunk.sequences.start()
    evaluator.start(trunk.public_states)
    assert evaluator.values(trunk.leaf_ranges(plan)) == []
    flat = trunk.flat_ranges(plan)
    answers = [evaluator.flat_values(flat), *(evaluator.seat_values(flat, seat) for seat in (0, 1))]
    assert [(answer.shape, answer.dtype) for answer in answers] == 3 * [((0,), np.dtype(float))]


@pytest.mark.parametrize("evaluator", [Oracle(50), Function(lambda public, ranges: [])])
def test_evaluators_have_nothing_to_say_of_a_trunk_without_leaves(evaluator):
    trunk = Trunk("kuhn_poker", 99)
    check_empty(evaluator, trunk)
    policy = solve_trunk(trunk, evaluator, 100)
    assert np.allclose(policy.probabilities, solve("kuhn_poker", 100).probabilities, atol=1e-12)


def test_networks_have_nothing_to_say_of_a_trunk_without_leaves():
    pytest.importorskip("torch")
    from foglight.values.networks.evaluator import Network
    from foglight.values.networks.shipped import shipped_network

    check_empty(Network(shipped_network("leduc_poker")), Trunk("leduc_poker", 99))


def test_no_subgames_begin_nowhere():
    with pytest.raises(fl.BadInput, match="subgames begin at public states, but none was given"):
        Subgames(Trunk("kuhn_poker", 99).public_states)


def test_an_evaluator_is_a_function_of_a_few_lines():
    """Leaves that are worth nothing: what ends in the trunk is all that counts."""
    asked = []

    def nothing(public, ranges):
        asked.append(public.key)
        return [np.zeros(len(keys)) for keys in public.keys]

    trunk = Trunk("kuhn_poker", 4)
    solve_trunk(trunk, Function(nothing), 10)
    assert len(asked) == 10 * 2 * len(trunk.leaves)

    class Broken(Evaluator):
        pass

    with pytest.raises(NotImplementedError):
        solve_trunk(trunk, Broken(), 1)


def test_a_trunk_can_begin_at_a_public_belief_state():
    """Goofspiel from the first round's results on, with ranges of an equilibrium: one more round, then the oracle."""
    game, first = "goofspiel(cards=4)", Trunk("goofspiel(cards=4)", 2)
    policy = solve(game, 5000, "pcfr+")
    ranges = first.leaf_ranges(realised(first.sequences, behaviour_of(first.sequences, policy)))
    for public, given in zip(first.public_states, ranges, strict=True):
        trunk = Trunk(game, 2, public, given)
        judge = TrunkJudge(trunk)
        assert judge.exploitability(policy) == pytest.approx(0.0, abs=1e-3)
        assert judge.exploitability(solve_trunk(trunk, Oracle(200), 100)) < 0.01


# Resolving --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "depth"), [("leduc_poker", 7), ("goofspiel(cards=4)", 2)])
@pytest.mark.parametrize("seat", [0, 1])
def test_safe_resolving_is_never_worse_than_what_it_began_with(game, depth, seat):
    policy = solve(game, 40)  # far from equilibrium
    trunk, sequences = Trunk(game, depth), sequence_form(game)
    ranges = trunk.leaf_ranges(realised(trunk.sequences, behaviour_of(trunk.sequences, policy)))
    resolved = []
    for public, given in zip(trunk.public_states, ranges, strict=True):
        allowed = opponent_values(public, policy, given[seat], seat)
        resolved.append(resolve_safely(public, seat, given[seat], allowed, 2000))
        kept = opponent_values(public, resolved[-1], given[seat], seat)
        assert (kept <= allowed + 2e-3).all()
    before = best_response(sequences, behaviour_of(sequences, policy), 1 - seat)[0][0]
    after = best_response(sequences, spliced(game, policy, resolved), 1 - seat)[0][0]
    assert after <= before + 2e-3


def test_unsafe_resolving_can_make_an_equilibrium_exploitable():
    """The reason for the other one: in Leduc poker, subgames solved as if ranges were certain lose a lot."""
    game, seat = "leduc_poker", 0
    policy, sequences, trunk = solve(game, 3000), sequence_form("leduc_poker"), Trunk("leduc_poker", 7)
    ranges = trunk.leaf_ranges(realised(trunk.sequences, behaviour_of(trunk.sequences, policy)))
    unsafe, safe = [], []
    for public, given in zip(trunk.public_states, ranges, strict=True):
        unsafe.append(resolve_unsafely(public, given, 500))
        allowed = opponent_values(public, policy, given[seat], seat)
        safe.append(resolve_safely(public, seat, given[seat], allowed, 500))
    value = -game_value(game)
    lost = [best_response(sequences, spliced(game, policy, new), 1)[0][0] - value for new in (safe, unsafe)]
    assert lost[0] < 0.005
    assert lost[1] > 0.02


def test_resolving_is_for_two_seats():
    trunk = Trunk("openspiel:kuhn_poker(players=3)", 4)
    with pytest.raises(fl.BadInput, match="two seats"):
        resolve_safely(trunk.public_states[0], 0, np.ones(1), np.ones(1))
    with pytest.raises(fl.BadInput, match="two seats"):
        TrunkJudge(trunk)
