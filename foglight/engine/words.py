"""Observations and actions in words, and the legal actions, worked out from a seat's observations alone."""

from typing import Any

import numpy as np

from foglight.names import BadInput, listed
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    action_names,
    chance,
    legal,
    max_legal,
    new_worlds,
    observation_text,
    observe,
    player,
    transition,
)
from foglight.worlds.knowledge import Knowledge
from foglight.worlds.regeneration import BeliefLost

_READ = 3000  # worlds up to which a text is compared with all that may be observed next, which takes a second


class Words:
    """What a seat may read and write, after the observations that it has got."""

    def __init__(self, game: Game, seat: int) -> None:
        self._game, self._seat = game, seat
        self._knowledge: Knowledge | None = None  # when it is first needed

    def _known(self, observations: list[int]) -> Knowledge:
        """What the seat knows after these observations."""
        if self._knowledge is None or self._knowledge.observations != observations[: self._seen]:
            self._knowledge = Knowledge(self._game, self._seat)
        for code in observations[self._seen :]:
            self._knowledge.observe(code)
        return self._knowledge

    @property
    def _seen(self) -> int:
        return len(self._knowledge.observations) if self._knowledge is not None else 0

    def actions(self, observations: list[int]) -> list[int]:
        """The legal actions of the seat, which is to move."""
        world = self._world(observations)
        out = np.empty(max_legal(self._game), np.int64)
        return out[: legal(self._game, world, out)].tolist()

    def _world(self, observations: list[int]) -> Any:
        try:
            return self._known(observations).one_world(to_move=True)
        except BeliefLost as error:
            raise BadInput(f"{error}; send the legal actions") from None
        except IndexError:
            raise BadInput(f"seat {self._seat} is not to move after these observations") from None

    def names(self, observations: list[int], actions: list[int]) -> dict[int, str]:
        """The names of actions, by action; empty if they are not known."""
        try:
            world = self._world(observations)
            return {action: action_names(self._game, world, action)[0] for action in actions}
        except (BadInput, LookupError, ValueError):  # the observations or the actions are not of this game
            return {}

    def codes(self, observations: list[int], given: list[int | str]) -> list[int]:
        """The codes of new observations, some of which are given in words."""
        codes: list[int] = []
        for code in given:
            codes.append(self._code([*observations, *codes], code) if isinstance(code, str) else code)
        return codes

    def _code(self, observations: list[int], text: str) -> int:
        """The code of the next observation, from its text."""
        try:
            worlds = self._known(observations).worlds(to_move=False)
        except BeliefLost as error:
            raise BadInput(f"{error}; send the codes of observations") from None
        if not worlds.exact or len(worlds.weights) > _READ:
            raise BadInput(
                f"observations are read in words where at most {_READ} worlds are possible; send {text!r} as its code"
            )
        possible = self._possible(worlds.rows)
        fitting = possible.get(_plain(text), set())
        if not fitting:
            raise BadInput(f"{text!r} cannot be observed next; possible are {listed(possible)}")
        if len(fitting) > 1:
            raise BadInput(f"{text!r} may be one of the codes {listed(sorted(fitting))}; send the code")
        return fitting.pop()

    def _possible(self, rows: Any) -> dict[str, set[int]]:
        """The codes that the seat may observe next, by their texts."""
        game, seat, found = self._game, self._seat, dict[str, set[int]]()
        out, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
        for row in rows:
            mover = player(game, row)
            if mover == TERMINAL:
                continue
            count = chance(game, row, out, odds) if mover == CHANCE else legal(game, row, out)
            for action in out[:count].tolist():
                after = new_worlds(game, 1)[0]
                transition(game, row, action, after)
                code = observe(game, row, action, after, seat)
                if code != NOTHING:
                    text = observation_text(game, row, action, after, seat)
                    found.setdefault(_plain(text), set()).add(int(code))
        return found


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
