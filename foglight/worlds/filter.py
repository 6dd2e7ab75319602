"""History filtering [Solinas2023]: the histories that agree with a viewer's observations.

    FILTER          viewer=PUBLIC: the histories of a public state that have positive reach probability under a policy
    FILTER-BELIEF   viewer=seat: the histories of that seat's information state
    FILTER-RANGE    .range(seat): the information states of a seat among these histories

Each comes as five problems: exists, construct, count, enumerate, sample. A history agrees with the observations if it
shows the viewer exactly these, whoever moves next. With a `mover`, that seat must also be next to move: a seat that is
asked to act knows that it is its turn. Without a policy every history has weight 1; with one, its weight is its reach
probability, chance included.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from foglight.checks.quick import quick_check
from foglight.frames import Framed
from foglight.games import is_openspiels, load_game
from foglight.names import BadInput, unknown
from foglight.policies import weigh
from foglight.rules import CHANCE, NOTHING, PUBLIC, Game, formula, num_players
from foglight.state import State, as_state
from foglight.worlds.deals.cards import (
    card_marginals,
    distinct_deals,
    has_usual_places,
    is_trick_taking,
    worlds_in_layers,
)
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.story import Unfit
from foglight.worlds.layers import Layers
from foglight.worlds.marginals import Marginals, marginals
from foglight.worlds.ranges import DealRangeFilter, RangeFilter
from foglight.worlds.sat import Sat

METHODS = ("auto", "layers", "deals", "sat")
_WORKERS = {"layers": Layers, "deals": DealFilter, "sat": Sat}


class HistoryFilter(Framed):
    """The histories that agree with a viewer's observations, as `fl.history_filter` returns them.

    >>> state = fl.new_state("kuhn_poker")
    >>> for action in (0, 1, 1):  # the jack, the queen, a bet
    ...     state.play(action)
    >>> f = fl.history_filter("kuhn_poker", state.observations(1), viewer=1)
    >>> f.exists(), f.count(), [history.history() for history, weight in f.enumerate()]
    (True, 2, [[0, 1, 1], [2, 1, 1]])
    >>> f.construct().player, len(f.sample(5, seed=0)), f.range(0).count()
    (1, 5, 2)
    """

    columns_of_table: ClassVar = {"history": "wholes", "moves": "texts", "weight": "number", "probability": "number"}

    def __init__(
        self,
        game: str | Game,
        observations: Sequence[int],
        viewer: int,
        policy: Any,
        method: str,
        limit: int,
        mover: int | None,
    ) -> None:
        self.game = load_game(game)
        quick_check(self.game)
        self.observations = [int(observation) for observation in observations]
        self.viewer, self._limit = viewer, limit
        if method not in METHODS:
            raise BadInput(unknown("filter method", method, METHODS))
        if not PUBLIC <= viewer < num_players(self.game):
            raise BadInput(
                f"there is no viewer {viewer}; give a seat from 0 to {num_players(self.game) - 1}, or PUBLIC"
            )
        if NOTHING in self.observations:
            raise BadInput("NOTHING is not an observation: give only what the viewer observes")
        self.policy, self._mover = policy, mover
        self._worker: Any
        if method == "auto" and is_trick_taking(self.game):
            self._worker = self._deals_or_layers()
        else:
            self._worker = self._made(self._chosen() if method == "auto" else method)
        self.method = next(name for name, worker in _WORKERS.items() if isinstance(self._worker, worker))

    def __repr__(self) -> str:
        viewer = f"seat {self.viewer}" if self.viewer >= 0 else "the public"
        turn = "" if self._mover is None else ", to move" if self._mover == self.viewer else f", mover {self._mover}"
        seen = f"{len(self.observations)} observations of {viewer}"
        return f"<HistoryFilter: {self.game}, {seen}{turn}, by {self.method}>"

    def _made(self, method: str) -> Any:
        arguments = (self.game, self.observations, self.viewer, self.policy)
        if method == "sat":
            return Sat(*arguments, self._limit)
        if method == "deals":
            return DealFilter(*arguments, self._mover, self._limit)
        return Layers(*arguments, self._limit, self._mover)

    def _chosen(self) -> str:
        if self._mover is not None or self.policy is not None or importlib.util.find_spec("pysat") is None:
            return "layers"
        return "layers" if formula(self.game, self.observations, self.viewer) is None else "sat"

    def _deals_or_layers(self) -> Any:
        """The filter of a trick-taking game: by deals if the game makes the promises they need, else by layers.

        Layers also replace deals that fail a check. They are built only if the game probably has at most `limit`
        worlds. Otherwise the deals filter stays: it marks its samples as not exact, and refuses the rest with an
        `Unfit` error.
        """
        deals = self._made("deals")
        if deals.histories.complete:
            try:
                deals.exists()
                return deals
            except Unfit:
                pass
        if worlds_in_layers(self.game) > self._limit:
            return deals
        try:
            return self._made("layers")
        except BadInput:
            return deals

    def exists(self) -> bool:
        """Whether any history agrees with the observations."""
        return bool(self._worker.exists())

    def construct(self, seed: int = 0) -> State:
        """One history that agrees with the observations."""
        state: State = self._worker.construct(seed)
        return state

    def count(self) -> int:
        """The exact number of histories."""
        return int(self._worker.count())

    def enumerate(self) -> Iterator[tuple[State, float]]:
        """Every history with its weight: its reach probability, or 1 without a policy."""
        yield from self._worker.enumerate()

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per history: its actions, their names, its weight, and its share of all weights."""
        found = [(state.history(), state.moves(), float(weight)) for state, weight in self.enumerate()]
        total = sum(weight for _, _, weight in found)
        return [
            {"history": history, "moves": moves, "weight": weight, "probability": weight / total}
            for history, moves, weight in found
        ]

    def sample(self, n: int, seed: int = 0) -> list[State]:
        """n histories drawn in proportion to their weights.

        The draws are independent or come from Markov chains; `diagnostics` tells which.
        """
        if n < 0:
            raise BadInput(f"cannot draw {n} histories; give a number of at least 0")
        states: list[State] = self._worker.sample(n, seed)
        return states

    def sample_actions(self, n: int, seed: int = 0) -> list[list[int]]:
        """The actions of n histories drawn in proportion to their weights, much faster than their states."""
        if isinstance(self._worker, DealFilter):
            return [history.tolist() for history in self._worker.sample_arrays(n, seed)[0]]
        if isinstance(self._worker, Layers):
            return self._worker.sample_actions(n, seed)
        return [state.history() for state in self.sample(n, seed)]

    def sample_worlds(self, n: int, seed: int = 0) -> Any:
        """The last worlds of n histories drawn in proportion to their weights: rows, or a list of boxed worlds.

        In trick-taking games without a policy that is much faster than `sample`.
        """
        if isinstance(self._worker, DealFilter) and self.policy is None:
            return self._worker.sample_worlds(n, seed)
        worlds = [state.world for state in self.sample(n, seed)]
        return np.array(worlds) if n and isinstance(worlds[0], np.ndarray) else worlds

    def share_of_a_deal(self) -> float | None:
        """The probability of each deal of a trick-taking game, if all are equally likely; None if that is not known."""
        return self._worker.share_of_a_deal() if isinstance(self._worker, DealFilter) else None

    def contains(self, history: State | Sequence[int]) -> bool:
        """Whether a history, given as a state or as its actions, is one of them; decided by replay.

        It must be legal, show the viewer exactly the observations, be possible under the policy, and end with the
        mover's turn, if a mover was given [Solinas2023, Lemma 1].

            >>> state = fl.new_state("leduc_poker")
            >>> for action in (0, 3, 1):
            ...     state.play(action)
            >>> fl.history_filter("leduc_poker", state.observations(1), viewer=1).contains(state)
            True
        """
        if isinstance(history, State) or is_openspiels("State", history):
            history = as_state(history)
            if history.game != self.game:
                raise BadInput(f"the history is one of {history.game}, but the filter is for {self.game}")
            history = history.history()
        state = State(self.game)
        for action in history:
            if action not in state.actions() or self._rules_out(state, int(action)):
                return False
            state.play(int(action))
        at_turn = self._mover is None or state.player == self._mover
        return at_turn and state.observations(self.viewer) == self.observations

    def _rules_out(self, state: State, action: int) -> bool:
        """Whether the policy gives this action probability 0."""
        if self.policy is None or state.player == CHANCE:
            return False
        actions = state.actions()
        odds = np.empty(len(actions))
        weigh(self.policy, self.game, state.world, state.player, np.array(actions, np.int64), len(actions), odds)
        return bool(odds[actions.index(action)] <= 0.0)

    def deals(self) -> int:
        """The exact number of deals of a trick-taking game; a deal is who holds, or has played, each card.

        Histories also differ in the order of dealing and in the cards passed; those that end in the same deal count
        once here.
        """
        if isinstance(self._worker, DealFilter):
            return self._worker.deals()
        if not is_trick_taking(self.game):
            raise BadInput(f"{self.game} is not a trick-taking game; count() counts its histories")
        rows = [self._worker.layers[i].rows[world] for i, world in self._worker.ends]
        return len(distinct_deals(self.game, np.array(rows))) if rows else 0

    def belief(self, most: int = 2000, seed: int = 0) -> Marginals:
        """For each place of the game, the probability of each content at the end of these histories.

        It is exact if at most `most` worlds are possible, else estimated from `most` draws. A trick-taking game is
        counted exactly at any size if it promises `playable_by_pairs` and there is no policy.
        """
        return replace(self._belief(most, seed), source=self)

    def _belief(self, most: int, seed: int) -> Marginals:
        of_cards = has_usual_places(self.game)
        if isinstance(self._worker, Layers) and (of_cards or len(self._worker.ends) <= most):
            self._worker._require()
            ends = [(self._worker.layers[i], world) for i, world in self._worker.ends]
            worlds, weights = [layer.rows[w] for layer, w in ends], [float(layer.weights[w]) for layer, w in ends]
            if of_cards:
                return card_marginals(self.game, np.array(worlds), np.array(weights), exact=True)
            return marginals(self.game, worlds, weights, exact=True)
        if isinstance(self._worker, DealFilter) and of_cards:
            return self._worker.marginals(most, seed)
        worlds = [state.world for state in self.sample(most, seed)]
        return marginals(self.game, worlds, [1.0] * len(worlds), exact=False)

    def diagnostics(self) -> dict[str, Any]:
        """How the last sample was drawn, its effective sample size, and whether the chains agree."""
        return dict(self._worker.diagnostics())

    def range(self, seat: int) -> "RangeFilter | DealRangeFilter":
        """The information states of a seat among these histories."""
        if not 0 <= seat < num_players(self.game):
            raise BadInput(f"there is no seat {seat}; {self.game} has seats 0 to {num_players(self.game) - 1}")
        if isinstance(self._worker, DealFilter):
            return DealRangeFilter(self._worker, seat, self._limit)
        if not isinstance(self._worker, Layers):
            raise BadInput(f"ranges need method='layers', not {self.method!r}")
        return RangeFilter(self._worker, seat)


