"""Matches: the same agents over many games with rotating seats, reproducible from one seed, resumable at any point.

Game number i does not depend on who plays it or when: its randomness comes from (seed, i), and agent k sits on seat
(k + i) mod players. So any number of workers, in any order, over any number of runs, produces the same records.
"""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from foglight.agents import Agent, AgentLike
from foglight.arena.entrants import Entrant, entrant, rules_code, seated
from foglight.arena.export import COLUMNS, game_rows
from foglight.arena.intervals import mean_and_error, wilson
from foglight.arena.referee import Record, Timing, play_game, warm_up
from foglight.arena.store import Match, Store
from foglight.checks.quick import quick_check
from foglight.frames import Framed
from foglight.games import load_game
from foglight.names import BadInput
from foglight.pieces import DEATHS, Lot, Where, Workers, WorkersLost, opened, where
from foglight.rules import Game, num_players
from foglight.state import new_state
from foglight.text import aligned, html_table
from foglight.version import RESULTS_VERSION

Progress = Callable[[int, int], None]  # called with the games finished and the games in total


@dataclass(frozen=True)
class MatchResult(Framed):
    """The games of a match and their statistics. Agents are numbered in the order in which they were given.

    >>> result = fl.play_match("kuhn_poker", ["random", "first_legal"], games=100, seed=0)
    >>> result.games, len(result.mean_returns), sum(result.mean_returns)
    (100, 2, 0.0)
    >>> low, high = result.interval(0)  # of the win rate, 95 %
    >>> 0 < low < result.win_rate(0) < high < 1
    True
    """

    columns_of_table: ClassVar = COLUMNS
    game: str
    agents: tuple[str, ...]
    seed: int
    records: tuple[Record, ...]
    code: tuple[str, ...] = ()  # fingerprints of the code that played: of the game, then of each agent
    timed: frozenset[str] = frozenset()  # names of the agents that have the option `time`
    changed: tuple[str, ...] = field(default=(), compare=False)  # game and agents whose code is new to the store
    earlier: int = field(default=0, compare=False)  # games of this match in the store that other code has played

    @property
    def games(self) -> int:
        """The number of games."""
        return len(self.records)

    def returns(self, agent: int) -> list[float]:
        """The agent's payoff in each game."""
        players = len(self.agents)
        return [record.returns[(agent + number) % players] for number, record in enumerate(self.records)]

    @property
    def mean_returns(self) -> list[float]:
        """The mean payoff of each agent."""
        return [mean_and_error(self.returns(agent))[0] for agent in range(len(self.agents))]

    @property
    def standard_errors(self) -> list[float]:
        """The standard errors of these means."""
        return [mean_and_error(self.returns(agent))[1] for agent in range(len(self.agents))]

    def score(self, agent: int) -> float:
        """The number of games won; a game with k winners counts 1/k for each, so a draw of two counts half."""
        return math.fsum(
            share(payoff, record.returns) for payoff, record in zip(self.returns(agent), self.records, strict=True)
        )

    def win_rate(self, agent: int) -> float:
        """The share of games won, by `score`."""
        return self.score(agent) / self.games if self.games else float("nan")

    def interval(self, agent: int, confidence: float = 0.95) -> tuple[float, float]:
        """The Wilson interval of the win rate."""
        return wilson(self.score(agent), self.games, confidence)

    def timing(self, agent: int) -> Timing | None:
        """The agent's thinking time over all games; None if no game was timed."""
        players, total = len(self.agents), Timing()
        for number, record in enumerate(self.records):
            if record.timing:
                total.join(record.timing[(agent + number) % players])
        return total if total.moves else None

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per game and seat, with the columns of `foglight export`."""
        match = Match(self.game, self.agents, self.seed, RESULTS_VERSION, self.code)
        return [row for number, record in enumerate(self.records) for row in game_rows(match, number, record)]

    def summary(self) -> dict[str, Any]:
        """All of it as plain data. Only agents with the option `time` get times; the rest follows from the seed."""
        return {
            "game": self.game,
            "games": self.games,
            "seed": self.seed,
            "agents": [
                {
                    "agent": name,
                    "win_rate": self.win_rate(agent),
                    "interval": list(self.interval(agent)),
                    "mean_return": self.mean_returns[agent],
                    "standard_error": self.standard_errors[agent],
                    "timing": timing.summary() if (timing := self.timing(agent)) and name in self.timed else None,
                }
                for agent, name in enumerate(self.agents)
            ],
        }

    def _rows(self) -> list[dict[str, str]]:
        """One row of text per agent, for tables."""
        rows = []
        for agent, name in enumerate(self.agents):
            low, high = self.interval(agent)
            mean = f"{self.mean_returns[agent]:+.3f} ± {self.standard_errors[agent]:.3f}"
            row = {
                "agent": name,
                "win rate": f"{self.win_rate(agent):.1%}",
                "95 % interval": f"{low:.1%} to {high:.1%}",
            }
            rows.append({**row, "mean return": mean})
        return rows

    def _title(self) -> str:
        return f"{self.game}, {self.games} games, seed {self.seed}"

    def __str__(self) -> str:
        return f"{self._title()}\n{aligned(self._rows())}"

    def __repr__(self) -> str:
        rates = (f"{name} {self.win_rate(agent):.1%}" for agent, name in enumerate(self.agents))
        return f"<MatchResult: {self._title()}; {', '.join(rates)}>"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self._title())


def share(payoff: float, returns: Sequence[float]) -> float:
    """The share of the win of a seat with this payoff: 1 / k for each of k winners."""
    best = max(returns)
    return (payoff == best) / returns.count(best)


def play_match(
    game: Game,
    agents: Sequence[AgentLike],
    games: int = 200,
    seed: int = 0,
    workers: Workers = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play a match of `games` games; the agents change seats after each.

    An agent is given as text, as a class or as an instance. All random numbers follow from `seed`, whatever the number
    of `workers`, which are processes. In their place `workers` may say where to play: `"local"`, on all cores of this
    machine, `"ray"`, or the address of a running Ray cluster, `"HOST:PORT"` or `"ray://HOST:PORT"`.

    `store` is an SQLite file: games in it are not played again, and each new game is added when it ends. If the code of
    the game or of an agent has changed since, all games are played anew, and the old ones are kept. `progress` is
    called with the number of games finished and the number of all games.

        >>> result = fl.play_match("kuhn_poker", ["first_legal", "first_legal"], games=10, seed=0)
        >>> [record.actions[2:] for record in result.records[:2]]  # nobody ever bets
        [(0, 0), (0, 0)]
    """
    return play_plans([plan_match(game, agents, games, seed)], workers, store, progress)[0]


