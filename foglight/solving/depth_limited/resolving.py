"""Re-solving a subgame from its public belief state, after the moves before it have been played.

`resolve_unsafely` solves the subgame as if the ranges were certain. If the opponent's true range is another, the new
strategy can be worse than the old one. `resolve_safely` does not trust the opponent's range: at each of its information
states, the opponent may leave with the value that the old strategy gave it, or go on into the subgame [Burch2014]. So
the new strategy gives the opponent no more than the old one did anywhere, and is no easier to exploit.
"""

from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.names import BadInput
from foglight.policies import Tabular
from foglight.solving.depth_limited.public import PublicState
from foglight.solving.depth_limited.subgame import Subgames
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import best_response, normalised, realise, realised, write_gradient
from foglight.solving.whole.regret import CFR_PLUS, Regrets, update
from foglight.solving.whole.sequences import Ranges
from foglight.solving.whole.solved import table

_LEAVE, _GO_ON = 0, 1  # the opponent's two actions at each of its roots


def resolve_unsafely(public: PublicState, ranges: Ranges, iterations: int = 1000, memory: float = 4.0) -> Tabular:
    """A policy of both seats for the subgame, solved as if the ranges were certain; `memory` is in GiB.

    >>> public = fl.Trunk("kuhn_poker", depth=3).public_states[0]
    >>> policy = fl.resolve_unsafely(public, [np.ones(3), np.ones(3)], iterations=50)
    >>> len(policy.keys)  # seat 1 answers a check, and seat 0 its bet, each with one of three cards
    6
    """
    subgame = Subgames([public], memory)
    solver = Regrets(subgame.sequences, "cfr+", subgame.joined([ranges]))
    solver.iterate(iterations)
    return Tabular(*table(subgame.sequences, solver.average()))


def resolve_safely(
    public: PublicState,
    seat: int,
    own_range: np.ndarray,
    opponent_values: np.ndarray,
    iterations: int = 1000,
    memory: float = 4.0,
) -> Tabular:
    """A policy of `seat` in the subgame that gives the opponent at most these counterfactual values.

    `own_range` has one number for each of the seat's information states, `opponent_values` one for each of the
    opponent's (see `opponent_values`). `memory` is in GiB.

        >>> public = fl.Trunk("kuhn_poker", depth=3).public_states[0]
        >>> allowed = fl.opponent_values(public, fl.Uniform(), np.ones(3), seat=1)
        >>> len(fl.resolve_safely(public, 1, np.ones(3), allowed, iterations=50).keys)
        3
    """
    if len(public.keys) != 2:
        raise BadInput(f"resolving needs two seats; {public.game} has {len(public.keys)}")
    subgame = Subgames([public], memory)
    sequences, other = subgame.sequences, 1 - seat
    ranges = [np.ones(len(keys)) for keys in public.keys]
    ranges[seat] = np.asarray(own_range, float)
    form = sequences.under(subgame.joined([ranges]))
    n, first = sequences.num_sequences, int(form.sequence_begins[other])
    sums, behaviour = np.zeros(n), normalised(form, np.zeros(n))
    _iterate_gadget(
        form, iterations, seat, first, np.asarray(opponent_values, float), np.zeros((len(opponent_values), 2)),
        np.zeros(n), sums, behaviour, realised(sequences, behaviour), np.zeros(n),
    )  # fmt: skip
    keys, begins, probabilities = table(sequences, normalised(form, sums))
    own = np.isin(keys, sequences.keys[form.state_begins[seat] : form.state_begins[seat + 1]])
    sizes = np.diff(begins)
    return Tabular(
        keys[own], np.concatenate([[0], np.cumsum(sizes[own])]).astype(np.int64), probabilities[np.repeat(own, sizes)]
    )


def opponent_values(
    public: PublicState, policy: Any, own_range: np.ndarray, seat: int, memory: float = 4.0
) -> np.ndarray:
    """The other seat's counterfactual best-response values at its information states, if `seat` keeps its policy.

    The policy itself gives the other seat no more than these values, so a strategy that does so exists. `own_range` is
    the probability that the seat's own play leads to each of its information states. `memory` is in GiB.

        >>> public = fl.Trunk("kuhn_poker", depth=3).public_states[0]
        >>> fl.opponent_values(public, fl.Uniform(), np.ones(3), seat=1).shape  # of seat 0, by its card
        (3,)
    """
    subgame = Subgames([public], memory)
    ranges = [np.ones(len(keys)) for keys in public.keys]
    ranges[seat] = np.asarray(own_range, float)
    behaviour = behaviour_of(subgame.sequences, policy)
    return best_response(subgame.sequences, behaviour, 1 - seat, subgame.joined([ranges]))[0]


@kernel
def _iterate_gadget(form, n, seat, first, leaving, choice, regrets, sums, behaviour, plan, gradient):
    """CFR+ in which the opponent, at each of its roots, leaves with a given value or goes on.

    `choice` has the regrets of both actions, by root. The plan of a root is the probability that the opponent goes on.
    """
    other = 1 - seat
    for t in range(1, n + 1):
        write_gradient(form, plan, seat, gradient)
        update(form, CFR_PLUS, t, seat, regrets, sums, behaviour, plan, gradient)
        realise(form, behaviour, seat, plan)
        write_gradient(form, plan, other, gradient)
        update(form, CFR_PLUS, t, other, regrets, sums, behaviour, plan, gradient)
        for i in range(len(leaving)):
            going = gradient[first + i]
            value = plan[first + i] * going + (1.0 - plan[first + i]) * leaving[i]
            choice[i, _LEAVE] = max(choice[i, _LEAVE] + leaving[i] - value, 0.0)
            choice[i, _GO_ON] = max(choice[i, _GO_ON] + going - value, 0.0)
            total = choice[i, _LEAVE] + choice[i, _GO_ON]
            plan[first + i] = choice[i, _GO_ON] / total if total > 0.0 else 0.5
        realise(form, behaviour, other, plan)
