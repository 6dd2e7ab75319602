"""Search over sets of worlds, interpreted, beside the recurrence; leaves are worth all sorts of numbers."""

import functools
import random
from collections import Counter
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
from foglight.rules import TERMINAL, num_words
from foglight.rules import game as named_game
from foglight.search.sets import search as set_search
from foglight.search.sets.expansion import BEGIN, END, LEVEL, TURNS, grown, new_stack
from foglight.search.sets.frames import ALPHA, BETA
from foglight.search.sets.leaves import Asked
from foglight.search.sets.search import MODES, Report, SetSearch
from foglight.state import new_state
from foglight.tables import row_hash

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


# A maze: few worlds, so that the same ones come together in many sets -----------------------------------------------


@named_game
class Maze(NamedTuple):
    """Two seats move one stone by turns from place to place; where it goes, who is next and what is seen is random.

    world   word 0: the place;  word 1: the seat to move
    """

    seed: int = 0
    places: int = 16
    actions: int = 3
    colours: int = 2  # a seat sees as much of the place, or nothing


def chaos(game, *numbers):
    return _chaos(game.seed, *map(int, numbers))


@functools.cache
def _chaos(*numbers):
    return functools.reduce(fold, numbers, 0) >> 20


@implements(Maze, "num_players")
def _maze_players(game):
    return 2


@implements(Maze, "num_words")
def _maze_words(game):
    return 2


@implements(Maze, "num_actions")
def _maze_actions(game):
    return game.actions


@implements(Maze, "player")
def _maze_player(game, world):
    return TERMINAL if chaos(game, 1, world[0]) % 8 == 0 else int(world[1])


@implements(Maze, "legal")
def _maze_legal(game, world, out):
    for action in range(game.actions):
        out[action] = action
    return game.actions


@implements(Maze, "step")
def _maze_step(game, world, action):
    before, code = int(world[0]), chaos(game, 2, world[0], world[1], action)
    world[0] = code % game.places
    if code >> 16 & 3 or int(world[0]) <= before:  # it may go on, but not for ever
        world[1] = 1 - int(world[1])


@implements(Maze, "observe")
def _maze_observe(game, before, action, after, viewer):
    return chaos(game, 3, after[0], viewer) % (game.colours + 1)


@implements(Maze, "returns")
def _maze_returns(game, world, out):
    out[0] = chaos(game, 4, world[0]) % 5 / 4.0 - 0.5
    out[1] = -out[0]


def random_set(game, seat, most, rng):
    """Up to so many worlds of a maze in which the seat is to move."""
    rows = [np.array([place, seat], np.uint64) for place in range(game.places)]
    rows = [row for row in rows if _maze_player(game, row) == seat]
    return np.array(rng.sample(rows, min(most, len(rows))))


class Remembering(Plain):
    """The recurrence, for sets that come again."""

    def __init__(self, *given):
        super().__init__(*given)
        self.known = {}

    def value(self, worlds, turns):
        what = frozenset(worlds), turns
        if what not in self.known:
            self.known[what] = super().value(worlds, turns)
        return self.known[what]


def mazes(n, first=0):
    """Random mazes, each with a seat, some worlds and turns."""
    for seed in range(first, first + n):
        rng = random.Random(seed)
        shape = {"places": rng.choice([16, 24, 40]), "actions": rng.randint(3, 4), "colours": rng.choice([1, 1, 1, 2])}
        game, seat = Maze(seed, **shape), rng.randrange(2)
        yield game, seat, random_set(game, seat, rng.choice([4, 8, 12]), rng), rng.choice([3, 4, 5, 5, 5])


OPTIONS = ({}, {"parts": False}, {"size": 6}, {"k": 3}, {"size": 8, "k": 2})


def test_mazes_are_worth_what_the_recurrence_says(monkeypatch):
    uses = Counter()
    for number, (game, seat, rows, turns) in enumerate(mazes(10)):
        room, spell = ((4, 7), (1 << 12, 10**6))[number % 2]
        monkeypatch.setattr(set_search, "_FIRST_ROOM", room)
        monkeypatch.setattr(set_search, "_SPELL", spell)
        given = {"leaf": Assorted()} if number % 3 else {"evaluate": outside(game, seat)}
        plain, worlds = Remembering(game, seat, worth(game), 1.0 if number % 3 else Asked().win), as_set(rows, game)
        expected = [plain.action_value(worlds, action, turns) for action in range(game.actions)]
        for mode in MODES:
            options = CERTAIN if mode == "accelerated" else OPTIONS[number % 5] if mode == "exact" else {}
            search = SetSearch(game, seat, turns=turns, mode=mode, **given, **options)
            found = search.valuations(rows)
            assert found.values == pytest.approx(expected, abs=1e-12)
            best = SetSearch(game, seat, turns=turns, mode=mode, **given, **options).valuations(rows, only_best=True)
            assert max(best.values) == pytest.approx(max(expected))
            assert all(bound >= value - 1e-12 for bound, value in zip(best.values, expected, strict=True))
            uses += Counter(same=found.report.same, lower=found.report.lower, upper=found.report.upper)
    assert uses["same"] > 100 and uses["lower"] > 50 and uses["upper"] > 10


