"""Beliefs of trick-taking games: the histories that lead to what a viewer observed [Solinas2023, Section 5].

All that is hidden in these games are cards: who was dealt which, in which order, and which of them were passed on. So a
history is known up to a deal, and the deals are what `deal_count` counts and draws: each unseen card has a set of rows
that may own it, a row being a seat's hand as it is in play, or the cards that nobody was dealt.

Who may own a card is read from the observations (`deal_story`). Every history is replayed by the rules before it is
handed out, so that a game for which that did not suffice would cost rejected deals, and never give a wrong one.

Cards passed on: each seat's dealt cards have places; a pattern says which places it passes, in which order. The row of
a place follows from the pattern, so patterns and deals are independent of each other, and both uniform.
"""

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from foglight.cards import tricks
from foglight.cards.deck import suit_of
from foglight.cards.tricks import pack
from foglight.compile import jitable, kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import generator
from foglight.rules import (
    PUBLIC,
    begin,
    new_worlds,
    num_players,
    player,
)
from foglight.state import State
from foglight.worlds.deal_count import HIDDEN, ILLEGAL, DealCount, Layout, draw_patterns, replay_deals
from foglight.worlds.deal_story import Story, read
from foglight.worlds.ring_swap import Chain, matrices

_STARTS = 256  # uniform deals of which a chain takes one to start with
_RESAMPLED = 16  # uniform histories drawn for each one kept, where no chain can be had
_TRIED = 64  # uniform deals that show whether hidden cards decide who moves
_PATIENCE = 1000  # draws for each history wanted, after which sampling gives up


class _Puzzle:
    """A story as a puzzle: what is free, how many ways there are to fill it, and how it becomes a history."""

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


