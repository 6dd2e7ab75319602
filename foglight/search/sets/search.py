"""Alpha-beta over information sets [Bernardoni2019]: the payoff that a seat can guarantee, whatever world is true.

A node is a set X of worlds that the seat considers possible when it is to act. With t turns left,

    v(X, t) = max over the seat's actions a, min over all outcomes of a in all worlds of X, of
                  the payoff, if the game has ended,
                  the leaf evaluation, if no turn is left,
                  v(C, t'), for each class C of worlds that show the seat the same observations

A turn is a run of actions of one seat, so a sense and the move after it are one turn. The other seat plays all of its
actions in all worlds (`expansion.py`): it is assumed to know everything. Depth 3 is the seat's own turn, the other
seat's, and one more of its own; for a set given after the seat's sense, the rest of that turn is the first. If X is a
subset of Y, v(X, t) >= v(Y, t), since what is safe in Y is safe in X; the cache (`bound_cache.py`) relies on it.

The paper claims that the values v({x}, t) of single worlds determine v(X, t). They do not: different worlds may need
different actions. So the odds of a bound from an overlap are a rule of thumb, while containment gives exact bounds.

The kernel (`frames.py`) returns when it needs more memory, values of leaves that are evaluated outside, the check of a
bound, or when it has worked for a while.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from foglight.compile import is_compiled, kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import CHANCE, Game, begin, legal, max_legal, num_players, num_words, player
from foglight.search.sets import bound_cache
from foglight.search.sets.bound_cache import BoundCache
from foglight.search.sets.expansion import (
    ASK,
    ASKED,
    BEGIN,
    CHECK,
    CHOSEN,
    DONE,
    END,
    GROW,
    LEAVES,
    LEVEL,
    MADE,
    NODES,
    PAUSE,
    REFUSE,
    TURNS,
    grown,
    new_stack,
)
from foglight.search.sets.frames import ALPHA, BETA, LOW, advance, start
from foglight.search.sets.leaves import Asked, Even

MODES = ("baseline", "accelerated", "exact")
Evaluate = Callable[[np.ndarray], np.ndarray]  # from rows, uint64[n, words], to their values to the seat, float64[n]

_FIRST_ROOM = 1 << 12  # worlds that fit at first
_SPELL = 2_000_000  # worlds between two looks at the clock


@dataclass
class Report:
    """What a search has cost, and how far the cache has helped."""

    nodes: int = 0  # sets of worlds at which the seat decides
    leaves: int = 0  # worlds evaluated
    made: int = 0  # other worlds generated, duplicates included
    seconds: float = 0.0
    looked: int = 0  # lookups in the cache
    same: int = 0  # searches ended by bounds of the same set
    lower: int = 0  # searches ended by lower bounds from other sets
    upper: int = 0  # searches ended by upper bounds from other sets
    compared: int = 0  # pairs of sets compared
    stored: int = 0  # entries added to the cache
    dropped: int = 0  # entries that gave way to others
    expected_wrong: float = 0.0  # expected number of wrong bounds among those used
    checked: int = 0  # bounds checked against the value of their set
    wrong: int = 0  # bounds found wrong among those checked
    worst: float = 0.0  # largest error of a wrong bound
    pairs: list[tuple[float, float]] = field(default_factory=list)  # bound and true value of each wrong bound

    @property
    def used(self) -> int:
        """The number of searches that a bound ended."""
        return self.same + self.lower + self.upper

    def summary(self) -> dict[str, Any]:
        """The report as data."""
        return {key: value for key, value in asdict(self).items() if key != "pairs"} | {"used": self.used}


@dataclass(frozen=True)
class Valuations:
    """The value of each root action to the seat; not `complete` if time ran out before all actions were searched."""

    actions: list[int]
    values: list[float]
    report: Report
    complete: bool

    @property
    def best(self) -> int:
        """The first action of the highest value."""
        return self.actions[int(np.argmax(self.values))]


class SetSearch:
    """Searches of one seat of one game that share a cache.

    `turns` is the depth; a turn is a run of actions of one seat. `mode` is `accelerated`, `exact` or `baseline`
    (without a cache). Worlds at the horizon are evaluated by `leaf` or, if given, by `evaluate`, which gets one batch
    for every action of every set. With `check`, every bound that ends a search is compared with the value found without
    a cache. Other options are the cache's: `docs/sketches.md` names them.

        >>> state = fl.new_state("phantom_ttt")
        >>> search = fl.SetSearch("phantom_ttt", seat=0, turns=1)
        >>> valuations = search.valuations(state.world)  # one world, or several as rows
        >>> valuations.actions == state.actions(), set(valuations.values)
        (True, {0.0})
    """

    def __init__(
        self,
        game: str | Game,
        seat: int,
        *,
        turns: int,
        mode: str = "accelerated",
        leaf: Any = None,
        evaluate: Evaluate | None = None,
        check: bool = False,
        **options: Any,
    ) -> None:
        game = load_game(game)
        _suits(game)
        if mode not in MODES:
            raise BadInput(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        if turns < 1:
            raise BadInput(f"turns must be at least 1, not {turns}")
        if seat not in (0, 1):
            raise BadInput(f"seat must be 0 or 1, not {seat}")
        self.game, self.seat, self.turns = game, seat, turns
        self.evaluate = evaluate
        self.leaf = Even() if leaf is None else leaf
        if evaluate is not None and leaf is None:
            self.leaf = Asked()
        self.report = Report()
        self._stack = new_stack(game, _FIRST_ROOM)
        self._cached = mode != "baseline"
        self.cache: BoundCache = _new_cache(mode, turns, options)
        self._check = check and self._cached
        self._plain: SetSearch | None = None
        if self._check:
            self._plain = SetSearch(game, seat, turns=turns, mode="baseline", leaf=leaf, evaluate=evaluate)

    def actions(self, rows: np.ndarray) -> list[int]:
        """The seat's legal actions in these worlds."""
        out = np.empty(int(max_legal(self.game)), np.int64)
        return out[: _legal(self.game, rows[0], out)].tolist()

    def value(self, rows: np.ndarray, turns: int | None = None) -> float:
        """v of a set of worlds in which the seat is to move."""
        rows = self._checked(rows)
        return self._run(rows, self.actions(rows), self.turns if turns is None else turns, -np.inf, None)

    def valuations(
        self,
        rows: np.ndarray,
        *,
        actions: Sequence[int] | None = None,
        only_best: bool = False,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Valuations:
        """The value of every action, or of the actions given, when the seat considers these worlds possible.

        With `only_best`, actions that cannot beat the best one so far get a bound instead of a value. After `seconds`
        the search ends with the actions searched so far.
        """
        rows = self._checked(rows)
        chosen = self.actions(rows) if actions is None else list(actions)
        deadline = None if seconds is None else time.perf_counter() + seconds
        values: list[float] = []
        for done, action in enumerate(chosen):
            if progress is not None:
                progress(done, len(chosen))
            if self._cached:
                bound_cache.halve(self.cache)
            alpha = max(values, default=-np.inf) if only_best else -np.inf
            try:
                values.append(self._run(rows, [action], self.turns, alpha, deadline))
            except TimeoutError:
                break
        return Valuations(chosen[: len(values)], values, self.report, len(values) == len(chosen))

    def _checked(self, rows: np.ndarray) -> np.ndarray:
        """The distinct worlds without keys; refuses worlds in which the seat does not move or has different actions."""
        rows = np.ascontiguousarray(np.atleast_2d(rows)[:, : int(num_words(self.game))])
        if len(rows) == 0 or not _hang_together(self.game, rows, self.seat):
            raise BadInput(
                f"a set search needs worlds in which it is the turn of seat {self.seat} and it may do the same"
            )
        return np.unique(rows, axis=0)

    def _run(self, rows: np.ndarray, actions: list[int], turns: int, alpha: float, deadline: float | None) -> float:
        """The value of the best of these actions."""
        began = time.perf_counter()
        while len(self._stack.rows) < 2 * len(rows):
            self._stack = grown(self.game, self._stack)
        start(self._stack, rows, np.array(actions), turns, alpha)
        status = PAUSE
        try:
            while status != DONE:
                flags = (self._cached, self.evaluate is not None, self._check)
                status, value = advance(self.game, self.leaf, self._stack, self.cache, self.seat, *flags, _SPELL)
                if status == GROW:
                    self._stack = grown(self.game, self._stack)
                elif status == REFUSE:
                    raise BadInput(f"set search is for games without chance; {self.game} has it")
                elif status == ASK:
                    self._answer()
                elif status == CHECK:
                    self._compare(float(value))
                elif status == PAUSE and deadline is not None and time.perf_counter() > deadline:
                    raise TimeoutError
        finally:
            self._count(time.perf_counter() - began)
        return float(value)

    def _answer(self) -> None:
        """Evaluate the worlds at the horizon that the kernel waits for."""
        assert self.evaluate is not None
        n, level = int(self._stack.tally[ASKED]), int(self._stack.tally[LEVEL])
        values = self.evaluate(self._stack.asked[:n].copy())
        worst = int(np.argmin(values))
        if values[worst] < self._stack.bounds[level, LOW]:
            self._stack.bounds[level, LOW] = values[worst]
            self._stack.frames[level, CHOSEN], self._stack.chosen[level, 0] = 1, self._stack.asked_origins[worst]

    def _compare(self, bound: float) -> None:
        """Compare a bound that has ended a search with the value of the set."""
        assert self._plain is not None
        frame = self._stack.frames[int(self._stack.tally[LEVEL])]
        rows = self._stack.rows[frame[BEGIN] : frame[END]].copy()
        value = self._plain.value(rows, int(frame[TURNS]))
        alpha, beta = self._stack.bounds[int(self._stack.tally[LEVEL]), [ALPHA, BETA]]
        self.report.checked += 1
        # a bound that ends the search means: value >= bound >= beta, or value <= bound <= alpha, or value == bound
        right = value >= bound if bound >= beta else value <= bound if bound <= alpha else value == bound
        if not right:
            self.report.wrong += 1
            self.report.worst = max(self.report.worst, abs(value - bound))
            self.report.pairs.append((bound, value))

    def _count(self, seconds: float) -> None:
        """Update the report from the counters of the kernel and the cache."""
        tally, report = self._stack.tally, self.report
        report.nodes, report.leaves, report.made = (int(tally[i]) for i in (NODES, LEAVES, MADE))
        report.seconds += seconds
        for name, number in bound_cache.counts(self.cache).items():
            setattr(report, name, number)


def _new_cache(mode: str, turns: int, options: dict[str, Any]) -> BoundCache:
    return bound_cache.bound_cache(0 if mode == "baseline" else turns, **options, exact=mode == "exact")


def _suits(game: Game) -> None:
    """Refuse games that a set search cannot handle."""
    if not isinstance(game, tuple) or not is_compiled(game):
        raise BadInput(f"set search is for games of foglight itself, not for {game}")
    if num_players(game) != 2:
        raise BadInput(f"set search is for two seats; {game} has {num_players(game)}")
    world = np.zeros(int(num_words(game)) + 3, np.uint64)
    begin(game, world)
    if player(game, world) == CHANCE:
        raise BadInput(f"set search is for games without chance; {game} has it")


# Kernels --------------------------------------------------------------------------------------------------------


@kernel
def _legal(game, world, out):
    return legal(game, world, out)


@kernel
def _hang_together(game, rows, seat):
    """Whether the seat is to move in all of these worlds, with the same legal actions."""
    first, other = np.empty(max_legal(game), np.int64), np.empty(max_legal(game), np.int64)
    if player(game, rows[0]) != seat:
        return False
    n = legal(game, rows[0], first)
    for i in range(1, len(rows)):
        if player(game, rows[i]) != seat or legal(game, rows[i], other) != n:
            return False
        for j in range(n):
            if first[j] != other[j]:
                return False
    return True
