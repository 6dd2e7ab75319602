"""Solving and measuring on a factored form: what `foglight.solving.solver` does on a sequence form."""

import functools
from typing import Any

import numpy as np

from foglight.policies import Tabular
from foglight.rules import Game
from foglight.solving.factored.exact import equilibrium
from foglight.solving.factored.form import FactoredForm, best_response, gaps, normalised, plan_of, value
from foglight.solving.factored.policies import best_behaviour, plans_of, sorted_table, table_of
from foglight.solving.factored.regret import FactoredRegrets
from foglight.solving.whole.solved import Solved

_NEGLIGIBLE, _DRAFT = 1e-7, 1e-3  # plans below this are left out of a policy, and of a draft of one


@functools.lru_cache(maxsize=2)
def factored_form(game: Game, memory: float) -> FactoredForm:
    """The factored form of a game; the last two are cached. `memory` is in GiB."""
    return FactoredForm(game, memory)


def policy_values(form: FactoredForm, policy: Any) -> list[float]:
    """Each seat's expected payoff when both seats play this policy."""
    first = value(form, plans_of(form, policy))
    return [first, -first]


def policy_gaps(form: FactoredForm, policy: Any) -> np.ndarray:
    """How much each seat would gain by changing alone to a best response to this policy."""
    return gaps(form, plans_of(form, policy))


def response(form: FactoredForm, policy: Any, seat: int) -> tuple[float, Tabular]:
    """The value of a seat's best response, and a table of it; the other seat's policy is not in the table."""
    worth, values = best_response(form, plans_of(form, policy)[1 - seat], seat)
    return worth, Tabular(*table_of(form, seat, best_behaviour(form, seat, values)))


def average_gaps(solver: FactoredRegrets) -> np.ndarray:
    """How much each seat would gain by changing alone to a best response to the average so far."""
    return gaps(solver.form, _plans(solver.form, solver.average()), solver.products, solver.gradients)


def _plans(form: FactoredForm, behaviour: Any) -> Any:
    return tuple(plan_of(form, seat, own) for seat, own in enumerate(behaviour))


def average_policy(solver: FactoredRegrets, seed: int, draft: bool) -> Solved:
    """The average without negligible plans, as a policy that can be resumed.

    Its table has the information states that the seats' own play leads to.
    """
    policy = _policy(solver.form, _plans(solver.form, solver.average()), _DRAFT if draft else _NEGLIGIBLE)
    policy.method, policy.iterations, policy.seed = solver.method, solver.iterations, seed
    policy.state = {name: array.copy() for name, array in solver.state().items()}
    return policy


def exact_policy(solver: FactoredRegrets) -> Solved:
    """An equilibrium near the average so far, by linear programs on supports."""
    exact = equilibrium(solver.form, _plans(solver.form, solver.average()))
    policy = _policy(solver.form, exact.plans, _NEGLIGIBLE)
    policy.method, policy.iterations, policy.seed, policy.state = "lp", 0, 0, {}
    policy.proved = str(exact.proved) if exact.proved is not None else None
    return policy


def _policy(form: FactoredForm, plans: Any, negligible: float) -> Solved:
    """A policy without a method, and without negligible plans."""
    kept = [np.where(plan < negligible, 0.0, plan) for plan in plans]
    behaviour = [normalised(form, seat, plan) for seat, plan in enumerate(kept)]
    plans = _plans(form, behaviour)
    tables = [table_of(form, seat, own) for seat, own in enumerate(behaviour)]
    keys, begins, odds = (list(part) for part in zip(*tables, strict=True))
    sizes = np.concatenate([np.diff(part) for part in begins])
    policy = Solved(*sorted_table(np.concatenate(keys), sizes, np.concatenate(odds)))
    policy.game, policy.value, losses = str(form.game), value(form, plans), gaps(form, plans)
    policy.exploitability = float(losses.mean())
    policy.interval = policy.value - float(losses[1]), policy.value + float(losses[0])
    return policy
