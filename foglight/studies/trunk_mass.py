"""An ablation beside Figure 3 of particle value functions: networks with the mass as a factor, and without [Sustr2021].

The paper's networks say counterfactual values outright, and so have to learn how likely chance and the other seat make
an information state. Ours are multiplied by it, the mass. All else is as in `trunk_values`, and alike for both: data
sets, weights at the start, order of batches, steps, 100 iterations of CFR+ in the trunk, and how the trunk is judged.

The paper speaks of beliefs that are not normalised. Ranges are here, for both, and what a network says is multiplied by
the sum of the other seat's range and by the chance of the likeliest history (`values.networks.layout`).
"""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.studies import trunk_values
from foglight.studies._trunks import STRATEGIES, TRUNKS, Results

KINDS = ("positional", "particle")
SEEDS = {True: 2, False: 10}  # by quick
MARKS = {True: trunk_values.MARKS[True][-3:], False: trunk_values.MARKS[False]}


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return {
        f"{game}, {kind}, {'mass' if mass else 'no mass'}, {run}": {
            "game": game,
            "kind": kind,
            "seed": run,
            "strategies": STRATEGIES,
            "marks": MARKS[quick],
            "mass": mass,
        }
        for game in TRUNKS
        for run in range(seed, seed + SEEDS[quick])
        for kind in KINDS
        for mass in (True, False)
    }


def work(**arguments: Any) -> dict[str, Any]:
    return trunk_values.work(**arguments) | {"mass": arguments["mass"]}


def _runs(results: Results, game: str, kind: str, mass: bool) -> list[dict[str, Any]]:
    wanted = {"game": game, "kind": kind, "mass": mass}
    return [run for run in results.values() if wanted.items() <= run.items()]


def table(results: Results) -> str:
    lines = [
        "| game | leaves | mass | steps | loss | trunk exploitability | lowest and highest run | runs |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for game in TRUNKS:
        for kind in KINDS:
            for mass in (True, False):
                runs = _runs(results, game, kind, mass)
                last = [run["exploitability"][-1] for run in runs]
                loss = np.mean([run["loss"][-1] for run in runs])
                lines.append(
                    f"| `{game}` | {kind} | {'yes' if mass else 'no'} | {runs[0]['steps'][-1]:,} | {loss:.1e} "
                    f"| {np.mean(last):.3f} | {min(last):.3f} to {max(last):.3f} | {len(runs)} |"
                )
    return "\n".join(lines) + "\n"


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(2, 10, 4)
    for axes, game in zip(parts, TRUNKS, strict=True):
        for number, kind in enumerate(KINDS):
            for mass in (True, False):
                runs = _runs(results, game, kind, mass)
                mean = np.mean([run["exploitability"] for run in runs], axis=0)
                label = kind if mass else f"{kind}, no mass"
                axes.loglog(runs[0]["steps"], mean, "o-" if mass else "x:", color=f"C{number}", label=label)
        axes.set(title=game, xlabel="training steps", ylabel="trunk exploitability, both seats")
        axes.legend()
    save(figure, path)
