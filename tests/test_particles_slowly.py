"""Particles beside slow definitions: which histories are kept, and what is found anew from observations."""

import math

import numpy as np
import pytest
from oracles import histories
from test_particles import after_a_round

import foglight as fl
from foglight.rules import NOTHING, PUBLIC, key
from foglight.solving.particles import belief as module
from foglight.solving.particles.belief import first_particles, part, regenerated, thinned
from foglight.worlds.regeneration import BeliefLost

pytestmark = pytest.mark.plain


def shares(numbers):
    total = sum(numbers)
    return [number / total for number in numbers] if total > 0.0 else [1.0 / len(numbers)] * len(numbers)


def slowly_thinned(particles, most, random, seat=None, own_key=0):
    """The places of the histories that stay: see `thinned`."""
    public, n = particles.public, len(particles)
    weights = [public.chance[i] * math.prod(particles.ranges[s][public.states[i, s]] for s in (0, 1)) for i in range(n)]
    worst = [0] * n
    for other in (0, 1):
        size = len(public.keys[other])
        scores = shares([sum(weights[i] for i in range(n) if public.states[i, other] == k) for k in range(size)])
        if seat == 1 - other:
            mine = [i for i in range(n) if public.keys[seat][public.states[i, seat]] == own_key]
            given = shares([sum(weights[i] for i in mine if public.states[i, other] == k) for k in range(size)])
            scores = [a + b for a, b in zip(scores, given, strict=True)]
        noise = random.gumbel(size=size)
        drawn = [math.log(score + 1e-3 * max(scores)) + noise[k] for k, score in enumerate(scores)]
        if seat == other:
            drawn[public.keys[seat].tolist().index(own_key)] = math.inf
        order = sorted(range(size), key=lambda k: -drawn[k])
        for i in range(n):
            worst[i] = max(worst[i], order.index(public.states[i, other]))
    level = min(worst) + 1
    for wider in range(level, 3 * math.isqrt(most) + 1):
        if sum(w < wider for w in worst) <= most:
            level = wider
    return [i for i in range(n) if worst[i] < level][:most]


@pytest.mark.parametrize(
    ("most", "sparse"),
    [(1, False), (4, False), (9, False), (20, False), (30, False), (40, False), (1, True), (4, True)],
)
def test_thinning_keeps_what_its_definition_says(most, sparse):
    particles = after_a_round(depth=4)
    assert len(particles) > 40
    particles.ranges[0][1] = 0.0  # somebody never plays so
    if sparse:  # each information state of a seat goes with one of the other
        met, few = [set(), set()], []
        for i, states in enumerate(particles.public.states.tolist()):
            if states[0] not in met[0] and states[1] not in met[1]:
                few.append(i)
                met[0].add(states[0])
                met[1].add(states[1])
        particles = part(particles, np.array(few))
        assert len(particles) >= 8
    kept_sizes = set()
    for seed in range(12):
        seat = (None, 0, 1)[seed % 3]
        own = 0 if seat is None else int(particles.public.keys[seat][seed % len(particles.public.keys[seat])])
        found = thinned(particles, most, np.random.default_rng(seed), seat, own)
        wanted = slowly_thinned(particles, most, np.random.default_rng(seed), seat, own)
        assert np.array_equal(found.public.rows, particles.public.rows[wanted])
        assert found.weights == pytest.approx(particles.weights[wanted])
        kept_sizes.add(len(found))
    assert max(kept_sizes) <= most


def test_all_are_kept_if_there_are_no_more():
    particles = after_a_round("goofspiel(cards=4)")
    assert thinned(particles, len(particles), np.random.default_rng(1)) is particles
    assert len(thinned(particles, len(particles) - 1, np.random.default_rng(1))) < len(particles)


def test_the_first_particle_is_the_start():
    first, start = first_particles("kuhn_poker"), fl.new_state("kuhn_poker")
    assert len(first) == 1 and first.weights.tolist() == [1.0]
    assert first.public.key == int(key(start.game, start.world, PUBLIC))
    assert np.array_equal(first.public.rows, [start.world])


def worlds_of(game, observations, viewer, mover=None):
    """{world: how likely it is under uniform play, given what a viewer saw}."""
    found = {}
    for state in histories(game):
        if state.observations(viewer) == observations and mover in (None, state.player):
            odds, replayed = 1.0, fl.new_state(game)
            for action in state.history():
                odds *= dict(replayed.chance())[action] if replayed.player < 0 else 1 / len(replayed.actions())
                replayed.play(action)
            found[state.world.tobytes()] = found.get(state.world.tobytes(), 0.0) + odds
    return {world: odds / sum(found.values()) for world, odds in found.items()}


