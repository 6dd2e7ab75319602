"""The rules of a game: the generic functions that every game implements and every algorithm calls.

A game is a frozen NamedTuple of its parameters. A world is one row of `uint64`: the game's own words, then one key per
viewer, first the public's, then each seat's. A key is a running 64-bit hash of the viewer's observations. Algorithms
move worlds with `transition`, which updates the keys; `step` alone is enough where keys are not needed, as in a random
playout.

An observation is the information that one viewer gets from one transition, an `int64`; a seat's own action is part of
its observations. `NOTHING` is no observation at all: the viewer does not even learn that time has passed. The sequence
of a viewer's observations is its information state, in the sense of factored observations [Kovarik2022].
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy import uint64

from foglight.addresses import game_text
from foglight.compile import GameClass, allocates, jitable, optional, required
from foglight.drawing.layouts import drawing_title, plain_drawing
from foglight.drawing.model import Drawing
from foglight.randomness import below, fold, weighted

PUBLIC = -1  # the viewer that observes what every seat observes; seats are viewers too
CHANCE = -2  # the mover of a chance node
TERMINAL = -3  # the mover when the game is over
NOTHING = 0  # no observation


World: TypeAlias = Any  # a row of uint64; an interpreted game may use objects of its own


class Bounds(NamedTuple):
    """What every play of a game stays within, as its rule `bounds` says.

    >>> from foglight.rules import bounds
    >>> bounds(fl.load_game("kuhn_poker")) == fl.Bounds(low=-2.0, high=2.0, total=0.0, length=5)
    True
    """

    low: float = -math.inf  # the lowest payoff of a seat
    high: float = math.inf  # the highest
    total: float | None = None  # the sum of all payoffs, if it is always the same
    length: int = 0  # most actions of a game, outcomes of chance included; 0: unknown


class Game(Protocol):
    """A game with its parameters: an immutable value whose class implements the rules below.

    A compiled game is a NamedTuple with the decorator `@game`. Any other class of hashable objects runs interpreted.

        >>> def seats(game: fl.Game) -> int:
        ...     return fl.new_state(game).num_players
        >>> seats(fl.load_game("oh_hell(players=5)"))
        5
    """

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...


def game(game_class: GameClass) -> GameClass:
    """Class decorator of a game: its text is one that `load_game` reads, and games of different classes are unequal.

    The text of a game in a package of your own has the address of its class, `mypackage.games:Nim(stones=7)`. Plain
    tuples compare by content only, so two games without parameters would be equal.

        >>> from typing import Annotated, NamedTuple
        >>> @fl.game
        ... class Nim(NamedTuple):
        ...     stones: Annotated[int, fl.Between(1, 100)] = 5
        >>> str(Nim(stones=7)).endswith(":Nim(stones=7)"), Nim() == Nim(5), Nim() == (5,)
        (True, True, False)
    """
    methods: dict[str, Any] = {"__str__": game_text}
    if issubclass(game_class, tuple):
        methods |= {"__eq__": _same, "__ne__": _other, "__hash__": _hash}
    for name, method in methods.items():
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
    """The number of seats."""


@required
def num_words(game: Game) -> int:
    """The number of the game's own words in a world; a new world has 0 in all of them."""


@required
def num_actions(game: Game) -> int:
    """The number of actions: actions and outcomes of chance are integers from 0 to one less than this."""


@required
def player(game: Game, world: World) -> int:
    """The mover: a seat, CHANCE or TERMINAL."""


@required
def legal(game: Game, world: World, out: Any) -> int:
    """Write the mover's legal actions, ascending, into `out`, and return their number."""


@required
def step(game: Game, world: World, action: int) -> None:
    """Play a legal action or an outcome of chance in place."""


@required
def observe(game: Game, before: World, action: int, after: World, viewer: int) -> int:
    """The observation that `viewer` (a seat or PUBLIC) gets from this transition, or NOTHING."""


@required
def returns(game: Game, world: World, out: Any) -> None:
    """Write each seat's payoff in a terminal world into `out`."""


# What a game may say --------------------------------------------------------------------------------------------


@optional
def check(game: Game) -> None:
    """Raise BadInput if the parameters, each within its limits, do not fit together; runs in Python only."""


@optional
def begin(game: Game, world: World) -> None:
    """Turn a world of zeros into the start of the game, in place."""


