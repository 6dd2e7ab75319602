"""Predictive CFR+ [Farina2021] on a growing tree, with the last iterate, under the gadgets of subgame solving.

An update of one seat walks down from the roots with the reach probability of the other seat and of chance; branches
that the other seat never plays are skipped. On the way back it sums counterfactual values, and at each information
state passed

    regret <- max(regret + r, 0),   strategy ~ max(regret + r, 0),   r = value of the action - value of the strategy.

If no regret is positive, the strategy stays what it was. The average of all strategies, weighted by the owner's reach
and the square of the iteration, is kept beside it.

An equilibrium may give the present, where the searching seat has to act, probability 0, and would then not say what to
do there. So somebody may have come there by mistake: the reach of a history of the present is at least what `Present`
says. Where all decisions have to fit together, mistakes are instead possible everywhere, and the same at all of them:
in every `_MISTAKEN`-th iteration no branch is skipped, since each action is taken by mistake, if rarely.

The other seat's choice among the groups of roots has two forms. Both share the tree below [Zhang2025]:

    resolve    chance draws a group by its prior; the other seat enters it, or takes the alternative value instead
    maxmargin  the other seat picks a group, and pays the alternative value for it

While the other seat enters a group somewhere, the searching seat's last strategy was not safe. Let p be the largest
probability of entering. The weight of a group is p * prior * (probability of entering) + (1 - p) * (probability of
being picked). Without a gadget it is the prior.
"""

from typing import NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.rules import CHANCE
from foglight.search.limited.tree import ITERATIONS, NO_CHILD, NO_STATE, VISITED

NONE, RESOLVE, MAXMARGIN, MIXED, BY_WORLDS = range(5)  # gadgets; BY_WORLDS is one of the others, decided by the search
_ENTER, _LEAVE = range(2)  # columns of Roots.entry and Roots.entry_guess
_MISTAKEN = 4  # mistakes count in one of so many iterations, which take longer than the others
_LEAST_REACH = 1e-200  # nodes with a smaller one are skipped
_NO_PARENT = -(2**31)  # in Room.above: of a history of the present that no root reaches


class Roots(NamedTuple):
    """The roots of a search, and the other seat's choice among their groups."""

    node: np.ndarray  # int64[roots]
    group: np.ndarray  # int64[roots]
    share: np.ndarray  # float64[roots]: the probability of the root in its group, by our own play and chance
    prior: np.ndarray  # float64[groups], sum 1
    alternative: np.ndarray  # float64[groups]: what the searching seat can count on without this search
    weight: np.ndarray  # float64[groups]: how likely the other seat makes the group
    value: np.ndarray  # float64[groups]: the value to the searching seat, at the last update of the other one
    entry: np.ndarray  # float64[groups, 2]: regrets of resolve
    entry_guess: np.ndarray  # float64[groups, 2]
    enter: np.ndarray  # float64[groups]: the probability of entering
    pick_regret: np.ndarray  # float64[groups]: regrets of maxmargin
    pick_guess: np.ndarray  # float64[groups]
    pick: np.ndarray  # float64[groups]


class Present(NamedTuple):
    """The searching seat's information state, and which mistakes may have led there."""

    node: np.ndarray  # int64[h]: its histories in the tree, in increasing order
    least: np.ndarray  # float64[h, 2]: the least reach in updates of the searching seat, and of the other one
    seen: np.ndarray  # bool[h]: working memory of an update
    mistake: float  # the probability that an action anywhere is a mistake, in every `_MISTAKEN`-th iteration


class Room(NamedTuple):
    """Working memory of an update: the nodes that it passes, parents first, and the information states."""

    node: np.ndarray  # int32[nodes]
    above: np.ndarray  # int32[nodes]: the place of the parent; of a root, -1 - its number; `_NO_PARENT`
    reach: np.ndarray  # float64[nodes]
    value: np.ndarray  # float64[nodes]
    states: np.ndarray  # int32[information states]


def new_roots(
    node: np.ndarray, group: np.ndarray, share: np.ndarray, prior: np.ndarray, alternative: np.ndarray
) -> Roots:
    """Roots whose gadgets start with even choices."""
    n = len(prior)
    choices = (np.zeros((n, 2)), np.zeros((n, 2)), np.full(n, 0.5), np.zeros(n), np.zeros(n), np.full(n, 1.0 / n))
    return Roots(node, group, share, prior, alternative, prior.copy(), np.zeros(n), *choices)


def new_room(nodes: int, states: int) -> Room:
    return Room(
        np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes), np.empty(nodes),
        np.empty(states, np.int32),
    )  # fmt: skip


@kernel
def iterate(tree, roots, present, seat, gadget, room, n):
    """n iterations: each updates the other seat, then the searching `seat`."""
    for _ in range(n):
        one_iteration(tree, roots, present, seat, gadget, room)


@jitable
def one_iteration(tree, roots, present, seat, gadget, room):
    tree.used[ITERATIONS] += 1
    tree.used[VISITED] = 0
    _update(tree, roots, present, seat, 1 - seat, room)
    if gadget != NONE:
        _choose_groups(roots, gadget)
    _update(tree, roots, present, seat, seat, room)


