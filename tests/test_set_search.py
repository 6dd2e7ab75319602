"""Search over sets of worlds, against the recurrence written down plainly."""

import random

import numpy as np
import pytest

from foglight.blind_chess.evaluation import centipawns
from foglight.blind_chess.leaves import Centipawns
from foglight.chess.notation import read_fen
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import (
    NOTHING,
    TERMINAL,
    copy_world,
    legal,
    max_legal,
    num_words,
    observe,
    player,
    returns,
    step,
)
from foglight.search.sets.search import MODES, SetSearch
from foglight.state import new_state
from foglight.worlds.tracker import Tracker

LONG_SEARCH = pytest.param(6, 3, marks=pytest.mark.long)
FEW = 4  # worlds of a set that plain Python searches


class Plain:
    """v(X, t) by the recurrence, with neither pruning nor anything remembered."""

    def __init__(self, game, seat, worth, win):
        self.game, self.seat, self.worth, self.win = game, seat, worth, win

    def actions(self, world):
        out = np.empty(int(max_legal(self.game)), np.int64)
        return [int(a) for a in out[: legal(self.game, np.array(world), out)]]

    def value(self, worlds, turns):
        return max(self.action_value(worlds, action, turns) for action in self.actions(next(iter(worlds))))

    def action_value(self, worlds, action, turns):
        settled, classes, known = [], {}, set()

        def arrive(world, seen, left):
            if (world, seen, left) in known:
                return
            known.add((world, seen, left))
            mover = player(self.game, np.array(world))
            if mover == TERMINAL:
                out = np.zeros(2)
                returns(self.game, np.array(world), out)
                settled.append(self.win * out[self.seat])
            elif left == 0:
                settled.append(self.worth(np.array(world), self.seat))
            elif mover == self.seat:
                classes.setdefault((seen, left), set()).add(world)
            else:
                for answer in self.actions(world):
                    after, noticed = self.played(world, answer)
                    gone = player(self.game, np.array(after)) != mover
                    arrive(after, seen + noticed, left - gone)

        for world in worlds:
            after, noticed = self.played(world, action)
            arrive(after, noticed, turns - (player(self.game, np.array(after)) != self.seat))
        return min([*settled, *(self.value(some, left) for (_, left), some in classes.items())])

    def played(self, world, action):
        before = np.array(world)
        after = np.zeros_like(before)
        copy_world(self.game, after, before)
        step(self.game, after, action)
        seen = int(observe(self.game, before, action, after, self.seat))
        return tuple(after), () if seen == NOTHING else (seen,)


def even(world, seat):
    return 0.0


def glance(size):
    return lambda world, seat: float(centipawns(size, world)) * (1 if seat == 1 else -1)


def as_set(rows, game):
    return {tuple(row[: int(num_words(game))]) for row in rows}


def met(name, plies, rng):
    """A random position: its game, the seat to move, and the worlds that the seat holds possible."""
    while True:
        state = new_state(name)
        trackers = [Tracker(state.game, seat, positions=True, cap=5000) for seat in range(2)]
        told = [0, 0]
        for _ in range(plies):
            if state.player == TERMINAL:
                break
            state.play(rng.choice(state.actions()))
            for seat, tracker in enumerate(trackers):
                for seen in state.observations(seat)[told[seat] :]:
                    tracker.observe(seen)
                    told[seat] += 1
        if state.player != TERMINAL:
            worlds = trackers[state.player].worlds()
            return state.game, state.player, worlds.rows[:, : int(num_words(state.game))]


def compare(game, seat, rows, turns, leaf, worth, win, modes=MODES):
    plain = Plain(game, seat, worth, win)
    worlds = as_set(rows, game)
    expected = [plain.action_value(worlds, action, turns) for action in plain.actions(next(iter(worlds)))]
    for mode in modes:
        options = {"threshold": 1.0, "caution": 0.0} if mode == "accelerated" else {}
        search = SetSearch(game, seat, turns=turns, mode=mode, leaf=leaf, **options)
        found = search.valuations(rows)
        assert found.actions == plain.actions(next(iter(worlds)))
        assert found.values == expected, mode
        assert found.complete
        assert search.value(rows) == max(found.values)


@pytest.mark.parametrize(("plies", "turns"), [(4, 1), (4, 2), LONG_SEARCH, (7, 3), (7, 4), (8, 5), (8, 7)])
def test_phantom_tic_tac_toe_is_valued_as_the_recurrence_says(plies, turns):
    rng = random.Random(plies)
    for _ in range(3):
        game, seat, rows = met("phantom_ttt", plies, rng)
        compare(game, seat, rows[:FEW], turns, None, even, 1.0)


