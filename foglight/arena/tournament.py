"""Tournaments: every agent meets every other on every game with the same deals, and gets a rating.

A tournament is a set of matches in one store, so it can be resumed and spread over workers as they can.

**Tables.** A table is a group of agents that fills the seats of a game. In a game of n seats, every n different agents
are a table. If there are fewer than n agents, the tables are all ways to seat each of them equally often, up to one
seat.

**Seatings.** Each table plays in every distinct order of its agents; from five seats on, in one order and its
rotations. Each seating is a match with the same seed, so every seating of every table gets the same deals, and no agent
gets better cards than another.

**Scores.** A game compares the returns of every two different agents at the table: the higher return wins, and equal
returns count half for both. The comparisons within one game are not independent, so in a game of n seats each counts
1 / (n - 1). A game then counts as much for a seat as a game of two seats does.
"""

import copy
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foglight.addresses import class_text
from foglight.agents import Agent, AgentLike, load_agent, opened
from foglight.arena.entrants import entrant
from foglight.arena.export import COLUMNS
from foglight.arena.intervals import wilson
from foglight.arena.match import MatchResult, Plan, Progress, check_names, check_whole, play_plans
from foglight.arena.ratings import Rating, rate
from foglight.arena.referee import Timing
from foglight.checks.quick import quick_check
from foglight.frames import Framed
from foglight.games import load_game
from foglight.names import BadInput, Spec, listed, parse_spec, unknown
from foglight.pieces import Workers
from foglight.rules import Game, num_players
from foglight.state import new_state
from foglight.text import aligned, html_table

Wins = Mapping[tuple[int, int], float]  # of agent i of a match against agent k, by (i, k); equal returns count half

_ALL_ORDERS = 4  # most seats with which a table plays in every order


