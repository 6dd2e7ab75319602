"""The factored sequence form: payoffs of a game with private transitions as a product of sparse matrices.

Let x and y be the plans of the two seats. A common history happens with probability X * Y, where X is the sum of x over
the sequences of seat 0 that fit it, and Y the same for seat 1. So the expected payoff of seat 0 is

    sum over ends e of  payoff(e) * X[row0(e)] * Y[row1(e)]            X = L0 x, Y = L1 y

and a gradient is two products with L0 and L1, which have one entry for each sequence that fits a row. No history is
visited: there are as many as the entries of L0, of L1 and of the ends multiply to.

The form is up to symmetry. If both plans are symmetric, the mirror images of a sequence have the same plan, and one
stands for all: an array over sequences is `float64[1, S]`. Any plans can be given as `float64[G, S]`, one line for each
of the G symmetries: line g has the plans of the sequences' images under symmetry g. A sequence that some symmetries
leave as it is occurs in several lines.

Payoffs are less a constant, the commonest one, whose ends need not be kept. That changes no regret.
"""

from typing import Any, NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.randomness import below, generator
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    begin,
    bounds,
    chance,
    lay_open,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    returns,
    step,
)
from foglight.solving.factored.ends import END_BYTES, ends_of
from foglight.solving.factored.symmetry import Group, group_of
from foglight.solving.factored.walk import TOO_LARGE, UNFIT, Walk, walk
from foglight.solving.whole.tree import ADVICE, GIBIBYTE, TooLarge

_GAMES = 1000  # random games from which the commonest payoff and the number of common histories are guessed


class Side(NamedTuple):
    """One seat's part of a form: I information states, S sequences, of which 0 is the root, R rows."""

    begins: np.ndarray  # int32[I + 1]: the sequence of an information state's first action
    fixed: np.ndarray  # int64[I]: the symmetries that leave the seat's own past as it is, as bits
    link_begins: np.ndarray  # int32[I + 1]
    parents: np.ndarray  # int32[links]: the sequences that lead to an information state
    child_begins: np.ndarray  # int32[S + 1]
    children: np.ndarray  # int32[links]: the information states that a sequence leads to
    actions: np.ndarray  # int64[S]: the action of a sequence; -1 for the root
    weights: np.ndarray  # float64[S]: 1 / the number of mirror images that a sequence stands for
    kept: np.ndarray  # int64[S]: the symmetries that leave the sequence as it is, as bits
    entry_begins: np.ndarray  # int64[S + 1]
    rows: np.ndarray  # int32[E]: the rows that a sequence fits
    turns: np.ndarray  # int8[E]: the symmetry that takes the sequence to where it fits
    num_rows: int


class Ends(NamedTuple):
    """Where common histories end, except those that pay `shift`: T of them."""

    rows: np.ndarray  # int32[T, 2]: the row of each seat
    turns: np.ndarray  # int8[T, 2]: the symmetry that takes the row to where it fits
    payoffs: np.ndarray  # float32[T]: of seat 0, less the shift, times the number of mirror images
    shift: float


