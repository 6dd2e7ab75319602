"""Whether the worlds of filters and trackers are legal, judged by the rules alone.

Card games: at random positions, for a random viewer, every history drawn is replayed from the start. Each action must
be legal, and the viewer's observations must be those it really had. A world drawn without a history gets one in which
its hands are dealt in ascending order of cards. Either way the replay must end in exactly the world that was drawn,
every viewer's key included.

Trackers: in whole random games, for every seat, after every transition. Every world of the tracker must have the seat's
key in the true world, which is the hash of all its observations. If the seat is to move in both worlds, its legal
actions must be the same. As long as the tracker says that it is exact, the true world must be among its worlds.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np

from foglight import bits
from foglight.bench.figures import LARGE, Row
from foglight.bits import get
from foglight.cards.tricks import DEAL, MOVER, PHASE, SETUP, hand, played
from foglight.compile import kernel
from foglight.pieces import Lot, Workers, opened
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    begin,
    chance,
    legal,
    max_legal,
    new_worlds,
    num_words,
    observe,
    player,
    transition,
)
from foglight.state import State, new_state, replay
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker

CARD_GAMES = (LARGE, "hearts", "spades")
_JUDGED, _FORBIDDEN, _UNLIKE, _UNTRUE = range(4)  # places in a tally
HANDS_SEEN_AT_ONCE = (LARGE, "spades")  # games whose worlds do not have the order of dealing
TRACKED = (  # game, most worlds of a tracker, and the share of `games` to play, which is small for long games
    ("phantom_ttt", 100_000, 1.0),
    ("dark_hex(rows=4,cols=4)", 20_000, 1.0),
    ("dark_chess(size=4)", 20_000, 1.0),
    ("dark_chess(size=8)", 5000, 0.05),
    ("battleship", 20_000, 1.0),
)


@dataclass(frozen=True)
class Legality(Row):
    """How many worlds were judged, and how many were wrong in which way."""

    game: str
    what: str
    positions: int
    worlds: int
    forbidden: int  # an action is illegal; tracker: the seat's legal actions differ
    unlike: int  # the viewer's observations differ
    untrue: int  # the replay ends in another world; tracker: positions at which the true world is missing
    lost: int = 0  # tracker: beliefs lost, with an error


def tasks(samples: int = 10_000, positions: int = 50, games: int = 5, seed: int = 0) -> list[Callable[[], list[Row]]]:
    """The tasks: `samples` in total of each card game, and whole games of the others."""
    return [task for task, _ in _counted(samples, positions, games, seed)]


def _counted(samples: int, positions: int, games: int, seed: int) -> list[tuple[Any, int]]:
    """The tasks, and how many positions or games each of them looks at."""
    tracked = [(game, max(1, round(part * games)), cap) for game, cap, part in TRACKED]
    return [
        *((partial(judge_histories, game, samples, positions, seed), positions) for game in CARD_GAMES),
        *((partial(judge_worlds, game, samples, positions, seed), positions) for game in HANDS_SEEN_AT_ONCE),
        *((partial(judge_tracker, game, several, seed, cap), several) for game, several, cap in tracked),
    ]


def judge_all(
    samples: int, positions: int, games: int, seed: int, workers: Workers, progress: Callable[[int, int], None]
) -> list[Legality]:
    """The rows of all tasks. `workers` judge positions and games side by side, and are as in `play_match`."""
    counted = _counted(samples, positions, games, seed)
    tallies: list[list[int]] = [[0] * 6 for _ in counted]
    rows: list[Legality] = [Legality("", "", *tally) for tally in tallies]
    done, total = 0, sum(several for _, several in counted)
    with opened(workers) as place:
        for lot, _, results in place.run(_judging, [Lot(task, range(several)) for task, several in counted]):
            for row in results:
                tallies[lot] = [a + b for a, b in zip(tallies[lot], astuple(row)[2:], strict=True)]
                rows[lot] = Legality(row.game, row.what, *tallies[lot])
            progress(done := done + len(results), total)
    return rows


@contextmanager
def _judging() -> Iterator[Callable[[Any, int], Legality]]:
    """Judging one position or game of a task."""
    yield lambda task, number: task(numbers=range(number, number + 1))[0]


def _filters(game: str, seed: int, numbers: range, **position: Any) -> Iterator[tuple[State, DealFilter, int]]:
    """The random positions of these numbers, each with a filter of a random viewer and a seed for its draws."""
    for number in numbers:
        rng = _random(seed, number)
        state = random_position(game, rng, **position)
        yield state, _random_filter(state, rng), rng.randrange(2**30)


def judge_histories(
    game: str, samples: int, positions: int, seed: int = 0, numbers: range | None = None
) -> list[Legality]:
    """Judge histories drawn at random positions, at all or at those with these numbers."""
    each, tally = -(-samples // positions), np.zeros(4, np.int64)
    numbers = numbers or range(positions)
    for _, deals, draw in _filters(game, seed, numbers):
        _judge(deals, *deals.sample_arrays(each, seed=draw), tally)
    return [Legality(game, "histories drawn", len(numbers), *tally.tolist())]


def judge_worlds(
    game: str, samples: int, positions: int, seed: int = 0, numbers: range | None = None
) -> list[Legality]:
    """Judge worlds drawn at random positions after the deal, at all or at those with these numbers."""
    each, tally = -(-samples // positions), np.zeros(4, np.int64)
    numbers = numbers or range(positions)
    for state, deals, draw in _filters(game, seed, numbers, after=DEAL):
        worlds = deals.sample_worlds(each, seed=draw)
        _judge(deals, _dealt(state, worlds), worlds, tally)
    return [Legality(game, "worlds drawn", len(numbers), *tally.tolist())]


def _random(seed: int, number: int) -> random.Random:
    """The random numbers of one position or game, whatever comes before it."""
    return random.Random(f"{seed} {number}")


def random_position(game: str, rng: random.Random, after: int = SETUP) -> State:
    """A random game up to a random moment, the end included, but at least one action after the phase `after`."""
    state, first = new_state(game), 1
    while state.player != TERMINAL:
        first += get(state.world, PHASE) <= after
        state.play(rng.choice(state.actions()))
    return replay(state.game, state.history()[: rng.randrange(first, len(state.history()) + 1)])


def _random_filter(state: State, rng: random.Random) -> DealFilter:
    """The filter of a random seat's observations, or of the public's."""
    viewer = rng.randrange(PUBLIC, state.num_players)
    return DealFilter(state.game, state.observations(viewer), viewer)


def _judge(deals: DealFilter, histories: Any, worlds: np.ndarray, tally: np.ndarray) -> None:
    """Judge histories with their last worlds, those of one length at a time."""
    by_length = defaultdict(list)
    for i, history in enumerate(histories):
        by_length[len(history)].append(i)
    for numbers in by_length.values():
        block = np.array([histories[i] for i in numbers])
        _replay(deals.game, deals.histories.viewer, deals.histories.observed, block, worlds[numbers], tally)


def _dealt(state: State, worlds: np.ndarray) -> np.ndarray:
    """Histories of worlds that differ from this state in their hands only; cards are dealt in ascending order."""
    times: list[list[int]] = [[] for _ in range(state.num_players)]
    replayed = new_state(state.game)
    for t, action in enumerate(state.history()):
        before = replayed.world
        replayed.play(action)
        seat = get(before, MOVER)
        if get(before, PHASE) == DEAL and hand(state.game, before, seat) != hand(state.game, replayed.world, seat):
            times[seat].append(t)
    histories = np.tile(np.array(state.history(), np.int64), (len(worlds), 1))
    for seat, when in enumerate(times):
        _deal(state.game, worlds, seat, np.array(when, np.int64), histories)
    return histories


def judge_tracker(
    game: str, games: int, seed: int = 0, cap: int = 100_000, numbers: range | None = None
) -> list[Legality]:
    """Judge every seat's tracker in whole random games, in all or in those with these numbers."""
    tally, positions, untrue, lost = np.zeros(3, np.int64), 0, 0, 0
    for number in numbers or range(games):
        rng = _random(seed, number)
        state = new_state(game)
        trackers: dict[int, Tracker] = {seat: Tracker(game, seat, cap=cap) for seat in range(state.num_players)}
        while state.player != TERMINAL:
            state.play(rng.choice(state.actions()))
            for seat, tracker in list(trackers.items()):
                try:
                    for observation in state.observations(seat)[len(tracker.observations) :]:
                        tracker.observe(observation)
                except BeliefLost:
                    lost += 1
                    del trackers[seat]
                    continue
                rows = tracker.worlds(turn_only=False).rows
                _compare(state.game, rows, state.world, seat, tally)
                untrue += tracker.exact and not bool((rows == state.world).all(axis=1).any())
                positions += 1
    worlds, forbidden, unlike = tally.tolist()
    return [Legality(game, "tracked", positions, worlds, forbidden, unlike, untrue, lost)]