@dataclass(frozen=True)
class Tournament(Framed):
    """The matches of a tournament, their scores and the ratings.

    >>> tournament = fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=40)
    >>> row = tournament.crosstable()[0]
    >>> row["agent"], row["against"], row["games"]
    ('random', 'first_legal', 40.0)
    >>> len(tournament.table())  # a row for each game and seat
    80
    """

    columns_of_table: ClassVar = COLUMNS
    games: tuple[str, ...]
    agents: tuple[str, ...]
    seed: int
    matches: tuple[MatchResult, ...]

    @property
    def played(self) -> int:
        """The number of games in all matches."""
        return sum(match.games for match in self.matches)

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per game and seat, with the columns of `foglight export`."""
        return [row for match in self.matches for row in match.table()]

    def scores(self, game: str | None = None) -> np.ndarray:
        """The score of each agent (row) against each other agent (column), on one game or on all."""
        if game is not None and game not in self.games:
            raise BadInput(unknown("game of this tournament", game, self.games))
        played = [match for match in self.matches if game in (None, match.game)]
        return pair_scores(self.agents, [(match.agents, _wins(match)) for match in played])

    def crosstable(self, game: str | None = None, confidence: float = 0.95) -> list[dict[str, Any]]:
        """For each ordered pair of agents: games, score, and win rate with its Wilson interval."""
        scores, rows = self.scores(game), []
        for i, k in itertools.permutations(range(len(self.agents)), 2):
            score, games = float(scores[i, k]), float(scores[i, k] + scores[k, i])
            if games:
                row = {"agent": self.agents[i], "against": self.agents[k], "games": games, "score": score}
                rows.append({**row, "win_rate": score / games, "interval": list(wilson(score, games, confidence))})
        return rows

    def ratings(
        self, game: str | None = None, *, anchor: str | None = None, prior: float = 1.0, confidence: float = 0.95
    ) -> list[Rating]:
        """Elo ratings on one game or on all, best first."""
        if anchor is not None and anchor not in self.agents:
            anchor = str(parse_spec(anchor))  # the same text, written with other spaces
        rated = rate(self.agents, self.scores(game), anchor=anchor, prior=prior, confidence=confidence)
        return sorted(rated, key=lambda rating: -rating.rating)

    def timing(self, agent: str) -> Timing | None:
        """The agent's thinking time over all its games; None if no game was timed."""
        total = Timing()
        for match in self.matches:
            for k, name in enumerate(match.agents):
                if name == agent and (timing := match.timing(k)):
                    total.join(timing)
        return total if total.moves else None

    def summary(self, anchor: str | None = None) -> dict[str, Any]:
        """All of it as plain data. Only agents with the option `time` get times; the rest follows from the seed."""
        data: dict[str, Any] = {"games": list(self.games), "agents": list(self.agents), "seed": self.seed}
        timed = frozenset[str]().union(*(match.timed for match in self.matches))
        data |= {"played": self.played, "ratings": [asdict(rating) for rating in self.ratings(anchor=anchor)]}
        for row in data["ratings"]:
            timing = self.timing(row["agent"]) if row["agent"] in timed else None
            row["timing"] = timing.summary() if timing else None
        data["crosstable"] = self.crosstable()
        data["by_game"] = {
            game: {
                "ratings": [asdict(rating) for rating in self.ratings(game, anchor=anchor)],
                "crosstable": self.crosstable(game),
            }
            for game in self.games
        }
        return data

    def _rows(self) -> list[dict[str, str]]:
        """One row of text per agent, for tables, best first."""
        return [
            {
                "agent": rating.agent,
                "Elo": f"{rating.rating:+.0f}",
                "95 % interval": f"{rating.low:+.0f} to {rating.high:+.0f}",
                "score": f"{rating.score:g} of {rating.games:g}",
            }
            for rating in self.ratings()
        ]

    def _title(self) -> str:
        return f"{', '.join(self.games)}, {self.played} games played, seed {self.seed}"

    def __str__(self) -> str:
        return f"{self._title()}\n{aligned(self._rows())}"

    def __repr__(self) -> str:
        ratings = (f"{rating.agent} {rating.rating:+.0f}" for rating in self.ratings())
        return f"<Tournament: {self._title()}; {', '.join(ratings)} Elo>"

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self._title()) + html_table(self._cross_rows(), "row against column, wins")

    def _cross_rows(self) -> list[dict[str, str]]:
        """The win rate of each agent (row) against each other one (column)."""
        rates = {(row["agent"], row["against"]): f"{row['win_rate']:.0%}" for row in self.crosstable()}
        return [{"": one, **{other: rates.get((one, other), "") for other in self.agents}} for one in self.agents]


def pair_scores(agents: Sequence[str], matches: Iterable[tuple[Sequence[str], Wins]]) -> np.ndarray:
    """The score of each agent (row) against each other agent (column) over matches, each by its agents and wins."""
    place = {agent: i for i, agent in enumerate(agents)}
    scores = np.zeros((len(place), len(place)))
    for names, wins in matches:
        for i, k in itertools.permutations(range(len(names)), 2):
            scores[place[names[i]], place[names[k]]] += wins[i, k] / (len(names) - 1)
    np.fill_diagonal(scores, 0.0)  # two seats of the same agent
    return scores


def _wins(match: MatchResult) -> Wins:
    """How often agent i of a match got more than agent k, by (i, k)."""
    returns = [match.returns(k) for k in range(len(match.agents))]
    return {
        (i, k): sum(won(a, b) for a, b in zip(returns[i], returns[k], strict=True))
        for i, k in itertools.permutations(range(len(returns)), 2)
    }


def won(one: float, other: float) -> float:
    """Whether one return is higher than the other: 1.0 or 0.0, and 0.5 if they are equal."""
    return ((one > other) + (one >= other)) / 2


