"""What does not compile is told in one line: which rule, in which file and line, why, and what to do."""

import io
import sys
from typing import NamedTuple

import numpy as np
import pytest

import foglight as fl
from foglight import compile as compiling
from foglight.compiler_errors import SHOW_ALL, explanation

HERE = __file__.rpartition("/")[2]


def plain_helper(number):
    return number + 1


def plainer_helper(number):
    return number + 2


@fl.jitable
def between(number):
    return plainer_helper(number)


class Thing:
    pass


THING = Thing()


def calls_plain_helper(game, world, out):
    return plain_helper(0)


def calls_it_through_another(game, world, out):
    return between(0)


def reads_no_field(game, world, out):
    return game.missing


def reads_no_name(game, world, out):
    return nowhere  # noqa: F821


def reads_an_object(game, world, out):
    return THING.number


def makes_an_array(game, world, out):
    return int(np.zeros(3)[0])


def opens_a_file(game, world, out):
    with open("file") as file:
        return len(file.read())


def game_with(legal):
    """A game whose other rules compile."""

    @fl.game
    class Broken(NamedTuple):
        pass

    fl.implements(Broken, "num_players")(lambda game: 2)
    fl.implements(Broken, "num_words")(lambda game: 1)
    fl.implements(Broken, "num_actions")(lambda game: 2)
    fl.implements(Broken, "player")(lambda game, world: 0)
    fl.implements(Broken, "returns")(lambda game, world, out: None)
    fl.implements(Broken, "legal")(legal)
    return Broken()


def line_of(text):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


@pytest.mark.skipif(compiling.INTERPRET_ALL, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("legal", "reason", "where"),
    [
        (reads_no_field, "Unknown attribute 'missing' of type Broken", "return game.missing"),
        (reads_no_name, "name 'nowhere' is not defined", "def reads_no_name"),
        (reads_an_object, "Untyped global name 'THING'", "return THING.number"),
        (
            makes_an_array,
            "it makes an array, a list or a set; rules and helpers write into the arrays they are given",
            "np.zeros(3)",
        ),
        (opens_a_file, "construct is not supported", "def opens_a_file"),
    ],
)
def test_a_rule_that_does_not_compile_is_named_with_its_place_and_the_reason(legal, reason, where, monkeypatch):
    monkeypatch.delenv(SHOW_ALL, raising=False)
    with pytest.raises(fl.BadInput) as raised:
        fl.new_state(game_with(legal))
    said = str(raised.value)
    assert said.startswith("the rule 'legal' of Broken does not compile: ") and "\n" not in said
    assert reason in said and f"{HERE}:{line_of(where)})" in said
    assert said.endswith(f"{SHOW_ALL}=1 shows all that Numba says") and raised.value.__suppress_context__
    assert legal.__name__ != "legal", "the rule is named, whatever its function is called"


@pytest.mark.skipif(compiling.INTERPRET_ALL, reason="nothing is compiled")
def test_a_helper_without_its_decorator_is_named_with_the_rule_that_calls_it(monkeypatch):
    with pytest.raises(fl.BadInput) as raised:
        fl.new_state(game_with(calls_plain_helper))
    said, place = str(raised.value), f"{HERE}:{line_of('def plain_helper')}"
    assert said.startswith("the rule 'legal' of Broken calls") and "plain_helper" in said
    assert said.endswith(f"{place}), which lacks @fl.jitable")
    with pytest.raises(fl.BadInput, match=r"through between, plainer_helper \(.*\), which lacks @fl.jitable"):
        fl.new_state(game_with(calls_it_through_another))
    monkeypatch.setenv(SHOW_ALL, "1")
    with pytest.raises(fl.BadInput) as raised:
        fl.new_state(game_with(calls_plain_helper))
    assert "Cannot determine Numba type of <class 'function'>" in str(raised.value.__cause__)


class Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.isatty = lambda: terminal


@pytest.mark.parametrize("terminal", [False, True])
def test_compilation_is_told_once_for_each_game(terminal, monkeypatch):
    screen, progress = Screen(terminal), compiling._Progress()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(compiling, "PATIENCE", 1e6)  # what the timer would call is called here
    for what in ("dark_hex", "dark_hex", "kuhn_poker", "dark_hex"):
        progress.start(what)
        progress._say()
        progress.end()
    said = screen.getvalue()
    if terminal:  # one line, kept up to date and wiped at the end
        assert "\n" not in said and said.endswith("\r\x1b[K")
        assert [f"kernel {number}," in said for number in range(1, 6)] == [True] * 4 + [False]
    else:
        assert said.splitlines() == ["compiling dark_hex, once", "compiling kuhn_poker, once"]


def test_colours_of_numba_are_left_out():
    """Numba colours its messages as soon as `colorama` can be imported, as it can after `import ray`."""
    text = (
        "Failed in nopython mode pipeline (step: nopython frontend)\n\x1b[1m\x1b[1mNameError: no name\x1b[0m\n\x1b[1m\n"
    )
    text += 'File "rules.py", line 7:\n\x1b[0m\x1b[1mdef legal(game, world, out):\x1b[0m'
    said = explanation(Exception(text), reads_no_name, [], {}, {})
    assert "does not compile: NameError: no name (rules.py:7);" in said
