"""Matches: the same agents over many games with rotating seats, reproducible from one seed, resumable at any point.

Game number i does not depend on who plays it or when: its randomness comes from (seed, i), and agent k sits on seat
(k + i) mod players. So any number of workers, in any order, over any number of runs, produces the same records.
"""

import concurrent.futures as futures
import contextlib
import math
import multiprocessing
import multiprocessing.util
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foglight.agents import Agent, AgentLike
from foglight.arena.entrants import Entrant, entrant, seated
from foglight.arena.intervals import mean_and_error, wilson
from foglight.arena.referee import Record, Timing, play_game, warm_up
from foglight.arena.store import Match, Store
from foglight.checks.quick import quick_check
from foglight.fingerprints import code_of
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import Game, num_players
from foglight.state import new_state
from foglight.text import aligned, html_table
from foglight.version import __version__

Progress = Callable[[int, int], None]  # called with the games finished and the games in total


@dataclass(frozen=True)
class MatchResult:
    """The games of a match and their statistics. Agents are numbered in the order in which they were given.

    >>> result = fl.play_match("kuhn_poker", ["random", "first_legal"], games=100, seed=0)
    >>> result.games, len(result.mean_returns), sum(result.mean_returns)
    (100, 2, 0.0)
    >>> low, high = result.interval(0)  # of the win rate, 95 %
    >>> 0 < low < result.win_rate(0) < high < 1
    True
    """

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
        return len(self.records)

    def returns(self, agent: int) -> list[float]:
        """The agent's payoff in each game."""
        players = len(self.agents)
        return [record.returns[(agent + number) % players] for number, record in enumerate(self.records)]

    @property
    def mean_returns(self) -> list[float]:
        return [mean_and_error(self.returns(agent))[0] for agent in range(len(self.agents))]

    @property
    def standard_errors(self) -> list[float]:
        return [mean_and_error(self.returns(agent))[1] for agent in range(len(self.agents))]

    def score(self, agent: int) -> float:
        """The number of games won; a game with k winners counts 1/k for each, so a draw of two counts half."""
        return math.fsum(
            share(payoff, record.returns) for payoff, record in zip(self.returns(agent), self.records, strict=True)
        )

    def win_rate(self, agent: int) -> float:
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
    workers: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play a match of `games` games; the agents change seats after each.

    An agent is given as text, as a class or as an instance. All random numbers follow from `seed`, whatever the number
    of `workers`, which are processes. `store` is an SQLite file: games in it are not played again, and each new game is
    added when it ends. If the code of the game or of an agent has changed since, all games are played anew, and the old
    ones are kept. `progress` is called with the number of games finished and the number of all games.

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
        code = (code_of(type(self.game)), *(one.code for one in self.entrants))
        return Match(str(self.game), self.agents, self.seed, __version__, code)


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


def check_whole(name: str, value: Any, low: int) -> None:
    """Raise BadInput unless the value is a whole number of at least `low`."""
    if type(value) is not int or not low <= value < 2**63:
        raise BadInput(f"{name} must be a whole number of at least {low}, not {value!r}")


def play_plans(
    plans: Sequence[Plan], workers: int = 1, store: str | Path | None = None, progress: Progress | None = None
) -> list[MatchResult]:
    """Play several matches with one set of workers and one store."""
    check_whole("workers", workers, 1)
    with contextlib.ExitStack() as stack:
        if store is None and workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="foglight-"))
            store = Path(folder) / "match.sqlite"
        database = stack.enter_context(contextlib.closing(Store(":memory:" if store is None else store)))
        earlier = [database.others(plan.match) for plan in plans]
        matches = [database.match(plan.match) for plan in plans]
        jobs = list(zip(plans, matches, strict=True))
        for plan, match in jobs:
            database.records(match, plan.games)  # raises BadInput for a damaged store before anything is played
        report = _Reporter(progress, sum(plan.games for plan in plans))
        report(report.total - sum(len(numbers) for _, _, numbers in _missing(jobs, database)))
        if workers == 1:
            for plan, match, numbers in _missing(jobs, database):
                with contextlib.ExitStack() as crew:
                    agents = seated(plan.entrants, crew)
                    _warm_up(plan, agents)
                    for number in numbers:
                        database.add(match, number, _play(plan, number, agents))
                        report(report.done + 1)
        else:
            _play_in_parallel(jobs, database, workers, report)
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

_GIVE_UP_AFTER = 3  # pools in a row that died without finishing a game


def _play_in_parallel(jobs: _Jobs, database: Store, workers: int, report: _Reporter) -> None:
    """Let workers play, and write into the store. The parent counts games, and replaces a pool that lost a worker."""
    # forked workers start at once: they inherit the loaded kernels and the caller's own game classes
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    fruitless = 0
    while missing := _missing(jobs, database):
        left = sum(len(numbers) for _, _, numbers in missing)
        size = max(1, min(50, left // (8 * workers)))
        with futures.ProcessPoolExecutor(
            workers, multiprocessing.get_context(method), initializer=_stay_with, initargs=(os.getpid(),)
        ) as pool:
            try:
                waiting = {
                    pool.submit(_work, plan, database.path, match, numbers[i : i + size])
                    for plan, match, numbers in missing
                    for i in range(0, len(numbers), size)
                }
                while waiting:
                    done, waiting = futures.wait(waiting, timeout=0.1, return_when=futures.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                    report(sum(len(database.numbers(match, plan.games)) for plan, match in jobs))
            except BrokenProcessPool:
                remaining = sum(len(numbers) for _, _, numbers in _missing(jobs, database))
                fruitless = 0 if remaining < left else fruitless + 1
                if fruitless == _GIVE_UP_AFTER:
                    raise RuntimeError(f"worker processes keep dying; {remaining} games are left to play") from None
            except BaseException:
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise


def _work(plan: Plan, path: str, match: int, numbers: Sequence[int]) -> None:
    agents = _crew.serving(plan.entrants)
    try:
        _warm_up(plan, agents)
        with contextlib.closing(Store(path)) as database:
            for number in numbers:
                database.add(match, number, _play(plan, number, agents))
    except BaseException:
        _crew.close()  # the parent may terminate this worker before its finalizer runs
        raise


class _Crew:
    """The agents of a worker: one set for all games of the match that it is playing."""

    def __init__(self) -> None:
        self.entrants: tuple[Entrant, ...] = ()
        self.agents: list[Agent] = []
        self.stack = contextlib.ExitStack()

    def serving(self, entrants: tuple[Entrant, ...]) -> list[Agent]:
        """An agent for each entrant. The agents of another match are closed first."""
        if self.entrants != entrants:
            self.close()
            self.agents = seated(entrants, self.stack, in_worker=True)
            self.entrants = entrants
        return self.agents

    def close(self) -> None:
        self.stack.close()
        self.entrants, self.agents = (), []


_crew = _Crew()


def _stay_with(parent: int) -> None:
    """Make this worker end when its parent does, even by kill -9, and leave Ctrl-C to the parent.

    A worker that ends by itself closes its agents. The engines of a worker that is killed end when their pipes close.
    """
    multiprocessing.util.Finalize(None, _crew.close, exitpriority=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
