"""What a seat can know, in any game: the worlds that agree with its observations, and how likely each of them is.

Every history counts alike. Trick-taking games that hide only cards are counted by deals, anew for each question. All
other games are tracked observation by observation. The belief is exact up to `_EXACT` worlds and a sample above. A
sample that dies and cannot be replaced is filtered again from the start of the game, once, with more worlds.

All random numbers follow from the game and the seat. So the answers are functions of the game, the seat and its
observations, whether the observations came one by one or all at once.
"""

import copy
import hashlib
import math
from typing import Any

import numpy as np

from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import generator, unit
from foglight.rules import NOTHING, Game, contents, new_worlds, num_players, num_words, places
from foglight.worlds.deals.cards import are_deals_better
from foglight.worlds.expansion import TooLong, chosen, thin
from foglight.worlds.filter import HistoryFilter, history_filter
from foglight.worlds.marginals import Marginals, marginals
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_EXACT = 20_000  # worlds up to which a tracked belief is exact
_ADDED_UP = 6000  # worlds up to which their contents are all added up, which takes up to 60 ms
_SAMPLES = (2000, 20_000)  # worlds of a sample, at first and after it was lost
_WORK = 1_000_000  # transitions per attempt to replace a dead sample; more rarely helps, and takes a second
_INTERPRETED = 300  # worlds where only Python can step them, a thousand times slower
_PATIENCE = 30_000  # transitions of one observation there: some seconds
_DRAWS = 20  # draws per deal, so that each of a few deals is drawn; one in e^20 is missed


def seed_of(*facts: Any) -> int:
    """A seed that follows from these facts, in any process."""
    return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:8], "little") >> 1


