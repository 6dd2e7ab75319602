"""Zero illegal worlds: small forms of `foglight bench beliefs --section legality`, and OpenSpiel's rules as judge."""

import random

import numpy as np
import pytest

import foglight as fl
from foglight.bench.figures import LARGE, played
from foglight.bench.legality import (
    CARD_GAMES,
    HANDS_SEEN_AT_ONCE,
    _compare,
    _dealt,
    _judge,
    judge_histories,
    judge_tracker,
    judge_worlds,
    random_position,
)
from foglight.bench.samples import legal_there, seen_there
from foglight.cards.tricks import DEAL
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.tracker import Tracker

THERE = {LARGE: "oh_hell(players=4,num_tricks_fixed=12)", "hearts": "hearts", "spades": "spades"}


def faults(row):
    return row.forbidden, row.unlike, row.untrue


@pytest.mark.parametrize("game", CARD_GAMES)
def test_no_history_drawn_is_illegal(game):
    (row,) = judge_histories(game, samples=4000, positions=40, seed=2)
    assert row.worlds == 4000 and faults(row) == (0, 0, 0)


@pytest.mark.parametrize("game", HANDS_SEEN_AT_ONCE)
def test_worlds_drawn_without_histories_have_legal_ones(game):
    (row,) = judge_worlds(game, samples=4000, positions=40, seed=2)
    assert row.worlds == 4000 and faults(row) == (0, 0, 0)


@pytest.mark.parametrize("game", THERE)
def test_openspiels_rules_allow_what_is_drawn(game):
    peer, rng = pytest.importorskip("pyspiel").load_game(THERE[game]), random.Random(3)
    for _ in range(25):
        state = played(game, rng.randrange(1, 45), rng)
        there = peer.new_initial_state()
        for action in state.history():
            there.apply_action(action)
        seat = rng.randrange(4)
        found = DealFilter(state.game, state.observations(seat), seat)
        histories = found.sample_arrays(6, seed=1)[0]
        if game in HANDS_SEEN_AT_ONCE:
            histories = [*histories, *_dealt(state, found.sample_worlds(6, seed=2))]
        shown = seen_there(there, seat)
        assert all(legal_there(peer, history.tolist(), seat, shown) for history in histories)


@pytest.mark.parametrize(
    ("game", "cap", "games"),
    [
        ("phantom_ttt", 100_000, 6),
        ("dark_hex(rows=4,cols=4)", 5000, 3),
        ("dark_chess(size=4)", 5000, 10),
        ("battleship", 5000, 10),
    ],
)
def test_trackers_hold_only_what_the_seat_may_have_seen(game, cap, games):
    (row,) = judge_tracker(game, games, seed=1, cap=cap)
    assert row.worlds >= row.positions > 0
    assert faults(row) == (0, 0, 0) and row.lost == 0


def test_the_judge_notices_each_fault():
    rng = random.Random(4)
    state = random_position(LARGE, rng, after=DEAL)
    found = DealFilter(state.game, state.observations(0), 0)
    histories, worlds = found.sample_arrays(3, seed=1)
    tally = np.zeros(4, np.int64)
    _judge(found, histories, worlds, tally)
    assert tally.tolist() == [3, 0, 0, 0]
    twice = [history.copy() for history in histories]
    for history in twice:
        history[3] = history[2]  # the same card dealt twice
    _judge(found, twice, worlds, tally)
    assert tally.tolist() == [6, 3, 0, 0]
    other = worlds.copy()
    other[:, -1] ^= np.uint64(1)  # another key of the last seat
    _judge(found, histories, other, tally)
    assert tally.tolist() == [9, 3, 0, 3]
    shorter = [history[:-1] for history in histories]
    _judge(found, shorter, worlds, tally)
    assert tally.tolist() == [12, 3, 3, 3]


def test_the_judge_of_trackers_notices_another_past():
    state = fl.new_state("phantom_ttt")
    for action in (4, 4, 0):  # x takes the middle, o runs into it and takes a corner
        state.play(action)
    tracker = Tracker("phantom_ttt", 1)
    for observation in state.observations(1):
        tracker.observe(observation)
    rows = tracker.worlds(turn_only=False).rows
    tally = np.zeros(3, np.int64)
    _compare(state.game, rows, state.world, 1, tally)
    assert tally.tolist() == [len(rows), 0, 0]
    stranger = fl.new_state("phantom_ttt")
    for action in (4, 0):
        stranger.play(action)
    _compare(state.game, rows, stranger.world, 1, tally)
    assert tally.tolist() == [2 * len(rows), 0, len(rows)]