def test_everything_that_is_kept_of_sets_and_their_parts_is_true():
    """Sets of up to k worlds can be read from the cache: their values lie between the bounds that it holds."""
    compared, from_above = 0, 0
    for number, (game, seat, rows, turns) in enumerate(mazes(20, first=100)):
        search = SetSearch(game, seat, turns=turns, mode="exact", leaf=Assorted(), **OPTIONS[number % 3])
        search.valuations(rows)
        search.value(rows)
        plain = Remembering(game, seat, worth(game), 1.0)
        every = [np.array([place, seat], np.uint64) for place in range(game.places)]
        worlds = {int(row_hash(row, 2, True)): tuple(row) for row in every}
        cache = search.cache
        room = len(cache.sizes) // len(cache.held)
        for left in range(turns + 1):
            for slot in range(room * left, room * left + cache.held[left, 0]):
                size = int(cache.sizes[slot])
                if size <= len(cache.fresh):
                    value = plain.value({worlds[int(code)] for code in cache.signatures[slot, :size]}, left)
                    low, high = cache.bounds[slot]
                    assert low - 1e-12 <= value <= high + 1e-12
                    compared += 1
                    from_above += low == -np.inf
    assert compared > 500 and from_above > 50


def test_bounds_in_mazes_are_right_and_counted():
    used = Counter()
    for number, (game, seat, rows, turns) in enumerate(mazes(15, first=200)):
        options = {**OPTIONS[number % 5], "leaf": Assorted()}
        found = SetSearch(game, seat, turns=turns, mode="exact", check=True, **options).valuations(rows)
        assert found.report.checked == found.report.used and found.report.wrong == 0 and found.report.worst == 0.0
        unchecked = SetSearch(game, seat, turns=turns, mode="exact", **options).valuations(rows)
        same = {"checked": 0, "seconds": unchecked.report.seconds}
        assert unchecked.report.summary() == found.report.summary() | same
        used += Counter(lower=found.report.lower, upper=found.report.upper)
    assert used["lower"] > 50 and used["upper"] > 5


# Other games ---------------------------------------------------------------------------------------------------------


HEX = "dark_hex(rows=3,cols=3)"  # a try is heard, so that a set falls into many classes
CASES = [
    *(("phantom_ttt", 4, 1, 4), ("phantom_ttt", 5, 2, 3), ("phantom_ttt", 7, 4, 2), ("phantom_ttt", 8, 6, 4)),
    *((HEX, 5, 2, 6), (HEX, 7, 3, 6), (HEX, 8, 5, 4)),
]


@pytest.mark.parametrize(
    ("name", "plies", "turns", "few", "how"),
    [
        # positions from 7 plies on cost most; one way to value their leaves suffices for each
        pytest.param(*case, how, marks=pytest.mark.long if case[1] >= 7 and how == spared else ())
        for case, spared in zip(CASES, ["leaf", "evaluate"] * len(CASES), strict=False)
        for how in ("leaf", "evaluate")
    ],
)
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
    if isinstance(name, Maze):
        game, seat, rows = name, plies % 2, random_set(name, plies % 2, few, random.Random(plies))
    else:
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
    (Maze(1, 24, 4, 1), 0, 5, 8, "exact", ()): [275, 406, 1959, 305, 96, 33, 22, 129, 0, 79],
    (Maze(1, 24, 4, 1), 1, 5, 12, "accelerated", (("threshold", 0.6), ("caution", 0.5))):
        [318, 479, 2984, 377, 106, 48, 65, 118, 0, 168],
    (Maze(1, 24, 4, 1), 1, 5, 12, "exact", (("k", 4), ("size", 12))):
        [1261, 4591, 8918, 1394, 262, 4, 39, 197, 170, 43],
    (Maze(1, 24, 4, 1), 0, 5, 8, "exact", (("asked", True),)): [108, 107, 859, 110, 25, 31, 0, 47, 0, 33],
    (Maze(1, 100, 4, 1), 0, 3, 40, "exact", ()): [143, 1387, 2335, 164, 34, 13, 1, 101, 0, 40],
    (Maze(1, 100, 6, 2), 1, 3, 60, "exact", ()): [953, 4919, 10224, 1080, 482, 83, 13, 396, 0, 192],
    (Maze(2, 200, 10, 1), 0, 3, 60, "exact", ()): [765, 25269, 50287, 871, 172, 106, 38, 482, 0, 445],
    (Maze(2, 200, 10, 1), 0, 3, 60, "baseline", ()): [1415, 44573, 62284, 0, 0, 0, 0, 0, 0, 0],
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
