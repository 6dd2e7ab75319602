"""A story of a trick-taking game as a puzzle: the open cards, the number of histories, and all of them.

Passed cards: the cards dealt to a seat have places, and a pattern says which places the seat passes, in which order.
The row of a place follows from the pattern, so patterns and deals are independent of each other, and both are uniform.
"""

import itertools
import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from foglight.cards.deck import suit_of
from foglight.cards.tricks import pack
from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.rules import Game, begin, new_worlds, num_players
from foglight.worlds.deals.count import HIDDEN, DealCount
from foglight.worlds.deals.replay import Layout, draw_patterns
from foglight.worlds.deals.story import ASIDE, Story


class Puzzle:
    """The cards that a story leaves open, and how a deal of them becomes a history.

    The rows of a deal come in this order: one per hand, as it is in play, or as it is now before play; the cards passed
    to the viewer, if they need a row of their own; the cards laid aside by chance or by seats, if there are any; and
    last the cards that nobody has touched.
    """

    def __init__(self, game: Game, story: Story, viewer: int, sure: dict[int, int] | None = None) -> None:
        """`sure` gives the owners of some cards, beyond what the story says."""
        self.story, seats = story, num_players(game)
        self.seats = seats
        start = new_worlds(game, 1)[0]
        begin(game, start)
        givers = seats + any(to == seats for _, to, _ in story.dealt)
        dealt = [[(time, card) for time, to, card in story.dealt if to == seat] for seat in range(givers)]
        passed = [
            [
                (time, card, offset, where)
                for (time, giver, card, offset), where in zip(story.passed, story.went, strict=True)
                if giver == seat
            ]
            for seat in range(givers)
        ]
        most, most_passed = max(map(len, dealt)), max(map(len, passed))
        self.layout = Layout(
            np.array(story.actions, np.int64),
            np.zeros((givers, most), np.int64),
            np.zeros((givers, most_passed), np.int64),
            np.zeros((givers, most_passed), np.int64),
            np.array([len(cards) for cards in dealt], np.int64),
            np.array([len(cards) for cards in passed], np.int64),
            np.zeros(givers, np.int64),
            np.tile(np.arange(most), (givers, 1)),
            np.zeros((givers, most), np.int64),
        )
        # a viewer that saw its hand all at once knows which of its cards were passed to it, but not their places
        got = (
            seats if story.received and any(to == viewer and card == HIDDEN for _, to, card in story.dealt) else viewer
        )
        self.where = [*range(seats), *([viewer] if got == seats else [])]  # by row: a seat, or num_players for nobody
        aside = len(self.where)
        self.where += [seats] * (1 + (ASIDE in story.went or givers > seats))
        free: list[list[tuple[int, int]]] = [[] for _ in self.where]  # by row: seat and place
        self.known: dict[int, int] = {}  # by card, the seat whose hand it is in, or num_players for nobody
        for seat in range(givers):
            self.layout.deal_times[seat, : len(dealt[seat])] = [time for time, _ in dealt[seat]]
            self.layout.pass_times[seat, : len(passed[seat])] = [time for time, _, _, _ in passed[seat]]
            self.layout.pass_offsets[seat, : len(passed[seat])] = [offset for _, _, offset, _ in passed[seat]]
            own, kept = [card for _, card in dealt[seat]], len(dealt[seat]) - len(passed[seat])
            given = [card for _, card, _, _ in passed[seat]]
            if HIDDEN not in own + given:
                places = [own.index(card) for card in given]
                self.layout.pattern[seat, : len(own)] = [i for i in range(len(own)) if i not in places] + places
                own = [own[i] for i in self.layout.pattern[seat, : len(own)]]
            else:
                self.layout.free_passes[seat] = len(given) > 0
            for place, card in enumerate(own):
                row = seat if seat < seats else aside
                if place >= kept:
                    card = max(card, given[place - kept], story.pinned.get((seat, place - kept), HIDDEN))
                    to = passed[seat][place - kept][3]
                    row = aside if to == ASIDE else got if to == viewer else to
                if card == HIDDEN:
                    free[row].append((seat, place))
                else:
                    self.layout.sources[seat, place] = -1 - card
                    self.known[card] = self.where[row]
        for position, (seat, place) in enumerate(pair for row in free for pair in row):
            self.layout.sources[seat, place] = position
        whole = int(pack(game, start)) & ~story.open_cards
        cards = [card for card in range(64) if whole >> card & 1 and card not in self.known]
        needs = [len(row) for row in free]
        needs[-1] = len(cards) - sum(needs)
        owner = (sure or {}) | {card: seat for seat, card in story.plays}
        owner |= dict.fromkeys([card for card in cards if story.own >> card & 1], viewer)
        owner |= dict.fromkeys(story.received, got)
        owners = [
            sum(
                1 << row
                for row, seat in enumerate(self.where)
                if owner.get(card, row) == row and not story.denied.get(seat, 0) >> card & 1
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
        """The number of patterns of passes."""
        shape = zip(self.layout.dealt.tolist(), self.layout.passes.tolist(), self.layout.free_passes, strict=True)
        return math.prod(math.perm(n, k) for n, k, free in shape if free)

    @cached_property
    def hands(self) -> DealCount:
        """The same puzzle for the hands alone: one row for each hand, and one for all other cards."""
        owners = [
            sum({1 << seat for row, seat in enumerate(self.where) if mask >> row & 1}) for mask in self.deals.owners
        ]
        needs = [0] * (self.seats + 1)
        for seat, need in zip(self.where, self.deals.needs, strict=True):
            needs[seat] += need
        return DealCount(self.deals.cards, owners, needs)

    def odds(self) -> np.ndarray:
        """The probability that each card is in each seat's hand, or in no hand: float64[64, seats + 1]."""
        sums = np.zeros((64, self.seats + 1))
        sums[:, -1] = 1.0
        odds = {card: [float(at == seat) for seat in range(sums.shape[1])] for card, at in self.known.items()}
        for card, shares in (odds | self.hands.odds()).items():
            sums[card] = shares
        return sums

    @property
    def lie(self) -> tuple:
        """What determines the possible hands: their sizes, the known cards, and the possible owners of the others."""
        known_cards = tuple(sorted(self.known.items()))
        sizes = [need + sum(at == seat for _, at in known_cards) for seat, need in enumerate(self.hands.needs[:-1])]
        return tuple(sizes), known_cards, tuple(self.hands.cards), tuple(self.hands.owners)

    @property
    def total(self) -> int:
        """The number of histories, if every deal is one: deals times patterns."""
        return self.patterns * self.deals.ordered


@kernel
def _order(layout, needs, assignments, first, orders, deals, patterns):
    """Write the deals and patterns numbered from `first` on: each assignment in each of its `orders`."""
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
    """Move the k numbers selected by `index` to the end, the others stay in order; returns the rest of the index."""
    for i in range(k):
        size = end - begin - i
        place = begin + index % size
        index //= size
        moved = numbers[place]
        for j in range(place, begin + size - 1):
            numbers[j] = numbers[j + 1]
        numbers[begin + size - 1] = moved
    return index
