"""Which games and agents the page may choose from.

The page sends names. They are looked up here, and nothing that the page sends is imported or opened: a game or an agent
of one's own, or one with options that name files, is offered by the command line.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from foglight.addresses import is_from_file
from foglight.agents import agent_class, agent_names, load_agent
from foglight.games import game_class, game_names, load_game
from foglight.names import BadInput, Spec, parameter_texts, parse_spec, unknown
from foglight.rules import how_to_play, num_players, title

_LONG = 200  # characters of a parameter's value at most
HUMAN = "human"  # on a seat: a person


class Offers:
    """The games and agents of a server: native ones, those of installed packages, and those given by their text."""

    def __init__(self, games: Sequence[str] = (), agents: Sequence[str] = (), most_seconds: float = 10.0) -> None:
        self.most_seconds = most_seconds
        self._games: dict[str, Spec] = {name: Spec(name) for name in game_names()}
        self._from_files: set[str] = set()  # games whose only parameter is a file, which the page must not choose
        for text in games:
            loaded = load_game(text)  # refuses what is none
            if is_from_file(type(loaded)):
                self._from_files.add(text)
            self._games[text] = parse_spec(str(loaded) if text in self._from_files else text)  # a path may be no spec
        self._agents: dict[str, Spec] = {}
        self._plays: dict[str, list[str]] = {}  # names of games by agent
        for name in [*agent_names(), *agents]:
            spec = parse_spec(name)
            if not agent_class(spec.name).at_terminal and (plays := self._playable(spec)):
                self._agents[name], self._plays[name] = spec, plays
        self._openspiel: set[str] = set()  # its games, when they were asked for

    def _playable(self, spec: Spec) -> list[str]:
        """The games on offer that an agent plays; none if it lacks options that it needs."""
        plays = []
        for name, game in self._games.items():
            with contextlib.suppress(BadInput), load_agent(spec) as agent:
                agent.check(load_game(str(game)))
                plays.append(name)
        return plays

    def data(self) -> dict[str, Any]:
        """All of it for the page."""
        return {
            "games": [described for name in self._games if (described := self._described(name)) is not None],
            "agents": [
                {
                    "name": name,
                    "what": str(agent_class(spec.name).__doc__).splitlines()[0],
                    "strength": agent_class(spec.name).strength,
                    "takes_time": self._takes_time(spec),
                    "plays": None if len(self._plays[name]) == len(self._games) else self._plays[name],
                }
                for name, spec in self._agents.items()
            ],
            "seconds": {"default": min(1.0, self.most_seconds), "most": self.most_seconds},
        }

    def _described(self, name: str) -> dict[str, Any] | None:
        spec = self._games[name]
        try:
            game = load_game(str(spec))
        except BadInput:  # somebody's game that has no defaults
            return None
        texts = parameter_texts(type(game)) if isinstance(game, tuple) and name not in self._from_files else {}
        given = dict(spec.arguments)
        return {
            "name": name,
            "title": title(game),
            "players": num_players(game),
            "rules": how_to_play(game),
            "parameters": [
                {"name": key, **text._asdict()} | ({"default": str(given[key])} if key in given else {})
                for key, text in texts.items()
            ],
        }

    def openspiel(self) -> list[dict[str, Any]]:
        """The games of OpenSpiel for the page; none if it is not installed."""
        try:
            from foglight.bridges.openspiel import descriptions
        except BadInput:
            return []
        rows: list[dict[str, Any]] = []
        for name in (described.name for described in descriptions()):
            if not name.startswith(("openspiel:efg", "openspiel:nfg")):  # these open files
                with contextlib.suppress(BadInput):  # some cannot be played
                    what = f"{name.removeprefix('openspiel:')}, of OpenSpiel"
                    players = num_players(load_game(name))
                    rows.append({"name": name, "title": what, "players": players, "rules": "", "parameters": []})
        self._openspiel = {row["name"] for row in rows}
        return rows

    def game(self, name: Any, parameters: Any) -> str:
        """The text of a game from what the page chose."""
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            raise BadInput("a game is chosen by its name and its parameters")
        if name.startswith("openspiel:"):
            return self._openspiel_game(name, parameters)
        if name not in self._games:
            raise BadInput(unknown("game", name[:_LONG], self._games))
        spec = self._games[name]
        if name in self._from_files:
            if parameters:
                raise BadInput("a game from a file has no parameters")
            return str(load_game(str(spec)))
        made = game_class(spec.name)
        texts = parameter_texts(made)
        chosen = dict(spec.arguments)
        for key, value in parameters.items():
            if key not in texts:
                raise BadInput(unknown(f"{name} parameter", str(key)[:_LONG], texts))
            chosen[key] = _plain(key, value)
        return str(load_game(str(Spec(spec.name, tuple(chosen.items())))))

    def texts(self) -> list[str]:
        """The texts of all games with their default parameters."""
        return [str(load_game(str(spec))) for name, spec in self._games.items() if self._described(name) is not None]

    def known(self, text: Any) -> str:
        """The text of a game from a link, if it is on offer."""
        if not isinstance(text, str) or len(text) > 5 * _LONG:
            raise BadInput("a game is named by its text")
        if text in self._from_files:
            return self.game(text, {})
        spec = parse_spec(text)
        for name, offered in self._games.items():
            if text in (name, str(offered)) or (spec.name == offered.name and text == str(load_game(str(offered)))):
                return str(load_game(text))
        if any(not key for key, _ in spec.arguments):
            raise BadInput("write the parameters of a game by their names")
        return self.game(spec.name, dict(spec.arguments))

    def _openspiel_game(self, name: str, parameters: Mapping[str, Any]) -> str:
        if parameters:
            raise BadInput("games of OpenSpiel have their default parameters here; foglight serve --game offers others")
        if not self._openspiel:
            self.openspiel()
        if name not in self._openspiel:
            raise BadInput(unknown("game", name[:_LONG], self._openspiel, "none of OpenSpiel's has that name"))
        return str(load_game(name))

    def agent(self, name: Any, seconds: Any, game: str) -> str:
        """The text of an agent that thinks so many seconds a move, if it plays this game."""
        if not isinstance(name, str) or name not in self._agents:
            raise BadInput(unknown("agent", str(name)[:_LONG], self._agents))
        spec = self._agents[name]
        if self._takes_time(spec):
            if (
                isinstance(seconds, bool)
                or not isinstance(seconds, int | float)
                or not 0 < seconds <= self.most_seconds
            ):
                raise BadInput(f"seconds must be above 0 and at most {self.most_seconds:g}")
            spec = Spec(spec.name, (*spec.arguments, ("time", round(float(seconds), 3) or 0.001)))
        with load_agent(spec) as agent:
            agent.check(load_game(game))
        return str(spec)

    def _takes_time(self, spec: Spec) -> bool:
        """Whether it thinks as long as one says; if its text sets a budget, it does not."""
        budget = {"time", "iterations"}
        return "time" in agent_class(spec.name).options() and not budget & {key for key, _ in spec.arguments}


def _plain(key: str, value: Any) -> Any:
    """A parameter's value: a number, a word, or a list of numbers, as a form has it."""
    if isinstance(value, str) and len(value) <= _LONG:
        argument = parse_spec(f"x({value})").arguments if value.strip() else ()
        if len(argument) == 1 and not argument[0][0]:
            value = argument[0][1]
    items = value if isinstance(value, list) else [value]
    if all(isinstance(item, str | int | float) for item in items) and len(str(value)) <= _LONG:
        return value
    raise BadInput(f"{key} must be a number, a word or a list of numbers")
