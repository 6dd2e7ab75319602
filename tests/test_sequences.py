"""The sequence form beside a dictionary of all terminal histories."""

from collections import defaultdict

import numpy as np
import pytest
from oracles import histories

import foglight as fl
from foglight.rules import key
from foglight.solving.whole.sequences import SequenceForm, payoff_entries
from foglight.solving.whole.tree import build_tree

GAMES = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3,order=random)", "openspiel:kuhn_poker(players=3)"]


def names(sequences):
    """What each sequence is called: the key of its state and its action, or the seat whose root sequence it is."""
    form, called = sequences.form, {}
    for i, own in enumerate(sequences.keys.tolist()):
        for s in range(form.begins[i], form.ends[i]):
            called[s] = (own, int(sequences.actions[s]))
    for seat, first in enumerate(form.sequence_begins[:-1].tolist()):
        for s in range(first, first + len(sequences.root_keys[seat])):
            called[s] = (seat, int(sequences.root_keys[seat][s - first]))
            assert sequences.actions[s] == -1
    assert sorted(called) == list(range(sequences.num_sequences))
    return called


def entries(form, called):
    """{(seat that earns, sequences of all seats): chance times payoff}, from a form."""
    seats, found = len(form.sequence_begins) - 1, {}
    owners = np.searchsorted(form.sequence_begins, np.arange(len(called)), "right") - 1
    for s in range(len(called)):
        for e in range(form.entry_begins[s], form.entry_begins[s + 1]):
            held = [s, int(form.targets[e]), *form.others[e].tolist()]
            assert sorted(owners[held].tolist()) == list(range(seats))
            earner = int(owners[form.targets[e]])
            place = (earner, frozenset(called[k] for k in held))
            assert place not in found, "histories that agree in all sequences are one entry"
            found[place] = float(form.weights[e])
    assert len(found) == len(form.weights) == form.entry_begins[-1]
    return found


@pytest.mark.parametrize("game", GAMES)
def test_a_form_holds_what_every_history_pays(game):
    wanted, start = defaultdict(float), fl.new_state(game)
    root_keys = [(seat, int(key(start.game, start.world, seat))) for seat in range(start.num_players)]
    for final in histories(game):
        if final.player == fl.TERMINAL:
            state, last, odds = fl.new_state(game), list(root_keys), 1.0
            for action in final.history():
                if state.player == fl.CHANCE:
                    odds *= dict(state.chance())[action]
                else:
                    last[state.player] = (int(key(state.game, state.world, state.player)), action)
                state.play(action)
            for seat, payoff in enumerate(final.returns()):
                wanted[seat, frozenset(last)] += odds * payoff
    wanted = {place: weight for place, weight in wanted.items() if weight != 0.0}
    sequences = SequenceForm(build_tree(game))
    assert entries(sequences.form, names(sequences)) == pytest.approx(wanted)
    assert len(wanted) >= 9
    decided = {(s.player, tuple(s.observations(s.player))) for s in histories(game) if s.player >= 0}
    assert sequences.num_states == len(decided)
    assert np.flatnonzero(sequences.start()).tolist() == sequences.form.sequence_begins[:-1].tolist()
    assert sequences.start().sum() == start.num_players
    tree = sequences.tree
    nobody = np.setdiff1d(np.arange(tree.num_nodes), tree.deciding)
    assert (sequences.states[nobody] == -1).all() and (sequences.states[tree.deciding] >= 0).all()
    assert sequences.num_bytes == sum(column.size * column.itemsize for column in sequences.form)


@pytest.mark.parametrize(("game", "deals"), [("kuhn_poker", 2), ("openspiel:kuhn_poker(players=3)", 3)])
def test_a_range_is_a_factor_of_what_the_others_get(game, deals):
    cut = build_tree(game, depth=deals)
    odds = np.random.default_rng(2).random(len(cut.leaves))
    sequences = SequenceForm(build_tree(game, cut.leaf_rows), odds)
    form, seats = sequences.form, sequences.tree.num_seats
    ranges = [np.random.default_rng(seat).random(len(sequences.root_keys[seat])) for seat in range(seats)]
    ranges[0][1] = 0.0
    parents = {s: int(form.parents[i]) for i in range(len(form.begins)) for s in range(form.begins[i], form.ends[i])}

    def share(s):
        while s in parents:
            s = parents[s]
        seat = int(np.searchsorted(form.sequence_begins, s, "right")) - 1
        return ranges[seat][s - form.sequence_begins[seat]]

    new = sequences.under(ranges)
    compared = 0
    for s in range(sequences.num_sequences):
        for e in range(form.entry_begins[s], form.entry_begins[s + 1]):
            others = np.prod([share(other) for other in form.others[e]])
            assert new.weights[e] == pytest.approx(form.weights[e] * share(s) * others)
            compared += 1
    assert compared == len(form.weights) > 30
    assert sequences.under(None) is form
    # the root odds are those of each history's own root
    for node in range(sequences.tree.num_nodes):
        root = node
        while sequences.tree.parents[root] >= 0:
            root = int(sequences.tree.parents[root])
        assert sequences.chance[node] == odds[root]  # nothing is dealt below the roots


def test_states_whose_histories_differ_in_their_actions_are_refused():
    tree = build_tree("unseen_rps")  # seat 0 leaves or plays one of three, seat 1 answers with one of three
    one, other = tree.deciding[0], tree.deciding[-1]
    tree.keys[one] = tree.keys[other]
    with pytest.raises(fl.BadInput, match="different legal actions"):
        SequenceForm(tree)


def test_entries_by_hand():
    """Two seats, sequences 0 to 2 and 3 to 5. Histories 0 and 3 agree; history 2 pays seat 1 only, 4 nobody."""
    ends = np.array([[1, 4], [2, 4], [1, 3], [1, 4], [2, 3]])
    amounts = np.array([[1.0, -1.0], [2.0, -2.0], [0.0, 5.0], [4.0, -4.0], [0.0, 0.0]])
    begins, targets, others, weights = payoff_entries(ends, amounts, 6)
    # under seat 0's sequences is what seat 1 gets, and the other way round
    assert begins.tolist() == [0, 0, 2, 3, 3, 5, 5]
    assert targets.tolist() == [3, 4, 4, 1, 2]
    assert weights.tolist() == [5.0, -5.0, -2.0, 5.0, 2.0]
    assert others.shape == (5, 0)


def test_entries_for_one_and_for_three():
    begins, targets, others, weights = payoff_entries(np.array([[1], [2], [1]]), np.array([[1.0], [3.0], [1.0]]), 3)
    assert begins.tolist() == [0, 0, 1, 2]
    assert (targets.tolist(), weights.tolist(), others.shape) == ([1, 2], [2.0, 3.0], (2, 0))
    ends = np.array([[0, 2, 4], [1, 2, 4], [0, 2, 5]])
    begins, targets, others, weights = payoff_entries(ends, np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]]), 6)
    assert begins.tolist() == [0, 1, 1, 2, 2, 3, 3]  # of seat 2 under 0, of seat 0 under 1, of seat 1 under 2
    assert targets.tolist() == [5, 0, 2]
    assert others.tolist() == [[2], [4], [1]]
    assert weights.tolist() == [3.0, 1.0, 2.0]


def test_where_nobody_is_paid_there_are_no_entries():
    begins, targets, others, weights = payoff_entries(np.array([[0, 1]]), np.zeros((1, 2)), 2)
    assert begins.tolist() == [0, 0, 0]
    assert len(targets) == len(others) == len(weights) == 0
