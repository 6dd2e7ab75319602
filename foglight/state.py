"""A position for people, tests and the referee: one world, its history and its text.

Algorithms work on worlds, never on a State.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from foglight.compile import has_rule, kernel
from foglight.drawing.layouts import with_caption, with_choices, with_seen
from foglight.drawing.model import Drawing
from foglight.files import write_whole
from foglight.games import is_openspiels, load_game
from foglight.names import BadInput, choose, listed
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    Game,
    World,
    action_names,
    begin,
    board,
    chance,
    copy_world,
    drawing,
    glimpse,
    legal,
    max_legal,
    new_worlds,
    num_actions,
    num_players,
    observation_text,
    observe,
    player,
    returns,
    transition,
    view,
    why_not,
)

_SHOWN = 8  # actions that `repr` names, the last ones


class State:
    """One world of a game, with the actions that led to it and the observations of every viewer.

    >>> state = fl.new_state("kuhn_poker")
    >>> state.player == fl.CHANCE, state.chance()[0]
    (True, (0, 0.3333333333333333))
    >>> for name in ("jack", "queen", "bet"):
    ...     state.play(state.parse_action(name))
    >>> state.player, state.actions(), state.history()
    (1, [0, 1], [0, 1, 1])
    >>> print(state.information(1))
    you are seat 1 with queen, pot 3
    so far: you get the queen, seat 0 bets
    """

    def __init__(self, game: str | Game) -> None:
        self.game = load_game(game)
        self.num_players: int = num_players(self.game)
        self.world = new_worlds(self.game, 1)[0]
        begin(self.game, self.world)
        self._from_start = True  # whether the history is known; not after `state_of`
        self._history: list[int] = []
        self._worlds = [self.world]  # the start, then the world after each action
        self._observations: list[list[int]] = [[] for _ in range(1 + self.num_players)]  # by viewer, the public first
        self._logs: dict[int, tuple[int, list[str]]] = {}  # by viewer: actions that are in its log, and the log
        self._look()

    def _look(self) -> None:
        """Compute the mover, the actions and the payoffs of the world."""
        out, odds = np.empty(max_legal(self.game), np.int64), np.empty(max_legal(self.game))
        payoffs = np.zeros(self.num_players)
        mover, n = _situation(self.game, self.world, out, odds, payoffs)
        self.player: int = int(mover)
        self._actions: list[int] = out[:n].tolist()
        self._odds: list[float] = odds[:n].tolist() if mover == CHANCE else []
        self._returns: list[float] = payoffs.tolist()

    def clone(self) -> "State":
        """An independent copy."""
        copy = object.__new__(State)
        copy.__dict__.update(self.__dict__)
        copy.world = new_worlds(self.game, 1)[0]
        copy_world(self.game, copy.world, self.world)
        copy._history = list(self._history)
        copy._worlds = [*self._worlds[:-1], copy.world]
        copy._observations = [list(codes) for codes in self._observations]
        copy._logs = {viewer: (number, list(lines)) for viewer, (number, lines) in self._logs.items()}
        return copy

    def actions(self) -> list[int]:
        """The legal actions, or the outcomes of chance, ascending; none when the game is over."""
        return list(self._actions)

    def chance(self) -> list[tuple[int, float]]:
        """The outcomes of chance with their probabilities; an empty list where chance does not move."""
        return list(zip(self._actions, self._odds, strict=True)) if self.player == CHANCE else []

    def play(self, action: int) -> None:
        """Play an action or an outcome of chance in place."""
        if action not in self._actions:
            if self.player == TERMINAL:
                raise BadInput(f"the game is over; action {action} cannot be played")
            raise BadInput(f"action {action} is not legal here; legal are {listed(self._actions)}")
        after = new_worlds(self.game, 1)[0]
        codes = np.empty(1 + self.num_players, np.int64)
        _advance(self.game, self.world, int(action), after, codes)
        self.world = after
        self._worlds.append(after)
        self._history.append(int(action))
        for observations, code in zip(self._observations, codes.tolist(), strict=True):
            if code != NOTHING:
                observations.append(code)
        self._look()

    def returns(self) -> list[float]:
        """The payoff of each seat; zeros before the game is over."""
        return list(self._returns)

    def history(self) -> list[int]:
        """The actions so far, outcomes of chance included."""
        self._need_history()
        return list(self._history)

    def moves(self) -> list[str]:
        """The names of the actions so far, outcomes of chance included."""
        self._need_history()
        steps = zip(self._worlds, self._history, strict=False)
        return [action_names(self.game, world, action)[0] for world, action in steps]

    def observations(self, viewer: int) -> list[int]:
        """The observations of a viewer (a seat or PUBLIC) so far, as codes: its information state."""
        viewer = self._viewer(viewer)
        self._need_history()
        return list(self._observations[1 + viewer])

    def decisions(self, seat: int) -> list[tuple[int, list[int]]]:
        """The seat's decisions so far: how many observations it had made, and which actions were legal."""
        self._need_history()
        found, state = [], State(self.game)
        for action in self._history:
            if state.player == seat:
                found.append((len(state._observations[1 + seat]), state.actions()))
            state.play(action)
        return found

    def information(self, seat: int) -> str:
        """The information state of a viewer as text: the seat's view, and its observations in order."""
        log = f"so far: {', '.join(self.log(seat)) or 'nothing yet'}"
        return f"{self.sight(seat)}\n{log}" if seat != PUBLIC else log

    def sight(self, seat: int) -> str:
        """What a seat sees, as text; it reveals no more than the seat's observations."""
        if not 0 <= seat < self.num_players:
            raise BadInput(f"there is no seat {seat}; give one from 0 to {self.num_players - 1}")
        return view(self.game, self.world, seat)

    def log(self, viewer: int) -> list[str]:
        """The observations of a viewer so far, in words."""
        viewer = self._viewer(viewer)
        self._need_history()
        begin, lines = self._logs.get(viewer, (0, []))  # a long game is asked for its log after every action
        steps = zip(self._worlds[begin:], self._history[begin:], self._worlds[begin + 1 :], strict=False)
        lines += [
            observation_text(self.game, before, action, after, viewer)
            for before, action, after in steps
            if observe(self.game, before, action, after, viewer) != NOTHING
        ]
        self._logs[viewer] = len(self._history), lines
        return list(lines)

    def _viewer(self, viewer: int) -> int:
        if not PUBLIC <= viewer < self.num_players:
            raise BadInput(f"there is no viewer {viewer}; give a seat from 0 to {self.num_players - 1}, or PUBLIC")
        return viewer

    def _need_history(self) -> None:
        if not self._from_start:
            raise BadInput(
                "this state was made from a world alone, so its history and observations are not known; "
                "play it from fl.new_state to have them"
            )

    def __str__(self) -> str:
        return board(self.game, self.world)

    def __repr__(self) -> str:
        steps = list(zip(self._worlds, self._history, strict=False))[-_SHOWN:]
        moves = ", ".join(action_names(self.game, world, action)[0] for world, action in steps)
        if len(self._history) > _SHOWN:
            moves = f"{len(self._history)} actions, the last {moves}"
        begin = [] if self._from_start else ["from a world alone"]
        way = [*begin, f"after {moves}"] if moves else begin or ["at the start"]
        return f"<State: {self.game} {', '.join(way)}; {self._situation_text()}>"

    def _situation_text(self) -> str:
        if self.player == TERMINAL:
            return f"over, returns {', '.join(f'{payoff:g}' for payoff in self._returns)}"
        return "chance to move" if self.player == CHANCE else f"seat {self.player} to move"

    def drawing(self, seat: int | None = None, *, choices: bool = False, last: int | None = None) -> Drawing:
        """A picture of what a seat sees, as plain data; of the whole truth if `seat` is None.

        With `choices`, items have the legal actions that a click on them means, and actions that belong to no item are
        buttons; but only if the seat, or with None any seat, is to move. `last` is the seat's last observation, for a
        state that was made from a world alone.
        """
        if seat is not None and not 0 <= seat < self.num_players:
            raise BadInput(f"there is no seat {seat}; give one from 0 to {self.num_players - 1}, or none for the truth")
        legal = {}
        if choices and self.player >= 0 and seat in (None, self.player):
            legal = {action: self.action_text(action) for action in self._actions}
        picture = drawing(self.game, self.world, seat)
        if seat is not None:
            seen = self._observations[1 + seat]
            last = seen[-1] if seen else last
            if last is not None and (places := glimpse(self.game, self.world, last, seat)):
                picture = with_seen(picture, drawing(self.game, self.world, None), places)
        return with_choices(picture if seat is not None else with_caption(picture, self._situation_text()), legal)

    def draw(self, path: Path | str, seat: int | None = None) -> None:
        """Write a picture of what a seat sees, or of the whole truth, as an SVG file."""
        write_svg(self.drawing(seat), path)

    def _repr_svg_(self) -> str:
        return self.drawing().svg()

    def action_text(self, action: int) -> str:
        """The name of an action."""
        return action_names(self.game, self.world, action)[0]

    def parse_action(self, written: str) -> int:
        """The legal action, or the outcome of chance, with this name."""
        if self.player == TERMINAL:
            raise BadInput(f"the game is over; {written!r} cannot be played")
        try:
            return choose(written, self.choices())
        except BadInput:
            reason = self.why_not(written)
            if not reason:
                raise
            raise BadInput(f"{written!r} is not possible here: {reason}") from None

    def why_not(self, written: str) -> str:
        """Why the mover may not play the action of this name, in a line; empty if the game does not say.

        The reason rests on what the mover knows, so it may be shown to a person who plays.
        """
        if self.player < 0 or not has_rule("why_not", type(self.game)):
            return ""
        others = {a: action_names(self.game, self.world, a) for a in range(num_actions(self.game))}
        for action in self._actions:
            del others[action]
        try:
            return why_not(self.game, self.world, choose(written, others))
        except BadInput:
            return ""

    def choices(self) -> dict[int, tuple[str, ...]]:
        """The legal actions, or the outcomes of chance, with their names."""
        return {action: action_names(self.game, self.world, action) for action in self._actions}


