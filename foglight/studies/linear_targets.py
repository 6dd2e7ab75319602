"""Figure 2 of particle value functions: linear targets, output by projection or by concatenation [Sustr2021].

Targets are y = A x with n = 10, and A and x normally distributed (Section 5.3, Appendix D). The baseline learns A from
whole vectors. The particle networks see each coordinate as an element of a set, with a one-hot feature. Change of basis
and regression are one linear layer each, and an exact solution exists. With projection the loss has no local optimum.
With concatenation the output is joined by one or two layers with ReLU (Appendix C), and learning stalls.

There are 1000 points, in batches of 64, with Adam at 1e-3 in single precision, as in the paper. No layer has a bias but
those of the join. Long after a network has converged, Adam's steps may amplify the remaining gradient, and the loss
jumps for a while; so the table has the lowest loss of each run beside the last.
"""

from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.studies._claims import Claim, claim
from foglight.studies._tables import Results, chosen
from foglight.text import markdown

N, POINTS, BATCH, RATE = 10, 1000, 64, 1e-3
STEPS = {True: 10_000, False: 50_000}  # training steps, by quick
SEEDS = {True: 2, False: 10}  # runs, by quick
EVERY = 500  # steps between two measurements of the loss
SMALL, PRECISE, STALLED = 1e-6, 1e-12, 1e-5  # losses: learned, learned to machine precision, not learned
VARIANTS = ("linear", "projection", "concatenation, 1 layer", "concatenation, 2 layers")
PUBLISHED = {
    "linear": "0",
    "projection": "1e-13",
    "concatenation, 1 layer": "about 1e-3",
    "concatenation, 2 layers": "",
}


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    runs = range(seed, seed + SEEDS[quick])
    return {
        f"{variant}, {run}": {"variant": variant, "seed": run, "steps": STEPS[quick]}
        for variant in VARIANTS
        for run in runs
    }


def work(variant: str, seed: int, steps: int) -> dict[str, Any]:
    """Train a network; returns its loss over all points, every EVERY steps."""
    import torch

    from foglight.values.networks.architectures import Batch

    torch.set_num_threads(1)  # more only slow matrices this small
    torch.manual_seed(seed)
    matrix, points = torch.randn(N, N), torch.randn(POINTS, N)
    targets, network = points @ matrix.T, _network(variant)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)

    def loss(which: Any) -> Any:
        n, none, number = len(which), torch.zeros(0), torch.zeros(0, dtype=torch.int64)
        of, places = torch.arange(n).repeat_interleave(N), torch.arange(N).repeat(n)
        ranges = points[which].ravel()
        batch = Batch(torch.zeros(n, 0), of, places, ranges, slice(None), ranges, number, number, none)
        bases = network.bases(torch.zeros(N, 0), torch.eye(N)).repeat(n, 1)
        return ((network(batch, bases) - targets[which].ravel()) ** 2).mean()

    losses, everything = [], torch.arange(POINTS)
    for step in range(steps + 1):
        if step % EVERY == 0:
            with torch.no_grad():
                losses.append(float(loss(everything)))
        optimiser.zero_grad()
        loss(torch.randint(POINTS, (BATCH,))).backward()
        optimiser.step()
    return {"variant": variant, "losses": losses, "every": EVERY}


def _network(variant: str) -> Any:
    from torch import nn

    from foglight.values.networks.architectures import Particle, Positional

    network: Any
    if variant == "linear":
        network = Positional(0, N, mass=False)
        network.regression = nn.Linear(N, N, bias=False)
        return network
    output = "projection" if variant == "projection" else "concatenation"
    network = Particle(0, N, base=N, output=output, mass=False)
    network.change_of_basis = nn.Linear(N, N, bias=False)
    network.regression = nn.Linear(N, N, bias=False)
    if variant != "projection":
        layers = int(variant.split()[1])
        parts = [part for _ in range(layers) for part in (nn.Linear(2 * N, 2 * N), nn.ReLU())]
        network.join = nn.Sequential(*parts, nn.Linear(2 * N, 1))
    return network


def _curves(results: Results, variant: str) -> np.ndarray:
    return np.array([result["losses"] for result in chosen(results, variant=variant)])


