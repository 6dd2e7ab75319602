"""Beyond the history-filtering paper: its value-estimation task with 52 cards, four seats and twelve tricks.

Enumeration is impossible here, and not needed. Uniform histories can be drawn exactly and independently by counting
deals, so a large importance-weighted sample gives the value of the public belief state: the reference. It is compared
with estimates from n histories of these samplers:

    independent     drawn from the reference sample by weight, so without the reference's own error
    importance      drawn uniformly, weighted by reach probability
    RingSwap k      from the paper's chain, k transitions before each
    drawn rings k   from the cheaper chain, k transitions before each

The value of a history is the expected payoff of seat 0 when all seats follow the policy from its last world. It is
estimated by the mean of 64 playouts, and by a single playout in the reference, which has hundreds of thousands of
histories. Policies are random with a bias of 0.3. With more bias, or more tricks played, fewer of the uniform histories
matter. The table gives the effective sample size of the reference, and its standard error; errors below that mean
nothing. Chains start at one of 256 uniform histories, drawn by weight.
"""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.pictures import panels, save
from foglight.policies import Biased, weigh
from foglight.randomness import generator, weighted
from foglight.rules import (
    CHANCE,
    TERMINAL,
    deal,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    returns,
    transition,
)
from foglight.state import State
from foglight.studies._claims import Claim, factor_of, finding
from foglight.studies._tables import Results, mean_and_error, named, plus_minus
from foglight.text import markdown
from foglight.worlds.deals.chains import effective_size
from foglight.worlds.deals.filter import DealFilter

GAME, BIAS = "oh_hell(players=4,tricks=12)", 0.3
TRICKS = (1, 4)  # tricks played before the position
SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 400)
RING_SWAP, DRAWN_RINGS = (1, 10), (10, 100, 1000)  # transitions before each sample
METHODS = (
    "independent",
    "importance",
    *(f"RingSwap {burn_in}" for burn_in in RING_SWAP),
    *(f"drawn rings {burn_in}" for burn_in in DRAWN_RINGS),
)
PLAYOUTS = 64  # per history, outside the reference
GROWS = True


def position(tricks: int, seed: int) -> State:
    """A public state played by the policy, after this many tricks."""
    rng, state, policy = random.Random(seed), State(GAME), Biased(BIAS, seed)
    for _ in range(2 + 48 + 1 + 4 + 4 * tricks):  # actions: tricks, dealer; deal; turned card; bids; cards
        actions, odds = np.array(state.actions()), np.ones(len(state.actions()))
        if state.player >= 0:
            weigh(policy, state.game, state.world, state.player, actions, len(actions), odds)
        state.play(rng.choices(actions.tolist(), odds.tolist())[0])
    return state


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    runs, size = (5, 400_000) if quick else (50, 2_000_000)
    return {
        f"{tricks} {run}": {"tricks": tricks, "size": size, "seed": 1000 * seed + run}
        for run in range(runs)
        for tricks in TRICKS
    }


def work(tricks: int, size: int, seed: int) -> dict[str, Any]:
    state, most, rng = position(tricks, seed), max(SAMPLES), np.random.default_rng(seed)
    deals = DealFilter(state.game, state.observations(-1), -1, Biased(BIAS, seed))
    _, odds, worlds = deals.weighted(size, seed)
    values = _values(deals, worlds, 1, seed)
    truth = float(np.average(values, weights=odds))
    error = float(np.sqrt((odds**2) @ (values - truth) ** 2) / odds.sum())
    result: dict[str, Any] = {"value": truth, "error": error, "effective": effective_size(odds)}
    chosen = worlds[rng.choice(size, most, p=odds / odds.sum())]
    result["independent"] = _errors(_values(deals, chosen, PLAYOUTS, seed), np.ones(most), truth)
    begin = time.perf_counter()
    _, odds, worlds = deals.weighted(most, seed + 1)
    result["importance seconds"] = time.perf_counter() - begin
    result["importance"] = _errors(_values(deals, worlds, PLAYOUTS, seed), odds, truth)
    for swaps, name, burn_ins in ((False, "RingSwap", RING_SWAP), (True, "drawn rings", DRAWN_RINGS)):
        for burn_in in burn_ins:
            chain = deals.chain(seed, swaps)
            chain.run(1)
            begin = time.perf_counter()
            hands, patterns, _ = chain.run(most, burn_in)
            result[f"{name} {burn_in} seconds"] = time.perf_counter() - begin
            drawn = _values(deals, deals.last_worlds(hands, patterns), PLAYOUTS, seed)
            result[f"{name} {burn_in}"] = _errors(drawn, np.ones(most), truth)
    return result


