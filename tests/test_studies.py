"""Studies: found by name, resumable, and close to what was published."""

import json
import math
import random
from collections import Counter

import pytest

import foglight as fl
from foglight import studies
from foglight.policies import Biased
from foglight.studies import (
    filtering_entropy,
    filtering_positions,
    filtering_sizes,
    load_study,
    run_study,
    study_names,
)


@pytest.mark.parametrize("name", study_names())
def test_every_study_says_what_it_is_and_has_cells(name):
    study = load_study(name)
    assert "\n" in study.__doc__
    quick, full = study.cells(True, 0), study.cells(False, 0)
    assert quick and len(full) >= len(quick)


def test_table_1_is_reproduced_exactly(tmp_path):
    table = run_study("filtering_sizes", tmp_path, quick=True, seed=3)
    for size in ("192", "12,960", "544,320"):
        assert f"| {size} | {size} | {size} |" in table
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "data.json").read_text())["192"]["enumerated"] == 192


def test_table_2_small_states_come_close_to_the_published_entropy():
    # published 6.84, 6.13 and 4.89 bits; 40 states have a standard error of about 0.13, and 5 of them are allowed
    for bias, published in ((0.5, 6.84), (0.7, 6.13), (0.9, 4.89)):
        found = [filtering_entropy.work(192, bias, seed)["entropy"] for seed in range(40)]
        assert abs(sum(found) / 40 - published) < 5 * 0.15


def test_entropy_and_variance_by_hand():
    _, odds, values = filtering_entropy.belief(192, Biased(0.7, 5), 5)
    result = filtering_entropy.work(192, 0.7, 5)
    assert sum(odds) == pytest.approx(1)
    mean = sum(p * v for p, v in zip(odds, values, strict=True))
    assert result["variance"] == pytest.approx(sum(p * (v - mean) ** 2 for p, v in zip(odds, values, strict=True)))


def test_a_position_of_the_published_size_shows_no_void():
    state = filtering_sizes.position(192, 4)
    assert fl.history_filter(state.game, state.observations(fl.PUBLIC)).count() == 192


def test_public_states_drawn_alike_are_as_often_of_each_size_as_there_are_of_them():
    """By hand, for each card turned, of two suits with four cards each.

    Turned in the led suit: 3 leads, then 2 led and 4 other cards: 2 ways to follow twice, 16 once, 12 never; one void
    leaves 3 * 3 * 2 deals, two leave 2 * 2. Turned in the other: 4 leads, then 3 and 3 cards: 6 ways to follow twice,
    18 once; never cannot be, as two hands then need an other card, and one is left. One void leaves 2 * 3 * 2 deals.
    """
    wanted = {192: 3 * 2 + 4 * 6, 144: 3 * 16, 96: 4 * 18, 32: 3 * 12}
    rng, runs = random.Random(1), 500
    states = [filtering_positions.alike(192, rng) for _ in range(runs)]
    found = Counter(fl.history_filter(state.game, state.observations(fl.PUBLIC)).count() for state in states)
    assert set(found) <= set(wanted)
    for size, ways in wanted.items():  # 5.1 standard errors four times: a false alarm in 700 000
        share = ways / sum(wanted.values())
        assert abs(found[size] / runs - share) < 5.1 * (share * (1 - share) / runs) ** 0.5


def test_the_leader_of_the_second_trick_is_who_won_the_first():
    rng = random.Random(2)
    for _ in range(20):
        state = filtering_positions.alike(12_960, rng)  # refused by the rules, if somebody else had led
        assert state.player >= 0 and 0 < fl.history_filter(state.game, state.observations(fl.PUBLIC)).count() <= 12_960


def test_each_way_makes_its_own_positions():
    made = {
        way: [filtering_positions.made(way, 192, Biased(0.7, seed), seed).observations(fl.PUBLIC) for seed in range(8)]
        for way in filtering_positions.WAYS
    }
    assert len({str(positions) for positions in made.values()}) == 4
    drawn = [filtering_positions.alike(192, random.Random(seed)) for seed in range(8)]
    assert made["alike"] == [state.observations(fl.PUBLIC) for state in drawn]
    for seed, seen in enumerate(made["favourites"]):
        filter_ = fl.history_filter("oh_hell(suits=2,ranks=4,tricks=2)", seen, policy=Biased(1.0, seed))
        assert sum(weight for _, weight in filter_.enumerate()) > 0  # what is never played does not occur


def test_entropy_depends_on_how_positions_were_made(tmp_path):
    results = {
        f"{way} {size} {bias} {run}": filtering_positions.work(way, 192, bias, run) | {"size": size}
        for way in filtering_positions.WAYS
        for bias in filtering_positions.BIASES
        for size in filtering_sizes.SIZES
        for run in range(3)
    }
    for result in results.values():
        assert 0 < result["entropy"] <= math.log2(result["histories"])
    same = filtering_entropy.work(192, 0.7, 2)["entropy"]
    assert results["played 192 0.7 2"]["entropy"] == pytest.approx(same)
    table = filtering_positions.table(results)
    assert table.count("| published |") == 3 and table.count("| alike |") == 3
    filtering_positions.draw(results, tmp_path / "picture.png")
    with pytest.raises(fl.BadInput, match="played, at random, favourites, alike"):
        filtering_positions.work("magic", 192, 0.7, 0)


