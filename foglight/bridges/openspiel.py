"""OpenSpiel's games as games of foglight, interpreted: `openspiel:kriegspiel(board_size=4)`.

A world is a boxed `pyspiel.State`. A seat's observation is its new information-state string each time that changes,
together with its own action; where OpenSpiel provides no such string, its observation string. A seat's key is the hash
of the information-state string where OpenSpiel provides one, so that information states are exactly OpenSpiel's;
otherwise it is the hash of the sequence of observations. Public observations come from OpenSpiel's public observers, as
far as the strings of all seats change too; in a game that has none, the public observes nothing. Simultaneous moves are
taken in turn, unseen by the other seats.

Weakness: where OpenSpiel samples chance inside the game ("sampled stochastic"), a game cannot be replayed from a seed.
"""

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foglight.compile import implements
from foglight.names import BadInput, Spec, parse_spec, unknown
from foglight.randomness import below, fold, weighted
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL, Bounds
from foglight.state import State

try:
    import pyspiel
except ImportError:
    raise BadInput("OpenSpiel's games need OpenSpiel; install it with: pip install 'foglight[openspiel]'") from None


PREFIX = "foglight_"  # of the names of native games that are registered with OpenSpiel


@dataclass(frozen=True)
class OpenSpiel:
    """A game of OpenSpiel."""

    text: str  # its name and parameters, as OpenSpiel reads them

    def __str__(self) -> str:
        return f"openspiel:{self.text}"


@dataclass(frozen=True)
class Description:
    """The properties of a game of OpenSpiel, as OpenSpiel reports them."""

    name: str
    title: str
    players: str
    moves: str  # sequential or simultaneous
    chance: str  # deterministic, explicit stochastic or sampled stochastic
    information: str  # perfect information, imperfect information or one shot
    shows: str  # what its strings give a seat: information states or observations


class World:
    """A boxed state, and for each viewer, the public first, a running hash of its observations."""

    def __init__(self, players: int) -> None:
        self.state: Any = None
        self.keys = [0] * (1 + players)

    def tobytes(self) -> bytes:
        """Bytes that identify this world, like the bytes of a row of words."""
        return repr((self.state.history_str(), self.keys)).encode()


def load(spec: Spec) -> Any:
    """The game of OpenSpiel with this name and these parameters."""
    names = [kind.short_name for kind in pyspiel.registered_games()]
    if spec.name.startswith(PREFIX) and spec.name in names:
        return game_of(pyspiel.load_game(_text(spec)))
    if spec.name not in names:
        names = [name for name in names if not name.startswith(PREFIX)]
        raise BadInput(unknown("OpenSpiel game", spec.name, names, "foglight games --openspiel lists them"))
    game = OpenSpiel(_text(spec))
    try:
        with silence():
            kind = loaded(game).get_type()
            loaded(game).new_initial_state().legal_actions()  # fails in games whose actions are not numbered
    except pyspiel.SpielError as error:
        raise BadInput(f"OpenSpiel cannot load {game.text}: {' '.join(str(error).split())}") from None
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise BadInput(f"{game.text} is a mean-field game, which has no players that take turns")
    if not (kind.provides_information_state_string or kind.provides_observation_string):
        raise BadInput(f"OpenSpiel shows nothing of {game.text} to its players, so it cannot be played here")
    return game


def game_of(theirs: Any) -> Any:
    """The game of a `pyspiel.Game`: OpenSpiel's own rules. A native game registered with OpenSpiel is itself again."""
    from foglight.bridges.openspiel_games import NativeGame

    if isinstance(theirs, NativeGame):
        return theirs.game
    return load(parse_spec(str(theirs)))


def state_of(theirs: Any) -> State:
    """The state after the history of a `pyspiel.State`, with the observations that it gave."""
    state = State(game_of(theirs.get_game()))
    for action in theirs.history():
        if action not in state.actions():
            raise BadInput(f"a state of {theirs.get_game()} cannot be replayed: its history leaves chance out")
        state.play(action)
    return state


