"""Ways to choose positions, and their effect on the entropies of Table 2 of history filtering [Solinas2023].

The paper does not say how its public states were chosen. We try four ways:

    played      by the policy itself, as in `filtering_entropy`
    at random   by uniform play, so that the cards played tell less about the hands
    favourites  by the policy's likeliest actions
    alike       every public state is equally likely, even if few deals lead to it; most then show voids

The size that names a row is that of a public state without voids; voids make it smaller. So the entropies of `played`
are also given for public states with at most a certain number of histories, as if larger ones had failed to finish.
Entropy is in bits, over all histories.
"""

import itertools
import random
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.pictures import panels, save
from foglight.policies import Biased
from foglight.state import State
from foglight.studies._claims import Claim, agrees, count, finding
from foglight.studies._tables import Results, chosen, mean_and_error, plus_minus
from foglight.studies.filtering_entropy import BIASES, PUBLISHED
from foglight.studies.filtering_sizes import SIZES, new_game, position
from foglight.text import markdown
from foglight.worlds.deals.filter import DealFilter

WAYS = ("played", "at random", "favourites", "alike")
RUNS = {True: {192: 40, 12_960: 40, 544_320: 20}, False: dict.fromkeys(SIZES, 100)}  # by quick, then by size
MOST = (408_240, 291_600, 116_640)  # histories: the sizes that voids can leave of the largest public state


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    return {
        f"{way}, {size}, {bias}, {run}": {"way": way, "size": size, "bias": bias, "seed": 1000 * seed + run}
        for way in WAYS
        for size in SIZES
        for bias in BIASES
        for run in range(RUNS[quick][size])
    }


def work(way: str, size: int, bias: float, seed: int) -> dict[str, Any]:
    policy = Biased(bias, seed)
    state = made(way, size, policy, seed)
    deals = DealFilter(state.game, state.observations(-1), -1, policy)
    odds = np.concatenate([weights for _, weights, _ in deals.batches()])
    odds = odds[odds > 0] / odds.sum()
    entropy = float(-odds @ np.log2(odds))
    return {"way": way, "size": size, "bias": bias, "entropy": entropy, "histories": deals.count()}


def made(way: str, size: int, policy: Biased, seed: int) -> State:
    """A public state of this size, or smaller if it shows voids."""
    if way == "played":
        return position(size, seed, policy, voids=True)
    if way == "at random":
        return position(size, seed, voids=True)
    if way == "favourites":
        return position(size, seed, policy._replace(bias=1.0), voids=True)
    if way == "alike":
        return alike(size, random.Random(seed))
    raise BadInput(f"positions are made by {', '.join(WAYS)}, not by '{way}'")


def alike(size: int, rng: random.Random) -> State:
    """A uniformly random public state: draw all public information until some deal agrees with it."""
    suits, ranks, tricks, played = SIZES[size]
    while True:
        turned, *cards = rng.sample(range(suits * ranks), suits * ranks)
        dealer, bids = rng.randrange(3), [rng.randrange(tricks + 1) for _ in range(3)]
        if sum(bids) == tricks:
            continue  # the dealer bids last, and may not make the bids add up to the number of tricks
        seen, left = cards[: 3 * played], cards[3 * played :]
        movers, n = _movers(suits, dealer, turned, seen), tricks - played
        for rest in itertools.permutations(left, 3 * n):
            hands = [[card for card, mover in zip(seen, movers, strict=True) if mover == seat] for seat in range(3)]
            for seat, hand in enumerate(hands):
                hand += rest[seat * n : (seat + 1) * n]
            if _follows(suits, hands, movers, seen):
                state = new_game(size)
                dealt = [hand[i] for i in range(tricks) for hand in hands]
                for action in [tricks, dealer, *dealt, turned, *(suits * ranks + bid for bid in bids), *seen]:
                    state.play(action)
                return state


