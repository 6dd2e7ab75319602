"""Counting deals beside plain enumeration: counts, odds, flows, lists, and every draw with its exact probability."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from test_chains import Dice, Unknown

from foglight.randomness import generator
from foglight.worlds.deals import count as deal_count
from foglight.worlds.deals.count import HIDDEN, DealCount, copy, shuffle

pytestmark = pytest.mark.plain


def puzzles(rng, n, most_cards):
    """n random puzzles, with a deal or without; rows that need nothing, and cards that anybody may own, are common."""
    for _ in range(n):
        rows = rng.randint(2, 4)
        needs = [rng.choice([0, 1, 1, 2, 2, 3]) for _ in range(rows)]
        while sum(needs) > most_cards:
            needs[rng.randrange(rows)] = 0
        cards = rng.sample(range(64), sum(needs))
        whole = (1 << rows) - 1
        masks = [whole, *(rng.choice([rng.randint(1, whole), whole ^ 1 << rng.randrange(rows)]) for _ in range(3))]
        yield DealCount(cards, [rng.choice(masks) for _ in cards], needs)


def tangles(rng, n):
    """n puzzles whose classes take cards of several columns before any of them become one."""
    while n > 0:
        needs = [rng.choice([1, 2, 2, 3]) for _ in range(3)]
        cards = range(sum(needs))
        puzzle = DealCount(cards, [rng.choice([0b011, 0b101, 0b110, 0b111]) for _ in cards], needs)
        if len(cards) <= 6 and len(puzzle.columns) > 2 and 0 < puzzle.ordered <= 120:
            n -= 1
            yield puzzle


def row_of(puzzle, position):
    return next(row for row, end in enumerate(itertools.accumulate(puzzle.needs)) if position < end)


def plain_deals(puzzle):
    """All deals by position: those orders of the cards that give each card to somebody who may own it."""
    rows = [row_of(puzzle, position) for position in range(sum(puzzle.needs))]
    owners = dict(zip(puzzle.cards, puzzle.owners, strict=True))
    return [
        order
        for order in itertools.permutations(puzzle.cards)
        if all(owners[card] >> row & 1 for card, row in zip(order, rows, strict=True))
    ]


def hands(puzzle, deal):
    """A deal as the rows' cards in no order."""
    ends = [0, *itertools.accumulate(puzzle.needs)]
    return tuple(frozenset(map(int, deal[begin:end])) for begin, end in itertools.pairwise(ends))


def alike(puzzle, deal):
    """A deal by position, the last row's positions all alike."""
    cut = len(deal) - puzzle.needs[-1]
    return (*map(int, deal[:cut]), frozenset(map(int, deal[cut:])))


def test_counts_lists_and_odds_are_those_of_plain_enumeration():
    possible = impossible = listed = 0
    for puzzle in puzzles(random.Random(1), 400, 6):
        deals = plain_deals(puzzle)
        by_hands = {hands(puzzle, deal) for deal in deals}
        assert puzzle.ordered == len({alike(puzzle, deal) for deal in deals})
        assert puzzle.unordered == len(by_hands)
        found = [hands(puzzle, deal) for deal in puzzle.assignments()]
        assert len(found) == len(by_hands) and set(found) == by_hands
        if not deals:
            impossible += 1
            continue
        odds = puzzle.odds()
        assert set(odds) == set(puzzle.cards)
        for card in puzzle.cards:
            held = Counter(row_of(puzzle, deal.index(card)) for deal in deals)
            assert odds[card] == [held[row] / len(deals) for row in range(len(puzzle.needs))]
        possible += 1
        listed += len(found)
    assert possible > 150 and impossible > 50 and listed > 1000


def test_a_listed_deal_has_its_rows_in_the_order_of_the_columns():
    compared = 0
    for puzzle in puzzles(random.Random(2), 100, 7):
        columns = [card for _, members in puzzle.columns for card in members]
        ends = [0, *itertools.accumulate(puzzle.needs)]
        for deal in puzzle.assignments():
            for begin, end in itertools.pairwise(ends):
                places = [columns.index(card) for card in deal[begin:end].tolist()]
                assert places == sorted(places)
                compared += len(places) > 1
    assert compared > 500


def test_a_list_does_not_come_to_the_same_dead_end_twice():
    """A card of the first column in row 0 spoils all that follows; 2^20 ways to go on would find it out one by one."""
    puzzle = DealCount(range(41), [0b011] * 20 + [0b101] * 21, [20, 20, 1])
    assert puzzle.unordered == len(list(puzzle.assignments())) == 21


