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

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foglight.agents import load_agent
from foglight.arena.export import game_rows
from foglight.arena.intervals import wilson
from foglight.arena.match import MatchResult, Plan, Progress, check_agents, check_whole, play_plans, takes_time
from foglight.arena.ratings import Rating, rate
from foglight.arena.referee import Timing
from foglight.checks.quick import quick_check
from foglight.games import load_game
from foglight.names import BadInput, Spec, listed, parse_spec, unknown
from foglight.rules import Game, num_players
from foglight.state import new_state
from foglight.version import __version__

_ALL_ORDERS = 4  # most seats with which a table plays in every order


@dataclass(frozen=True)
class Tournament:
    """The matches of a tournament, their scores and the ratings.

    >>> tournament = fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=40)
    >>> row = tournament.crosstable()[0]
    >>> row["agent"], row["against"], row["games"]
    ('random', 'first_legal', 40.0)
    >>> len(tournament.table())  # a row for each game and seat
    80
    """

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
        return [
            row
            for match in self.matches
            for number, record in enumerate(match.records)
            for row in game_rows(match.game, match.agents, match.seed, __version__, number, record)
        ]

    def scores(self, game: str | None = None) -> np.ndarray:
        """The score of each agent (row) against each other agent (column), on one game or on all."""
        if game is not None and game not in self.games:
            raise BadInput(unknown("game of this tournament", game, self.games))
        place = {agent: i for i, agent in enumerate(self.agents)}
        scores = np.zeros((len(place), len(place)))
        for match in self.matches:
            if game in (None, match.game):
                players = len(match.agents)
                returns = [match.returns(k) for k in range(players)]
                for i, k in itertools.permutations(range(players), 2):
                    won = sum(((a > b) + (a >= b)) / 2 for a, b in zip(returns[i], returns[k], strict=True))
                    scores[place[match.agents[i]], place[match.agents[k]]] += won / (players - 1)
        np.fill_diagonal(scores, 0.0)  # two seats of the same agent
        return scores

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
        anchor = None if anchor is None else str(parse_spec(anchor))
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
        data |= {"played": self.played, "ratings": [asdict(rating) for rating in self.ratings(anchor=anchor)]}
        for row in data["ratings"]:
            timing = self.timing(row["agent"]) if takes_time(row["agent"]) else None
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


def play_tournament(
    games: Sequence[str | Game],
    agents: Sequence[str],
    games_each: int = 200,
    seed: int = 0,
    workers: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
    budget: str = "",
) -> Tournament:
    """Let every agent meet every other. Each table plays at least `games_each` games of each game.

    The number is rounded up so that all seatings of a table play equally often. A `budget` such as `time=0.05` or
    `iterations=10000` is given to every agent that has these options. `workers` are processes. `store` is an SQLite
    file; the same call with the same store resumes the tournament.

        >>> tournament = fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=40, seed=0)
        >>> tournament.played, sorted(rating.agent for rating in tournament.ratings())
        (40, ['first_legal', 'random'])
    """
    if isinstance(games, str) or not games:
        raise BadInput("name the games of the tournament in a list, at least one")
    check_whole("games", games_each, 1)
    check_whole("seed", seed, 0)
    loaded = [load_game(game) for game in games]
    names = check_agents(with_budget(agents, budget), loaded)
    if isinstance(agents, str) or len(names) < 2:
        raise BadInput("a tournament needs at least two agents")
    for what, texts in (("game", list(map(str, loaded))), ("agent", list(names))):
        if repeats := [text for text, count in Counter(texts).items() if count > 1]:
            raise BadInput(f"{what} {repeats[0]} is named twice; name it once")
    plans = []
    for game in loaded:
        quick_check(game)
        new_state(game)  # compiles the rules here, once, and not in every worker
        for table in tables(names, num_players(game)):
            orders = seatings(table)
            plans += [Plan(game, order, -(-games_each // len(orders)), seed) for order in orders]
    matches = play_plans(plans, workers, store, progress)
    return Tournament(tuple(map(str, loaded)), names, seed, tuple(matches))


def with_budget(agents: Sequence[str], budget: str) -> list[str]:
    """The agents, with this budget where they can have one. An agent that already has a budget is refused."""
    pairs = parse_spec(f"budget({budget})").arguments
    if not pairs:
        return list(agents)
    if len(pairs) != 1 or pairs[0][0] not in ("time", "iterations") or pairs[0][1] in (0, False):
        raise BadInput(f"a budget is time=SECONDS or iterations=NUMBER, above 0, not {budget!r}")
    out = []
    for agent in agents:
        if takes_time(agent):
            spec = parse_spec(agent)
            with load_agent(spec) as loaded:
                if loaded.time or loaded.iterations:
                    raise BadInput(f"{spec} has a budget of its own; leave that out, or give every agent its own")
            agent = str(Spec(spec.name, spec.arguments + pairs))
        out.append(agent)
    if out == list(agents):
        raise BadInput(f"none of {listed(agents)} takes a budget; leave out {budget}")
    return out


def tables(agents: Sequence[str], seats: int) -> list[tuple[str, ...]]:
    """The groups of agents that play together: every choice of different agents, or all of them several times.

    With fewer agents than seats, the numbers of seats that two agents get differ by at most one.
    """
    times, extra = divmod(seats, len(agents))
    if times == 0:
        return list(itertools.combinations(agents, seats))
    return [tuple(agents) * times + more for more in itertools.combinations(agents, extra)]


def seatings(table: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The distinct orders in which a table plays."""
    if len(table) <= _ALL_ORDERS:
        return list(dict.fromkeys(itertools.permutations(table)))
    return list(dict.fromkeys(table[i:] + table[:i] for i in range(len(table))))