def test_a_killed_study_goes_on_where_it_ended(tmp_path, monkeypatch):
    done = []

    class Toy:
        @staticmethod
        def cells(quick, seed):
            return {name: {"number": number} for number, name in enumerate("abc")}

        @staticmethod
        def work(number):
            if number == 2 and len(done) < 3:
                done.append("killed")
                raise KeyboardInterrupt
            done.append(number)
            return {"square": number**2}

        @staticmethod
        def table(results):
            return str([result["square"] for result in results.values()])

        @staticmethod
        def draw(results, path):
            path.write_bytes(b"")

    monkeypatch.setattr(studies, "load_study", lambda name: Toy)
    with pytest.raises(KeyboardInterrupt):
        run_study("toy", tmp_path, True, 0)
    torn = tmp_path / "cells-quick-0.jsonl"
    torn.write_text(torn.read_text() + '\n{"cell": "c", "vers')
    assert run_study("toy", tmp_path, True, 0) == "[0, 1, 4]"
    assert done == [0, 1, "killed", 2], "what was done is not done again"


class Growing:
    """A study of which every cell takes a second, by a clock that each cell moves."""

    GROWS, now = True, 0.0

    @staticmethod
    def cells(quick, seed):
        return {str(number): {"number": number} for number in range(5)}

    @staticmethod
    def work(number):
        Growing.now += 1
        return {"number": number}

    @staticmethod
    def table(results):
        return f"{list(results)}\n"

    @staticmethod
    def draw(results, path):
        path.write_bytes(b"")


def test_a_study_stops_when_its_time_is_over_and_goes_on_later(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_study", lambda name: Growing)
    monkeypatch.setattr(studies.time, "monotonic", lambda: Growing.now)
    assert run_study("growing", tmp_path, True, 0, seconds=1.5) == "['0', '1']\n\n2 of 5 cells are done.\n"
    assert list(json.loads((tmp_path / "data.json").read_text())) == ["0", "1"]
    assert (tmp_path / "cells-quick-0.jsonl").read_text().count('"seconds": 1.0') == 2
    monkeypatch.setattr(Growing, "GROWS", False)
    assert run_study("growing", tmp_path, True, 0, seconds=0) == "3 of 5 cells are done; the same command goes on\n"
    assert run_study("growing", tmp_path, True, 0) == "['0', '1', '2', '3', '4']\n"


def test_only_cells_with_a_text_in_their_names_are_worked_on(run, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_study", lambda name: Growing)
    before = Growing.now
    assert run_study("growing", tmp_path, True, 0, only="3") == "['3']\n\n1 of 5 cells are done.\n"
    assert Growing.now == before + 1
    assert run_study("growing", tmp_path, True, 0, only="3") == "['3']\n\n1 of 5 cells are done.\n"
    assert Growing.now == before + 1, "done already"
    assert run_study("growing", tmp_path, True, 0) == "['0', '1', '2', '3', '4']\n"
    assert Growing.now == before + 5
    with pytest.raises(fl.BadInput, match="no cell of growing has '7' in its name; the first is '0'"):
        run_study("growing", tmp_path, True, 0, only="7")
    code, out, err = run("study", "run", "all", "--only", "100:1")
    assert (code, out) == (2, "") and "name it" in err and err.count("\n") == 1


def test_all_studies_run_in_one_command_and_share_the_time(run, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_study", lambda name: Growing)
    monkeypatch.setattr(studies, "study_names", lambda: ["a", "b", "c"])
    code, out, _ = run("study", "run", "all", "--folder", str(tmp_path), "--json")
    assert code == 0 and {name: len(cells) for name, cells in json.loads(out).items()} == {"a": 5, "b": 5, "c": 5}
    assert (tmp_path / "b" / "table.md").exists()
    code, out, _ = run("study", "run", "all", "--folder", str(tmp_path / "other"), "--minutes", "0")
    assert code == 0 and out.count("1 of 5 cells are done") == 3


def test_the_command(run, tmp_path):
    code, out, _ = run("study", "list")
    assert code == 0 and "filtering_sizes" in out
    assert [row["name"] for row in json.loads(run("study", "list", "--json")[1])] == study_names()
    code, out, _ = run("study", "run", "filtering_sizes", "--folder", str(tmp_path / "new" / "folder"))
    assert code == 0 and "544,320" in out
    code, out, err = run("study", "run", "filtering_size")
    assert (code, out) == (2, "") and "did you mean 'filtering_sizes'?" in err and err.count("\n") == 1
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, _, err = run("study", "run", "filtering_sizes", "--folder", str(blocked / "x"))
    assert code == 2 and "cannot use" in err