@dataclass(frozen=True)
class Plan:
    """A match to be played."""

    game: Game
    entrants: tuple[Entrant, ...]
    games: int
    seed: int

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple(one.name for one in self.entrants)

    @property
    def match(self) -> Match:
        """The match as a store knows it."""
        code = (rules_code(self.game), *(one.code for one in self.entrants))
        return Match(str(self.game), self.agents, self.seed, RESULTS_VERSION, code)


def plan_match(game: str | Game, agents: Sequence[AgentLike], games: int, seed: int) -> Plan:
    """The plan of a match. All input is checked here, before a store is opened or a game is played."""
    loaded = load_game(game)
    if isinstance(agents, str) or len(agents) != num_players(loaded):
        count = 1 if isinstance(agents, str) else len(agents)
        raise BadInput(f"{loaded} is for {num_players(loaded)} agents, not {count}; name one for each")
    check_whole("games", games, 1)
    check_whole("seed", seed, 0)
    quick_check(loaded)
    entrants = tuple(entrant(agent, [loaded]) for agent in agents)
    check_names(entrants)
    new_state(loaded)  # compiles the rules here, once, and not in every worker
    return Plan(loaded, entrants, games, seed)


def check_names(entrants: Iterable[Entrant]) -> None:
    """Raise BadInput if different agents have the same name."""
    by_name: dict[str, Entrant] = {}
    for one in entrants:
        if by_name.setdefault(one.name, one) != one:
            raise BadInput(f"two different agents are called {one.name}; set the attribute `name` of one of them")


def check_importable(games: Iterable[type]) -> None:
    """Raise BadInput if another machine could not import a class of games: its rules do not travel with it."""
    for game in games:
        if game.__module__ == "__main__":
            name = game.__qualname__
            raise BadInput(
                f"{name} is defined in the script itself; put it into a module, so that a cluster can import it"
            )


def check_whole(name: str, value: Any, low: int) -> None:
    """Raise BadInput unless the value is a whole number of at least `low`."""
    if type(value) is not int or not low <= value < 2**63:
        raise BadInput(f"{name} must be a whole number of at least {low}, not {value!r}")


def play_plans(
    plans: Sequence[Plan], workers: Workers = 1, store: str | Path | None = None, progress: Progress | None = None
) -> list[MatchResult]:
    """Play several matches with one set of workers and one store."""
    place = where(workers)
    with contextlib.closing(Store(":memory:" if store is None else store)) as database:
        earlier = [database.others(plan.match) for plan in plans]
        matches = [database.match(plan.match) for plan in plans]
        jobs = list(zip(plans, matches, strict=True))
        for plan, match in jobs:
            database.records(match, plan.games)  # raises BadInput for a damaged store before anything is played
        report = _Reporter(progress, sum(plan.games for plan in plans))
        report(report.total - sum(len(numbers) for _, _, numbers in _missing(jobs, database)))
        if place.is_here:
            for plan, match, numbers in _missing(jobs, database):
                with contextlib.ExitStack() as crew:
                    agents = seated(plan.entrants, crew)
                    _warm_up(plan, agents)
                    for number in numbers:
                        database.add(match, number, _play(plan, number, agents))
                        report(report.done + 1)
        else:
            _play_in_parallel(jobs, database, place, report)
        return [_result(plan, database, match, others) for (plan, match), others in zip(jobs, earlier, strict=True)]


