"""A seat's belief, updated observation by observation: the possible worlds and the probability of each.

`observe` computes the next layer of worlds from the last one (`expansion.py`). Without a policy all histories count
alike, so the weight of a world is the number of histories that lead to it. With a policy, the weight is the reach
probability due to chance and the other seats. The seat's own choices are left out: they depend on its information state
alone and would scale every weight by the same factor.

The set is exact up to `cap` distinct worlds; beyond that it is a weighted sample of `cap` worlds. A sample has died
when none of its worlds explains an observation. Three remedies are tried in order:

- filter again from the last exact layer, with a larger sample;
- search for histories that explain the observations (`regeneration.py`);
- filter again from the layers remembered on the way, the nearest first, with the largest samples.

The first remedy is also tried when only a few worlds of a sample survive, unless `refill` is off. If all fail, the
belief is lost; `stray` then goes on from the nearest worlds (`nearest.py`).

While the set is exact, a world that only actions of probability 0 lead to is kept, with weight 0. When every world left
has weight 0, the policy was wrong about some seat; all worlds left then get equal weights.
"""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import fold, systematic, unit
from foglight.rules import NOTHING, PUBLIC, Game, begin, new_worlds, num_players, num_words
from foglight.worlds.expansion import Expansion, Explained, chosen, thin
from foglight.worlds.nearest import allowing, moved_on, with_observations
from foglight.worlds.regeneration import BeliefLost, Layer, regenerate, starts

_KEPT = 1000  # worlds remembered of each earlier sample, as starts of a search
_FEW = 100  # a sample with fewer survivors is filtered again, if one observation has ruled out more than half of it
_LARGER, _LARGEST = 16, 400_000  # a sample filtered again has _LARGER * cap worlds, at most _LARGEST
_WORK = 20_000_000  # transitions per attempt to replace a dead sample: a second or two in most games
_WORK_PER_WORLD = 500  # the same for each world of a large cap: enough to follow so many worlds for a few observations
_WORK_INTERPRETED = 50_000  # the same where worlds are boxed


@dataclass(frozen=True)
class Worlds:
    """Possible worlds with their probabilities.

    >>> tracker = fl.Tracker("kuhn_poker", seat=0)
    >>> worlds = tracker.worlds(turn_only=False)  # before anything is observed
    >>> len(worlds.rows) == len(worlds.weights), round(float(worlds.weights.sum()), 9), worlds.exact
    (True, 1.0, True)
    """

    rows: Any  # uint64[n, W]; a list for a game whose worlds are not rows of words
    weights: np.ndarray  # float64[n], sum 1
    exact: bool  # whether these are all possible worlds

    def __repr__(self) -> str:
        return f"<Worlds: {_worlds_text(len(self.weights), self.exact)}>"


