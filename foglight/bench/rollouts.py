"""Random playouts a second, ours compiled by Numba against OpenSpiel's own C++, on one core in one run.

OpenSpiel's loop is reached without a Python loop around it: a single simulation of its `MCTSBot` whose evaluator plays
n rollouts from the root. That cannot start where chance moves, so both sides start after the first deal. Sides take
turns, several times, and each one's best rate counts: noise of the machine only ever slows.
"""

import importlib.util
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.rules import CHANCE
from foglight.state import State, new_state

CASES = {  # our game: the same game there
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
ROUNDS = 3


@dataclass(frozen=True)
class Rollouts:
    """Playouts a second on one game."""

    game: str
    foglight: float
    openspiel: float

    @property
    def ratio(self) -> float:
        return self.foglight / self.openspiel

    def summary(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


def run(seconds: float = 0.5) -> Iterator[Rollouts]:
    """Measure every case, about `seconds` for each side and round."""
    if importlib.util.find_spec("pyspiel") is None:
        raise BadInput("this bench compares with OpenSpiel; install it with: pip install 'foglight[openspiel]'")
    for ours, theirs in CASES.items():
        state = _after_deal(new_state(ours))
        sides = [_ours(state), _theirs(theirs, state.history())]
        sizes = [_calibrated(side, seconds) for side in sides]
        best = [0.0, 0.0]
        for _ in range(ROUNDS):
            best = [max(rate, _rate(side, n)) for rate, side, n in zip(best, sides, sizes, strict=True)]
        yield Rollouts(ours, *best)


def _after_deal(state: State) -> State:
    deal = random.Random(0)
    while state.player == CHANCE:
        state.play(deal.choice(state.actions()))
    return state


def _ours(state: State) -> Callable[[int], Any]:
    return lambda n: random_playouts(state, n, seed=n)


def _theirs(name: str, history: list[int]) -> Callable[[int], Any]:
    import pyspiel

    game = pyspiel.load_game(name)
    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)

    def playouts(n: int) -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(n, n)  # n rollouts, seed n
        bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 1000, False, n, False)  # one simulation
        bot.mcts_search(state)

    return playouts


def _calibrated(side: Callable[[int], Any], seconds: float) -> int:
    """How many playouts fill the time; finding out also compiles and warms the caches."""
    side(10)
    return max(1000, int(_rate(side, 1000) * seconds))


def _rate(side: Callable[[int], Any], n: int) -> float:
    begin = time.perf_counter()
    side(n)
    return n / (time.perf_counter() - begin)