@optional
def max_legal(game: Game) -> int:
    """The largest number of legal actions, or of outcomes of chance, in any world: the size of `out` and `odds`."""
    return num_actions(game)


@optional
def chance(game: Game, world: World, out: Any, odds: Any) -> int:
    """Write the outcomes of chance, ascending, into `out`, their probabilities into `odds`; return their number."""
    return 0


@optional
def notices_all(game: Game) -> bool:
    """Whether every viewer observes something of every transition, the public too; beliefs are then found faster."""
    return False


@optional
def pick(game: Game, world: World, random: Any, out: Any) -> int:
    """A uniformly random legal action; `out` is an array for `legal`. A game overrides this rule for speed only."""
    return out[below(random, legal(game, world, out))]


@optional
def deal(game: Game, world: World, random: Any, out: Any, odds: Any) -> int:
    """A random outcome of chance; `out` and `odds` are arrays for `chance`. A game overrides it for speed only."""
    return out[weighted(random, odds, chance(game, world, out, odds))]


@optional
def legal_bits(game: Game, world: World, actions: Any, out: Any) -> None:
    """Write the mover's legal actions as bits into the words of `out`; a game overrides this rule for speed only.

    `out` has a word for every 64 actions, action 0 first; `actions` is an array for `legal`.
    """
    for i in range(len(out)):
        out[i] = uint64(0)
    for i in range(legal(game, world, actions)):
        out[actions[i] >> 6] |= uint64(1) << uint64(actions[i] & 63)


@optional
def lay_open(game: Game, world: World) -> None:
    """Reveal everything to all seats in place, in games whose worlds store what the seats know.

    Actions whose only effect is information are then no longer legal. The value of the world under perfect information
    stays the same, and worlds that differed only in what the seats know become equal in the game's words.
    """


@optional
def symmetries(game: Game) -> Sequence[Sequence[int]]:
    """Permutations of the actions that take every play of the game to one with the same payoffs. In Python only.

    A symmetry gives the image of each action. It takes equal observations of a seat to equal observations. It is enough
    to give some from which the others follow.
    """
    return ()


@optional
def formula(game: Game, observations: list[int], viewer: int) -> Any:
    """The Boolean formula that the observations are equivalent to, or None if there is none. In Python only.

    The formula is (number of variables, clauses, function from an assignment to a history). A clause is a list of
    variables, which count from 1 and are negative where negated.
    """
    return None


@optional
def forgetting(game: Game) -> str:
    """Who has forgotten what it did or knew, in a line; empty with perfect recall. Solvers refuse such a game.

    It is for games that come with information sets of their own: observations are never forgotten. In Python only.
    """
    return ""


@optional
def bounds(game: Game) -> Bounds:
    """What every play of the game stays within, for libraries that ask; in Python only."""
    return Bounds()


@optional
def evaluation(game: Game, world: World, seat: int) -> float:
    """A cheap estimate of the seat's payoff if everything lay open from here on, in a world that is not terminal.

    It lies within the bounds of payoffs, sums to what payoffs sum to, and does not depend on the viewers' keys. Callers
    ask `has_rule("evaluation", type(game))` whether a game has it; the default says nothing.
    """
    return 0.0


MOST_FEATURES = 96  # the size of `out` in the two rules below


@optional
def public_features(game: Game, world: World, out: Any) -> int:
    """Write the public features of a world for value networks into `out`, and return their number; 0: none are offered.

    All worlds of a public state have the same features, and all worlds of the game have the same number of them.
    """
    return 0


@optional
def private_features(game: Game, world: World, seat: int, out: Any) -> int:
    """Write the features of a seat's private information into `out` likewise; they need not have perfect recall."""
    return 0


@optional
def num_sight_features(game: Game) -> int:
    """The number of features of `sight_features`; 0: none are offered. In Python only."""
    world, out = new_worlds(game, 1)[0], np.zeros(2 * MOST_FEATURES)
    begin(game, world)
    return private_features(game, world, 0, out) + public_features(game, world, out)


@optional
def sight_features(game: Game, world: World, seat: int, out: Any) -> None:
    """Write what a seat sees as numbers from -2 to 2 into `out`, which holds zeros: a function of its observations.

    The default has the features that value networks get: the seat's private ones, then the public ones.
    """
    private = private_features(game, world, seat, out)
    public_features(game, world, out[private:])