@pytest.mark.parametrize(("game", "moves"), [("kuhn_poker", (0, 1, 0)), ("goofspiel(cards=3)", (1, 1, 0))])
def test_with_room_for_all_everything_that_the_public_holds_possible_is_found(game, moves):
    """What the seat itself holds possible weighs as that, the rest as the public thinks of it."""
    state = fl.new_state(game)
    for move in moves:
        state.play(state.actions()[move])
    seat = state.player
    found = regenerated(state.game, seat, state.observations(seat), 1000, 0)
    own = worlds_of(game, state.observations(seat), seat, seat)
    public = worlds_of(game, state.observations(PUBLIC), PUBLIC)
    assert {row.tobytes() for row in found.public.rows} == set(public) > set(own)
    for row, weight in zip(found.public.rows, found.public.chance, strict=True):
        assert weight == pytest.approx(own.get(row.tobytes(), public[row.tobytes()]))
    assert found.public.key == int(key(state.game, state.world, PUBLIC))
    assert all((own_range == 1.0).all() for own_range in found.ranges)


def test_half_of_them_are_what_the_seat_holds_possible():
    state = fl.new_state("goofspiel(cards=5)")
    for move in (1, 2, 3):
        state.play(state.actions()[move])
    for most in (1, 2, 5, 8):
        found = regenerated(state.game, 1, state.observations(1), most, 3)
        mine = [key(state.game, row, 1) == key(state.game, state.world, 1) for row in found.public.rows]
        assert sum(mine) >= min(4, most - most // 2)  # seat 0 may have bid 4 cards after its first
        assert len(mine) <= most
    assert not all(mine)


@pytest.mark.parametrize("lost", ["unexplained", "no world"])
def test_without_the_public_they_are_all_what_the_seat_holds_possible(lost, monkeypatch):
    state = fl.new_state("goofspiel(cards=3)")
    for move in (1, 1, 0):
        state.play(state.actions()[move])
    seen, followed = [], module._shown

    def shown(*arguments):  # the first of two observations has no explanation
        seen.append(arguments)
        return None if len(seen) == 1 else followed(*arguments)

    def dying(game, viewer, most, seed):
        tracker = followed_by(game, viewer, most, seed)
        if viewer == PUBLIC:
            monkeypatch.setattr(tracker, "observe", die)
        return tracker

    def die(observation):
        raise BeliefLost("nothing is left")

    if lost == "unexplained":
        monkeypatch.setattr(module, "_shown", shown)
    else:
        followed_by = module._tracker
        monkeypatch.setattr(module, "_tracker", dying)
    seat = state.player
    own = worlds_of("goofspiel(cards=3)", state.observations(seat), seat, seat)
    assert len(state.observations(seat)) >= 2 and len(own) >= 2
    found = regenerated(state.game, seat, state.observations(seat), len(own), 0)
    assert {row.tobytes() for row in found.public.rows} == set(own)


def test_what_the_public_sees_when_a_seat_sees_something():
    game = fl.load_game("kuhn_poker")
    tracker = module._tracker(game, 0, 10, 0)
    state = fl.new_state(game)
    for move in (0, 1):
        before = len(state.observations(0))
        state.play(move)
        for observation in state.observations(0)[before:]:
            assert module._shown(game, tracker.worlds(turn_only=False), observation, 0) == NOTHING
            tracker.observe(observation)
    for move in (0, 1):
        told, public = len(state.observations(0)), len(state.observations(PUBLIC))
        state.play(move)
        (observation,), (shown,) = state.observations(0)[told:], state.observations(PUBLIC)[public:]
        assert module._shown(game, tracker.worlds(turn_only=False), observation, 0) == shown
        tracker.observe(observation)
    assert module._shown(game, tracker.worlds(turn_only=False), 12345, 0) is None


def test_drawing_is_without_replacement_and_can_be_empty():
    random = np.random.default_rng(1)
    assert module._drawn(np.zeros(0), 3, random).tolist() == []
    assert sorted(module._drawn(np.array([0.5, 0.0, 0.5]), 5, random).tolist()) == [0, 1, 2]
    assert sorted(module._drawn(np.array([1.0, 1.0, 2.0]), 2, random).tolist()) in ([0, 1], [0, 2], [1, 2])
    counts = np.zeros(4)
    for _ in range(400):
        counts[module._drawn(np.array([0.0, 0.1, 0.3, 0.6]), 1, random)] += 1
    # standard errors of at most 10; five of them
    assert counts[0] == 0 and counts == pytest.approx([0, 40, 120, 240], abs=50)
