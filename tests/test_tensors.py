"""Whole games on a device: the same states to the last bit as the compiled solver, on the CPU through PyTorch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foglight as fl
from foglight.games import load_game
from foglight.policies import Biased, Uniform
from foglight.solving import solver
from foglight.solving.factored.form import FactoredForm
from foglight.solving.factored.regret import FactoredRegrets
from foglight.solving.whole.regret import METHODS, Regrets
from foglight.solving.whole.sequences import sequence_form

torch = pytest.importorskip("torch")

from foglight.solving.tensors import device as devices  # noqa: E402
from foglight.solving.tensors.plain import PlainForm, plain_form  # noqa: E402
from foglight.solving.tensors.regret import TensorRegrets  # noqa: E402

TREES = ["kuhn_poker", "leduc_poker", "liars_dice(dice=1,sides=4)", "goofspiel(cards=4)"]
BOARDS = ["rows=2,cols=2,tries=heard", "rows=2,cols=3,tries=silent", "rows=2,cols=3,tries=silent,abrupt=yes"]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.fixture
def factored(monkeypatch):
    """All games that factor get their factored form, as if their trees were too large."""
    monkeypatch.setattr(solver, "fits", lambda game, memory: False)


def compared(compiled, plain, method, device, iterations=100):
    """Run both solvers and compare their states; returns how many numbers were compared."""
    tensors = TensorRegrets(plain, method, device)
    for n in (1, 2, iterations - 3):  # in pieces, since iterations have weights
        compiled.iterate(n)
        tensors.iterate(n)
    expected, actual = compiled.state(), tensors.state()
    assert expected.keys() == actual.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, err_msg=name)
    average = compiled.average()
    average = np.concatenate([own[0] for own in average]) if isinstance(average, tuple) else average
    assert abs(np.concatenate(tensors.average()) - average).max() < 1e-6
    assert tensors.exploitability() == pytest.approx(solver._exploitability(compiled), abs=1e-12)
    return sum(array.size for array in expected.values())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("game", TREES)
def test_a_sequence_form_is_solved_as_by_compiled_code(game, device):
    form = sequence_form(game)
    numbers = [compared(Regrets(form, method), plain_form(form), method, device) for method in METHODS]
    assert numbers == [4 * form.num_sequences] * len(METHODS)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("board", BOARDS)
def test_a_factored_form_is_solved_as_by_compiled_code(board, device):
    form = FactoredForm(load_game(f"dark_hex({board})"))
    numbers = [compared(FactoredRegrets(form, method), plain_form(form), method, device) for method in METHODS]
    assert numbers == [4 * sum(len(side.actions) for side in form.sides)] * len(METHODS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu_without_triton_comes_close(monkeypatch):
    from foglight.solving.tensors import products, steps

    monkeypatch.setattr(products, "steps_for", lambda device: steps)
    form = sequence_form("leduc_poker")
    solving = TensorRegrets(plain_form(form), "cfr+", "cuda")
    solving.iterate(1000)
    assert solving.exploitability() < 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_more_seats_than_two(device):
    """Terms with the plans of several other seats."""
    pytest.importorskip("pyspiel")
    form = sequence_form("openspiel:kuhn_poker(players=3)")
    numbers = [compared(Regrets(form, method), plain_form(form), method, device, 30) for method in METHODS]
    assert numbers == [4 * form.num_sequences] * len(METHODS)


def test_solve_on_a_device_gives_the_same_policy_and_resumes_either_way(tmp_path):
    whole = fl.solve("leduc_poker", 60)
    there = fl.solve("leduc_poker", 60, device="cpu")
    assert (there.probabilities == whole.probabilities).all() and there.interval == whole.interval
    half = fl.solve("leduc_poker", 30, device="cpu", checkpoint=tmp_path / "p.npz")
    assert (fl.solve("leduc_poker", 60, resume=half).probabilities == whole.probabilities).all()
    again = fl.solve("leduc_poker", 60, device="cpu", checkpoint=tmp_path / "p.npz")
    assert (again.probabilities == whole.probabilities).all()
    seen = []
    fl.solve("kuhn_poker", 5000, target=0.01, device="cpu", progress=lambda *news: seen.append(news))
    assert fl.solve("kuhn_poker", 5000, target=0.01, device="cpu").iterations == 50


def test_a_factored_game_on_a_device_gives_the_same_policy(factored):
    game = "dark_hex(rows=2,cols=3,tries=silent,abrupt=yes)"
    here, there = fl.solve(game, 40), fl.solve(game, 40, device="cpu")
    assert there.method == "sapcfr+" and (there.probabilities == here.probabilities).all()
    assert there.exploitability == here.exploitability


@pytest.mark.parametrize("game", ["leduc_poker", *(f"dark_hex({board})" for board in BOARDS)])
def test_policies_are_measured_as_by_compiled_code(game, request):
    """Also policies that break the symmetry of a board."""
    if "hex" in game:
        request.getfixturevalue("factored")
    policies = [Uniform(), Biased(0.6, 3), Biased(1.0, 5), fl.solve(game, 5)]
    for policy in policies:
        for measure in (fl.exploitability, fl.nash_conv):
            assert measure(game, policy, device="cpu") == pytest.approx(measure(game, policy), abs=1e-12)
        assert fl.policy_values(game, policy, device="cpu") == pytest.approx(fl.policy_values(game, policy), abs=1e-12)


def test_policies_are_measured_where_symmetries_do_not_commute():
    """Phantom Tic-Tac-Toe has turns and reflections; this policy is symmetric under none of them."""
    form = solver.form_of("phantom_ttt")
    assert isinstance(form, FactoredForm) and len(form.group.images) == 8
    policy = Biased(0.6, 3)
    expected = fl.exploitability("phantom_ttt", policy)
    assert fl.exploitability("phantom_ttt", policy, device="cpu") == pytest.approx(expected, abs=1e-12)
    assert expected != pytest.approx(fl.exploitability("phantom_ttt", Uniform(), device="cpu"), abs=1e-3)


WITHOUT_NUMBA = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "llvmlite", "scipy", "typer", "rich"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
from foglight.solving.tensors.__main__ import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("game", ["kuhn_poker", "dark_hex(rows=2,cols=3,tries=silent,abrupt=yes)"])
def test_a_form_is_prepared_solved_without_numba_and_loaded(game, tmp_path, run, request):
    if "hex" in game:
        request.getfixturevalue("factored")
    form, saved = tmp_path / "game.form", tmp_path / "game.npz"
    code, out, _ = run("solve", game, "--prepare", form)
    assert code == 0 and "foglight.solving.tensors" in out
    command = [sys.executable, "-c", WITHOUT_NUMBA, form, "--device", "cpu", "--save", saved, "--iterations"]
    for iterations in ("40", "100"):  # the second run goes on
        done = subprocess.run(
            [*map(str, command), iterations], capture_output=True, text=True, timeout=120, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    assert "100 iterations" in done.stdout and "value of the game" in done.stdout
    with pytest.raises(fl.BadInput, match="no policy yet; make it with: foglight solve"):
        fl.Solved.load(saved)
    code, out, _ = run("solve", game, "--iterations", "100", "--save", saved, "--json")
    assert code == 0 and json.loads(out)["iterations"] == 100
    policy, expected = fl.Solved.load(saved), fl.solve(game, 100)
    assert (policy.probabilities == expected.probabilities).all() and policy.complete
    done = subprocess.run([*map(str, command), "50"], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == "100 iterations are done already; ask for more than that\n"


def test_a_file_holds_the_whole_form(tmp_path):
    for form in (sequence_form("leduc_poker"), FactoredForm(load_game(f"dark_hex({BOARDS[2]})"))):
        plain = plain_form(form)
        plain.save(tmp_path / "a.form")
        again = PlainForm.load(tmp_path / "a.form")
        count = 0
        for part, other in zip(_parts(plain), _parts(again), strict=True):
            for array, same in zip(part, other, strict=True):
                np.testing.assert_array_equal(same, array)
                count += 1
        assert count >= 12 and (again.game, again.zero_sum) == (plain.game, True)


def _parts(plain):
    return [*plain.choices, *plain.entries, *plain.factors, *([plain.coupling] if plain.coupling else [])]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"device": "gpu"}, "device must be cpu, cuda, or cuda:1 for the second GPU, not 'gpu'"),
        ({"device": "cuda:x"}, "device must be cpu, cuda"),
        ({"device": "cpu", "method": "lp"}, "lp does not run on a device; leave the device out, or take cfr,"),
        ({"device": "cpu", "method": "external"}, "external does not run on a device"),
    ],
)
def test_bad_devices_get_a_line(arguments, line):
    with pytest.raises(fl.BadInput, match=line):
        fl.solve("kuhn_poker", 10, **arguments)


def test_missing_gpus_and_memory_get_a_line(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for measure in (fl.solve, lambda game, **how: fl.exploitability(game, Uniform(), **how)):
        with pytest.raises(fl.BadInput, match="no CUDA device here; solve without a device, or foglight solve GAME"):
            measure("kuhn_poker", device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(fl.BadInput, match="no cuda:2: this machine has 2 CUDA devices"):
        devices.check_device("cuda:2")

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB.\nSee documentation")

    monkeypatch.setattr("foglight.solving.tensors.regret.TensorForm", full)
    with pytest.raises(fl.BadInput, match="kuhn_poker does not fit into the memory of cpu; solve without it"):
        fl.solve("kuhn_poker", 10, device="cpu")
    (tmp_path / "no.form").write_bytes(b"nothing")
    with pytest.raises(fl.BadInput, match="not a form that foglight solve --prepare has written"):
        PlainForm.load(tmp_path / "no.form")


def test_missing_pytorch_gets_a_line(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'torch' else real(name, *rest)\n"
        "import foglight as fl\n"
        "try:\n    fl.solve('kuhn_poker', 10, device='cuda')\n"
        "except fl.BadInput as error:\n    print(error)\n"
    )
    root = str(Path(fl.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=root)
    assert done.stdout == "solving on a device needs PyTorch; install it with: pip install 'foglight[values]'\n"
