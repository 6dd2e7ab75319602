"""The histories that agree with a viewer's observations in a trick-taking game, as puzzles, replayed by the rules.

A story (`story.py`) leaves some cards open: its puzzle (`puzzle.py`). A puzzle is kept if it has a history. Whether it
has one is found by a maximum flow and a few replays if the game promises `playable_by_pairs`. Otherwise random deals
are replayed, and all deals if none of these is a history.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from foglight.cards.tricks import NONE, hides_only_cards, is_trick_taking, opening_card, playable_by_pairs
from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Biased, Uniform
from foglight.randomness import generator
from foglight.rules import PUBLIC, Game, new_worlds, num_players, player
from foglight.worlds.deals.puzzle import Puzzle
from foglight.worlds.deals.replay import ILLEGAL, draw_patterns, replay_deals
from foglight.worlds.deals.story import Story, Unfit, read

CHECKED = 8  # deals replayed to check a promise
SEARCHED = 1024  # uniform deals replayed to find one history, where not every deal is a history
FULL_SUPPORT = "give a policy that may play every action"
_GUESSES = 16  # random readings of a game without promises, until one yields a history

# histories int64[n, T], their weights float64[n], their last worlds uint64[n, W]
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


class Histories:
    """The histories of a trick-taking game in which `viewer` observed exactly this, as puzzles.

    The arguments are those of `DealFilter`.
    """

    def __init__(
        self,
        game: str | Game,
        observations: Sequence[int],
        viewer: int,
        policy: Any,
        mover: int | None,
        limit: int,
        guess: bool,
    ) -> None:
        self.game = load_game(game)
        if not is_trick_taking(self.game):
            raise BadInput(f"{self.game} is not a trick-taking game")
        if not PUBLIC <= viewer < num_players(self.game):
            raise BadInput(
                f"there is no viewer {viewer}; give a seat from 0 to {num_players(self.game) - 1}, or PUBLIC"
            )
        self.viewer, self.policy, self.mover, self.limit = viewer, policy, mover, limit
        self.observed = np.array(observations, np.int64)
        self.complete = not guess and bool(hides_only_cards(self.game))  # whether no history is missed
        self.by_pairs = self.complete and bool(playable_by_pairs(self.game))  # and every deal is a history

    @cached_property
    def puzzles(self) -> list[Puzzle]:
        """The puzzles that have a history, one for each story: each course of the actions that are no hidden cards."""
        if self.complete:
            return self._puzzles_of(None)
        for guess in range(_GUESSES):
            if puzzles := self._puzzles_of(guess):
                return puzzles
        raise Unfit(f"no history was found, but there may be one: {self.no_promise}")

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
    def total(self) -> int:
        """The number of histories, if every deal is one."""
        return sum(puzzle.total for puzzle in self.puzzles)

    @property
    def no_promise(self) -> str:
        """The error of a game without promises."""
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
        deals = puzzle.deals.constructs(CHECKED, np.random.default_rng(0))
        if deals is None:
            return False
        patterns = np.empty((CHECKED, *puzzle.layout.pattern.shape), np.int64)
        draw_patterns(puzzle.layout, generator(0), patterns)
        good = self.replayed(puzzle, deals, patterns)[1] >= 0.0
        if self.by_pairs and good.any() and not good.all():
            raise Unfit(self.broken)
        if self.by_pairs and self.full_support:
            return bool(good.all())
        _, weights, worlds = self.replayed(puzzle, *puzzle.draw(SEARCHED, generator(0)), any_mover=True)
        at_turn = self._at_turn(worlds)
        if (weights[at_turn] > 0.0).any():
            return True
        if not self.complete or (weights[~at_turn] >= 0.0).any():  # by the promise, the same seat moves in all
            return False
        if puzzle.total > self.limit:
            raise Unfit(
                f"none of {SEARCHED} deals that agree with the observations agrees with all rules and the policy; to "
                f"check all {puzzle.total} would take more than {self.limit} trials; raise the limit"
            )
        return any((self.replayed(puzzle, *block)[1] > 0.0).any() for block in puzzle.all_deals(1 << 14))

    @property
    def broken(self) -> str:
        """The error of a game that breaks its promises."""
        return (
            f"{self.game} promises that it hides only cards and that pairs of them decide what may be played, but its "
            "rules refuse a deal that agrees with the observations; take the promise back, or use method='layers'"
        )

    @property
    def full_support(self) -> bool:
        """Whether every history is possible under the policy, as far as the class of the policy tells."""
        if isinstance(self.policy, Biased):
            return 0.0 < self.policy.bias < 1.0
        return self.policy is None or isinstance(self.policy, Uniform)

    def replayed(self, puzzle: Puzzle, deals: np.ndarray, patterns: np.ndarray, any_mover: bool = False) -> Arrays:
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

    def require(self) -> None:
        """Raise an error if there is no history."""
        if not self.puzzles:
            ruled_out = "" if self.full_support else f", or the policy rules all of them out; {FULL_SUPPORT}"
            raise BadInput(
                f"no history of {self.game} shows viewer {self.viewer} these observations; "
                f"they contradict each other or the rules: {self.observed.tolist()}{ruled_out}"
            )

    def listed(self, size: int = 1 << 14) -> Iterator[Arrays]:
        """All histories of positive weight, in arrays of at most `size`."""
        for puzzle in self.puzzles:
            for deals, patterns in puzzle.all_deals(size):
                histories, weights, worlds = self.replayed(puzzle, deals, patterns)
                good = weights > 0.0
                weights = np.ones(len(weights)) if self.policy is None else weights * puzzle.story.chance
                yield histories[good], weights[good], worlds[good]


@kernel
def _movers(game, worlds, out):
    for i in range(len(worlds)):
        out[i] = player(game, worlds[i])
    return out
