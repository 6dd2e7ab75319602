"""Figure 4 of particle value functions: trunks built from a fraction of the histories [Sustr2021].

The first moves follow an equilibrium of the whole game, computed by linear programming: one bid of each seat in
Goofspiel, three transitions after the deals in Leduc poker (a public card counts as one). H is the set of histories
with a reach probability above 1e-6 after these moves, in all public states at once. It is common knowledge, as if
chance had drawn it (Appendix F), so reach probabilities are normalised over H. A sparse trunk has the likeliest of
these histories as its roots, with both seats' ranges unchanged. It is cut where the networks of Figure 3 were trained,
and solved by 100 iterations of CFR+ with such a network at its leaves, or with the oracle, which separates the cost of
missing histories from the cost of the network. Information states that are not in the sparse trunk are played
uniformly.

Exploitability is that of the trunk below all of H, the sum over both seats, by 1000 iterations of CFR+. The smallest
sparse trunk has one history in Goofspiel and two in Leduc poker. The published numbers: uniform play has 0.42 in
Goofspiel, about 3.5 times as much as a single history, and 30 % of the histories are practically as good as all.
"""

import functools
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.solving.depth_limited.public import public_state
from foglight.solving.depth_limited.subgame import Evaluator, Oracle
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk
from foglight.solving.particles.belief import Particles, part
from foglight.solving.solver import solve
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import realised
from foglight.studies._claims import CLOSE, Claim, claim, mean_of, ratio_of
from foglight.studies._tables import Results, chosen
from foglight.studies._trunks import JUDGING, TRUNKS, cells_of, networks, plan, prepare  # noqa: F401  parts of the study
from foglight.text import markdown

FIRST_MOVES = {"goofspiel(cards=5)": 2, "leduc_poker": 5}  # transitions before the sparse trunks begin
FEWEST = {"goofspiel(cards=5)": 1, "leduc_poker": 2}  # histories of the smallest sparse trunk
FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the histories; 0: the fewest
SHOWN = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)  # fractions in the table
KINDS = ("particle", "histories")
LEAST = 1e-6  # reach probability of a history in H
ORACLE = "oracle"
_FOREST = 0  # the key of the union of several public states


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return cells_of(ORACLE, KINDS, quick, seed)


def work(folder: Path, fractions: tuple[float, ...] = FRACTIONS, **cell: Any) -> dict[str, Any]:
    game, kind = cell["game"], cell["kind"]
    if kind == ORACLE:
        uniform = judge(game).exploitability({}, JUDGING)
        return {"game": game, "kind": kind, "uniform": uniform} | curve(game, Oracle(100), fractions)
    from foglight.values.networks.evaluator import Network

    (trained,) = networks(folder, cell, cell["marks"][-1:])
    return {"game": game, "kind": kind} | curve(game, Network(trained), fractions)


def curve(game: str, evaluator: Evaluator, fractions: tuple[float, ...] = FRACTIONS) -> dict[str, Any]:
    """By fraction, the number of histories, their total reach probability, and the sparse trunk's exploitability."""
    weights = belief(game).weights
    likeliest = np.argsort(-weights, kind="stable")
    result: dict[str, list[float]] = {"fractions": list(fractions), "histories": [], "reach": [], "exploitability": []}
    for fraction in fractions:
        kept = likeliest[: max(FEWEST[game], round(fraction * len(weights)))]
        policy = solve_trunk(_trunk(game, part(belief(game), np.sort(kept))), evaluator, 100)
        result["histories"].append(len(kept))
        result["reach"].append(float(weights[kept].sum()))
        result["exploitability"].append(judge(game).exploitability(policy, JUDGING))
    return result


@functools.cache
def belief(game: str) -> Particles:
    """H, the histories after the equilibrium's first moves, in all public states at once; weights add up to 1."""
    first = Trunk(game, FIRST_MOVES[game])
    realisation = realised(first.sequences, behaviour_of(first.sequences, solve(game, method="lp")))
    publics, parted = first.public_states, first.leaf_ranges(realisation)
    rows, chance = (np.concatenate([getattr(public, name) for public in publics]) for name in ("rows", "chance"))
    ranges = []
    for seat in range(2):
        keys = np.concatenate([public.keys[seat] for public in publics])
        ranges.append(np.concatenate([given[seat] for given in parted])[np.argsort(keys)])
    whole = Particles(public_state(publics[0].game, _FOREST, rows, chance), ranges)
    support = part(whole, np.flatnonzero(whole.weights > LEAST))
    return replace(support, public=replace(support.public, chance=support.public.chance / support.weights.sum()))


def _trunk(game: str, particles: Particles) -> Trunk:
    return Trunk(game, TRUNKS[game] - FIRST_MOVES[game], particles.public, particles.ranges)


@functools.cache
def judge(game: str) -> TrunkJudge:
    """The judge of strategies in the trunk below all of H."""
    return TrunkJudge(_trunk(game, belief(game)))


