"""Results as tables of pandas and Arrow: the rows of `table()`, with types that do not depend on the values."""

import builtins
import subprocess
import sys

import pytest

import foglight as fl
from foglight.arena.export import COLUMNS, export
from foglight.frames import Framed

pandas = pytest.importorskip("pandas", reason="no foglight[tables]: frames are not tested")
arrow = pytest.importorskip("pyarrow", reason="no foglight[tables]: frames are not tested")


@pytest.fixture(scope="module")
def results():
    """One result of each class that can become a table."""
    state = fl.new_state("kuhn_poker")
    for name in ("jack", "queen", "check"):
        state.play(state.parse_action(name))
    return {
        "match": fl.play_match("kuhn_poker", ["random", "first_legal"], games=6, seed=1),
        "tournament": fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=4, seed=1),
        "belief": fl.belief(state, 1),
        "filter": fl.history_filter("kuhn_poker", state.observations(1), viewer=1, policy=fl.Uniform()),
        "policy": fl.solve("kuhn_poker", iterations=50).table(),
        "analysis": fl.analyse(state, "pimc(iterations=200)"),
        "review": fl.review("kuhn_poker", ["king", "queen", "bet", "call"], 1, "pimc(iterations=200)"),
        "bound": fl.exploit("kuhn_poker", "random", iterations=1, games=200, seed=0),
    }


def same(one, other):
    """Equal values; None and NaN are both a missing one."""
    missing = [value is None or value != value for value in (one, other)]
    return all(missing) or (not any(missing) and one == other)


def test_every_result_is_the_same_table_in_pandas_in_arrow_and_as_plain_data(results):
    assert {type(result) for result in results.values()} == set(Framed.__subclasses__())
    compared = 0
    for name, result in results.items():
        rows, frame, table = list(result.table()), result.to_pandas(), result.to_arrow()
        assert list(frame.columns) == table.column_names == list(result.columns_of_table), name
        assert len(rows) == len(frame) == table.num_rows > 0
        for row, ours, theirs in zip(rows, frame.to_dict("records"), table.to_pylist(), strict=True):
            assert set(row) == set(ours)
            for column, value in row.items():
                assert type(value) is list or pandas.isna(ours[column]) or same(value, ours[column]), (name, column)
                assert same(value, theirs[column]), (name, column)
                compared += 1
    assert compared > 250


def test_a_column_has_one_type_whatever_its_values(results):
    """Games that were not timed have no times; nobody ever sees an ace."""
    match = results["match"]
    untimed = fl.MatchResult(match.game, match.agents, 1, tuple(fl.Record(r.returns, r.actions) for r in match.records))
    assert untimed.to_arrow().schema == match.to_arrow().schema
    assert untimed.to_pandas()["moves"].isna().all() and str(untimed.to_pandas()["moves"].dtype) == "Int64"
    assert str(match.to_pandas()["moves"].dtype) == "int64"
    nothing = results["policy"].where("the ace")
    assert nothing.to_pandas().empty and nothing.to_pandas().dtypes.equals(results["policy"].to_pandas().dtypes)
    assert nothing.to_arrow().schema == results["policy"].to_arrow().schema


def test_frames_say_what_the_results_say(results):
    frame = results["match"].to_pandas()
    assert frame.groupby("agent")["score"].sum()["random"] == results["match"].score(0)
    histories = results["filter"].to_pandas()
    assert histories["probability"].sum() == pytest.approx(1.0) and list(histories["moves"][0][:2]) == [
        "deal jack",
        "deal queen",
    ]
    assert results["belief"].to_pandas().groupby("place")["probability"].sum().tolist() == pytest.approx([1.0, 1.0])
    policy = results["policy"].to_pandas()
    assert policy.groupby(["seat", policy["seen"].map(tuple)])["probability"].sum().tolist() == pytest.approx(
        [1.0] * 12
    )


def test_a_match_is_what_its_store_exports(tmp_path):
    from pyarrow import parquet

    match = fl.play_match("kuhn_poker", ["random", "first_legal"], games=4, seed=3, store=tmp_path / "games.sqlite")
    export(tmp_path / "games.sqlite", tmp_path / "games.parquet")
    assert parquet.read_table(tmp_path / "games.parquet") == match.to_arrow()
    assert set(COLUMNS) == set(match.table()[0])


def test_what_is_missing_is_named_with_its_extra(results, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] in ("pandas", "pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    for method in ("to_pandas", "to_arrow"):
        with pytest.raises(fl.BadInput, match=r"pip install 'foglight\[tables\]'"):
            getattr(results["belief"], method)()


def test_tables_are_loaded_when_they_are_asked_for():
    code = "import sys, foglight; print([name for name in ('pandas', 'pyarrow', 'anywidget') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