@kernel
def _replay(game, viewer, observed, histories, worlds, tally):
    """Judge histories and their last worlds; `tally` counts all, the forbidden, the unlike and the untrue ones."""
    room = new_worlds(game, 2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(histories)):
        before, after = room[0], room[1]
        before[:] = 0
        begin(game, before)
        allowed, alike, seen = True, True, 0
        for t in range(histories.shape[1]):
            mover, n = player(game, before), 0
            if mover == CHANCE:
                n = chance(game, before, actions, odds)
            elif mover != TERMINAL:
                n = legal(game, before, actions)
            if not np.any(actions[:n] == histories[i, t]):
                allowed = False
                break
            transition(game, before, histories[i, t], after)
            code = observe(game, before, histories[i, t], after, viewer)
            if code != NOTHING:
                alike = alike and seen < len(observed) and observed[min(seen, len(observed) - 1)] == code
                seen += 1
            before, after = after, before
        tally[_JUDGED] += 1
        if not allowed:
            tally[_FORBIDDEN] += 1
        elif not alike or seen != len(observed):
            tally[_UNLIKE] += 1
        elif np.any(before != worlds[i]):
            tally[_UNTRUE] += 1


@kernel
def _deal(game, worlds, seat, times, histories):
    """Write the cards dealt to a seat, those in its hand and those it has played, into histories at these times."""
    for i in range(len(worlds)):
        cards = hand(game, worlds[i], seat) | played(game, worlds[i], seat)
        for t in times:
            histories[i, t] = bits.lowest(cards)
            cards = bits.without_lowest(cards)


@kernel
def _compare(game, rows, truth, seat, tally):
    """Judge a tracker's worlds; `tally` counts all, those with other legal actions and those with another key."""
    expected, actions = np.empty(max_legal(game), np.int64), np.empty(max_legal(game), np.int64)
    n = legal(game, truth, expected) if player(game, truth) == seat else 0
    key = num_words(game) + 1 + seat
    for i in range(len(rows)):
        tally[_JUDGED] += 1
        if n > 0 and player(game, rows[i]) == seat:
            m = legal(game, rows[i], actions)
            if m != n or np.any(actions[:m] != expected[:m]):
                tally[_FORBIDDEN] += 1
        if rows[i, key] != truth[key]:
            tally[_UNLIKE] += 1
