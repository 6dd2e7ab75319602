"""`foglight bench solve` at tiny sizes: what it measures, that both sides measure the same; never how fast."""

import json
import os

import numpy as np
import pytest

from foglight.bench import figures
from foglight.bench import solve as bench
from foglight.solving.whole.plans import normalised
from foglight.solving.whole.sequences import sequence_form

pyspiel = pytest.importorskip("pyspiel")


@pytest.fixture
def small(monkeypatch):
    """Few and small games, and no LiteEFG, whether it is installed or not."""
    monkeypatch.setattr(bench, "SIZED", ["kuhn_poker"])
    monkeypatch.setattr(bench, "has_liteefg", lambda: False)


def test_all_that_was_asked_for_is_measured(run, small):
    code, out, _ = run("bench", "solve", "--seconds", "0.01", "--json")
    speed, memory = json.loads(out).values()
    assert code == 0
    assert [row["what"] for row in speed] == [
        "CFR+ iterations, leduc_poker",
        "CFR+ iterations, goofspiel(cards=5)",
        "exploitability of behaviour, tree built, goofspiel(cards=5)",
        "exploitability of a policy, tree remembered, goofspiel(cards=5)",
    ]
    assert [(row["openspiel_bar"], row["liteefg_bar"]) for row in speed] == [
        (80, 15),
        (100, 15),
        (50, None),
        (50, None),
    ]
    for row in speed:
        assert row["openspiel_ratio"] == pytest.approx(row["foglight"] / row["openspiel"])
        assert row["liteefg"] is None and row["liteefg_ratio"] is None
    assert [row["nodes"] for row in memory] == [58] and memory[0]["information_states"] == 12
    assert 30 < memory[0]["tree_bytes_per_node"] < 100 and memory[0]["form_bytes_per_node"] < 100


def test_without_liteefg_its_column_is_empty_and_says_how_to_fill_it(run, small, monkeypatch):
    tasks = bench.tasks
    monkeypatch.setattr(bench, "tasks", lambda seconds: tasks(seconds)[:1])
    code, out, _ = run("bench", "solve", "--seconds", "0.01")
    assert code == 0 and "pip install LiteEFG" in out and "(bar 80×)" in out and "15×" not in out


def test_liteefg_is_measured_where_it_is_installed(tmp_path, monkeypatch):
    pytest.importorskip("LiteEFG")
    monkeypatch.setenv("HOME", str(tmp_path))
    row = bench.iterations("leduc_poker", 0.01).summary()
    assert row["liteefg_ratio"] == pytest.approx(row["foglight"] / row["liteefg"])
    assert os.environ["HOME"] == str(tmp_path) and not list(tmp_path.iterdir()), "nothing is left in the home folder"


def test_a_disagreement_stops_the_bench(monkeypatch):
    monkeypatch.setattr(bench, "exploitability", lambda game, policy: 0.5)
    with pytest.raises(RuntimeError, match=r"exploitability here is 0\.5"):
        bench.exploitabilities(True, 0.01)


def test_the_peer_gets_the_same_policy():
    sequences, peer = sequence_form("kuhn_poker"), pyspiel.load_game("kuhn_poker")
    behaviour = normalised(sequences.form, np.random.default_rng(1).random(sequences.num_sequences))
    table = bench._peer_table(sequences, behaviour, peer)
    assert len(table) == 12
    assert all(sum(share for _, share in odds) == pytest.approx(1.0) for odds in table.values())
    assert sorted(share for odds in table.values() for _, share in odds) == pytest.approx(
        sorted(np.delete(behaviour, sequences.form.sequence_begins[:-1]))
    )


def test_rates_are_the_best_of_rounds_in_turn():
    calls = []
    rates = figures.race([lambda n: calls.append("a"), lambda n: calls.append("b")], 1e-9)
    assert len(rates) == 2 and all(rate > 0 for rate in rates)
    assert calls[-2 * figures.ROUNDS :] == ["a", "b"] * figures.ROUNDS


def test_bad_input_gets_one_line(run):
    code, out, err = run("bench", "solve", "--seconds", "0")
    assert (code, out) == (2, "") and "seconds must be from 0.01 to 600" in err and err.count("\n") == 1