class FactoredForm:
    """The factored form of a two-seat zero-sum game."""

    num_seats = 2

    def __init__(self, game: Game, memory: float = 4.0) -> None:
        """`memory` is in GiB."""
        self.game, self.group = game, group_of(game)
        too_large = f"{game} is too large to hold, even in its factored form: over {memory:g} GiB; {ADVICE}"
        if _guessed_histories(game) / len(self.group.images) * END_BYTES > memory * GIBIBYTE:
            raise TooLarge(too_large)
        shift, walks = _commonest_payoff(game), []
        for seat in range(2):
            walks.append(walk(game, seat, self.group, bounds(game).length, shift, memory * GIBIBYTE / 2))
            if walks[-1].result == UNFIT:
                raise BadInput(f"{game} does not factor: what an action does depends on what the seats know")
            if walks[-1].result == TOO_LARGE:
                raise TooLarge(too_large)
        self.sides = tuple(_side(outcome, self.group) for outcome in walks)
        self.pasts = tuple(outcome.pasts[:, : outcome.lengths.max(initial=0)] for outcome in walks)
        self.lengths = tuple(outcome.lengths for outcome in walks)
        ends = ends_of(walks, len(self.group.images), memory * GIBIBYTE / 2)
        if ends is None:
            raise TooLarge(too_large)
        rows, turns, payoffs = ends
        self.ends = Ends(rows, turns, payoffs, shift)

    @property
    def num_states(self) -> int:
        """Information states, up to symmetry and to the order of private actions."""
        return sum(len(side.fixed) for side in self.sides)

    @property
    def num_bytes(self) -> int:
        parts = [*self.ends, *self.sides[0], *self.sides[1], *self.pasts, *self.lengths]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    def zeros(self, images: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """By seat, an array over sequences."""
        first, second = (np.zeros((images, len(side.actions))) for side in self.sides)
        return first, second

    def rooms(self, images: int = 1) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """By seat, two arrays over rows for `gradients`."""
        first, second = ((np.zeros((images, side.num_rows)), np.zeros((images, side.num_rows))) for side in self.sides)
        return first, second


def _side(outcome: Walk, group: Group) -> Side:
    states, sequences, symmetries = len(outcome.keys), len(outcome.actions), len(group.images)
    links = np.unique(outcome.links[:, 0] * sequences + outcome.links[:, 1])  # mirror images give the same ones
    parents, owners = links % sequences, links // sequences
    by_parent = np.argsort(parents, kind="stable")
    which = outcome.entries[:, 1] // symmetries
    order = np.argsort(which, kind="stable")
    return Side(
        np.append(outcome.begins, sequences).astype(np.int32),
        outcome.fixed,
        np.searchsorted(owners, np.arange(states + 1)).astype(np.int32),
        parents.astype(np.int32),
        np.searchsorted(parents[by_parent], np.arange(sequences + 1)).astype(np.int32),
        owners[by_parent].astype(np.int32),
        outcome.actions,
        outcome.weights,
        _kept(outcome, group),
        np.concatenate([[0], np.cumsum(np.bincount(which, minlength=sequences))]),
        np.ascontiguousarray(outcome.entries[order, 0]),
        (outcome.entries[order, 1] % symmetries).astype(np.int8),
        outcome.rows,
    )


def _kept(outcome: Walk, group: Group) -> np.ndarray:
    """By sequence, the symmetries that leave it as it is, as bits."""
    sizes = np.diff(np.append(outcome.begins, len(outcome.actions)))
    past = np.concatenate([[(1 << len(group.images)) - 1], np.repeat(outcome.fixed, sizes)])
    same = [(image[outcome.actions] == outcome.actions) | (outcome.actions < 0) for image in group.images]
    return past & sum(fits.astype(np.int64) << number for number, fits in enumerate(same))


def _guessed_histories(game: Game) -> float:
    """The number of common histories without failures, guessed from random games [Knuth1975]."""
    sizes = np.zeros(_GAMES)
    _probe(game, generator(0), sizes)
    return float(sizes.mean())


@kernel
def _probe(game, random, sizes):
    """Write one estimate per random game in which everything is laid open: the product of the numbers of actions."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(sizes)):
        world = new_worlds(game, 1)[0]
        begin(game, world)
        mover, sizes[i] = player(game, world), 1.0
        while mover != TERMINAL:
            lay_open(game, world)
            n = chance(game, world, actions, odds) if mover == CHANCE else legal(game, world, actions)
            sizes[i] *= n
            step(game, world, actions[below(random, n)])
            mover = player(game, world)


def _commonest_payoff(game: Game) -> float:
    """The payoff of seat 0 in most of some random games."""
    payoffs = np.zeros(_GAMES)
    _play(game, generator(0), payoffs)
    values, counts = np.unique(payoffs, return_counts=True)
    return float(values[np.argmax(counts)])


@kernel
def _play(game, random, payoffs):
    """Write the payoffs of seat 0 in random games."""
    actions, odds, ends = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(num_players(game))
    for i in range(len(payoffs)):
        world = new_worlds(game, 1)[0]
        begin(game, world)
        mover = player(game, world)
        while mover != TERMINAL:
            n = chance(game, world, actions, odds) if mover == CHANCE else legal(game, world, actions)
            step(game, world, actions[below(random, n)])
            mover = player(game, world)
        returns(game, world, ends)
        payoffs[i] = ends[0]


# Plans and gradients ---------------------------------------------------------------------------------------------


@jitable
def realise(side, behaviour, plan):
    """Turn the symmetric behaviour of a seat into its plan."""
    plan[0, 0] = 1.0
    for i in range(len(side.begins) - 1):
        reach = 0.0
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            reach += plan[0, side.parents[k]]
        for s in range(side.begins[i], side.begins[i + 1]):
            plan[0, s] = reach * behaviour[0, s]


@jitable
def write_chances(side, group, plan, chances):
    """Write the probability of each row by the seat's own play: L x."""
    chances[:] = 0.0
    if len(plan) == 1:
        for s in range(plan.shape[1]):
            share = plan[0, s] * side.weights[s]
            if share > 0.0:
                for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                    chances[0, side.rows[e]] += share
    else:
        for g in range(len(plan)):
            for s in range(plan.shape[1]):
                if plan[g, s] > 0.0:
                    for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                        image = group.product[g, group.inverse[side.turns[e]]]
                        chances[image, side.rows[e]] += plan[g, s]


@jitable
def write_row_values(ends, group, seat, chances, values):
    """Write what each row of a seat is worth to it, from the probabilities of the other seat's rows."""
    values[:] = 0.0
    sign = 1.0 if seat == 0 else -1.0
    if len(chances) == 1:
        for e in range(len(ends.payoffs)):
            values[0, ends.rows[e, seat]] += sign * ends.payoffs[e] * chances[0, ends.rows[e, 1 - seat]]
    else:
        for g in range(len(chances)):
            for e in range(len(ends.payoffs)):
                own, other = group.product[g, ends.turns[e, seat]], group.product[g, ends.turns[e, 1 - seat]]
                share = sign * ends.payoffs[e] / len(chances)
                values[own, ends.rows[e, seat]] += share * chances[other, ends.rows[e, 1 - seat]]


@jitable
def write_sequence_values(side, group, values, gradient):
    """Write what each sequence earns where it ends: the transpose of L times the values of rows."""
    if len(gradient) == 1:
        for s in range(gradient.shape[1]):
            total = 0.0
            for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                total += values[0, side.rows[e]]
            gradient[0, s] = side.weights[s] * total
    else:
        for g in range(len(gradient)):
            for s in range(gradient.shape[1]):
                total = 0.0
                for t in range(len(gradient)):
                    if side.kept[s] >> t & 1:
                        image = group.product[g, t]
                        for e in range(side.entry_begins[s], side.entry_begins[s + 1]):
                            total += values[group.product[image, group.inverse[side.turns[e]]], side.rows[e]]
                gradient[g, s] = total


@jitable
def write_gradient(sides, ends, group, seat, plan, rooms, gradient):
    """Write what each sequence of a seat earns where it ends, given the plan of the other seat."""
    write_chances(sides[1 - seat], group, plan, rooms[1 - seat][0])
    write_row_values(ends, group, seat, rooms[1 - seat][0], rooms[seat][1])
    write_sequence_values(sides[seat], group, rooms[seat][1], gradient)


# Best responses and values --------------------------------------------------------------------------------------


def best_response(form: FactoredForm, plan: np.ndarray, seat: int) -> tuple[float, np.ndarray]:
    """The value of a seat's best response to the other's plan, and the values of its sequences, float64[G or 1, S]."""
    images = len(plan)
    gradient, rooms = form.zeros(images)[seat], form.rooms(images)
    _respond(form.sides, form.ends, form.group, seat, plan, rooms, gradient)
    return float(gradient[0, 0]) + (form.ends.shift if seat == 0 else -form.ends.shift), gradient


@kernel
def _respond(sides, ends, group, seat, plan, rooms, gradient):
    write_gradient(sides, ends, group, seat, plan, rooms, gradient)
    side, symmetries = sides[seat], len(group.images)
    for i in range(len(side.begins) - 2, -1, -1):
        for g in range(len(gradient)):
            best = gradient[g, side.begins[i]]
            for s in range(side.begins[i], side.begins[i + 1]):
                if len(gradient) == 1:
                    best = max(best, gradient[0, s])
                else:
                    for t in range(symmetries):
                        if side.fixed[i] >> t & 1:
                            best = max(best, gradient[group.product[g, t], s])
            for k in range(side.link_begins[i], side.link_begins[i + 1]):
                gradient[g, side.parents[k]] += best


def value(form: FactoredForm, plans: tuple[np.ndarray, np.ndarray]) -> float:
    """The expected payoff of seat 0 when both seats follow these plans."""
    rooms = form.rooms(len(plans[0]))
    return form.ends.shift + _value(form.sides, form.ends, form.group, plans, rooms)


@kernel
def _value(sides, ends, group, plans, rooms):
    for seat in range(2):
        write_chances(sides[seat], group, plans[seat], rooms[seat][0])
    total, images = 0.0, len(plans[0])
    for g in range(images):
        for e in range(len(ends.payoffs)):
            first = group.product[g, ends.turns[e, 0]] if images > 1 else 0
            second = group.product[g, ends.turns[e, 1]] if images > 1 else 0
            chances = rooms[0][0][first, ends.rows[e, 0]] * rooms[1][0][second, ends.rows[e, 1]]
            total += ends.payoffs[e] / images * chances
    return total


def plan_of(form: FactoredForm, seat: int, behaviour: np.ndarray) -> np.ndarray:
    """The plan of a seat's symmetric behaviour, float64[1, S]."""
    plan = np.zeros_like(behaviour)
    _realise(form.sides[seat], behaviour, plan)
    return plan


@kernel
def _realise(side, behaviour, plan):
    realise(side, behaviour, plan)


def normalised(form: FactoredForm, seat: int, sums: np.ndarray) -> np.ndarray:
    """Symmetric behaviour in proportion to these sums, float64[1, S]; where all are 0, uniform over images."""
    behaviour = np.zeros_like(sums)
    _normalise(form.sides[seat], sums, behaviour)
    return behaviour


@kernel
def _normalise(side, sums, behaviour):
    for i in range(len(side.begins) - 1):
        total, images = 0.0, 0.0
        for s in range(side.begins[i], side.begins[i + 1]):
            total += sums[0, s]
            images += 1.0 / side.weights[s]
        for s in range(side.begins[i], side.begins[i + 1]):
            behaviour[0, s] = sums[0, s] / total if total > 0.0 else 1.0 / side.weights[s] / images


def gaps(form: FactoredForm, plans: Any) -> np.ndarray:
    """How much each seat would gain by changing to a best response, float64[2]."""
    now = value(form, plans)
    best = [best_response(form, plans[1 - seat], seat)[0] for seat in range(2)]
    return np.array([best[0] - now, best[1] + now])
