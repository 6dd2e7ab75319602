"""Random playouts per second, ours compiled by Numba beside OpenSpiel's C++, on one core in one run.

OpenSpiel's C++ loop runs without a Python loop around it: one simulation of its `MCTSBot`, whose evaluator plays n
rollouts from the root. This cannot start at a chance node, so both sides start after the first deal. The sides take
turns, several times, and each one's best rate counts, since noise only ever slows a measurement.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from foglight.bench.figures import Row, Side, check_seconds, dealt, load_peer, race
from foglight.playouts import random_playouts
from foglight.state import State

CASES = {  # our game: the same game in OpenSpiel
    "phantom_ttt": "phantom_ttt",
    "dark_hex(rows=4,cols=4)": "dark_hex(num_rows=4,num_cols=4)",
    "dark_hex(rows=8,cols=8)": "dark_hex(num_rows=8,num_cols=8)",
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice(dice=1,sides=6)": "liars_dice",
    "battleship(width=3,height=3,ships=[1,2],shots=9)": (
        "battleship(board_width=3,board_height=3,ship_sizes=[1;2],ship_values=[1;1],num_shots=9)"
    ),
    "dark_chess(size=4)": "dark_chess(board_size=4)",
    "dark_chess(size=8)": "dark_chess",
    "rbc": "rbc",
    "oh_hell(players=3,suits=3,ranks=4,tricks=3)": (
        "oh_hell(players=3,num_suits=3,num_cards_per_suit=4,num_tricks_fixed=3)"
    ),
    "hearts": "hearts",
    "spades": "spades",
    "goofspiel(cards=5)": (
        "turn_based_simultaneous_game(game=goofspiel(num_cards=5,points_order=descending,imp_info=True))"
    ),
}


@dataclass(frozen=True)
class Rollouts(Row):
    """Playouts per second in one game."""

    game: str
    foglight: float
    openspiel: float | None  # None if OpenSpiel does not have the game

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "ratio": self.foglight / self.openspiel if self.openspiel else None}


def run(seconds: float = 0.5, games: Sequence[str] = tuple(CASES)) -> Iterator[Rollouts]:
    """Measure these games; each side takes about `seconds` per round."""
    check_seconds(seconds)
    for ours in games:
        state = dealt(ours)
        peer = CASES.get(ours) or CASES.get(str(state.game))
        sides = [_ours(state)] if peer is None else [_ours(state), _theirs(peer, state.history())]
        rates = race(sides, seconds)
        yield Rollouts(ours, rates[0], rates[1] if peer else None)


def _ours(state: State) -> Side:
    return lambda n: random_playouts(state, n, seed=n)


def _theirs(name: str, history: list[int]) -> Side:
    game = load_peer(name)
    import pyspiel

    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)

    def playouts(n: int) -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(n, n)  # n rollouts, seed n
        bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 1000, False, n, False)  # one simulation
        bot.mcts_search(state)

    return playouts
