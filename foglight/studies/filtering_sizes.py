"""Table 1 of history filtering: the number of histories in public states of Oh Hell [Solinas2023, Supplement].

A random game is played for a number of tricks. Positions in which a seat has shown a void have fewer histories, and are
skipped. The size is counted twice, by dynamic programming and by enumeration. By hand:

    192     = 4 * 3 * 2 ways to give three of 4 unseen cards to three seats, times (2!)^3 orders of dealing
    12 960  = 5 * 4 * 3, times (3!)^3
    544 320 = 8! / (2! 2! 2! 2!), times (3!)^3
"""

import random
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.policies import weigh
from foglight.state import State
from foglight.studies._claims import Claim, claim
from foglight.studies._tables import Results
from foglight.text import markdown
from foglight.worlds.deals.filter import DealFilter

SIZES = {  # published size: suits, ranks, tricks, tricks played; three seats
    192: (2, 4, 2, 1),
    12_960: (3, 4, 3, 2),
    544_320: (3, 4, 3, 1),
}


def new_game(size: int) -> State:
    """The start of the game whose public states have this size."""
    suits, ranks, tricks, _ = SIZES[size]
    return State(f"oh_hell(players=3,suits={suits},ranks={ranks},tricks={tricks})")


def position(size: int, seed: int, policy: Any = None, voids: bool = False) -> State:
    """A random public state of this size, played by the policy or uniformly; smaller if `voids` are allowed."""
    _, _, tricks, played = SIZES[size]
    rng = random.Random(seed)
    while True:
        state = new_game(size)
        # actions: number of tricks, dealer, the deal, the turned card, three bids, three cards per trick
        for _ in range(2 + 3 * tricks + 1 + 3 + 3 * played):
            odds: list[float] | None = None
            if policy is not None and state.player >= 0:
                actions, weights = np.array(state.actions()), np.empty(len(state.actions()))
                weigh(policy, state.game, state.world, state.player, actions, len(actions), weights)
                odds = weights.tolist()
            state.play(rng.choices(state.actions(), odds)[0])
        if voids or DealFilter(state.game, state.observations(-1), -1).count() == size:
            return state


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return {f"{size}": {"size": size, "seed": seed} for size in SIZES}


def work(size: int, seed: int) -> dict[str, Any]:
    state = position(size, seed)
    deals = DealFilter(state.game, state.observations(-1), -1)
    enumerated = sum(len(weights) for _, weights, _ in deals.batches())
    return {"game": str(state.game), "counted": deals.count(), "enumerated": enumerated}


def table(results: Results) -> str:
    rows = [
        [f"{int(size):,}", f"{result['counted']:,}", f"{result['enumerated']:,}", f"`{result['game']}`"]
        for size, result in results.items()
    ]
    return markdown(["published", "counted", "enumerated", "game"], rows, left=(3,))


def claims(results: Results) -> list[Claim]:
    return [
        claim(
            "Table 1",
            "Public states of the three games have 192, 12,960 and 544,320 histories.",
            ", ".join(f"{size:,}" for size in SIZES),
            ", ".join(f"{result['counted']:,}" for result in results.values()),
            [result["counted"] == result["enumerated"] == int(size) for size, result in results.items()],
            "Counted by dynamic programming and listed one by one; the paper counts orders of dealing, and no voids.",
        )
    ]


def draw(results: Results, path: Path) -> None:
    figure, (axes,) = panels(1, 5, 3)
    axes.loglog([int(size) for size in results], [result["counted"] for result in results.values()], "o-")
    axes.set(xlabel="published number of histories", ylabel="counted", title="Oh Hell: sizes of public states")
    save(figure, path)
