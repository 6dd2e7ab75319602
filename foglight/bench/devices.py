"""Whole games on a device of PyTorch beside compiled code: equal states, and milliseconds an iteration.

    python -m foglight.bench.devices                          two trees and four phantom games, on the GPU
    taskset -c 0,1 python -m foglight.bench.devices           the same beside two cores
    python -m foglight.bench.devices kuhn_poker --device cpu  any game that can be solved whole

Both solvers begin anew and make 100 iterations, then 100 more: compiled code gets faster as a method leaves more of a
game alone; a device always does all of it. The two states after each hundred must be equal to the last bit, by the
SHA-256 of all arrays. Kernels are compiled and loaded before.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from foglight.names import BadInput
from foglight.solving.factored.form import FactoredForm
from foglight.solving.factored.regret import FactoredRegrets
from foglight.solving.solver import form_of
from foglight.solving.tensors.plain import plain_form
from foglight.solving.whole.regret import Regrets

GAMES = (
    "leduc_poker",
    "goofspiel(cards=6)",
    "phantom_ttt",
    "dark_hex(rows=3,cols=3,tries=silent)",
    "phantom_ttt(abrupt=yes)",
    "dark_hex(rows=3,cols=3,tries=silent,abrupt=yes)",
)
_MEMORY = 64.0  # GiB
_ITERATIONS = 100
_WARM = 3  # iterations that compile and load, by solvers that are thrown away


def measure(game: str, device: str) -> list[dict[str, Any]]:
    """The figures of a game, one row for each method."""
    from foglight.solving.tensors.regret import TensorRegrets

    begin = time.perf_counter()
    form = form_of(game, _MEMORY)
    prepared, plain = time.perf_counter() - begin, plain_form(form)
    rows = []
    for method in ("pcfr+", "sapcfr+") if isinstance(form, FactoredForm) else ("cfr+",):
        solvers: list[Any] = [_compiled(form, method), TensorRegrets(plain, method, device)]
        for solver in solvers:
            solver.iterate(_WARM)
        solvers = []  # a device need not hold two
        solvers = [_compiled(form, method), TensorRegrets(plain, method, device)]
        solvers[1].iterate(2)  # records the steps; these iterations count
        ms: list[list[float]] = [[], []]
        for hundred in (1, 2):
            for which, solver in enumerate(solvers):
                left = hundred * _ITERATIONS - solver.iterations
                begin = time.perf_counter()
                solver.iterate(left)
                ms[which].append(1000 * (time.perf_counter() - begin) / left)
            digests = [_digest(solver.state()) for solver in solvers]
            if digests[0] != digests[1]:
                raise RuntimeError(f"{game}, {method}: states differ after {hundred * _ITERATIONS} iterations")
        begin = time.perf_counter()
        exploitability = solvers[1].exploitability()
        rows.append(
            {
                "game": game,
                "method": method,
                "sequences": sum(array.size for name, array in solvers[0].state().items() if name.startswith("plan")),
                "prepared_s": round(prepared, 2),
                "cores": len(os.sched_getaffinity(0)),
                "compiled_ms": [round(one, 3) for one in ms[0]],
                "device_ms": [round(one, 3) for one in ms[1]],
                "ratio": [round(one / other, 1) for one, other in zip(*ms, strict=True)],
                "exploitability": exploitability,
                "exploitability_ms": round(1000 * (time.perf_counter() - begin), 2),
                "sha256": digests[0],
            }
        )
    return rows


def _compiled(form: Any, method: str) -> FactoredRegrets | Regrets:
    return FactoredRegrets(form, method) if isinstance(form, FactoredForm) else Regrets(form, method)


def _digest(state: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(state):
        digest.update(name.encode() + state[name].tobytes())
    return digest.hexdigest()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m foglight.bench.devices", description="Solve whole games on a device and by compiled code."
    )
    parser.add_argument("games", nargs="*", help="by default two trees and four phantom games")
    parser.add_argument("--device", default="cuda", help="a device of PyTorch; by default cuda")
    given = parser.parse_args(arguments)
    for game in given.games or GAMES:
        try:
            rows = measure(game, given.device)
        except BadInput as error:
            parser.exit(2, f"{error}\n")
        for row in rows:
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
