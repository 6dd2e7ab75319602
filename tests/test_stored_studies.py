"""Stored results of studies: a part of a full form is not lost with its folder, and a new run goes on from it."""

import json
import random

import pytest

import foglight as fl
from foglight import studies
from foglight.studies import Ledger, _stored, epimc_leaf, epimc_subgame, filtering_large, load_study, run_study


def played(game, line, ratio, agent, opponent, games, seed):
    """A match that nobody plays: its score follows from all that decides the match, and so not from its line."""
    score = random.Random(f"{game} {ratio} {agent} {opponent} {games} {seed}").randint(0, 2 * games) / 2
    times = {"ms": [1.0, 2.0], "overruns": [0, 0]}
    return {"game": game, "line": line, "ratio": ratio, "agent": agent, "opponent": opponent, "score": score} | {
        "games": games,
        **times,
    }


def sampled(tricks, size, seed):
    """A cell of `filtering_large`, without its work."""
    rng = random.Random(f"{tricks} {size} {seed}")
    errors = {method: [rng.random() for _ in filtering_large.SAMPLES] for method in filtering_large.METHODS}
    seconds = {f"{method} seconds": rng.random() for method in filtering_large.METHODS[1:]}
    return {"value": rng.random(), "error": rng.random(), "effective": 10.5, **errors, **seconds}


FAKES = {"epimc_leaf": played, "epimc_subgame": played, "filtering_large": sampled}


@pytest.fixture
def calls(monkeypatch):
    """Studies without their work. What is worked on is listed; with `calls.end`, the work is killed at that cell."""

    class Calls(list):
        end = None

    calls = Calls()

    def counted(work):
        def one(**arguments):
            if len(calls) == calls.end:
                raise KeyboardInterrupt
            calls.append(arguments)
            return work(**arguments)

        return one

    monkeypatch.setattr(studies.os, "fsync", lambda file: None)  # 420 times, it would take seconds
    for name, work in FAKES.items():
        monkeypatch.setattr(load_study(name), "work", counted(work))
        monkeypatch.setattr(load_study(name), "draw", lambda results, path: None)
    return calls


def contents(name, runs, data):
    """What is stored of a run, apart from times."""
    _stored.gather(runs, data)
    run = _stored.stored(name, data) or _stored.stored(name, data, begun=True)
    return run.form, run.cells, run.of, run.seed, run.begun, run.results


@pytest.mark.parametrize(("name", "end"), [("epimc_leaf", 100), ("filtering_large", 37)])
def test_a_run_goes_on_in_a_new_folder_from_what_is_stored_of_it(name, end, calls, tmp_path):
    run_study(name, tmp_path / "whole" / name, False, 0)
    whole, cells = contents(name, tmp_path / "whole", tmp_path / "whole_data"), len(calls)
    assert cells == len(load_study(name).cells(False, 0)) and whole[1] == cells
    calls.clear()
    calls.end = end
    with pytest.raises(KeyboardInterrupt):
        run_study(name, tmp_path / "first" / name, False, 0)
    first = contents(name, tmp_path / "first", tmp_path / "data")
    assert first[1] == end and (tmp_path / "data" / f"{name}.json").stat().st_size < 200_000
    calls.end = None
    table = run_study(name, tmp_path / "second" / name, False, 0, begin_with=tmp_path / "data")
    assert len(calls) == cells, "every cell was worked on once"
    assert table == (tmp_path / "whole" / name / "table.md").read_text()
    assert contents(name, tmp_path / "second", tmp_path / "data") == whole
    again = run_study(name, tmp_path / "second" / name, False, 0, begin_with=tmp_path / "data")
    assert len(calls) == cells and again == table


def test_a_beginning_is_stored_apart_until_it_counts(calls, tmp_path):
    data = tmp_path / "data"
    calls.end = 10
    with pytest.raises(KeyboardInterrupt):
        run_study("epimc_leaf", tmp_path / "a" / "epimc_leaf", False, 0)
    assert _stored.gather(tmp_path / "a", data) == ["epimc_leaf"]
    assert _stored.stored("epimc_leaf", data) is None, "10 of 420 cells say nothing"
    assert _stored.stored("epimc_leaf", data, begun=True).cells == 10
    calls.end = 60
    with pytest.raises(KeyboardInterrupt):
        run_study("epimc_leaf", tmp_path / "b" / "epimc_leaf", False, 0, begin_with=data)
    _stored.gather(tmp_path / "b", data)
    run = _stored.stored("epimc_leaf", data)
    assert run.form_text() == "full, 60 of 420 cells" and _stored.stored("epimc_leaf", data, begun=True) is None
    assert {len(one["spans"]) for one in run.results.values()} == {1}
    _stored.gather(tmp_path / "a", data)
    assert _stored.stored("epimc_leaf", data) == run