def test_columns_hold_cards_of_the_same_owners_and_few_owners_come_first():
    # row 2 needs nothing, so that nobody looks at it
    puzzle = DealCount([4, 5, 6, 7, 8], [3, 2, 7, 1, 6], [3, 2, 0])
    assert puzzle.columns == [(1, [7]), (2, [5, 8]), (3, [4, 6])]
    assert puzzle.classes == [((True, False, True), [0]), ((False, True, True), [1])]
    assert puzzle.unordered == math.comb(2, 2)
    assert DealCount([4, 5, 6, 7, 8], [3, 2, 7, 1, 6], [2, 3, 0]).unordered == math.comb(2, 1)


@pytest.mark.parametrize(
    ("cards", "owners", "needs"),
    [
        ([1, 2], [3, 3], [1, 0]),  # too many cards
        ([1], [3], [1, 1]),  # too few
        ([1, 2], [3, 3], [3, -1]),
        ([1, 2, 3], [7, 7, 7], [-1, 2, 2]),
        ([1, 2], [0, 3], [1, 1]),  # a card that nobody may own
        ([1, 2], [2, 2], [2, 0]),  # its owner needs nothing
        ([1, 2], [1, 3], [0, 2]),
        ([1, 2, 3], [1, 1, 3], [1, 2]),  # two cards for one place
    ],
)
def test_what_cannot_be_dealt_is_not_dealt(cards, owners, needs):
    puzzle = DealCount(cards, owners, needs)
    assert puzzle.ordered == puzzle.unordered == 0
    assert list(puzzle.assignments()) == []
    rng = np.random.default_rng(1)
    assert puzzle.flow() is None and puzzle.construct(rng) is None and puzzle.constructs(2, rng) is None


def test_nothing_is_dealt_in_one_way():
    puzzle = DealCount([], [], [0, 0])
    assert puzzle.ordered == puzzle.unordered == 1 and puzzle.odds() == {}
    assert [deal.tolist() for deal in puzzle.assignments()] == [[]]
    assert puzzle.draw(3, generator(1)).shape == (3, 0)


def test_counts_of_a_whole_pack_are_exact():
    """Bridge, as one hand sees it: 39 cards for three hands; then the first is void in a suit, or has a known card."""
    cards, needs = list(range(39)), [13, 13, 13]
    free = DealCount(cards, [7] * 39, needs)
    assert free.unordered == math.comb(39, 13) * math.comb(26, 13) == 84478098072866400
    assert free.ordered == math.factorial(39) // math.factorial(13)
    assert free.odds()[7] == [1 / 3] * 3
    void = DealCount(cards, [6 if card < 13 else 7 for card in cards], needs)
    assert void.unordered == math.comb(26, 13) ** 2
    assert void.odds()[0] == [0.0, 0.5, 0.5] and void.odds()[13] == [0.5, 0.25, 0.25]
    known = DealCount(cards, [1 if card == 0 else 7 for card in cards], needs)
    assert known.unordered == math.comb(38, 12) * math.comb(26, 13)
    assert known.odds()[0] == [1.0, 0.0, 0.0] and known.odds()[1] == [12 / 38, 13 / 38, 13 / 38]
    ends = [0, *itertools.accumulate(needs)]
    for deal in void.draw(20, generator(3)).tolist():
        assert sorted(deal) == cards and min(deal[: ends[1]]) >= 13


def test_classes_that_agree_on_what_is_to_come_are_one():
    """The table stays small: rows that may own the same are one class from the start, others as soon as they can be."""
    alike = DealCount(range(9), [7] * 9, [3, 3, 3])
    assert alike.classes == [((True,), [0, 1, 2])] and [len(layer) for layer in alike._ways] == [1, 1]
    # row 0 alone, then row 1 alone, then anybody: after its own column each row is like those that are done
    steps = DealCount(range(8), [1, 1, 2, 2, 7, 7, 7, 7], [3, 3, 2])
    assert [rows for _, rows in steps.classes] == [[0], [1], [2]]
    assert steps._cells == [(0, 0, 2), (1, 1, 2), (2, 2, HIDDEN)]
    assert steps.unordered == math.comb(4, 1) * math.comb(3, 1)


# Flows --------------------------------------------------------------------------------------------------------------


def test_a_flow_says_how_many_cards_of_each_column_a_row_gets():
    compared = 0
    for puzzle in puzzles(random.Random(3), 200, 6):
        flow, deals = puzzle.flow(), plain_deals(puzzle)
        assert (flow is None) == (not deals)
        if flow is None:
            assert puzzle.construct(np.random.default_rng(1)) is None
            continue
        matrices = {
            tuple(tuple(len(held & set(members)) for _, members in puzzle.columns) for held in hands(puzzle, deal))
            for deal in deals
        }
        assert flow.dtype == np.int64 and tuple(map(tuple, flow.tolist())) in matrices
        compared += len(matrices) > 1
    assert compared > 30


