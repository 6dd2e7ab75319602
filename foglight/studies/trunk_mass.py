"""An ablation of Figure 3 of particle value functions: networks with and without the mass as a factor [Sustr2021].

The outputs of the paper's networks are the counterfactual values themselves, so the networks have to learn the mass of
an information state: its reach probability by chance and the other seat. The outputs of ours are multiplied by the
mass. All else is as in `trunk_values`, and the same for both: data sets, initial weights, order of batches, steps, 100
iterations of CFR+ in the trunk, and the measurement of exploitability.

The paper speaks of beliefs that are not normalised. Here ranges are normalised, for both networks, and outputs are
multiplied by the sum of the other seat's range and by the chance of the likeliest history (`values.networks.layout`).
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.studies import trunk_values
from foglight.studies._claims import Claim, finding, ratio_of
from foglight.studies._tables import Results, chosen
from foglight.studies._trunks import TRUNKS, cells_of, plan, prepare  # noqa: F401  parts of the study
from foglight.text import markdown

KINDS = ("positional", "particle")


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return cells_of("", KINDS, quick, seed, mass=(True, False))


def work(folder: Path, **cell: Any) -> dict[str, Any]:
    return trunk_values.work(folder, **cell) | {"mass": cell["mass"]}


def table(results: Results) -> str:
    columns = ["game", "leaves", "mass", "steps", "loss", "trunk exploitability", "lowest and highest run", "runs"]
    rows = []
    for game, kind, mass in itertools.product(TRUNKS, KINDS, (True, False)):
        runs = chosen(results, game=game, kind=kind, mass=mass)
        last = [run["exploitability"][-1] for run in runs]
        loss = f"{np.mean([run['loss'][-1] for run in runs]):.1e}"
        who = f"`{game}`", kind, "yes" if mass else "no", f"{runs[0]['steps'][-1]:,}", loss
        rows.append([*who, f"{np.mean(last):.3f}", f"{min(last):.3f} to {max(last):.3f}", len(runs)])
    return markdown(columns, rows, left=(0, 1, 2))


def claims(results: Results) -> list[Claim]:
    texts = []
    for game, kind in itertools.product(TRUNKS, KINDS):
        with_mass, without = (
            np.array([run["exploitability"][-1] for run in chosen(results, game=game, kind=kind, mass=mass)])
            for mass in (True, False)
        )
        texts.append(f"{game}, {kind} {ratio_of(with_mass, without).text(2, '×')}")
    return [
        *trunk_values.compared(results, "as in the paper, without the mass", mass=False),
        finding(
            "What does the mass as a factor of outputs do to trunk exploitability?",
            f"with over without: {'; '.join(texts)}",
            "Everything else is equal: data, initial weights, order of batches.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(2, 10, 4)
    for axes, game in zip(parts, TRUNKS, strict=True):
        for number, kind in enumerate(KINDS):
            for mass in (True, False):
                runs = chosen(results, game=game, kind=kind, mass=mass)
                mean = np.mean([run["exploitability"] for run in runs], axis=0)
                label = kind if mass else f"{kind}, no mass"
                axes.loglog(runs[0]["steps"], mean, "o-" if mass else "x:", color=f"C{number}", label=label)
        axes.set(title=game, xlabel="training steps", ylabel="trunk exploitability, both seats")
        axes.legend()
    save(figure, path)
