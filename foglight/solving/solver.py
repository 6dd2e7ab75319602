"""Solving whole games and measuring policies in them: `fl.solve`, `fl.exploitability` and the like.

A game gets the sequence form of its tree if that fits into the memory, or else the factored form, if it has one.
"""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.checks.quick import quick_check
from foglight.games import load_game
from foglight.names import BadInput, unknown
from foglight.policies import Tabular
from foglight.rules import Game
from foglight.solving.factored import solver as factored
from foglight.solving.factored.form import FactoredForm
from foglight.solving.factored.regret import FactoredRegrets
from foglight.solving.factored.verification import factors
from foglight.solving.whole import regret, sampling
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.linear import equilibrium
from foglight.solving.whole.plans import best_response as respond
from foglight.solving.whole.plans import counterfactual_values, gaps
from foglight.solving.whole.running import Progress, run
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.solving.whole.solved import NUMBERING, Solved, solved, table
from foglight.solving.whole.tree import fits

METHODS = (*regret.METHODS, *sampling.METHODS, "lp")
_SUPPORT = 1e-4  # the exploitability from which on supports are good enough for linear programs


def form_of(game: str | Game, memory: float = 4.0) -> SequenceForm | FactoredForm:
    """The form in which a whole game is solved and measured; the last ones are cached. `memory` is in GiB."""
    loaded = load_game(game)
    quick_check(loaded)
    if not fits(loaded, memory) and factors(loaded):
        return factored.factored_form(loaded, memory)
    return sequence_form(loaded, memory)


def solve(
    game: Game,
    iterations: int = 1000,
    method: str | None = None,
    *,
    target: float = 0.0,
    resume: Solved | str | Path | None = None,
    checkpoint: str | Path | None = None,
    seed: int = 0,
    memory: float = 4.0,
    device: str | None = None,
    progress: Progress | None = None,
) -> Solved:
    """An approximate equilibrium. In two-seat zero-sum games it converges to an exact one.

    `iterations` is the total: resuming a policy of 400 iterations with `iterations=1000` runs 600 more, and gives the
    same result as 1000 at once. Solving ends earlier if the exploitability is at most `target`, which is looked at
    every 50 iterations. The method is `cfr+` unless given. Where the tree is too large to be held, but the game has a
    factored form, it is `sapcfr+`. Resuming goes on with the method of before. The method `lp` is exact; in a factored
    form it begins with the support of an approximation, and `proved` is the value of the game as a fraction, if that
    could be proved. With a `checkpoint`, the policy is saved to that file every ten seconds, or less often if saving
    takes long, and at the end; if the file exists, solving resumes from it. `memory` is in GiB; a game whose tree needs
    more is refused. `seed` is for the sampling methods, `external` and `outcome`.

    `device` is a device of PyTorch, `cuda` or `cuda:1` for GPUs, or `cpu`; without it, compiled code runs on one core,
    or on two in large factored forms. The result is the same. All methods but sampling and `lp` can run there.

        >>> policy = fl.solve("kuhn_poker", iterations=400)
        >>> policy = fl.solve("kuhn_poker", iterations=1000, resume=policy)
        >>> round(policy.value, 3), policy.exploitability < 0.001  # the value is -1/18
        (-0.056, True)
    """
    if method is not None and method not in METHODS:
        raise BadInput(unknown("method", method, METHODS))
    if iterations < 1:
        raise BadInput(f"iterations must be at least 1, not {iterations}")
    if device is not None:
        _check(device, method)
    form = form_of(game, memory)
    if resume is None and checkpoint is not None and Path(checkpoint).exists():
        resume = checkpoint
    if method == "lp":
        policy = _exact(form, iterations, progress, resume, checkpoint)
        if checkpoint is not None:
            policy.save(checkpoint)
        return policy
    old = resume if resume is None or isinstance(resume, Solved) else Solved.load(resume, resuming=True)
    solver = _solver(form, method or _method_of(old), seed, device)
    if old is not None:
        _go_on(form, solver, old, str(load_game(game)), seed)
    if solver.iterations > iterations:
        raise BadInput(f"{solver.iterations} iterations are done already; ask for more than that")

    def save() -> None:
        if checkpoint is not None:
            _policy(form, solver, seed, draft=True).save(checkpoint)

    run(solver, iterations, lambda: _exploitability(solver), target, progress, save if checkpoint is not None else None)
    policy = _policy(form, solver, seed)
    if checkpoint is not None:
        policy.save(checkpoint)
    return policy


