"""Information set search on paths beside the oracle on histories: equal if every path is there, near with samples."""

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from oracles import closest_call, information_set_search, information_sets, uniform_leaf

import foglight as fl
from foglight.randomness import generator
from foglight.rules import key
from foglight.search.leaves import rollout
from foglight.search.paths.information_set_search import search
from foglight.search.paths.sampling import new_paths, sample
from foglight.search.paths.steered import new_states, walk

MASK = (1 << 64) - 1
FLEETS = "battleship(width=4,height=1,ships=[1,2],shots=1)"  # the fewer places are left, the fewer actions
THREE_SEATS = "oh_hell(players=3,suits=1,ranks=4,tricks=1)"


def arbitrary(state):
    """Payoffs that nothing ties, and that single precision holds exactly."""
    if state.player == fl.TERMINAL:
        return state.returns()
    rng = random.Random(repr(state.history()))
    return [rng.randrange(-256, 257) / 256 for _ in range(state.num_players)]


def roots_of(game, seat, rng, n):
    """The first information states at which a seat decides, a few of them, and n others."""
    every = information_sets(game, seat, rng, 10**6)
    shortest = min(len(worlds[0][0].history()) for worlds in every)
    first = [worlds for worlds in every if len(worlds[0][0].history()) == shortest]
    return first[:3] + rng.sample(every, min(n, len(every)))