def test_blocks_that_were_done_out_of_order_are_not_taken_for_others(calls, tmp_path):
    """Several workers finish cells in any order. A match then has spans of games, with gaps."""
    cells = epimc_leaf.cells(False, 0)
    ledger = Ledger(tmp_path / "runs" / "epimc_leaf" / "cells-full-0.jsonl")
    some = random.Random(5).sample(list(cells), 200)
    for cell in some:
        ledger.add(cell, played(**cells[cell]), 1.0)
    _stored.gather(tmp_path / "runs", tmp_path / "data")
    run = _stored.stored("epimc_leaf", tmp_path / "data") or _stored.stored("epimc_leaf", tmp_path / "data", begun=True)
    assert max(len(one["spans"]) for one in run.results.values()) > 2 and run.seconds == 200
    run_study("epimc_leaf", tmp_path / "other" / "epimc_leaf", False, 0, begin_with=tmp_path / "data")
    names = {tuple(arguments.values()): cell for cell, arguments in cells.items()}
    assert {names[tuple(arguments.values())] for arguments in calls} == cells.keys() - set(some)


def test_a_match_that_two_studies_have_in_common_is_played_once(calls, tmp_path):
    run_study("epimc_leaf", tmp_path / "runs" / "epimc_leaf", False, 0)
    _stored.gather(tmp_path / "runs", tmp_path / "data")
    calls.clear()
    run_study("epimc_subgame", tmp_path / "with" / "epimc_subgame", False, 0, begin_with=tmp_path / "data")
    few = len(calls)
    run_study("epimc_subgame", tmp_path / "without" / "epimc_subgame", False, 0)
    every = len(calls) - few
    assert every == len(epimc_subgame.cells(False, 0)) == 630 and every - few == 210, "ISS in two of three games"
    texts = [(tmp_path / way / "epimc_subgame" / "table.md").read_text() for way in ("with", "without")]
    assert texts[0] == texts[1]


def test_results_of_other_agents_seeds_forms_and_editions_are_not_taken_up(calls, tmp_path, monkeypatch):
    data = tmp_path / "data"
    calls.end = 60
    with pytest.raises(KeyboardInterrupt):
        run_study("epimc_leaf", tmp_path / "runs" / "epimc_leaf", False, 0)
    _stored.gather(tmp_path / "runs", data)

    def taken(quick=False, seed=0):
        form = "quick" if quick else "full"
        ledger = Ledger(tmp_path / "new.jsonl", edition=studies.edition_of(epimc_leaf))
        _stored.take_up("epimc_leaf", form, seed, ledger, data)
        count = len(studies.finished(epimc_leaf, epimc_leaf.cells(quick, seed), ledger.results)[1])
        ledger.path.unlink(missing_ok=True)
        return count

    assert (taken(), taken(seed=1), taken(quick=True)) == (60, 0, 0)
    monkeypatch.setattr(epimc_leaf, "LINES", {**epimc_leaf.LINES, "rollout": "epimc(depth=4,subgame=iss"})
    assert taken() == 30, "the other line"
    monkeypatch.setattr(epimc_leaf, "EDITION", 2, raising=False)
    assert taken() == 0


def test_results_stay_valid_with_a_later_version_of_foglight(tmp_path):
    path = tmp_path / "cells.jsonl"
    Ledger(path).add("a", {"x": 1}, 0.5)
    assert fl.__version__ not in path.read_text()
    path.write_text(path.read_text().replace('"edition": 1', '"version": "0.1.0"'))  # as it was once written
    assert Ledger(path).results == {"a": {"x": 1}} and Ledger(path, edition=2).results == {}


def test_the_option_of_the_command(run, calls, tmp_path):
    calls.end = 60
    with pytest.raises(KeyboardInterrupt):
        run_study("epimc_leaf", tmp_path / "runs" / "epimc_leaf", False, 0)
    _stored.gather(tmp_path / "runs", tmp_path / "data")
    calls.end = None
    options = ["--full", "--minutes", "0", "--folder", str(tmp_path / "new")]
    code, out, _ = run("study", "run", "epimc_leaf", *options, "--from", str(tmp_path / "data"))
    assert code == 0 and "61 of 420 cells are done" in out
    code, _, err = run("study", "run", "epimc_leaf", *options, "--from", str(tmp_path / "nowhere"))
    assert code == 2 and "there is no folder" in err and err.count("\n") == 1
    assert len(json.loads((tmp_path / "new" / "data.json").read_text())) == 21, "20 matches, and a block"
