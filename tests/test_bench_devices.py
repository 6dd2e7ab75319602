"""The bench of devices: equal states are said to be equal, and others stop it."""

import json

import pytest

pytest.importorskip("torch")

from foglight.bench import devices


def test_rows_have_figures_of_both(capsys):
    devices.main(["kuhn_poker", "--device", "cpu"])
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["game"], row["method"], row["sequences"]) == ("kuhn_poker", "cfr+", 26)
    assert min(*row["compiled_ms"], *row["device_ms"]) >= 0.0 and len(row["sha256"]) == 64
    assert row["exploitability"] < 1e-3


def test_states_that_differ_are_an_error(monkeypatch):
    numbers = iter(range(4))
    monkeypatch.setattr(devices, "_digest", lambda state: str(next(numbers)))
    with pytest.raises(RuntimeError, match="kuhn_poker, cfr\\+: states differ after 100 iterations"):
        devices.measure("kuhn_poker", "cpu")


def test_a_device_that_is_not_there_gets_one_line(capsys):
    with pytest.raises(SystemExit):
        devices.main(["kuhn_poker", "--device", "cuda:99"])
    assert len(capsys.readouterr().err.splitlines()) == 1