def _check(device: str, method: str | None) -> None:
    """Refuse a device that is not available, and a method that cannot run there."""
    from foglight.solving.tensors.device import check_device

    check_device(device)
    if method is not None and method not in regret.METHODS:
        raise BadInput(f"{method} does not run on a device; leave the device out, or take {', '.join(regret.METHODS)}")


def _solver(form: SequenceForm | FactoredForm, method: str | None, seed: int, device: str | None) -> Any:
    if device is not None:
        from foglight.solving.tensors.plain import plain_form
        from foglight.solving.tensors.regret import TensorRegrets

        return TensorRegrets(plain_form(form), method, device)
    if isinstance(form, FactoredForm):
        return FactoredRegrets(form, method or regret.USUAL_FACTORED)
    if method in sampling.METHODS:
        return sampling.Sampling(form, method, seed)
    return regret.Regrets(form, method or regret.USUAL)


def _exploitability(solver: Any) -> float:
    """The exploitability of the solver's average, per seat."""
    if isinstance(solver, FactoredRegrets):
        return float(factored.average_gaps(solver).mean())
    if isinstance(solver, regret.Regrets | sampling.Sampling):
        return float(gaps(solver.sequences, solver.average()).mean())
    return float(solver.exploitability())


def _exact(
    form: SequenceForm | FactoredForm, iterations: int, progress: Any, resume: Any, checkpoint: str | Path | None
) -> Solved:
    """The equilibrium by linear programming; in a factored form, from the support of an approximate one.

    A policy of another method, which could be resumed, is not overwritten.
    """
    old = resume if resume is None or isinstance(resume, Solved) else Solved.load(resume)
    support = isinstance(form, FactoredForm) and checkpoint is None  # the old policy may give the support
    if old is not None and old.method != "lp" and not support:
        raise BadInput(f"lp cannot go on with {old.iterations} iterations of {old.method}; choose another file")
    if isinstance(form, FactoredForm):
        solver = FactoredRegrets(form, _method_of(old) or regret.USUAL_FACTORED)
        if old is not None and old.method != "lp":
            _go_on(form, solver, old, str(form.game), 0)
        run(solver, iterations, lambda: _exploitability(solver), _SUPPORT, progress)
        return factored.exact_policy(solver)
    value, behaviour = equilibrium(form)
    return solved(
        form,
        behaviour,
        game=str(form.tree.game),
        method="lp",
        iterations=0,
        seed=0,
        state={},
        exploitability=float(gaps(form, behaviour).mean()),
        value=value,
    )


def _method_of(policy: Solved | None) -> str | None:
    """The method by which a policy can be resumed; None if there is no policy, or it cannot be resumed."""
    return policy.method if policy is not None and policy.method in (*regret.METHODS, *sampling.METHODS) else None


def _go_on(form: Any, solver: Any, policy: Solved, game: str, seed: int) -> None:
    """Put a policy's state into the solver, if it is of the same game, method and seed."""
    identity = {"game": game, "method": solver.method}
    if solver.method in sampling.METHODS:
        identity["seed"] = seed
    for name, value in identity.items():
        if getattr(policy, name) != value:
            raise BadInput(f"cannot go on with this policy: its {name} is {getattr(policy, name)}, not {value}")
    for name, array in solver.state().items():
        stored = policy.state.get(name)
        if stored is None or stored.shape != array.shape or stored.dtype != array.dtype:
            raise BadInput("cannot go on with this policy: its game has changed since it was solved")
    if isinstance(form, FactoredForm) and policy.numbering != NUMBERING:
        raise BadInput("cannot go on with this policy: an older foglight numbered its sequences in another way")
    _restore(solver, policy.state, policy.iterations)


def _restore(solver: Any, state: dict[str, np.ndarray], iterations: int) -> None:
    if hasattr(solver, "restore"):
        solver.restore(state, iterations)
        return
    for name, array in solver.state().items():
        array[...] = state[name]
    solver.iterations = iterations