def descriptions() -> Iterator[Description]:
    """The properties of every game of OpenSpiel that loads with its default parameters."""
    for kind in pyspiel.registered_games():
        if kind.short_name.startswith(PREFIX):
            continue  # a native game
        if kind.default_loadable and kind.dynamics != pyspiel.GameType.Dynamics.MEAN_FIELD:
            low, high = kind.min_num_players, kind.max_num_players
            yield Description(
                name=f"openspiel:{kind.short_name}",
                title=kind.long_name,
                players=f"{low}" if low == high else f"{low} to {high}",
                moves=_plain(kind.dynamics),
                chance=_plain(kind.chance_mode),
                information=_plain(kind.information),
                shows="information states" if kind.provides_information_state_string else "observations",
            )


def parameters(game: OpenSpiel) -> dict[str, str]:
    """The parameters of a game with their values, as OpenSpiel writes them."""
    theirs = loaded(game)
    given = {**theirs.get_type().parameter_specification, **theirs.get_parameters()}
    return {name: str(value) for name, value in given.items()}


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Discard stderr. OpenSpiel prints its errors there as well as throwing them; our own message is clearer."""
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


def _plain(value: Any) -> str:
    return str(value.name).lower().replace("_", " ")


def _text(value: Any, inner: bool = False) -> str:
    """A spec in OpenSpiel's syntax: without quotes, with semicolons between the items of a list.

    A game that is a parameter of another has brackets there, even if they are empty: otherwise it would be a word.
    """
    if isinstance(value, Spec):
        if any(not key for key, _ in value.arguments):
            raise BadInput(f"OpenSpiel's parameters need names: write {value.name}(key=value)")
        inside = ",".join(f"{key}={_text(argument, inner=True)}" for key, argument in value.arguments)
        return f"{value.name}({inside})" if inside or inner else value.name
    if isinstance(value, list):
        return f"[{';'.join(map(_text, value))}]"
    return str(value)


@functools.cache
def loaded(game: OpenSpiel) -> Any:
    """OpenSpiel's game object; a simultaneous game is converted to a turn-based one."""
    theirs = pyspiel.load_game(game.text)
    if theirs.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(theirs)
    return theirs


@functools.cache
def _public_observer(game: OpenSpiel) -> Any:
    """OpenSpiel's observer of public information, or None; using an observer that does not exist kills the process."""
    kind = pyspiel.IIGObservationType(public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE)
    try:
        observer = loaded(game).make_observer(kind, {})
    except pyspiel.SpielError:
        return None
    return None if observer is None else pyspiel._Observation(loaded(game), observer)


@functools.cache
def _recalls(game: OpenSpiel) -> bool:
    return bool(loaded(game).get_type().provides_information_state_string)


def _shown(game: OpenSpiel, state: Any, viewer: int) -> str:
    """OpenSpiel's string of a state for a viewer."""
    if viewer == PUBLIC:
        observer = _public_observer(game)
        if observer is None:
            return ""
        if observer.has_string():
            return str(observer.string_from(state, 0))
        observer.set_from(state, 0)
        return repr([np.asarray(tensor.data).tolist() for tensor in observer.tensors()])
    return str(state.information_state_string(viewer) if _recalls(game) else state.observation_string(viewer))