def new_state(game: Game) -> State:
    """The start of a game, which is given as text or as an instance of its class.

    A `pyspiel.Game` is `openspiel:NAME`, and a `pyspiel.State` is the state of that game after the same history.

    >>> state = fl.new_state("kuhn_poker")
    >>> state.num_players, state.actions(), state.returns()
    (2, [0, 1, 2], [0.0, 0.0])
    """
    return as_state(game) if is_openspiels("State", game) else State(game)


def as_state(state: Any) -> State:
    """The given state, or the state after the history of a `pyspiel.State`."""
    if is_openspiels("State", state):
        return importlib.import_module("foglight.bridges.openspiel").state_of(state)
    if not isinstance(state, State):
        raise BadInput(f"{state!r} is not a state; make one by fl.new_state(game), or give a pyspiel.State")
    return state


def state_of(game: str | Game, row: World) -> State:
    """A world as a state, such as a row of `tracker.worlds()`.

    It can be shown, asked for its actions and played on. How it came about is not in a world, so `history`,
    `observations` and `information` refuse.

        >>> tracker = fl.Tracker("kuhn_poker", seat=0)
        >>> tracker.observe(1)  # the jack
        >>> for row in tracker.worlds().rows:
        ...     print(fl.state_of("kuhn_poker", row))
        seat 0: jack, seat 1: queen, pot 2
        seat 0: jack, seat 1: king, pot 2
    """
    state = State(game)
    world = new_worlds(state.game, 1)[0]
    if isinstance(world, np.ndarray):
        words = np.asarray(row)
        if words.shape != world.shape or words.dtype.kind not in "iu":
            raise BadInput(
                f"a world of {state.game} is one row of {len(world)} whole numbers, such as tracker.worlds().rows[0], "
                f"not an array of shape {words.shape} and type {words.dtype}"
            )
        row = words.astype(np.uint64, copy=False)
    elif type(row) is not type(world):
        raise BadInput(f"a world of {state.game} is one of tracker.worlds().rows, not {type(row).__name__}")
    copy_world(state.game, world, row)
    state.world, state._worlds, state._from_start = world, [world], False
    state._look()
    return state


def replay(game: Game, actions: Iterable[int]) -> State:
    """The state after these actions, outcomes of chance included."""
    state = State(game)
    for action in actions:
        state.play(action)
    return state


def write_svg(picture: Drawing, path: Path | str) -> None:
    """Write a drawing as an SVG file, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise BadInput(f"cannot draw {path}; its name must end in .svg")
    if not path.parent.is_dir():
        raise BadInput(f"cannot draw {path}: there is no folder {path.parent}; make it, or choose another file")
    write_whole(path, picture.svg().encode())


@kernel
def _situation(game, world, out, odds, payoffs):
    """The mover and the number of actions; fills the actions, the probabilities of chance, the payoffs at the end."""
    mover = player(game, world)
    n = 0
    if mover == TERMINAL:
        returns(game, world, payoffs)
    elif mover == CHANCE:
        n = chance(game, world, out, odds)
    else:
        n = legal(game, world, out)
    return mover, n


@kernel
def _advance(game, before, action, after, codes):
    """`transition`, with every viewer's observation written into `codes`, the public's first."""
    transition(game, before, action, after)
    for viewer in range(PUBLIC, num_players(game)):
        codes[1 + viewer] = observe(game, before, action, after, viewer)