def all_paths(worlds, depth, leaf):
    """Every path of up to `depth` decisions, as often as random play takes it; worlds have whole numbers as weights."""
    recorded = []  # weight, decisions, payoffs

    def walk(state, weight, decisions):
        if state.player == fl.TERMINAL or len(decisions) == depth:
            recorded.append((weight, decisions, leaf(state)))
            return
        actions = state.actions()
        shares = [Fraction(1, len(actions))] * len(actions)
        if state.player == fl.CHANCE:
            shares = [Fraction(odds).limit_denominator(1000) for _, odds in state.chance()]
        for choice, (action, share) in enumerate(zip(actions, shares, strict=True)):
            after = state.clone()
            after.play(action)
            code = 0 if state.player == fl.CHANCE else int(key(state.game, state.world, state.player))
            here = (code, state.player, len(actions), choice, hash(tuple(state.history())) & MASK)
            walk(after, weight * share, decisions if state.player == fl.CHANCE else [*decisions, here])

    for state, weight in worlds:
        walk(state, Fraction(weight), [])
    common = math.lcm(*(weight.denominator for weight, _, _ in recorded))
    times = [int(weight * common) for weight, _, _ in recorded]
    divisor = math.gcd(*times)
    paths = new_paths(sum(times) // divisor, depth, worlds[0][0].num_players)
    at = 0
    for count, (_, decisions, payoffs) in zip(times, recorded, strict=True):
        span = slice(at, at := at + count // divisor)
        paths.lengths[span], paths.values[span] = len(decisions), payoffs
        for level, (code, mover, size, choice, history) in enumerate(decisions):
            paths.histories[span, level] = history
            paths.keys[span, level], paths.movers[span, level] = code, mover
            paths.sizes[span, level], paths.choices[span, level] = size, choice
    return paths


@pytest.mark.parametrize("leaf", [uniform_leaf, arbitrary])
@pytest.mark.parametrize(
    ("game", "roots", "least", "levels"),
    [
        ("kuhn_poker", 6, 60, 3),
        ("leduc_poker", 4, 40, 6),
        ("unseen_rps", 1, 8, 1),
        ("goofspiel(cards=3)", 8, 60, 3),
        ("goofspiel(cards=4)", 6, 60, 5),
        (FLEETS, 2, 20, 4),
        (THREE_SEATS, 4, 40, 4),
    ],
)
def test_with_every_path_recorded_it_is_the_oracle(game, roots, least, levels, leaf):
    rng, compared, deepest = random.Random(game), 0, 0
    for seat in range(fl.new_state(game).num_players):
        for worlds in roots_of(game, seat, rng, roots):
            weights = [rng.randrange(1, 4) for _ in worlds]
            belief = [(state, weight / sum(weights)) for (state, _), weight in zip(worlds, weights, strict=True)]
            whole = [(state, weight) for (state, _), weight in zip(worlds, weights, strict=True)]
            for depth in range(1, 7):
                choices = {}
                wanted = information_set_search(belief, seat, depth, leaf, choices)
                if closest_call(choices) < 1e-6:  # a tie below the root: both choices are right
                    continue
                values = search(all_paths(whole, depth, leaf), seat).values.tolist()
                assert values == pytest.approx(list(wanted.values()), abs=1e-6)  # leaves are kept in single precision
                compared += 1
                deepest = max(deepest, 1 + max((level for level, _ in choices), default=0))
    assert compared >= least
    assert deepest >= levels


def test_a_queen_facing_a_jack_or_a_king_with_sampled_paths():
    """Worked out by hand in `test_iss_oracle`: pass and bet are both worth 0.1, to the end of the game.

    200 000 paths of payoffs between -2 and 2: a mean of half of them has a standard error below 0.01 even where a
    payoff is counted three times; 0.06 is six of them.
    """
    states = []
    for card in (0, 2):
        state = fl.new_state("kuhn_poker")
        state.play(1)
        state.play(card)
        states.append(state)
    rows = np.array([state.world for state in states])
    paths = new_paths(200_000, 3, 2)
    sample(states[0].game, rollout(states[0].game), rows, np.array([0.7, 0.3]), generator(1), 0, 200_000, paths)
    assert search(paths, 0).values.tolist() == pytest.approx([0.1, 0.1], abs=0.06)


@pytest.mark.parametrize("game", ["leduc_poker", "goofspiel(cards=4)", FLEETS])
def test_samples_converge_to_the_oracle(game):
    """The error falls as the square root of the number of paths: 64 times as many leave at most a third of it."""
    rng, errors, depth = random.Random(3), Counter(), 4
    roots = 0
    for seat in (0, 1):
        for worlds in information_sets(game, seat, rng, 30):
            choices = {}
            wanted = information_set_search(worlds, seat, depth, uniform_leaf, choices)
            if closest_call(choices) < 0.05 or len(wanted) < 2:
                continue
            roots += 1
            state = worlds[0][0]
            rows = np.array([state.world for state, _ in worlds])
            weights = np.array([weight for _, weight in worlds])
            for n in (2_000, 128_000):
                paths = new_paths(n, depth, 2)
                sample(state.game, rollout(state.game), rows, weights, generator(roots), 0, n, paths)
                found = search(paths, seat).values
                errors[n] += float(np.abs(found - np.array(list(wanted.values()))).mean())
    assert roots >= 5
    assert errors[128_000] < errors[2_000] / 3
    assert errors[128_000] / roots < 0.05


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)"])
def test_steered_paths_find_the_oracles_values_two_decisions_deep(game):
    """One state of the other seat below the first move: it learns the best reply to a uniform first move.

    Deeper, a state weighs its histories by how the others have learned to play, where the oracle has them play at
    random; there the move that is found is judged: what it loses by the oracle's values.
    """
    found, compared, lost = fl.load_game(game), Counter(), 0.0
    for seat in (0, 1):
        for worlds in roots_of(game, seat, random.Random(5), 5):
            rows, weights = np.array([state.world for state, _ in worlds]), np.array([weight for _, weight in worlds])
            for depth in (1, 2, 3, 4):
                choices = {}
                wanted = np.array(list(information_set_search(worlds, seat, depth, uniform_leaf, choices).values()))
                if closest_call(choices) < 0.02 or len(wanted) < 2:
                    continue
                states, sums, counts = new_states(10_000, 8), np.zeros(len(wanted)), np.zeros(len(wanted), np.int64)
                for n in (20_000, 100_000):  # learn, then count
                    sums[:], counts[:] = 0.0, 0
                    rest = (n, depth, 1.0, 1.0, np.arange(len(wanted)), sums, counts)
                    walk(found, rollout(found), states, rows, weights, generator(depth), *rest)
                if depth <= 2:
                    assert sums / counts == pytest.approx(wanted, abs=0.2 if game == "leduc_poker" else 0.05)
                else:
                    lost += wanted.max() - wanted[np.argmax(sums / counts)]
                compared[depth] += 1
    assert min(compared.values()) >= 8
    assert lost / (compared[3] + compared[4]) < 0.05
