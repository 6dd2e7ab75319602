"""Plans and behaviour on a sequence form: conversion, gradients, counterfactual values, best responses.

Behaviour is the probability of each action at its information state. A plan is the probability that a seat plays all
actions of a sequence: the product of their behaviour.
"""

import numpy as np

from foglight.compile import jitable, kernel
from foglight.solving.whole.sequences import Form, Ranges, SequenceForm

PURE, FULLY_MIXED = 0.1, 0.05  # probabilities of such a random behaviour at an information state
KEPT = 0.4, 1.0  # range of the probability of keeping an action in a random behaviour


@jitable
def write_gradient(form, plan, seat, gradient):
    """What each sequence of a seat earns at the terminal histories it ends in, given the others' plans.

    This is one product with a sparse matrix.
    """
    seats = len(form.sequence_begins) - 1
    for s in range(form.sequence_begins[seat], form.sequence_begins[seat + 1]):
        gradient[s] = 0.0
    leader = seat + 1 if seat + 1 < seats else 0
    for s in range(form.sequence_begins[leader], form.sequence_begins[leader + 1]):
        reach = plan[s] if seats > 1 else 1.0
        if reach > 0.0:
            if seats <= 2:
                for e in range(form.entry_begins[s], form.entry_begins[s + 1]):
                    gradient[form.targets[e]] += form.weights[e] * reach
            else:
                for e in range(form.entry_begins[s], form.entry_begins[s + 1]):
                    share = form.weights[e] * reach
                    for k in range(seats - 2):
                        share *= plan[form.others[e, k]]
                    gradient[form.targets[e]] += share


@jitable
def realise(form, behaviour, seat, plan):
    """Turn a seat's behaviour into its plan; `plan` already has the values of its root sequences."""
    for i in range(form.state_begins[seat], form.state_begins[seat + 1]):
        reach = plan[form.parents[i]]
        for s in range(form.begins[i], form.ends[i]):
            plan[s] = reach * behaviour[s]


@kernel
def for_all(form, behaviour, plan):
    """Turn the behaviour of all seats into their plans."""
    for seat in range(len(form.sequence_begins) - 1):
        realise(form, behaviour, seat, plan)


@kernel
def _behave(form, sums, behaviour):
    """Behaviour in proportion to `sums`, which are not negative; uniform at states where all are 0."""
    for i in range(len(form.begins)):
        total = 0.0
        for s in range(form.begins[i], form.ends[i]):
            total += sums[s]
        for s in range(form.begins[i], form.ends[i]):
            behaviour[s] = sums[s] / total if total > 0.0 else 1.0 / (form.ends[i] - form.begins[i])


@kernel
def _respond(form, plan, seat, gradient, best):
    """Write the values of a seat's sequences under best play to `gradient`, and a pure best response to `best`."""
    write_gradient(form, plan, seat, gradient)
    for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
        choice = form.begins[i]
        for s in range(form.begins[i], form.ends[i]):
            best[s] = 0.0
            if gradient[s] > gradient[choice]:
                choice = s
        best[choice] = 1.0
        gradient[form.parents[i]] += gradient[choice]


@kernel
def _earn(form, behaviour, plan, seat, gradient):
    """Write the values of a seat's sequences under its own behaviour to `gradient`."""
    write_gradient(form, plan, seat, gradient)
    for i in range(form.state_begins[seat + 1] - 1, form.state_begins[seat] - 1, -1):
        for s in range(form.begins[i], form.ends[i]):
            gradient[form.parents[i]] += behaviour[s] * gradient[s]


def realised(sequences: SequenceForm, behaviour: np.ndarray) -> np.ndarray:
    """The plan of a behaviour, float64[S]: the probability that a seat plays all actions of each sequence.

    >>> sequences = fl.Trunk("kuhn_poker", depth=10).sequences
    >>> plan = fl.realised(sequences, fl.behaviour_of(sequences, fl.Uniform()))
    >>> sorted(set(plan.tolist()))  # a seat of Kuhn poker decides at most twice
    [0.25, 0.5, 1.0]
    """
    plan = sequences.start()
    for_all(sequences.form, behaviour, plan)
    return plan


def normalised(form: Form, sums: np.ndarray) -> np.ndarray:
    """Behaviour in proportion to these sums, float64[S]; uniform at states where all are 0."""
    behaviour = np.zeros(len(sums))
    _behave(form, sums, behaviour)
    return behaviour


