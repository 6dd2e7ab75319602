"""Trees, sequence forms and regret minimisation beside slow recursion, and values that are known."""

import random

import numpy as np
import pyspiel
import pytest
from oracles import best_value, cfr, expected, histories, information

import foglight as fl
from foglight.policies import Biased, Tabular, Uniform, tabular
from foglight.rules import key
from foglight.solving.solver import best_response, exploitability, nash_conv, policy_values, solve
from foglight.solving.whole import regret
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import gaps, normalised
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.solving.whole.solved import Solved
from foglight.solving.whole.tree import TooLarge, build_tree

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending))"
PEERS = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice(sides=4)": "liars_dice(numdice=1,dice_sides=4)",
    "goofspiel(cards=4)": GOOFSPIEL.format(4),
}
SMALL = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3)", "goofspiel(cards=3,order=random)", "liars_dice(sides=2)"]


def skewed(state):
    """Some policy that differs from state to state, and gives some actions nothing."""
    rng = random.Random(repr(information(state)))
    odds = [rng.choice([0.0, 1.0, 2.0]) + (k == 0) for k in range(len(state.actions()))]
    return [share / sum(odds) for share in odds]


# Trees --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", SMALL)
def test_a_tree_has_every_history_once(game):
    tree = build_tree(game)
    everything = {tuple(state.history()): state for state in histories(game)}
    found = {tuple(history): node for node, history in enumerate(tree.histories(np.arange(tree.num_nodes)))}
    assert set(found) == set(everything)
    numbers, public = tree.information[0], tree.public[0]
    seen, shown = {}, {}
    ends = dict(zip(tree.terminals.tolist(), tree.payoffs.tolist(), strict=True))
    for history, state in everything.items():
        node = found[history]
        assert tree.movers[node] == state.player
        assert (numbers[node] >= 0) == (state.player >= 0)
        if state.player == fl.TERMINAL:
            assert ends[node] == state.returns()
        else:
            children = range(tree.first_children[node], tree.first_children[node + 1])
            assert tree.actions[children].tolist() == state.actions()
        if state.player == fl.CHANCE:
            assert tree.odds[children] == pytest.approx([share for _, share in state.chance()])
        if state.player >= 0:
            assert seen.setdefault(information(state), numbers[node]) == numbers[node]
            assert tree.keys[node] == key(state.game, state.world, state.player)
        assert shown.setdefault(tuple(state.observations(fl.PUBLIC)), public[node]) == public[node]
    assert len(set(seen.values())) == len(seen) and len(set(shown.values())) == len(shown)


def test_sizes_that_are_known():
    leduc = sequence_form("leduc_poker")
    assert (leduc.tree.num_nodes, leduc.num_states) == (9457, 936)
    for game, depth, publics in (("leduc_poker", 7, 54), ("goofspiel(cards=5)", 4, 9)):
        tree = build_tree(game, depth=depth)
        assert len(np.unique(tree.public_keys[tree.leaves])) == publics


def test_a_tree_of_openspiel_is_the_same():
    ours, theirs = sequence_form("leduc_poker"), sequence_form("openspiel:leduc_poker")
    assert (theirs.tree.num_nodes, theirs.num_states) == (9457, 936)
    assert theirs.form.weights == pytest.approx(ours.form.weights)
    assert np.array_equal(theirs.form.targets, ours.form.targets)


def test_too_large_is_said_at_once_or_on_the_way():
    with pytest.raises(TooLarge, match=r"about 10\^\d+ nodes"):
        build_tree("dark_hex(rows=4,cols=4)")
    with pytest.raises(TooLarge, match=r"nodes down to depth"):
        build_tree("goofspiel(cards=6)", memory=0.01)


def test_forgetful_information_states_are_refused():
    tree = build_tree("kuhn_poker")
    sizes = np.diff(tree.first_children)
    one = tree.deciding[tree.movers[tree.deciding] == 0]
    tree.keys[one] = tree.keys[one[0]]  # seat 0 cannot even tell whether it has moved
    assert (sizes[one] == 2).all()
    with pytest.raises(fl.BadInput, match="forgets"):
        SequenceForm(tree)


# Measuring policies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", SMALL)
def test_values_and_best_responses_beside_recursion(game):
    assert policy_values(game, skewed) == pytest.approx(expected(fl.new_state(game), skewed), abs=1e-12)
    total = 0.0
    for seat in range(2):
        value, response = best_response(game, skewed, seat)
        assert value == pytest.approx(best_value(game, skewed, seat), abs=1e-12)
        assert policy_values(game, response)[seat] == pytest.approx(value, abs=1e-12)
        total += value - policy_values(game, skewed)[seat]
    assert nash_conv(game, skewed) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("game", PEERS)