def test_constructed_deals_are_all_deals_of_one_flow():
    compared = 0
    for seed, puzzle in enumerate(puzzles(random.Random(4), 60, 5)):
        flow = puzzle.flow()
        if flow is None:
            continue
        wanted = {
            deal
            for deal in plain_deals(puzzle)
            if [[len(held & set(members)) for _, members in puzzle.columns] for held in hands(puzzle, deal)]
            == flow.tolist()
        }
        rng = np.random.default_rng(seed)
        # each is as likely as any other: that one of at most 120 is missing after 3000 draws has odds below 1e-8
        found = puzzle.constructs(3000 if len(wanted) > 24 else 600, rng)
        assert found.dtype == np.int64 and {tuple(deal) for deal in found.tolist()} == wanted
        once, twice = np.random.default_rng(seed), np.random.default_rng(seed)
        assert np.array_equal([puzzle.construct(once) for _ in range(2)], puzzle.constructs(2, twice))
        compared += len(wanted)
    assert compared > 300


# Draws --------------------------------------------------------------------------------------------------------------


class _Number(Unknown):
    def __ge__(self, bound):
        return not self < bound


class _Draws(Dice):
    def unit(self, random):
        return _Number(self)


@pytest.fixture
def dice(monkeypatch):
    """Dice in place of the random numbers of a draw."""
    dice = _Draws()
    monkeypatch.setattr(deal_count, "below", dice.below)
    monkeypatch.setattr(deal_count, "unit", dice.unit)
    return dice


def drawn(dice, puzzle, n=1):
    def run():
        deals = np.full((n, len(puzzle.cards)), HIDDEN)
        deal_count._draw.py_func(puzzle._table, None, deals)
        return tuple(map(tuple, deals.tolist()))

    return dice.outcomes(run)


@pytest.mark.long_plain  # with dice it is interpreted in both passes
def test_all_deals_are_drawn_alike(dice):
    compared = 0
    for puzzle in (*puzzles(random.Random(5), 150, 5), *tangles(random.Random(5), 20)):
        deals = plain_deals(puzzle)
        if deals:
            assert drawn(dice, puzzle) == pytest.approx({(deal,): 1 / len(deals) for deal in deals}, abs=1e-12)
            compared += len(deals)
    assert compared > 1000


@pytest.mark.long_plain  # with dice it is interpreted in both passes
def test_a_draw_knows_nothing_of_the_one_before(dice):
    compared = 0
    for puzzle in puzzles(random.Random(6), 100, 5):
        deals = plain_deals(puzzle)
        if 1 < len(deals) <= 8:
            pairs = list(itertools.product(deals, repeat=2))
            assert drawn(dice, puzzle, 2) == pytest.approx(dict.fromkeys(pairs, 1 / len(pairs)), abs=1e-12)
            compared += len(pairs)
    assert compared > 500


@pytest.mark.parametrize(("number", "deal"), [(0.0, [2, 1, 3]), (0.5 - 2**-53, [2, 1, 3]), (0.5, [1, 3, 2])])
def test_half_of_all_numbers_give_the_first_of_two_deals(number, deal, monkeypatch):
    """Three cards, each of which two of three seats may own, go round one way or the other."""
    puzzle = DealCount([1, 2, 3], [0b011, 0b101, 0b110], [1, 1, 1])
    assert puzzle.ordered == 2
    monkeypatch.setattr(deal_count, "unit", lambda random: number)
    deals = np.full((1, 3), HIDDEN)
    deal_count._draw.py_func(puzzle._table, generator(1), deals)
    assert deals[0].tolist() == deal


def test_where_there_is_no_choice_no_number_is_drawn(monkeypatch):
    monkeypatch.delattr(deal_count, "unit")
    puzzle = DealCount([1, 2, 3], [0b001, 0b011, 0b110], [1, 1, 1])
    deals = np.full((1, 3), HIDDEN)
    deal_count._draw.py_func(puzzle._table, generator(1), deals)
    assert deals.tolist() == [[1, 2, 3]]


def test_compiled_draws_are_those_of_the_source():
    compared = 0
    for puzzle in puzzles(random.Random(7), 40, 7):
        if puzzle.ordered:
            deals = np.full((5, len(puzzle.cards)), HIDDEN)
            deal_count._draw.py_func(puzzle._table, generator(2), deals)
            assert np.array_equal(puzzle.draw(5, generator(2)), deals)
            compared += deals.size
    assert compared > 200


def test_numbers_are_shuffled_between_two_places_only(dice):
    def run():
        numbers = [10, 11, 12, 13, 14]
        shuffle(None, numbers, 1, 4)
        return tuple(numbers)

    wanted = {(10, *middle, 14): 1 / 6 for middle in itertools.permutations([11, 12, 13])}
    assert dice.outcomes(run) == pytest.approx(wanted)


def test_a_copy_ends_with_its_source():
    target = np.zeros(4, np.int64)
    copy(target, np.array([5, 6, 7]))
    assert target.tolist() == [5, 6, 7, 0]