@optional
def num_recalled(game: Game) -> int:
    """How many of a seat's last observations complete its sight features. In Python only.

    By default none, or the last eight if the game offers no sight features.
    """
    return 0 if num_sight_features(game) else 8


@optional
def observation_bits(game: Game) -> int:
    """The number of bits of a seat's largest observation, at most 64. In Python only."""
    return 64


# Text for people, in Python only --------------------------------------------------------------------------------


@required
def title(game: Game) -> str:
    """A line that describes the game, for the list of games."""


@required
def action_names(game: Game, world: World, action: int) -> tuple[str, ...]:
    """The names of an action as people write it, the best one first."""


@required
def board(game: Game, world: World) -> str:
    """The whole world as text."""


@required
def view(game: Game, world: World, seat: int) -> str:
    """The seat's view of the world as text; it reveals no more than the seat's observations."""


@required
def observation_text(game: Game, before: World, action: int, after: World, viewer: int) -> str:
    """The observation in words; different observations have different texts."""


@optional
def how_to_play(game: Game) -> str:
    """The rules in a few lines, for a person who plays, and how moves are written, with examples in backticks."""
    return ""


@optional
def why_not(game: Game, world: World, action: int) -> str:
    """Why the mover may not play this action, which `legal` leaves out, in a line; empty if the game cannot say.

    It depends only on what the mover knows. A game that has this rule gives names to every action in `action_names`,
    and these depend only on what the mover knows, too.
    """
    return ""


@optional
def places(game: Game) -> tuple[list[str], int]:
    """The names of the places that a belief is shown for (cells, cards or dice), and the columns of a board, or 0."""
    return [], 0


@optional
def contents(game: Game, world: World) -> list[str]:
    """The content of each of the places: a short word, `.` for nothing."""
    return []


@optional
def drawing(game: Game, world: World, seat: int | None) -> Drawing:
    """A picture of what a seat sees, which reveals no more than its observations; of the whole world if seat is None.

    Each place is drawn once at most. The actions of an item are those that a click may mean; they need not be legal,
    and must not depend on what the seat does not know, such as whose turn it is in a phantom game. The default draws
    the contents of places on boards, or the text of `board` or `view`.
    """
    names, columns = places(game)
    if seat is not None:
        return plain_drawing(view(game, world, seat), drawing_title(game, seat), names, columns, [])
    return plain_drawing(board(game, world), drawing_title(game, None), names, columns, contents(game, world))


@optional
def glimpse(game: Game, world: World, observation: int, seat: int) -> Sequence[int]:
    """The places that a seat's last observation has shown to it, by their numbers; by default none.

    They are drawn as they are, though the world does not remember that they were seen.
    """
    return ()


# Storage of worlds; a game whose worlds are not rows of words overrides these -----------------------------------------


@optional
@allocates
def new_worlds(game: Game, n: int) -> Any:
    """An array of n new worlds, `uint64[n, W]`."""
    return np.zeros((n, num_words(game) + 1 + num_players(game)), np.uint64)


@optional
def copy_world(game: Game, target: World, source: World) -> None:
    """Make `target` equal to `source`."""
    for i in range(len(source)):
        target[i] = source[i]


@optional
def key(game: Game, world: World, viewer: int) -> int:
    """The key of the viewer's information state: a hash of the viewer and of all its observations."""
    return fold(world[num_words(game) + 1 + viewer], viewer)


@optional
def position(game: Game, world: World) -> Any:
    """A hash of the world without the viewers' keys: equal positions have equal hashes."""
    code = uint64(0)
    for i in range(num_words(game)):
        code = fold(code, world[i])
    return code


@optional
def record(game: Game, world: World, viewer: int, observation: int) -> None:
    """Add an observation to the viewer's key."""
    i = num_words(game) + 1 + viewer
    world[i] = fold(world[i], observation)


# Transitions, for every algorithm -------------------------------------------------------------------------------


@jitable
def transition(game, before, action, after):
    """Make `after` the world that follows `before`, with every viewer's key updated."""
    copy_world(game, after, before)
    step(game, after, action)
    record_all(game, before, action, after)


@jitable
def record_all(game, before, action, after):
    """Add the observations of this transition to every viewer's key; `step` does not change keys."""
    for viewer in range(PUBLIC, num_players(game)):
        observation = observe(game, before, action, after, viewer)
        if observation != NOTHING:
            record(game, after, viewer, observation)
