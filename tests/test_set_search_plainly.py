"""Search over sets of worlds, interpreted where the JIT is off, beside the recurrence; leaves are worth all sorts."""

import random
from typing import NamedTuple

import numpy as np
import pytest
from numpy import int64, uint64
from test_set_search import Plain, as_set, met

from foglight.compile import INTERPRET_ALL, implements
from foglight.names import BadInput
from foglight.randomness import fold
from foglight.rules import num_words
from foglight.search import set_search
from foglight.search.set_expansion import BEGIN, END, LEVEL, TURNS
from foglight.search.set_frames import ALPHA, BETA
from foglight.search.set_leaves import Asked
from foglight.search.set_search import MODES, SetSearch

pytestmark = pytest.mark.plain
CERTAIN = {"threshold": 1.0, "caution": 0.0}


@pytest.fixture(autouse=True)
def anything_goes(monkeypatch):
    """Set search is for compiled games, because it would take for ever; here it need not."""
    if INTERPRET_ALL:
        monkeypatch.setattr(set_search, "is_compiled", lambda game: True)


class Assorted(NamedTuple):
    """Worlds are worth any number from -0.9 to 0.9 in steps of 0.1, by their words."""

    win: float = 1.0


@implements(Assorted, "evaluate")
def _assorted(leaf, game, world, random, out):
    code = uint64(fold(uint64(0), world[0]))
    out[0] = (float(int64(code >> uint64(33)) % 19) - 9.0) / 10.0
    out[1] = -out[0]


def worth(world, seat):
    out = np.zeros(2)
    _assorted(Assorted(), None, world, None, out)
    return float(out[seat])


def outside(seat):
    return lambda rows: np.array([worth(row, seat) for row in rows])


CASES = [(4, 1, 4), (5, 2, 3), (7, 3, 2), (7, 4, 2), (8, 6, 4)]


@pytest.mark.parametrize("how", ["leaf", "evaluate"])
@pytest.mark.parametrize(("plies", "turns", "few"), CASES)
def test_values_are_what_the_recurrence_says(plies, turns, few, how, monkeypatch):
    rng = random.Random(plies)
    for room, spell in ((4, 7), (1 << 12, 10**6)):
        monkeypatch.setattr(set_search, "_FIRST_ROOM", room)
        monkeypatch.setattr(set_search, "_SPELL", spell)
        game, seat, rows = met("phantom_ttt", plies, rng)
        rows = rows[:few]
        plain, worlds = Plain(game, seat, worth, 1.0 if how == "leaf" else Asked().win), as_set(rows, game)
        actions = plain.actions(next(iter(worlds)))
        expected = [plain.action_value(worlds, action, turns) for action in actions]
        given = {"leaf": Assorted()} if how == "leaf" else {"evaluate": outside(seat)}
        for mode in MODES:
            options = CERTAIN if mode == "accelerated" else {}
            search = SetSearch(game, seat, turns=turns, mode=mode, **given, **options)
            found = search.valuations(rows)
            assert found.actions == actions and found.values == pytest.approx(expected, abs=1e-12)
            assert found.complete and found.best == actions[int(np.argmax(expected))]
            assert search.value(rows) == pytest.approx(max(expected))
            best = SetSearch(game, seat, turns=turns, mode=mode, **given, **options).valuations(rows, only_best=True)
            assert max(best.values) == pytest.approx(max(expected))
            assert all(bound >= value - 1e-12 for bound, value in zip(best.values, expected, strict=True))


def test_every_bound_of_the_exact_mode_is_right_and_counted():
    rng = random.Random(2)
    used = 0
    for plies, turns in ((5, 3), (6, 3), (7, 4)):
        game, seat, rows = met("phantom_ttt", plies, rng)
        for options in ({}, {"parts": False}, {"size": 4}, {"k": 2}):
            search = SetSearch(game, seat, turns=turns, mode="exact", leaf=Assorted(), check=True, **options)
            report = search.valuations(rows[:3]).report
            assert report.checked == report.used and report.wrong == 0 and report.worst == 0.0
            used += report.used
    assert used > 50


