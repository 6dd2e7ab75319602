"""A game between a person and agents, which can be left and resumed.

A saved game holds the game, the agents, the seed and the actions so far. The actions are packed, so that nobody reads
by accident what is hidden from the person. Replaying them restores every agent, and redrawing chance restores its
generator: the game goes on exactly as if it had never been left, whatever time agents take.
"""

import base64
import contextlib
import json
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foglight.agents import Agent, opened
from foglight.agents.human import Human, Leave
from foglight.arena.referee import Record, Referee
from foglight.files import write_whole
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import Game, num_players
from foglight.version import __version__

_KIND = "a saved game of foglight"
_FIELDS = {"game": str, "agents": list, "seat": int, "seed": int, "actions": str}


class SavedGame(NamedTuple):
    """A game that was left."""

    game: str
    agents: tuple[str, ...]  # on the other seats, in their order
    seat: int  # the person's
    seed: int
    actions: tuple[int, ...]  # so far, outcomes of chance included


class Session:
    """A game of a person on one seat against agents on the others.

    `vs` is an agent, or a list with one for each other seat. `ask` takes a prompt and returns what the person writes,
    `tell` shows a text or a table, `draw` makes a picture of a belief for `tell`. A person who leaves finds the game in
    `file`; `advice` says how to go on with it. `actions` are those of a game that is resumed.
    """

    def __init__(
        self,
        game: str | Game,
        vs: Any,
        *,
        seat: int = 0,
        seed: int = 0,
        actions: Sequence[int] = (),
        file: str | Path | None = None,
        ask: Callable[[str], str] | None = None,
        tell: Callable[[Any], None] | None = None,
        draw: Callable[[Any], Any] | None = None,
        advice: str = "foglight play --resume {file}",
    ) -> None:
        self.game = load_game(game)
        seats = num_players(self.game)
        if not 0 <= seat < seats:
            raise BadInput(f"{self.game} has seats 0 to {seats - 1}, not {seat}")
        if seed < 0:
            raise BadInput(f"seed must be at least 0, not {seed}")
        others = list(vs) if isinstance(vs, list | tuple) else [vs] * (seats - 1)
        if len(others) != seats - 1:
            raise BadInput(f"{self.game} has {seats - 1} seats beside yours, and {len(others)} agents are given")
        instances = [id(agent) for agent in others if isinstance(agent, Agent)]
        if len(set(instances)) < len(instances):
            raise BadInput("one agent cannot sit on several seats; give its text, or one agent for each seat")
        self.seat, self.seed, self._others, self._actions = seat, seed, others, tuple(actions)
        self._file, self._advice = file if file is None else Path(file), advice
        self._referee: Referee | None = None
        self._texts: list[str] = []
        person = Human()
        self._ask, self._tell, self._draw = ask or person.ask, tell or person.tell, draw or person.draw

    def play(self) -> Record | None:
        """Play to the end and tell the result, or until the person leaves; then the result is None."""
        with opened([*self._others[: self.seat], "human", *self._others[self.seat :]]) as agents:
            others = [agent for i, agent in enumerate(agents) if i != self.seat]
            self._texts = [
                given if isinstance(given, str) else str(agent)
                for given, agent in zip(self._others, others, strict=True)
            ]
            for agent in agents:
                if isinstance(agent, Human):
                    agent.ask, agent.tell, agent.draw, agent.save = self._ask, self._tell, self._draw, self.save
            try:
                self._referee = Referee(self.game, agents, self.seed, actions=self._actions)
            except BadInput as error:
                if not self._actions:
                    raise
                raise BadInput(f"the saved game does not follow the rules of {self.game}: {error}") from None
            try:
                record, state = self._referee.finish()
            except (Leave, EOFError, KeyboardInterrupt):
                self._tell(self._keep())
                return None
            except Exception:  # a mistake in a game or an agent must not cost the game
                self._tell(self._keep())
                raise
        payoff = record.returns[self.seat]
        result = "you win" if payoff > 0 else "you lose" if payoff < 0 else "nobody wins"
        self._tell(f"\nthe game is over: {result} ({payoff:+g}). What was really there:\n{state}")
        return record

    def save(self, name: str | Path) -> str:
        """Write the game so far into a file; the result says how to go on with it."""
        assert self._referee is not None
        file = Path(name).expanduser()
        if file.exists():
            load_saved(file)  # refuses to replace what is not a saved game
        actions = json.dumps(self._referee.actions()).encode()
        content = {
            "what": _KIND,
            "version": __version__,
            "game": str(self.game),
            "agents": self._texts,
            "seat": self.seat,
            "seed": self.seed,
            "actions": base64.b64encode(zlib.compress(actions)).decode(),
        }
        write_whole(file, json.dumps(content, indent=1).encode())
        self._file = file
        return f"the game is kept; go on with: {self._advice.format(file=str(file))}"

    def _keep(self) -> str:
        """Save the game that the person leaves, if it has begun, wherever that is possible."""
        assert self._referee is not None
        moves = sum(agent.moves for agent in self._referee.agents if isinstance(agent, Human))
        if moves == 0 and self._file is None:
            return "\nyou left the game"
        folders = (Path(), Path(tempfile.gettempdir()))
        for file in ([self._file] if self._file else []) + [_free(folder, self.game) for folder in folders]:
            with contextlib.suppress(BadInput):
                return f"\nyou left the game; {self.save(file)}"
        return "\nyou left the game, and it could not be saved anywhere"


def load_saved(file: str | Path) -> SavedGame:
    """Read a saved game. A file that is none, or is damaged, is refused with one line."""
    try:
        content = json.loads(Path(file).read_bytes())
        if content.get("what") != _KIND or any(type(content[name]) is not kind for name, kind in _FIELDS.items()):
            raise ValueError
        actions = json.loads(zlib.decompress(base64.b64decode(content["actions"], validate=True)))
        if not all(type(agent) is str for agent in content["agents"]) or not all(type(a) is int for a in actions):
            raise ValueError
    except OSError as error:
        raise BadInput(f"cannot read {file} ({error.strerror or error}); give a file written by save") from None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, zlib.error):
        raise BadInput(f"{file} is not {_KIND}, or it is damaged") from None
    return SavedGame(content["game"], tuple(content["agents"]), content["seat"], content["seed"], tuple(actions))


def resumed(file: str | Path, game: str | Game | None = None, vs: Any = None, **options: Any) -> Session:
    """The session of a saved game. Give `game` and `vs` again if they are objects that no text describes."""
    saved = load_saved(file)
    if game is not None and str(load_game(game)) != saved.game:
        raise BadInput(f"{file} holds a game of {saved.game}, not of {load_game(game)}")
    played = saved.game if game is None else game
    others = list(saved.agents) if vs is None else vs
    return Session(played, others, seat=saved.seat, seed=saved.seed, actions=saved.actions, file=file, **options)


def _free(folder: Path, game: Any) -> Path:
    """A file of that folder that does not exist yet."""
    name = Path(str(game).partition("(")[0].rpartition(":")[2]).name
    names = (folder / f"{name}{i or ''}.saved" for i in range(1_000_000))
    return next(path for path in names if not path.exists())
