"""Solve a prepared form where there is PyTorch and no compiler.

    foglight solve phantom_ttt --prepare phantom.form                                   # where Numba is
    python -m foglight.solving.tensors phantom.form --device cuda --save phantom.npz    # where a GPU is
    foglight solve phantom_ttt --iterations 1000 --save phantom.npz                     # the policy, where Numba is

The file has all that a solver needs to go on, here or there. The table of the policy follows from the rules of the
game, so the last command makes it.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foglight.names import BadInput
from foglight.solving.tensors.plain import PlainForm
from foglight.solving.whole.regret import METHODS
from foglight.solving.whole.running import run
from foglight.solving.whole.solved import Solved, interval_text


def solve_file(
    form: str | Path, device: str, iterations: int, method: str | None, target: float, save: str | Path, tell: bool
) -> Solved:
    """Solve a form to a file without a table; goes on if the file exists."""
    from foglight.solving.tensors.regret import TensorRegrets

    if iterations < 1:
        raise BadInput(f"iterations must be at least 1, not {iterations}")
    plain = PlainForm.load(form)
    old = Solved.load(save, resuming=True) if Path(save).exists() else None
    solver = TensorRegrets(plain, method or (old.method if old and old.method in METHODS else None), device)
    if old is not None:
        if (old.game, old.method) != (plain.game, solver.method):
            raise BadInput(f"{save} is of {old.game} by {old.method}, not of {plain.game} by {solver.method}")
        if old.iterations > iterations:
            raise BadInput(f"{old.iterations} iterations are done already; ask for more than that")
        solver.restore(old.state, old.iterations)

    def result() -> Solved:
        values, losses = solver.measure()
        policy = Solved(np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0))
        policy.game, policy.method, policy.iterations, policy.seed = plain.game, solver.method, solver.iterations, 0
        policy.state, policy.complete = solver.state(), False
        policy.value, policy.exploitability = float(values[0]), float(losses.mean())
        if plain.zero_sum:
            policy.interval = policy.value - float(losses[1]), policy.value + float(losses[0])
        return policy

    def report(done: int, total: int, exploitability: float) -> None:
        sys.stderr.write(f"\r{done:,} of {total:,} iterations, exploitability {exploitability:.3g}  ")

    run(solver, iterations, solver.exploitability, target, report if tell else None, lambda: result().save(save))
    policy = result()
    policy.save(save)
    return policy


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m foglight.solving.tensors", description="Solve a form that foglight solve --prepare has written."
    )
    parser.add_argument("form", help="the file with the form")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu; by default cuda")
    parser.add_argument("--iterations", type=int, default=10_000, help="iterations in total, by default 10,000")
    parser.add_argument("--target", type=float, default=0.0, help="stop when the exploitability is at most this")
    parser.add_argument("--method", help="cfr, cfr+, dcfr, pcfr+ or sapcfr+")
    parser.add_argument("--save", required=True, help="file that keeps what is done; run the command again to resume")
    given = parser.parse_args(arguments)
    begin = time.perf_counter()
    try:
        policy = solve_file(
            given.form, given.device, given.iterations, given.method, given.target, given.save, sys.stderr.isatty()
        )
    except BadInput as error:
        parser.exit(2, f"{error}\n")
    seconds = time.perf_counter() - begin
    lines = [f"value to seat 0 {policy.value:.9g}", f"exploitability {policy.exploitability:.3g}"]
    lines += [f"value of the game {interval_text(policy.interval)}"] if policy.interval else []
    lines += [f"{policy.method}, {policy.iterations:,} iterations, {seconds:.3g} s"]
    sys.stdout.write(f"{policy.game}: {', '.join(lines)}\n")
    sys.stdout.write(
        f"for the policy: foglight solve '{policy.game}' --iterations {policy.iterations} --save {given.save}\n"
    )


if __name__ == "__main__":
    main()
