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

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from foglight.compile import kernel
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
from foglight.solving.factored.parts import ends_of, side_of
from foglight.solving.factored.products import Products
from foglight.solving.factored.steps import UNFIT
from foglight.solving.factored.symmetry import group_of
from foglight.solving.factored.walk import TOO_LARGE, walk
from foglight.solving.whole.tree import ADVICE, GIBIBYTE, TooLarge

_END_BYTES = 9  # that an end takes
_GAMES = 1000  # random games from which the commonest payoff and the number of common histories are guessed


class FactoredForm:
    """The factored form of a two-seat zero-sum game."""

    num_seats = 2

    def __init__(self, game: Game, memory: float = 4.0) -> None:
        """`memory` is in GiB."""
        self.game, self.group = game, group_of(game)
        too_large = f"{game} is too large to hold, even in its factored form: over {memory:g} GiB; {ADVICE}"
        if _guessed_histories(game) / len(self.group.images) * _END_BYTES > memory * GIBIBYTE:
            raise TooLarge(too_large)
        shift = _commonest_payoff(game)
        outcome = walk(game, self.group, bounds(game).length, shift, memory * GIBIBYTE)
        if outcome.result == UNFIT:
            raise BadInput(f"{game} does not factor: what an action does depends on what the seats know")
        if outcome.result == TOO_LARGE:
            raise TooLarge(too_large)
        symmetries = len(self.group.images)
        self.ends = ends_of(outcome, symmetries, shift)
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda seat: side_of(outcome, seat, symmetries), range(2)))
        self.sides = tuple(side for side, _, _ in made)
        longest = max(int(lengths.max(initial=0)) for _, _, lengths in made)
        self.pasts = tuple(pasts[:, :longest] for _, pasts, _ in made)
        self.lengths = tuple(lengths for _, _, lengths in made)

    @property
    def num_states(self) -> int:
        """Information states, up to symmetry and to the order of private actions."""
        return sum(len(side.fixed) for side in self.sides)

    @property
    def num_bytes(self) -> int:
        parts = [
            *self.ends,
            *self.ends.of[0],
            *self.ends.of[1],
            *self.sides[0],
            *self.sides[1],
            *self.pasts,
            *self.lengths,
        ]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    def zeros(self, images: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """By seat, an array over sequences."""
        first, second = (np.zeros((images, len(side.actions))) for side in self.sides)
        return first, second


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


# Best responses and values --------------------------------------------------------------------------------------


def best_response(form: FactoredForm, plan: np.ndarray, seat: int) -> tuple[float, np.ndarray]:
    """The value of a seat's best response to the other's plan, and the values of its sequences, float64[G or 1, S]."""
    gradient = form.zeros(len(plan))[seat]
    Products(form, len(plan)).write_gradient(seat, plan, gradient)
    respond(form.sides[seat], form.group, gradient)
    return float(gradient[0, 0]) + (form.ends.shift if seat == 0 else -form.ends.shift), gradient


@kernel
def respond(side, group, gradient):
    """Add the values of what follows to a gradient, given best actions; it ends with the value of the root."""
    symmetries = len(group.images)
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
    gradient = form.zeros(len(plans[0]))[0]
    Products(form, len(plans[0])).write_gradient(0, plans[1], gradient)
    return _payoff(form, plans[0], gradient)


def _payoff(form: FactoredForm, plan: np.ndarray, gradient: np.ndarray) -> float:
    """The expected payoff of seat 0, from its plan and its gradient."""
    if len(plan) == 1:
        return form.ends.shift + float(plan[0] @ gradient[0])
    lines = sum((form.sides[0].kept.astype(np.int64) >> t & 1) for t in range(len(plan)))  # in which a sequence occurs
    return form.ends.shift + float((plan * gradient / lines).sum())


def plan_of(form: FactoredForm, seat: int, behaviour: np.ndarray) -> np.ndarray:
    """The plan of a seat's symmetric behaviour, float64[1, S]."""
    plan = np.zeros_like(behaviour)
    _realise(form.sides[seat], behaviour, plan)
    return plan


@kernel
def _realise(side, behaviour, plan):
    plan[0, 0] = 1.0
    for i in range(len(side.begins) - 1):
        reach = 0.0
        for k in range(side.link_begins[i], side.link_begins[i + 1]):
            reach += plan[0, side.parents[k]]
        for s in range(side.begins[i], side.begins[i + 1]):
            plan[0, s] = reach * behaviour[0, s]


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


def gaps(form: FactoredForm, plans: Any, products: Products | None = None, room: Any = None) -> np.ndarray:
    """How much each seat would gain by changing to a best response, float64[2].

    A solver lends its products, and room for gradients.
    """
    products, gradients = products or Products(form, len(plans[0])), room or form.zeros(len(plans[0]))
    for seat in range(2):
        products.write_gradient(seat, plans[1 - seat], gradients[seat])
    now = _payoff(form, plans[0], gradients[0])
    for seat in range(2):
        respond(form.sides[seat], form.group, gradients[seat])
    best = gradients[0][0, 0] + form.ends.shift, gradients[1][0, 0] - form.ends.shift
    return np.array([best[0] - now, best[1] + now])
