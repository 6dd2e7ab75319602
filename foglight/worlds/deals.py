"""Beliefs of trick-taking games: the histories that lead to what a viewer observed [Solinas2023, Section 5].

All that is hidden in these games are cards: who was dealt which, in which order, and which of them were passed on. So a
history is known up to a deal, and the deals are what `deal_count` counts and draws: each unseen card has a set of rows
that may own it, a row being a seat's hand as it is in play, or the cards that nobody was dealt.

Who may own a card is read from the observations (`deal_story`). Every history is replayed by the rules before it is
handed out, so that a game for which that did not suffice would cost rejected deals, and never give a wrong one.
"""

import bisect
import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from foglight.cards import tricks
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import generator
from foglight.rules import PUBLIC, new_worlds, num_players, num_words, player
from foglight.state import State
from foglight.worlds.chains import Chain, settle
from foglight.worlds.deal_puzzle import Puzzle
from foglight.worlds.deal_replay import ILLEGAL, replay_deals
from foglight.worlds.deal_story import read
from foglight.worlds.deal_worlds import DealWorlds, deal_worlds
from foglight.worlds.diagnostics import of_chains, of_weights
from foglight.worlds.ring_swap import Matrices, matrices

_STARTS = 256  # uniform deals, of which a chain starts at the first that the policy may reach
_RESAMPLED = 16  # uniform histories drawn for each one kept, where no chain can be had
_TRIED = 64  # uniform deals that show whether hidden cards decide who moves
_PATIENCE = 1000  # draws for each history wanted, after which sampling gives up
_FEW_CELLS = 15  # cells of a suit-length matrix up to which RingSwap is worth its neighbours
_FULL_SUPPORT = "give a policy that may play every action"


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
        self._trace: np.ndarray | None = None  # of the last sample: float64[chains, draws, statistics]

    @cached_property
    def _puzzles(self) -> list[Puzzle]:
        """One for each possible length of the history; those that no deal solves are left out."""
        found = []
        for story in read(self.game, self.observed.tolist(), self.viewer):
            puzzle = Puzzle(self.game, story, self.viewer)
            deal = puzzle.deals.construct(np.random.default_rng(0))
            if deal is not None:
                good = self._replayed(puzzle, deal[None], puzzle.layout.pattern[None])[1] >= 0.0
                if good.all() or self._allowed(puzzle).any():
                    found.append(puzzle)
        return found

    def _allowed(self, puzzle: Puzzle) -> np.ndarray:
        """Which of a few random deals the rules allow, bool[n]: all or none, unless hidden cards decide who moves."""
        if self.mover is None:
            return np.ones(0, bool)
        return self._replayed(puzzle, *puzzle.draw(_TRIED, generator(0)))[1] >= 0.0

    def _replayed(
        self, puzzle: Puzzle, deals: np.ndarray, patterns: np.ndarray
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

    def ranges(self, seat: int, limit: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The information states that `seat` may be in: the weight of each, and one history that shows it."""
        self._need_one()
        total = sum(puzzle.total for puzzle in self._puzzles)
        if total > limit:
            raise BadInput(
                f"a range is listed from all histories, and there are {total}, more than {limit}; "
                "raise the limit, or sample"
            )
        place: dict[int, int] = {}
        shares, shown = np.zeros(total), list[np.ndarray]()
        for histories, weights, worlds in self.batches():
            hashes, first, which = np.unique(
                worlds[weights > 0.0, num_words(self.game) + 1 + seat], return_index=True, return_inverse=True
            )
            for number, i in zip(hashes.tolist(), first.tolist(), strict=True):
                if place.setdefault(number, len(place)) == len(shown):
                    shown.append(histories[weights > 0.0][i])
            sums = np.bincount(which, weights[weights > 0.0], len(hashes))
            np.add.at(shares, [place[number] for number in hashes.tolist()], sums)
        return shares[: len(shown)], shown

    def sample(self, n: int, seed: int = 0, swaps: bool | None = None, chains: int = 4) -> list[State]:
        """n random histories: without a policy independent and exactly uniform; with one, from settled Gibbs chains.

        `swaps` chooses the cheaper chain of `ring_swap`, or RingSwap; not given, what suits the number of cards.
        """
        return [_state(self.game, history) for history in self.sample_arrays(n, seed, swaps, chains)[0]]

    def sample_arrays(
        self, n: int, seed: int = 0, swaps: bool | None = None, chains: int = 4
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The same as arrays: n histories, int64[T] each, and their last worlds, uint64[n, W]."""
        self._need_one()
        if self.policy is None:
            histories, _, worlds = self._uniform(n, seed)
            return histories, worlds
        if self._is_one_chain:
            return self._gibbs(n, seed, swaps, chains)
        # no ring connects histories of several lengths: draw many as chance would, and keep some as the policy would
        histories, weights, worlds = self._uniform(_RESAMPLED * n, seed, by_chance=True)
        if n == 0:
            return histories, worlds
        if not weights.any():
            raise BadInput(f"{len(weights)} random histories all have probability 0; {_FULL_SUPPORT}")
        kept = np.random.default_rng(seed).choice(len(weights), n, p=weights / weights.sum())
        effective = min(float(n), of_weights(weights))
        self._diagnostics |= {"method": "importance resampling", "exact": False, "effective": effective}
        return [histories[i] for i in kept], worlds[kept]

    def sample_worlds(self, n: int, seed: int = 0) -> np.ndarray:
        """n independent last worlds of uniform histories, uint64[n, W]: all that a search needs, and much faster."""
        self._need_one()
        if self._redealt is None:
            return self._uniform(n, seed)[2]
        return self._redealt.draw(n, generator(seed))

    @cached_property
    def _redealt(self) -> DealWorlds | None:
        """The fast way to worlds, if a few of them turn out as the rules say."""
        if not self._is_one_chain:
            return None
        puzzle = self._puzzles[0]
        deals, patterns = puzzle.draw(_TRIED, generator(0))
        histories, weights, worlds = self._replayed(puzzle, deals, patterns)
        found = deal_worlds(self.game, self.viewer, histories[0], worlds[0], puzzle.deals)
        if found is None or (weights < 0.0).any():
            return None
        begins = [0, *itertools.accumulate(puzzle.deals.needs)]
        return found if found.same(deals, begins, worlds) else None

    def weighted_worlds(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n independent last worlds of uniform histories with their weights under the policy."""
        self._need_one()
        _, weights, worlds = self._uniform(n, seed)
        return worlds, weights

    def weighted_sample(self, n: int, seed: int = 0) -> tuple[list[State], np.ndarray]:
        """n uniform histories with their weights, for importance sampling; without a policy all weights are 1."""
        self._need_one()
        histories, weights, _ = self._uniform(n, seed)
        if self.policy is not None:
            self._diagnostics |= {"method": "importance", "exact": False, "effective": of_weights(weights)}
        return [_state(self.game, history) for history in histories], weights

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample came about, and how many independent draws it is worth.

        Of chains also: acceptance rate, transitions of all, burn-in of each, thinning, R-hat, and whether they settled
        within the longest burn-in; if not, do not trust the sample.
        """
        found = dict(self._diagnostics)
        if self._trace is not None:
            found |= of_chains(self._trace)
        return found

    def _uniform(self, n: int, seed: int, by_chance: bool = False) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """n independent uniform histories, their weights and last worlds.

        Or each length as likely as chance makes it, and uniform histories of that length, weighted by the policy alone:
        a short history outweighs thousands of long ones, and would hardly ever be drawn.
        """
        random, lottery = generator(seed), Random(seed)
        ends = list(itertools.accumulate(puzzle.total for puzzle in self._puzzles))
        shares = [puzzle.total * puzzle.story.chance for puzzle in self._puzzles] if by_chance else []
        histories: list[np.ndarray] = [self.observed] * n
        weights, worlds, drawn = np.ones(n), new_worlds(self.game, n), 0
        missing = np.arange(n)
        while len(missing):
            if by_chance:
                ticket = lottery.choices(range(len(ends)), shares, k=len(missing))
            else:
                ticket = [bisect.bisect(ends, lottery.randrange(ends[-1])) if len(ends) > 1 else 0 for _ in missing]
            rejected = []
            for number, puzzle in enumerate(self._puzzles):
                places = missing[np.array(ticket) == number]
                found, odds, ends_in = self._replayed(puzzle, *puzzle.draw(len(places), random))
                if self.policy is not None:
                    weights[places] = odds if by_chance else odds * puzzle.story.chance
                worlds[places] = ends_in
                for i in range(len(places)):
                    histories[places[i]] = found[i]
                rejected.append(places[odds < 0.0])
            drawn += len(missing)
            missing = np.concatenate(rejected)  # the rules forbid these: draw again, their length included
            if drawn > _PATIENCE * n and len(missing) == n:
                raise BadInput(f"{drawn} deals agree with the voids shown, but none with all rules of {self.game}")
        self._trace = None
        self._diagnostics = {
            "method": "uniform",
            "exact": True,
            "acceptance": n / drawn if drawn else 1.0,
            "transitions": 0,
            "burn_in": 0,
            "effective": float(n),
        }
        return histories, weights, worlds

    @cached_property
    def _is_one_chain(self) -> bool:
        return len(self._puzzles) == 1 and bool(self._allowed(self._puzzles[0]).all())

    def chain(self, seed: int = 0, swaps: bool = False) -> Chain:
        """The Gibbs sampler, at a uniform history [Solinas2023, Section 5.4]; the policy needs full support."""
        return self._chain(self._matrices(), swaps, seed)

    def chains(self, count: int = 4, seed: int = 0, swaps: bool | None = None) -> list[Chain]:
        """Several of them, to be compared: they start further apart than the policy would have them."""
        if count < 1:
            raise BadInput(f"chains must be at least 1, not {count}")
        known = self._matrices()
        swaps = known.allowed.size > _FEW_CELLS if swaps is None else swaps
        return [self._chain(known, swaps, int(generator(seed, i)[0])) for i in range(count)]

    def _matrices(self) -> Matrices:
        self._need_one()
        if not self._is_one_chain:
            raise BadInput("a chain needs histories of one length, and a mover that no hidden card decides")
        return matrices(self._puzzles[0].deals, self._puzzles[0].suits)

    def _chain(self, known: Matrices, swaps: bool, seed: int) -> Chain:
        puzzle, random = self._puzzles[0], generator(seed)
        deals, patterns = puzzle.draw(_STARTS, random)
        weights = np.maximum(self._replayed(puzzle, deals, patterns)[1], 0.0)
        if not weights.any():
            raise BadInput(f"{_STARTS} random deals all have probability 0; {_FULL_SUPPORT}")
        start = int(np.argmax(weights > 0.0))  # the first that can be: uniform among all that can
        policy = Uniform() if self.policy is None else self.policy
        arguments = (self.game, policy, puzzle.layout, known, self.viewer, self.observed, random)
        return Chain(arguments, deals[start], patterns[start], weights[start], swaps)

    def last_worlds(self, deals: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """The worlds at the end of histories that a chain has drawn."""
        return self._replayed(self._puzzles[0], deals, patterns)[2]

    def _gibbs(self, n: int, seed: int, swaps: bool | None, count: int) -> tuple[list[np.ndarray], np.ndarray]:
        chains = self.chains(count, seed, swaps)
        settle(chains)
        thin = chains[0].thin
        drawn = [chain.run(-(-n // count), thin) for chain in chains]
        self._trace = np.stack([chain.statistics(*out) for chain, out in zip(chains, drawn, strict=True)])
        # in turn, one draw of each
        deals, patterns = (np.stack([out[i] for out in drawn], axis=1) for i in range(2))
        deals, patterns = deals.reshape(-1, deals.shape[-1])[:n], patterns.reshape(-1, *patterns.shape[-2:])[:n]
        histories, _, worlds = self._replayed(self._puzzles[0], deals, patterns)
        transitions = sum(chain.transitions for chain in chains)
        self._diagnostics = {
            "method": "drawn rings" if chains[0].swaps else "RingSwap",
            "exact": False,
            "chains": count,
            "acceptance": sum(chain.accepted for chain in chains) / transitions,
            "transitions": transitions,
            "burn_in": chains[0].burn_in,
            "settled": chains[0].settled,
            "thinning": thin,
        }
        return list(histories), worlds


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
