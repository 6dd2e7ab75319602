"""`fl.check_game` finds what is wrong with a game, says where, and finds nothing where nothing is wrong."""

import itertools
import json
import random
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from planted import RANKS, all_refused, card_game, faults, hidden_cell, legal_by_helper, overflowing_game, phantom_game
from test_games_contract import variants

import foglight as fl
import foglight.checks.draws
import foglight.checks.filters
import foglight.checks.game
from foglight.checks import quick
from foglight.compile import INTERPRET_ALL, interpreted, rules_of
from foglight.state import replay

FAULTS = faults()
SMALL = ["kuhn_poker", "goofspiel(cards=2)", "dark_hex(rows=2,cols=2)", "liars_dice(dice=1,sides=2)"]
OPENSPIEL = [
    "kuhn_poker",
    "tiny_hanabi",
    "phantom_ttt",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=4,imp_info=true,points_order=descending)",
    "tiny_bridge_2p",
    "matching_pennies_3p",
    "first_sealed_auction",
]
compiled_only = pytest.mark.skipif(INTERPRET_ALL, reason="nothing is compiled")


def test_games_without_faults_have_none():
    for game in (card_game(), phantom_game(), phantom_game(lay_open=all_refused)):
        checks = fl.check_game(game, compiled=False, games=4, seconds=60.0)
        assert checks.ok, str(checks)
        assert checks.comparisons["legal by observation"] > 5 and checks.comparisons["histories"] > 10


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name):
    game, property_, words = FAULTS[name]
    seconds = 2.0 if name == "promise of pairs" else 60.0  # it is found however little time there is
    checks = fl.check_game(game, compiled=False, games=3, seconds=seconds, longest=2000)
    assert not checks.ok and len(FAULTS) > 20
    fault = next((fault for fault in checks.faults if fault.property == property_), None)
    assert fault is not None, str(checks)
    assert words in fault.sentence and "\n" not in fault.sentence
    assert "at the start" in fault.sentence or "after " in fault.sentence
    assert sum(fault.property == property_ for fault in checks.faults) == 1


@compiled_only
def test_rules_that_differ_compiled_and_interpreted_are_found():
    checks = fl.check_game(overflowing_game(), games=3)
    fault = next(fault for fault in checks.faults if fault.property == "compiled rules")
    assert "compiled and interpreted rules differ: the last observation of" in fault.sentence
    assert fault.history and fl.check_game(overflowing_game(), games=3, compiled=False).ok


@compiled_only
def test_rules_that_do_not_compile_are_found():
    checks = fl.check_game(card_game(legal=legal_by_helper), games=3)
    assert [fault.property for fault in checks.faults] == ["compiled rules"]
    assert "the rule 'legal' of HighCard calls" in checks.faults[0].sentence
    assert checks.faults[0].sentence.endswith("which lacks @fl.jitable")


def test_missing_rules_are_named_and_the_others_checked():
    class Nameless:
        def __str__(self):
            return "nameless"

    for name, rule in card_rules().items():
        if name not in ("view", "title"):
            fl.implements(Nameless, name)(rule)
    checks = fl.check_game(Nameless(), games=2)
    assert [fault.sentence for fault in checks.faults] == ["Nameless has no rules title, view; every game needs them"]
    assert checks.comparisons["legal by observation"] > 5 and "views" not in checks.comparisons


def card_rules():
    import planted

    return planted.CARD


@pytest.mark.parametrize(
    ("method", "wrong", "words"),
    [
        ("count", lambda histories: 84, "84 histories agree by history_filter, "),
        ("enumerate", lambda histories: iter([]), "histories agree by history_filter, "),
        ("sample", lambda histories, n, seed: [fl.new_state("kuhn_poker")], "samples a history that does not agree"),
    ],
)
def test_a_filter_that_is_wrong_is_found(monkeypatch, method, wrong, words):
    """As it is in a game in which filtering and playing disagree, for whatever reason."""
    game = card_game()
    monkeypatch.setattr(fl.HistoryFilter, method, wrong)
    checks = fl.check_game(game, compiled=False, games=3)
    assert [fault.property for fault in checks.faults] == ["histories"]
    assert words in checks.faults[0].sentence


def test_the_history_of_a_fault_leads_to_it():
    game, _, _ = FAULTS["legal by hidden card"]
    fault = fl.check_game(game, compiled=False, games=2).faults[0]
    with interpreted():
        state = replay(game, fault.history)
    assert (state.player, state.history()[2]) == (1, 1) and len(state.history()) == 3
    names = [f"{RANKS[card]} ({card})" for card in state.history()[:2]]
    assert f"after {', '.join(names)}, bet (1), which look the same to seat 1" in fault.sentence


@pytest.fixture
def ticks(monkeypatch):
    """A clock that goes on by a hundredth of a second each time it is read: no machine is too slow for it."""
    reads = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.01 * next(reads))
    for module in (foglight.checks.game, foglight.checks.draws, foglight.checks.filters):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.plain
