"""`foglight train` and `foglight train-trunk`: networks by self-play and for one trunk, and errors for bad input."""

import json

import pytest

pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")


def test_self_play_writes_a_network_and_goes_on(run, tmp_path):
    arguments = ["train", "kuhn_poker", "--folder", str(tmp_path), "--games", "2", "--steps", "2", "--depth", "3"]
    arguments += ["--base", "4", "--width", "8", "--workers", "1", "--json"]
    first = json.loads(run(*arguments, "--rounds", "1")[1])
    assert first["game"] == "kuhn_poker"
    assert (tmp_path / "network.safetensors").exists()
    again = json.loads(run(*arguments, "--rounds", "2")[1])
    assert again["network"] == first["network"]
    assert (tmp_path / "points-0001.npz").exists()


def test_a_trunk_is_learned_and_judged(run, tmp_path):
    arguments = ["train-trunk", "goofspiel(cards=4)", "4", "--strategies", "30", "--sparse", "0.3"]
    found = json.loads(run(*arguments, "--steps", "40", "--folder", str(tmp_path), "--workers", "1", "--json")[1])
    assert 0.0 <= found["exploitability"] < 2.0
    assert found["loss"] > 0.0


def test_a_network_for_a_trunk_can_go_without_the_mass(run, tmp_path):
    from foglight.values.networks.training import load_network

    arguments = ["train-trunk", "goofspiel(cards=4)", "4", "--strategies", "3", "--steps", "2", "--workers", "1"]
    masses = []
    for extra in ([], ["--no-mass"]):
        folder = str(tmp_path / str(len(extra)))
        found = json.loads(run(*arguments, *extra, "--folder", folder, "--json")[1])
        masses.append(load_network(found["network"]).shape.mass)
    assert masses == [True, False]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["train", "hearts"], "two seats"),
        (["train", "dark_hex"], "offers no features"),
        (["train", "kuhn_poker", "--rounds", "0"], "rounds must be at least 1"),
        (["train", "kuhn_poker", "--kind", "magic"], "self-play trains"),
        (["train", "kuhn_poker", "--no-mass"], "without mass there are positional, particle, concatenation"),
        (["train", "kuhn_poker", "--device", "cuda:7"], "CUDA"),
        (["train", "kuhn_poker", "--device", "tpu"], "cpu or cuda"),
        (["train-trunk", "goofspiel(cards=4)", "4", "--kind", "histories", "--no-mass"], "adds up masses"),
        (["train-trunk", "goofspiel(cards=4)", "4", "--recall", "none"], "perfect or imperfect"),
        (["train-trunk", "goofspiel(cards=4)", "0"], "depth must be at least 1"),
        (["train-trunk", "goofspiel(cards=4)", "4", "--strategies", "0"], "strategies must be at least 1"),
        (["train-trunk", "goofspiel(cards=4)", "4", "--sparse", "1.5"], "sparse must be from 0 to 1"),
    ],
)
def test_bad_input_gets_one_line(run, tmp_path, arguments, line):
    code, _, err = run(*arguments, "--folder", str(tmp_path / "out"))
    complaints = [text for text in err.splitlines() if not text.startswith("compiling ")]
    assert code == 2
    assert len(complaints) == 1
    assert line in complaints[0]
