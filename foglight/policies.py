"""Policies: the probability of each action at an information state, given by the rule `weigh`.

A policy is an instance of a class that implements `weigh`. A NamedTuple runs compiled, any other class interpreted. The
probabilities depend only on the mover's information state, which its key in the world identifies.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.compile import implements, jitable, required
from foglight.names import BadInput, Between
from foglight.randomness import fold
from foglight.rules import Game, key


@required
def weigh(policy: Any, game: Game, world: Any, seat: int, actions: Any, n: int, out: Any) -> None:
    """Write the probability of each of the mover's n legal `actions` into `out`; `seat` is the mover."""


def _at(policy: Any, state: Any) -> dict[str, float]:
    """The probability of each legal action at a `State`, by the action's name."""
    state = _state(state)
    if state.player < 0:
        raise BadInput("nobody decides here: " + ("chance is to move" if state.actions() else "the game is over"))
    choices = state.choices()
    actions, odds = np.array(list(choices), np.int64), np.empty(len(choices))
    weigh(policy, state.game, state.world, state.player, actions, len(actions), odds)
    return {names[0]: share for names, share in zip(choices.values(), odds.tolist(), strict=True)}


def _state(state: Any) -> Any:
    """The given state, or the one after the history of a `pyspiel.State`."""
    from foglight.state import as_state

    return as_state(state)


def _table(policy: Any, game: str | Game, limit: int, memory: float) -> Any:
    """The policy at every information state of a game, as a `PolicyTable`.

    A game of more than `limit` information states is refused, and so is one whose tree needs more than `memory` GiB.
    """
    from foglight.solving.whole.policy_table import policy_table

    return policy_table(game, policy, limit, memory)


class Uniform(NamedTuple):
    """The policy that plays every legal action with the same probability.

    >>> [round(value, 6) for value in fl.policy_values("kuhn_poker", fl.Uniform())]
    [0.125, -0.125]
    """

    def __bool__(self) -> bool:
        return True  # it has no fields, so that it would count as empty

    def at(self, state: Any) -> dict[str, float]:
        """The probability of each legal action at a `State`, by the action's name."""
        return _at(self, state)

    def table(self, game: str | Game, *, limit: int = 100_000, memory: float = 4.0) -> Any:
        """The policy at every information state of a game, as a `PolicyTable`."""
        return _table(self, game, limit, memory)


@implements(Uniform, "weigh")
def _weigh_uniform(policy, game, world, seat, actions, n, out):
    for i in range(n):
        out[i] = 1.0 / n


class Biased(NamedTuple):
    """A random policy: at each information state one random action has probability `bias`, the others share the rest.

    This is the random policy of [Solinas2023, Section 5.4]. The seed and the information state determine the action, so
    nothing is stored.

        >>> sure = fl.Biased(bias=1.0, seed=3)  # one action at every information state
        >>> fl.exploitability("kuhn_poker", sure) > fl.exploitability("kuhn_poker", fl.Uniform())
        True
    """

    bias: Annotated[float, Between(0, 1)] = 0.5
    seed: Annotated[int, Between(0, 2**63 - 1)] = 0

    def at(self, state: Any) -> dict[str, float]:
        """The probability of each legal action at a `State`, by the action's name."""
        return _at(self, state)

    def table(self, game: str | Game, *, limit: int = 100_000, memory: float = 4.0) -> Any:
        """The policy at every information state of a game, as a `PolicyTable`."""
        return _table(self, game, limit, memory)


@implements(Biased, "weigh")
def _weigh_biased(policy, game, world, seat, actions, n, out):
    favourite = int64(uint64(fold(key(game, world, seat), policy.seed)) % uint64(n))
    for i in range(n):
        out[i] = (1.0 - policy.bias) / (n - 1) if n > 1 else 1.0
    if n > 1:
        out[favourite] = policy.bias


class Tabular(NamedTuple):
    """A table of probabilities by information state; states that are not in the table are played uniformly.

    >>> value, best = fl.best_response("kuhn_poker", fl.Uniform(), seat=0)
    >>> isinstance(best, fl.Tabular), len(best.keys), best.begins[:3].tolist()
    (True, 12, [0, 2, 4])
    >>> state = fl.new_state("kuhn_poker")
    >>> for action in (0, 1):  # the jack for seat 0, the queen for seat 1
    ...     state.play(action)
    >>> best.at(state)  # and best.table("kuhn_poker") shows all information states
    {'check': 0.0, 'bet': 1.0}
    """

    keys: np.ndarray  # uint64[k], ascending: the keys of the information states
    begins: np.ndarray  # int64[k + 1]: the index of each state's first probability, and the number of all
    probabilities: np.ndarray  # float64[begins[-1]], in the order of the legal actions

    def table(self, game: str | Game, *, limit: int = 100_000, memory: float = 4.0) -> Any:
        """The policy at every information state of a game, as a `PolicyTable`."""
        return _table(self, game, limit, memory)

    def at(self, state: Any) -> dict[str, float]:
        """The probability of each legal action at a `State`, by the action's name."""
        state = _state(state)
        if state.player >= 0:
            row = find_key(self.keys, np.uint64(key(state.game, state.world, state.player)))
            if row >= 0 and self.begins[row + 1] - self.begins[row] != len(state.actions()):
                raise BadInput(f"the policy belongs to another game: its numbers of actions are not {state.game}'s")
        return _at(self, state)

    def __repr__(self) -> str:
        return f"<Tabular policy: {len(self.keys):,} information states>"


@jitable
def find_key(keys, wanted):
    """The index of a key, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == wanted else -1


@jitable
def weigh_by_table(policy, game, world, seat, actions, n, out):
    """The rule `weigh` of a policy that has the arrays of a `Tabular`."""
    row = find_key(policy.keys, uint64(key(game, world, seat)))
    for i in range(n):
        out[i] = policy.probabilities[policy.begins[row] + i] if row >= 0 else 1.0 / n


@implements(Tabular, "weigh")
def _weigh_tabular(policy, game, world, seat, actions, n, out):
    weigh_by_table(policy, game, world, seat, actions, n, out)


def tabular(table: dict[int, list[float]]) -> Tabular:
    """A policy from a dictionary: for the key of an information state, the probabilities of its legal actions.

    >>> agent, state = fl.load_agent("random"), fl.new_state("kuhn_poker")
    >>> for action in (0, 1):  # the jack for seat 0, the queen for seat 1
    ...     state.play(action)
    >>> seat = fl.Seat(agent, state.game, 0, seed=0, observations=state.observations(0))
    >>> bluff = fl.tabular({agent.key: [0.0, 1.0]})  # always bets with the jack, else plays uniformly
    >>> fl.exploitability("kuhn_poker", bluff) > fl.exploitability("kuhn_poker", fl.Uniform())
    True
    """
    keys = sorted(table)
    begins = np.concatenate([[0], np.cumsum([len(table[k]) for k in keys])]).astype(np.int64)
    flat = [p for k in keys for p in table[k]]
    return Tabular(np.array(keys, np.uint64), begins, np.array(flat, np.float64))