def test_exploitability_is_openspiels(game):
    peer = pyspiel.load_game(PEERS[game])
    assert exploitability(game, Uniform()) == pytest.approx(
        pyspiel.exploitability(peer, pyspiel.UniformRandomPolicy(peer)), abs=1e-10
    )


@pytest.mark.parametrize("game", PEERS)
def test_exploitability_of_a_fixed_policy_is_openspiels(game):
    """The same policy, told by histories: what each side's information state says of it must agree."""
    peer, table = pyspiel.load_game(PEERS[game]), {}
    ours = {}
    for state in histories(game):
        if state.player >= 0:
            there = peer.new_initial_state()
            for action in state.history():
                there.apply_action(action)
            where = there.information_state_string()
            odds = ours.setdefault(int(key(state.game, state.world, state.player)), skewed(state))
            assert table.setdefault(where, list(zip(state.actions(), odds, strict=True)))[0][1] == odds[0]
    theirs = pyspiel.exploitability(peer, pyspiel.TabularPolicy(table))
    assert exploitability(game, ours) == pytest.approx(theirs, abs=1e-10)
    assert exploitability(game, skewed) == pytest.approx(theirs, abs=1e-10)


@pytest.mark.parametrize("policy", [Biased(0.7), Uniform()])
def test_a_compiled_policy_is_asked_at_every_state(policy):
    game = "leduc_poker"
    sequences = sequence_form(game)
    behaviour = behaviour_of(sequences, policy)
    table = {
        int(k): behaviour[a:b].tolist()
        for k, a, b in zip(sequences.keys, sequences.form.begins, sequences.form.ends, strict=True)
    }
    assert exploitability(game, tabular(table)) == pytest.approx(exploitability(game, policy), abs=1e-12)
    assert all(sum(odds) == pytest.approx(1.0) for odds in table.values())


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (lambda state: [1.0], "2 actions are legal"),
        (lambda state: [0.7] * 2, "add up to 1"),
        (lambda state: {0: 2.0, 1: -1.0}, "not be negative"),
        ("always raise", "a policy is"),
    ],
)
def test_bad_policies_get_one_line(policy, said):
    with pytest.raises(fl.BadInput, match=said) as error:
        exploitability("kuhn_poker", policy)
    assert "\n" not in str(error.value)


def test_a_policy_of_another_game_is_refused():
    policy = solve("kuhn_poker", 10)
    states = sequence_form("leduc_poker")
    wrong = Tabular(np.sort(states.keys), np.arange(len(states.keys) + 1), np.ones(len(states.keys)))
    with pytest.raises(fl.BadInput, match="another game"):
        exploitability("leduc_poker", wrong)
    assert exploitability("leduc_poker", policy) == exploitability("leduc_poker", Uniform())  # it knows none of these


# Solving --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", SMALL)
def test_cfr_plus_does_what_recursion_does(game):
    slow, _, _ = cfr(game, 7)
    solver = Regrets(sequence_form(game), "cfr+")
    solver.iterate(7)
    average, sequences = solver.average(), sequence_form(game)
    places = {int(k): i for i, k in enumerate(sequences.keys)}
    seen = 0
    for state in histories(game):
        if state.player >= 0:
            i = places[int(key(state.game, state.world, state.player))]
            found = average[sequences.form.begins[i] : sequences.form.ends[i]]
            assert found == pytest.approx(slow[information(state)], abs=1e-9)
            seen += 1
    assert seen >= len(places)


@pytest.mark.parametrize("method", regret.METHODS)
@pytest.mark.parametrize(("game", "value"), [("kuhn_poker", -1 / 18), ("goofspiel(cards=3)", 0.0)])
def test_every_method_converges(method, game, value):
    policy = solve(game, 3000, method)
    assert policy.exploitability < 0.003
    assert policy.value == pytest.approx(value, abs=0.003)
    assert exploitability(game, policy) == pytest.approx(policy.exploitability, abs=1e-12)


def test_leduc_converges_to_its_known_value():
    policy = solve("leduc_poker", 3000, "cfr+")
    assert policy.exploitability < 1e-4
    assert policy.value == pytest.approx(-0.085606424078, abs=1e-4)


def test_three_seats_can_be_solved_as_well():
    game = "openspiel:kuhn_poker(players=3)"
    before, after = nash_conv(game, Uniform()), nash_conv(game, solve(game, 2000))
    assert after < 0.01 < before
    assert sum(policy_values(game, Uniform())) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", regret.METHODS)
def test_going_on_gives_the_same_as_one_run(method, tmp_path):
    whole = solve("kuhn_poker", 700, method)
    solve("kuhn_poker", 300, method).save(tmp_path / "part.npz")
    rest = solve("kuhn_poker", 700, resume=tmp_path / "part.npz")  # by the same method
    assert np.array_equal(whole.probabilities, rest.probabilities)
    assert (whole.iterations, whole.exploitability) == (rest.iterations, rest.exploitability)


