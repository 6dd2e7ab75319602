"""Studies of value networks: what was published of linear targets, and that trunks are judged."""

import pytest

pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

from foglight.studies import linear_targets, trunk_values


def test_projection_learns_linear_targets_and_concatenation_does_not():
    assert min(linear_targets.work("projection", 0, 3000)["losses"]) < 1e-9
    assert min(linear_targets.work("concatenation, 1 layer", 0, 3000)["losses"]) > 1e-6


def test_a_trunk_with_a_network_is_judged_between_the_oracle_and_worse():
    game = "goofspiel(cards=5)"
    bounds = trunk_values.work(game)
    assert bounds["oracle"] < 0.02 < 1.0 < bounds["uniform"]
    runs = {kind: trunk_values.work(game, kind, strategies=20, marks=(2, 200)) for kind in trunk_values.KINDS}
    for run in runs.values():
        assert run["steps"] == [2, 200] and run["loss"][1] < run["loss"][0]
        assert min(run["exploitability"]) > bounds["oracle"]
    results = {"bounds": bounds | {"game": game}} | runs
    leduc = {name: result | {"game": "leduc_poker"} for name, result in results.items()}
    table = trunk_values.table(results | {f"leduc {name}": result for name, result in leduc.items()})
    assert "| `goofspiel(cards=5)` | particle | 180 |" in table
