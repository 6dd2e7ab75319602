"""CFR and CFR+ step by step beside OpenSpiel's solvers: the same average policies after every number of iterations."""

import numpy as np
import pyspiel
import pytest

from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import sequence_form

PEERS = {"cfr": pyspiel.CFRSolver, "cfr+": pyspiel.CFRPlusSolver}


def examples(sequences, peer):
    """OpenSpiel's state at one history of each of our information states."""
    nodes = sequences.tree.deciding
    numbers, firsts = np.unique(sequences.states[nodes], return_index=True)
    for number, history in zip(numbers.tolist(), sequences.tree.histories(nodes[firsts]), strict=True):
        state = peer.new_initial_state()
        for action in history:
            state.apply_action(action)
        yield number, state


@pytest.mark.parametrize("method", ["cfr", "cfr+"])
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_average_policies_are_openspiels(name, method):
    sequences, peer = sequence_form(name), pyspiel.load_game(name)
    form = sequences.form
    ours, theirs = Regrets(sequences, method), PEERS[method](peer)
    states = list(examples(sequences, peer))
    assert len({state.information_state_string() for _, state in states}) == sequences.num_states
    for iterations in (1, 2, 10, 50):
        for _ in range(iterations - ours.iterations):
            theirs.evaluate_and_update_policy()
        ours.iterate(iterations - ours.iterations)
        average, policy = ours.average(), theirs.average_policy()
        for number, state in states:
            here = slice(form.begins[number], form.ends[number])
            found = dict(zip(sequences.actions[here].tolist(), average[here].tolist(), strict=True))
            assert found == pytest.approx(policy.action_probabilities(state), abs=1e-9), str(state)