@jitable
def _update(tree, roots, present, seat, owner, room):
    """Update the regrets and strategies of one seat, the owner."""
    iteration, states, n = tree.used[ITERATIONS], 0, 0
    mistake = present.mistake if iteration % _MISTAKEN == 0 else 0.0
    column, histories = 0 if owner == seat else 1, len(present.node)
    here = tree.state[present.node[0]] if histories > 0 else NO_STATE
    for i in range(histories):
        present.seen[i] = False
    weight = float(iteration) * float(iteration)
    for i in range(len(roots.node)):
        reach = roots.share[i] if owner != seat else roots.share[i] * roots.weight[roots.group[i]]
        if reach > 0.0:
            room.node[n], room.above[n], room.reach[n], room.value[n] = roots.node[i], -1 - i, reach, 0.0
            n += 1
    k, left = 0, 0  # places in the list, and in the present
    while k < n or left < histories:
        if k == n:  # what the roots reach has been passed: next is what is left of the present
            missed = not present.seen[left] and here != NO_STATE and tree.state[present.node[left]] == here
            if missed and present.least[left, column] > 0.0:
                room.node[n], room.above[n], room.reach[n], room.value[n] = present.node[left], _NO_PARENT, 0.0, 0.0
                n += 1
            left += 1
            continue
        node, reach = room.node[k], room.reach[k]
        tree.reach[node] = reach if owner == seat else 0.0
        tree.stamp[node] = iteration
        first = tree.first[node]
        if first != NO_CHILD:
            mover, state = tree.mover[node], tree.state[node]
            begin = 0 if mover == CHANCE else tree.begin[state]
            if state == here and mover == seat:
                i = np.searchsorted(present.node, node)
                if i < histories and present.node[i] == node:
                    present.seen[i] = True
                    reach = max(reach, present.least[i, column])
                    tree.reach[node] = reach if owner == seat else 0.0
            if mover == owner:
                if tree.mass[state] >= 0.0:  # negative while its masses are summed: it is in the list
                    room.states[states] = state
                    states += 1
                    tree.mass[state] = -reach
                else:
                    tree.mass[state] -= reach
            slip = mistake / tree.children[node]
            for c in range(tree.children[node]):
                share = 1.0
                if mover == CHANCE:
                    share = tree.odds[first + c]
                elif mover != owner:
                    share = (1.0 - mistake) * tree.strategy[begin + c] + slip
                    tree.average[begin + c] += weight * reach * tree.strategy[begin + c]
                if reach * share > _LEAST_REACH:
                    room.node[n], room.above[n], room.reach[n] = first + c, k, reach * share
                    room.value[n] = 0.0
                    n += 1
        k += 1
    tree.used[VISITED] += n
    sign = 1.0 if owner == seat else -1.0
    if owner != seat:
        for j in range(len(roots.value)):
            roots.value[j] = 0.0
    for k in range(n - 1, -1, -1):
        node, above = room.node[k], room.above[k]
        value = sign * tree.value[node] if tree.first[node] == NO_CHILD else room.value[k]
        if above < 0:
            if owner != seat and above != _NO_PARENT:
                i = -1 - above
                roots.value[roots.group[i]] += sign * roots.share[i] * value
            continue
        parent = room.node[above]
        mover = tree.mover[parent]
        if mover == CHANCE:
            room.value[above] += tree.odds[node] * value
        else:
            slot = tree.begin[tree.state[parent]] + node - tree.first[parent]
            room.value[above] += tree.strategy[slot] * value
            if mover == owner:
                tree.sums[slot] += room.reach[k] * value
    for k in range(states):
        _match(tree, room.states[k], iteration)


@jitable
def _match(tree, state, iteration):
    """Add the last regrets of an information state, and choose its next strategy."""
    mass, begin = -tree.mass[state], tree.begin[state]
    end = begin + tree.actions[state]
    tree.mass[state] = mass
    expected = 0.0
    for i in range(begin, end):
        expected += tree.strategy[i] * tree.sums[i]
        tree.worth[i] = tree.sums[i] / mass
    total = 0.0
    for i in range(begin, end):
        regret = tree.sums[i] - expected
        tree.sums[i] = 0.0
        if tree.frozen[state] == 0:
            tree.regret[i] = max(tree.regret[i] + regret, 0.0)
            tree.guess[i] = regret
            total += max(tree.regret[i] + regret, 0.0)
    if total > 0.0:
        for i in range(begin, end):
            share = max(tree.regret[i] + tree.guess[i], 0.0) / total
            if share > 0.0 and tree.strategy[i] == 0.0:
                tree.since[i] = iteration
            tree.strategy[i] = share


@jitable
def _choose_groups(roots, gadget):
    """Update the other seat's choice among the groups; values are the searching seat's."""
    groups = len(roots.value)
    largest = 0.0
    for j in range(groups):
        gain = roots.alternative[j] - roots.value[j]  # of the other seat, if it enters
        expected = roots.enter[j] * gain
        gains = (gain, 0.0)
        total = 0.0
        for c in range(2):
            regret = gains[c] - expected
            roots.entry[j, c] = max(roots.entry[j, c] + regret, 0.0)
            roots.entry_guess[j, c] = regret
            total += max(roots.entry[j, c] + regret, 0.0)
        if total > 0.0:
            roots.enter[j] = max(roots.entry[j, _ENTER] + roots.entry_guess[j, _ENTER], 0.0) / total
        largest = max(largest, roots.enter[j])
    expected, total = 0.0, 0.0
    for j in range(groups):
        expected += roots.pick[j] * (roots.alternative[j] - roots.value[j])
    for j in range(groups):
        regret = roots.alternative[j] - roots.value[j] - expected
        roots.pick_regret[j] = max(roots.pick_regret[j] + regret, 0.0)
        roots.pick_guess[j] = regret
        total += max(roots.pick_regret[j] + regret, 0.0)
    if total > 0.0:
        for j in range(groups):
            roots.pick[j] = max(roots.pick_regret[j] + roots.pick_guess[j], 0.0) / total
    mixed = largest if gadget == MIXED else 1.0 if gadget == RESOLVE else 0.0
    for j in range(groups):
        roots.weight[j] = mixed * roots.prior[j] * roots.enter[j] + (1.0 - mixed) * roots.pick[j]