@pytest.mark.parametrize("game", SMALL)
def test_small_native_games_have_no_faults(game, ticks):
    checks = fl.check_game(game, games=4, seconds=20.0)
    assert checks.ok, str(checks)
    assert checks.comparisons["views"] > 0 and checks.comparisons["own action"] > 10


@pytest.mark.long
@pytest.mark.parametrize("game", list(variants()))
def test_no_native_game_has_faults(game):
    checks = fl.check_game(game)
    assert checks.ok, str(checks)
    assert checks.comparisons["own action"] > 1 and checks.comparisons["legal actions"] > 1


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if i > 1 else []) for i, name in enumerate(OPENSPIEL)]
)
def test_games_of_openspiel_have_no_faults(name, ticks):
    pytest.importorskip("pyspiel")
    checks = fl.check_game(f"openspiel:{name}", games=4, seconds=20.0)
    assert checks.ok, str(checks)
    assert checks.comparisons["views"] > 0 and checks.comparisons["own action"] > 2


def test_a_game_of_openspiel_that_forgets_is_found(ticks):
    """It is meant to: `ir` stands for imperfect recall."""
    pytest.importorskip("pyspiel")
    checks = fl.check_game("openspiel:phantom_ttt_ir", games=1, seconds=20.0)
    assert [fault.property for fault in checks.faults] == ["perfect recall"]


# The cheap part, by itself --------------------------------------------------------------------------------------------


def test_matches_solving_and_filtering_refuse_a_broken_game():
    game = phantom_game(observe=hidden_cell)
    said = r"planted:Hunt: seat 0 observes 1 both of its action 0 and of its action 1 at the start; foglight check-game"
    with pytest.raises(fl.BadInput, match=said):
        fl.play_match(game, ["random", "random"], games=2)
    with pytest.raises(fl.BadInput, match=said):
        fl.play_tournament([game], ["random", "first_legal"], games_each=2)
    with pytest.raises(fl.BadInput, match=said):
        fl.solve(game, iterations=2)
    with pytest.raises(fl.BadInput, match=said):
        fl.history_filter(game, [1], viewer=0)


def test_the_cheap_part_finds_what_it_is_for():
    cheap = ["wrong order", "an action twice", "action out of range", "no legal action", "own action missing"]
    cheap += ["own action unseen", "observe changes a world", "too few words", "step changes keys"]
    cheap += ["chance sums to less", "payoff missing"]
    for name in cheap:
        game, _, words = FAULTS[name]
        with pytest.raises(fl.BadInput) as raised:
            quick.quick_check(game)
        assert words in str(raised.value), name
    quick.quick_check(card_game())
    quick.quick_check(phantom_game())


def test_the_cheap_part_is_done_once_and_only_for_games_from_elsewhere(monkeypatch):
    game = card_game()
    quick.quick_check(game)
    monkeypatch.setattr(quick, "StrictPlay", None)
    quick.quick_check(game)  # known by now
    quick.quick_check(fl.load_game("kuhn_poker"))  # trusted
    with pytest.raises(TypeError):
        quick.quick_check(card_game())


def test_checks_draw_from_no_stream_of_the_caller():
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    fl.check_game(card_game(), games=2, compiled=False)
    quick.quick_check(phantom_game())
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


# What is said ---------------------------------------------------------------------------------------------------------


def test_a_check_is_repeated_by_its_seed():
    one, two = (
        fl.check_game(phantom_game(), games=3, seed=4, seconds=60.0, compiled=False).summary() for _ in range(2)
    )
    assert one == two and one["ok"]


def test_at_most_one_fault_of_a_property_the_shortest_history():
    checks = fl.Checks("nim")
    checks.add("chance", "late", (1, 2))
    checks.add("chance", "early", (1,))
    checks.add("chance", "later", (1, 2, 3))
    assert [fault.sentence for fault in checks.faults] == ["early"] and checks.has("chance") and not checks.ok
    checks.count("chance", 3)
    assert str(checks) == "nim: 1 fault in 3 comparisons of 1 properties\n  chance: early"


def test_the_command_says_it_and_exits_with_1_on_faults(run, monkeypatch):
    code, out, err = run("check-game", "kuhn_poker", "--games", "2")
    said = [line for line in err.splitlines() if not line.startswith("compiling ")]
    assert (code, said) == (0, []) and out.startswith("kuhn_poker: no fault in ")
    found = fl.Checks("nim", [fl.Fault("chance", "the probabilities of chance sum to 0.9", (1,))], {"chance": 1})
    monkeypatch.setattr(fl, "check_game", lambda game, **options: found)
    assert run("check-game", "kuhn_poker")[:2] == (1, f"{found}\n")
    code, out, _ = run("check-game", "kuhn_poker", "--json")
    assert code == 1 and json.loads(out) == found.summary()
    assert json.loads(out)["faults"][0]["history"] == [1]


