"""Policies on a factored form: the plans of any policy, and the table of a policy in the game's own information states.

An information state of the game is one of the form's, its mirror image under some symmetry, and an order of private
actions. `_unroll` visits them all, as far as the seat's own play leads there. It replays a history for each, so that
policies get a world to read.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import allocates, has_rule, implements, jitable, kernel
from foglight.names import BadInput
from foglight.policies import Tabular, Uniform, tabular, weigh, weigh_by_table
from foglight.rules import begin, copy_world, key, legal, max_legal, new_worlds, player, transition
from foglight.solving.factored.expansion import first_image
from foglight.solving.factored.form import FactoredForm, normalised, plan_of

_TOLERANCE = 1e-6  # by which the probabilities at an information state may differ from 1 in sum


@jitable
@allocates
def longer(array):
    """An array of twice the length that begins with the same rows."""
    return np.concatenate((array, np.zeros_like(array)))


class Lookup(NamedTuple):
    """The arrays of a tabular policy, for compiled code."""

    keys: np.ndarray
    begins: np.ndarray
    probabilities: np.ndarray


@implements(Lookup, "weigh")
def _weigh_by_lookup(policy, game, world, seat, actions, n, out):
    weigh_by_table(policy, game, world, seat, actions, n, out)


def plans_of(form: FactoredForm, policy: Any) -> Any:
    """By seat, the plan of a policy: `float64[1, S]` for one that is known to be symmetric, else `float64[G, S]`."""
    if isinstance(policy, dict):
        policy = tabular(policy)
    if isinstance(policy, Uniform):
        return tuple(plan_of(form, seat, normalised(form, seat, zeros)) for seat, zeros in enumerate(form.zeros()))
    if isinstance(policy, Tabular):
        policy = Lookup(policy.keys, policy.begins, policy.probabilities)
    elif not has_rule("weigh", type(policy)):
        if callable(policy):
            raise BadInput(f"{form.game} has too many information states to call a function at each; give a table")
        raise BadInput(f"a policy is a table, a function of a State or a class with `weigh`, not {policy!r}")
    plans = form.zeros(len(form.group.images))
    for seat, plan in enumerate(plans):
        wrong = _write_plan(
            form.game, policy, form.sides[seat], form.group, form.pasts[seat], form.lengths[seat], seat, plan
        )
        if wrong >= 0:
            raise BadInput(
                "the policy's probabilities at an information state are negative or do not add up to 1; "
                f"seat {seat} has {wrong} actions there"
            )
    return plans


@jitable
def replay(game, side, group, past, length, own, seat, turn, world, room):
    """Make `world` the mirror image of the world after a history, with the seat's own actions in another order."""
    for i in range(len(world)):
        room[i] = uint64(0)
    begin(game, room)
    k = 0
    for a in range(length):
        if player(game, room) == seat:
            action = own[k]
            k += 1
        else:
            action = group.images[turn, past[a]]
        transition(game, room, int64(action), world)
        copy_world(game, room, world)
    copy_world(game, world, room)


@kernel
def _write_plan(game, policy, side, group, pasts, lengths, seat, plan):
    """Write the plan of a policy; returns the number of actions where it is no policy, or -1."""
    symmetries, most = len(group.images), max_legal(game)
    actions, odds, own = np.empty(most, np.int64), np.empty(most), np.zeros(pasts.shape[1] + 1, np.int64)
    world, room = new_worlds(game, 1)[0], new_worlds(game, 1)[0]
    size = (pasts.shape[1] + 2) * most * 4
    states, turns, depths = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    before, reach = np.empty(size, np.int64), np.empty(size)
    top = 0
    plan[:, 0] = 1.0
    for k in range(side.child_begins[0], side.child_begins[1]):
        states[top], turns[top], depths[top], before[top], reach[top] = side.children[k], 0, 0, -1, 1.0
        top += 1
    while top:
        top -= 1
        state, turn, depth, share = states[top], turns[top], depths[top], reach[top]
        if depth:
            own[depth - 1] = before[top]
        replay(game, side, group, pasts[state], lengths[state], own, seat, turn, world, room)
        n = legal(game, world, actions)
        weigh(policy, game, world, seat, actions, n, odds)
        total = 0.0
        for j in range(n):
            total += odds[j]
            if odds[j] < 0.0:
                return n
        if abs(total - 1.0) > _TOLERANCE:
            return n
        for j in range(n):
            if odds[j] > 0.0:
                image, how = first_image(group, side.fixed[state], group.images[group.inverse[turn], actions[j]])
                s = side.begins[state]
                while side.actions[s] != image:
                    s += 1
                line = group.product[turn, group.inverse[how]]
                for t in range(symmetries):
                    if side.kept[s] >> t & 1:
                        plan[group.product[line, t], s] += share * odds[j]
                for k in range(side.child_begins[s], side.child_begins[s + 1]):
                    if top == len(states):
                        states, turns, depths, before, reach = (
                            longer(states), longer(turns), longer(depths), longer(before), longer(reach),
                        )  # fmt: skip
                    states[top], turns[top], depths[top] = side.children[k], line, depth + 1
                    before[top], reach[top] = actions[j], share * odds[j]
                    top += 1
    return -1


