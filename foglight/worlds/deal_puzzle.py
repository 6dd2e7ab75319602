"""A story of a trick-taking game as a puzzle: what is free, how many ways there are to fill it, and all of them.

Cards passed on: each seat's dealt cards have places; a pattern says which places it passes, in which order. The row of
a place follows from the pattern, so patterns and deals are independent of each other, and both uniform.
"""

import itertools
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from foglight.cards.deck import suit_of
from foglight.cards.tricks import pack
from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.rules import begin, new_worlds, num_players
from foglight.worlds.deal_count import HIDDEN, DealCount
from foglight.worlds.deal_replay import Layout, draw_patterns
from foglight.worlds.deal_story import Story


class Puzzle:
    """Which cards are where: those that the story leaves open, and how a deal of them becomes a history."""

    def __init__(self, game: Any, story: Story, viewer: int) -> None:
        self.story, seats = story, num_players(game)
        start = new_worlds(game, 1)[0]
        begin(game, start)
        dealt = [[(time, card) for time, s, card in story.dealt if s == seat] for seat in range(seats)]
        passed = [[(time, card) for time, s, card in story.passed if s == seat] for seat in range(seats)]
        most, most_passed = max(map(len, dealt)), max(map(len, passed))
        self.layout = Layout(
            np.array(story.actions, np.int64),
            np.zeros((seats, most), np.int64),
            np.zeros((seats, most_passed), np.int64),
            np.array([len(cards) for cards in dealt], np.int64),
            np.array([len(cards) for cards in passed], np.int64),
            np.array([seat != viewer and len(passed[seat]) > 0 for seat in range(seats)], np.int64),
            np.tile(np.arange(most), (seats, 1)),
            np.zeros((seats, most), np.int64),
        )
        free: list[list[tuple[int, int]]] = [[] for _ in range(seats + 1)]  # by row: seat and place
        known = set[int]()
        for seat in range(seats):
            self.layout.deal_times[seat, : len(dealt[seat])] = [time for time, _ in dealt[seat]]
            self.layout.pass_times[seat, : len(passed[seat])] = [time for time, _ in passed[seat]]
            own, kept = [card for _, card in dealt[seat]], len(dealt[seat]) - len(passed[seat])
            if seat == viewer and HIDDEN not in own:
                given = [own.index(card) for _, card in passed[seat]]
                self.layout.pattern[seat, : len(own)] = [i for i in range(len(own)) if i not in given] + given
                own = [own[i] for i in self.layout.pattern[seat, : len(own)]]
            for place, card in enumerate(own):
                if place >= kept:
                    card = max(card, story.pinned.get((seat, place - kept), HIDDEN))
                if card == HIDDEN:
                    free[story.receiver.get(seat, seat) if place >= kept else seat].append((seat, place))
                else:
                    self.layout.sources[seat, place] = -1 - card
                    known.add(card)
        for position, (seat, place) in enumerate(pair for row in free for pair in row):
            self.layout.sources[seat, place] = position
        whole = int(pack(game, start)) & ~story.open_cards
        cards = [card for card in range(64) if whole >> card & 1 and card not in known]
        needs = [len(row) for row in free]
        needs[-1] = len(cards) - sum(needs)
        held = [card for card in cards if story.own >> card & 1] + story.received
        sure = dict.fromkeys(held, viewer) | {card: seat for seat, card in story.plays}
        owners = [
            sum(
                1 << row
                for row in range(seats + 1)
                if sure.get(card, row) == row and not story.denied.get(row, 0) >> card & 1
            )
            for card in cards
        ]
        self.suits = [int(suit_of(game, card)) for card in cards]
        self.deals = DealCount(cards, owners, needs)

    def all_deals(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All deals with all patterns, in arrays of at most `size`."""
        orders = self.patterns * math.prod(math.factorial(need) for need in self.deals.needs[:-1])
        if orders >= 1 << 62:
            raise BadInput(f"there are {self.total} histories, too many to list; count or sample them")
        at_once = max(1, size // orders)
        assignments = self.deals.assignments()
        while block := list(itertools.islice(assignments, at_once)):
            for first in range(0, len(block) * orders, size):
                n = min(size, len(block) * orders - first)
                deals = np.empty((n, len(self.deals.cards)), np.int64)
                patterns = np.empty((n, *self.layout.pattern.shape), np.int64)
                _order(self.layout, np.array(self.deals.needs), np.array(block), first, orders, deals, patterns)
                yield deals, patterns

    def draw(self, n: int, random: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """n uniform deals and patterns."""
        patterns = np.empty((n, *self.layout.pattern.shape), np.int64)
        draw_patterns(self.layout, random, patterns)
        return self.deals.draw(n, random), patterns

    @cached_property
    def patterns(self) -> int:
        """How many ways there are to pass, by places."""
        shape = zip(self.layout.dealt.tolist(), self.layout.passes.tolist(), self.layout.free_passes, strict=True)
        return math.prod(math.perm(n, k) for n, k, free in shape if free)

    @property
    def total(self) -> int:
        return self.patterns * self.deals.ordered


@kernel
def _order(layout, needs, assignments, first, orders, deals, patterns):
    """Write the deals and patterns with numbers from `first` on: each assignment in each of its `orders`."""
    for d in range(len(deals)):
        number = (first + d) % orders
        deals[d, :] = assignments[(first + d) // orders]
        begin = 0
        for row in range(len(needs) - 1):
            number = _arrange(deals[d], begin, begin + needs[row], needs[row], number)
            begin += needs[row]
        patterns[d, :, :] = layout.pattern
        for seat in range(len(layout.dealt)):
            if layout.free_passes[seat] == 1:
                n, k = layout.dealt[seat], layout.passes[seat]
                number = _arrange(patterns[d, seat], 0, n, k, number)


@jitable
def _arrange(numbers, begin, end, k, index):
    """Move the selection of k numbers with this index to the end, the others stay ascending; what is left of it."""
    for i in range(k):
        size = end - begin - i
        place = begin + index % size
        index //= size
        moved = numbers[place]
        for j in range(place, begin + size - 1):
            numbers[j] = numbers[j + 1]
        numbers[begin + size - 1] = moved
    return index
