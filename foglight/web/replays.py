"""Finished games to look back on: of the page itself, or of a store that is watched."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from foglight.drawing.svg import markup
from foglight.names import BadInput
from foglight.rules import TERMINAL, title
from foglight.state import State, replay


@dataclass(frozen=True)
class Finished:
    """A finished game. `seat` is that of the person who asks, if there is one."""

    game: str
    agents: tuple[str, ...]
    returns: tuple[float, ...]
    actions: tuple[int, ...]
    seat: int | None = None

    def summary(self) -> dict[str, Any]:
        """The players, the result, and each action with its mover."""
        state, steps = State(self.game), []
        for action in self.actions:
            steps.append({"mover": state.player, "action": state.action_text(action)})
            state.play(action)
        return {
            "game": self.game,
            "title": title(state.game),
            "agents": list(self.agents),
            "returns": list(self.returns),
            "seat": self.seat,
            "steps": steps,
        }

    def position(self, step: int) -> dict[str, Any]:
        """The truth after so many actions, and what each seat saw of it."""
        state = self.state(step)
        seats = [
            {
                "svg": markup(state.drawing(i)),
                "log": state.log(i),
                "observations": ".".join(map(str, state.observations(i))),
            }
            for i in range(state.num_players)
        ]
        return {
            "truth": markup(state.drawing()),
            "seats": seats,
            "mover": state.player,
            "over": state.player == TERMINAL,
        }

    def state(self, step: int) -> State:
        """The state after so many actions."""
        if not 0 <= step <= len(self.actions):
            raise BadInput(f"this game has steps 0 to {len(self.actions)}, not {step}")
        return _replayed(self.game, self.actions[:step])


@lru_cache(maxsize=64)
def _replayed(game: str, actions: Sequence[int]) -> State:
    """The state after these actions, from the state before the last one if that is remembered."""
    return replay(game, actions)
