"""Value networks that learn by self-play, that play, and that stand at the leaves of other searches."""

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")

import foglight as fl  # noqa: E402
from foglight.agents import load_agent  # noqa: E402
from foglight.compile import kernel  # noqa: E402
from foglight.names import BadInput  # noqa: E402
from foglight.search.learned import learned  # noqa: E402
from foglight.search.leaves import evaluate  # noqa: E402
from foglight.solving.depth_limited.public import public_state  # noqa: E402
from foglight.solving.depth_limited.trunk import Trunk  # noqa: E402
from foglight.solving.particles.belief import first_particles  # noqa: E402
from foglight.solving.particles.lookahead import cut  # noqa: E402
from foglight.values.networks.encoding import encode, listed, offers_features  # noqa: E402
from foglight.values.networks.evaluator import Network  # noqa: E402
from foglight.values.networks.layout import Features  # noqa: E402
from foglight.values.networks.tensor_file import load_arrays, save_arrays  # noqa: E402
from foglight.values.networks.training import load_network  # noqa: E402
from foglight.values.self_play.experience import Plan, joined, read_points, write_points  # noqa: E402
from foglight.values.self_play.learning import Player, learn  # noqa: E402
from foglight.values.trunk.features import trunk_layout  # noqa: E402

PLAN = Plan("goofspiel(cards=4)", rounds=3, games=4, steps=5, iterations=5, base=8, width=16)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return learn(PLAN, tmp_path_factory.mktemp("learned"))


def weights(path):
    return load_arrays(path)[0]


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def test_equal_plans_give_equal_networks_with_any_number_of_processes(network, tmp_path):
    assert same(weights(learn(PLAN, tmp_path, workers=2)), weights(network))


def _learn(folder):
    learn(PLAN, folder)


# between points without a state, and points newer than the state; the other moments are before and between them
@pytest.mark.parametrize(
    "mark",
    [
        *(pytest.param(mark, marks=pytest.mark.long) for mark in ("plan.json", "state.pt")),
        "points-0000.npz",
        "points-0001.npz",
    ],
)
def test_killed_at_any_moment_it_goes_on_to_the_same_network(network, tmp_path, mark):
    process = multiprocessing.get_context("spawn").Process(target=_learn, args=(tmp_path,))
    process.start()
    end = time.monotonic() + 600
    while not (tmp_path / mark).exists() and process.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert (tmp_path / mark).exists()
    assert same(weights(learn(PLAN, tmp_path)), weights(network))


def test_more_rounds_go_on_and_other_settings_are_refused(network, tmp_path):
    folder = shutil.copytree(network.parent, tmp_path / "learned")  # other tests compare with what is there
    longer = learn(dataclasses.replace(PLAN, rounds=4), folder)
    assert longer.parent == folder and not same(weights(longer), weights(network))
    with pytest.raises(BadInput, match="other settings"):
        learn(dataclasses.replace(PLAN, games=5, rounds=4), folder)
    with pytest.raises(BadInput, match="offers no features"):
        learn(Plan("dark_hex(rows=2,cols=2)"), folder / "other")
    with pytest.raises(BadInput, match="self-play trains"):
        learn(dataclasses.replace(PLAN, kind="positional"), folder / "other")


def test_learning_lowers_the_error():
    """What the network says of late public states comes near to what they are worth."""
    # measured over many beliefs; 5e-3 is a tenth of the values' variance
    import tempfile

    losses = []
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan("goofspiel(cards=4)", rounds=3, games=40, steps=150, iterations=20, base=32, width=64)
        learn(plan, folder, progress=lambda at: losses.append(at.loss))
    assert losses[-1] < 0.02


def test_the_agent_plays_by_the_network(network):
    agent = f'particle_resolving(network="{network}",particles=20,iterations=10)'
    policy = fl.agent_policy(agent, "goofspiel(cards=4)")
    assert fl.exploitability("goofspiel(cards=4)", policy) < fl.exploitability("goofspiel(cards=4)", {})
    with pytest.raises(BadInput, match="is for goofspiel"):
        load_agent(agent).start("kuhn_poker", 0, 0)


# Encoding


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)", "liars_dice"])
def test_offered_features_say_nothing_that_is_hidden(game):
    """Public features are the same in a public state; private ones depend on what the seat knows alone."""
    trunk, hidden = cut(first_particles(game), 4), 0
    assert offers_features(fl.load_game(game))
    for leaf in trunk.leaves:
        public = leaf.public
        each = [
            public_state(public.game, public.key, public.rows[i : i + 1], np.ones(1)) for i in range(len(public.rows))
        ]
        shown = encode(each)
        assert (shown.public == shown.public[0]).all()
        for seat in (0, 1):
            own = shown.private[seat::2]
            for state in range(len(public.keys[seat])):
                rows = own[public.states[:, seat] == state]
                assert (rows == rows[0]).all()
                hidden += len(rows) > 1
    assert hidden > 5, "information states of more than one history"


def test_masses_and_pairs_are_those_of_the_public_states():
    trunk = Trunk("leduc_poker", 5)
    known = encode(trunk.public_states)
    assert len(known.pairs) == sum(len(public.rows) for public in trunk.public_states)
    assert (known.of[known.pairs[:, 0]] == known.of[known.pairs[:, 1]]).all()
    assert (known.seats[known.pairs] == [0, 1]).all()
    assert known.chance.max() == 1.0


