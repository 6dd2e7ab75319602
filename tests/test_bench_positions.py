"""How often the truth is among the positions that `kluss` searches."""

import json

import pytest

import foglight as fl
from foglight.bench import positions


def test_the_truth_is_always_searched_where_all_worlds_are_and_not_where_few_are(capsys):
    name = "dark_hex(rows=3,cols=3)"
    few = positions.measure("kluss(iterations=300,positions=5,small=0)", name, 3, 1)
    assert few["decisions"] >= 6 and 0.0 < few["searched"] < 1.0
    agents, found = [fl.load_agent("kluss(iterations=20000,positions=5000,small=0)") for _ in range(2)], []
    watched = positions.Watched(fl.load_game(name), agents, 1, 0)
    for agent in agents:
        agent.positions = 0  # every decision counts; the searches keep all worlds
    watched.watch(found)
    assert len(found) >= 4 and all(found)
    positions.main(["--agent", "kluss(iterations=50,positions=5,small=0)", "--game", name, "--games", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["games"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--agent", "pimc"], "only kluss searches positions; pimc is another agent"),
        (["--game", "oh_hell"], "native games for two seats, not in oh_hell"),
        (["--games", "0"], "--games must be at least 1"),
    ],
)
def test_bad_options_get_one_line(arguments, words):
    with pytest.raises(SystemExit, match=words):
        positions.main(arguments)
