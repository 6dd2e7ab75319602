"""The bench of whole phantom games: what it compares, and what it refuses."""

import sys

import pytest

import foglight as fl
from foglight.bench import phantom

OURS = {"set_up": 2.0, "evaluation": 0.5, "gigabytes": 1.0, "value": 0.25, "best": [0.5, 0.75]}
NAME = "phantom_ttt"


def measured(monkeypatch, peer):
    """The row of a bench whose two sides give these results."""
    results = iter([OURS, peer])
    monkeypatch.setattr(phantom, "output_of", lambda command: next(results))
    ((_, measure),) = phantom.tasks([NAME], "python")
    return measure()[0]


def test_ratios_are_those_of_the_two_sides(monkeypatch):
    texts = measured(monkeypatch, OURS | {"set_up": 100.0, "evaluation": 200.0}).texts()
    assert texts["set-up, ratio"].startswith("50×") and texts["evaluation, ratio"].startswith("400×")


@pytest.mark.parametrize("other", [{"value": 0.2501}, {"best": [0.5, 0.7501]}, {"best": [0.4, 0.75]}])
def test_other_values_end_the_bench(monkeypatch, other):
    with pytest.raises(RuntimeError, match="by exp-a-spiel"):
        measured(monkeypatch, OURS | other)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["/nowhere/python"], "cannot run"),
        ([sys.executable, "-c", "raise SystemExit('no eas')"], "failed: no eas"),
        ([sys.executable, "-c", "print('hello')"], "printed no measurements"),
        ([sys.executable, "-c", ""], "printed no measurements"),
    ],
)
def test_a_peer_that_does_not_measure_gets_one_line(command, line):
    with pytest.raises(fl.BadInput, match=line):
        phantom.output_of(command)


def test_other_games_are_refused():
    with pytest.raises(fl.BadInput, match="exp-a-spiel does not have"):
        phantom.tasks(["kuhn_poker"], None)
    assert len(phantom.tasks(None, None)) == 4
