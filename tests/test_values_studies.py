"""Studies of value networks: what was published of linear targets, and that trunks, whole and sparse, are judged."""

import inspect

import numpy as np
import pytest

pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

from foglight.rules import PUBLIC, key
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge
from foglight.solving.particles.belief import part
from foglight.solving.solver import solve
from foglight.studies import linear_targets, particle_play, sparse_trunks, trunk_mass, trunk_values

GOOFSPIEL, LEDUC = "goofspiel(cards=5)", "leduc_poker"


def cell(kind, marks, strategies, mass=True):
    """A small cell of a study."""
    stack = {"game": GOOFSPIEL, "kind": kind, "mass": mass, "first": 0, "runs": 1, "run": 0}
    return stack | {"marks": marks, "strategies": strategies}


def both(results):
    """The results of one game as those of both, for tables and pictures."""
    leduc = {f"leduc {name}": result | {"game": LEDUC} for name, result in results.items()}
    return {name: result | {"game": GOOFSPIEL} for name, result in results.items()} | leduc


@pytest.mark.parametrize(
    ("steps", "low", "high"), [(1500, 0.01, 0.5), pytest.param(3000, 1e-9, 1e-6, marks=pytest.mark.long)]
)
def test_projection_learns_linear_targets_and_concatenation_does_not(steps, low, high):
    assert min(linear_targets.work("projection", 0, steps)["losses"]) < low
    assert min(linear_targets.work("concatenation, 1 layer", 0, steps)["losses"]) > high


def test_a_trunk_with_a_network_is_judged_between_the_oracle_and_worse(tmp_path):
    folder = tmp_path / "trunk_values"
    bounds = trunk_values.work(folder, game=GOOFSPIEL, kind=trunk_values.BOUNDS)
    assert bounds["oracle"] < 0.02 < 1.0 < bounds["uniform"]
    runs = {kind: trunk_values.work(folder, **cell(kind, (2, 80), 10)) for kind in trunk_values.KINDS}
    for run in runs.values():
        assert run["steps"] == [2, 80] and run["loss"][1] < run["loss"][0]
        assert min(run["exploitability"]) > bounds["oracle"]
    table = trunk_values.table(both({"bounds": bounds} | runs))
    assert "| `goofspiel(cards=5)` | particle | 90 |" in table
    assert "| `leduc_poker` | histories | 90 |" in table
    again = trunk_values.work(folder, **cell("particle", (2, 80), 10))  # from the networks that are kept
    assert again == runs["particle"] and len(list((tmp_path / "trunks" / "networks").glob("*"))) == 6


def test_networks_learn_with_the_mass_and_without(tmp_path):
    runs = {
        f"{kind} {mass}": trunk_mass.work(tmp_path / "trunk_mass", **cell(kind, (2, 80), 10, mass))
        for kind in trunk_mass.KINDS
        for mass in (True, False)
    }
    for run in runs.values():
        assert run["loss"][1] < run["loss"][0]
    for kind in trunk_mass.KINDS:
        assert runs[f"{kind} True"]["loss"] != runs[f"{kind} False"]["loss"]
    table = trunk_mass.table(both(runs))
    assert "| `goofspiel(cards=5)` | particle | no | 80 |" in table and "| `leduc_poker` | positional | yes |" in table
    trunk_mass.draw(both(runs), tmp_path / "picture.png")


def test_an_equilibrium_may_be_in_several_public_states_after_the_first_moves():
    found = sparse_trunks.belief(GOOFSPIEL)
    assert found.weights.sum() == pytest.approx(1.0)
    # both bid four different cards with some probability, 5 most often: 4 * 4 histories
    assert len(found) == 16 and found.weights.max() == pytest.approx(0.784**2, abs=0.01)


