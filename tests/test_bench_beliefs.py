"""`foglight bench beliefs` at tiny sizes: what it measures, and how figures meet their bars; never how fast."""

import json

import pytest

from foglight.bench import beliefs, deals
from foglight.bench.figures import Figure, number
from foglight.policies import Biased


def tables(run, *arguments):
    code, out, _ = run("bench", "beliefs", *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_deals_have_every_figure_that_was_asked_for(run, monkeypatch):
    monkeypatch.setattr(deals, "CASES", [])  # RingSwap on 52 cards takes its time, and so do large public states
    monkeypatch.setattr(deals, "LARGE", "oh_hell(players=3,suits=3,tricks=10)")  # 7e37 histories, three rows
    published = {size: deals.PUBLISHED[size] for size in (192, 12_960)}
    monkeypatch.setattr(deals, "PUBLISHED", published)
    monkeypatch.setattr(deals, "LARGEST", max(published))
    monkeypatch.setattr(deals, "Uniform", Biased)  # for which chains are compiled anyway
    (rows,) = tables(run, "--section", "deals", "--seconds", "0.01").values()
    barred = {row["what"].split(",")[0]: row for row in rows if row["met"] is not None}
    assert set(barred) == {"exact uniform deals", "RingSwap transitions", "enumeration of 12"}
    ring_swap = barred["RingSwap transitions"]
    assert ring_swap["against"] == "interpreted"
    assert ring_swap["ratio"] == pytest.approx(ring_swap["foglight"] / ring_swap["peer"])
    chains = [row for row in rows if row["against"] == "RingSwap"]
    assert len(chains) == 2 and all(row["foglight"] is None or row["foglight"] > 0 for row in chains)
    memory = [row["foglight"] for row in rows if row["unit"] == " MB"]
    assert len(memory) == 3 and max(memory) < 1.5 * min(memory), "the same whatever the size of the public state"


def test_our_samples_are_legal_by_openspiels_rules_and_openspiels_are_not(run):
    pytest.importorskip("pyspiel")
    (rows,) = tables(run, "--section", "samples", "--positions", "25").values()
    illegal = [row for row in rows if row["unit"] == " %"]
    assert len(illegal) == 4
    assert all(row["foglight"] == 0.0 and row["met"] and row["peer"] > 0 for row in illegal)
    legal = [row for row in rows if row["times"] is not None]
    assert [row["what"] for row in legal] == ["legal worlds, oh_hell(players=4,tricks=12)"]


def test_trackers_follow_games(run):
    (rows,) = tables(run, "--section", "trackers", "--games", "1").values()
    assert {"phantom_ttt", "battleship"} <= {row["game"] for row in rows}
    assert all(0 < row["largest"] <= 100_000 for row in rows)


def test_people_get_a_table_of_what_was_judged(run, monkeypatch):
    tasks = beliefs.tasks
    monkeypatch.setattr(beliefs, "tasks", lambda *given: tasks(*given)[:1])
    code, out, _ = run("bench", "beliefs", "--section", "legality", "--samples", "20", "--positions", "2")
    assert code == 0 and "worlds judged by the rules" in out and "histories" in out


def test_all_sections_are_one_run():
    titles = [title for title, _ in beliefs.tasks()]
    assert list(dict.fromkeys(titles)) == [beliefs.SPEED, beliefs.TRACKERS, beliefs.LEGALITY]
    assert len(titles) == sum(len(beliefs.tasks(section)) for section in beliefs.SECTIONS)


def test_a_figure_meets_its_bar_or_does_not():
    assert Figure("deals", 400.0, "/s", at_least=300.0).met
    assert not Figure("deals", 200.0, "/s", at_least=300.0).met
    assert not Figure("seconds", 3.0, " s", at_most=2.0).met
    assert Figure("chain", 900.0, "/s", "interpreted", 9.0, at_least=300.0, times=100).met
    assert not Figure("chain", 900.0, "/s", "interpreted", 10.0, at_least=300.0, times=100).met
    assert Figure("nothing asked", 1.0, "/s").met is None
    assert Figure("chain that stands still", None, "/s", at_least=1.0).met is False
    texts = Figure("chain", 900.0, "/s", "interpreted", 9.0, at_least=300.0, times=100).texts()
    assert texts["peer"] == "9/s interpreted" and texts["ratio"] == "100×"
    assert texts["bar"] == "at least 300/s, 100×" and texts["met"] == "yes"


def test_numbers_for_people():
    assert [number(n) for n in (1234567.8, 12.345, 0.0, 1234, True, None, "a")] == [
        "1,234,568",
        "12.3",
        "0",
        "1,234",
        "yes",
        "",
        "a",
    ]


BAD = [
    (("--section", "deal"), "did you mean 'deals'?"),
    (("--seconds", "0"), "seconds must be from 0.01 to 600"),
    (("--games", "0"), "games must be at least 1"),
    (("--positions", "0"), "positions must be at least 1"),
    (("--samples", "0"), "samples must be at least 1"),
]


@pytest.mark.parametrize(("arguments", "advice"), BAD)
def test_bad_input_gets_one_line(run, arguments, advice):
    code, out, err = run("bench", "beliefs", *arguments)
    assert (code, out) == (2, "")
    assert advice in err and err.count("\n") == 1