class DealFilter:
    """The histories of a trick-taking game in which `viewer` observed exactly this.

    A history is the whole sequence of actions, the order of dealing and the cards passed included. Without a policy all
    of them weigh the same; with one, each weighs what the policy makes of it. `count` is exact by dynamic programming
    wherever the pairs of cards explained above say all, as they do in every game here. With a `mover`, only histories
    count after which it is that seat's turn.
    """

    def __init__(
        self, game: Any, observations: Sequence[int], viewer: int, policy: Any = None, mover: int | None = None
    ) -> None:
        self.game = load_game(game)
        if not tricks.is_trick_taking(self.game):
            raise BadInput(f"{self.game} is not a trick-taking game")
        if not PUBLIC <= viewer < num_players(self.game):
            raise BadInput(
                f"there is no viewer {viewer}; give a seat from 0 to {num_players(self.game) - 1}, or PUBLIC"
            )
        self.viewer, self.policy, self.mover = viewer, policy, mover
        self.observed = np.array(observations, np.int64)
        self._diagnostics: dict[str, Any] = {}

    @cached_property
    def _puzzles(self) -> list[_Puzzle]:
        """One for each possible length of the history; those that no deal solves are left out."""
        found = []
        for story in read(self.game, self.observed.tolist(), self.viewer):
            puzzle = _Puzzle(self.game, story, self.viewer)
            deal = puzzle.deals.construct(np.random.default_rng(0))
            if deal is not None:
                good = self._replayed(puzzle, deal[None], puzzle.layout.pattern[None])[1] >= 0.0
                if good.all() or self._allowed(puzzle).any():
                    found.append(puzzle)
        return found

    def _allowed(self, puzzle: _Puzzle) -> np.ndarray:
        """Which of a few random deals the rules allow, bool[n]: all or none, unless hidden cards decide who moves."""
        if self.mover is None:
            return np.ones(0, bool)
        return self._replayed(puzzle, *puzzle.draw(_TRIED, generator(0)))[1] >= 0.0

    def _replayed(
        self, puzzle: _Puzzle, deals: np.ndarray, patterns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Histories, their probabilities (negative if the rules forbid one), and their last worlds."""
        histories = np.empty((len(deals), len(puzzle.layout.actions)), np.int64)
        weights, worlds = np.empty(len(deals)), new_worlds(self.game, len(deals))
        policy = Uniform() if self.policy is None else self.policy
        replay_deals(
            self.game, policy, puzzle.layout, deals, patterns, self.viewer, self.observed, histories, weights, worlds
        )
        if self.mover is not None:
            weights[_movers(self.game, worlds, np.empty(len(worlds), np.int64)) != self.mover] = ILLEGAL
        return histories, weights, worlds

    def exists(self) -> bool:
        """Whether there is such a history: one maximum flow, and one replay."""
        return bool(self._puzzles)

    def _need_one(self) -> None:
        if not self._puzzles:
            raise BadInput(
                f"no history of {self.game} shows viewer {self.viewer} these observations; "
                f"they contradict each other or the rules: {self.observed.tolist()}"
            )

    def construct(self, seed: int = 0) -> State:
        """Some such history; random, but not uniformly. By maximum flow, without counting."""
        self._need_one()
        puzzle = self._puzzles[-1]
        deal = puzzle.deals.construct(np.random.default_rng(seed))
        assert deal is not None
        histories, weights, _ = self._replayed(puzzle, deal[None], puzzle.layout.pattern[None])
        return _state(self.game, histories[0] if weights[0] >= 0.0 else self._uniform(1, seed)[0][0])

    def count(self) -> int:
        """How many such histories there are, exactly."""
        if not all(self._allowed(puzzle).all() for puzzle in self._puzzles):
            raise BadInput("hidden cards decide who moves here; count without a mover, or sample")
        return sum(puzzle.total for puzzle in self._puzzles)

    def enumerate(self) -> Iterator[tuple[State, float]]:
        """Every such history with its weight."""
        for histories, weights, _ in self.batches():
            for history, weight in zip(histories, weights.tolist(), strict=True):
                yield _state(self.game, history), weight

    def batches(self, size: int = 1 << 14) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The same as arrays: histories int64[n, T], weights float64[n], last worlds uint64[n, W]."""
        self._need_one()
        for puzzle in self._puzzles:
            for deals, patterns in puzzle.all_deals(size):
                histories, weights, worlds = self._replayed(puzzle, deals, patterns)
                good = weights >= 0.0
                weights = np.ones(len(weights)) if self.policy is None else weights * puzzle.story.chance
                yield histories[good], weights[good], worlds[good]

    def sample(self, n: int, seed: int = 0, swaps: bool = False) -> list[State]:
        """n random histories: without a policy independent and exactly uniform; with one, from a settled Gibbs chain.

        `swaps` asks for the cheaper chain of `ring_swap`.
        """
        return [_state(self.game, history) for history in self.sample_arrays(n, seed, swaps)[0]]

    def sample_arrays(self, n: int, seed: int = 0, swaps: bool = False) -> tuple[list[np.ndarray], np.ndarray]:
        """The same as arrays: n histories, int64[T] each, and their last worlds, uint64[n, W]."""
        self._need_one()
        if self.policy is None:
            histories, _, worlds = self._uniform(n, seed)
            return histories, worlds
        if self._is_one_chain:
            return self._gibbs(n, seed, swaps)
        # no ring connects histories of several lengths: draw many and keep some, in proportion to their weights
        histories, weights, worlds = self._uniform(_RESAMPLED * n, seed)
        kept = np.random.default_rng(seed).choice(len(weights), n, p=weights / weights.sum())
        self._diagnostics |= {"method": "importance resampling", "exact": False, "effective": _effective(weights)}
        return [histories[i] for i in kept], worlds[kept]

    def weighted_sample(self, n: int, seed: int = 0) -> tuple[list[State], np.ndarray]:
        """n uniform histories with their weights, for importance sampling; without a policy all weights are 1."""
        self._need_one()
        histories, weights, _ = self._uniform(n, seed)
        return [_state(self.game, history) for history in histories], weights

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample came about: method, exact or not, acceptance rate, transitions, burn-in."""
        return dict(self._diagnostics)

    def _uniform(self, n: int, seed: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """n independent uniform histories, their weights and last worlds."""
        random, lottery = generator(seed), Random(seed)
        ends = list(itertools.accumulate(puzzle.total for puzzle in self._puzzles))
        histories: list[np.ndarray] = [self.observed] * n
        weights, worlds, drawn = np.ones(n), new_worlds(self.game, n), 0
        missing = np.arange(n)
        while len(missing):
            ticket = [bisect.bisect(ends, lottery.randrange(ends[-1])) if len(ends) > 1 else 0 for _ in missing]
            rejected = []
            for number, puzzle in enumerate(self._puzzles):
                places = missing[np.array(ticket) == number]
                found, odds, ends_in = self._replayed(puzzle, *puzzle.draw(len(places), random))
                if self.policy is not None:
                    weights[places] = odds * puzzle.story.chance
                worlds[places] = ends_in
                for i in range(len(places)):
                    histories[places[i]] = found[i]
                rejected.append(places[odds < 0.0])
            drawn += len(missing)
            missing = np.concatenate(rejected)  # the rules forbid these: draw again, their length included
            if drawn > _PATIENCE * n and len(missing) == n:
                raise BadInput(f"{drawn} deals agree with the voids shown, but none with all rules of {self.game}")
        accepted = n / drawn if drawn else 1.0
        self._diagnostics = {"method": "uniform", "exact": True, "acceptance": accepted, "transitions": 0, "burn_in": 0}
        return histories, weights, worlds

    @cached_property
    def _is_one_chain(self) -> bool:
        return len(self._puzzles) == 1 and bool(self._allowed(self._puzzles[0]).all())

    def chain(self, seed: int = 0, swaps: bool = False) -> Chain:
        """The Gibbs sampler, at a history drawn from a few uniform ones by weight; the policy needs full support."""
        self._need_one()
        if not self._is_one_chain:
            raise BadInput("a chain needs histories of one length, and a mover that no hidden card decides")
        puzzle, random = self._puzzles[0], generator(seed)
        deals, patterns = puzzle.draw(_STARTS, random)
        weights = np.maximum(self._replayed(puzzle, deals, patterns)[1], 0.0)
        if not weights.any():
            raise BadInput(f"{_STARTS} random deals all have probability 0; give a policy that may play every action")
        start = np.random.default_rng(seed).choice(_STARTS, p=weights / weights.sum())
        policy = Uniform() if self.policy is None else self.policy
        known = matrices(puzzle.deals, puzzle.suits)
        arguments = (self.game, policy, puzzle.layout, known, self.viewer, self.observed, random)
        return Chain(arguments, deals[start], patterns[start], weights[start], swaps)

    def last_worlds(self, deals: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """The worlds at the end of histories that a chain has drawn."""
        return self._replayed(self._puzzles[0], deals, patterns)[2]

    def _gibbs(self, n: int, seed: int, swaps: bool) -> tuple[list[np.ndarray], np.ndarray]:
        chain = self.chain(seed, swaps)
        chain.settle()
        histories, _, worlds = self._replayed(self._puzzles[0], *chain.run(n, chain.thin)[:2])
        self._diagnostics = {
            "method": "drawn rings" if chain.swaps else "RingSwap",
            "exact": False,
            "acceptance": chain.accepted / chain.transitions,
            "transitions": chain.transitions,
            "burn_in": chain.burn_in,
            "settled": chain.settled,  # False: the chain is slower than the longest burn-in; do not trust the sample
            "thinning": chain.thin,
        }
        return list(histories), worlds


def _effective(weights: np.ndarray) -> float:
    """How many equally weighted samples these are worth."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _state(game: Any, history: np.ndarray) -> State:
    state = State(game)
    for action in history.tolist():
        state.play(action)
    return state


# Kernels -----------------------------------------------------------------------------------------------------------


@kernel
def _movers(game, worlds, out):
    for i in range(len(worlds)):
        out[i] = player(game, worlds[i])
    return out


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
