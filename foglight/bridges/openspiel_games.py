"""Our games as games of OpenSpiel, so that its algorithms run on our rules: `pyspiel.load_game("foglight_dark_hex")`.

The rules stay ours: actions have our numbers, strings of information states are our observations in words, and an
observation string is what the seat sees. Where a game offers features for value networks, they make up the tensor of an
observation: the seat, its private features, the public features. Information states have no tensor.
"""

from typing import Any, get_args, get_type_hints

import numpy as np
import pyspiel

from foglight.addresses import GAMES, native_names
from foglight.bridges.openspiel import PREFIX
from foglight.compile import has_rule, snake_case
from foglight.games import game_class, load_game
from foglight.names import BadInput, Between, Coded, OneOf, Spec, construct, parameter_texts
from foglight.rules import (
    CHANCE,
    MOST_FEATURES,
    PUBLIC,
    TERMINAL,
    Game,
    bounds,
    num_actions,
    num_players,
    private_features,
    public_features,
    title,
)
from foglight.state import State

_MOST_STRINGS = 100_000  # that an observer remembers
_LONG = 1_000_000  # actions of a game that does not say how many it can have


def register(*classes: type) -> list[str]:
    """Register these classes of games, or all native games, with OpenSpiel; the result is their names there."""
    names, known = [], set(pyspiel.registered_names())
    for made in classes or map(game_class, native_names(GAMES)):
        if not (isinstance(made, type) and has_rule("num_players", made)):
            raise BadInput(f"{made!r} is no class of games; give classes, such as type(fl.load_game('dark_hex'))")
        name = PREFIX + snake_case(made.__name__)
        if name not in known:
            _register(made, name)
        elif _made.get(name) is not made:
            raise BadInput(f"another game is registered as {name}; give the class another name")
        names.append(name)
    return names


_made: dict[str, type] = {}  # by name in OpenSpiel: the class of the game


def _register(made: type, name: str) -> None:
    _made[name] = made
    try:
        example = load_game(made())
    except TypeError:
        raise BadInput(f"{made.__name__} needs parameters; give each a default to register it") from None
    kind = _game_type(example, name)

    class Registered(NativeGame):
        def __init__(self, params: dict[str, Any] | None = None) -> None:
            super().__init__(_with(made, params or {}), name, params or {})

    pyspiel.register_game(kind, Registered)


def _with(made: type, params: dict[str, Any]) -> Any:
    """The game of this class with OpenSpiel's parameters, where a list is a text such as `[1;2]`."""
    pairs = [
        (key, list(map(float, value.strip("[]").split(";"))) if str(value).startswith("[") else value)
        for key, value in params.items()
    ]
    return load_game(construct(made, Spec(snake_case(made.__name__), tuple(pairs))))


def _parameters(game: Any) -> dict[str, Any]:
    """The parameters as OpenSpiel takes them: numbers, words, and texts such as `[1;2]` for lists."""
    hints, texts = get_type_hints(type(game), include_extras=True), parameter_texts(type(game))
    given = {}
    for key, value in game._asdict().items():
        if any(isinstance(limit, OneOf | Coded) for limit in get_args(hints[key])):
            given[key] = texts[key].default
        elif isinstance(value, tuple):
            given[key] = f"[{';'.join(map(str, value))}]"
        else:
            given[key] = value
    return given


def _game_type(game: Game, name: str) -> Any:
    """OpenSpiel's description of a game, as it is with these parameters."""
    limits = bounds(game)
    kinds = pyspiel.GameType
    utility = kinds.Utility.GENERAL_SUM if limits.total is None else kinds.Utility.CONSTANT_SUM
    low, high = _seats(game)
    return kinds(
        short_name=name,
        long_name=f"foglight: {title(game)}",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=(
            kinds.ChanceMode.EXPLICIT_STOCHASTIC if has_rule("chance", type(game)) else kinds.ChanceMode.DETERMINISTIC
        ),
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if limits.total == 0.0 else utility,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=high,
        min_num_players=low,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=_num_features(game) > 0,
        parameter_specification=_parameters(type(game)()),
    )


def _seats(game: Any) -> tuple[int, int]:
    """The fewest and the most seats that the game can have, by its parameter `players` if there is one."""
    for limit in get_args(get_type_hints(type(game), include_extras=True).get("players"))[1:]:
        if isinstance(limit, Between):
            return int(limit.low), int(limit.high)
    return num_players(game), num_players(game)