def _number(*parts: Any) -> int:
    """A positive 63-bit hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little") >> 1 | 1


# The rules ------------------------------------------------------------------------------------------------------


@implements(OpenSpiel)
def num_players(game):
    return loaded(game).num_players()


@implements(OpenSpiel)
def num_actions(game):
    return max(loaded(game).num_distinct_actions(), loaded(game).max_chance_outcomes())


@implements(OpenSpiel)
def bounds(game):
    one = loaded(game)
    has_total = one.get_type().utility in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM)
    return Bounds(one.min_utility(), one.max_utility(), float(one.utility_sum()) if has_total else None)


@implements(OpenSpiel)
def new_worlds(game, n):
    return [World(loaded(game).num_players()) for _ in range(n)]


@implements(OpenSpiel)
def begin(game, world):
    world.state = loaded(game).new_initial_state()


@implements(OpenSpiel)
def copy_world(game, target, source):
    target.state = source.state.clone()
    target.keys = list(source.keys)


@implements(OpenSpiel)
def player(game, world):
    mover = world.state.current_player()
    if mover >= 0:
        return mover
    return CHANCE if mover == pyspiel.PlayerId.CHANCE else TERMINAL


@implements(OpenSpiel)
def legal(game, world, out):
    actions = world.state.legal_actions()
    out[: len(actions)] = actions
    return len(actions)


@implements(OpenSpiel)
def chance(game, world, out, odds):
    outcomes = sorted(world.state.chance_outcomes())  # OpenSpiel gives them in any order
    for i, (outcome, probability) in enumerate(outcomes):
        out[i], odds[i] = outcome, probability
    return len(outcomes)


@implements(OpenSpiel)
def pick(game, world, random, out):
    actions = world.state.legal_actions()
    return actions[below(random, len(actions))]


@implements(OpenSpiel)
def deal(game, world, random, out, odds):
    outcomes = sorted(world.state.chance_outcomes())
    return outcomes[weighted(random, [probability for _, probability in outcomes], len(outcomes))][0]


@implements(OpenSpiel)
def step(game, world, action):
    world.state.apply_action(int(action))


@implements(OpenSpiel)
def observe(game, before, action, after, viewer):
    shown, mover = _shown(game, after.state, viewer), before.state.current_player()
    if viewer != PUBLIC and viewer == mover:
        return _number(int(action), shown)
    if shown == _shown(game, before.state, viewer):
        return NOTHING
    if viewer == PUBLIC:  # a public observer may tell what a seat's string does not, such as a card dealt to another
        others = (seat for seat in range(loaded(game).num_players()) if seat != mover)
        if any(_shown(game, before.state, seat) == _shown(game, after.state, seat) for seat in others):
            return NOTHING
    return _number(shown)


@implements(OpenSpiel)
def record(game, world, viewer, observation):
    world.keys[1 + viewer] = fold(world.keys[1 + viewer], observation)


@implements(OpenSpiel)
def key(game, world, viewer):
    if viewer != PUBLIC and _recalls(game):
        return _number(viewer, _shown(game, world.state, viewer))
    return fold(world.keys[1 + viewer], viewer)


@implements(OpenSpiel)
def position(game, world):
    return _number(str(world.state), world.state.current_player())


@implements(OpenSpiel)
def returns(game, world, out):
    out[:] = world.state.returns()


@implements(OpenSpiel)
def num_sight_features(game):
    return len(_tensor(game, loaded(game).new_initial_state(), 0))


@implements(OpenSpiel)
def sight_features(game, world, seat, out):
    out[:] = _tensor(game, world.state, seat)


def _tensor(game: OpenSpiel, state: Any, seat: int) -> Any:
    """OpenSpiel's tensor of a seat's information state, or else of its observation; empty if there is neither."""
    kind = loaded(game).get_type()
    if kind.provides_information_state_tensor:
        return state.information_state_tensor(seat)
    return state.observation_tensor(seat) if kind.provides_observation_tensor else ()


@implements(OpenSpiel)
def title(game):
    return loaded(game).get_type().long_name


@implements(OpenSpiel)
def how_to_play(game):
    kind = loaded(game).get_type()
    return (
        f"A game of OpenSpiel for {loaded(game).num_players()} seats: {_plain(kind.information)}, "
        f"{_plain(kind.chance_mode)}.\nIts rules are in OpenSpiel's documentation, under {kind.short_name}.\n"
        "Write a move as OpenSpiel names it, or its number."
    )


@implements(OpenSpiel)
def action_names(game, world, action):
    name = world.state.action_to_string(world.state.current_player(), int(action))
    names = [world.state.action_to_string(world.state.current_player(), a) for a in world.state.legal_actions()]
    return (name, str(action)) if names.count(name) == 1 else (f"{name} #{action}", str(action))


@implements(OpenSpiel)
def board(game, world):
    return str(world.state)


@implements(OpenSpiel)
def view(game, world, seat):
    return f"you are seat {seat}\n{_shown(game, world.state, seat)}"


@implements(OpenSpiel)
def observation_text(game, before, action, after, viewer):
    earlier, shown = _shown(game, before.state, viewer), _shown(game, after.state, viewer)
    # a string that only grows would be repeated at every step, so only its new part is shown
    news = " / ".join(shown.removeprefix(earlier).split("\n")).strip(" /")
    mover = before.state.current_player()
    if viewer != PUBLIC and viewer == mover:
        return f"you play {before.state.action_to_string(mover, int(action))}" + (f": {news}" if news else "")
    return news or "something changed"
