"""Our agents in OpenSpiel's own loops: a `pyspiel.Bot` that sits on one seat.

OpenSpiel hands a bot the true state. This one does with it what a referee would do: it works out what its seat has
observed, tells the agent that, and nothing else.
"""

from typing import Any

import pyspiel

from foglight.agents import load_agent
from foglight.names import BadInput
from foglight.rules import num_players
from foglight.state import State, new_state


class AgentBot(pyspiel.Bot):
    """An agent of ours, for OpenSpiel; every game it starts has a seed of its own, from the one given."""

    def __init__(self, agent: str, game: Any, seat: int, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self.agent, self.seat, self.seed = load_agent(agent), seat, seed
        self.referee: State = new_state(game)
        if hasattr(self.agent, "read"):
            raise BadInput(f"{agent} needs somebody at the terminal and cannot be an OpenSpiel bot")
        if not 0 <= seat < num_players(self.referee.game):
            raise BadInput(f"{self.referee.game} has seats 0 to {num_players(self.referee.game) - 1}, not {seat}")
        self.started = 0
        self.restart()

    def restart(self) -> None:
        """A new game begins."""
        self.referee, self.told = State(self.referee.game), 0
        self.agent.start(self.referee.game, self.seat, self.seed + self.started)
        self.started += 1

    def restart_at(self, state: Any) -> None:
        self.restart()
        self._follow(state)

    def step(self, state: Any) -> int:
        """The agent's action where its seat is to move."""
        self._follow(state)
        return int(self.agent.act(self.referee.actions()))

    def inform_action(self, state: Any, player: int, action: int) -> None:
        """Nothing to do: `step` sees what has happened since."""

    def provides_policy(self) -> bool:
        return False

    def _follow(self, state: Any) -> None:
        """Bring our own position up to OpenSpiel's, and tell the agent what its seat observed on the way."""
        history = [item.action for item in state.full_history()]
        known = self.referee.history()
        if history[: len(known)] != known:
            self.restart()
            known = []
        for action in history[len(known) :]:
            self.referee.play(action)
        observed = self.referee.observations(self.seat)
        for observation in observed[self.told :]:
            self.agent.observe(observation)
        self.told = len(observed)
