"""Belief states solved side by side are solved as they are one by one, to the last bit."""

import numpy as np
import pytest

from foglight.names import BadInput
from foglight.solving.depth_limited.batched import BatchedRegrets, terms_of
from foglight.solving.depth_limited.subgame import Subgames
from foglight.solving.depth_limited.trunk import Trunk
from foglight.solving.whole.plans import counterfactual_values
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import sequence_form


def subgame(game, depth):
    """Below the public state of most histories."""
    public = max(Trunk(game, depth).public_states, key=lambda public: len(public.rows))
    return Subgames([public]).sequences


def random_ranges(sequences, beliefs, seed=0):
    """A third of them 0, and in the first belief state all of seat 0's."""
    random = np.random.default_rng(seed)
    shapes = [(len(keys), beliefs) for keys in sequences.root_keys]
    ranges = [random.random(shape) * (random.random(shape) < 2 / 3) for shape in shapes]
    ranges[0][:, 0] = 0.0
    return ranges


def one_by_one(sequences, ranges, iterations):
    """Average behaviour and values, as from a batch."""
    averages, worth = [], []
    for b in range(ranges[0].shape[1]):
        given = [own[:, b] for own in ranges]
        solver = Regrets(sequences, "cfr+", given)
        solver.iterate(iterations)
        averages.append(solver.average())
        worth.append(counterfactual_values(sequences, averages[-1], given))
    return np.stack(averages, 1), [np.stack(own, 1) for own in zip(*worth, strict=True)]


def check(sequences, ranges, iterations, **options):
    solver = BatchedRegrets(sequences, ranges, **options)
    solver.iterate(iterations)
    average, worth = one_by_one(sequences, ranges, iterations)
    assert np.array_equal(solver.average(), average)
    for found, known in zip(solver.values(), worth, strict=True):
        assert found.shape == known.shape and np.array_equal(found, known)


@pytest.mark.parametrize(("game", "depth"), [("leduc_poker", 7), ("goofspiel(cards=5)", 4)])
def test_values_and_averages_are_those_of_solving_one_by_one(game, depth):
    sequences = subgame(game, depth)
    check(sequences, random_ranges(sequences, 21), 100)


@pytest.mark.parametrize(("beliefs", "width"), [(1, None), (8, 8), (9, 8), (33, 16), (130, None)])
def test_tiles_change_nothing(beliefs, width):
    sequences = subgame("leduc_poker", 7)
    check(sequences, random_ranges(sequences, beliefs), 10, width=width)


def test_a_forest_is_solved_like_one_subgame():
    sequences = Subgames(Trunk("leduc_poker", 7).public_states).sequences
    check(sequences, random_ranges(sequences, 5), 20)


def test_three_seats():
    pytest.importorskip("pyspiel")
    sequences = sequence_form("openspiel:kuhn_poker(players=3)")
    check(sequences, random_ranges(sequences, 5), 50)


@pytest.mark.plain
def test_interpreted_too():
    sequences = sequence_form("kuhn_poker")
    check(sequences, random_ranges(sequences, 3), 5)


def test_iterations_may_be_done_in_parts():
    sequences = subgame("leduc_poker", 7)
    ranges = random_ranges(sequences, 12)
    whole, parts = BatchedRegrets(sequences, ranges), BatchedRegrets(sequences, ranges)
    whole.iterate(50)
    for n in (1, 0, 19, 30):
        parts.iterate(n)
    assert parts.iterations == 50
    assert np.array_equal(parts.regrets, whole.regrets) and np.array_equal(parts.sums, whole.sums)


def test_before_the_first_iteration_all_is_uniform():
    sequences = sequence_form("kuhn_poker")
    average = BatchedRegrets(sequences, [np.ones((1, 2)), np.ones((1, 2))]).average()
    assert sorted(np.unique(average)) == [0.0, 0.5]  # 0 at the root sequences


def test_values_of_a_seat_do_not_depend_on_its_own_range():
    sequences = sequence_form("kuhn_poker")
    solver = BatchedRegrets(sequences, [np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]])])
    solver.iterate(0)
    first, second = solver.values()
    assert first[0, 0] == first[0, 1] != 0.0
    assert second[0, 0] == 0.0 != second[0, 1]


def test_terms_are_entries_with_the_same_product():
    sequences = subgame("goofspiel(cards=5)", 4)
    terms, form = terms_of(sequences), sequences.form
    assert terms is terms_of(sequences), "made once"
    assert len(terms.entries) == len(form.weights) == 5120
    leaders = np.repeat(np.arange(sequences.num_sequences), np.diff(form.entry_begins))
    assert len(terms.factors) == len(set(zip(leaders, form.weights, strict=True))) == 522
    assert len(terms.weights) == 2 * 13 * 2  # both seats' root sequences, winning or losing
    assert np.array_equal(np.sort(terms.weights[terms.factors[terms.entries]]), np.sort(form.weights))


@pytest.mark.parametrize("shapes", [((1, 2), (1, 3)), ((2, 2), (1, 2)), ((1, 0), (1, 0)), ((1, 2),)])
def test_ranges_of_other_shapes_are_refused(shapes):
    with pytest.raises(BadInput, match=r"must be arrays \[1, B\], \[1, B\], not"):
        BatchedRegrets(sequence_form("kuhn_poker"), [np.ones(shape) for shape in shapes])
