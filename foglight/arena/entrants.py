"""Those who play a match: agents given as text, class or instance, with the name and the code they are known by.

A store knows an agent by its name and by the fingerprint of its code and files, so that the games of an edited bot are
not taken for those of the bot before the edit.
"""

import copy
import pickle
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foglight.addresses import class_text
from foglight.agents import Agent, AgentLike, load_agent
from foglight.fingerprints import code_of, files_of, paths_of
from foglight.games import load_game
from foglight.names import BadInput, Spec, parse_spec
from foglight.pieces.luggage import path_here
from foglight.rules import Game


@dataclass(frozen=True)
class Entrant:
    """An agent that takes part. Two entrants are equal if their names and their code are."""

    name: str  # in tables and stores
    code: str  # the fingerprint of the code and the files that it plays by
    options: tuple[str, ...] = field(compare=False)  # the names of its options
    source: AgentLike = field(compare=False, repr=False)
    module: str = field(default="foglight", compare=False)  # where its class is
    threads: int = field(default=1, compare=False)
    memory_bytes: int = field(default=0, compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)  # that its options name

    @property
    def takes_time(self) -> bool:
        """Whether it has the option `time`."""
        return "time" in self.options

    def __getstate__(self) -> dict[str, object]:
        try:
            pickle.dumps(self.source)
        except Exception as error:  # whatever pickle raises about somebody else's object
            why = " ".join(str(error).split())
            raise BadInput(
                f"{self.name} cannot be sent to worker processes ({why}); use one worker, "
                "or define its class in a module and give its address, package.module:Class"
            ) from None
        return self.__dict__


def entrant(agent: AgentLike, games: Sequence[str | Game]) -> Entrant:
    """The entrant for an agent. One that cannot play these games by itself is refused."""
    spec = parse_spec(agent) if isinstance(agent, str) else agent
    with ExitStack() as stack:
        loaded = load_agent(spec)
        if not isinstance(agent, Agent):
            stack.enter_context(loaded)
        if loaded.at_terminal:
            raise BadInput(f"{_name(spec, loaded)} needs somebody at the terminal; use 'foglight play' for that")
        for game in games:
            loaded.check(load_game(game))
        code = code_of(type(loaded)) + files_of(_options(loaded))
        return Entrant(
            _name(spec, loaded), code, tuple(loaded.options()), spec,
            type(loaded).__module__, loaded.threads, loaded.memory_bytes, tuple(map(str, paths_of(_options(loaded)))),
        )  # fmt: skip


def rules_code(game: Game) -> str:
    """The fingerprint of the code of a game's rules, and of the files that its parameters name."""
    parameters: Any = game
    return code_of(type(game)) + files_of(parameters._asdict().values() if isinstance(game, tuple) else ())


def _name(agent: AgentLike, loaded: Agent) -> str:
    """The name of an agent: its own, its text as it was written, or the text with its options."""
    if loaded.name or isinstance(agent, Agent):
        return str(loaded)
    return str(agent) if isinstance(agent, Spec) else class_text(type(loaded))


def _options(agent: Agent) -> list[object]:
    return [vars(agent).get(option) for option in agent.options()]


def seated(entrants: Sequence[Entrant], stack: ExitStack, in_worker: bool = False) -> list[Agent]:
    """An agent for each entrant. The stack closes those that are made here.

    An instance plays itself, and is left open for its owner. If it has several seats, copies take the others. The
    instances in a worker process are copies, too.
    """
    agents: list[Agent] = []
    for one in entrants:
        if in_worker and isinstance(one.source, Agent):
            own = {option: vars(one.source)[option] for option in one.options if option in vars(one.source)}
            vars(one.source).update(relocated(own))
        if not isinstance(one.source, Agent):
            agents.append(stack.enter_context(load_agent(relocated(one.source))))
        elif any(agent is one.source for agent in agents):
            try:
                agents.append(stack.enter_context(copy.deepcopy(one.source)))
            except Exception as error:  # whatever a copy of somebody else's object raises
                why = " ".join(str(error).split())
                raise BadInput(f"{one.name} cannot play on two seats, since it cannot be copied ({why})") from None
        else:
            agents.append(stack.enter_context(one.source) if in_worker else one.source)
    return agents


def relocated(value: Any) -> Any:
    """A value in which the paths of files that have travelled to this worker are where it finds them."""
    if isinstance(value, Spec):
        return Spec(value.name, tuple((key, relocated(argument)) for key, argument in value.arguments))
    if isinstance(value, dict):
        return {key: relocated(item) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(map(relocated, value))
    return type(value)(path_here(str(value))) if isinstance(value, str | Path) else value