def _num_features(game: Game) -> int:
    """The size of an observation tensor; 0 if the game offers no features."""
    world, out = State(game).world, np.zeros(MOST_FEATURES)
    public, private = public_features(game, world, out), private_features(game, world, 0, out)
    return num_players(game) + public + private if public or private else 0


class NativeGame(pyspiel.Game):
    """One of our games as OpenSpiel's."""

    def __init__(self, game: Game, name: str, params: dict[str, Any]) -> None:
        self.game = game
        self.start = _Fixed(State(game))
        limits = bounds(game)
        chance = has_rule("chance", type(game))
        info = pyspiel.GameInfo(
            num_distinct_actions=num_actions(game),
            max_chance_outcomes=num_actions(game) if chance else 0,
            num_players=num_players(game),
            min_utility=limits.low,
            max_utility=limits.high if limits.high > limits.low else limits.low + 1.0,  # OpenSpiel wants a range
            utility_sum=limits.total,
            max_game_length=limits.length or _LONG,
        )
        super().__init__(_game_type(game, name), info, params)

    def new_initial_state(self, *_: Any) -> "NativeState":
        return NativeState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer":
        return Observer(self.game, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class _Fixed:
    """A state that is never changed. OpenSpiel copies the fields of a state deeply; this one is shared instead."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __deepcopy__(self, memo: Any) -> "_Fixed":
        return self


class NativeState(pyspiel.State):
    """A state of one of our games as OpenSpiel's."""

    def __init__(self, game: NativeGame) -> None:
        super().__init__(game)
        self._fixed = game.start

    @property
    def state(self) -> State:
        return self._fixed.state

    def current_player(self) -> int:
        mover = self.state.player
        return {CHANCE: pyspiel.PlayerId.CHANCE, TERMINAL: pyspiel.PlayerId.TERMINAL}.get(mover, mover)

    def _legal_actions(self, player: int) -> list[int]:
        return self.state.actions() if player == self.state.player else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.state.chance()

    def _apply_action(self, action: int) -> None:
        after = self.state.clone()
        after.play(action)
        self._fixed = _Fixed(after)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.state.action_text(action) if action in self.state.actions() else str(action)

    def is_terminal(self) -> bool:
        return self.state.player == TERMINAL

    def returns(self) -> list[float]:
        return self.state.returns()

    def __str__(self) -> str:
        return f"{self.state}\nhistory: {' '.join(map(str, self.state.history()))}"


class Observer:
    """What a player, or the public, sees of a state; OpenSpiel asks for strings and tensors through it."""

    def __init__(self, game: Game, kind: Any, params: Any) -> None:
        if params:
            raise BadInput(f"observers of foglight's games have no parameters, and {params} are given")
        self.game, self.recalls = game, kind.perfect_recall
        self._strings: dict[tuple[int, ...], str] = {}  # by viewer and its observations, which determine the string
        self.private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        size = 0 if self.recalls or not self.private else _num_features(game)
        self.tensor = np.zeros(size, np.float32) if size else None
        self.dict = {"observation": self.tensor} if size else {}

    def set_from(self, state: NativeState, player: int) -> None:
        if self.tensor is None:
            return
        world, out = state.state.world, np.zeros(MOST_FEATURES)
        seats = num_players(self.game)
        self.tensor[:seats] = np.arange(seats) == player
        private = private_features(self.game, world, player, out)
        self.tensor[seats : seats + private] = out[:private]
        public = public_features(self.game, world, out)
        self.tensor[seats + private :] = out[:public]

    def string_from(self, state: NativeState, player: int) -> str:
        viewer = player if self.private else PUBLIC
        known = (viewer, *state.state.observations(viewer))
        if known not in self._strings:
            if len(self._strings) >= _MOST_STRINGS:
                self._strings.clear()
            self._strings[known] = self._string(state.state, viewer)
        return self._strings[known]

    def _string(self, state: State, viewer: int) -> str:
        if self.private and not self.recalls:
            return state.sight(viewer)
        return " | ".join([f"seat {viewer}", *state.log(viewer)] if self.private else state.log(viewer))