def table(results: Results) -> str:
    steps = EVERY * (len(next(iter(results.values()))["losses"]) - 1)
    columns = ["output", f"loss after {steps:,} steps", "least in any run", "lowest on the way", "published", "runs"]
    rows = []
    for variant in VARIANTS:
        curves = _curves(results, variant)
        numbers = np.median(curves[:, -1]), curves[:, -1].min(), np.median(curves.min(1))
        rows.append([variant, *(f"{number:.1e}" for number in numbers), PUBLISHED[variant], len(curves)])
    return markdown(columns, rows)


def claims(results: Results) -> list[Claim]:
    curves = {variant: _curves(results, variant) for variant in VARIANTS}
    if not all(map(len, curves.values())):
        return []
    lowest = {variant: curve.min(1) for variant, curve in curves.items()}
    linear, projection, one, two = VARIANTS
    # steps until a loss below 1e-6; a run that never gets there counts as infinite
    steps = {
        variant: np.median(
            [EVERY * int(np.argmax(run < SMALL)) if run.min() < SMALL else np.inf for run in curves[variant]]
        )
        for variant in (linear, projection)
    }
    jumps = [
        max(float(run[i:].max() / run[i]) for i in range(len(run))) for variant in (one, two) for run in curves[variant]
    ]

    def shown(which: str) -> str:
        return f"{np.median(lowest[which]):.0e} ({lowest[which].min():.0e} to {lowest[which].max():.0e})"

    return [
        claim(
            "Figure 2",
            "A linear layer and the particle network with projection learn linear targets to machine precision.",
            "0 and 1e-13",
            f"lowest losses: linear {shown(linear)}, projection {shown(projection)}",
            [bool(np.median(lowest[variant]) < PRECISE) for variant in (linear, projection)],
            "Below 1e-12 counts.",
            "Below 1e-12 counts; the length of training decides how far a loss falls.",
        ),
        claim(
            "Figure 2",
            "Projection takes longer to learn than the linear layer.",
            "longer",
            f"median steps to a loss of {SMALL:.0e}: linear {steps[linear]:,.0f}, projection {steps[projection]:,.0f}",
            [bool(steps[projection] > steps[linear])],
            "It has two matrices to learn instead of one.",
            "A product of two matrices grows faster under Adam's steps of equal size.",
        ),
        claim(
            "Figure 2 and Appendix C",
            "With concatenation and one layer the loss stalls near 1e-3.",
            "1e-3",
            f"lowest losses {shown(one)}",
            [bool(run > STALLED) for run in lowest[one]],
            "Solutions exist, but training does not find them; a run stalls if it never falls below 1e-5.",
            "A run stalls if it never falls below 1e-5; ours go on learning where the paper's stall.",
        ),
        claim(
            "Appendix C",
            "With two layers the loss is smaller, but still significantly worse than with projection.",
            "smaller than 1e-3, above 1e-13",
            f"lowest losses {shown(two)}",
            [
                bool(np.median(lowest[two]) < np.median(lowest[one])),
                bool(lowest[two].min() > 100 * lowest[projection].max()),
            ],
            "By medians over runs, and by the best run against the worst one of projection.",
        ),
        claim(
            "Appendix C",
            "With concatenation training is unstable: the loss sometimes jumps by orders of magnitude.",
            "several orders",
            f"largest rise of a run, median over runs: {np.median(jumps):.0e} times; most {max(jumps):.0e}",
            [bool(max(jumps) > 100)],
            "A rise by a factor of 100 in some run counts; losses are measured every 500 steps.",
            "A rise by a factor of 100 in some run counts; short runs may end before one.",
        ),
    ]


def draw(results: Results, path: Path) -> None:
    figure, (axes,) = panels(1, 7, 4.5)
    for number, variant in enumerate(VARIANTS):
        for run, losses in enumerate(_curves(results, variant)):
            steps = EVERY * np.arange(len(losses))
            axes.semilogy(
                steps, np.maximum(losses, 1e-16), color=f"C{number}", alpha=0.8, label="_" * (run > 0) + variant
            )
    axes.set(
        xlabel="training steps", ylabel="mean squared error", title="Linear targets, n = 10, one line for each run"
    )
    axes.legend()
    save(figure, path)
