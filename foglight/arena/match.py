"""Matches: the same agents over many games, seats swapped, reproducible from one seed, resumable after any end.

Game number i is the same game whoever plays it, whenever: its randomness comes from (seed, i), and agent k sits on seat
(k + i) mod players. So any number of workers, in any order, over any number of runs, fill the same table.
"""

import concurrent.futures as futures
import contextlib
import multiprocessing
import multiprocessing.util
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foglight.agents import Agent, agent_class, load_agent, opened
from foglight.arena.intervals import mean_and_error, wilson
from foglight.arena.referee import Record, Timing, play_game, warm_up
from foglight.arena.store import Store
from foglight.games import load_game
from foglight.names import BadInput, parse_spec
from foglight.rules import Game, num_players
from foglight.state import new_state
from foglight.version import __version__

Progress = Callable[[int, int], None]  # games done, games wanted


@dataclass(frozen=True)
class MatchResult:
    """What the games of a match amount to; agents are counted in the order in which they were given.

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
        """Games won; a game shared by k winners counts 1/k for each of them, so a draw counts half."""
        score = 0.0
        for payoff, record in zip(self.returns(agent), self.records, strict=True):
            best = max(record.returns)
            score += (payoff == best) / record.returns.count(best)
        return score

    def win_rate(self, agent: int) -> float:
        return self.score(agent) / self.games if self.games else float("nan")

    def interval(self, agent: int, confidence: float = 0.95) -> tuple[float, float]:
        """The Wilson interval of the win rate."""
        return wilson(self.score(agent), self.games, confidence)

    def timing(self, agent: int) -> Timing | None:
        """Moves, seconds, the longest move and overruns of a time budget, over all games; None if none was timed."""
        players, total = len(self.agents), Timing()
        for number, record in enumerate(self.records):
            if record.timing:
                total.join(record.timing[(agent + number) % players])
        return total if total.moves else None

    def summary(self) -> dict[str, Any]:
        """All of it as plain data. Times are told of agents that take a time budget; the rest follows from the seed."""
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
                    "timing": timing.summary() if (timing := self.timing(agent)) and takes_time(name) else None,
                }
                for agent, name in enumerate(self.agents)
            ],
        }


def takes_time(agent: str) -> bool:
    """Whether an agent is one that can be given a time budget."""
    return "time" in agent_class(parse_spec(agent).name).options()


def play_match(
    game: Game,
    agents: Sequence[str],
    games: int = 200,
    seed: int = 0,
    workers: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play a match: so many games, in which the agents change seats after each.

    Everything random follows from `seed`, whatever the number of `workers`, which are processes. `store` is an SQLite
    file: games already there are not played again, and each new one is kept as it ends. `progress` is called with the
    games done and the games wanted.

        >>> result = fl.play_match("kuhn_poker", ["first_legal", "first_legal"], games=10, seed=0)
        >>> [record.actions[2:] for record in result.records[:2]]  # nobody ever bets
        [(0, 0), (0, 0)]
    """
    return play_plans([plan_match(game, agents, games, seed)], workers, store, progress)[0]


@dataclass(frozen=True)
class Plan:
    """A match to be played."""

    game: Game
    agents: tuple[str, ...]
    games: int
    seed: int


def plan_match(game: str | Game, agents: Sequence[str], games: int, seed: int) -> Plan:
    """Everything checked before anything is opened or played."""
    loaded = load_game(game)
    if isinstance(agents, str) or len(agents) != num_players(loaded):
        given = 1 if isinstance(agents, str) else len(agents)
        raise BadInput(f"{loaded} is for {num_players(loaded)} agents, not {given}; name one for each")
    check_whole("games", games, 1)
    check_whole("seed", seed, 0)
    names = check_agents(agents, [loaded])
    new_state(loaded)  # compiles the rules here, once, and not in every worker
    return Plan(loaded, names, games, seed)


def check_agents(agents: Sequence[str], games: Sequence[str | Game]) -> tuple[str, ...]:
    """The agents as they are known in a store, if all can be loaded, play these games and need nobody's help."""
    specs = [parse_spec(agent) for agent in agents]
    for spec in specs:
        with load_agent(spec) as loaded:
            if loaded.at_terminal:
                raise BadInput(f"{spec.name} needs somebody at the terminal; use 'foglight play' for that")
            for game in games:
                loaded.check(game)
    return tuple(map(str, specs))