@pytest.mark.parametrize("options", [{"games": 0}, {"seconds": 0}, {"seed": -1}, {"longest": 0}])
def test_options_out_of_range_are_refused(options):
    name = next(iter(options))
    with pytest.raises(fl.BadInput, match=f"{name} must be"):
        fl.check_game("kuhn_poker", **options)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (fl.Bounds(low=0.0), "not between 0 and inf as `bounds` says"),
        (fl.Bounds(high=0.5), "not between -inf and 0.5 as `bounds` says"),
        (fl.Bounds(total=7.0), "not to 7 as `bounds` says"),
        (fl.Bounds(length=1), "actions, not at most 1 as `bounds` says"),
        (None, "`bounds` fails with TypeError"),
    ],
)
def test_false_bounds_are_found(limits, words):
    checks = fl.check_game(phantom_game(bounds=lambda game: limits), games=5, compiled=False)
    (fault,) = checks.faults
    assert fault.property == "bounds" and words in fault.sentence and checks.comparisons["bounds"] > 0
    true = fl.Bounds(-1.0, 1.0, 0.0, 100)
    assert fl.check_game(phantom_game(bounds=lambda game: true), games=5, compiled=False).comparisons["bounds"] == 5


def changes_the_world(game, world, seat):
    world[0] += np.uint64(1)
    return 0.0


@pytest.mark.parametrize(
    ("rule", "property_", "words"),
    [
        (lambda game, world, seat: 2.0 - 4.0 * seat, "evaluation", "gives seat 0 2.0, not a payoff from -1 to 1"),
        (lambda game, world, seat: float("nan"), "evaluation", "gives seat 0 nan, not a payoff"),
        (lambda game, world, seat: 0.25, "evaluation", "gives the seats [0.25, 0.25], which do not sum to 0"),
        (
            lambda game, world, seat: (1 - 2 * seat) * float(world[-1] & np.uint64(1)),
            "evaluation",
            "depends on the viewers' keys",
        ),
        (changes_the_world, "unchanged worlds", "`evaluation` changes the world"),
    ],
)
def test_a_wrong_evaluation_is_found(rule, property_, words):
    limits = fl.Bounds(-1.0, 1.0, 0.0, 100)
    checks = fl.check_game(phantom_game(bounds=lambda game: limits, evaluation=rule), games=2, compiled=False)
    fault = next(fault for fault in checks.faults if fault.property == property_)
    assert words in fault.sentence

    def right(game, world, seat):
        return 0.5 - seat

    checks = fl.check_game(phantom_game(bounds=lambda game: limits, evaluation=right), games=2, compiled=False)
    assert checks.ok and checks.comparisons["evaluation"] > 4


@compiled_only
def test_an_evaluation_that_differs_compiled_and_interpreted_is_found():
    def overflowing(game, world, seat):
        return 0.25 * (1 - 2 * seat) if (int(world[0]) // 2**63 + 1) * 2**62 * 4 > 0 else 0.0  # no int64

    checks = fl.check_game(phantom_game(evaluation=overflowing), games=2, seconds=2.0)
    fault = next(fault for fault in checks.faults if fault.property == "compiled rules")
    assert "the evaluation of seat 0 is" in fault.sentence


def test_a_game_without_its_decorator_is_told_so():
    class Bare(NamedTuple):
        pass

    game = phantom_game()
    for name, rule in rules_of(type(game)).items():
        fl.implements(Bare, name)(rule)
    checks = fl.check_game(Bare(), games=2, compiled=False)
    assert [fault.sentence for fault in checks.faults] == ["Bare lacks the decorator @fl.game"]


@pytest.mark.parametrize(
    ("method", "rule", "property_", "words"),
    [
        ("bytes_of", None, "worlds", "a world has no method `tobytes` that gives bytes"),
        (
            "tobytes",
            lambda game, world, viewer: -7,
            "keys",
            "`key` gives viewer -1 -7, not a number from 0 to 2^64 - 1",
        ),
    ],
)
def test_worlds_of_plain_python_say_who_they_are(method, rule, property_, words):
    """A world that cannot be told from others, and a key that does not fit into 64 bits."""

    class Plain:
        def __str__(self):
            return "plain"

    world = type("World", (), {"path": (), method: lambda self: repr(self.path).encode()})
    rules = {
        "num_players": lambda game: 1,
        "num_actions": lambda game: 2,
        "new_worlds": lambda game, n: [world() for _ in range(n)],
        "copy_world": lambda game, target, source: setattr(target, "path", source.path),
        "record": lambda game, world, viewer, observation: None,
        "key": rule or (lambda game, world, viewer: len(world.path)),
        "player": lambda game, world: 0 if not world.path else fl.TERMINAL,
        "legal": lambda game, world, out: out.__setitem__(slice(2), (0, 1)) or 2,
        "step": lambda game, world, action: setattr(world, "path", (*world.path, int(action))),
        "observe": lambda game, before, action, after, viewer: int(action),
        "returns": lambda game, world, out: out.__setitem__(0, 0.0),
    }
    for name, rule_ in rules.items():
        fl.implements(Plain, name)(rule_)
    (fault,) = (f for f in fl.check_game(Plain(), compiled=False).faults if f.property == property_)
    assert fault.sentence.startswith(words)
