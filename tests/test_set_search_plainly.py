"""Search over sets of worlds, interpreted, beside the recurrence; leaves are worth all sorts of numbers."""

import random
from typing import NamedTuple

import numpy as np
import pytest
from numpy import int64, uint64
from test_compile import Nim
from test_set_search import Plain, as_set, met

from foglight.compile import INTERPRET_ALL, implements
from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import fold
from foglight.rules import num_words
from foglight.search.sets import search as set_search
from foglight.search.sets.expansion import BEGIN, END, LEVEL, TURNS, grown, new_stack
from foglight.search.sets.frames import ALPHA, BETA
from foglight.search.sets.leaves import Asked
from foglight.search.sets.search import MODES, Report, SetSearch
from foglight.state import new_state

if not INTERPRET_ALL:
    pytest.skip("compiling these searches takes a minute; they run where the JIT is off", allow_module_level=True)
pytestmark = pytest.mark.plain
CERTAIN = {"threshold": 1.0, "caution": 0.0}


@pytest.fixture(autouse=True)
def anything_goes(monkeypatch):
    """Set search is for compiled games, because it would take for ever; here it need not."""
    monkeypatch.setattr(set_search, "is_compiled", lambda game: True)


class Assorted(NamedTuple):
    """Worlds are worth any number from -0.9 to 0.9 in steps of 0.1, by their words."""

    win: float = 1.0


@implements(Assorted, "evaluate")
def _assorted(leaf, game, world, random, out):
    code = uint64(0)
    for k in range(num_words(game)):
        code = uint64(fold(code, world[k]))
    out[0] = (float(int64(code >> uint64(33)) % 19) - 9.0) / 10.0
    out[1] = -out[0]


def worth(game):
    def of(world, seat):
        out = np.zeros(2)
        _assorted(Assorted(), game, world, None, out)
        return float(out[seat])

    return of


def outside(game, seat):
    return lambda rows: np.array([worth(game)(row, seat) for row in rows])


HEX = "dark_hex(rows=3,cols=3)"  # a try is heard, so that a set falls into many classes
CASES = [
    *(("phantom_ttt", 4, 1, 4), ("phantom_ttt", 5, 2, 3), ("phantom_ttt", 7, 4, 2), ("phantom_ttt", 8, 6, 4)),
    *((HEX, 5, 2, 6), (HEX, 7, 3, 6), (HEX, 8, 5, 4)),
]


@pytest.mark.parametrize("how", ["leaf", "evaluate"])
@pytest.mark.parametrize(("name", "plies", "turns", "few"), CASES)
def test_values_are_what_the_recurrence_says(name, plies, turns, few, how, monkeypatch):
    rng = random.Random(plies)
    for room, spell in ((4, 7), (1 << 12, 10**6)):
        monkeypatch.setattr(set_search, "_FIRST_ROOM", room)
        monkeypatch.setattr(set_search, "_SPELL", spell)
        game, seat, rows = met(name, plies, rng)
        rows = rows[:few]
        plain, worlds = Plain(game, seat, worth(game), 1.0 if how == "leaf" else Asked().win), as_set(rows, game)
        actions = plain.actions(next(iter(worlds)))
        expected = [plain.action_value(worlds, action, turns) for action in actions]
        given = {"leaf": Assorted()} if how == "leaf" else {"evaluate": outside(game, seat)}
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
            found = search.valuations(rows[:3])
            assert found.report.checked == found.report.used and found.report.wrong == 0 and found.report.worst == 0.0
            plain = SetSearch(game, seat, turns=turns, mode="baseline", leaf=Assorted())
            assert found.values == plain.valuations(rows[:3]).values
            used += found.report.used
    game, seat, rows = met(HEX, 4, random.Random(4))
    found = SetSearch(game, seat, turns=5, mode="exact", check=True).valuations(rows[:30])
    assert found.values == SetSearch(game, seat, turns=5, mode="baseline").valuations(rows[:30]).values
    assert found.report.checked == found.report.used and found.report.wrong == 0
    assert used > 50 and found.report.lower > 0


def test_a_stack_grows_in_room_and_depth_and_keeps_what_it_holds():
    stack = new_stack(load_game(HEX), 4)
    for i, column in enumerate(stack):
        column[:] = i + 1
    larger = grown(load_game(HEX), stack)
    assert len(larger.rows) == 8 and len(larger.frames) == 2 * len(stack.frames)
    assert larger.tables.shape[1] == 2 * stack.tables.shape[1]
    kept = (
        "rows",
        "hashes",
        "codes",
        "origins",
        "classes",
        "history",
        "tally",
        "frames",
        "bounds",
        "actions",
        "chosen",
    )
    for name in kept:
        old, new = getattr(stack, name), getattr(larger, name)
        assert np.array_equal(new[: len(old)], old), name


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
        return outside(game, seat)(worlds)

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
    late = SetSearch(game, seat, turns=2, leaf=Assorted()).valuations(rows, seconds=0.0)
    assert not late.complete and len(late.actions) == len(late.values) < 9


