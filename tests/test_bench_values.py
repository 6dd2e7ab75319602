"""`foglight bench values` at tiny sizes: what it measures, and that all sides find the same; never how fast."""

import json

import numpy as np
import pytest

from foglight.bench import values as bench


@pytest.fixture
def small(monkeypatch):
    """Poker alone, and every side once."""
    monkeypatch.setattr(bench, "REPEATS", 1)
    monkeypatch.setattr(bench, "TRUNKS", {"leduc_poker": 7, bench.GOOFSPIEL: 2})


def rows(run, *arguments):
    code, out, err = run("bench", "values", *arguments, "--json")
    assert code == 0, err
    ((title, found),) = json.loads(out).items()
    return title, found


def test_all_that_was_asked_for_is_measured(run, small):
    pytest.importorskip("torch")
    _, found = rows(run, "--strategies", "2", "--beliefs", "3")
    data, first, second, *tensors = found
    assert data["what"].startswith("6 points of training data, goofspiel(cards=5)")
    assert (data["unit"], data["at_most"]) == (" s", 180)
    assert first["what"] == "3 belief states side by side, leduc_poker" and "goofspiel" in second["what"]
    assert first["times"] == second["times"] == 4 and first["ratio"] == pytest.approx(first["foglight"] / first["peer"])
    assert tensors[0]["what"] == "3 belief states on tensors, cpu, leduc_poker" and tensors[0]["times"] is None
    assert {row["against"] for row in tensors} == {"one by one"}


def test_a_section_alone(run, small):
    _, found = rows(run, "--section", "batch", "--beliefs", "2")
    assert [row["what"].split(",")[0] for row in found] == ["2 belief states side by side"] * 2


def test_without_torch_the_rest_is_measured(run, small, monkeypatch):
    monkeypatch.setattr(bench, "has_torch", lambda: False)
    title, found = rows(run, "--strategies", "1", "--beliefs", "2")
    assert len(found) == 3 and "without tensors; for them: pip install 'foglight[values]'" in title
    code, out, err = run("bench", "values", "--section", "tensors")
    assert (code, out, err.count("\n")) == (2, "", 1) and "install it with: pip install 'foglight[values]'" in err


def test_people_get_bars_and_whether_they_are_met(run, small):
    code, out, _ = run("bench", "values", "--section", "batch", "--beliefs", "2")
    assert code == 0 and "bar" in out and "met" in out and "4×" in out


def test_belief_states_are_of_the_public_state_with_most_entries():
    sequences, ranges = bench.belief_states("leduc_poker", 4, seed=1)
    assert len(sequences.form.weights) == 320
    assert [own.shape for own in ranges] == [(5, 4), (5, 4)]
    assert all(own.min() >= 0.0 and 0.0 < own.max() <= 1.0 for own in ranges)
    assert not np.array_equal(ranges[0], bench.belief_states("leduc_poker", 4, seed=2)[1][0])


def test_a_disagreement_stops_the_bench(small, monkeypatch):
    monkeypatch.setattr(bench, "_side_by_side", lambda sequences, ranges: [own + 1e-6 for own in ranges])
    monkeypatch.setattr(bench, "_one_by_one", lambda sequences, ranges: ranges)
    with pytest.raises(RuntimeError, match=r"values solved side by side are off by 1\.0e-06"):
        bench.batch("leduc_poker", 2, 0)


def test_what_is_exported_can_be_solved_on_tensors(run, small, tmp_path, capsys):
    pytest.importorskip("torch")
    from foglight.bench import tensor_cfr

    path = tmp_path / "beliefs.npz"
    code, out, _ = run("bench", "values", "--export", str(path), "--beliefs", "3")
    assert code == 0 and f"python -m foglight.bench.tensor_cfr {path}" in out.replace("\n", " ")
    tensor_cfr.main([str(path)])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("leduc_poker: 3 belief states") and second.startswith("goofspiel(cards=5): 3")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--section", "datas"], "did you mean 'data'?"),
        (["--beliefs", "0"], "beliefs must be at least 1"),
        (["--strategies", "0"], "strategies must be at least 1"),
    ],
)
def test_bad_input_gets_one_line(run, arguments, why):
    code, out, err = run("bench", "values", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and why in err


def test_an_export_that_cannot_be_written_gets_one_line(run, tmp_path):
    pytest.importorskip("torch")
    code, out, err = run("bench", "values", "--export", str(tmp_path / "none" / "file.npz"))
    assert (code, out, err.count("\n")) == (2, "", 1) and "cannot write" in err