def _movers(suits: int, dealer: int, turned: int, seen: list[int]) -> list[int]:
    """The seat that played each of the cards."""
    movers: list[int] = []
    leader = (dealer + 1) % 3
    for first in range(0, len(seen), 3):
        trumps, led = turned % suits, seen[first] % suits
        strengths = [(card % suits == trumps, card % suits == led, card) for card in seen[first : first + 3]]
        movers += [(leader + i) % 3 for i in range(3)]
        leader = movers[first + strengths.index(max(strengths))]
    return movers


def _follows(suits: int, hands: list[list[int]], movers: list[int], seen: list[int]) -> bool:
    """Whether every seat that could follow suit did."""
    for n, (mover, card) in enumerate(zip(movers, seen, strict=True)):
        led = seen[n - n % 3] % suits
        if card % suits != led and any(own % suits == led and own not in seen[:n] for own in hands[mover]):
            return False
    return True


def _entropies(results: Results, way: str, size: int, bias: float, most: int | None = None) -> list[float]:
    several = chosen(results, way=way, size=size, bias=bias)
    return [result["entropy"] for result in several if most is None or result["histories"] <= most]


def rows(results: Results) -> list[tuple[str, int, list[list[float]]]]:
    """The rows of the table: a name, a size, and the entropies at each bias."""
    result = [(way, size, [_entropies(results, way, size, bias) for bias in BIASES]) for size in SIZES for way in WAYS]
    largest = max(SIZES)
    for most in MOST:
        parts = [_entropies(results, "played", largest, bias, most) for bias in BIASES]
        result.append((f"played, at most {most:,} histories", largest, parts))
    return result


def table(results: Results) -> str:
    """Mean entropies; beside each one, the number of runs that would give the published standard error."""
    lines: list[list[str]] = []
    for size, published in PUBLISHED.items():
        shown = [text for number in published[: len(BIASES)] for text in (plus_minus(*number, 2), "")]
        lines.append([f"{size:,}", "published", *shown])
        for name, _, parts in (row for row in rows(results) if row[1] == size):
            texts = []
            for part, (_, error) in zip(parts, published, strict=False):
                if len(part) < 2:
                    texts += [f"{len(part)} runs", ""]
                    continue
                spread = statistics.stdev(part)
                mean = plus_minus(statistics.mean(part), spread / len(part) ** 0.5, 2)
                texts += [mean, f"{(spread / error) ** 2:.0f}"]
            lines.append([f"{size:,}", name, *texts])
    columns = ["size", "positions", *(text for bias in BIASES for text in (f"bias {bias}", "runs like published"))]
    return markdown(columns, lines, left=(1,))


def claims(results: Results) -> list[Claim]:
    fits = {}
    for way in WAYS:
        fits[way] = [
            agrees((float(mean), float(error)), published, of=9)
            for size in SIZES
            for bias, published in zip(BIASES, PUBLISHED[size], strict=False)
            for mean, error in [mean_and_error(_entropies(results, way, size, bias))]
        ]
    counts = ", ".join(f"{way} {count(parts)}" for way, parts in fits.items())
    best = max(fits, key=lambda way: sum(part is True for part in fits[way]))
    every = f"'{best}' fits every number" if all(fits[best]) else "No way of making positions fits all nine numbers"
    return [finding("Does some way of making positions explain the entropies of Table 2?", counts, f"{every}.")]


def draw(results: Results, path: Path) -> None:
    figure, axes_by_size = panels(len(SIZES), 11, 3.5)
    for axes, size in zip(axes_by_size, SIZES, strict=True):
        for way in WAYS:
            parts = [_entropies(results, way, size, bias) for bias in BIASES]
            axes.plot(BIASES, [statistics.mean(part) for part in parts], "o-", label=way)
        means, errors = zip(*PUBLISHED[size][: len(BIASES)], strict=True)
        axes.errorbar(BIASES, means, errors, ls=":", marker="x", color="black", label="published")
        axes.set(title=f"{size:,} histories", xlabel="policy bias", ylabel="entropy (bits)", xticks=BIASES)
    axes_by_size[0].legend(fontsize=7)
    save(figure, path)