# A bound of 1 and more says "at least", one of 0 and less "at most", another one "exactly".
@pytest.mark.parametrize(
    ("bound", "value", "wrong"),
    [
        *((1.0, 1.0, 0), (2.0, 1.5, 1), (1.0, 3.0, 0)),
        *((0.0, 0.0, 0), (-1.0, -0.5, 1), (0.0, -2.0, 0)),
        *((0.5, 0.5, 0), (0.5, 0.75, 1)),
    ],
)
def test_a_bound_is_right_if_it_says_no_more_than_is_true(bound, value, wrong):
    game, seat, rows = met("phantom_ttt", 4, random.Random(1))
    search = SetSearch(game, seat, turns=3, mode="exact", leaf=Assorted(), check=True)
    asked = []

    class Known:
        def value(self, rows, turns):
            asked.append((rows.tolist(), turns))
            return value

    search._plain = Known()
    stack, level = search._stack, 2
    stack.tally[LEVEL] = level
    stack.rows[5:7] = rows[:2]
    stack.frames[level, BEGIN], stack.frames[level, END], stack.frames[level, TURNS] = 5, 7, 2
    stack.bounds[level, ALPHA], stack.bounds[level, BETA] = 0.0, 1.0
    search._compare(bound)
    search._compare(bound)
    assert asked == [(rows[:2].tolist(), 2)] * 2
    report = search.report
    assert (report.checked, report.wrong, report.worst) == (2, 2 * wrong, wrong * abs(value - bound))
    assert report.pairs == [(bound, value)] * (2 * wrong)


def test_one_turn_costs_what_can_be_counted():
    """With one turn left, every world after every action is a leaf or an end, unless it failed and may try again."""
    game, seat, rows = met("phantom_ttt", 2, random.Random(1))
    seen = []

    def evaluate(worlds):
        seen.append(len(worlds))
        return np.array([worth(row, seat) for row in worlds])

    search = SetSearch(game, seat, turns=1, mode="baseline", evaluate=evaluate)
    found = search.valuations(rows[:2])
    assert sum(seen) == found.report.leaves > 0
    assert found.report.nodes >= len(found.actions) and found.report.seconds > 0.0
    assert (found.report.looked, found.report.used, found.report.stored) == (0, 0, 0)
    summary = found.report.summary()
    assert summary["leaves"] == found.report.leaves and "pairs" not in summary and summary["used"] == 0


def test_progress_is_told_and_time_runs_out(monkeypatch):
    game, seat, rows = met("phantom_ttt", 5, random.Random(1))
    told = []
    search = SetSearch(game, seat, turns=2, leaf=Assorted())
    found = search.valuations(rows[:2], actions=search.actions(rows)[:3], progress=lambda *at: told.append(at))
    assert told == [(0, 3), (1, 3), (2, 3)] and len(found.values) == 3
    monkeypatch.setattr(set_search, "_SPELL", 1)
    late = SetSearch(game, seat, turns=4, leaf=Assorted()).valuations(rows, seconds=0.0)
    assert not late.complete and len(late.actions) == len(late.values) < 9


def test_what_cannot_be_searched_is_refused():
    game, seat, rows = met("phantom_ttt", 4, random.Random(1))
    for wrong in ({"turns": 0}, {"turns": 1, "mode": "fast"}):
        with pytest.raises(BadInput):
            SetSearch(game, seat, **wrong)
    with pytest.raises(BadInput, match="seat must be 0 or 1"):
        SetSearch(game, 2, turns=1)
    with pytest.raises(BadInput, match=f"turn of seat {1 - seat}"):
        SetSearch(game, 1 - seat, turns=1).value(rows)
    with pytest.raises(BadInput, match="may do the same"):
        SetSearch(game, seat, turns=1).value(rows[:0])
    twice = np.concatenate([rows[:2], rows[:2]])
    search = SetSearch(game, seat, turns=1, leaf=Assorted())
    assert search.value(twice) == search.value(rows[:2])
    assert rows.shape[1] == int(num_words(game))
