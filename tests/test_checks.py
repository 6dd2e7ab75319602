"""`fl.check_game` finds what is wrong with a game, says where, and finds nothing where nothing is wrong."""

import pytest
from planted import card_game, faults, overflowing, phantom_game

import foglight as fl
from foglight.compile import INTERPRET_ALL

pytestmark = pytest.mark.plain

FAULTS = faults()


def test_games_without_faults_have_none():
    for game in (card_game(), phantom_game()):
        checks = fl.check_game(game, compiled=False, games=4)
        assert checks.ok, str(checks)
        assert checks.comparisons["legal by observation"] > 5 and checks.comparisons["histories"] > 10


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name):
    game, property_, words = FAULTS[name]
    checks = fl.check_game(game, compiled=False, games=3, seconds=2.0, longest=2000)
    assert not checks.ok and len(FAULTS) > 20
    fault = next((fault for fault in checks.faults if fault.property == property_), None)
    assert fault is not None, str(checks)
    assert words in fault.sentence and "\n" not in fault.sentence
    assert "at the start" in fault.sentence or "after " in fault.sentence
