"""What is it worth to know how the others play? Search from weighted worlds: [Solinas2023] joined with [Arjonilla2024].

A searching agent meets opponents whose policy is known. Its belief gives a world the probability that some policy leads
to it. That policy is the opponents' own (known), a guess (all histories alike, uniform play, or an equilibrium), or
that of a very different player (wrong). Search itself stays the same: it supposes random play below its first moves.

    leduc_poker  equilibrium: solved by CFR+; honest: plays the best response to uniform play, at random once in ten
                 times; contrary: plays honest's probabilities in reverse order, so that it folds where honest raises
    oh_hell      high and low: plays the i-th of n legal actions in proportion to exp(slope * i / (n - 1)); so it plays
                 high or low cards, which tells what it does not hold

The table has the mean payoff of a game, and the bits of surprise at the truth: -log2 of the probability that the belief
gives to what is in each place, a card or a hand, added up over places; the mean over decisions in the first games.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from foglight.agents import Agent, Seat, load_agent
from foglight.agents._searching import Searcher
from foglight.arena.match import play_match
from foglight.compile import implements
from foglight.games import load_game
from foglight.names import Between
from foglight.pictures import panels, save
from foglight.policies import Tabular, Uniform, tabular
from foglight.randomness import weighted
from foglight.rules import Game, contents, num_players
from foglight.solving.solver import best_response, exploitability, solve
from foglight.solving.whole.solved import Solved
from foglight.state import State
from foglight.studies._claims import Claim, finding
from foglight.studies._tables import Results, chosen
from foglight.text import markdown
from foglight.worlds.marginals import marginals

LEDUC, OH_HELL = "leduc_poker", "oh_hell(players=3,suits=3,ranks=6,tricks=5)"
SEARCHES = ("pimc", "epimc")
BUDGETS = {True: 300, False: 3000}  # iterations, by quick
GAMES = {True: {LEDUC: 3000, OH_HELL: 300}, False: {LEDUC: 20_000, OH_HELL: 4000}}
JUDGED = {True: 15, False: 200}  # games in which the surprise at the truth is measured, by quick
KNOWN, WRONG = "known", "wrong"
OPPONENTS = {LEDUC: ("equilibrium", "honest", "contrary"), OH_HELL: ("high", "low")}
GUESSES = {LEDUC: ("histories", "uniform_play", "equilibrium"), OH_HELL: ("histories", "uniform_play")}
OPPOSITES = {"equilibrium": "contrary", "honest": "contrary", "contrary": "honest", "high": "low", "low": "high"}
SLOPES = {"high": 4, "low": -4}
CAP = 2000  # worlds of a belief
_CARELESS = 0.1  # how often honest plays at random
_LEAST = 1e-3  # probability of what a sample has missed


class Slope(NamedTuple):
    """The policy that plays the i-th of n legal actions in proportion to exp(slope * i / (n - 1))."""

    slope: float


@implements(Slope, "weigh")
def _weigh_slope(policy, game, world, seat, actions, n, out):
    total = 0.0
    for i in range(n):
        out[i] = np.exp(policy.slope * i / max(1, n - 1))
        total += out[i]
    for i in range(n):
        out[i] /= total


@dataclass
class Leaning(Agent):
    """Plays the policy `Slope`."""

    slope: Annotated[float, "how much later actions are preferred", Between(-50, 50)] = 4.0

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = actions or self.legal_actions()
        return actions[weighted(self.random(), self.probabilities(actions), len(actions))]

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        actions = actions or self.legal_actions()
        odds = np.exp(self.slope * np.arange(len(actions)) / max(1, len(actions) - 1))
        return odds / odds.sum()

    def exact_policy(self, game: Game) -> Slope:
        return Slope(self.slope)


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    result = {}
    for game, opponents in OPPONENTS.items():
        for search in SEARCHES:
            for opponent in opponents:
                guesses = [guess for guess in GUESSES[game] if guess != opponent]
                for weights in (KNOWN, *guesses, WRONG):
                    result[f"{game}, {search}, {opponent}, {weights}"] = {
                        "game": game,
                        "agent": f"{search}(iterations={BUDGETS[quick]}",
                        "opponent": opponent,
                        "weights": weights,
                        "games": GAMES[quick][game],
                        "judged": JUDGED[quick],
                        "seed": seed,
                    }
    return result


def prepare(cells: dict[str, dict[str, Any]], folder: Path) -> None:
    """Write the policies of Leduc poker."""
    equilibrium = solve(LEDUC, iterations=1000)
    equilibrium.save(folder / "equilibrium.npz")
    table: dict[int, list[float]] = {}
    for seat in range(2):
        _, best = best_response(LEDUC, Uniform(), seat)
        for row, key in enumerate(best.keys.tolist()):
            odds = best.probabilities[best.begins[row] : best.begins[row + 1]]
            if key not in table or odds.max() > 1.0 / len(odds):  # a response says nothing about the other seat
                table[key] = ((1.0 - _CARELESS) * odds + _CARELESS / len(odds)).tolist()
    _save(tabular(table), folder / "honest.npz")
    _save(tabular({key: odds[::-1] for key, odds in table.items()}), folder / "contrary.npz")


def _save(policy: Tabular, path: Path) -> None:
    saved = Solved(*policy)
    saved.game, saved.method, saved.iterations, saved.seed, saved.state = LEDUC, "cfr", 1, 0, {}
    saved.exploitability, saved.value = exploitability(LEDUC, policy), 0.0
    saved.save(path)


def work(
    game: str, agent: str, opponent: str, weights: str, games: int, judged: int, seed: int, folder: Path
) -> dict[str, Any]:
    model = {KNOWN: opponent, WRONG: OPPOSITES[opponent]}.get(weights, weights)
    ours = f"{agent},cap={CAP},weights={_text(model, folder)})"
    theirs = _text(opponent, folder)
    result = play_match(game, [ours, *[theirs] * (num_players(load_game(game)) - 1)], games, seed)
    bits = [bit for number in range(judged) for bit in _surprises(game, ours, number, result.records[number].actions)]
    return {
        "game": game,
        "agent": agent,
        "search": agent.partition("(")[0],
        "opponent": opponent,
        "weights": weights,
        "games": games,
        "mean": result.mean_returns[0],
        "error": result.standard_errors[0],
        "bits": float(np.mean(bits)),
    }


def _text(player: str, folder: Path) -> str:
    """The agent that plays like this, or the word for a weight."""
    if player in SLOPES:
        return f"{__name__}:Leaning(slope={SLOPES[player]})"
    return player if player in ("histories", "uniform_play") else f'policy(file="{folder / player}.npz")'


def _surprises(game: str, agent: str, number: int, actions: Sequence[int]) -> list[float]:
    """By decision of the agent in the game of this number: -log2 of the probabilities of what was where, added up."""
    state, bits = State(game), []
    with load_agent(agent) as asked:
        assert isinstance(asked, Searcher)
        seat = Seat(asked, state.game, number % state.num_players, 0)
        for action in actions:
            if state.player == seat.number and len(state.actions()) > 1:
                seat.tell(state.observations(seat.number))
                worlds = asked.belief.worlds(state.actions())
                odds = marginals(state.game, worlds.rows, worlds.weights.tolist(), worlds.exact).odds
                true = zip(odds, contents(state.game, state.world), strict=True)
                bits.append(-sum(math.log2(max(place.get(what, 0.0), _LEAST)) for place, what in true))
            state.play(action)
    return bits


def table(results: Results) -> str:
    """Rows are matches, columns what worlds are weighted by."""
    columns = list(dict.fromkeys(row["weights"] for row in results.values()))
    columns.sort(key=[KNOWN, *GUESSES[LEDUC], WRONG].index)
    rows = []
    for game, opponents in OPPONENTS.items():
        for search in SEARCHES:
            for opponent in opponents:
                by_weights = _by_weights(results, game, search, opponent)
                texts = [_cell(by_weights.get(weights)) for weights in columns]
                rows.append([game.partition("(")[0], f"`{search}`", opponent, *texts])
    return markdown(["game", "agent", "opponents", *columns], rows)


def _by_weights(results: Results, game: str, search: str, opponent: str) -> dict[str, dict[str, Any]]:
    return {row["weights"]: row for row in chosen(results, game=game, search=search, opponent=opponent)}


def _cell(row: dict[str, Any] | None) -> str:
    return "" if row is None else f"{row['mean']:+.2f} ± {1.96 * row['error']:.2f} ({row['bits']:.2f} bits)"


def claims(results: Results) -> list[Claim]:
    """Who knows how the others play wins more than who is wrong about it."""
    gains: dict[str, list[tuple[str, float, float]]] = {"histories": [], WRONG: []}  # who, the mean, half its interval
    for game, opponents in OPPONENTS.items():
        for opponent, search in product(opponents, SEARCHES):
            rows = _by_weights(results, game, search, opponent)
            if {KNOWN, *gains} <= rows.keys():
                for other, several in gains.items():
                    one, two = rows[KNOWN], rows[other]
                    name = f"{search} in {game.partition('(')[0]} against {opponent}"
                    several.append((name, one["mean"] - two["mean"], 1.96 * math.hypot(one["error"], two["error"])))
    return [
        finding(
            "How much more does an agent win per game if it weighs worlds by the policy that the others really play?",
            f"than with all histories alike: {_summary(gains['histories'])}. "
            f"Than by a wrong policy: {_summary(gains[WRONG])}",
            "Mean payoffs; 95 % intervals of differences between separate matches.",
        )
    ]


def _summary(gains: list[tuple[str, float, float]]) -> str:
    """In how many matches something is gained or lost for certain, and where."""
    sure = [(name, mean, half) for name, mean, half in gains if abs(mean) > half]
    more = sum(mean > 0.0 for _, mean, _ in sure)
    n, less, undecided = len(gains), len(sure) - more, len(gains) - len(sure)
    count = f"more in {more} of {n} matches, less in {less}, undecided in {undecided}"
    shown = ", ".join(f"{name} {mean:+.2f} ± {half:.2f}" for name, mean, half in sure)
    return count + (f" ({shown})" if shown else "")


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(len(OPPONENTS), 5.0 * len(OPPONENTS), 3.6)
    for axes, (game, opponents) in zip(parts, OPPONENTS.items(), strict=True):
        columns = [KNOWN, *GUESSES[game], WRONG]
        for search in SEARCHES:
            for opponent in opponents:
                by_weights = _by_weights(results, game, search, opponent)
                places = [i for i, weights in enumerate(columns) if weights in by_weights]
                shown = [by_weights[columns[i]] for i in places]
                errors = [1.96 * row["error"] for row in shown]
                axes.errorbar(
                    places, [row["mean"] for row in shown], errors, label=f"{search}, {opponent}", marker="o", capsize=2
                )
        axes.set_xticks(range(len(columns)), columns)
        axes.set(title=game.partition("(")[0], xlabel="what worlds are weighted by")
        axes.legend(fontsize="x-small")
    parts[0].set_ylabel("mean payoff of a game")
    save(figure, path)
