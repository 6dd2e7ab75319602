"""The rules of a game: the generic functions that every game implements and every algorithm calls.

A game is a frozen NamedTuple of its parameters. A world is one row of `uint64`: the game's own words, then one key per
viewer, a running 64-bit hash of everything that viewer has observed, first the public's, then each seat's. Algorithms
move worlds with `transition`, which keeps the keys; `step` alone is enough where nobody looks, as in a random playout.

An observation is what one viewer learns from one transition, an `int64`; a seat's own action is part of what it
observes. `NOTHING` is no observation at all: the viewer does not even learn that time has passed. The sequence of a
viewer's observations is its information state, in the sense of factored observations [Kovarik2022].
"""

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy import uint64

from foglight.compile import allocates, jitable, optional, required
from foglight.names import game_text
from foglight.randomness import below, fold, weighted

PUBLIC = -1  # the viewer who sees what everybody sees; seats are viewers too
CHANCE = -2  # the mover where nature moves
TERMINAL = -3  # the mover when the game is over
NOTHING = 0  # the observation of a viewer who learns nothing

GameClass = TypeVar("GameClass", bound=type)


World: TypeAlias = Any  # a row of uint64; an interpreted game may have objects of its own


class Game(Protocol):
    """A game with its parameters: a value that never changes, whose class implements the rules below.

    A compiled game is a NamedTuple under `@game`. Any other class of hashable objects runs interpreted.

        >>> def seats(game: fl.Game) -> int:
        ...     return fl.new_state(game).num_players
        >>> seats(fl.load_game("oh_hell(players=5)"))
        5
    """

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...


def game(game_class: GameClass) -> GameClass:
    """Class decorator of a game: it prints as people write it, `dark_hex(rows=4,cols=4)`, and equals no other game.

    Bare tuples compare by content, so that two games without parameters would be one and the same.

        >>> from typing import Annotated, NamedTuple
        >>> @fl.game
        ... class Nim(NamedTuple):
        ...     stones: Annotated[int, fl.Between(1, 100)] = 5
        >>> str(Nim(stones=7)), Nim() == Nim(5), Nim() == (5,)
        ('nim(stones=7)', True, False)
    """
    for name, method in (("__str__", game_text), ("__eq__", _same), ("__ne__", _other), ("__hash__", _hash)):
        setattr(game_class, name, method)
    return game_class


def _same(game: tuple, other: Any) -> bool:
    return type(game) is type(other) and tuple.__eq__(game, other)


def _other(game: tuple, other: Any) -> bool:
    return not _same(game, other)


def _hash(game: tuple) -> int:
    return hash((type(game), *game))


# What a game must say -------------------------------------------------------------------------------------------


@required
def num_players(game: Game) -> int:
    """How many seats there are."""


@required
def num_words(game: Game) -> int:
    """How many words of a world are the game's own; it starts with all of them 0."""


@required
def num_actions(game: Game) -> int:
    """Actions, and the outcomes of chance, are the integers below this."""


@required
def player(game: Game, world: World) -> int:
    """Who moves: a seat, CHANCE or TERMINAL."""


@required
def legal(game: Game, world: World, out: Any) -> int:
    """Write the legal actions of the seat that moves, ascending, into `out`; how many."""


@required
def step(game: Game, world: World, action: int) -> None:
    """Play a legal action, or an outcome of chance, in place."""


@required
def observe(game: Game, before: World, action: int, after: World, viewer: int) -> int:
    """What `viewer` (a seat or PUBLIC) learns from this transition, or NOTHING."""


@required
def returns(game: Game, world: World, out: Any) -> None:
    """Write each seat's payoff in a terminal world into `out`."""


# What a game may say --------------------------------------------------------------------------------------------


@optional
def check(game: Game) -> None:
    """Raise BadInput if parameters that are each allowed do not go together; runs in Python only."""


@optional
def begin(game: Game, world: World) -> None:
    """Turn a world of zeros into the start of the game, in place."""


@optional
def max_legal(game: Game) -> int:
    """The most actions that are legal at once, or outcomes of chance possible: the room `legal` and `chance` need."""
    return num_actions(game)


