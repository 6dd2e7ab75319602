"""Networks trained side by side learn what each would learn alone."""

import numpy as np
import pytest

import foglight as fl

torch = pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

from foglight.values.networks.stack import Stack, load_stack  # noqa: E402

KINDS = ["positional", "particle", "concatenation", "histories"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    requests = [fl.DatasetRequest("leduc_poker", depth=7, strategies=2, seed=seed) for seed in range(2)]
    return [fl.generate_dataset(request, folder / str(request.seed)) for request in requests]


@pytest.mark.parametrize(
    ("kind", "mass"), [*((kind, True) for kind in KINDS), ("particle", False), ("positional", False)]
)
def test_a_stack_learns_what_each_network_learns_alone(data, kind, mass):
    settings = [fl.TrainingSettings(kind, seed=seed, batch=40, mass=mass) for seed in (3, 5)]
    stack = Stack(data, settings)
    alone = [fl.Training(one, how) for one, how in zip(data, settings, strict=True)]
    compared = 0
    for steps in (1, 2, 4):  # an epoch has three steps, the last of 28 points
        losses = stack.advance(steps)
        for number, training in enumerate(alone):
            assert losses[number] == pytest.approx(training.advance(steps), rel=2e-4)
            weights = training.network.state_dict()
            for name, stacked in stack.weights.items():
                np.testing.assert_allclose(stacked[number].detach(), weights[name], rtol=0, atol=3e-4)
                compared += stacked[number].numel()
    assert compared > 100_000 and losses[0] != losses[1]


def test_a_stack_goes_on_where_it_stopped_and_its_networks_are_read(data, tmp_path):
    settings = [fl.TrainingSettings("histories", seed=seed, batch=40) for seed in (3, 5)]
    whole, half = Stack(data, settings), Stack(data, settings)
    whole.advance(5)
    half.advance(2)
    half.save_checkpoint(tmp_path / "x.pt")
    again = Stack(data, settings)
    again.resume(tmp_path / "x.pt")
    again.advance(3)
    whole.save(tmp_path / "x.safetensors")
    networks = load_stack(tmp_path / "x.safetensors")
    assert [trained.about["settings"]["seed"] for trained in networks] == [3, 5]
    for number, trained in enumerate(networks):
        for name, weights in trained.network.state_dict().items():
            assert torch.equal(weights, whole.weights[name][number])
            assert torch.equal(weights, again.weights[name][number])
    trunk = fl.Trunk("leduc_poker", 7)
    assert fl.solve_trunk(trunk, fl.Network(networks[0]), 2).keys is not None


def test_what_cannot_be_stacked_is_refused(data):
    with pytest.raises(fl.BadInput, match="seeds alone"):
        Stack(data, [fl.TrainingSettings("particle"), fl.TrainingSettings("positional")])
    with pytest.raises(fl.BadInput, match="one data set"):
        Stack(data, [fl.TrainingSettings("particle")])
