"""Figure 3 of particle value functions: trunk exploitability and loss over training [Sustr2021].

A positional and a particle network learn from the same data set: public belief states of random strategies at the
leaves of a trunk, with values by 100 iterations of CFR+. A third network, ours, is the particle network that values
histories (`architectures`). The first two differ from the paper's in one point: their outputs are multiplied by the
mass (`trunk_mass` has them without). At certain numbers of steps, the trunk is solved by 100 iterations of CFR+ with
the network at its leaves, and the exploitability of the average strategy is measured. The same picture has the oracle,
which solves the subgames by 100 iterations every time and which no network can be expected to beat by much, and the
uniform trunk.

Exploitability is the sum over both seats, as in the paper's formula (Appendix F), by 1000 iterations of CFR+, which
gives slightly too high a number. The paper's text gives no numbers of the figure, but says that in the end the particle
network is slightly better, though its loss is higher.
"""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.solving.depth_limited.subgame import Oracle
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk
from foglight.studies._claims import Claim, Estimate, claim, factor_of, finding, mean_of
from foglight.studies._tables import Results, chosen
from foglight.studies._trunks import JUDGING, TRUNKS, cells_of, networks, plan, prepare  # noqa: F401  parts of the study
from foglight.text import markdown

KINDS = ("positional", "particle", "histories")
MATCHED = {"leduc_poker": 11, "goofspiel(cards=5)": 134}  # epochs after which the published curves meet
BOUNDS = "bounds"  # the cell with the uniform trunk and the oracle


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return cells_of(BOUNDS, KINDS, quick, seed)