@optional
def chance(game: Game, world: World, out: Any, odds: Any) -> int:
    """Write the outcomes of chance, ascending, into `out` and their probabilities into `odds`; how many."""
    return 0


@optional
def pick(game: Game, world: World, random: Any, out: Any) -> int:
    """A uniformly random legal action; `out` is room for `legal`. A game overrides it for speed only."""
    return out[below(random, legal(game, world, out))]


@optional
def deal(game: Game, world: World, random: Any, out: Any, odds: Any) -> int:
    """A random outcome of chance; `out` and `odds` are room for `chance`. A game overrides it for speed only."""
    return out[weighted(random, odds, chance(game, world, out, odds))]


@optional
def lay_open(game: Game, world: World) -> None:
    """Let everybody know everything, in place, where a world says who knows what: actions that could only inform end.

    What the world is worth when all is open stays the same, and worlds that are worth the same for that reason become
    equal in the game's words.
    """


@optional
def formula(game: Game, observations: list[int], viewer: int) -> Any:
    """Where observations amount to a Boolean formula: (variables, clauses, from assignment to history); else None.

    Clauses are lists of variables counted from 1, negative where negated; in Python only.
    """
    return None


MOST_FEATURES = 96


@optional
def public_features(game: Game, world: World, out: Any) -> int:
    """Write what matters of what everybody knows into `out`, room for MOST_FEATURES numbers; how many. 0: no opinion.

    The same for all worlds of a public state, and as many in all of them. For value networks.
    """
    return 0


@optional
def private_features(game: Game, world: World, seat: int, out: Any) -> int:
    """The same for what only this seat knows; it may forget."""
    return 0


# What a game says to people, in Python only ---------------------------------------------------------------------


@required
def title(game: Game) -> str:
    """One line for the list of games."""


@required
def action_names(game: Game, world: World, action: int) -> tuple[str, ...]:
    """The ways people write an action, the best one first."""


@required
def board(game: Game, world: World) -> str:
    """The whole truth, drawn."""


@required
def view(game: Game, world: World, seat: int) -> str:
    """What a seat can see of it, drawn: no more than its observations tell."""


@required
def observation_text(game: Game, before: World, action: int, after: World, viewer: int) -> str:
    """The observation in words, different where `observe` is different."""


@optional
def places(game: Game) -> tuple[list[str], int]:
    """The things of which one may ask what is there: cells, cards, dice, by name; and the columns of a board, or 0."""
    return [], 0


@optional
def contents(game: Game, world: World) -> list[str]:
    """What is at each of the places: a short word, `.` for nothing."""
    return []


# How worlds are held; a game whose worlds are not rows of words overrides these ------------------------------------


@optional
@allocates
def new_worlds(game: Game, n: int) -> Any:
    """Room for n worlds, `uint64[n, W]`."""
    return np.zeros((n, num_words(game) + 1 + num_players(game)), np.uint64)


@optional
def copy_world(game: Game, target: World, source: World) -> None:
    """Make `target` equal to `source`."""
    for i in range(len(source)):
        target[i] = source[i]


@optional
def key(game: Game, world: World, viewer: int) -> int:
    """The hash of who the viewer is and of everything it has observed: the identity of its information state."""
    return fold(world[num_words(game) + 1 + viewer], viewer)


@optional
def position(game: Game, world: World) -> Any:
    """A hash of the world apart from what viewers remember: equal for equal positions."""
    code = uint64(0)
    for i in range(num_words(game)):
        code = fold(code, world[i])
    return code


@optional
def record(game: Game, world: World, viewer: int, observation: int) -> None:
    """Take an observation into the viewer's key."""
    i = num_words(game) + 1 + viewer
    world[i] = fold(world[i], observation)


# What every algorithm does with them ----------------------------------------------------------------------------


@jitable
def transition(game, before, action, after):
    """Make `after` the world that follows `before`, every viewer's key included."""
    copy_world(game, after, before)
    step(game, after, action)
    record_all(game, before, action, after)


@jitable
def record_all(game, before, action, after):
    """Take what this transition shows into every viewer's key, which `step` leaves as it was."""
    for viewer in range(PUBLIC, num_players(game)):
        observation = observe(game, before, action, after, viewer)
        if observation != NOTHING:
            record(game, after, viewer, observation)
