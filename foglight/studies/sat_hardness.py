"""How hard filtering can be: the 3-FSAT game by enumeration and by a SAT solver [Solinas2023, Theorem 1].

Seat 0 sets n variables in secret, then chance shows 4.26 n clauses that are true, the ratio at which random formulas
are hardest. To the public, a history is a satisfying assignment. Enumeration keeps all assignments that satisfy the
clauses so far, times the triples of variables that chance may be drawing:

    largest layer = 2^n * n (n - 1) (n - 2) / 6      just before the first clause is shown

so it more than doubles with each variable. A SAT solver constructs one history. It gets the same formulas, and others
of up to 60 variables, which enumeration cannot reach. Formulas come from play, so all of them are satisfiable; at these
sizes they are easy for a solver. Only the worst case is hard for it.
"""

import random
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from foglight.pictures import panels, save
from foglight.rules import PUBLIC
from foglight.state import State, new_state
from foglight.studies._claims import Claim, claim, finding
from foglight.studies._tables import Results
from foglight.text import markdown
from foglight.worlds.filter import history_filter

RATIO = 4.26  # clauses per variable
LIMIT = 2_000_000  # most worlds of a layer
ENUMERATED = {True: range(3, 12), False: range(3, 13)}  # variables, by quick
SOLVED = (16, 20, 30, 40, 50, 60)  # variables, by the solver alone
RUNS, REPEATS = 3, 5  # formulas per size, and repetitions of the solver per formula


def play(variables: int, seed: int) -> State:
    """A random game, played to its end."""
    rng = random.Random(seed)
    state = new_state(f"three_sat(variables={variables},clauses={round(RATIO * variables)})")
    while actions := state.actions():
        odds = [share for _, share in state.chance()] or None
        state.play(rng.choices(actions, odds)[0])
    return state


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    sizes = [(n, True) for n in ENUMERATED[quick]] + [(n, False) for n in SOLVED]
    return {f"{n}": {"variables": n, "enumerate_too": too, "seed": seed} for n, too in sizes}


def work(variables: int, enumerate_too: bool, seed: int) -> dict[str, Any]:
    _solver_seconds(play(3, 0))  # loads all code, so that it is not timed below
    _layers(play(3, 0))
    states = [play(variables, RUNS * seed + run) for run in range(RUNS)]
    solver = median(map(_solver_seconds, states))
    runs = [_layers(state) for state in states] if enumerate_too else []
    return {
        "variables": variables,
        "clauses": round(RATIO * variables),
        "solver": solver,
        "enumeration": min(seconds for seconds, _, _ in runs) if runs else None,
        "worlds": max(worlds for _, worlds, _ in runs) if runs else None,
        "histories": [histories for _, _, histories in runs],
    }


def _solver_seconds(state: State) -> float:
    """The least seconds to construct a history with the same public observations; noise only ever slows it."""
    times = []
    for seed in range(REPEATS):
        begin = time.perf_counter()
        drawn = history_filter(state.game, state.observations(PUBLIC), method="sat").construct(seed)
        times.append(time.perf_counter() - begin)
        assert drawn.observations(PUBLIC) == state.observations(PUBLIC)
    return min(times)


def _layers(state: State) -> tuple[float, int, int]:
    """The seconds that enumeration takes, the worlds of its largest layer, and the number of histories."""
    begin = time.perf_counter()
    layers = history_filter(state.game, state.observations(PUBLIC), method="layers", limit=LIMIT)
    return time.perf_counter() - begin, layers.diagnostics()["largest_layer"], layers.count()


def table(results: Results) -> str:
    rows = []
    for result in results.values():
        listed = ["", ""] if result["worlds"] is None else [f"{result['worlds']:,}", f"{result['enumeration']:.3g}"]
        rows.append([result["variables"], result["clauses"], *listed, f"{result['solver']:.3g}"])
    return markdown(["variables", "clauses", "largest layer", "enumeration, s", "SAT solver, s"], rows, left=())


def claims(results: Results) -> list[Claim]:
    listed = [result for result in results.values() if result["worlds"] is not None]
    growth = [later["worlds"] / earlier["worlds"] for earlier, later in pairwise(listed)]
    last, hardest = listed[-1], max(results.values(), key=lambda result: result["variables"])
    return [
        claim(
            "Theorem 1",
            "In the 3-FSAT game, for which no method is fast unless P = NP, enumeration grows exponentially.",
            "proved for the worst case",
            f"enumeration: {min(growth):.1f} to {max(growth):.1f} times as many worlds for each variable, "
            f"{last['worlds']:,} with {last['variables']}",
            [ratio > 2 for ratio in growth],
            "It more than doubles with each variable; that no other method is fast cannot be measured.",
        ),
        finding(
            "Are the formulas of the 3-FSAT game hard for a SAT solver?",
            f"{1000 * hardest['solver']:.0f} ms for one history with {hardest['variables']} variables and "
            f"{hardest['clauses']} clauses",
            "Formulas come from play, so all can be satisfied, and at these sizes none is a worst case.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    figure, (axes,) = panels(1, 6.5, 4)
    listed = [result for result in results.values() if result["enumeration"] is not None]
    sizes = [result["variables"] for result in listed]
    axes.semilogy(sizes, [result["enumeration"] for result in listed], "o-", label="enumeration by layers")
    sizes = [result["variables"] for result in results.values()]
    axes.semilogy(sizes, [result["solver"] for result in results.values()], "s-", label="one history by a SAT solver")
    last = listed[-1]
    axes.annotate(
        f"{last['worlds']:,} worlds held", (last["variables"], last["enumeration"]), (6, -3), textcoords="offset points"
    )
    axes.set(
        xlabel="variables; 4.26 clauses each", ylabel="seconds", title="3-FSAT game: filtering by size of the formula"
    )
    axes.legend()
    save(figure, path)
