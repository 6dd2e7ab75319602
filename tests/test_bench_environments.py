"""The bench of environments: ours at tiny sizes, other libraries in their own Python, as far as it has them."""

import json
import sys

import pytest

import foglight as fl
from foglight.bench import env_peer, environments
from foglight.cli import main  # noqa: F401  # the command is registered

pytest.importorskip("pettingzoo", reason="needs PettingZoo")


def figures(game, peer=None):
    return [figure for _, measure in environments.tasks("rates", [game], 8, 0.01, peer) for figure in measure()]


def test_every_row_says_what_a_step_includes():
    rows = figures("kuhn_poker")
    assert [row.what for row in rows] == [
        "kuhn_poker: a compiled loop, masks as bits",
        "kuhn_poker: a compiled loop, masks as bool",
        "kuhn_poker: a compiled loop, masks as bool, observations",
        "kuhn_poker: calls of step, masks as bool, observations",
        "kuhn_poker: PettingZoo's protocol, one game",
    ]
    assert all(row.foglight > 0 and row.peer is None for row in rows)


def test_peers_are_asked_in_their_own_python(monkeypatch):
    asked = []

    def answer(command):
        asked.append(command)
        return {"missing": "envpool"} if "envpool" in command else {"library": f"{command[2]} 1.0", "rate": 5.0}

    monkeypatch.setattr(environments, "output_of", answer)
    rows = figures("kuhn_poker", peer="python-of-peers")
    assert [row.against for row in rows] == [
        "",
        "",
        "pgx 1.0, kuhn_poker",
        "openspiel 1.0, kuhn_poker",
        "shimmy 1.0, kuhn_poker",
    ]
    assert all(row.ratio == row.foglight / 5.0 for row in rows[2:])
    assert {command[0] for command in asked} == {"python-of-peers"}
    assert [command[2:4] for command in asked][1] == ["envpool", "KuhnPoker-v1"]


def test_a_library_that_is_not_there_is_missing(capsys):
    env_peer.main("pgx", "kuhn_poker", "8", "0.01")
    if "pgx" not in sys.modules:
        assert json.loads(capsys.readouterr().out) == {"missing": "pgx"}


def test_openspiel_is_measured_where_it_is_installed(capsys):
    pytest.importorskip("pyspiel")
    env_peer.main("openspiel", "kuhn_poker", "1", "0.01")
    answer = json.loads(capsys.readouterr().out)
    assert answer["library"].startswith("openspiel ") and answer["rate"] > 0


def test_vectors_are_counted():
    (row,) = environments._vectors("kuhn_poker")
    assert (row.size, row.information_states, row.distinct, row.with_recall) == (11, 12, 100.0, 100.0)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("speed", None, 8, 1.0, None), "there is no section 'speed'; choose from rates, vectors, all"),
        (("rates", None, 8, 0.0, None), "seconds must be from 0.01 to 600, not 0.0"),
        (("rates", ["kuhn"], 8, 1.0, None), "unknown game 'kuhn'"),
    ],
)
def test_bad_input_is_one_line(arguments, line):
    with pytest.raises(fl.BadInput, match=line):
        environments.tasks(*arguments)