def work(folder: Path, **cell: Any) -> dict[str, Any]:
    game, kind = cell["game"], cell["kind"]
    trunk, judge = _judged(game)
    if kind == BOUNDS:
        exact = solve_trunk(trunk, Oracle(100), 100)
        bounds = {"uniform": judge.exploitability({}, JUDGING), "oracle": judge.exploitability(exact, JUDGING)}
        return {"game": game, "kind": kind} | bounds
    from foglight.values.networks.evaluator import Network

    marks = cell["marks"]
    trained = networks(folder, cell, marks)
    policies = [solve_trunk(trunk, Network(one), 100) for one in trained]
    last = trained[-1].about
    return {
        "game": game,
        "kind": kind,
        "points": last["points"],
        "steps": list(marks),
        "loss": [one.about["loss"] for one in trained],
        "exploitability": [judge.exploitability(policy, JUDGING) for policy in policies],
        "epochs": last["steps"] / -(-last["points"] // last["settings"]["batch"]),
    }


@functools.cache
def _judged(game: str) -> tuple[Trunk, TrunkJudge]:
    trunk = Trunk(game, TRUNKS[game])
    return trunk, TrunkJudge(trunk)


def table(results: Results) -> str:
    rows: list[list[Any]] = []
    for game in TRUNKS:
        (bounds,) = chosen(results, game=game, kind=BOUNDS)
        uniform = bounds["uniform"]
        rows.append([f"`{game}`", "none: uniform play", "", "", "", f"{uniform:.3f}", "100 %", ""])
        for kind in KINDS:
            runs = chosen(results, game=game, kind=kind)
            last = np.array([run["exploitability"][-1] for run in runs])
            spread = f" ± {last.std(ddof=1):.3f}" if len(runs) > 1 else ""
            loss = f"{np.mean([run['loss'][-1] for run in runs]):.1e}"
            who = f"`{game}`", kind, f"{runs[0]['points']:,}", f"{runs[0]['epochs']:.0f}", loss
            rows.append([*who, f"{last.mean():.3f}{spread}", f"{last.mean() / uniform:.1%}", len(runs)])
        exact = bounds["oracle"]
        rows.append([f"`{game}`", "oracle", "", "", "", f"{exact:.3f}", f"{exact / uniform:.1%}", ""])
    columns = ["game", "leaves", "points", "epochs", "loss", "trunk exploitability", "of uniform", "runs"]
    return markdown(columns, rows, left=(0, 1))


def claims(results: Results) -> list[Claim]:
    ours = _last(results, "histories", "positional")
    return [
        *compared(results, "multiplied by the mass"),
        finding(
            "Does a particle network that values histories end lower than the positional one?",
            "histories minus positional: " + "; ".join(f"{game} {one.text(3)}" for game, one in ours.items()),
            "Trunk exploitability; runs are paired by data set.",
        ),
    ]


def compared(results: Results, which: str, **facts: Any) -> list[Claim]:
    """The paper's comparison of the particle with the positional network; runs are paired by their data sets."""
    ends = _last(results, "positional", "particle", **facts)
    starts, firsts, losses = {}, {}, {}
    for game in TRUNKS:
        ((steps, epochs), *_) = [(run["steps"], run["epochs"]) for run in chosen(results, game=game, kind="particle")]
        early = [i for i, step in enumerate(steps) if epochs * step / steps[-1] <= MATCHED[game]]
        ours, theirs = _curves_of(results, game, "exploitability", ("particle", "positional"), **facts)
        starts[game], firsts[game] = mean_of((ours - theirs)[:, early].mean(1)), mean_of((ours - theirs)[:, 0])
        particle, positional = _curves_of(results, game, "loss", ("particle", "positional"), **facts)
        losses[game] = factor_of(particle[:, -1], positional[:, -1])
    orders = [(one.above(1), one.above(100)) for one in losses.values()]
    lower = [(-one.value, -one.high, -one.low) for one in ends.values()]
    return [
        claim(
            "Figure 3",
            f"At first, for 11 epochs in Leduc poker and 134 in Goofspiel, the positional network has a lower trunk "
            f"exploitability (networks {which}).",
            "lower",
            "particle minus positional: "
            + "; ".join(f"{game} {one.text(3)}, first {firsts[game].text(3)}" for game, one in starts.items()),
            [one.above(0) for one in starts.values()],
            "The mean over our measurements until then, at 128, 256, 512 steps and so on; at the first one alone runs "
            "differ too much.",
        ),
        claim(
            "Figure 3",
            f"In the end the particle network has a slightly lower trunk exploitability (networks {which}).",
            "lower",
            "particle minus positional: "
            + "; ".join(f"{game} {Estimate(*one).text(3)}" for game, one in zip(ends, lower, strict=True)),
            [one.above(0) for one in ends.values()],
            "Ten runs, paired by data set.",
            "Runs are paired by data set; the difference has the other sign, or its interval holds 0.",
        ),
        claim(
            "Figure 3",
            f"The particle network's loss is several orders of magnitude higher (networks {which}).",
            "several orders",
            "; ".join(f"{game} {one.text(1, '×')}" for game, one in losses.items()),
            [part for pair in orders for part in pair],
            "Higher, and by at least two orders, in both games.",
            "Higher is one part and by two orders of magnitude is another; ours is higher by far less.",
        ),
    ]


def _curves_of(results: Results, game: str, what: str, kinds: tuple[str, ...], **facts: Any) -> list[np.ndarray]:
    return [np.array([run[what] for run in chosen(results, game=game, kind=kind, **facts)]) for kind in kinds]


def _last(results: Results, kind: str, other: str, **facts: Any) -> dict[str, Estimate]:
    """By game, how much more exploitable one kind is than the other in the end."""
    result = {}
    for game in TRUNKS:
        first, second = _curves_of(results, game, "exploitability", (kind, other), **facts)
        result[game] = mean_of(first[:, -1] - second[:, -1])
    return result


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(4, 10, 7, columns=2)
    for top, bottom, game in zip(parts[:2], parts[2:], TRUNKS, strict=True):
        (bounds,) = chosen(results, game=game, kind=BOUNDS)
        for number, kind in enumerate(KINDS):
            runs = chosen(results, game=game, kind=kind)
            for axes, what in ((top, "exploitability"), (bottom, "loss")):
                curves = np.array([run[what] for run in runs])
                axes.loglog(runs[0]["steps"], curves.mean(0), "o-", color=f"C{number}", label=kind)
                if len(runs) > 1:
                    axes.fill_between(
                        runs[0]["steps"], curves.min(0), curves.max(0), color=f"C{number}", alpha=0.2, linewidth=0
                    )
        for name, style in (("uniform", ":"), ("oracle", "--")):
            label = {"uniform": "uniform trunk", "oracle": "oracle at the leaves"}[name]
            top.axhline(bounds[name], color="black", linestyle=style, linewidth=1, label=label)
        top.set(title=game, ylabel="trunk exploitability, both seats")
        bottom.set(xlabel="training steps", ylabel="mean squared error")
        for axes in (top, bottom):
            axes.legend()
    save(figure, path)