def _result(plan: Plan, database: Store, match: int, others: Sequence[tuple[Match, int]]) -> MatchResult:
    """The result of a match; `others` are the same match by other code, with the number of games in the store."""
    records = database.records(match, plan.games)
    if len(records) != plan.games:  # the seats of a game follow from its index among the records
        raise BadInput(
            f"{database.path} is damaged: of {plan.games} games it gives {len(records)}; choose another file"
        )
    known = plan.match
    last = others[-1][0].code if others else known.code
    changed = [
        name for name, now, then in zip((known.game, *known.agents), known.code, last, strict=False) if now != then
    ]
    return MatchResult(
        known.game, known.agents, known.seed, tuple(records), known.code,
        timed=frozenset(one.name for one in plan.entrants if one.takes_time),
        changed=tuple(dict.fromkeys(changed)), earlier=sum(games for _, games in others),
    )  # fmt: skip


_Jobs = Sequence[tuple[Plan, int]]  # a plan, and the number of its match in the store


def _missing(jobs: _Jobs, database: Store) -> list[tuple[Plan, int, list[int]]]:
    """The matches that are not complete, with the numbers of their missing games."""
    gaps = [(plan, match, sorted(set(range(plan.games)) - database.numbers(match, plan.games))) for plan, match in jobs]
    return [gap for gap in gaps if gap[2]]


class _Reporter:
    """Calls the progress function at most 20 times per second, and at the end."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done, self.last = progress, total, 0, 0.0

    def __call__(self, done: int) -> None:
        self.done = done
        if self.progress is not None and (done == self.total or time.monotonic() - self.last > 0.05):
            self.last = time.monotonic()
            self.progress(done, self.total)


def _play(plan: Plan, number: int, agents: Sequence[Agent]) -> Record:
    seated = [agents[(seat - number) % len(agents)] for seat in range(len(agents))]
    return play_game(plan.game, seated, plan.seed, number)[0]


# (process id, game, agent) of agents that are warmed up; a forked worker gets a copy, but has its own process id
_warm: set[tuple[int, str, str]] = set()


def _warm_up(plan: Plan, agents: Sequence[Agent]) -> None:
    """Before a match with time budgets, compile and load the kernels of its agents in this process."""
    crew = {(os.getpid(), str(plan.game), agent) for agent in plan.agents}
    if any(agent.time for agent in agents) and not crew <= _warm:
        warm_up(plan.game, agents)
        _warm.update(crew)


# Several processes ----------------------------------------------------------------------------------------------


def _play_in_parallel(jobs: _Jobs, database: Store, workers: Where, report: _Reporter) -> None:
    """Let workers play, wherever they are. Only this process writes into the store."""
    missing = _missing(jobs, database)
    plans = [plan for plan, _, _ in missing]
    entrants = [one for plan in plans for one in plan.entrants]
    if not missing:
        return
    if workers.place != "local":
        check_importable(type(plan.game) for plan in plans)
    with opened(
        workers,
        threads=max(one.threads for one in entrants),  # they think in turn
        memory=max(sum(one.memory_bytes for one in plan.entrants) for plan in plans),
        modules=sorted({*(one.module for one in entrants), *(type(plan.game).__module__ for plan in plans)}),
        files=sorted({file for one in entrants for file in one.files}),
    ) as place:
        try:
            for lot, numbers, records in place.run(_playing, [Lot(plan, numbers) for plan, _, numbers in missing]):
                database.add_all(missing[lot][1], zip(numbers, records, strict=True))
                report(report.done + len(numbers))
        except WorkersLost as lost:
            pair = " against ".join(plans[lost.lot].agents)
            lost.args = (
                f"worker processes keep dying; {lost.left} games are left to play, and number {lost.piece} of {pair} "
                f"has ended {DEATHS} workers in a row",
            )
            raise


@contextlib.contextmanager
def _playing() -> Iterator[Callable[[Plan, int], Record]]:
    """Playing games in a worker."""
    with contextlib.closing(_Crew()) as crew:
        yield crew.play


class _Crew:
    """The agents of a worker: one set for all games of the match that it is playing."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.agents: list[Agent] = []
        self.stack = contextlib.ExitStack()

    def play(self, plan: Plan, number: int) -> Record:
        """Play a game. The agents of another match are closed first."""
        if plan is not self.plan:
            if self.plan is None or plan.entrants != self.plan.entrants:
                self.close()
                self.agents = seated(plan.entrants, self.stack, in_worker=True)
            self.plan = plan
            _warm_up(plan, self.agents)
        return _play(plan, number, self.agents)

    def close(self) -> None:
        self.stack.close()
        self.plan, self.agents = None, []
