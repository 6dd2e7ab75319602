"""Value networks: sets in, values out, whatever the order; and a particle network that is a positional one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

from foglight.names import BadInput  # noqa: E402
from foglight.solving.depth_limited.trunk import Trunk  # noqa: E402
from foglight.values.networks.architectures import KINDS, Batch, Particle, Positional, Tables, shape_for  # noqa: E402
from foglight.values.trunk.features import trunk_layout  # noqa: E402

torch.set_num_threads(1)

WITHOUT = [kind for kind in KINDS if kind != "histories"]  # networks that can go without the mass


@pytest.fixture(scope="module")
def layout():
    return trunk_layout(Trunk("goofspiel(cards=4)", 4))


def some_batch(layout, publics, seed=0):
    tables = Tables(layout, dtype=torch.float64)
    ranges = torch.tensor(np.random.default_rng(seed).random((len(publics), layout.seats.shape[1])))
    return tables.batch(torch.tensor(publics), ranges)


def network_of(layout, kind, seed=1, mass=True):
    torch.manual_seed(seed)
    return shape_for(layout, kind, mass=mass).build().double()


def reordered(batch, order):
    return Batch(batch.public, *(part[:, order] for part in batch[1:-1]), batch.shared[:, order][:, :, order])


@pytest.mark.parametrize("kind", KINDS)
def test_values_follow_their_information_states_in_any_order(layout, kind):
    network, batch = network_of(layout, kind), some_batch(layout, [0, 3, 8])
    order = torch.randperm(batch.ranges.shape[1], generator=torch.Generator().manual_seed(5))
    assert torch.allclose(network(reordered(batch, order)), network(batch)[:, order], atol=1e-13)


@pytest.mark.parametrize(("kind", "mass"), [(kind, True) for kind in KINDS] + [(kind, False) for kind in WITHOUT])
def test_padding_changes_nothing(layout, kind, mass):
    network, batch = network_of(layout, kind, mass=mass), some_batch(layout, [2])
    width = batch.ranges.shape[1]
    wider = Batch(
        batch.public,
        torch.cat([batch.private, batch.private[:, :3]], 1),
        torch.cat([batch.places, batch.places[:, :3]], 1),
        *(torch.cat([part, torch.zeros(1, 3, dtype=torch.float64)], 1) for part in batch[3:-1]),
        torch.nn.functional.pad(batch.shared, (0, 3, 0, 3)),
    )
    found = network(wider)
    assert torch.allclose(found[:, :width], network(batch), atol=1e-13)
    assert (found[:, width:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_belief_is_a_full_one_with_zeros(layout, kind):
    network, batch = network_of(layout, kind), some_batch(layout, [1])
    kept = torch.arange(0, batch.ranges.shape[1], 2)
    ranges = torch.zeros_like(batch.ranges)
    ranges[:, kept] = batch.ranges[:, kept]
    sparse = Tables(layout, dtype=torch.float64).batch(torch.tensor([1]), ranges)
    full, batch = network(sparse), batch._replace(mass=sparse.mass)
    assert torch.allclose(network(reordered(batch, kept)), full[:, kept], atol=1e-13)


def test_what_one_seat_wins_the_other_loses_if_histories_are_valued(layout):
    network, batch = network_of(layout, "histories"), some_batch(layout, [0, 4, 8])
    won = (network(batch) * batch.ranges * (batch.signs == 1)).sum(1)
    lost = (network(batch) * batch.ranges * (batch.signs == -1)).sum(1)
    assert won.abs().min() > 1e-6
    assert torch.allclose(won, -lost, atol=1e-13)


@pytest.mark.parametrize("kind", WITHOUT)
def test_values_scale_with_the_mass_unless_the_network_goes_without(layout, kind):
    """What was likely anyway gets three times as likely; ranges, which networks see normalised, stay as they are."""
    batch = some_batch(layout, [0, 4, 8])
    likelier = batch._replace(mass=3.0 * batch.mass, shared=3.0 * batch.shared)
    there, compared = batch.mask == 1.0, 0
    for mass in (True, False):
        network = network_of(layout, kind, mass=mass)
        before, after = network(batch)[there], network(likelier)[there]
        assert before.abs().min() > 1e-6
        assert torch.allclose(after, 3.0 * before if mass else before, atol=1e-13)
        compared += len(before)
    assert compared == 2 * int(batch.mask.sum()) > 60
    outright = network_of(layout, kind, mass=False)(batch)
    assert torch.allclose(network_of(layout, kind)(batch), outright * batch.mass, atol=1e-13)


def test_a_network_that_adds_up_masses_cannot_go_without(layout):
    with pytest.raises(BadInput, match="positional, particle, concatenation"):
        shape_for(layout, "histories", mass=False)


def test_beliefs_of_different_sizes_share_a_batch(layout):
    network, batch = network_of(layout, "particle"), some_batch(layout, list(range(len(layout.public))))
    assert len(set(layout.mask.sum(1))) > 1
    alone = [network(some_batch_row(batch, i)) for i in range(len(batch.public))]
    assert torch.allclose(network(batch), torch.cat(alone), atol=1e-13)


def some_batch_row(batch, i):
    return Batch(*(part[i : i + 1] for part in batch))


@pytest.mark.parametrize("cut", [("goofspiel(cards=4)", 4), ("leduc_poker", 5)], ids=str)
def test_theorem_4_a_particle_network_that_equals_a_positional_one(cut):
    layout = trunk_layout(Trunk(*cut))
    positional = network_of(layout, "positional")
    publics, private = layout.public.shape[1], layout.private.shape[2]
    particle = Particle(publics, private, base=layout.num_places, width=5 * (layout.num_places + publics)).double()
    particle.regression.load_state_dict(positional.regression.state_dict())
    particle.change_of_basis = one_hot_of_places(layout)
    batch = some_batch(layout, list(range(len(layout.public))))
    assert torch.allclose(particle(batch), positional(batch), atol=1e-9)


def one_hot_of_places(layout):
    """One linear layer that turns the features of every information state into the one-hot of its place."""
    at = layout.mask
    features = np.concatenate([np.repeat(layout.public[:, None], at.shape[1], 1)[at], layout.private[at]], axis=1)
    wanted = np.eye(layout.num_places)[layout.places[at]]
    with_bias = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    weights = np.linalg.lstsq(with_bias, wanted, rcond=None)[0]
    layer = torch.nn.Linear(features.shape[1], layout.num_places).double()
    if abs(with_bias @ weights - wanted).max() < 1e-9:
        layer.weight.data, layer.bias.data = torch.tensor(weights[:-1].T), torch.tensor(weights[-1])
        return layer
    # features that are 0 or 1 are independent only after one layer of ReLU: the product of all that are private
    kinds = np.zeros((layout.num_places, features.shape[1]))
    kinds[layout.places[at]] = features
    kinds[:, : layout.public.shape[1]] = 0.0
    layer.weight.data = torch.tensor(2.0 * kinds)
    layer.weight.data[kinds == 0.0] = -1.0
    layer.weight.data[:, : layout.public.shape[1]] = 0.0
    layer.bias.data = torch.tensor(1.0 - 2.0 * kinds.sum(1))
    return torch.nn.Sequential(layer, torch.nn.ReLU())


def test_positional_widths_are_the_papers():
    network = Positional(public=6, places=40)
    linear = [part for part in network.regression if isinstance(part, torch.nn.Linear)]
    assert [part.in_features for part in linear] == [46, 230, 230, 230, 230]
    assert linear[-1].out_features == 40