def check_whole(name: str, value: Any, low: int) -> None:
    """Refuse what is not a whole number of at least `low`."""
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
        kept = stack.enter_context(contextlib.closing(Store(":memory:" if store is None else store)))
        matches = [kept.match(str(plan.game), plan.agents, plan.seed, __version__) for plan in plans]
        jobs = list(zip(plans, matches, strict=True))
        for plan, match in jobs:
            kept.records(match, plan.games)  # what is damaged is refused before anything is played
        report = _Reporter(progress, sum(plan.games for plan in plans))
        report(report.total - sum(len(numbers) for _, _, numbers in _missing(jobs, kept)))
        if workers == 1:
            for plan, match, numbers in _missing(jobs, kept):
                with opened(plan.agents) as agents:
                    _warm_up(plan, agents)
                    for number in numbers:
                        kept.add(match, number, _play(plan, number, agents))
                        report(report.done + 1)
        else:
            _play_in_parallel(jobs, kept, workers, report)
        return [_result(plan, kept, match) for plan, match in jobs]


def _result(plan: Plan, kept: Store, match: int) -> MatchResult:
    records = kept.records(match, plan.games)
    if len(records) != plan.games:  # seats follow from a game's place among them
        raise BadInput(f"{kept.path} is damaged: of {plan.games} games it gives {len(records)}; choose another file")
    return MatchResult(str(plan.game), plan.agents, plan.seed, tuple(records))


_Jobs = Sequence[tuple[Plan, int]]  # a plan and its match in the store


def _missing(jobs: _Jobs, kept: Store) -> list[tuple[Plan, int, list[int]]]:
    """The matches that are not complete, with the numbers of the games they lack."""
    lacks = [(plan, match, sorted(set(range(plan.games)) - kept.numbers(match, plan.games))) for plan, match in jobs]
    return [lack for lack in lacks if lack[2]]


class _Reporter:
    """Calls the progress function, but not for every one of thousands of games a second."""

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


_warm: set[tuple[int, str, str]] = (
    set()
)  # process, game and agent: forking copies this set, but a worker has its own id


def _warm_up(plan: Plan, agents: Sequence[Agent]) -> None:
    """Before a match by the clock, let this process compile and load what its agents need."""
    known = {(os.getpid(), str(plan.game), agent) for agent in plan.agents}
    if any(agent.time for agent in agents) and not known <= _warm:
        warm_up(plan.game, agents)
        _warm.update(known)


# Several processes ----------------------------------------------------------------------------------------------

_GIVE_UP_AFTER = 3  # pools in a row that died without finishing a game


def _play_in_parallel(jobs: _Jobs, kept: Store, workers: int, report: _Reporter) -> None:
    """Workers write into the store by themselves; here we wait, count, and replace a pool that lost a worker."""
    # forked workers start at once, with the kernels already loaded and the caller's own games and agents at hand
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    fruitless = 0
    while missing := _missing(jobs, kept):
        left = sum(len(numbers) for _, _, numbers in missing)
        size = max(1, min(50, left // (8 * workers)))
        with futures.ProcessPoolExecutor(
            workers, multiprocessing.get_context(method), initializer=_stay_with, initargs=(os.getpid(),)
        ) as pool:
            try:
                waiting = {
                    pool.submit(_work, plan, kept.path, match, numbers[i : i + size])
                    for plan, match, numbers in missing
                    for i in range(0, len(numbers), size)
                }
                while waiting:
                    done, waiting = futures.wait(waiting, timeout=0.1, return_when=futures.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                    report(sum(len(kept.numbers(match, plan.games)) for plan, match in jobs))
            except BrokenProcessPool:
                remaining = sum(len(numbers) for _, _, numbers in _missing(jobs, kept))
                fruitless = 0 if remaining < left else fruitless + 1
                if fruitless == _GIVE_UP_AFTER:
                    raise RuntimeError(f"worker processes keep dying; {remaining} games are left to play") from None
            except BaseException:
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise


def _work(plan: Plan, path: str, match: int, numbers: Sequence[int]) -> None:
    agents = _crew.serving(plan.agents)
    try:
        _warm_up(plan, agents)
        with contextlib.closing(Store(path)) as kept:
            for number in numbers:
                kept.add(match, number, _play(plan, number, agents))
    except BaseException:
        _crew.close()  # the parent may end this worker before it can do so
        raise


class _Crew:
    """A worker's agents: those of the match that it plays at the moment, which serve in all of its games."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.agents: list[Agent] = []

    def serving(self, names: tuple[str, ...]) -> list[Agent]:
        """The agents of these names; those of another match are closed."""
        if self.names != names:
            self.close()
            self.agents = [load_agent(name) for name in names]
            self.names = names
        return self.agents

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
        self.names, self.agents = (), []


_crew = _Crew()


def _stay_with(parent: int) -> None:
    """A worker ends when its parent does, also by kill -9, and leaves Ctrl-C to the parent.

    It closes its agents when it ends by itself. The engines of a worker that is killed end because their pipes do.
    """
    multiprocessing.util.Finalize(None, _crew.close, exitpriority=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