def test_a_forest_of_public_states_is_judged_as_they_are_one_by_one():
    everything, judge = sparse_trunks.belief(GOOFSPIEL), sparse_trunks.judge(GOOFSPIEL)
    assert judge.exploitability(solve(GOOFSPIEL, method="lp")) == pytest.approx(0.0, abs=1e-8)
    known = np.array([key(everything.public.game, row, PUBLIC) for row in everything.public.rows])
    alone = []
    for which in set(known.tolist()):  # the first round won, lost or tied
        particles = part(everything, np.flatnonzero(known == which))
        alone.append(TrunkJudge(Trunk(GOOFSPIEL, 2, particles.public, particles.ranges)).exploitability({}))
    assert len(alone) == 3
    assert judge.exploitability({}) == pytest.approx(sum(alone), abs=1e-8)
    assert judge.exploitability({}, 1000) == pytest.approx(sum(alone), abs=1e-3)


def test_sparse_trunks_degrade_gracefully_with_the_histories_they_lack(tmp_path):
    fractions = (0.0, 0.3, 1.0)
    folder = tmp_path / "sparse_trunks"
    exact = sparse_trunks.work(folder, fractions, game=GOOFSPIEL, kind="oracle")
    assert exact["histories"] == [1, 5, 16]
    few, some, whole = exact["exploitability"]
    assert whole < 0.01 < some < 0.1 < few < 0.42 < exact["uniform"]
    runs = {kind: sparse_trunks.work(folder, fractions, **cell(kind, (200,), 20)) for kind in sparse_trunks.KINDS}
    assert min(run["exploitability"][-1] for run in runs.values()) > whole
    results = both({"oracle": exact} | runs)
    assert "| `goofspiel(cards=5)` | how many (reach) | 1 (62%) | 5 (93%) | 16 (100%) |" in sparse_trunks.table(results)
    sparse_trunks.draw(results, tmp_path / "picture.png")


def test_the_particle_algorithm_is_measured_and_meets_others(tmp_path):
    cells = particle_play.cells(True, 0)
    uniform = particle_play.work(**cells["leduc_poker, uniform"] | {"game": "kuhn_poker"})
    assert uniform["exploitability"] == pytest.approx(11 / 24)
    fast = {"game": "kuhn_poker", "iterations": 20, "network": "none"}
    several = particle_play.work(**cells["leduc_poker, all"] | fast)
    assert 0.0 < several["exploitability"] < uniform["exploitability"]
    short = {"games": 2, "agent": "particle_resolving(iterations=10,network=none)"}
    met = particle_play.work(**cells["goofspiel(cards=5), random"] | short)
    assert 0.0 <= met["score"] <= met["games"] == 2
    results = both({"uniform": uniform, "all": several, "random": met})
    table = particle_play.table(results)
    assert "| `leduc_poker` | all |" in table and "| `goofspiel(cards=5)` | `random` |" in table
    particle_play.draw(results, tmp_path / "picture.png")


def test_the_particle_algorithm_counts_when_every_match_has_enough_games():
    cells = particle_play.cells(False, 0)
    results, compared = {}, 0
    for name, arguments in cells.items():
        assert particle_play.enough(cells, results) == (compared == 13 + 8)
        compared += 1
        if arguments["what"] == particle_play.EXPLOITABILITY:
            results[name] = {**arguments, "exploitability": 0.1}
        elif name.endswith("games 1 to 50"):
            results[name] = {**arguments, "score": 20.0, "ms": [1.0, None], "overruns": [0, None]}
        else:
            break  # later games of all matches come after the first ones
        particle_play.table(results), particle_play.claims(results)
    assert compared == 13 + 8 + 1
    name, later = next((name, one) for name, one in cells.items() if name.endswith("games 51 to 100"))
    results[name] = {**later, "score": 50.0, "ms": [3.0, None], "overruns": [1, None]}
    stored = particle_play.kept(results)
    joined = stored["goofspiel(cards=5), ismcts"]
    assert (joined["score"], joined["games"], joined["ms"], joined["spans"]) == (70.0, 100, [2.0, None], [[1, 100]])
    assert len(stored) == 13 + 8 and stored["goofspiel(cards=5), oos"]["spans"] == [[1, 50]]
    done = set().union(*(particle_play.covered(one, result, cells) for one, result in stored.items()))
    assert done == {name for name in results if "games" in name}


def test_every_cell_of_a_study_can_be_worked_out():
    for study in (trunk_values, trunk_mass, sparse_trunks):
        for quick in (True, False):
            for arguments in study.cells(quick, 0).values():
                inspect.signature(study.work).bind(folder=None, **arguments)