def test_a_checkpoint_is_gone_on_with(tmp_path):
    path = tmp_path / "here.npz"
    solve("leduc_poker", 40, checkpoint=path)
    assert Solved.load(path).iterations == 40
    again = solve("leduc_poker", 90, checkpoint=path)
    assert np.array_equal(again.probabilities, solve("leduc_poker", 90).probabilities)
    with pytest.raises(fl.BadInput, match="done already"):
        solve("leduc_poker", 80, checkpoint=path)
    with pytest.raises(fl.BadInput, match="its game is leduc_poker"):
        solve("kuhn_poker", 100, checkpoint=path)
    with pytest.raises(fl.BadInput, match=r"its method is cfr\+"):
        solve("leduc_poker", 100, "dcfr", checkpoint=path)


def test_damaged_files_get_one_line(tmp_path):
    path = tmp_path / "policy.npz"
    solve("kuhn_poker", 5).save(path)
    whole = path.read_bytes()
    flipped = whole[:400] + bytes([whole[400] ^ 255]) + whole[401:]
    for content in (b"", b"hello", whole[: len(whole) // 2], flipped):
        path.write_bytes(content)
        with pytest.raises(fl.BadInput) as error:
            Solved.load(path)
        assert "\n" not in str(error.value)
    with pytest.raises(fl.BadInput, match="cannot read"):
        Solved.load(tmp_path / "nothing.npz")
    with pytest.raises(fl.BadInput, match="cannot write"):
        solve("kuhn_poker", 5).save(tmp_path / "no" / "folder.npz")


def test_a_solved_policy_serves_as_any_policy():
    policy = solve("leduc_poker", 200)
    state = fl.new_state("leduc_poker")
    rng = random.Random(1)
    for _ in range(4):
        state.play(rng.choice(state.actions()))
    found = fl.history_filter("leduc_poker", state.observations(0), 0, policy=policy)
    plain = Tabular(policy.keys, policy.begins, policy.probabilities)
    same = fl.history_filter("leduc_poker", state.observations(0), 0, policy=plain)
    weights = [w for _, w in found.enumerate()]
    assert weights == [w for _, w in same.enumerate()] and len(set(weights)) > 1


@pytest.mark.parametrize(("iterations", "method", "said"), [(0, "cfr+", "at least 1"), (5, "cfr++", "did you mean")])
def test_bad_input_gets_one_line(iterations, method, said):
    with pytest.raises(fl.BadInput, match=said):
        solve("kuhn_poker", iterations, method)


def test_progress_is_told():
    told = []
    solve("leduc_poker", 200, progress=lambda done, wanted, exploitable: told.append((done, wanted, exploitable)))
    assert told[-1][:2] == (200, 200)
    assert told[-1][2] == pytest.approx(solve("leduc_poker", 200).exploitability)


# Ranges ---------------------------------------------------------------------------------------------------------------


def test_a_game_that_begins_after_the_deal_is_the_same_game():
    """Kuhn poker from its six deals on, with ranges of 1, has the whole game's solution."""
    deals = build_tree("kuhn_poker", depth=2)
    below = SequenceForm(build_tree("kuhn_poker", deals.leaf_rows), np.full(6, 1 / 6))
    assert below.num_states == 12 and len(below.root_keys[0]) == 3
    solver, whole = Regrets(below, "cfr+"), Regrets(sequence_form("kuhn_poker"), "cfr+")
    solver.iterate(200)
    whole.iterate(200)
    assert gaps(below, solver.average()).sum() == pytest.approx(
        gaps(sequence_form("kuhn_poker"), whole.average()).sum(), abs=1e-12
    )


def test_ranges_scale_the_values_of_the_others_only():
    deals = build_tree("kuhn_poker", depth=2)
    below = SequenceForm(build_tree("kuhn_poker", deals.leaf_rows), np.full(6, 1 / 6))
    behaviour = normalised(below.form, np.zeros(below.num_sequences))
    from foglight.solving.whole.plans import counterfactual_values

    ones, half = [np.ones(3), np.ones(3)], [np.array([0.5, 1.0, 0.0]), np.ones(3)]
    before, after = counterfactual_values(below, behaviour, ones), counterfactual_values(below, behaviour, half)
    assert after[0] == pytest.approx(before[0])
    assert after[1] != pytest.approx(before[1])
    # seat 1 faces the first card half as often and the last one never
    alone = [counterfactual_values(below, behaviour, [np.eye(3)[k], np.ones(3)])[1] for k in range(3)]
    assert after[1] == pytest.approx(0.5 * alone[0] + alone[1])