def play_tournament(
    games: Sequence[str | Game],
    agents: Sequence[AgentLike],
    games_each: int = 200,
    seed: int = 0,
    workers: Workers = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
    budget: str = "",
) -> Tournament:
    """Let every agent meet every other. Each table plays at least `games_each` games of each game.

    The number is rounded up so that all seatings of a table play equally often. A `budget` such as `time=0.05` or
    `iterations=10000` is given to every agent that has these options. `workers` are processes, or say where to play, as
    in `play_match`. `store` is an SQLite file; the same call with the same store resumes the tournament.

        >>> tournament = fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=40, seed=0)
        >>> tournament.played, sorted(rating.agent for rating in tournament.ratings())
        (40, ['first_legal', 'random'])
    """
    if isinstance(games, str) or not games:
        raise BadInput("name the games of the tournament in a list, at least one")
    check_whole("games", games_each, 1)
    check_whole("seed", seed, 0)
    loaded = [load_game(game) for game in games]
    if isinstance(agents, str) or len(agents) < 2:
        raise BadInput("a tournament needs at least two agents")
    entrants = [entrant(agent, loaded) for agent in with_budget(agents, budget)]
    check_names(entrants)
    names = tuple(one.name for one in entrants)
    for what, texts in (("game", list(map(str, loaded))), ("agent", list(names))):
        if repeats := [text for text, count in Counter(texts).items() if count > 1]:
            raise BadInput(f"{what} {repeats[0]} is named twice; name it once")
    plans = []
    for game in loaded:
        quick_check(game)
        new_state(game)  # compiles the rules here, once, and not in every worker
        for table in tables(entrants, num_players(game)):
            orders = seatings(table)
            plans += [Plan(game, order, -(-games_each // len(orders)), seed) for order in orders]
    matches = play_plans(plans, workers, store, progress)
    return Tournament(tuple(map(str, loaded)), names, seed, tuple(matches))


def with_budget(agents: Sequence[AgentLike], budget: str) -> list[AgentLike]:
    """The agents, with this budget where they can have one. An agent that already has a budget is refused."""
    pairs = parse_spec(f"budget({budget})").arguments
    if not pairs:
        return list(agents)
    if len(pairs) != 1 or pairs[0][0] not in ("time", "iterations") or pairs[0][1] in (0, False):
        raise BadInput(f"a budget is time=SECONDS or iterations=NUMBER, above 0, not {budget!r}")
    out: list[AgentLike] = []
    takers = 0
    for agent in agents:
        with opened([agent]) as (loaded,):
            takes, has = "time" in loaded.options(), bool(loaded.time or loaded.iterations)
        if takes and has:
            raise BadInput(f"{agent} has a budget of its own; leave that out, or give every agent its own")
        takers += takes
        out.append(_with_option(agent, pairs) if takes else agent)
    if not takers:
        raise BadInput(f"none of {listed(agents)} takes a budget; leave out {budget}")
    return out


def _with_option(agent: AgentLike, pairs: tuple[tuple[str, Any], ...]) -> AgentLike:
    """The agent with one more option."""
    if isinstance(agent, Agent):
        changed = copy.copy(agent)
        setattr(changed, *pairs[0])
        return changed
    if isinstance(agent, type):
        return load_agent(Spec(class_text(agent), pairs))
    if isinstance(agent, str):
        agent = parse_spec(agent)
    return Spec(agent.name, agent.arguments + pairs)


def tables(agents: Sequence[Any], seats: int) -> list[tuple[Any, ...]]:
    """The groups of agents that play together: every choice of different agents, or all of them several times.

    With fewer agents than seats, the numbers of seats that two agents get differ by at most one.
    """
    times, extra = divmod(seats, len(agents))
    if times == 0:
        return list(itertools.combinations(agents, seats))
    return [tuple(agents) * times + more for more in itertools.combinations(agents, extra)]


def seatings(table: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The distinct orders in which a table plays."""
    if len(table) <= _ALL_ORDERS:
        return list(dict.fromkeys(itertools.permutations(table)))
    return list(dict.fromkeys(table[i:] + table[:i] for i in range(len(table))))