class Knowledge:
    """The belief of one seat of a game, from its observations alone. Questions leave it unchanged.

    `to_move` in a question says that the seat knows that it is its turn.
    """

    def __init__(self, game: str | Game, seat: int) -> None:
        self.game = load_game(game)
        if not 0 <= seat < num_players(self.game):
            raise BadInput(f"{self.game} has seats 0 to {num_players(self.game) - 1}, not {seat}")
        self.seat = seat
        self.observations: list[int] = []
        self._lost = 0  # samples lost so far
        self._filters: dict[bool, HistoryFilter] = {}
        self._tracker: Tracker | None = None
        self._by_deals = are_deals_better(self.game, _EXACT)
        if not self._by_deals:
            try:
                self._tracker = self._tracked()
            except TooLong:
                self._lost = len(_SAMPLES)

    def _tracked(self) -> Tracker:
        """A tracker at the start of the game."""
        seed = seed_of(str(self.game), self.seat, self._lost)
        words = isinstance(new_worlds(self.game, 1), np.ndarray)
        compiled = isinstance(self.game, tuple)
        cap, work, patience = (_EXACT, _WORK, math.inf) if compiled else (_INTERPRETED, None, _PATIENCE)
        return Tracker(self.game, self.seat, cap=cap, seed=seed, positions=words, work=work, patience=patience)

    def clone(self) -> "Knowledge":
        """A copy that goes on alone."""
        twin = copy.copy(self)
        twin._filters = {}
        twin._tracker = self._tracker.clone() if self._tracker is not None else None
        return twin

    def observe(self, observation: int) -> None:
        """Take the seat's next observation. BadInput if that is impossible, as far as this can be known now."""
        if observation == NOTHING:
            raise BadInput("NOTHING is not an observation")
        before = self.observations
        self.observations, self._filters = [*before, int(observation)], {}
        try:
            self._follow()
        except BadInput:
            self.observations = before
            raise

    def _follow(self) -> None:
        """Track up to the last observation, if that is how this game is known."""
        while self._tracker is not None and self._lost < len(_SAMPLES):
            try:
                for observation in self.observations[len(self._tracker.observations) :]:
                    self._tracker.observe(observation)
                    if not self._tracker.exact:
                        self._tracker.cap = min(_SAMPLES[self._lost], self._tracker.cap)
                return
            except (BeliefLost, TooLong):
                self._lost += 1
                if isinstance(self.game, tuple) and self._lost < len(_SAMPLES):
                    self._tracker = self._tracked()
                    self._tracker.cap = _SAMPLES[self._lost]
                else:
                    self._lost = len(_SAMPLES)

    def _filter(self, to_move: bool) -> HistoryFilter:
        if to_move not in self._filters:
            mover = self.seat if to_move else None
            self._filters[to_move] = history_filter(self.game, self.observations, self.seat, mover=mover)
        return self._filters[to_move]

    @property
    def _seed(self) -> int:
        return seed_of(str(self.game), self.seat, self.observations)

    def worlds(self, to_move: bool, most: int = _SAMPLES[0]) -> Worlds:
        """The worlds that may be true; of deals a sample of at most `most`. BeliefLost if none was found."""
        if self._by_deals:
            rows = self._filter(to_move).sample_worlds(most, self._seed)
            return Worlds(rows, np.full(len(rows), 1.0 / len(rows)), False)
        if self._tracker is None or self._lost == len(_SAMPLES):
            raise BeliefLost(f"no world was found that explains all {len(self.observations)} observations")
        try:
            return self._tracker.worlds(turn_only=to_move)
        except TooLong as error:
            raise BeliefLost(str(error)) from None

    def one_world(self, to_move: bool) -> Any:
        """One of the worlds that may be true."""
        return self.worlds(to_move, 1).rows[0]

    def marginals(self, to_move: bool) -> Marginals:
        """What may be where: for each place of the game, the probability of each content."""
        if self._by_deals:
            return self._filter(to_move).belief(_SAMPLES[0], self._seed)
        worlds = self.worlds(to_move)
        if not worlds.exact or len(worlds.weights) > _ADDED_UP:
            worlds = _thinned(worlds, _SAMPLES[0], self._seed)
        return marginals(self.game, worlds.rows, worlds.weights.tolist(), worlds.exact)

    def some(self, to_move: bool, most: int) -> Worlds:
        """At most `most` different worlds to look at, the likeliest first, with their probabilities in the belief."""
        if not self._by_deals:
            worlds = self.worlds(to_move)
            kept, complete = np.arange(len(worlds.weights)), worlds.exact
            if len(kept) > most:
                kept, complete = thin(worlds.weights, most, unit(generator(self._seed)))[0], False
        else:
            deals, share = self._deals(to_move), self._filter(to_move).share_of_a_deal()
            draws = self.worlds(to_move, most if deals is None or deals > most else _DRAWS * most)
            _, first, counts = np.unique(
                draws.rows[:, : num_words(self.game)], axis=0, return_index=True, return_counts=True
            )
            kept = first[np.argsort(first)][:most]
            weights = np.zeros(len(draws.rows))
            weights[first] = counts / counts.sum() if share is None else share
            worlds, complete = Worlds(draws.rows, weights, False), len(kept) == deals
        order = kept[np.argsort(-worlds.weights[kept], kind="stable")]
        return Worlds(chosen(worlds.rows, order), worlds.weights[order], complete)

    def _deals(self, to_move: bool) -> int | None:
        try:
            return self._filter(to_move).deals()
        except BadInput:
            return None

    def share(self, world: Any, to_move: bool) -> float | None:
        """The probability that the belief gives to a world; None if that is not known: a sample may have missed it."""
        if self._by_deals:
            return self._filter(to_move).share_of_a_deal()
        worlds = self.worlds(to_move)
        if isinstance(worlds.rows, np.ndarray):
            words = num_words(self.game)
            same = (worlds.rows[:, :words] == world[:words]).all(1)
        else:
            same = np.array([row.tobytes() == world.tobytes() for row in worlds.rows])
        if not same.any() and not worlds.exact:
            return None
        return float(worlds.weights[same].sum())

    def is_misled(self, world: Any, to_move: bool) -> bool:
        """Whether the belief holds a world for clearly less likely than what else it holds possible.

        That is so if its probability is less than half of that of an average world. Where a sample has missed it, each
        world is measured by its contents: the mean probability of what it has at the places. The belief is misled if at
        most a tenth of it lies on worlds whose contents are no likelier.
        """
        share = self.share(world, to_move)
        if self._by_deals and share is not None:
            return False
        worlds = self.worlds(to_move)
        if share is not None:
            return share < 0.5 / len(worlds.weights)
        if not places(self.game)[0]:
            return True
        worlds = _thinned(worlds, _SAMPLES[0], self._seed)
        odds = self.marginals(to_move).odds
        scores = np.array([likelihood(odds, contents(self.game, row)) for row in worlds.rows])
        return float(worlds.weights[scores <= likelihood(odds, contents(self.game, world)) + 1e-12].sum()) <= 0.1


def likelihood(odds: list[dict[str, float]], what: list[str]) -> float:
    """The mean probability of these contents of all places."""
    return sum(place.get(content, 0.0) for place, content in zip(odds, what, strict=True)) / len(odds)


def _thinned(worlds: Worlds, most: int, seed: int) -> Worlds:
    if len(worlds.weights) <= most:
        return worlds
    kept, weights, _ = thin(worlds.weights, most, unit(generator(seed)))
    return Worlds(chosen(worlds.rows, kept), weights / weights.sum(), False)
