"""Sampling worlds that agree with a seat's observations, at random positions, beside OpenSpiel.

The peer is OpenSpiel's `resample_from_infostate`. A sample is legal if a replay from the deal in OpenSpiel allows every
action and ends in the seat's information state. The same replay, by rules we did not write, judges both sides.
"""

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from foglight.bench.figures import FEWEST, LARGE, MOST, Figure, load_peer, played
from foglight.state import State
from foglight.worlds.deals.filter import DealFilter

CASES = {  # our game: the same game in OpenSpiel
    LARGE: "oh_hell(players=4,num_tricks_fixed=12)",
    "hearts": "hearts",
}
JUDGED = 8  # samples of each side that are judged at a position; OpenSpiel's are timed too
TIMED = 1000  # samples of ours that are timed at a position


def tasks(positions: int = 50, seed: int = 0) -> list[Callable[[], list[Figure]]]:
    """The tasks, one for each game."""
    return [partial(_compared, ours, theirs, positions, seed) for ours, theirs in CASES.items()]


def _compared(ours: str, theirs: str, positions: int, seed: int) -> list[Figure]:
    """Rates and shares of illegal samples of both sides in one game."""
    peer, rng = load_peer(theirs), random.Random(seed)
    making_time = worlds_time = histories_time = their_time = 0.0
    wrong_here, wrong_there = [], []  # by position
    for _ in range(positions):
        state = played(ours, rng.randrange(FEWEST, MOST + 1), rng)
        seat, there = state.player, peer.new_initial_state()
        for action in state.history():
            there.apply_action(action)
        shown = seen_there(there, seat)
        _made(state, seat)  # compiles
        begin = time.perf_counter()
        deals = _made(state, seat)
        making_time += time.perf_counter() - begin
        begin = time.perf_counter()
        deals.sample_worlds(TIMED, seed=rng.randrange(2**30))
        worlds_time += time.perf_counter() - begin
        begin = time.perf_counter()
        histories, _ = deals.sample_arrays(TIMED, seed=rng.randrange(2**30))
        histories_time += time.perf_counter() - begin
        begin = time.perf_counter()
        resampled = [there.resample_from_infostate(seat, rng.random) for _ in range(JUDGED)]
        their_time += time.perf_counter() - begin
        wrong_here.append(sum(not legal_there(peer, h.tolist(), seat, shown) for h in histories[:JUDGED]))
        wrong_there.append(sum(not legal_there(peer, other.history(), seat, shown) for other in resampled))
    here, their_rate = TIMED * positions, JUDGED * positions / their_time
    against = "OpenSpiel"
    return [
        Figure(f"legal worlds, {ours}", here / worlds_time, "/s", against, their_rate, times=_bar(ours)),
        Figure(f"legal worlds with their histories, {ours}", here / histories_time, "/s", against, their_rate),
        Figure(f"making the filter before that, {ours}", 1000 * making_time / positions, " ms"),
        Figure(f"illegal samples, {ours}", *_shares(wrong_here, wrong_there, JUDGED), at_most=0.0),
        Figure(
            f"positions with illegal samples, {ours}",
            *_shares([w > 0 for w in wrong_here], [w > 0 for w in wrong_there], 1),
            at_most=0.0,
        ),
    ]


def _made(state: State, seat: int) -> DealFilter:
    """A filter of the seat's observations that has counted its deals."""
    deals = DealFilter(state.game, state.observations(seat), seat)
    deals.sample_worlds(1)
    return deals


def _bar(game: str) -> float | None:
    return 20.0 if game == LARGE else None


def _shares(here: list[int], there: list[int], each: int) -> tuple[float, str, str, float]:
    total = len(here) * each
    return 100 * sum(here) / total, " %", "OpenSpiel", 100 * sum(there) / total


def legal_there(peer: Any, history: list[int], seat: int, shown: str) -> bool:
    """Whether OpenSpiel allows every action of a history, and shows the seat the text `shown` at its end."""
    state = peer.new_initial_state()
    for action in history:
        if action not in state.legal_actions():
            return False
        state.apply_action(action)
    return seen_there(state, seat) == shown


def seen_there(state: Any, seat: int) -> str:
    """OpenSpiel's text of the seat's information state; where there is none, its text of the observation."""
    if state.get_game().get_type().provides_information_state_string:
        return str(state.information_state_string(seat))
    return str(state.observation_string(seat))