def random_behaviour(sequences: SequenceForm, random: np.random.Generator) -> np.ndarray:
    """A random behaviour of all seats, float64[S], for training data.

    At each information state it is pure with probability 0.1 and fully mixed with probability 0.05. Otherwise it is
    random on a random set of actions, at least one: each action is kept with a probability between 0.4 and 1, which is
    drawn once for each seat. Probabilities are uniform on the simplex of the kept actions.

    [Sustr2021] says only that beliefs are random as in [Moravcik2017] and [Seitz2019]. The probabilities of keeping an
    action are our choice: with them nearly half of a range is not 0 in Goofspiel-5, as in the beliefs that arise when
    CFR+ solves the trunk.
    """
    form = sequences.form
    sizes = (form.ends - form.begins).astype(np.int64)
    states = np.repeat(np.arange(len(sizes)), sizes)
    firsts = np.cumsum(sizes) - sizes
    which = np.repeat(form.begins - firsts, sizes) + np.arange(len(states))
    kind = random.random(len(sizes))
    one = firsts + random.integers(sizes)  # an action of each state that is kept in any case
    seats = np.repeat(np.arange(len(form.state_begins) - 1), np.diff(form.state_begins))
    kept = random.random(len(states)) < random.uniform(*KEPT, len(form.state_begins) - 1)[seats[states]]
    kept[kind[states] < PURE + FULLY_MIXED] = True
    kept[kind[states] < PURE] = False
    kept[one] |= (kind < PURE) | (np.bincount(states, kept) == 0)
    shares = random.exponential(size=len(states)) * kept
    behaviour = np.zeros(sequences.num_sequences)
    behaviour[which] = shares / np.bincount(states, shares)[states]
    return behaviour


def counterfactual_values(
    sequences: SequenceForm, behaviour: np.ndarray, ranges: Ranges | None = None
) -> list[np.ndarray]:
    """By seat, the counterfactual values of its root sequences when all seats follow this behaviour.

    A whole game has one root for each seat; a subgame has one for each information state at its public state.
    `ranges` are, by seat, the probabilities that its own play leads to each root: 1 unless given.

        >>> sequences = fl.Trunk("kuhn_poker", depth=10).sequences
        >>> uniform = fl.behaviour_of(sequences, fl.Uniform())
        >>> [own.round(6).tolist() for own in fl.counterfactual_values(sequences, uniform)]
        [[0.125], [-0.125]]
    """
    return root_values(sequences, _earnings(sequences, behaviour, ranges))


def _earnings(sequences: SequenceForm, behaviour: np.ndarray, ranges: Ranges | None = None) -> np.ndarray:
    """The counterfactual value of each sequence when all seats follow this behaviour, float64[S]."""
    form, gradient, plan = sequences.under(ranges), np.zeros(len(behaviour)), realised(sequences, behaviour)
    for seat in range(sequences.tree.num_seats):
        _earn(form, behaviour, plan, seat, gradient)
    return gradient


def action_values(sequences: SequenceForm, behaviour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each action is worth when all seats follow this behaviour, and how often they come to decide.

    The first array, float64[S], is the expected payoff of the seat that decides, after the action; nan for a root
    sequence, and where chance and the other seats never lead. The second, float64[I], is the reach probability of each
    information state.
    """
    form, plan, nodes = sequences.form, realised(sequences, behaviour), sequences.tree.deciding
    states, shares = sequences.states[nodes], plan[sequences.sequences[nodes]]  # shares: float64[nodes, seats]
    reach = np.bincount(states, sequences.chance[nodes] * shares.prod(1), sequences.num_states)
    shares[np.arange(len(nodes)), sequences.tree.movers[nodes]] = 1.0  # counterfactual: the seat's own play is left out
    others = np.bincount(states, sequences.chance[nodes] * shares.prod(1), sequences.num_states)
    weights = np.zeros(sequences.num_sequences)
    sizes = form.ends - form.begins
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weights[np.repeat(form.begins, sizes) + offsets] = np.repeat(others, sizes)
    worth = np.full(sequences.num_sequences, np.nan)
    return np.divide(_earnings(sequences, behaviour), weights, out=worth, where=weights > 0.0), reach


def best_response(
    sequences: SequenceForm, behaviour: np.ndarray, seat: int, ranges: Ranges | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A seat's best response to the others: the counterfactual values of its root sequences, and its behaviour."""
    gradient, best = np.zeros(len(behaviour)), np.zeros(len(behaviour))
    _respond(sequences.under(ranges), realised(sequences, behaviour), seat, gradient, best)
    return root_values(sequences, gradient)[seat], best


def root_values(sequences: SequenceForm, gradient: np.ndarray) -> list[np.ndarray]:
    """By seat, the entries of a gradient for its root sequences."""
    firsts = sequences.form.sequence_begins[:-1].tolist()
    return [gradient[first : first + len(keys)].copy() for first, keys in zip(firsts, sequences.root_keys, strict=True)]


def gaps(sequences: SequenceForm, behaviour: np.ndarray, ranges: Ranges | None = None) -> np.ndarray:
    """How much each seat would gain by changing to a best response, float64[seats]."""
    now = counterfactual_values(sequences, behaviour, ranges)
    own = [np.ones(len(keys)) for keys in sequences.root_keys] if ranges is None else ranges
    best = [best_response(sequences, behaviour, seat, ranges)[0] for seat in range(sequences.tree.num_seats)]
    return np.array([float(own[seat] @ (best[seat] - now[seat])) for seat in range(len(best))])