def _values(deals: DealFilter, worlds: np.ndarray, playouts: int, seed: int) -> np.ndarray:
    """The mean payoff of seat 0 over playouts of the policy from each world."""
    out = np.zeros(len(worlds))
    _play_out(deals.game, deals.policy, worlds, playouts, generator(seed, playouts), out)
    return out


def _errors(values: np.ndarray, weights: np.ndarray, truth: float) -> list[float]:
    """The absolute error of the weighted mean of the first n values, for each n of SAMPLES."""
    return [abs(float(np.average(values[:n], weights=weights[:n])) - truth) for n in SAMPLES]


@kernel
def _play_out(game, policy, worlds, playouts, random, out):
    """Add the mean payoff of seat 0 over playouts of the policy from each world to `out`."""
    room = new_worlds(game, 2)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.empty(num_players(game))
    for w in range(len(worlds)):
        for _ in range(playouts):
            now = 0
            room[0, :] = worlds[w]
            mover = player(game, room[0])
            while mover != TERMINAL:
                if mover == CHANCE:
                    action = deal(game, room[now], random, actions, odds)
                else:
                    n = legal(game, room[now], actions)
                    weigh(policy, game, room[now], mover, actions, n, odds)
                    action = actions[weighted(random, odds, n)]
                transition(game, room[now], action, room[1 - now])
                now = 1 - now
                mover = player(game, room[now])
            returns(game, room[now], payoffs)
            out[w] += payoffs[0] / playouts


def _of(results: Results, tricks: int, what: str) -> np.ndarray:
    return np.array([result[what] for result in named(results, tricks)])


def table(results: Results) -> str:
    shown = [SAMPLES.index(n) for n in (10, 100, 400)]
    rows = []
    for tricks in TRICKS:
        for method in METHODS:
            errors = _of(results, tricks, method)
            mean, error = mean_and_error(errors)
            cost = f"{1000 * np.median(_of(results, tricks, f'{method} seconds')):,.0f}" if method != METHODS[0] else ""
            rows.append([tricks, method, *(plus_minus(mean[i], error[i]) for i in shown), cost, len(errors)])
    worth, own_error = (
        " and ".join(f"{np.median(_of(results, tricks, what)):{form}}" for tricks in TRICKS)
        for what, form in (("effective", ",.0f"), ("error", ".3f"))
    )
    note = (
        f"The reference is worth {worth} equally weighted histories (medians), and has a standard error of {own_error}."
    )
    columns = ["tricks played", "sampler", "10 samples", "100", "400", "ms for 400", "runs"]
    return markdown(columns, rows, left=(1,)) + f"\n{note}\n"


def kept(results: Results) -> Results:
    """The errors with the most samples, which is what claims need."""
    lists = {cell: {key: value for key, value in one.items() if key in METHODS} for cell, one in results.items()}
    return {cell: {method: errors[-1:] for method, errors in one.items()} for cell, one in lists.items()}


def claims(results: Results) -> list[Claim]:
    texts = []
    for tricks in TRICKS:
        importance, rings = (_of(results, tricks, method)[:, -1] for method in ("importance", METHODS[-1]))
        error = factor_of(importance, rings)
        texts.append(f"{error.text(1, '×')} with {tricks} played, {len(rings)} positions")
    return [
        finding(
            f"With 52 cards, how much larger is the error of importance sampling than that of {METHODS[-1]}, at "
            f"{max(SAMPLES)} samples?",
            "; ".join(texts),
            "Enumeration cannot reach this size; the reference is a large weighted sample of exact uniform deals.",
        )
    ]


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(len(TRICKS), 10, 4)
    for axes, tricks in zip(parts, TRICKS, strict=True):
        for method in METHODS:
            mean, error = mean_and_error(_of(results, tricks, method))
            style = "--" if method.startswith("RingSwap") else ":" if method.startswith("drawn") else "-"
            axes.errorbar(SAMPLES, mean, error, label=method, capsize=2, ls=style)
        played = f"{tricks} trick{'s' if tricks > 1 else ''} played"
        axes.set(xscale="log", yscale="log", title=f"52 cards, {played}", xlabel="samples", ylabel="value error")
    parts[0].legend(fontsize=7)
    save(figure, path)
