"""Value networks: sets in, values out, whatever the order; and a particle network that is a positional one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

from foglight.names import BadInput  # noqa: E402
from foglight.solving.depth_limited.trunk import Trunk  # noqa: E402
from foglight.values.networks.architectures import KINDS, Particle, Positional, shape_for  # noqa: E402
from foglight.values.networks.points import Lessons, Points  # noqa: E402
from foglight.values.trunk.features import trunk_layout  # noqa: E402

torch.set_num_threads(1)

WITHOUT = [kind for kind in KINDS if kind != "histories"]  # networks that can go without the mass
ALL = [(kind, True) for kind in KINDS] + [(kind, False) for kind in WITHOUT]


@pytest.fixture(scope="module")
def layout():
    return trunk_layout(Trunk("goofspiel(cards=4)", 4))


def some_points(layout, publics, seed=0):
    """Points of these public states with random ranges; targets are numbers that tell information states apart."""
    publics = np.array(publics)
    size = layout.mask[publics].sum()
    ranges = np.random.default_rng(seed).random(size).astype(np.float32)
    return Points(layout.features(), publics, ranges, np.arange(size, dtype=np.float32))


def doubled(lesson):
    """The lesson in double precision."""

    def double(part):
        return part.double() if torch.is_tensor(part) and part.is_floating_point() else part

    return type(lesson)(type(lesson.batch)(*map(double, lesson.batch)), *map(double, lesson[1:]))


def some_lesson(layout, publics, seed=0):
    points = some_points(layout, publics, seed)
    (lesson,) = Lessons(points).of([np.arange(len(points))])
    return doubled(lesson)


def values_of(network, lesson):
    bases = network.bases(lesson.public, lesson.private)
    return network(lesson.batch, bases if lesson.rows is None else bases[lesson.rows]).detach()


def network_of(layout, kind, seed=1, mass=True):
    torch.manual_seed(seed)
    return shape_for(layout, kind, mass=mass).build().double()


def values_plainly(network, layout, public, ranges):
    """The formulas of the module, for one public state and its dense matrix of shared chance."""
    there = layout.mask[public]
    shown = torch.tensor(layout.public[public]).double()
    private = torch.tensor(layout.private[public][there]).double()
    shared = torch.tensor(layout.shared[public][there][:, there]).double()
    ranges = torch.tensor(ranges).double()
    mass = shared @ ranges if network.mass else torch.ones(len(ranges)).double()
    if isinstance(network, Positional):
        places = layout.places[public][there]
        given = torch.zeros(network.places).double()
        for place, share in zip(places.tolist(), ranges, strict=True):
            given[place] += share
        return (network.regression(torch.cat([given, shown]))[places] * mass).detach()
    values = []
    features = [torch.cat([shown, own]) for own in private]
    bases = [network.change_of_basis(own) for own in features]
    context = sum(share * base for share, base in zip(ranges, bases, strict=True))
    regressed = network.regression(torch.cat([context, shown]))
    for j, base in enumerate(bases):
        if network.faces is not None:
            faces = [network.faces(own) for own in features]
            sign = 1.0 if layout.seats[public][there][j] == 0 else -1.0
            terms = (shared[j, k] * ranges[k] * (regressed @ (faces[j] * faces[k])) for k in range(len(bases)))
            values.append(sign * sum(terms))
        elif network.join is not None:
            values.append(network.join(torch.cat([base, regressed]))[0] * mass[j])
        else:
            values.append(regressed @ base * mass[j])
    return torch.stack(values).detach()


@pytest.mark.parametrize(("kind", "mass"), ALL)
def test_values_are_those_of_the_formulas(layout, kind, mass):
    """Public states of different sizes in one batch, some of them twice, beside each alone."""
    publics = [0, 3, 8, 3, 4]
    assert len(set(layout.mask[publics].sum(1))) > 1
    network, lesson = network_of(layout, kind, mass=mass), some_lesson(layout, publics)
    values, compared = values_of(network, lesson), 0
    for number, public in enumerate(publics):
        own = lesson.batch.of == number
        plain = values_plainly(network, layout, public, lesson.batch.ranges[own].numpy())
        assert plain.abs().max() > 1e-6
        assert torch.allclose(values[own], plain, atol=1e-13)
        compared += len(plain)
    assert compared == len(values) == layout.mask[publics].sum()


@pytest.mark.parametrize("kind", KINDS)
def test_values_follow_their_information_states_in_any_order(layout, kind):
    network, lesson = network_of(layout, kind), some_lesson(layout, [0, 3, 8])
    batch = lesson.batch
    order = torch.randperm(len(batch.of), generator=torch.Generator().manual_seed(5))
    places = torch.argsort(order)
    mixed = batch._replace(
        of=batch.of[order],
        places=batch.places[order],
        ranges=batch.ranges[order],
        signs=batch.signs[order],
        owners=places[batch.owners],
        others=places[batch.others],
    )
    private, rows = lesson.private[order], lesson.rows
    assert rows is None
    found = values_of(network, lesson._replace(batch=mixed, public=lesson.public[order], private=private))
    assert torch.allclose(found, values_of(network, lesson)[order], atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_asked_for_are_those_of_all(layout, kind):
    network, lesson = network_of(layout, kind), some_lesson(layout, [0, 3, 8])
    batch, whole = lesson.batch, values_of(network, lesson)
    asked = torch.arange(1, len(batch.of), 3)
    numbers = torch.full((len(batch.of),), -1)
    numbers[asked] = torch.arange(len(asked))
    kept = numbers[batch.owners] >= 0
    few = batch._replace(
        asked=asked,
        signs=batch.signs[asked],
        owners=numbers[batch.owners][kept],
        others=batch.others[kept],
        chance=batch.chance[kept],
    )
    found = values_of(network, lesson._replace(batch=few))
    assert len(found) == len(asked) > 10
    assert torch.allclose(found, whole[asked], atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_belief_is_a_full_one_with_zeros(layout, kind):
    network, lesson = network_of(layout, kind), some_lesson(layout, [1])
    batch = lesson.batch
    kept = torch.arange(0, len(batch.of), 2)
    there = torch.zeros(len(batch.of), dtype=torch.bool).index_fill(0, kept, True)
    full = values_of(network, lesson._replace(batch=batch._replace(ranges=batch.ranges * there)))
    numbers, histories = there.cumsum(0) - 1, there[batch.owners] & there[batch.others]
    few = batch._replace(
        of=batch.of[kept],
        places=batch.places[kept],
        ranges=batch.ranges[kept],
        signs=batch.signs[kept],
        owners=numbers[batch.owners[histories]],
        others=numbers[batch.others[histories]],
        chance=batch.chance[histories],
    )
    sparse = values_of(network, lesson._replace(batch=few, public=lesson.public[kept], private=lesson.private[kept]))
    assert torch.allclose(sparse, full[kept], atol=1e-13)
    assert sparse.abs().max() > 1e-6


def test_what_one_seat_wins_the_other_loses_if_histories_are_valued(layout):
    network, lesson = network_of(layout, "histories"), some_lesson(layout, [0, 4, 8])
    batch = lesson.batch
    worth = values_of(network, lesson) * batch.ranges
    won, lost = (torch.zeros(3).double().index_add(0, batch.of, worth * (batch.signs == sign)) for sign in (1, -1))
    assert won.abs().min() > 1e-6
    assert torch.allclose(won, -lost, atol=1e-13)


@pytest.mark.parametrize("kind", WITHOUT)
def test_values_scale_with_the_mass_unless_the_network_goes_without(layout, kind):
    """What was likely anyway gets three times as likely; ranges, which networks see normalised, stay as they are."""
    lesson, compared = some_lesson(layout, [0, 4, 8]), 0
    likelier = lesson._replace(batch=lesson.batch._replace(chance=3.0 * lesson.batch.chance))
    for mass in (True, False):
        network = network_of(layout, kind, mass=mass)
        before, after = values_of(network, lesson), values_of(network, likelier)
        assert before.abs().min() > 1e-6
        assert torch.allclose(after, 3.0 * before if mass else before, atol=1e-13)
        compared += len(before)
    assert compared == 2 * len(lesson.batch.of) > 60
    outright = values_of(network_of(layout, kind, mass=False), lesson)
    assert torch.allclose(values_of(network_of(layout, kind), lesson), outright * lesson.batch.mass(), atol=1e-13)


def test_lessons_are_the_points_that_were_asked_for(layout):
    """Batches of several sizes, prepared together; in the last one each base is made once and taken several times."""
    points = some_points(layout, [5, 0, 3, 8, 3, 3, 7])
    order = [np.array([1, 6, 1]), np.array([4]), np.arange(7), np.arange(7).repeat(20)]
    sizes = layout.mask[points.publics].sum(1)
    ends = np.cumsum(sizes)
    network, shared = network_of(layout, "particle"), 0
    for which, lesson in zip(order, map(doubled, Lessons(points).of(order)), strict=True):
        # targets number the information states of all points
        wanted = np.concatenate([np.arange(ends[i] - sizes[i], ends[i]) for i in which])
        assert (lesson.targets.numpy() == wanted).all()
        plain = [
            values_plainly(network, layout, points.publics[i], points.ranges[ends[i] - sizes[i] : ends[i]])
            for i in which
        ]
        assert torch.allclose(values_of(network, lesson), torch.cat(plain), atol=1e-13)
        shared += lesson.rows is not None
    assert shared == 1


def test_a_network_that_adds_up_masses_cannot_go_without(layout):
    with pytest.raises(BadInput, match="positional, particle, concatenation"):
        shape_for(layout, "histories", mass=False)


@pytest.mark.parametrize("cut", [("goofspiel(cards=4)", 4), ("leduc_poker", 5)], ids=str)
def test_theorem_4_a_particle_network_that_equals_a_positional_one(cut):
    layout = trunk_layout(Trunk(*cut))
    positional = network_of(layout, "positional")
    publics, private = layout.public.shape[1], layout.private.shape[2]
    particle = Particle(publics, private, base=layout.num_places, width=5 * (layout.num_places + publics)).double()
    particle.regression.load_state_dict(positional.regression.state_dict())
    particle.change_of_basis = one_hot_of_places(layout)
    lesson = some_lesson(layout, list(range(len(layout.public))))
    assert torch.allclose(values_of(particle, lesson), values_of(positional, lesson), atol=1e-9)


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
