"""CFR+ on tensors gives what the compiled solver gives, and needs nothing but PyTorch and NumPy."""

import subprocess
import sys

import numpy as np
import pytest
from test_solve_batched import random_ranges, subgame

from foglight.solving.depth_limited.batched import BatchedRegrets, form_arrays
from foglight.solving.whole.sequences import sequence_form

torch = pytest.importorskip("torch")

from foglight.bench import tensor_cfr  # noqa: E402  # needs PyTorch

DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def solved(sequences, ranges, iterations=100):
    solver = BatchedRegrets(sequences, ranges)
    solver.iterate(iterations)
    return solver


def check(sequences, ranges, device, iterations=100):
    known = solved(sequences, ranges, iterations)
    solver = tensor_cfr.TensorRegrets(form_arrays(sequences), ranges, device)
    solver.iterate(iterations)
    assert solver.iterations == iterations
    assert np.abs(solver.average() - known.average()).max() < 1e-9
    for own, other in zip(solver.values(), known.values(), strict=True):
        assert own.shape == other.shape and np.abs(own - other).max() < 1e-9


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("game", "depth"), [("leduc_poker", 7), ("goofspiel(cards=5)", 4)])
def test_tensors_agree_with_the_compiled_solver(game, depth, device):
    sequences = subgame(game, depth)
    check(sequences, random_ranges(sequences, 13), device)


@pytest.mark.parametrize("device", DEVICES)
def test_a_whole_game_with_levels_that_differ(device):
    sequences = sequence_form("leduc_poker")
    check(sequences, random_ranges(sequences, 3), device, 20)


@pytest.mark.parametrize("device", DEVICES)
def test_three_seats(device):
    pytest.importorskip("pyspiel")
    sequences = sequence_form("openspiel:kuhn_poker(players=3)")
    check(sequences, random_ranges(sequences, 4), device)


def test_single_precision_is_near_where_no_actions_tie():
    sequences = sequence_form("kuhn_poker")
    ranges = [np.full((1, 2), 0.5), np.full((1, 2), 0.7)]
    solver = tensor_cfr.TensorRegrets(form_arrays(sequences), ranges, dtype=torch.float32)
    solver.iterate(20)
    for own, other in zip(solver.values(), solved(sequences, ranges, 20).values(), strict=True):
        assert 0.0 < np.abs(own - other).max() < 1e-4


@pytest.fixture
def case():
    sequences = subgame("leduc_poker", 7)
    ranges = random_ranges(sequences, 5)
    return tensor_cfr.Case(
        "leduc", form_arrays(sequences), ranges, solved(sequences, ranges, 10).values(), iterations=10, rate=100.0
    )


def test_cases_come_back_from_a_file(case, tmp_path):
    path = tmp_path / "cases.npz"
    tensor_cfr.save_cases(path, [case, case._replace(name="again")])
    first, second = tensor_cfr.load_cases(path)
    assert (first.name, first.iterations, first.rate, second.name) == ("leduc", 10, 100.0, "again")
    assert first.arrays.keys() == case.arrays.keys()
    for key, array in case.arrays.items():
        assert np.array_equal(first.arrays[key], array)
    for own, other in zip([*first.ranges, *first.values], [*case.ranges, *case.values], strict=True):
        assert np.array_equal(own, other)


def test_a_file_is_solved_and_compared(case, tmp_path, capsys):
    path = tmp_path / "cases.npz"
    tensor_cfr.save_cases(path, [case])
    tensor_cfr.main([str(path), "--beliefs", "12"])
    out = capsys.readouterr().out
    assert out.startswith("leduc: 12 belief states on cpu, float64: ") and out.count("\n") == 1
    assert float(out.split()[-1]) < 1e-9


def test_wrong_values_are_noticed(case):
    wrong = case._replace(values=[case.values[0] + 1e-6, case.values[1]])
    with pytest.raises(RuntimeError, match=r"leduc: values on cpu are off by 1\.0e-06"):
        tensor_cfr.measure(wrong)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["{}/none.npz"], "is not a file that foglight bench values --export has written"),
        (["{}/text.npz"], "is not a file that foglight bench values --export has written"),
        (["{}/text.npz", "--beliefs", "0"], "--beliefs must be at least 1"),
        (["{}/text.npz", "--device", "abacus"], "abacus"),
    ],
)
def test_bad_input_gets_one_line(arguments, why, tmp_path, capsys):
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(SystemExit) as exited:
        tensor_cfr.main([argument.format(tmp_path) for argument in arguments])
    assert exited.value.code == 2 and why in capsys.readouterr().err.splitlines()[-1]


def test_it_runs_where_only_torch_and_numpy_are(case, tmp_path):
    path = tmp_path / "cases.npz"
    tensor_cfr.save_cases(path, [case])
    absent = ("numba", "llvmlite", "scipy", "pyspiel", "typer", "rich", "safetensors", "matplotlib")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); "
        f"from foglight.bench.tensor_cfr import main; main([{str(path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("leduc: 5 belief states on cpu")
