"""Any policy as behaviour on a sequence form: its action probabilities at every information state."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from foglight.compile import has_rule, kernel
from foglight.names import BadInput
from foglight.policies import Tabular, Uniform, tabular, weigh
from foglight.rules import legal, max_legal, new_worlds
from foglight.solving.whole.plans import normalised
from foglight.solving.whole.sequences import SequenceForm
from foglight.solving.whole.tree import Tree, branch
from foglight.state import State, replay


def behaviour_of(sequences: SequenceForm, policy: Any) -> np.ndarray:
    """The probabilities of a policy's actions, float64[S].

    A policy is one of `foglight.policies`, a dictionary from keys to probabilities, or a function of a State. The
    function is called where a seat is to move. It returns {action: probability}, or probabilities in the order of the
    legal actions, and should read only `state.information(state.player)` or `state.observations(state.player)`. S is
    the number of sequences: one for each action at each information state, and one for each root of each seat.

        >>> sequences = fl.Trunk("kuhn_poker", depth=10).sequences
        >>> behaviour = fl.behaviour_of(sequences, lambda state: {0: 0.75, 1: 0.25})
        >>> sorted(set(behaviour.tolist()))  # roots have no action, and probability 0
        [0.0, 0.25, 0.75]
    """
    if isinstance(policy, dict):
        policy = tabular(policy)
    form = sequences.form
    if isinstance(policy, Uniform):
        return normalised(form, np.zeros(sequences.num_sequences))
    if isinstance(policy, Tabular):
        behaviour = _looked_up(sequences, policy)
    elif has_rule("weigh", type(policy)):
        behaviour = np.zeros(sequences.num_sequences)
        for first, rows in levels(sequences.tree):
            states = sequences.states[first : first + len(rows)]
            _ask(sequences.tree.game, policy, rows, states, form.begins, sequences.tree.movers[first:], behaviour)
    elif callable(policy):
        behaviour = _called(sequences, policy)
    else:
        raise BadInput(f"a policy is a table, a function of a State or a class with `weigh`, not {policy!r}")
    totals = np.concatenate([[0.0], np.cumsum(behaviour)])
    totals = totals[form.ends] - totals[form.begins]
    if (behaviour < 0.0).any() or (abs(totals - 1.0) > 1e-6).any():
        worst = int(np.argmax(abs(totals - 1.0)))
        raise BadInput(
            f"the policy gives {behaviour[form.begins[worst] : form.ends[worst]].tolist()} as the probabilities at an "
            "information state; they must not be negative and must add up to 1"
        )
    return behaviour


def _looked_up(sequences: SequenceForm, policy: Tabular) -> np.ndarray:
    """The behaviour of a tabular policy; an information state that is not in its table is played uniformly."""
    form = sequences.form
    behaviour = normalised(form, np.zeros(sequences.num_sequences))
    rows = np.searchsorted(policy.keys, sequences.keys)
    in_table = rows < len(policy.keys)
    in_table[in_table] = policy.keys[rows[in_table]] == sequences.keys[in_table]
    states = np.flatnonzero(in_table)
    sizes = (form.ends - form.begins)[states].astype(np.int64)
    if (policy.begins[rows[states] + 1] - policy.begins[rows[states]] != sizes).any():
        raise BadInput(
            f"the policy belongs to another game: its numbers of actions are not those of {sequences.tree.game}"
        )
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    behaviour[np.repeat(form.begins[states], sizes) + offsets] = policy.probabilities[
        np.repeat(policy.begins[rows[states]], sizes) + offsets
    ]
    return behaviour


def _called(sequences: SequenceForm, policy: Callable[[State], Any]) -> np.ndarray:
    """The behaviour of a function of a State, called at one history of each information state."""
    behaviour, form, tree = np.zeros(sequences.num_sequences), sequences.form, sequences.tree
    if tree.parents[len(tree.roots) :].min(initial=0) < 0 or len(tree.roots) > 1:
        raise BadInput("a function of a State works in a whole game, not in a subgame; give a table instead")
    states, firsts = np.unique(sequences.states[tree.deciding], return_index=True)
    for state, history in zip(states.tolist(), tree.histories(tree.deciding[firsts]), strict=True):
        position = replay(tree.game, history)
        answer, actions = policy(position), position.actions()
        if isinstance(answer, dict):
            odds = [float(answer.get(action, 0.0)) for action in actions]
        else:
            odds = [float(share) for share in answer]
        if len(odds) != len(actions):
            raise BadInput(f"the policy gives {len(odds)} probabilities where {len(actions)} actions are legal")
        behaviour[form.begins[state] : form.ends[state]] = odds
    return behaviour


def levels(tree: Tree) -> Iterator[tuple[int, Any]]:
    """By depth, the number of the first node and the worlds of all nodes, computed again from the roots."""
    rows, counts = tree.roots, np.diff(tree.first_children)
    for first, last in zip(tree.level_begins[:-1], tree.level_begins[1:], strict=True):
        yield int(first), rows
        children = new_worlds(tree.game, int(counts[first:last].sum()))
        branch(tree.game, rows, counts[first:last], children)
        rows = children


@kernel
def _ask(game, policy, rows, states, begins, movers, behaviour):
    """Write the policy's probabilities at each information state into `behaviour`."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(rows)):
        if states[i] >= 0 and behaviour[begins[states[i]]] == 0.0:
            n = legal(game, rows[i], actions)
            weigh(policy, game, rows[i], movers[i], actions, n, odds)
            for k in range(n):
                behaviour[begins[states[i]] + k] = odds[k]
