"""Beliefs in trick-taking games: the histories that agree with a viewer's observations [Solinas2023, Section 5].

These games hide nothing but cards: who was dealt which card, in which order, and which cards were passed on or laid
aside. So a deal determines the rest of a history, and deals can be counted and drawn (`count.py`). Each unseen card has
a set of rows that may own it. A row is a seat's hand as it is in play, or a group of cards that are in no hand.

The possible owners of a card are read from the observations (`story.py`). Whether this reading is right depends on the
rules, and no number of trials can prove it. So the filter relies on the game's promises (`foglight.cards.tricks`):

    promised                               count                       sample                      no history found
    hides_only_cards, playable_by_pairs    from the table              every deal is a history     there is none
    hides_only_cards                       by listing, up to `limit`   by rejection                there is none
    nothing                                refused                     by rejection, not `exact`   refused

With `hides_only_cards` alone, the cards played exclude no owner beforehand, so that no history is missed. Every history
is replayed by the rules before it is returned. A few are also replayed when a filter is made and when it counts. If the
rules refuse a history that a promise allows, `Unfit` is raised.
"""

import bisect
import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import generator
from foglight.rules import Game, new_worlds, num_players
from foglight.state import State, replay
from foglight.worlds.deals.cards import by_cards, card_marginals, distinct_deals
from foglight.worlds.deals.chains import Chain, chain_report, draw, effective_size
from foglight.worlds.deals.histories import CHECKED, FULL_SUPPORT, SEARCHED, Arrays, Histories
from foglight.worlds.deals.redeal import DealWorlds, deal_worlds
from foglight.worlds.deals.ring_swap import Matrices, matrices
from foglight.worlds.deals.story import Unfit
from foglight.worlds.marginals import Marginals

_STARTS = 256  # uniform deals drawn; a chain starts at the first one with positive reach probability
_RESAMPLED = 16  # uniform histories drawn per history kept, where no chain is possible
_TRIED = 64  # uniform deals that test whether worlds can be dealt anew (`redeal.py`)
_LISTED = 50_000  # histories up to which marginals are computed from all of them, not from draws
_PATIENCE = 1000  # draws per history found, after which sampling gives up
_FEW_CELLS = 15  # cells of a suit-length matrix up to which RingSwap is worth listing neighbours


