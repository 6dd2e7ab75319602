"""Hidden worlds from a seat's eyes at random positions: ours against OpenSpiel's `resample_from_infostate`.

A sample is legal if, replayed from the deal in OpenSpiel, every action is allowed and the seat ends with the
information state it is in. Ours and OpenSpiel's are judged by the same replay, by rules we did not write.
"""

import importlib.util
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from foglight.bits import get
from foglight.cards.tricks import PHASE, PLAY
from foglight.names import BadInput
from foglight.state import State, new_state
from foglight.worlds.deals import DealFilter

CASES = {  # our game, and the same game there
    "oh_hell(players=4,tricks=12)": "oh_hell(players=4,num_tricks_fixed=12)",
    "hearts": "hearts",
}


@dataclass(frozen=True)
class Samples:
    """Samples a second, and how many of them cannot have happened."""

    game: str
    positions: int
    foglight: float
    openspiel: float
    ratio: float
    illegal_here: float
    illegal_there: float

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def run(positions: int = 50, each: int = 4, seed: int = 0) -> Iterator[Samples]:
    """At each position, `each` samples of either side are judged; ours are timed by the thousand."""
    if importlib.util.find_spec("pyspiel") is None:
        raise BadInput("this bench compares with OpenSpiel; install it with: pip install 'foglight[openspiel]'")
    import pyspiel

    for ours, theirs in CASES.items():
        rng, peer = random.Random(seed), pyspiel.load_game(theirs)
        spent, drawn, wrong = [0.0, 0.0], [0, 0], [0, 0]
        for _ in range(positions):
            state = _position(ours, rng)
            seat, there = state.player, peer.new_initial_state()
            for action in state.history():
                there.apply_action(action)
            shown = there.information_state_string(seat)
            filter_ = DealFilter(state.game, state.observations(seat), seat)
            filter_.sample_arrays(1)
            begin = time.perf_counter()
            histories, _ = filter_.sample_arrays(1000, seed=rng.randrange(2**30))
            spent[0] += time.perf_counter() - begin
            begin = time.perf_counter()
            resampled = [there.resample_from_infostate(seat, rng.random) for _ in range(each)]
            spent[1] += time.perf_counter() - begin
            drawn[0] += 1000
            drawn[1] += each
            wrong[0] += sum(not _legal(peer, history.tolist(), seat, shown) for history in histories[:each])
            wrong[1] += sum(not _legal(peer, other.history(), seat, shown) for other in resampled)
        here, there_ = drawn[0] / spent[0], drawn[1] / spent[1]
        judged = positions * each
        yield Samples(ours, positions, here, there_, here / there_, wrong[0] / judged, wrong[1] / judged)


def _position(name: str, rng: random.Random) -> State:
    """A random game up to a point at which 5 to 40 cards have been played."""
    state = new_state(name)
    plays = rng.randrange(5, 41)
    while plays > 0:
        plays -= bool(get(state.world, PHASE) == PLAY)
        state.play(rng.choice(state.actions()))
    return state


def _legal(peer: Any, history: list[int], seat: int, shown: str) -> bool:
    state = peer.new_initial_state()
    for action in history:
        if action not in state.legal_actions():
            return False
        state.apply_action(action)
    return bool(state.information_state_string(seat) == shown)