@pytest.mark.long  # search takes 15 seconds to compile for a game and a leaf; other games show as much
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_small_dark_chess_is_valued_as_the_recurrence_says(turns):
    rng = random.Random(turns)
    compared = 0
    while compared < 2:
        game, seat, rows = met("dark_chess(size=4,repetition=ignore)", rng.randrange(10, 30), rng)
        if len(rows) > 1:  # one world alone is no set
            compare(game, seat, rows[:FEW], turns, Centipawns(4), glance(4), 10_000.0)
            compared += 1


ENDINGS = (
    "4k3/8/8/3p4/8/8/4P3/4K3 w - - 0 1",
    "k7/2P5/8/8/8/8/8/K6r w - - 0 1",
    "8/8/8/1k6/2Pp4/8/8/4K3 b - c3 0 1",
)


@pytest.mark.parametrize("fen", ENDINGS)
def test_blind_chess_is_valued_as_the_recurrence_says(fen):
    game = load_game("rbc")
    row = read_fen(fen)[1]
    seat = int(row[4] & np.uint64(1))
    sensed = row.copy()
    step(game, sensed, 64)
    compare(game, seat, row[None], 1, Centipawns(), glance(8), 10_000.0)
    compare(game, seat, sensed[None], 2, Centipawns(), glance(8), 10_000.0, ("baseline", "exact"))


def test_sets_of_blind_chess_are_valued_as_the_recurrence_says():
    game, (_, first), (_, second) = load_game("rbc"), *(read_fen(fen) for fen in _UNSURE)
    rows = np.array([first, second])
    compare(game, 1, rows, 1, Centipawns(), glance(8), 10_000.0)


_UNSURE = ("4k3/8/8/8/8/3r4/4P3/4K3 w - - 0 1", "3k4/8/8/8/8/5b2/4P3/4K3 w - - 0 1")


def test_a_set_may_be_worth_less_than_each_of_its_worlds():
    # a rook stands on a8 or on h8: in each world white takes it, but white senses nothing in a search after its sense
    game = load_game("rbc")
    rows = np.array([read_fen(f"{rank}/8/4k3/8/8/8/8/R3K2R w - - 0 1")[1] for rank in ("r7", "7r")])
    for row in rows:
        step(game, row, 64)
    search = SetSearch(game, 1, turns=1, mode="baseline", leaf=Centipawns())
    alone = [search.value(row[None]) for row in rows]
    assert search.value(rows) < min(alone) - 400


def test_part_of_a_set_is_worth_no_less():
    rng, more = random.Random(5), 0
    for _ in range(30):
        game, seat, rows = met("phantom_ttt", rng.randrange(2, 6), rng)
        search = SetSearch(game, seat, turns=5, mode="baseline")
        some = rows[rng.sample(range(len(rows)), rng.randrange(1, len(rows) + 1))]
        assert search.value(some) >= search.value(rows)
        more += search.value(some) > search.value(rows)
    assert more > 0


def test_leaves_evaluated_outside_give_the_same_values_a_batch_for_each_action():
    game = load_game("rbc")
    state = new_state("rbc")
    state.play(64)
    rows = state.world[None, :5]
    batches = []

    def from_outside(worlds):
        batches.append(len(worlds))
        return np.array([float(centipawns(8, world)) for world in worlds])

    inside = SetSearch(game, 1, turns=3, leaf=Centipawns())
    outside = SetSearch(game, 1, turns=3, evaluate=from_outside)
    actions = inside.actions(rows)[:3]
    assert outside.valuations(rows, actions=actions).values == inside.valuations(rows, actions=actions).values
    assert sum(batches) == outside.report.leaves
    assert max(batches) > 10


def test_the_best_action_needs_no_value_of_the_others():
    game, seat, rows = met("phantom_ttt", 4, random.Random(3))
    all_of_them = SetSearch(game, seat, turns=5, mode="baseline").valuations(rows)
    best = SetSearch(game, seat, turns=5, mode="baseline").valuations(rows, only_best=True)
    assert max(best.values) == max(all_of_them.values)
    assert all(bound >= value for bound, value in zip(best.values, all_of_them.values, strict=True))
    assert best.report.leaves <= all_of_them.report.leaves


def test_a_search_without_time_says_that_it_is_not_complete():
    state = new_state("rbc")
    found = SetSearch(state.game, 1, turns=6, leaf=Centipawns()).valuations(state.world[None], seconds=0.0)
    assert not found.complete
    assert len(found.values) < 65


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "hearts", "oh_hell(players=3,suits=3,ranks=4,tricks=3)"])
def test_games_with_chance_or_more_seats_are_refused(name):
    with pytest.raises(BadInput, match="set search is for"):
        SetSearch(load_game(name), 0, turns=1)


def test_worlds_of_another_turn_are_refused():
    state = new_state("rbc")
    with pytest.raises(BadInput, match="turn of seat 0"):
        SetSearch(state.game, 0, turns=1).value(state.world[None])
