"""Features, data sets, training and networks at the leaves of a trunk."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")


from foglight.names import BadInput  # noqa: E402
from foglight.solving.depth_limited.subgame import Oracle  # noqa: E402
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk  # noqa: E402
from foglight.solving.whole.plans import FULLY_MIXED, KEPT, PURE, random_behaviour, realised  # noqa: E402
from foglight.values.networks.datasets import FORMAT, DatasetRequest, load_dataset  # noqa: E402
from foglight.values.networks.evaluator import Network  # noqa: E402
from foglight.values.networks.layout import normalised, units  # noqa: E402
from foglight.values.networks.tensor_file import load_arrays, save_arrays  # noqa: E402
from foglight.values.networks.training import Training, TrainingSettings, load_network  # noqa: E402
from foglight.values.trunk.features import trunk_layout  # noqa: E402
from foglight.values.trunk.generation import Maker, generate_dataset  # noqa: E402

torch.set_num_threads(1)

REQUEST = DatasetRequest("goofspiel(cards=4)", 4, strategies=12, iterations=50, per_shard=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generate_dataset(REQUEST, folder)
    return folder


@pytest.fixture(scope="module")
def data(folder):
    return load_dataset(folder)


# Features


@pytest.mark.parametrize(
    ("game", "depth", "publics", "places"), [("leduc_poker", 7, 54, 12), ("goofspiel(cards=5)", 4, 9, 40)]
)
def test_the_papers_trunks_have_54_and_9_public_states(game, depth, publics, places):
    # Leduc: six cards for each seat; Goofspiel after two rounds: 5 * 4 ordered bids for each seat
    layout = trunk_layout(Trunk(game, depth))
    assert len(layout.public) == publics
    assert layout.num_places == places


@pytest.mark.plain
@pytest.mark.parametrize("game", [("leduc_poker", 7), ("goofspiel(cards=5)", 4), ("liars_dice(dice=1,sides=3)", 4)])
def test_perfect_recall_features_tell_all_information_states_apart(game):
    layout = trunk_layout(Trunk(*game))
    assert len(np.unique(layout.public, axis=0)) == len(layout.public)
    for private, mask in zip(layout.private, layout.mask, strict=True):
        assert len(np.unique(private[mask], axis=0)) == mask.sum()


def test_private_features_do_not_repeat_what_is_public():
    # Goofspiel: a bid of each of 5 cards in each of 2 rounds, for each of 2 seats; and the seat
    layout = trunk_layout(Trunk("goofspiel(cards=5)", 4))
    assert layout.private.shape[2] == 5 * 2 * 2 + 2
    assert (layout.private[layout.mask].sum(1) == 2 + 1).all()
    assert layout.public.shape[1] == 3 * 2  # who took each of two prizes


def test_imperfect_recall_forgets_the_order_of_bids():
    layout = trunk_layout(Trunk("goofspiel(cards=5)", 4), "imperfect")
    assert layout.private.shape[2] == 5 + 5 + 2  # cards left, the card bid, the seat
    assert (layout.private[layout.mask][:, :10].sum(1) == 3).all()
    assert len(np.unique(layout.private[0][layout.mask[0]], axis=0)) < layout.mask[0].sum()
    hands = trunk_layout(Trunk("leduc_poker", 7), "imperfect").private
    assert hands.shape[2] == 6 + 2


def test_a_game_without_imperfect_features_says_so():
    with pytest.raises(BadInput, match="offers no imperfect-recall features"):
        trunk_layout(Trunk("battleship(width=2,height=2,ships=[1])", 3), "imperfect")


# Data sets


def test_random_strategies_are_pure_mixed_and_between():
    sequences = Trunk("goofspiel(cards=5)", 4).sequences
    form, random = sequences.form, np.random.default_rng(0)
    support = []
    for _ in range(200):
        behaviour = random_behaviour(sequences, random)
        assert np.allclose(np.add.reduceat(behaviour[form.begins[0] : form.ends[0]], [0]), 1)
        support.append(np.count_nonzero(behaviour[form.begins[0] : form.ends[0]]))
    # five actions, each kept with probability p, uniform between 0.4 and 1, 0.85 of the time; where none is, one is
    p = np.linspace(*KEPT, 10_001)
    pure = PURE + 0.85 * np.mean(5 * p * (1 - p) ** 4 + (1 - p) ** 5)
    full = FULLY_MIXED + 0.85 * np.mean(p**5)
    # 200 draws: the bounds are five standard errors away
    assert abs(np.mean(np.array(support) == 1) - pure) < 5 * np.sqrt(pure / 200)
    assert abs(np.mean(np.array(support) == 5) - full) < 5 * np.sqrt(full / 200)


def test_targets_are_the_oracles_in_other_units(data):
    maker = Maker(data.request)
    oracle = Oracle(50)
    oracle.start(maker.trunk.public_states)
    random = np.random.default_rng([0, 0])
    plan = realised(maker.trunk.sequences, random_behaviour(maker.trunk.sequences, random))
    ranges = maker.trunk.leaf_ranges(plan)
    whole, publics = maker.layout.packed(ranges), np.arange(9)
    assert np.allclose(data.ranges[:9], normalised(data.layout, whole, publics), atol=1e-6)
    worth = maker.layout.packed(oracle.values(ranges))
    came = units(data.layout, whole, publics) > 0  # else nobody comes, and the value is 0 under every range
    assert np.allclose((data.targets[:9] * units(data.layout, whole, publics))[came], worth[came], atol=1e-5)


def test_ranges_add_up_to_one_or_zero(data):
    for seat in (0, 1):
        sums = (data.ranges * (data.layout.seats[data.publics] == seat)).sum(1)
        assert np.all((abs(sums - 1) < 1e-6) | (sums == 0))
    assert len(data) == 12 * 9


def test_processes_and_interruptions_change_nothing(folder, tmp_path):
    def killed(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_dataset(REQUEST, tmp_path, progress=killed)
    with pytest.raises(BadInput, match="not finished: 2 of 3 shards"):
        load_dataset(tmp_path)
    generate_dataset(REQUEST, tmp_path, workers=2)
    for path in folder.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_damaged_and_mismatched_files_are_refused(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert len(load_dataset(tmp_path, "goofspiel(cards=4)")) == 108
    with pytest.raises(BadInput, match="is for goofspiel"):
        load_dataset(tmp_path, "leduc_poker")
    with pytest.raises(BadInput, match="holds another data set"):
        generate_dataset(dataclasses.replace(REQUEST, seed=1), tmp_path)
    shard = tmp_path / "shard-0001.npz"
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(BadInput, match=r"shard-0001.npz is damaged"):
        load_dataset(tmp_path)
    generate_dataset(REQUEST, tmp_path)  # makes the damaged shard again
    assert len(load_dataset(tmp_path)) == 108
    shard.unlink()
    with pytest.raises(BadInput, match="cannot read"):
        load_dataset(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": FORMAT}))
    with pytest.raises(BadInput, match=r"cannot read .*manifest.json"):
        load_dataset(tmp_path)


# Training


@pytest.mark.parametrize("kind", ["positional", "particle"])
def test_training_goes_on_from_a_checkpoint_to_the_same_bits(data, tmp_path, kind):
    settings = TrainingSettings(kind, base=12, width=24)
    whole = Training(data, settings)
    whole.advance(7)
    first = Training(data, settings)
    first.advance(3)
    first.save(tmp_path / "checkpoint")
    second = Training(data, settings)
    second.resume(tmp_path / "checkpoint")
    second.advance(4)
    for one, other in zip(whole.network.parameters(), second.network.parameters(), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(BadInput, match="other settings or other data"):
        Training(data, TrainingSettings(kind, base=12, width=24, seed=1)).resume(tmp_path / "checkpoint")
    (tmp_path / "checkpoint").write_bytes(b"no")
    with pytest.raises(BadInput, match="cannot read the checkpoint"):
        second.resume(tmp_path / "checkpoint")


def test_a_network_learns_and_helps_a_trunk(tmp_path):
    # three cards after one round: so small that 60 strategies nearly show all there is
    data = generate_dataset(
        DatasetRequest("goofspiel(cards=3)", 2, strategies=60, iterations=50, per_shard=30), tmp_path
    )
    training = Training(data, TrainingSettings("particle", base=16, width=32))
    before = training.whole_loss()
    training.advance(600)
    assert training.whole_loss() < before / 4
    trunk = Trunk("goofspiel(cards=3)", 2)
    judge = TrunkJudge(trunk)
    learned = solve_trunk(trunk, Network(training.trained()), 50)
    assert judge.exploitability(learned) < judge.exploitability({}) / 2


@pytest.mark.parametrize("mass", [True, False])
@pytest.mark.parametrize("kind", ["positional", "particle", "concatenation"])
def test_a_file_gives_the_values_of_the_network_it_was_made_from(data, tmp_path, kind, mass):
    training = Training(data, TrainingSettings(kind, base=12, width=24, mass=mass))
    training.advance(2)
    training.trained().save(tmp_path / "net.safetensors")
    stored = load_network(tmp_path / "net.safetensors")
    assert stored.about["game"] == data.request.game and stored.about["steps"] == 2
    assert stored.shape.mass is mass
    trunk = Trunk("goofspiel(cards=4)", 4)
    plan = realised(trunk.sequences, random_behaviour(trunk.sequences, np.random.default_rng(3)))
    answers = []
    for network in (Network(training.trained()), Network(tmp_path / "net.safetensors")):
        network.start(trunk.public_states)
        answers.append(data.layout.packed(network.values(trunk.leaf_ranges(plan))))
    assert (answers[0] == answers[1]).all()
    assert abs(answers[0]).max() > 0


def test_a_file_from_before_the_choice_has_mass(data, tmp_path):
    path, answers = tmp_path / "net.safetensors", []
    trained = Training(data, TrainingSettings("particle", base=12, width=24)).trained()
    trained.save(path)
    arrays, text = load_arrays(path)
    header = json.loads(text)
    assert header["shape"].pop("mass") is True
    save_arrays(path, arrays, json.dumps(header))
    trunk = Trunk("goofspiel(cards=4)", 4)
    ranges = trunk.leaf_ranges(realised(trunk.sequences, random_behaviour(trunk.sequences, np.random.default_rng(3))))
    for network in (Network(trained), Network(path)):
        network.start(trunk.public_states)
        answers.append(data.layout.packed(network.values(ranges)))
    assert (answers[0] == answers[1]).all() and abs(answers[0]).max() > 0


@pytest.mark.parametrize("mass", [True, False])
def test_values_scale_with_the_other_seats_range(data, mass):
    training = Training(data, TrainingSettings("particle", base=12, width=24, mass=mass))
    trunk, network = Trunk("goofspiel(cards=4)", 4), Network(training.trained())
    network.start(trunk.public_states)
    ranges = trunk.leaf_ranges(realised(trunk.sequences, random_behaviour(trunk.sequences, np.random.default_rng(3))))
    half = [[own[0], own[1] / 2] for own in ranges]
    for full, less in zip(network.values(ranges), network.values(half), strict=True):
        assert np.allclose(full[0], 2 * less[0], atol=1e-6) and np.allclose(full[1], less[1], atol=1e-6)


def test_a_network_refuses_another_game(data, tmp_path):
    trained = Training(data, TrainingSettings("positional", width=8)).trained()
    with pytest.raises(BadInput, match="is for goofspiel"):
        Network(trained).start(Trunk("goofspiel(cards=3)", 2).public_states)
    with pytest.raises(BadInput, match="does not know all"):
        Network(trained).start(Trunk("goofspiel(cards=4)", 2).public_states)
    (tmp_path / "net").write_bytes(b"no")
    with pytest.raises(BadInput, match="cannot read the network"):
        load_network(tmp_path / "net")


def test_training_needs_no_compiler():
    blocked = (
        "import sys; sys.modules['numba'] = sys.modules['pyspiel'] = None; import foglight.values.networks.training"
    )
    subprocess.run([sys.executable, "-c", blocked], check=True)
