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

from foglight.cards import tricks
from foglight.cards.tricks import NONE, hides_only_cards, opening_card, playable_by_pairs
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Biased, Uniform
from foglight.randomness import generator
from foglight.rules import PUBLIC, Game, new_worlds, num_players, num_words, player
from foglight.state import State
from foglight.worlds.deals.cards import by_cards, card_marginals, distinct_deals
from foglight.worlds.deals.chains import Chain, settle
from foglight.worlds.deals.diagnostics import of_chains, of_weights
from foglight.worlds.deals.puzzle import Puzzle
from foglight.worlds.deals.redeal import DealWorlds, deal_worlds
from foglight.worlds.deals.replay import ILLEGAL, draw_patterns, replay_deals
from foglight.worlds.deals.ring_swap import Matrices, matrices
from foglight.worlds.deals.story import Story, Unfit, read
from foglight.worlds.marginals import Marginals

_STARTS = 256  # uniform deals drawn; a chain starts at the first one with positive reach probability
_RESAMPLED = 16  # uniform histories drawn per history kept, where no chain is possible
_TRIED = 64  # uniform deals that test whether worlds can be dealt anew (`redeal.py`)
_CHECKED = 8  # deals replayed to check a promise
_SEARCHED = 1024  # uniform deals replayed to find one history, where not every deal is a history
_GUESSES = 16  # random readings of a game without promises, until one yields a history
_LISTED = 50_000  # histories up to which marginals are computed from all of them, not from draws
_PATIENCE = 1000  # draws per history found, after which sampling gives up
_FEW_CELLS = 15  # cells of a suit-length matrix up to which RingSwap is worth listing neighbours
_FULL_SUPPORT = "give a policy that may play every action"


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
        self.game = load_game(game)
        if not tricks.is_trick_taking(self.game):
            raise BadInput(f"{self.game} is not a trick-taking game")
        if not PUBLIC <= viewer < num_players(self.game):
            raise BadInput(
                f"there is no viewer {viewer}; give a seat from 0 to {num_players(self.game) - 1}, or PUBLIC"
            )
        self.viewer, self.policy, self.mover, self.limit = viewer, policy, mover, limit
        self.observed = np.array(observations, np.int64)
        self.complete = not guess and bool(hides_only_cards(self.game))  # whether no history is missed
        self.by_pairs = self.complete and bool(playable_by_pairs(self.game))  # and every deal is a history
        self._diagnostics: dict[str, Any] = {}
        self._trace: np.ndarray | None = None  # of the last sample: float64[chains, draws, statistics]

    @cached_property
    def _puzzles(self) -> list[Puzzle]:
        """The puzzles that have a history, one for each story: each course of the actions that are no hidden cards."""
        if self.complete:
            return self._puzzles_of(None)
        for guess in range(_GUESSES):
            if puzzles := self._puzzles_of(guess):
                return puzzles
        raise Unfit(f"no history was found, but there may be one: {self._no_promise}")

    def _puzzles_of(self, guess: int | None) -> list[Puzzle]:
        """The puzzles that have a history; `guess` seeds a random reading of a game without promises."""
        puzzles = []
        for story in read(self.game, self.observed.tolist(), self.viewer, guess):
            if self.complete and not self.by_pairs:
                story.denied = {}
            puzzle = Puzzle(self.game, story, self.viewer, self._opener(story))
            if self._is_possible(puzzle):
                puzzles.append(puzzle)
        return puzzles

    @property
    def _no_promise(self) -> str:
        return (
            f"{self.game} does not promise that it hides only cards (foglight.cards.tricks.hides_only_cards); "
            "use method='layers'"
        )

    def _opener(self, story: Story) -> dict[int, int]:
        """The opening card and its owner: the mover, if nobody has led yet."""
        card = int(opening_card(self.game))
        return {card: self.mover} if story.opening and card != NONE and self.mover is not None else {}

    def _is_possible(self, puzzle: Puzzle) -> bool:
        """Whether a puzzle has a history: by one maximum flow and a few replays if pairs decide, else by a search."""
        deals = puzzle.deals.constructs(_CHECKED, np.random.default_rng(0))
        if deals is None:
            return False
        patterns = np.empty((_CHECKED, *puzzle.layout.pattern.shape), np.int64)
        draw_patterns(puzzle.layout, generator(0), patterns)
        good = self._replayed(puzzle, deals, patterns)[1] >= 0.0
        if self.by_pairs and good.any() and not good.all():
            raise Unfit(self._broken)
        if self.by_pairs and self._has_full_support:
            return bool(good.all())
        _, weights, worlds = self._replayed(puzzle, *puzzle.draw(_SEARCHED, generator(0)), any_mover=True)
        at_turn = self._at_turn(worlds)
        if (weights[at_turn] > 0.0).any():
            return True
        if not self.complete or (weights[~at_turn] >= 0.0).any():  # by the promise, the same seat moves in all
            return False
        if puzzle.total > self.limit:
            raise Unfit(
                f"none of {_SEARCHED} deals that agree with the observations agrees with all rules and the policy; to "
                f"check all {puzzle.total} would take more than {self.limit} trials; raise the limit"
            )
        return any((self._replayed(puzzle, *block)[1] > 0.0).any() for block in puzzle.all_deals(1 << 14))

    @property
    def _broken(self) -> str:
        return (
            f"{self.game} promises that it hides only cards and that pairs of them decide what may be played, but its "
            "rules refuse a deal that agrees with the observations; take the promise back, or use method='layers'"
        )

    @property
    def _has_full_support(self) -> bool:
        """Whether every history is possible under the policy, as far as the class of the policy tells."""
        if isinstance(self.policy, Biased):
            return 0.0 < self.policy.bias < 1.0
        return self.policy is None or isinstance(self.policy, Uniform)

    def _replayed(
        self, puzzle: Puzzle, deals: np.ndarray, patterns: np.ndarray, any_mover: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Histories, their probabilities under the policy (negative if the rules forbid one), and their last worlds."""
        histories = np.empty((len(deals), len(puzzle.layout.actions)), np.int64)
        weights, worlds = np.empty(len(deals)), new_worlds(self.game, len(deals))
        policy = Uniform() if self.policy is None else self.policy
        replay_deals(
            self.game, policy, puzzle.layout, deals, patterns, self.viewer, self.observed, histories, weights, worlds
        )
        if not any_mover:
            weights[~self._at_turn(worlds)] = ILLEGAL
        return histories, weights, worlds

    def _at_turn(self, worlds: np.ndarray) -> np.ndarray:
        """In which of these worlds it is the mover's turn, bool[n]; all of them without a mover."""
        if self.mover is None:
            return np.ones(len(worlds), bool)
        return _movers(self.game, worlds, np.empty(len(worlds), np.int64)) == self.mover

    def exists(self) -> bool:
        """Whether there is such a history: by a maximum flow and a few replays if pairs decide, else by a search."""
        return bool(self._puzzles)

    def _need_one(self) -> None:
        if not self._puzzles:
            ruled_out = "" if self._has_full_support else f", or the policy rules all of them out; {_FULL_SUPPORT}"
            raise BadInput(
                f"no history of {self.game} shows viewer {self.viewer} these observations; "
                f"they contradict each other or the rules: {self.observed.tolist()}{ruled_out}"
            )

    def construct(self, seed: int = 0) -> State:
        """One such history, random but not uniform; by maximum flow, without counting."""
        self._need_one()
        puzzle = self._puzzles[-1]
        deal = puzzle.deals.construct(np.random.default_rng(seed))
        assert deal is not None
        histories, weights, _ = self._replayed(puzzle, deal[None], puzzle.layout.pattern[None])
        return _state(self.game, histories[0] if weights[0] >= 0.0 else self._uniform(1, seed)[0][0])

    def count(self) -> int:
        """The exact number of such histories."""
        if self.by_pairs and self._has_full_support:
            for puzzle in self._puzzles:
                if (self._replayed(puzzle, *puzzle.draw(_CHECKED, generator(0)))[1] < 0.0).any():
                    raise Unfit(self._broken)
            return sum(puzzle.total for puzzle in self._puzzles)
        self._within_limit("counted")
        return sum(int((weights > 0.0).sum()) for _, weights, _ in self._listed(1 << 14))

    def _within_limit(self, what: str) -> None:
        """Refuse to list histories if some may be missed, or if there are more than `limit`."""
        if not self.complete:
            raise Unfit(f"histories cannot be {what} from deals: {self._no_promise}")
        total = sum(puzzle.total for puzzle in self._puzzles)
        if total > self.limit:
            why = (
                "pairs of cards do not decide what may be played"
                if not self.by_pairs
                else "the policy may rule some out"
            )
            raise Unfit(
                f"histories have to be {what} one by one, because {why}, and there are up to {total}, "
                f"more than {self.limit}; raise the limit, or sample"
            )

    def deals(self) -> int:
        """The number of deals: who holds, or has played, which card, however the cards were dealt and passed."""
        if self.by_pairs and self._has_full_support:
            lies: dict[tuple, int] = {}
            for puzzle in self._puzzles:
                lies.setdefault(puzzle.lie, puzzle.hands.unordered)
            sizes = [lie[0] for lie in lies]
            if len(set(sizes)) == len(sizes):  # hands of different sizes are different hands
                return sum(lies.values())
        self._within_limit("told apart")
        parts = [distinct_deals(self.game, worlds[weights > 0.0]) for _, weights, worlds in self._listed(1 << 14)]
        return len(np.unique(np.concatenate(parts), axis=0)) if parts else 0

    def enumerate(self) -> Iterator[tuple[State, float]]:
        """Every such history with its weight."""
        for histories, weights, _ in self.batches():
            for history, weight in zip(histories, weights.tolist(), strict=True):
                yield _state(self.game, history), weight

    def batches(self, size: int = 1 << 14) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The same in arrays: histories int64[n, T], weights float64[n], last worlds uint64[n, W]."""
        self._need_one()
        if not self.complete:
            raise Unfit(f"histories cannot be listed from deals: {self._no_promise}")
        yield from self._listed(size)

    def _listed(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for puzzle in self._puzzles:
            for deals, patterns in puzzle.all_deals(size):
                histories, weights, worlds = self._replayed(puzzle, deals, patterns)
                good = weights > 0.0
                weights = np.ones(len(weights)) if self.policy is None else weights * puzzle.story.chance
                yield histories[good], weights[good], worlds[good]

    def ranges(self, seat: int, limit: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The information states that `seat` may be in: the weight of each, and one history that leads to it."""
        self._need_one()
        total = sum(puzzle.total for puzzle in self._puzzles)
        if total > limit:
            raise BadInput(
                f"a range needs a list of all histories, and there are {total}, more than {limit}; "
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
        """n random histories: independent and exactly uniform without a policy; with one, from settled Gibbs chains.

        `swaps=True` chooses the chain by drawn rings, `swaps=False` RingSwap (`ring_swap.py`); by default the size of
        the suit-length matrix decides. With a policy, histories of several lengths, or of a game without
        `playable_by_pairs`, are drawn by importance resampling instead.
        """
        return [_state(self.game, history) for history in self.sample_arrays(n, seed, swaps, chains)[0]]

    def sample_arrays(
        self, n: int, seed: int = 0, swaps: bool | None = None, chains: int = 4
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The same in arrays: n histories, int64[T] each, and their last worlds, uint64[n, W]."""
        self._need_one()
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
            raise BadInput(f"{len(weights)} random histories all have probability 0; {_FULL_SUPPORT}")
        kept = np.random.default_rng(seed).choice(len(weights), n, p=weights / weights.sum())
        effective = min(float(n), of_weights(weights))
        self._diagnostics |= {"method": "importance resampling", "exact": False, "effective": effective}
        return [histories[i] for i in kept], worlds[kept]

    def affordable(self, n: int, draws: int = 50_000) -> int:
        """How many histories, at most n, about `draws` deals yield, by the share of a few that the rules allow."""
        self._need_one()
        if self.by_pairs:
            return n
        totals = [puzzle.total for puzzle in self._puzzles]
        shares = [
            (self._replayed(puzzle, *puzzle.draw(_SEARCHED, generator(1)))[1] >= 0.0).mean() for puzzle in self._puzzles
        ]
        share = sum(share * (total / sum(totals)) for share, total in zip(shares, totals, strict=True))
        return min(n, int(draws * share))

    def sample_worlds(self, n: int, seed: int = 0) -> np.ndarray:
        """n independent last worlds of uniform histories, uint64[n, W]; much faster than sampling histories."""
        self._need_one()
        if self._redealt is None:
            return self._uniform(n, seed)[2]
        return self._redealt.draw(n, generator(seed))

    @cached_property
    def _redealt(self) -> DealWorlds | None:
        """The fast sampler of worlds, if it reproduces a few worlds as replayed by the rules."""
        if not self._is_one_chain:
            return None
        puzzle = self._puzzles[0]
        deals, patterns = puzzle.draw(_TRIED, generator(0))
        histories, weights, worlds = self._replayed(puzzle, deals, patterns)
        sampler = deal_worlds(self.game, self.viewer, histories[0], worlds[0], puzzle.deals)
        if sampler is None or (weights < 0.0).any() or puzzle.layout.passes.any():
            return None
        begins = [0, *itertools.accumulate(puzzle.deals.needs)]
        return sampler if sampler.same(deals, begins, worlds) else None

    def weighted_worlds(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """n independent last worlds of uniform histories, with their weights under the policy."""
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

    def marginals(self, most: int, seed: int = 0) -> Marginals:
        """The probability of each card's place: by counting at any size, from all histories, or from `most` draws."""
        self._need_one()
        total = sum(puzzle.total for puzzle in self._puzzles)
        if self.policy is None and self.by_pairs:
            sums = np.zeros((64, num_players(self.game) + 1))
            for puzzle in self._puzzles:
                sums += self._counted(puzzle) * (puzzle.total / total)
            played_ = sum(1 << card for _, card in self._puzzles[0].story.plays)
            return by_cards(self.game, sums, played_, self.deals(), exact=True)
        if self.complete and total <= max(most, _LISTED):
            parts = [(weights, worlds) for _, weights, worlds in self._listed(1 << 14)]
            weights, worlds = np.concatenate([w for w, _ in parts]), np.concatenate([w for _, w in parts])
            exact = True
        else:
            _, worlds = self.sample_arrays(most, seed)
            weights, exact = np.ones(most), False
        return card_marginals(self.game, worlds, weights, exact)

    def _counted(self, puzzle: Puzzle) -> np.ndarray:
        """The probability that each card is in each seat's hand, or in no hand: float64[64, seats + 1]."""
        sums = np.zeros((64, num_players(self.game) + 1))
        sums[:, -1] = 1.0
        odds = {card: [float(at == seat) for seat in range(sums.shape[1])] for card, at in puzzle.known.items()}
        for card, shares in (odds | puzzle.hands.odds()).items():
            sums[card] = shares
        return sums

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample was drawn, and its effective sample size.

        For chains also: the acceptance rate, the transitions of all chains together, the burn-in of each, the thinning,
        R-hat, and whether the chains settled within the longest burn-in. Do not trust a sample whose chains did not
        settle.
        """
        report = dict(self._diagnostics)
        if self._trace is not None:
            report |= of_chains(self._trace)
        return report

    def _uniform(self, n: int, seed: int, by_chance: bool = False) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """n independent uniform histories, their weights, and their last worlds.

        With `by_chance`, the length of each history is drawn by its probability under chance, then a uniform history of
        that length; weights are the policy's alone. One short history can outweigh thousands of long ones, and would
        hardly ever be drawn uniformly.
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
                replayed, odds, ends_in = self._replayed(puzzle, *puzzle.draw(len(places), random))
                if self.policy is not None:
                    weights[places] = odds if by_chance else odds * puzzle.story.chance
                worlds[places] = ends_in
                for i in range(len(places)):
                    histories[places[i]] = replayed[i]
                rejected.append(places[odds < 0.0])
            drawn += len(missing)
            missing = np.concatenate(rejected)  # the rules forbid these: draw again, their story included
            if self.by_pairs and len(missing):
                raise Unfit(self._broken)
            if len(missing) and drawn > _PATIENCE * (n - len(missing) + 1) + _SEARCHED:
                raise Unfit(
                    f"of {drawn} deals that agree with the observations, only {n - len(missing)} agree with all rules "
                    f"of {self.game}; that is too few to draw {n} histories"
                )
        self._trace = None
        self._diagnostics = {
            "method": "uniform",
            "exact": self.complete,
            "acceptance": n / drawn if drawn else 1.0,
            "transitions": 0,
            "burn_in": 0,
            "effective": float(n),
        }
        return histories, weights, worlds

    @cached_property
    def _is_one_chain(self) -> bool:
        return len(self._puzzles) == 1 and self.by_pairs

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
        self._need_one()
        if not self._is_one_chain:
            raise BadInput(
                "chains need histories of one length, and a game that promises playable_by_pairs; use sample()"
            )
        return matrices(self._puzzles[0].deals, self._puzzles[0].suits)

    def _chain(self, suit_lengths: Matrices, swaps: bool, seed: int) -> Chain:
        puzzle, random = self._puzzles[0], generator(seed)
        deals, patterns = puzzle.draw(_STARTS, random)
        weights = np.maximum(self._replayed(puzzle, deals, patterns)[1], 0.0)
        if not weights.any():
            raise BadInput(f"{_STARTS} random deals all have probability 0; {_FULL_SUPPORT}")
        start = int(np.argmax(weights > 0.0))  # uniform among the deals of positive probability
        policy = Uniform() if self.policy is None else self.policy
        arguments = (self.game, policy, puzzle.layout, suit_lengths, self.viewer, self.observed, random)
        return Chain(arguments, deals[start], patterns[start], weights[start], swaps)

    def last_worlds(self, deals: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """The last worlds of histories that a chain has drawn."""
        return self._replayed(self._puzzles[0], deals, patterns)[2]

    def _gibbs(self, n: int, seed: int, swaps: bool | None, count: int) -> tuple[list[np.ndarray], np.ndarray]:
        """n histories from `count` settled chains, and their last worlds."""
        chains = self.chains(count, seed, swaps)
        settle(chains)
        thin = chains[0].thin
        drawn = [chain.run(-(-n // count), thin) for chain in chains]
        self._trace = np.stack([chain.statistics(*out) for chain, out in zip(chains, drawn, strict=True)])
        # one draw of each chain in turn
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


def _state(game: Game, history: np.ndarray) -> State:
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
