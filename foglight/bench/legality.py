"""Whether the worlds that the library samples are legal, judged by the rules alone. All native games are judged.

Histories: at random positions, for a random viewer, every history drawn is replayed from the start. Each action must
be legal, and the viewer's observations must be those it really had. The replay must end in exactly the world that was
drawn, every viewer's key included. They are drawn by filters of every kind, uniformly and by policies: layers, deals,
formulas, chains of either kind, importance resampling. A card game's world drawn without a history gets one in which
its hands are dealt in ascending order of cards.

Worlds without histories: in whole random games, for every seat, after every transition. Every world must have the
seat's key in the true world, which is the hash of all its observations. If the seat is to move in both worlds, its
legal actions must be the same. As long as a belief says that it is exact, the true world must be among its worlds.
They are those of trackers, of merged positions, of what agents believe and of what the page shows. Where the worlds can
be listed, a tracker's must also be exactly those that replayed histories end in.

Boards of blind chess: the viewer's own pieces and its requests must be those of the true board. Particles: the public's
key must be that of the true world.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np

from foglight import bits
from foglight.bench.figures import LARGE, Row
from foglight.bits import get
from foglight.blind_chess.boards import Boards
from foglight.blind_chess.plausible_boards import PlausibleBoards
from foglight.cards.tricks import DEAL, MOVER, PHASE, SETUP, hand, played
from foglight.chess import blind
from foglight.chess.board import PAWN, QUEEN, STATE, TURN, of_kind, pieces_of
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.pieces import Lot, Workers, opened
from foglight.policies import Biased, Uniform
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    Game,
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
from foglight.search.belief import Belief
from foglight.solving.particles.belief import regenerated
from foglight.state import State, new_state, replay
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.filter import HistoryFilter, history_filter
from foglight.worlds.knowledge import Knowledge
from foglight.worlds.layers import Layers
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

CARD_GAMES = (LARGE, "oh_hell", "hearts", "spades")
_JUDGED, _FORBIDDEN, _UNLIKE, _UNTRUE = range(4)  # places in a tally
HANDS_SEEN_AT_ONCE = (LARGE, "oh_hell", "spades")  # games whose worlds do not have the order of dealing
CHAINED = (LARGE, "oh_hell", "spades")  # games whose histories chains can draw
_SMALL_HAND = "oh_hell(players=3,suits=2,ranks=5,tricks=2)"
LISTED = (  # games whose histories can be listed at many positions
    "battleship",
    "card_game",
    "dark_chess(size=4)",
    "dark_hex(rows=3,cols=3)",
    "goofspiel(cards=5)",
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    _SMALL_HAND,
    "phantom_ttt",
    "rbc",
    "three_sat",
    "unseen_rps",
)
TRACKED = (  # game, most worlds of a tracker, and the share of `games` to play, which is small for long games
    ("phantom_ttt", 100_000, 1.0),
    ("dark_hex(rows=4,cols=4)", 20_000, 1.0),
    ("dark_chess(size=4)", 20_000, 1.0),
    ("dark_chess(size=8)", 5000, 0.05),
    ("battleship", 20_000, 1.0),
    ("card_game", 5000, 1.0),
    ("goofspiel(cards=5)", 20_000, 1.0),
    ("goofspiel", 5000, 0.2),
    ("kuhn_poker", 100, 1.0),
    ("leduc_poker", 1000, 1.0),
    ("liars_dice", 1000, 1.0),
    (_SMALL_HAND, 20_000, 1.0),
    ("rbc", 2000, 0.05),
    ("three_sat", 1000, 1.0),
    ("unseen_rps", 100, 1.0),
)
RESOLVED = ("battleship", "goofspiel(cards=5)", "kuhn_poker", "leduc_poker", "liars_dice", "phantom_ttt", "unseen_rps")
_LIMIT = 2000  # worlds that a filter may list


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
    few = max(1, positions // 5)  # where a position takes long
    some = max(1, games // 10)  # games of beliefs that are like those of trackers
    followed = [
        (kind, game, max(1, round(part * (games if kind == "tracked" else some))), cap)
        for kind in KINDS
        for game, cap, part in TRACKED
    ]
    followed += [("particles", game, some, 200) for game in RESOLVED]
    followed += [(kind, game, max(1, some // 2), 200) for kind in DEALT for game in CARD_GAMES]
    return [
        *((partial(judge_histories, game, samples, positions, seed), positions) for game in CARD_GAMES),
        *((partial(judge_chains, game, samples, few, seed, swaps), few) for game in CHAINED for swaps in (False, True)),
        (partial(judge_chains, "hearts", max(few, samples // 200), few, seed), few),
        *((partial(judge_worlds, game, samples, positions, seed), positions) for game in HANDS_SEEN_AT_ONCE),
        *((partial(judge_filter, game, max(1, samples // 50), positions, seed), positions) for game in LISTED),
        *((partial(judge_beliefs, game, several, seed, cap, kind), several) for kind, game, several, cap in followed),
        *((partial(judge_boards, some, seed, kind), some) for kind in BOARDS),
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
    """Judge histories of a trick-taking game with their last worlds."""
    _judge_by_length(deals.game, deals.histories.viewer, deals.histories.observed, histories, worlds, tally)


def _judge_by_length(
    game: Game, viewer: int, observed: Any, histories: Any, worlds: np.ndarray, tally: np.ndarray
) -> None:
    """Judge histories with their last worlds, those of one length at a time."""
    by_length = defaultdict(list)
    for i, history in enumerate(histories):
        by_length[len(history)].append(i)
    for numbers in by_length.values():
        block = np.array([histories[i] for i in numbers], np.int64).reshape(len(numbers), -1)
        _replay(game, viewer, np.array(observed, np.int64), block, worlds[numbers], tally)


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


def judge_chains(
    game: str, samples: int, positions: int, seed: int = 0, swaps: bool | None = None, numbers: range | None = None
) -> list[Legality]:
    """Judge histories drawn by a policy: from chains of either kind, or by importance resampling."""
    each, tally = -(-samples // positions), np.zeros(4, np.int64)
    numbers = numbers or range(positions)
    for number in numbers:
        rng = _random(seed, number)
        state = random_position(game, rng, after=DEAL)
        viewer = rng.randrange(PUBLIC, state.num_players)
        deals = DealFilter(state.game, state.observations(viewer), viewer, Biased(0.7, rng.randrange(100)))
        if swaps is None:
            drawn, worlds = deals.sample_arrays(each, rng.randrange(2**30))
        else:  # legal from the first transition on, long before a chain has settled
            ran, patterns, _ = deals.chain(rng.randrange(2**30), swaps).run(each)
            histories, _, worlds = deals.histories.replayed(deals.histories.puzzles[0], ran, patterns)
            drawn = list(histories)
        _judge(deals, drawn, worlds, tally)
    what = "by a policy, " + {None: "resampled", True: "rings drawn", False: "RingSwap"}[swaps]
    return [Legality(game, what, len(numbers), *tally.tolist())]


def judge_filter(
    game: str, samples: int, positions: int, seed: int = 0, numbers: range | None = None
) -> list[Legality]:
    """Judge histories that `history_filter` draws at positions where it can list the worlds, and a tracker's worlds."""
    each, tally = -(-samples // positions), np.zeros(4, np.int64)
    numbers = numbers or range(positions)
    for number in numbers:
        rng = _random(seed, number)
        state = new_state(game)
        while state.player != TERMINAL:
            state.play(rng.choice(state.actions()))
        cut, viewer = rng.randrange(len(state.history()) + 1), rng.randrange(PUBLIC, state.num_players)
        listable = _listable(state, cut, viewer)
        if listable is None:  # the public of some games notices nothing, so that all worlds may be true
            continue
        state, found = listable
        mover = found._mover
        drawn = found.sample(each, rng.randrange(2**30))
        worlds = np.array([other.world for other in drawn])
        _judge_by_length(state.game, viewer, found.observations, [other.history() for other in drawn], worlds, tally)
        if isinstance(found._worker, Layers):
            tracker = Tracker(game, viewer, cap=10 * _LIMIT)
            for observation in found.observations:
                tracker.observe(observation)
            rows = tracker.worlds(turn_only=mover is not None).rows
            ends = {found._worker.layers[i].rows[world].tobytes() for i, world in found._worker.ends}
            tally[_JUDGED] += len(rows)
            tally[_UNTRUE] += len(ends ^ {row.tobytes() for row in rows})
    return [Legality(game, "filtered", len(numbers), *tally.tolist())]


def _listable(state: State, cut: int, viewer: int) -> tuple[State, HistoryFilter] | None:
    """The state after `cut` actions, or after fewer if too many worlds agree, and the viewer's filter."""
    while True:
        before = replay(state.game, state.history()[:cut])
        mover = viewer if before.player == viewer else None
        with suppress(BadInput):
            return before, history_filter(before.game, before.observations(viewer), viewer, mover=mover, limit=_LIMIT)
        if cut == 0:
            return None
        cut //= 2


# Beliefs in whole games -----------------------------------------------------------------------------------------


class _Tracked:
    """A tracker's worlds, whoever is to move."""

    def __init__(self, game: str, seat: int, cap: int, **options: Any) -> None:
        self._tracker = Tracker(game, seat, cap=cap, **options)

    def observe(self, observation: int) -> None:
        self._tracker.observe(observation)

    def worlds(self, to_move: bool) -> Worlds | None:
        return self._tracker.worlds(turn_only=False)


class _Known(Knowledge):
    """What the page shows a seat."""

    def __init__(self, game: str, seat: int, cap: int) -> None:
        super().__init__(game, seat)
        self._most = cap

    def worlds(self, to_move: bool, most: int = 0) -> Worlds:
        return super().worlds(to_move, most or self._most)


class _Searched:
    """What a searching agent believes, where it is to move."""

    def __init__(self, game: str, seat: int, cap: int, uniform_play: bool = False) -> None:
        self._belief = Belief(load_game(game), seat, cap, 0, Uniform() if uniform_play else None)

    def observe(self, observation: int) -> None:
        self._belief.observe(observation)

    def worlds(self, to_move: bool) -> Worlds | None:
        return self._belief.worlds() if to_move else None


class _Particles:
    """The particles of continual resolving, made anew where the seat is to move; they share what the public knows."""

    viewer = PUBLIC

    def __init__(self, game: str, seat: int, cap: int) -> None:
        self._given, self._cap, self._observations = (load_game(game), seat), cap, list[int]()

    def observe(self, observation: int) -> None:
        self._observations.append(observation)

    def worlds(self, to_move: bool) -> Worlds | None:
        if not to_move:
            return None
        particles = regenerated(*self._given, self._observations, self._cap, seed=0)
        return Worlds(particles.public.rows, particles.weights, False)


KINDS: dict[str, Callable[[str, int, int], Any]] = {
    "tracked": _Tracked,
    "tracked, positions": partial(_Tracked, positions=True),
    "tracked, random play": partial(_Tracked, policy=Uniform()),
    "of the page": _Known,
    "of agents": _Searched,
}
PARTICLES: dict[str, Callable[[str, int, int], Any]] = {"particles": _Particles}
DEALT: dict[str, Callable[[str, int, int], Any]] = {
    "of the page": _Known,
    "of agents": _Searched,
    "of agents, random play": partial(_Searched, uniform_play=True),
}


def judge_tracker(
    game: str, games: int, seed: int = 0, cap: int = 100_000, numbers: range | None = None
) -> list[Legality]:
    """Judge every seat's tracker in whole random games, in all or in those with these numbers."""
    return judge_beliefs(game, games, seed, cap, "tracked", numbers)


def judge_beliefs(
    game: str, games: int, seed: int, cap: int, kind: str, numbers: range | None = None
) -> list[Legality]:
    """Judge every seat's belief of this kind in whole random games, in all or in those with these numbers."""
    tally, positions, untrue, lost = np.zeros(3, np.int64), 0, 0, 0
    words = num_words(load_game(game))
    for number in numbers or range(games):
        rng = _random(seed, number)
        state = new_state(game)
        made = (KINDS | PARTICLES | DEALT)[kind]
        beliefs = {seat: made(game, seat, cap) for seat in range(state.num_players)}
        seen = dict.fromkeys(beliefs, 0)
        while state.player != TERMINAL:
            state.play(rng.choice(state.actions()))
            for seat, belief in list(beliefs.items()):
                try:
                    for observation in state.observations(seat)[seen[seat] :]:
                        belief.observe(observation)
                        seen[seat] += 1
                    worlds = belief.worlds(state.player == seat)
                except BeliefLost:
                    lost += 1
                    del beliefs[seat]
                    continue
                if worlds is not None:
                    _compare(state.game, worlds.rows, state.world, getattr(belief, "viewer", seat), tally)
                    same = worlds.rows[:, :words] == state.world[:words]
                    untrue += worlds.exact and not bool(same.all(axis=1).any())
                    positions += 1
    judged, forbidden, unlike = tally.tolist()
    return [Legality(game, kind, positions, judged, forbidden, unlike, untrue, lost)]


BOARDS: dict[str, Callable[[int], Boards]] = {
    "boards": partial(Boards, cap=20_000),
    "boards, weighted": partial(PlausibleBoards, cap=20_000),
}


def judge_boards(games: int, seed: int, kind: str, numbers: range | None = None) -> list[Legality]:
    """Judge the boards of blind chess that a side holds possible, in whole random games.

    Boards that were made up, when a weighted sample had died, count as lost, and so does the rest of that side's game.
    """
    tally, positions, untrue, lost = np.zeros(3, np.int64), 0, 0, 0
    for number in numbers or range(games):
        rng = _random(seed, number)
        state = new_state("rbc")
        sides = {seat: BOARDS[kind](seat) for seat in range(2)}
        seen = dict.fromkeys(sides, 0)
        while state.player != TERMINAL and sides:
            state.play(rng.choice(state.actions()))
            for seat, boards in list(sides.items()) if state.player != TERMINAL else ():
                try:
                    for observation in state.observations(seat)[seen[seat] :]:
                        boards.observe(observation)
                        seen[seat] += 1
                except BeliefLost:
                    lost += 1
                    del sides[seat]
                    continue
                if isinstance(boards, PlausibleBoards) and boards.corrections:
                    lost += 1
                    del sides[seat]
                    continue
                _compare_boards(boards.boards, state.world, seat, tally)
                pieces = (boards.boards[:, :STATE] == state.world[:STATE]).all(axis=1)
                untrue += boards.exact and not bool(pieces.any())
                positions += 1
    judged, forbidden, unlike = tally.tolist()
    return [Legality("rbc", kind, positions, judged, forbidden, unlike, untrue, lost)]


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


@kernel
def _compare_boards(boards, truth, seat, tally):
    """Judge boards; `tally` counts all, those with other requests, and those on which the seat's pieces differ."""
    expected, requests = np.empty(512, np.int64), np.empty(512, np.int64)
    mine = get(truth, TURN) == seat
    n = blind.write_requests(truth, expected) if mine else 0
    own = pieces_of(truth, seat)
    for i in range(len(boards)):
        tally[_JUDGED] += 1
        if mine:
            m = blind.write_requests(boards[i], requests)
            if m != n or np.any(requests[:m] != expected[:m]):
                tally[_FORBIDDEN] += 1
        alike = pieces_of(boards[i], seat) == own
        for kind in range(PAWN, QUEEN + 1):
            alike = alike and of_kind(boards[i], kind) & own == of_kind(truth, kind) & own
        if not alike:
            tally[_UNLIKE] += 1