def table(results: Results) -> str:
    (exact, *_) = chosen(results, game=next(iter(TRUNKS)), kind=ORACLE)
    at = [i for i, fraction in enumerate(exact["fractions"]) if fraction in SHOWN]
    few, some, whole = (exact["fractions"].index(fraction) for fraction in (0.0, 0.3, 1.0))
    shares = [f"{exact['fractions'][i]:.0%}" if i != few else "fewest" for i in at]
    rows: list[list[Any]] = []
    for game in TRUNKS:
        (exact,) = chosen(results, game=game, kind=ORACLE)
        counts = [f"{exact['histories'][i]} ({exact['reach'][i]:.0%})" for i in at]
        rows.append([f"`{game}`", "how many (reach)", *counts, "", "", ""])
        rows.append([f"`{game}`", "none: uniform play", *[f"{exact['uniform']:.3f}"] * len(at), "", "", ""])
        for kind in (*KINDS, ORACLE):
            curves = np.array([run["exploitability"] for run in chosen(results, game=game, kind=kind)])
            mean, n = curves.mean(0), len(curves)
            spread = [f" ± {deviation:.3f}" for deviation in curves.std(0, ddof=1)] if n > 1 else [""] * len(mean)
            shown = [f"{mean[i]:.3f}{spread[i]}" for i in at]
            excess, ratio = mean[some] / mean[whole] - 1, exact["uniform"] / mean[few]
            runs = n if kind != ORACLE else ""
            rows.append([f"`{game}`", kind, *shown, f"{excess:+.0%}", f"{ratio:.1f}", runs])
    return markdown(["game", "leaves", *shares, "30 % over all", "uniform over fewest", "runs"], rows, left=(0, 1))


def claims(results: Results) -> list[Claim]:
    graceful, texts = [], []
    for game in TRUNKS:
        curves = np.array([run["exploitability"] for run in chosen(results, game=game, kind="particle")])
        steps = [mean_of(curves[:, j] - curves[:, i]).above(0) for i, j in pairwise(range(len(FRACTIONS)))]
        graceful += [True not in steps, mean_of(curves[:, 0] - curves[:, -1]).above(0)]
        texts.append(f"{game} from {curves[:, 0].mean():.3f} to {curves[:, -1].mean():.3f}")
    game, some = "goofspiel(cards=5)", FRACTIONS.index(0.3)
    curves = np.array([run["exploitability"] for run in chosen(results, game=game, kind="particle")])
    (exact,) = chosen(results, game=game, kind=ORACLE)
    part, whole = exact["exploitability"][some], exact["exploitability"][-1]
    enough = mean_of(curves[:, some] - (1 + CLOSE) * curves[:, -1]).below(0)
    ratio = ratio_of(np.full(len(curves), exact["uniform"]), curves[:, 0])
    return [
        claim(
            "Figure 4",
            "Trunk exploitability degrades gracefully as histories are left out.",
            "gracefully",
            f"from the fewest histories to all: {'; '.join(texts)}",
            graceful,
            "It falls from the fewest histories to all, and rises for certain between no two neighbouring shares.",
        ),
        claim(
            "Figure 4",
            "In Goofspiel-5, 30 % of the histories are practically as good as all, with the particle network.",
            "the same",
            f"30 % over all: {ratio_of(curves[:, some], curves[:, -1]).text(2, '×')}",
            [enough],
            "At most a quarter more counts as practically the same.",
            "At most a quarter more counts as practically the same; the noise of the networks hides the difference, "
            "which exact leaves show.",
        ),
        claim(
            "Figure 4",
            "In Goofspiel-5, 30 % of the histories are practically as good as all, with exact leaves.",
            "the same",
            f"{part:.3f} against {whole:.3f}, {part / whole:.1f}×",
            [part <= (1 + CLOSE) * whole],
            "At most a quarter more counts as practically the same.",
            "The histories left out matter once leaves are exact, though the difference is "
            f"{100 * (part - whole) / exact['uniform']:.0f} % of uniform play's exploitability.",
        ),
        claim(
            "Figure 4",
            "In Goofspiel-5 uniform play has 0.42, 3.5 times what a single history has.",
            "0.42; 3.5×",
            f"{exact['uniform']:.3f}; {ratio.text(1, '×')}",
            [abs(exact["uniform"] - 0.42) <= 0.042, ratio.near(3.5, 3.5 * CLOSE)],
            "Within 10 % and within a quarter count as equal.",
            "The paper does not say which equilibrium is played, and so which histories there are.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(2, 10, 4)
    for axes, game in zip(parts, TRUNKS, strict=True):
        (exact,) = chosen(results, game=game, kind=ORACLE)
        shares = np.array(exact["histories"]) / exact["histories"][-1]
        for number, kind in enumerate(KINDS):
            curves = np.array([run["exploitability"] for run in chosen(results, game=game, kind=kind)])
            errors = curves.std(0, ddof=1) if len(curves) > 1 else None
            moved = shares + 0.006 * (2 * number - 1)  # so that bars do not hide each other
            axes.errorbar(moved, curves.mean(0), errors, fmt="o-", color=f"C{number + 1}", capsize=3, label=kind)
        axes.plot(shares, exact["exploitability"], "s--", color="black", markersize=4, label="oracle at the leaves")
        axes.axhline(exact["uniform"], color="black", linestyle=":", linewidth=1, label="uniform play")
        axes.set(title=game, xlabel="share of the histories, the likeliest first", ylim=(0, None))
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    parts[0].set_ylabel("trunk exploitability, both seats")
    parts[0].legend()
    save(figure, path)