def _policy(form: SequenceForm | FactoredForm, solver: Any, seed: int, draft: bool = False) -> Solved:
    """The solver's average behaviour as a policy that can be resumed; a draft is small and quick to write."""
    if hasattr(solver, "restore"):  # it is on a device; tables are made by compiled code
        compiled = _solver(form, solver.method, seed, None)
        _restore(compiled, solver.state(), solver.iterations)
        solver = compiled
    if isinstance(solver, FactoredRegrets):
        return factored.average_policy(solver, seed, draft)
    sequences, behaviour = solver.sequences, solver.average()
    losses, value = gaps(sequences, behaviour), float(counterfactual_values(sequences, behaviour)[0][0])
    return solved(
        sequences,
        behaviour,
        game=str(sequences.tree.game),
        method=solver.method,
        iterations=solver.iterations,
        seed=seed,
        state={name: array.copy() for name, array in solver.state().items()},
        exploitability=float(losses.mean()),
        value=value,
        interval=(value - float(losses[1]), value + float(losses[0])) if sequences.tree.is_zero_sum else None,
    )


def game_value(game: Game, memory: float = 4.0) -> float:
    """The value of a two-seat zero-sum game to seat 0; `memory` is in GiB.

    >>> round(18 * fl.game_value("kuhn_poker"), 6)
    -1.0
    """
    return equilibrium(sequence_form(game, memory))[0]


def nash_conv(game: Game, policy: Any, memory: float = 4.0, device: str | None = None) -> float:
    """The sum over seats of what each would gain by changing alone to a best response; `memory` is in GiB.

    `device` is as in `solve`.

    >>> round(12 * fl.nash_conv("kuhn_poker", fl.Uniform()), 6)  # 11/12
    11.0
    """
    return float(_gaps(game, policy, memory, device).sum())


def _gaps(game: Game, policy: Any, memory: float, device: str | None) -> Any:
    if device is not None:
        return _measured(game, policy, memory, device)[1]
    form = form_of(game, memory)
    if isinstance(form, FactoredForm):
        return factored.policy_gaps(form, policy)
    return gaps(form, behaviour_of(form, policy))


def _measured(game: Game, policy: Any, memory: float, device: str) -> tuple[np.ndarray, np.ndarray]:
    """The value of a policy to each seat, and what each would gain by a best response, on a device."""
    _check(device, None)
    from foglight.solving.tensors.measures import measured

    return measured(form_of(game, memory), policy, device)


def exploitability(game: Game, policy: Any, memory: float = 4.0, device: str | None = None) -> float:
    """`nash_conv` divided by the number of seats: 0 for an equilibrium. `memory` is in GiB, `device` as in `solve`.

    >>> fl.exploitability("kuhn_poker", fl.solve("kuhn_poker", method="lp")) < 1e-9
    True
    """
    return float(_gaps(game, policy, memory, device).mean())


def best_response(game: Game, policy: Any, seat: int, memory: float = 4.0) -> tuple[float, Tabular]:
    """A seat's best response: its expected payoff against the others' policy, and a policy; `memory` is in GiB.

    In games that are measured in their factored form, the policy is that of this seat alone.

        >>> value, best = fl.best_response("kuhn_poker", fl.Uniform(), seat=0)
        >>> value, fl.policy_values("kuhn_poker", best)[0] == value  # it holds the others' policy too
        (0.5, True)
    """
    form = form_of(game, memory)
    seats = form.num_seats if isinstance(form, FactoredForm) else form.tree.num_seats
    if not 0 <= seat < seats:
        raise BadInput(f"there is no seat {seat}; {load_game(game)} has {seats} seats")
    if isinstance(form, FactoredForm):
        return factored.response(form, policy, seat)
    behaviour = behaviour_of(form, policy)
    value, best = respond(form, behaviour, seat)
    first, last = form.form.sequence_begins[seat : seat + 2]
    behaviour[first:last] = best[first:last]
    return float(value[0]), Tabular(*table(form, behaviour))


def policy_values(game: Game, policy: Any, memory: float = 4.0, device: str | None = None) -> list[float]:
    """Each seat's expected payoff when all seats play this policy; `memory` is in GiB, `device` as in `solve`.

    >>> fl.policy_values("kuhn_poker", lambda state: {0: 1.0, 1: 0.0})  # nobody ever bets
    [0.0, 0.0]
    """
    if device is not None:
        return _measured(game, policy, memory, device)[0].tolist()
    form = form_of(game, memory)
    if isinstance(form, FactoredForm):
        return factored.policy_values(form, policy)
    return [float(value[0]) for value in counterfactual_values(form, behaviour_of(form, policy))]
