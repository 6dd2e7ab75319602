"""Puzzles and stories of small card games with random rules beside the filter that holds all worlds."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from card_games import random_rules
from oracles import random_game
from test_card_games import both, listed, questions, same_odds

import foglight as fl
from foglight.names import BadInput
from foglight.randomness import generator
from foglight.worlds.deals import puzzle as deal_puzzle
from foglight.worlds.deals.filter import DealFilter


def test_small_games_have_the_histories_and_deals_that_layers_find():
    rng, compared, in_full = random.Random(21), 0, 0
    for _ in range(50):
        game = random_rules(rng, promised=True)
        for state, viewer, mover in questions(game, rng, positions=2):
            layers, deals = both(game, state, viewer, mover)
            if layers.count() > 300:
                continue
            assert (deals.count(), deals.deals()) == (layers.count(), layers.deals()), (game, state.history(), viewer)
            assert same_odds(deals.belief(most=10**6), layers.belief(most=10**6)), (game, state.history(), viewer)
            assert listed(deals) == listed(layers)
            compared += 1
            in_full += layers.count()
    assert compared > 100 and in_full > 3000


def puzzles(rng, most):
    """Puzzles of small games with at most so many histories."""
    while True:
        game = random_rules(rng, promised=True)
        for state, viewer, mover in questions(game, rng):
            for puzzle in DealFilter(game, state.observations(viewer), viewer, mover=mover).histories.puzzles:
                if 1 < puzzle.total <= most:
                    yield puzzle


def histories(puzzle, pairs):
    """Deals with patterns, the untouched cards in no order."""
    cut = sum(puzzle.deals.needs[:-1])
    return [(*deal[:cut].tolist(), frozenset(deal[cut:].tolist()), pattern.tobytes()) for deal, pattern in pairs]


def hands(deals, history):
    """Which row has which of the cards that somebody holds."""
    ends = [0, *itertools.accumulate(deals.needs[:-1])]
    return tuple(frozenset(history[begin:end]) for begin, end in itertools.pairwise(ends))


def test_all_deals_come_once_in_blocks_of_any_size():
    compared = 0
    some = itertools.islice(puzzles(random.Random(22), 200), 8)
    passing = itertools.islice((puzzle for puzzle in puzzles(random.Random(22), 2000) if puzzle.patterns > 1), 4)
    for puzzle in itertools.chain(some, passing):
        every = None
        for size in (1, 7, 64, 10**4):
            blocks = list(puzzle.all_deals(size))
            assert all(len(deals) == len(patterns) <= size for deals, patterns in blocks)
            found = histories(puzzle, [pair for block in blocks for pair in zip(*block, strict=True)])
            assert len(found) == len(set(found)) == puzzle.total
            assert every is None or set(found) == every
            every = set(found)
            orders = puzzle.total // puzzle.deals.unordered  # each assignment in all of its orders, then the next
            for first in range(0, len(found), orders):
                assert len({hands(puzzle.deals, history) for history in found[first : first + orders]}) == 1
        drawn = set(histories(puzzle, zip(*puzzle.draw(40, generator(1)), strict=True)))
        assert drawn <= every
        compared += len(every)
    assert compared > 1000


def test_draws_reach_every_deal_and_pattern():
    """Each of at most 24 histories is as likely as any other: after 800 draws one is missing with odds below 1e-13."""
    compared = 0
    for puzzle in itertools.islice(puzzles(random.Random(23), 24), 6):
        drawn = Counter(histories(puzzle, zip(*puzzle.draw(800, generator(2)), strict=True)))
        assert len(drawn) == puzzle.total
        compared += len(drawn)
    assert compared > 20


def test_hands_are_as_large_as_what_is_known_of_them_and_what_is_dealt_to_them():
    compared, known = 0, (puzzle for puzzle in puzzles(random.Random(25), 10**9) if puzzle.known)
    for puzzle in itertools.islice(known, 12):
        (deal,), _ = puzzle.draw(1, generator(3))
        sizes = Counter(puzzle.known.values())
        for row, cards in enumerate(np.split(deal, np.cumsum(puzzle.deals.needs)[:-1])):
            sizes[puzzle.where[row]] += len(cards)
        assert puzzle.lie[0] == tuple(sizes[seat] for seat in range(puzzle.seats))
        compared += len(puzzle.known)
    assert compared > 12


def test_arrangements_of_a_few_numbers_at_the_end_are_all_different():
    compared = 0
    for n, k in ((1, 1), (3, 0), (3, 1), (3, 2), (4, 2), (4, 4)):
        found = set()
        for index in range(math.perm(n, k)):
            numbers = np.array([90, *range(n), 91])
            left = deal_puzzle._arrange(numbers, 1, 1 + n, k, index + 5 * math.perm(n, k))
            assert left == 5 and numbers[[0, -1]].tolist() == [90, 91] and sorted(numbers[1:-1]) == list(range(n))
            assert numbers[1 : 1 + n - k].tolist() == sorted(numbers[1 : 1 + n - k])
            found.add(tuple(numbers.tolist()))
            alone = np.arange(n)
            deal_puzzle._arrange(alone, 0, n, k, index)  # to the very end
            assert alone.tolist() == numbers[1:-1].tolist()
        assert len(found) == math.perm(n, k)
        compared += len(found)
    assert compared > 40


def test_too_many_histories_are_not_listed():
    *_, state = itertools.takewhile(lambda state: state.player == fl.CHANCE, random_game("spades", random.Random(24)))
    state.play(state.actions()[0])
    with pytest.raises(BadInput, match="too many to list; count or sample them"):
        next(DealFilter("spades", state.observations(0), 0).histories.puzzles[0].all_deals(10))


def test_passes_that_are_laid_open_leave_only_the_order_of_dealing():
    *_, state = random_game("hearts", random.Random(26))
    assert fl.history_filter("hearts", state.observations(fl.PUBLIC)).count() == math.factorial(13) ** 4
