"""How layers of worlds follow each other, beside listing histories; thinning beside its definition."""

from collections import Counter
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy import int64, uint64
from test_layers import explained
from test_tracker import reach

import foglight as fl
from foglight.compile import implements
from foglight.names import Between
from foglight.policies import Biased
from foglight.randomness import generator
from foglight.rules import NOTHING, game, num_words
from foglight.worlds import expansion
from foglight.worlds.expansion import Expansion, chosen, thin

pytestmark = pytest.mark.plain


def by_threshold(weights, target):
    """The threshold c at which the sum of min(w / c, 1) is the target, by bisection."""
    low, high = 0.0, sum(weights)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sum(min(w / middle, 1.0) for w in weights) > target else (low, middle)
    return high


def test_thinning_is_by_its_definition():
    rng, thinned = np.random.default_rng(3), 0
    for _ in range(200):
        weights = rng.random(rng.integers(3, 12)) ** rng.integers(1, 6)
        target, offset = int(rng.integers(1, len(weights))), float(rng.random())
        kept, new, threshold = thin(weights, target, offset)
        assert threshold == pytest.approx(by_threshold(weights.tolist(), target))
        carried, wanted = offset, []
        for i, weight in enumerate(weights):
            if weight > threshold:
                wanted.append(i)
            else:
                before, carried = np.floor(carried + 1e-12), carried + weight / threshold
                if np.floor(carried + 1e-12) > before:
                    wanted.append(i)
        assert kept.tolist() == wanted[:target] and len(wanted) <= target + 1
        assert new == pytest.approx(np.maximum(weights[kept], threshold))
        thinned += len(kept) < len(weights)
    assert thinned > 150
    kept, new, threshold = thin(np.zeros(10), 4, 0.5)
    assert len(kept) == 4 and new.tolist() == [2.5] * 4 and threshold == 2.5


def weights_of(states, seat, policy):
    found = Counter()
    for state in states:
        found[state.world.tobytes()] += reach(state, seat, policy)
    return dict(found)


CASES = [("phantom_ttt", (0, 0, 4, 1), 0), ("phantom_ttt", (0, 0, 4), 1), ("leduc_poker", (0, 3, 1), 0)]


@pytest.mark.parametrize("room", [1, 256])
@pytest.mark.parametrize("policy", [None, Biased(0.7, 3)])
@pytest.mark.parametrize(("game", "moves", "viewer"), [*CASES, ("openspiel:phantom_ttt", (0, 0, 4), 1)])
def test_layers_follow_as_histories_do(game, moves, viewer, policy, room, monkeypatch):
    monkeypatch.setattr(expansion, "_FIRST_ROOM", room)
    state, start = fl.new_state(game), fl.new_state(game)
    for move in moves:
        state.play(move)
    boxed = not isinstance(start.world, np.ndarray)
    rows = [start.world] if boxed else start.world[None]
    how = Expansion(start.game, viewer, policy, 0 if boxed else start.world.shape[0])
    layer, before = how.close(rows, np.ones(1), 10**6, generator(1)), 0
    for i, observation in enumerate([None, *state.observations(viewer)]):
        if observation is not None:
            layer = how.follow(layer.rows, layer.weights, observation, 10**6, generator(1))
        states = explained(game, state.observations(viewer)[:i], viewer)
        found = {row.tobytes(): weight for row, weight in zip(layer.rows, layer.weights, strict=True)}
        assert found == pytest.approx(weights_of(states, viewer, policy))
        assert len(found) == len(layer.rows) and not layer.thinned
        turns = {s.world.tobytes(): s.player == viewer for s in states}
        assert {row.tobytes(): bool(t) for row, t in zip(layer.rows, layer.turns, strict=True)} == turns
        onward = {s.world.tobytes(): len(s.actions()) for s in states if s.player not in (viewer, fl.TERMINAL)}
        assert layer.tried >= sum(onward.values()) + (before if observation is not None else 0)
        own = {s.world.tobytes() for s in states if s.player == viewer}  # where the action is known, only that is tried
        before = sum(onward.values()) + len(own)
    assert len(chosen(layer.rows, np.array([0]))) == 1


def test_only_the_own_action_is_tried_and_nothing_unnoticed_is_looked_for_in_dark_chess():
    state = fl.new_state("dark_chess(repetition=ignore)")
    tracker, before = fl.Tracker(state.game, 1, positions=True), 0
    tried = []
    for move in ("e4", "e5", "Nf3", "Nc6", "Bc4", "a6"):
        moves, worlds = len(state.actions()), len(tracker)
        state.play(state.parse_action(move))
        tracker.observe(state.observations(1)[-1])
        tried.append((moves, worlds, tracker.tried - before))
        before = tracker.tried
    for moves, worlds, transitions in tried[::2]:
        assert worlds <= transitions < moves + worlds
    assert tried[4][1] >= 10 and all(20 * worlds <= transitions for _, worlds, transitions in tried[1::2])