class Tracker:
    """A seat's belief, updated one observation at a time from the start of the game.

    `cap` is the number of worlds up to which the belief is exact. `positions=True` merges worlds that differ only in
    what viewers remember, which makes the sets far smaller where the board does not show the order of unseen moves, as
    in Dark Hex. Weights stay exact, but the other viewers' keys in a row are then those of just one of its histories.
    It needs a policy that does not read keys: none, or Uniform. `work` bounds the transitions tried when a dead sample
    has to be replaced. `patience` bounds those of one observation: a sample that takes more raises `TooLong`. With
    `refill=False` a sample of which few worlds survive goes on with these; filtering again can take seconds.

        >>> state = fl.new_state("kuhn_poker")
        >>> for action in (0, 1):
        ...     state.play(action)
        >>> tracker = fl.Tracker("kuhn_poker", seat=0)
        >>> for observation in state.observations(0):
        ...     tracker.observe(observation)
        >>> tracker.worlds().weights.tolist(), tracker.exact  # the other seat has the queen or the king
        ([0.5, 0.5], True)
    """

    def __init__(
        self,
        game: str | Game,
        seat: int,
        *,
        cap: int = 100_000,
        policy: Any = None,
        seed: int = 0,
        positions: bool = False,
        work: int | None = None,
        patience: float = math.inf,
        refill: bool = True,
    ) -> None:
        self.game = load_game(game)
        if not PUBLIC <= seat < num_players(self.game):
            raise BadInput(f"{self.game} has seats 0 to {num_players(self.game) - 1}, not {seat}")
        if cap < 1:
            raise BadInput(f"cap must be at least 1, not {cap}")
        if positions and not (policy is None or isinstance(policy, Uniform)):
            raise BadInput("positions can be merged only under a policy that looks at no keys: none, or Uniform()")
        first = new_worlds(self.game, 1)
        begin(self.game, first[0])
        rows_of_words = isinstance(first, np.ndarray)
        if positions and not rows_of_words:
            raise BadInput(f"{self.game} does not say which part of a world is its position; leave positions out")
        width = 0 if not rows_of_words else num_words(self.game) if positions else first.shape[1]
        self.seat, self.cap, self._refill = seat, cap, refill
        self.observations: list[int] = []
        self.exact = True
        self.tried = 0  # transitions tried so far
        self.regenerations = 0  # how often a sample has died
        self.strays = 0  # observations that no world explains, after which it went on all the same
        self._expansion = Expansion(self.game, seat, policy, width, patience)
        self._work = work or (max(_WORK, _WORK_PER_WORLD * cap) if rows_of_words else _WORK_INTERPRETED)
        self._random = np.array([fold(fold(0, seed), seat)], np.uint64)
        self._layers = [Layer(0, first, np.ones(1), False)]  # the last exact layer, then parts of later samples
        self._adopt(self._counted(self._expansion.close(first, np.ones(1), cap, self._random)))

    def observe(self, observation: int) -> None:
        """Update the belief with the seat's next observation; its own actions are observations too."""
        if observation == NOTHING:
            raise BadInput("NOTHING is not an observation: call observe() only when the seat observes something")
        observations = [*self.observations, int(observation)]
        explained = self._followed(self._rows, self._weights, observations[-1], self.cap, self._random)
        survivors = len(explained.weights)
        if self.exact:
            if survivors == 0:
                raise BadInput(f"seat {self.seat} cannot observe {observation} after {self.observations}")
            self._layers = [Layer(len(self.observations), self._rows, self._weights, True)]
        elif survivors == 0:
            explained = self._regenerated(observations, at_turn=False, random=self._random)
        elif self._refill and survivors < min(_FEW, len(self._weights) // 2):
            larger = self._filtered_again(observations, at_turn=False, random=self._random)
            if larger is not None and len(larger.weights) > survivors:
                explained = larger
        self.observations = observations
        self._adopt(explained)
        if not self.exact:
            self._layers.append(_remembered(len(observations), self._rows, self._weights, self._random))

    def worlds(self, turn_only: bool = True) -> Worlds:
        """The worlds in which the seat is to move, or all possible worlds. The call leaves the belief unchanged."""
        if not turn_only or self._turns.all():
            return Worlds(self._rows, self._weights, self.exact)
        rows, weights = chosen(self._rows, np.flatnonzero(self._turns)), self._weights[self._turns]
        if len(weights) == 0:
            if self.exact:
                raise BadInput(f"seat {self.seat} has no move after the observations {self.observations}")
            random = np.array([fold(self._random[0], len(self.observations))], np.uint64)
            explained = self._regenerated(self.observations, at_turn=True, random=random)
            rows, weights = chosen(explained.rows, np.flatnonzero(explained.turns)), explained.weights[explained.turns]
        return Worlds(rows, _normalised(weights), self.exact)

    def weigh_by(self, policy: Any) -> None:
        """Weigh the transitions of later observations by this policy; worlds keep the weights that they have."""
        self._expansion = replace(self._expansion, policy=policy)

    def stray(self, observation: int) -> None:
        """Go on after `observe` has raised BeliefLost: from the nearest worlds, none of which explains it.

        The worlds are then neither all that are possible, nor possible.
        """
        self.observations = [*self.observations, int(observation)]
        self.strays += 1
        rows, weights = moved_on(self.game, self.seat, self._rows, self._weights, self.observations, self._random)
        self._adopt(self._counted(self._expansion.close(rows, weights, self.cap, self._random)))
        self.exact = False
        self._layers = [Layer(len(self.observations), self._rows, self._weights, True)]

    def nearest(self, actions: list[int]) -> Worlds:
        """Worlds in which the seat is to move and exactly these actions are legal, the nearest ones; perhaps none.

        They come from the present worlds, or else from earlier ones, played on at random.
        """
        random = np.array([fold(self._random[0], len(self.observations))], np.uint64)
        rows, weights = self._rows, self._weights
        for layer in [Layer(0, rows, weights, True), *reversed(self._layers)]:
            rows, weights = allowing(self.game, self.seat, layer.rows, _normalised(layer.weights), actions, random)
            if len(weights):
                break
        if isinstance(rows, np.ndarray):
            rows = with_observations(self.game, rows, self.seat, self.observations)
        return Worlds(rows, weights, False)

    def clone(self) -> "Tracker":
        """A copy that goes on alone: the same observations lead both to the same worlds."""
        twin = copy.copy(self)
        twin._random, twin._layers = self._random.copy(), list(self._layers)
        return twin

    @property
    def effective_size(self) -> float:
        """The effective sample size, in worlds: 1 / sum of the squared weights."""
        return float(1.0 / np.square(self._weights).sum())

    def __len__(self) -> int:
        return len(self._weights)

    def __repr__(self) -> str:
        seat = f"seat {self.seat}" if self.seat >= 0 else "the public"
        seen = f"{len(self.observations)} observation{'s' * (len(self.observations) != 1)}"
        return f"<Tracker: {self.game}, {seat}, {seen}, {_worlds_text(len(self), self.exact)}>"

    def _adopt(self, explained: Explained) -> None:
        self._rows, self._weights, self._turns = explained.rows, _normalised(explained.weights), explained.turns
        self.exact = self.exact and not explained.thinned

    def _counted(self, explained: Explained) -> Explained:
        self.tried += explained.tried
        return explained

    def _followed(self, rows: Any, weights: np.ndarray, observation: int, cap: int, random: np.ndarray) -> Explained:
        return self._counted(self._expansion.follow(rows, weights, observation, cap, random))

    def _regenerated(self, observations: list[int], at_turn: bool, random: np.ndarray) -> Explained:
        """A new sample in place of one that has died."""
        self.regenerations += 1
        explained = self._filtered_again(observations, at_turn, random)
        if explained is not None:
            return explained
        try:
            rows, weights, tried = regenerate(
                self._expansion, self._layers, observations, at_turn, self.cap, self._work, random
            )
        except BeliefLost:
            for first in starts(self._layers, len(observations)):
                explained = self._filtered_from(first, _LARGEST, self._work // 4, observations, at_turn, random)
                if explained is not None:
                    return explained
            raise
        self.tried += tried
        return self._counted(self._expansion.close(rows, weights, self.cap, random))

    def _filtered_again(self, observations: list[int], at_turn: bool, random: np.ndarray) -> Explained | None:
        """A larger sample, filtered from the last exact layer; None if it dies or takes too much work."""
        cap = max(self.cap, min(self.cap * _LARGER, _LARGEST))
        return self._filtered_from(self._layers[0], cap, self._work, observations, at_turn, random)

    def _filtered_from(
        self, first: Layer, cap: int, work: int, observations: list[int], at_turn: bool, random: np.ndarray
    ) -> Explained | None:
        """A sample filtered from an earlier layer; None if it dies or takes more than `work` transitions."""
        tried_before, layers = self.tried, []
        explained = Explained(first.rows, first.weights, np.zeros(0, bool), False, 0)
        if not first.closed:
            explained = self._counted(self._expansion.close(first.rows, first.weights, cap, random))
        for at in range(first.at, len(observations)):
            weights = _normalised(explained.weights)
            explained = self._followed(explained.rows, weights, observations[at], cap, random)
            if len(explained.weights) == 0 or self.tried - tried_before > work:
                return None
            layers.append(_remembered(at + 1, explained.rows, explained.weights, random))
        if at_turn:
            return _reduced(explained, self.cap, random) if explained.turns.any() else None
        self._layers = [layer for layer in self._layers if layer.at <= first.at] + layers[:-1]
        return _reduced(explained, self.cap, random)


def _worlds_text(number: int, exact: bool) -> str:
    return f"{number:,} world{'s' * (number != 1)}, {'all there are' if exact else 'a sample'}"


def _normalised(weights: np.ndarray) -> np.ndarray:
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / max(1, len(weights)))


def _remembered(at: int, rows: Any, weights: np.ndarray, random: np.ndarray) -> Layer:
    """A layer of at most `_KEPT` worlds with equal weights, drawn from the given ones by weight."""
    offset, some = unit(random), np.arange(len(weights))
    if len(weights) > _KEPT or weights.min() < weights.max():
        some = np.empty(_KEPT, np.int64)
        systematic(_normalised(weights), offset, some)
    return Layer(at, chosen(rows, some), np.ones(len(some)), True)


def _reduced(explained: Explained, cap: int, random: np.ndarray) -> Explained:
    if len(explained.weights) <= cap:
        return explained
    kept, new, _ = thin(explained.weights, cap, unit(random))
    return Explained(chosen(explained.rows, kept), new, explained.turns[kept], True, explained.tried)
