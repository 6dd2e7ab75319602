"""Particles: bounded parts of public belief states, trunks below them, and the agent that plays by them."""

import numpy as np
import pytest

import foglight as fl
from foglight.agents import load_agent
from foglight.names import BadInput
from foglight.rules import PUBLIC, key
from foglight.solving.depth_limited.subgame import Oracle
from foglight.solving.particles.belief import Particles, first_particles, part, regenerated, thinned
from foglight.solving.particles.lookahead import Lookahead, cut
from foglight.solving.particles.random_play import RandomPlay
from foglight.solving.whole.plans import realised
from foglight.state import State

GOOFSPIEL = "goofspiel(cards=5)"


def after_a_round(game=GOOFSPIEL, depth=2, seed=0):
    """The particles of the largest public state after random play."""
    trunk = cut(first_particles(game), depth)
    random = np.random.default_rng(seed)
    behaviour = random.random(trunk.sequences.num_sequences)
    plan = realised(trunk.sequences, behaviour)
    leaf = max(trunk.leaves, key=lambda leaf: len(leaf.public.chance))
    return Particles(leaf.public, trunk.leaf_range(leaf, plan))


def test_weights_are_chance_times_both_ranges():
    particles = after_a_round()
    public = particles.public
    for i, (first, second) in enumerate(public.states):
        wanted = public.chance[i] * particles.ranges[0][first] * particles.ranges[1][second]
        assert particles.weights[i] == pytest.approx(wanted)


def test_thinning_keeps_whole_rectangles_and_the_own_state():
    particles, random = after_a_round(depth=4), np.random.default_rng(1)
    assert len(particles) > 40
    for most in (1, 5, 20):
        own = int(particles.public.keys[0][3])
        kept = thinned(particles, most, random, 0, own)
        assert 1 <= len(kept) <= most
        assert np.uint64(own) in kept.public.keys[0]
    kept = thinned(particles, 20, random)
    # every history between kept information states is kept
    both = [np.isin(particles.public.keys[s][particles.public.states[:, s]], kept.public.keys[s]) for s in (0, 1)]
    assert (both[0] & both[1]).sum() == len(kept)
    assert thinned(particles, len(particles), random) is particles


def test_a_part_keeps_its_ranges():
    particles = after_a_round()
    some = part(particles, np.array([0, 2, 5]))
    assert np.allclose(np.sort(some.weights), np.sort(particles.weights[[0, 2, 5]]))


def test_a_lookahead_to_the_end_agrees_with_solving_the_subgame():
    particles = after_a_round(depth=4)
    look = Lookahead(particles, 20, RandomPlay())
    look.solve(200)
    oracle = Oracle(200)
    oracle.start([particles.public])
    (wanted,) = oracle.values([particles.ranges])
    for found, own in zip(look.values(), wanted, strict=True):
        assert np.allclose(found, own, atol=1e-12)


def test_exact_leaves_give_the_value_of_the_game():
    look = Lookahead(first_particles(GOOFSPIEL), 2, Oracle(100))
    look.solve(100)
    worth = [float(own[0]) for own in look.values()]
    assert worth[0] == pytest.approx(fl.game_value(GOOFSPIEL), abs=0.02)
    assert worth[0] == pytest.approx(-worth[1], abs=0.02)


def test_random_play_is_worth_what_uniform_play_is():
    first = first_particles("kuhn_poker")
    evaluator = RandomPlay(games=20_000, seed=3)
    evaluator.start([first.public])
    found = evaluator.flat_values(np.ones(2))
    wanted = fl.policy_values("kuhn_poker", {})[0]
    # 20 000 games with a standard deviation of at most 2: five standard errors are 0.07
    assert found == pytest.approx([wanted, -wanted], abs=0.07)


def test_regenerated_particles_explain_what_was_observed():
    state = State("goofspiel(cards=6)")
    random = np.random.default_rng(4)
    for _ in range(7):
        seat = state.player
        found = regenerated(state.game, seat, state.observations(seat), 40, 0)
        assert 1 <= len(found) <= 40
        assert np.uint64(key(state.game, state.world, seat)) in found.public.keys[seat]
        assert found.public.key == int(key(state.game, state.world, PUBLIC))
        state.play(int(random.choice(state.actions())))
    assert len(found) > 10


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=4)", "liars_dice(dice=1,sides=3)"])
def test_with_all_particles_and_all_depth_it_plays_an_equilibrium(game):
    policy = fl.agent_policy("particle_resolving(network=none,depth=60,iterations=300)", game)
    assert fl.exploitability(game, policy) < 0.02 * fl.exploitability(game, {})


def test_exact_leaves_make_continual_resolving_strong():
    agent = load_agent("particle_resolving(network=none,particles=10000)")
    agent._prepared, agent._memory = (fl.load_game("goofspiel(cards=4)"), (Oracle(100), 2)), {}
    policy = fl.agent_policy(agent, "goofspiel(cards=4)")
    assert fl.exploitability("goofspiel(cards=4)", policy) < 0.1 * fl.exploitability("goofspiel(cards=4)", {})


def test_what_no_particle_explains_is_filtered_anew():
    agent = load_agent("particle_resolving(network=none,particles=1,iterations=5)")
    random, regenerations = np.random.default_rng(0), 0
    for game in range(10):
        state, last = State("goofspiel(cards=7)"), 0
        agent.start(state.game, 0, game)
        while state.player >= 0:
            if state.player == 0:
                for observation in state.observations(0)[len(agent.observations) :]:
                    agent.observe(observation)
                assert agent.probabilities(state.actions()).sum() == pytest.approx(1.0)
                last = agent.explain().notes["regenerations"]
            state.play(int(random.choice(state.actions())))
        regenerations += last
    assert regenerations > 0


def test_it_says_what_it_cannot_play():
    with pytest.raises(BadInput, match="two seats"):
        load_agent("particle_resolving").start("hearts", 0, 0)
    with pytest.raises(BadInput, match="not both"):
        load_agent("particle_resolving(iterations=5,time=1)")
    with pytest.raises(BadInput, match="nothing has been played"):
        load_agent("particle_resolving").explain()