def table_of(form: FactoredForm, seat: int, behaviour: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A seat's behaviour as the arrays of a tabular policy, at the information states that its own play leads to.

    `behaviour` has one line, or one for each symmetry.
    """
    keys, sizes, odds = _tabulate(
        form.game, form.sides[seat], form.group, form.pasts[seat], form.lengths[seat], seat, behaviour
    )
    return sorted_table(keys, sizes, odds)


def sorted_table(keys: np.ndarray, sizes: np.ndarray, odds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of a tabular policy from keys in any order, their numbers of actions, and all probabilities."""
    order, firsts = np.argsort(keys), np.cumsum(sizes) - sizes
    begins = np.concatenate([[0], np.cumsum(sizes[order])])
    return keys[order], begins, odds[np.repeat(firsts[order] - begins[:-1], sizes[order]) + np.arange(begins[-1])]


@kernel
def _tabulate(game, side, group, pasts, lengths, seat, behaviour):
    """The keys, the numbers of actions and the probabilities at all information states that the seat may reach."""
    most, alike = max_legal(game), len(behaviour) == 1
    actions, own = np.empty(most, np.int64), np.zeros(pasts.shape[1] + 1, np.int64)
    world, room = new_worlds(game, 1)[0], new_worlds(game, 1)[0]
    size = (pasts.shape[1] + 2) * most * 4
    states, turns, depths, before = (
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
    )  # fmt: skip
    keys, sizes, odds, rows, shares = np.empty(1 << 10, np.uint64), np.empty(1 << 10, np.int64), np.empty(1 << 12), 0, 0
    top = 0
    for k in range(side.child_begins[0], side.child_begins[1]):
        states[top], turns[top], depths[top], before[top] = side.children[k], 0, 0, -1
        top += 1
    while top:
        top -= 1
        state, turn, depth = states[top], turns[top], depths[top]
        if depth:
            own[depth - 1] = before[top]
        replay(game, side, group, pasts[state], lengths[state], own, seat, turn, world, room)
        n = legal(game, world, actions)
        if rows == len(keys):
            keys, sizes = longer(keys), longer(sizes)
        if shares + n > len(odds):
            odds = longer(odds)
        keys[rows], sizes[rows] = key(game, world, seat), n
        rows += 1
        weight = side.weights[side.parents[side.link_begins[state]]]
        for j in range(n):
            image, how = first_image(group, side.fixed[state], group.images[group.inverse[turn], actions[j]])
            s = side.begins[state]
            while side.actions[s] != image:
                s += 1
            line = group.product[turn, group.inverse[how]]
            odds[shares] = behaviour[0, s] * side.weights[s] / weight if alike else behaviour[line, s]
            if odds[shares] > 0.0:
                for k in range(side.child_begins[s], side.child_begins[s + 1]):
                    if top == len(states):
                        states, turns, depths, before = (
                            longer(states), longer(turns), longer(depths), longer(before),
                        )  # fmt: skip
                    states[top], turns[top], depths[top], before[top] = side.children[k], line, depth + 1, actions[j]
                    top += 1
            shares += 1
    return keys[:rows], sizes[:rows], odds[:shares]


def best_behaviour(form: FactoredForm, seat: int, values: np.ndarray) -> np.ndarray:
    """A pure behaviour that takes the best action at each information state, from the values of its sequences."""
    behaviour = np.zeros_like(values)
    _choose(form.sides[seat], form.group, values, behaviour)
    return behaviour


@kernel
def _choose(side, group, values, behaviour):
    for i in range(len(side.begins) - 1):
        for g in range(len(values)):
            first, best, line = True, side.begins[i], g
            for t in range(len(values)):
                image = group.product[g, t]
                if side.fixed[i] >> t & 1 or len(values) == 1:
                    if image < g:  # the same information state was decided before
                        first = False
                    for s in range(side.begins[i], side.begins[i + 1]):
                        if values[image, s] > values[line, best]:
                            line, best = image, s
            if first:
                for t in range(len(values)):
                    if side.kept[best] >> t & 1 or len(values) == 1:
                        behaviour[group.product[line, t], best] = 1.0