class DealFilter:
    """The histories of a trick-taking game in which `viewer` observed exactly this.

    A history is the whole sequence of actions, the order of dealing and the cards passed included. Without a policy all
    histories have weight 1; with one, the weight of a history is its reach probability. With a `mover`, only histories
    after which it is that seat's turn count. `limit` bounds the histories listed where counting needs a list. With
    `guess` the game is treated as if it promised nothing. Pairs of cards still exclude owners then, so legal histories
    are found fast, but perhaps not all of them.
    """

    def __init__(
        self,
        game: str | Game,
        observations: Sequence[int],
        viewer: int,
        policy: Any = None,
        mover: int | None = None,
        limit: int = 1_000_000,
        guess: bool = False,
    ) -> None:
        self.histories = Histories(game, observations, viewer, policy, mover, limit, guess)
        self.game, self.policy = self.histories.game, policy
        self._diagnostics: dict[str, Any] = {}
        self._trace: np.ndarray | None = None  # of the last sample: float64[chains, draws, statistics]

    def exists(self) -> bool:
        """Whether there is such a history: by a maximum flow and a few replays if pairs decide, else by a search."""
        return bool(self.histories.puzzles)

    def construct(self, seed: int = 0) -> State:
        """One such history, random but not uniform; by maximum flow, without counting."""
        self.histories.require()
        puzzle = self.histories.puzzles[-1]
        deal = puzzle.deals.construct(np.random.default_rng(seed))
        assert deal is not None
        histories, weights, _ = self.histories.replayed(puzzle, deal[None], puzzle.layout.pattern[None])
        history = histories[0] if weights[0] >= 0.0 else self._uniform(1, seed)[0][0]
        return replay(self.game, history.tolist())

    def count(self) -> int:
        """The exact number of such histories."""
        if self.histories.by_pairs and self.histories.full_support:
            for puzzle in self.histories.puzzles:
                if (self.histories.replayed(puzzle, *puzzle.draw(CHECKED, generator(0)))[1] < 0.0).any():
                    raise Unfit(self.histories.broken)
            return self.histories.total
        self._within_limit("counted")
        return sum(len(weights) for _, weights, _ in self.histories.listed())

    def _within_limit(self, what: str) -> None:
        """Refuse to list histories if some may be missed, or if there are more than `limit`."""
        if not self.histories.complete:
            raise Unfit(f"histories cannot be {what} from deals: {self.histories.no_promise}")
        total = self.histories.total
        if total > self.histories.limit:
            by_rules = "pairs of cards do not decide what may be played"
            why = "the policy may rule some out" if self.histories.by_pairs else by_rules
            raise Unfit(
                f"histories have to be {what} one by one, because {why}, and there are up to {total}, "
                f"more than {self.histories.limit}; raise the limit, or sample"
            )

    def deals(self) -> int:
        """The number of deals: who holds, or has played, which card, however the cards were dealt and passed."""
        if self.histories.by_pairs and self.histories.full_support:
            lies: dict[tuple, int] = {}
            for puzzle in self.histories.puzzles:
                lies.setdefault(puzzle.lie, puzzle.hands.unordered)
            sizes = [lie[0] for lie in lies]
            if len(set(sizes)) == len(sizes):  # hands of different sizes are different hands
                return sum(lies.values())
        self._within_limit("told apart")
        parts = [distinct_deals(self.game, worlds) for _, _, worlds in self.histories.listed()]
        return len(np.unique(np.concatenate(parts), axis=0)) if parts else 0

    def share_of_a_deal(self) -> float | None:
        """The probability of each deal, if all are equally likely; None if they may differ, or cannot be counted.

        They are equally likely where one story leaves cards open, and each hand and the rest are one row of its puzzle.
        """
        if not self._is_one_chain or self.policy is not None:
            return None
        puzzle = self.histories.puzzles[0]
        return 1.0 / self.deals() if len(set(puzzle.where)) == len(puzzle.where) else None

    def enumerate(self) -> Iterator[tuple[State, float]]:
        """Every such history with its weight."""
        for histories, weights, _ in self.batches():
            for history, weight in zip(histories, weights.tolist(), strict=True):
                yield replay(self.game, history.tolist()), weight

    def batches(self) -> Iterator[Arrays]:
        """The same in arrays: histories int64[n, T], weights float64[n], last worlds uint64[n, W]."""
        self.histories.require()
        if not self.histories.complete:
            raise Unfit(f"histories cannot be listed from deals: {self.histories.no_promise}")
        yield from self.histories.listed()

    def sample(self, n: int, seed: int = 0, swaps: bool | None = None, chains: int = 4) -> list[State]:
        """n random histories: independent and exactly uniform without a policy; with one, from settled Gibbs chains.

        `swaps=True` chooses the chain by drawn rings, `swaps=False` RingSwap (`ring_swap.py`); by default the size of
        the suit-length matrix decides. With a policy, histories of several lengths, or of a game without
        `playable_by_pairs`, are drawn by importance resampling instead.
        """
        return [replay(self.game, history.tolist()) for history in self.sample_arrays(n, seed, swaps, chains)[0]]

    def sample_arrays(
        self, n: int, seed: int = 0, swaps: bool | None = None, chains: int = 4
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The same in arrays: n histories, int64[T] each, and their last worlds, uint64[n, W]."""
        self.histories.require()
        if self.policy is None:
            histories, _, worlds = self._uniform(n, seed)
            return histories, worlds
        if self._is_one_chain:
            return self._gibbs(n, seed, swaps, chains)
        # no ring connects histories of several lengths: draw many as chance would, then resample by policy
        histories, weights, worlds = self._uniform(_RESAMPLED * n, seed, by_chance=True)
        if n == 0:
            return histories, worlds
        if not weights.any():
            raise BadInput(f"{len(weights)} random histories all have probability 0; {FULL_SUPPORT}")
        kept = np.random.default_rng(seed).choice(len(weights), n, p=weights / weights.sum())
        effective = min(float(n), effective_size(weights))
        self._diagnostics |= {"method": "importance resampling", "exact": False, "effective": effective}
        return [histories[i] for i in kept], worlds[kept]

    def affordable(self, n: int, draws: int = 50_000) -> int:
        """How many histories, at most n, about `draws` deals yield, by the share of a few that the rules allow."""
        self.histories.require()
        if self.histories.by_pairs:
            return n
        totals = [puzzle.total for puzzle in self.histories.puzzles]
        shares = [
            (self.histories.replayed(puzzle, *puzzle.draw(SEARCHED, generator(1)))[1] >= 0.0).mean()
            for puzzle in self.histories.puzzles
        ]
        share = sum(share * (total / sum(totals)) for share, total in zip(shares, totals, strict=True))
        return min(n, int(draws * share))

    def sample_worlds(self, n: int, seed: int = 0) -> np.ndarray:
        """n independent last worlds of uniform histories, uint64[n, W]; much faster than sampling histories."""
        self.histories.require()
        if self._redealt is None:
            return self._uniform(n, seed)[2]
        return self._redealt.draw(n, generator(seed))

    @cached_property
    def _redealt(self) -> DealWorlds | None:
        """The fast sampler of worlds, if it reproduces a few worlds as replayed by the rules."""
        if not self._is_one_chain:
            return None
        puzzle = self.histories.puzzles[0]
        deals, patterns = puzzle.draw(_TRIED, generator(0))
        histories, weights, worlds = self.histories.replayed(puzzle, deals, patterns)
        sampler = deal_worlds(self.game, self.histories.viewer, histories[0], worlds[0], puzzle.deals)
        if sampler is None or (weights < 0.0).any() or puzzle.layout.passes.any():
            return None
        begins = [0, *itertools.accumulate(puzzle.deals.needs)]
        return sampler if sampler.same(deals, begins, worlds) else None

    def weighted(self, n: int, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """n independent uniform histories, their weights under the policy, and their last worlds."""
        self.histories.require()
        histories, weights, worlds = self._uniform(n, seed)
        if self.policy is not None:
            self._diagnostics |= {"method": "importance", "exact": False, "effective": effective_size(weights)}
        return histories, weights, worlds

    def marginals(self, most: int, seed: int = 0) -> Marginals:
        """The probability of each card's place: by counting at any size, from all histories, or from `most` draws."""
        self.histories.require()
        total = self.histories.total
        if self.policy is None and self.histories.by_pairs:
            sums = np.zeros((64, num_players(self.game) + 1))
            for puzzle in self.histories.puzzles:
                sums += puzzle.odds() * (puzzle.total / total)
            played_ = sum(1 << card for _, card in self.histories.puzzles[0].story.plays)
            return by_cards(self.game, sums, played_, self.deals(), exact=True)
        if self.histories.complete and total <= max(most, _LISTED):
            parts = [(weights, worlds) for _, weights, worlds in self.histories.listed()]
            weights, worlds = np.concatenate([w for w, _ in parts]), np.concatenate([w for _, w in parts])
            exact = True
        else:
            _, worlds = self.sample_arrays(most, seed)
            weights, exact = np.ones(most), False
        return card_marginals(self.game, worlds, weights, exact)

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample was drawn, and its effective sample size.

        For chains also: the acceptance rate, the transitions of all chains together, the burn-in of each, the thinning,
        R-hat, and whether the chains settled within the longest burn-in. Do not trust a sample whose chains did not
        settle.
        """
        report = dict(self._diagnostics)
        if self._trace is not None:
            report |= chain_report(self._trace)
        return report

    def _uniform(self, n: int, seed: int, by_chance: bool = False) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """n independent uniform histories, their weights, and their last worlds.

        With `by_chance`, the length of each history is drawn by its probability under chance, then a uniform history of
        that length; weights are the policy's alone. One short history can outweigh thousands of long ones, and would
        hardly ever be drawn uniformly.
        """
        random, lottery = generator(seed), Random(seed)
        ends = list(itertools.accumulate(puzzle.total for puzzle in self.histories.puzzles))
        shares = [puzzle.total * puzzle.story.chance for puzzle in self.histories.puzzles] if by_chance else []
        histories: list[np.ndarray] = [self.histories.observed] * n
        weights, worlds, drawn = np.ones(n), new_worlds(self.game, n), 0
        missing = np.arange(n)
        while len(missing):
            if by_chance:
                ticket = lottery.choices(range(len(ends)), shares, k=len(missing))
            else:
                ticket = [bisect.bisect(ends, lottery.randrange(ends[-1])) if len(ends) > 1 else 0 for _ in missing]
            rejected = []
            for number, puzzle in enumerate(self.histories.puzzles):
                places = missing[np.array(ticket) == number]
                replayed, odds, ends_in = self.histories.replayed(puzzle, *puzzle.draw(len(places), random))
                if self.policy is not None:
                    weights[places] = odds if by_chance else odds * puzzle.story.chance
                worlds[places] = ends_in
                for i in range(len(places)):
                    histories[places[i]] = replayed[i]
                rejected.append(places[odds < 0.0])
            drawn += len(missing)
            missing = np.concatenate(rejected)  # the rules forbid these: draw again, their story included
            if self.histories.by_pairs and len(missing):
                raise Unfit(self.histories.broken)
            if len(missing) and drawn > _PATIENCE * (n - len(missing) + 1) + SEARCHED:
                raise Unfit(
                    f"of {drawn} deals that agree with the observations, only {n - len(missing)} agree with all rules "
                    f"of {self.game}; that is too few to draw {n} histories"
                )
        self._trace = None
        self._diagnostics = {
            "method": "uniform",
            "exact": self.histories.complete,
            "acceptance": n / drawn if drawn else 1.0,
            "transitions": 0,
            "burn_in": 0,
            "effective": float(n),
        }
        return histories, weights, worlds

    @cached_property
    def _is_one_chain(self) -> bool:
        return len(self.histories.puzzles) == 1 and self.histories.by_pairs

    def chain(self, seed: int = 0, swaps: bool = False) -> Chain:
        """A Gibbs sampler, started at a uniform history [Solinas2023, Section 5.4]; the policy needs full support."""
        return self._chain(self._matrices(), swaps, seed)

    def chains(self, count: int = 4, seed: int = 0, swaps: bool | None = None) -> list[Chain]:
        """Several chains to be compared; their uniform starts are further apart than the policy's histories."""
        if count < 1:
            raise BadInput(f"chains must be at least 1, not {count}")
        suit_lengths = self._matrices()
        swaps = suit_lengths.allowed.size > _FEW_CELLS if swaps is None else swaps
        return [self._chain(suit_lengths, swaps, int(generator(seed, i)[0])) for i in range(count)]

    def _matrices(self) -> Matrices:
        self.histories.require()
        if not self._is_one_chain:
            raise BadInput(
                "chains need histories of one length, and a game that promises playable_by_pairs; use sample()"
            )
        return matrices(self.histories.puzzles[0].deals, self.histories.puzzles[0].suits)

    def _chain(self, suit_lengths: Matrices, swaps: bool, seed: int) -> Chain:
        puzzle, random = self.histories.puzzles[0], generator(seed)
        deals, patterns = puzzle.draw(_STARTS, random)
        weights = np.maximum(self.histories.replayed(puzzle, deals, patterns)[1], 0.0)
        if not weights.any():
            raise BadInput(f"{_STARTS} random deals all have probability 0; {FULL_SUPPORT}")
        start = int(np.argmax(weights > 0.0))  # uniform among the deals of positive probability
        policy = Uniform() if self.policy is None else self.policy
        seen = self.histories.viewer, self.histories.observed
        arguments = (self.game, policy, puzzle.layout, suit_lengths, *seen, random)
        return Chain(arguments, deals[start], patterns[start], weights[start], swaps)

    def last_worlds(self, deals: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """The last worlds of histories that a chain has drawn."""
        return self.histories.replayed(self.histories.puzzles[0], deals, patterns)[2]

    def _gibbs(self, n: int, seed: int, swaps: bool | None, count: int) -> tuple[list[np.ndarray], np.ndarray]:
        """n histories from `count` settled chains, and their last worlds."""
        deals, patterns, self._trace, self._diagnostics = draw(self.chains(count, seed, swaps), n)
        histories, _, worlds = self.histories.replayed(self.histories.puzzles[0], deals, patterns)
        return list(histories), worlds