@pytest.mark.parametrize("game", [("goofspiel(cards=4)", 4), ("leduc_poker", 5), ("liars_dice(dice=2,sides=2)", 5)])
def test_a_layout_without_padding_is_the_list_of_its_public_states(game):
    trunk = Trunk(*game)
    layout = trunk_layout(trunk)
    stored, fresh = layout.features(), listed(trunk.public_states, layout)
    for name in ("public", "private", "places", "of", "seats"):
        assert np.array_equal(getattr(stored, name), getattr(fresh, name))
    # histories that share both information states are one in a layout; the sums are the same
    shared = [np.zeros((len(fresh.of), len(fresh.of))) for _ in range(2)]
    for matrix, features in zip(shared, (stored, fresh), strict=True):
        np.add.at(matrix, tuple(features.pairs.T), features.chance)
    assert np.count_nonzero(shared[0]) >= 72
    assert np.allclose(*shared, atol=1e-6)


def test_points_are_read_as_they_were_written(tmp_path):
    player = Player(PLAN)
    several = [point for game in range(4) for point in player.play(None, 0, game)]
    assert len(several) > 2
    points = joined(several)
    assert np.array_equal(points.features.of, np.repeat(np.arange(len(several)), [len(one.ranges) for one in several]))
    assert np.array_equal(points.publics, np.arange(len(several)))
    write_points(tmp_path / "points.npz", points)
    again = read_points(tmp_path / "points.npz")
    for name in ("publics", "ranges", "targets"):
        assert np.array_equal(getattr(again, name), getattr(points, name))
    for field in dataclasses.fields(Features):
        assert np.allclose(getattr(again.features, field.name), getattr(points.features, field.name), atol=1e-7)
    assert (again.features.of[again.features.pairs[:, 0]] == again.features.of[again.features.pairs[:, 1]]).all()


# Files


def test_files_are_what_the_safetensors_library_reads_and_writes(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy", reason="the library that ours is compared with")
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2**63], np.uint64), "c": np.ones(0)}
    save_arrays(tmp_path / "ours", arrays, "about")
    assert same(numpy.load_file(tmp_path / "ours"), arrays)
    numpy.save_file(arrays, tmp_path / "theirs", {"foglight": "about"})
    found, about = load_arrays(tmp_path / "theirs")
    assert same(found, arrays)
    assert about == "about"


def test_damaged_files_are_refused_in_one_line(network, tmp_path):
    content = network.read_bytes()
    for broken in (b"", content[:100], b"\xff" * 50, json.dumps({}).encode()):
        (tmp_path / "broken").write_bytes(broken)
        with pytest.raises(BadInput, match="cannot read the network"):
            load_network(tmp_path / "broken")
    with pytest.raises(BadInput, match="cannot read the network"):
        load_network(tmp_path / "missing")


# A network as a leaf of a search


@kernel
def _evaluate(leaf, game, row, random, out):
    evaluate(leaf, game, row, random, out)


def test_a_compiled_leaf_says_what_the_network_says_of_one_history(network):
    trunk, evaluator = cut(first_particles("goofspiel(cards=4)"), 2), Network(network)
    game = trunk.sequences.tree.game
    leaf, out = learned(game, network), np.zeros(2)
    for at in trunk.leaves:
        alone = public_state(game, at.public.key, at.public.rows[:1], np.ones(1))
        evaluator.start([alone])
        _evaluate(leaf, game, alone.rows[0].copy(), np.zeros(1, np.uint64), out)
        assert out == pytest.approx(evaluator.flat_values(np.ones(2)), abs=1e-5)


@pytest.mark.parametrize("mass", [True, False])
def test_a_compiled_leaf_says_what_a_particle_network_says_with_mass_and_without(tmp_path, mass):
    plan = dataclasses.replace(PLAN, kind="particle", mass=mass, rounds=1, games=2)
    path = learn(plan, tmp_path)
    assert load_network(path).shape.mass is mass
    trunk, evaluator = cut(first_particles(plan.game), 2), Network(path)
    game = trunk.sequences.tree.game
    leaf, out, compared = learned(game, path), np.zeros(2), 0
    for at in trunk.leaves:
        for row, chance in zip(at.public.rows, at.public.chance, strict=True):
            alone = public_state(game, at.public.key, row[None], np.array([chance]))
            evaluator.start([alone])
            _evaluate(leaf, game, row.copy(), np.zeros(1, np.uint64), out)
            first, second = evaluator.flat_values(np.ones(2)) / chance
            assert abs(first - second) > 1e-6
            # the network does not know that one wins what the other loses; the leaf takes the mean of what both say
            assert out == pytest.approx([(first - second) / 2, (second - first) / 2], abs=1e-5)
            compared += 1
    assert compared == 16


def test_a_network_without_mass_is_refused_where_masses_are_added_up(tmp_path):
    with pytest.raises(BadInput, match="adds up masses"):
        learn(dataclasses.replace(PLAN, mass=False), tmp_path)


def test_networks_that_come_with_the_library_say_nothing_of_the_mass_and_have_it():
    shipped = sorted((Path(fl.__file__).parent / "values" / "networks" / "trained").glob("*.safetensors"))
    assert len(shipped) == 3
    for path in shipped:
        assert "mass" not in json.loads(load_arrays(path)[1])["shape"]
        assert load_network(path).shape.mass is True


def test_epimc_takes_a_network_for_its_leaves(network):
    agent = load_agent(f'epimc(iterations=50,leaf=value("{network}"))')
    agent.start("goofspiel(cards=4)", 0, 0)
    assert agent.act([0, 1, 2, 3]) in range(4)
    with pytest.raises(BadInput, match=r"rollout, evaluation, minimax or value\(FILE\)"):
        load_agent("epimc(leaf=guess)")
    with pytest.raises(BadInput, match="is for goofspiel"):
        load_agent(f'epimc(leaf=value("{network}"))').start("kuhn_poker", 0, 0)