def history_filter(
    game: Game,
    observations: Sequence[int],
    viewer: int = PUBLIC,
    policy: Any = None,
    method: str = "auto",
    limit: int = 1_000_000,
    mover: int | None = None,
) -> HistoryFilter:
    """The histories that agree with what `viewer` has observed; `limit` bounds the worlds kept in memory at a time.

    With `mover`, only histories after which that seat, or CHANCE, is to move. With a `policy`, the weight of a history
    is its reach probability under it; without one all weights are 1. `method` is `auto`, `layers` (any game), `deals`
    (trick-taking games) or `sat` (games with a `formula`).

        >>> state = fl.new_state("kuhn_poker")
        >>> for action in (0, 1):
        ...     state.play(action)
        >>> f = fl.history_filter("kuhn_poker", state.observations(0), viewer=0, mover=0)
        >>> f.count(), f.belief().summary()["places"]["seat 1"]
        (2, {'queen': 0.5, 'king': 0.5})
    """
    return HistoryFilter(game, observations, viewer, policy, method, limit, mover)


def belief(state: State, seat: int | None = None, *, policy: Any = None, most: int = 2000, seed: int = 0) -> Marginals:
    """What a seat may hold possible at a position: for each place of the game, the probability of each content.

    `seat` is the seat to move unless given; PUBLIC stands for what everybody knows. Only the viewer's observations are
    used. Histories count alike, or by their reach probability under a `policy`. The answer is exact if at most `most`
    worlds are possible, else estimated from `most` draws. `print` shows a heat map, `draw` writes a picture, `table`
    and `summary` give plain data.

        >>> state = fl.new_state("kuhn_poker")
        >>> for action in (0, 1):  # the jack for seat 0, the queen for seat 1
        ...     state.play(action)
        >>> print(fl.belief(state, 0))
        you are seat 0 with jack, pot 2
        so far: you get the jack
        <BLANKLINE>
        all 2 worlds that agree with this, every history alike:
        <BLANKLINE>
                jack  king  queen
        seat 0  100%
        seat 1         50%    50%
    """
    state = as_state(state)
    seat = state.player if seat is None else seat
    if not PUBLIC <= seat < state.num_players:
        raise BadInput(f"{state.game} has seats 0 to {state.num_players - 1}, not {seat}; or take PUBLIC, -1")
    mover = seat if state.player == seat else None
    histories = history_filter(state.game, state.observations(seat), seat, policy, mover=mover)
    title = f"{state.game}: " + (f"what seat {seat} may think" if seat >= 0 else "the public view")
    sight = state.drawing(seat) if seat >= 0 else None
    found = histories.belief(most, seed)
    return replace(found, title=title, information=state.information(seat), sight=sight)