def test_bounds_are_checked_only_if_somebody_asks():
    game, seat, rows = met(HEX, 4, random.Random(4))
    report = SetSearch(game, seat, turns=5, mode="exact").valuations(rows[:30]).report
    assert report.used > 0 and report.checked == 0


def test_games_that_are_interpreted_are_refused(monkeypatch):
    with pytest.raises(BadInput, match="games of foglight itself"):
        SetSearch(Nim(3), 0, turns=1)
    monkeypatch.setattr(set_search, "is_compiled", lambda game: False)
    with pytest.raises(BadInput, match="games of foglight itself"):
        SetSearch(load_game("phantom_ttt"), 0, turns=1)


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


def costs(name, plies, turns, few, mode, **options):
    game, seat, rows = met(name, plies, random.Random(plies))
    given = {"evaluate": outside(game, seat)} if options.pop("asked", False) else {"leaf": Assorted()}
    search = SetSearch(game, seat, turns=turns, mode=mode, **{**given, **options})
    search.value(rows[:few])
    report = search.valuations(rows[:few]).report
    names = ("nodes", "leaves", "made", "looked", "same", "lower", "upper", "stored", "dropped", "compared")
    return [getattr(report, name) for name in names]


# Values do not show whether a search prunes, orders its actions and uses its cache as it should; what it costs does. A
# change that is meant to make it cheaper changes these numbers, and should lower those of the first two columns.
COSTS = {
    ("phantom_ttt", 7, 4, 40, "baseline", ()): [52, 2070, 4594, 0, 0, 0, 0, 0, 0, 0],
    ("phantom_ttt", 6, 3, 40, "exact", ()): [99, 2886, 9174, 94, 11, 0, 0, 80, 0, 0],
    ("phantom_ttt", 7, 4, 40, "exact", (("size", 4),)): [41, 1555, 3215, 35, 4, 1, 0, 30, 22, 1],
    ("phantom_ttt", 6, 4, 8, "exact", (("parts", False),)): [74, 2835, 7548, 66, 5, 0, 0, 61, 0, 0],
    (HEX, 7, 3, 40, "baseline", ()): [109, 773, 1576, 0, 0, 0, 0, 0, 0, 0],
    (HEX, 6, 3, 40, "exact", ()): [179, 1470, 3883, 177, 19, 0, 0, 152, 0, 17],
    (HEX, 7, 5, 40, "exact", (("k", 3), ("size", 8))): [75, 857, 1610, 69, 1, 0, 0, 68, 52, 0],
    (HEX, 6, 3, 60, "accelerated", (("threshold", 0.5),)): [248, 2136, 6099, 246, 31, 0, 0, 209, 0, 929],
    (HEX, 4, 5, 30, "exact", (("leaf", None),)): [431, 3495, 11553, 427, 96, 25, 0, 302, 0, 61],
    (HEX, 5, 6, 30, "accelerated", (("threshold", 0.3), ("leaf", None))):
        [285, 1297, 6869, 296, 51, 15, 0, 211, 0, 1699],
    (HEX, 6, 4, 20, "exact", (("asked", True),)): [136, 1349, 3505, 133, 13, 0, 0, 116, 0, 6],
    ("phantom_ttt", 6, 3, 20, "exact", (("asked", True),)): [99, 1718, 5651, 94, 10, 0, 0, 81, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize("case", list(COSTS))
def test_a_search_costs_what_it_did(case):
    name, plies, turns, few, mode, options = case
    assert costs(name, plies, turns, few, mode, **dict(options)) == COSTS[case]


def test_a_report_begins_with_nothing():
    assert all(number == 0 for number in Report().summary().values()) and Report().pairs == []


def test_worlds_that_do_not_hang_together_are_refused():
    """In all of them the seat is to move, and may do the same."""
    game = load_game("phantom_ttt")

    def after(*moves):
        state = new_state(game)
        for move in moves:
            state.play(move)
        return state.world[: int(num_words(game))]

    together, other_actions, other_turn = after(0, 1), after(2, 1), after(0)
    search = SetSearch(game, 0, turns=1, leaf=Assorted())
    assert search.value(np.array([together, after(0, 3)])) == search.value(np.array([after(0, 3), together]))
    # after(0, 0) is the other's turn, with the same actions
    for wrong in (other_actions, other_turn, after(0, 1, 2), after(0, 0)):
        for rows in ([together, wrong], [wrong, together]):
            with pytest.raises(BadInput, match="turn of seat 0 and it may do the same"):
                search.value(np.array(rows))
