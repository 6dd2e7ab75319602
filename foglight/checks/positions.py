"""Positions for checks, and how they are reached: by compiled rules, or by the same rules interpreted."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from foglight.names import listed
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    Game,
    action_names,
    begin,
    key,
    max_legal,
    new_worlds,
    num_players,
)
from foglight.state import _advance, _situation

MOST_NAMED = 30  # actions of a history that a sentence names


class Position:
    """A world, how it was reached, what every viewer has observed on the way, and what may happen now."""

    __slots__ = ("actions", "before", "history", "memories", "mover", "observed", "odds", "payoffs", "world")

    def __init__(self, world: Any, before: "Position | None", history: tuple[int, ...]) -> None:
        self.world, self.before, self.history = world, before, history
        self.observed: list[tuple[int, ...]] = []  # by viewer, the public first
        self.memories: list[int] = []  # by seat, a hash of its earlier keys and actions
        self.mover, self.actions = TERMINAL, [0][:0]
        self.odds: list[float] = []  # of chance; empty where a seat moves
        self.payoffs: list[float] = []  # at the end

    def seen_by(self, viewer: int) -> tuple[int, ...]:
        """The observations of a viewer, a seat or PUBLIC."""
        return self.observed[1 + viewer]


class Play:
    """The rules of a game in motion, compiled or interpreted."""

    def __init__(self, game: Game, compiled: bool) -> None:
        self.game, self.seats, self.most = game, int(num_players(game)), int(max_legal(game))
        self._look: Any = _situation if compiled else _situation.py_func
        self._move: Any = _advance if compiled else _advance.py_func

    def start(self) -> Position:
        world = new_worlds(self.game, 1)[0]
        begin(self.game, world)
        position = Position(world, None, ())
        position.observed = [()] * (1 + self.seats)
        position.memories = [0] * self.seats
        return self._looked(position)

    def after(self, position: Position, action: int) -> Position:
        """The position after an action or an outcome of chance."""
        world = new_worlds(self.game, 1)[0]
        codes = np.zeros(1 + self.seats, np.int64)
        self._move(self.game, position.world, action, world, codes)
        child = Position(world, position, (*position.history, action))
        child.observed = [
            seen if code == NOTHING else (*seen, code)
            for seen, code in zip(position.observed, codes.tolist(), strict=True)
        ]
        child.memories = position.memories
        if (mover := position.mover) >= 0:
            child.memories = list(position.memories)
            child.memories[mover] = hash((position.memories[mover], self.key(position, mover), action))
        return self._looked(child)

    def _looked(self, position: Position) -> Position:
        out, odds, payoffs = np.full(self.most, -1, np.int64), np.zeros(self.most), np.zeros(self.seats)
        mover, n = self._look(self.game, position.world, out, odds, payoffs)
        position.mover, position.actions = int(mover), out[:n].tolist()
        position.odds = odds[:n].tolist() if mover == CHANCE else []
        position.payoffs = payoffs.tolist() if mover == TERMINAL else []
        return position

    def key(self, position: Position, viewer: int) -> int:
        return int(key(self.game, position.world, viewer))

    def random_game(self, rng: random.Random, longest: int) -> Iterator[Position]:
        """The positions of a random game, at most `longest` of them; chance is as random as the seats are."""
        position = self.start()
        yield position
        for _ in range(longest):
            if not position.actions:
                return
            position = self.after(position, rng.choice(position.actions))
            yield position

    def replay(self, history: tuple[int, ...]) -> Position:
        position = self.start()
        for action in history:
            position = self.after(position, action)
        return position


def where(game: Game, position: Position) -> str:
    """The place in the game: `at the start`, or `after jack (0), queen (1)`."""
    steps = []
    while position.before is not None:
        steps.append((position.before.world, position.history[-1]))
        position = position.before
    if not steps:
        return "at the start"
    named = (_named(game, world, action) for world, action in reversed(steps[-MOST_NAMED:]))
    return f"after {listed(named, MOST_NAMED)}" + (
        f" and {len(steps) - MOST_NAMED} more" if len(steps) > MOST_NAMED else ""
    )


def _named(game: Game, world: Any, action: int) -> str:
    try:
        return f"{action_names(game, world, action)[0]} ({action})"
    except Exception:  # a game whose text does not work yet
        return str(action)


def viewer_text(viewer: int) -> str:
    return "the public" if viewer == PUBLIC else f"seat {viewer}"