@pytest.mark.parametrize(
    ("game", "moves", "viewer"),
    [
        ("phantom_ttt", (0, 1, 4, 2), 1),
        ("phantom_ttt", (0, 0, 4, 1, 2), 0),
    ],
)
def test_worlds_of_one_position_add_up_their_weights(game, moves, viewer):
    """Told apart by the words of the game alone, as when keys do not matter: histories that end alike are one world."""
    state, start = fl.new_state(game), fl.new_state(game)
    for move in moves:
        state.play(move)
    width = int(num_words(start.game))
    how = Expansion(start.game, viewer, None, width)
    layer, merged = how.close(start.world[None], np.ones(1), 10**6, generator(1)), 0
    for i, observation in enumerate([None, *state.observations(viewer)]):
        if observation is not None:
            layer = how.follow(layer.rows, layer.weights, observation, 10**6, generator(1))
        states = explained(game, state.observations(viewer)[:i], viewer)
        wanted = Counter(s.world[:width].tobytes() for s in states)
        found = {row[:width].tobytes(): w for row, w in zip(layer.rows, layer.weights, strict=True)}
        assert found == dict(wanted) and len(found) == len(layer.rows)
        merged += len(states) - len(found)
    assert merged > 0


@game
class Stairs(NamedTuple):
    """Seat 1 climbs two steps or one at a time, which seat 0 does not notice until it is asked at the top."""

    height: Annotated[int, Between(2, 9)] = 6


@implements(Stairs)
def num_players(game):
    return 2


@implements(Stairs, "num_words")
def _words(game):
    return 1


@implements(Stairs)
def num_actions(game):
    return 3


@implements(Stairs)
def player(game, world):
    if int64(world[0]) > game.height:
        return fl.TERMINAL
    return 0 if int64(world[0]) == game.height else 1


@implements(Stairs)
def legal(game, world, out):
    out[0], out[1] = 2, 1  # two steps first, so that one step twice comes late
    if int64(world[0]) + 2 > game.height:
        out[0] = 1
        return 1
    return 2


@implements(Stairs)
def step(game, world, action):
    world[0] = uint64(int64(world[0]) + action)


@implements(Stairs)
def observe(game, before, action, after, viewer):
    return NOTHING if viewer != 1 and int64(before[0]) < game.height else action


@implements(Stairs)
def returns(game, world, out):
    out[0] = out[1] = 0.0


@pytest.mark.parametrize("room", [1, 256])
@pytest.mark.parametrize("height", [2, 3, 6, 9])
def test_weight_that_comes_late_is_passed_on(height, room, monkeypatch):
    """As many ways lead up i steps as Fibonacci says: 1, 1, 2, 3, 5, 8, ..."""
    monkeypatch.setattr(expansion, "_FIRST_ROOM", room)
    start = fl.new_state(Stairs(height)).world
    layer = Expansion(Stairs(height), 0, None, 1).close(start[None], np.ones(1), 10**6, generator(1))
    ways = [1, 1]
    while len(ways) <= height:
        ways.append(ways[-1] + ways[-2])
    assert {int(row[0]): weight for row, weight in zip(layer.rows, layer.weights, strict=True)} == dict(enumerate(ways))
    assert [int(row[0]) for row, turn in zip(layer.rows, layer.turns, strict=True) if turn] == [height]


@pytest.mark.parametrize("game", ["phantom_ttt", "openspiel:phantom_ttt"])
def test_a_thinned_layer_expects_the_true_weights(game):
    """60 worlds and more thinned to 8, 400 times; each mean is within 6 standard errors, a false alarm once in 10^6."""
    viewer, policy = 0, Biased(0.6, 2)
    state, start = fl.new_state(game), fl.new_state(game)
    for move in (0, 0, 4, 1):
        state.play(move)
    boxed = not isinstance(start.world, np.ndarray)
    how = Expansion(start.game, viewer, policy, 0 if boxed else start.world.shape[0])
    layer = how.close([start.world] if boxed else start.world[None], np.ones(1), 10**6, generator(1))
    layer = how.follow(layer.rows, layer.weights, state.observations(viewer)[0], 10**6, generator(1))
    last = state.observations(viewer)[1]
    whole = how.follow(layer.rows, layer.weights, last, 10**6, generator(1))
    names = {row.tobytes(): i for i, row in enumerate(whole.rows)}
    repeats = 400 if not boxed else 150
    samples = np.zeros((repeats, len(names)))
    for seed in range(repeats):
        part = how.follow(layer.rows, layer.weights, last, 8, generator(seed))
        assert part.thinned and 0 < len(part.rows) <= 8
        for row, weight, turn in zip(part.rows, part.weights, part.turns, strict=True):
            samples[seed, names[row.tobytes()]] = weight
            assert turn == whole.turns[names[row.tobytes()]]
    assert len(names) > 40
    errors = samples.std(axis=0) / np.sqrt(repeats)
    assert (abs(samples.mean(axis=0) - whole.weights) <= 6 * errors + 1e-12)[errors > 0].all()
    total = samples.sum(axis=1)
    assert abs(total.mean() - whole.weights.sum()) <= 6 * total.std() / np.sqrt(repeats) + 1e-12
