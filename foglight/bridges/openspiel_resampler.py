"""Our beliefs for OpenSpiel's algorithms: worlds that a player of OpenSpiel's holds possible, as states of its own.

Its IS-MCTS asks a state for another one with the same information, `resample_from_infostate`. Most of its games have
none; some draw worlds that contradict the play. Here the player's observations are worked out from the history of the
state, a history that gives exactly these is drawn by our filters, and it is played by OpenSpiel's own rules, which
check every action and the player's string at the end. The true state gives the observations and nothing else.

A game of OpenSpiel that we have too runs compiled on our rules; any other runs interpreted. OpenSpiel's Python bot
takes a resampler by `bot.set_resampler`. Its C++ bot has such a setter as well, but Python cannot reach it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from foglight.bridges import openspiel
from foglight.bridges.openspiel_bot import twin_facts, twin_of
from foglight.bridges.openspiel_games import NativeGame
from foglight.compile import is_compiled
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import TERMINAL, Game, max_legal, num_players
from foglight.state import State
from foglight.worlds.deals.cards import is_trick_taking
from foglight.worlds.filter import history_filter
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.sampled_layers import SampledLayers

_LARGER, _ATTEMPTS = 4, 3  # a sample that dies out is drawn again, from layers so many times larger
_COMPILED = 10_000  # positions to keep by default
_INTERPRETED, _FEWEST = 5_000, 50  # transitions to follow from them where rules are interpreted; positions at least
_BATCH = 64  # histories drawn at a time, at most


class Resampler:
    """Draws states that a player cannot tell from a given one; call it with a state and a player.

    `exact` says whether the last one was drawn with exactly the probability it should have: it is False where the
    worlds were too many to list.
    """

    def __init__(self, theirs: Any, limit: int | None, policy: Any, seed: int) -> None:
        self.theirs, self.game = theirs, native(theirs)
        self.limit = _affordable(self.game) if limit is None else limit
        self.policy, self.exact = policy, True
        self._random = np.random.default_rng(seed)
        self._facts = twin_facts(theirs)
        self._asked: tuple[Any, ...] = ()  # the player and the history of the last call
        self._seen: tuple[Any, ...] = ()  # the player, its situation and its observations, which `_draw` is for
        self._draw: Callable[[int, int], list[list[int]]]
        self._pool: list[list[int]] = []
        self._batch = 1

    def __repr__(self) -> str:
        return f"<Resampler: {self.theirs}, by the rules of {self.game}>"

    def __call__(self, state: Any, player: int, rng: Any = None) -> Any:
        """A state of the same game in which the player has the same information.

        `rng` gives the random numbers: a function without arguments, or anything with a method `random`, both from 0
        to below 1. Without it they follow from the resampler's seed.
        """
        if twin_facts(state.get_game()) != self._facts:
            raise BadInput(f"this resampler is for {self.theirs}, and the state is of {state.get_game()}")
        if not 0 <= player < num_players(self.game):
            raise BadInput(f"{self.theirs} has players 0 to {num_players(self.game) - 1}, not {player}")
        asked = player, tuple(state.history())
        if asked != self._asked:  # a search asks about one state again and again
            here = _replayed(self.game, state)
            seen = player, _situation(here.player, player), tuple(here.observations(player))
            if seen != self._seen:
                self._draw, self._seen, self._pool, self._batch = self._belief(here, player), seen, [], 1
            self._asked = asked
        if rng is not None:
            return self._state(self._draw(1, int(_unit(rng) * 2**53))[0], state, player)
        if not self._pool:
            self._pool = self._draw(self._batch, int(self._random.integers(2**53)))
            self._batch = min(2 * self._batch, _BATCH)
        return self._state(self._pool.pop(), state, player)

    def _belief(self, here: State, player: int) -> Callable[[int, int], list[list[int]]]:
        """A function that draws histories: their number and a seed."""
        seen, mover = here.observations(player), player if here.player == player else None
        if is_trick_taking(self.game):
            deals = history_filter(self.game, seen, player, self.policy, limit=self.limit, mover=mover)

            def dealt(n: int, seed: int) -> list[list[int]]:
                histories = deals.sample_actions(n, seed)
                self.exact = bool(deals.diagnostics().get("exact", True))
                return histories

            return dealt
        limit = self.limit
        for _ in range(_ATTEMPTS):
            seed = int(self._random.integers(2**53))
            layers = SampledLayers(self.game, seen, player, self.policy, limit, mover, seed)
            layers.keep_ends(lambda other: _situation(other, player) == _situation(here.player, player))
            if layers.exists():
                self.exact = layers.exact
                return layers.sample_actions
            limit *= _LARGER
        raise BeliefLost(
            f"no history was found that gives player {player} of {self.theirs} its {len(seen)} observations; "
            f"give a limit above {self.limit:,}"
        )

    def _state(self, history: list[int], state: Any, player: int) -> Any:
        """The state after a history, played by OpenSpiel's rules, in which the player must know what it knows."""
        drawn = state.get_game().new_initial_state()
        for action in history:
            if action not in drawn.legal_actions():
                raise BadInput(f"{self.theirs} does not allow a history of {self.game}; the games differ")
            drawn.apply_action(action)
        if _shown(drawn, player) != _shown(state, player):
            raise BadInput(f"{self.theirs} shows player {player} of a history something else than {self.game}")
        return drawn


def resampler(game: Any, limit: int | None, policy: Any, seed: int) -> Resampler:
    """The resampler for a game of OpenSpiel, given as such, by its name there, or by our game's text."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise BadInput(f"limit must be a whole number of at least 1, not {limit!r}")
    if isinstance(game, pyspiel.Game):
        theirs = game
    else:
        loaded = load_game(game)
        theirs = openspiel.loaded(loaded) if isinstance(loaded, openspiel.OpenSpiel) else twin_of(loaded)
        if theirs is None:
            raise BadInput(f"OpenSpiel has no {loaded}; give a game of OpenSpiel, such as 'openspiel:phantom_ttt'")
    kind = theirs.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise BadInput(f"in {kind.short_name} all move at once; give pyspiel.convert_to_turn_based(game)")
    return Resampler(theirs, limit, policy, seed)


def _affordable(game: Game) -> int:
    """How many positions to keep by default: few where rules run interpreted, and many actions lead on from each."""
    return _COMPILED if is_compiled(game) else max(_FEWEST, _INTERPRETED // int(max_legal(game)))


def native(theirs: Any) -> Any:
    """Our game with the same rules as a game of OpenSpiel, or that game itself, interpreted."""
    if isinstance(theirs, NativeGame):
        return theirs.game
    name, given = twin_facts(theirs)
    text = _ours(name, given)
    if text:
        try:
            ours = load_game(text)
        except BadInput:  # beyond the sizes that ours has
            ours = None
        if ours is not None and twin_facts(twin_of(ours)) == (name, given):
            return ours
    return openspiel.game_of(theirs)


def _ours(name: str, given: dict[str, Any]) -> str:
    """Our text of a game of OpenSpiel with these parameters, or nothing; what it leaves out is compared later."""
    if name == "turn_based_simultaneous_game":
        inner = pyspiel.load_game(str(given["game"])) if isinstance(given["game"], str) else None
        return _goofspiel(given["game"] if inner is None else {**inner.get_parameters(), "name": "goofspiel"})
    texts: dict[str, Callable[[], str]] = {
        "battleship": lambda: (
            f"battleship(width={given['board_width']},height={given['board_height']},shots={given['num_shots']},"
            f"ships={str(given['ship_sizes']).replace(';', ',')},"
            f"repeats={'allowed' if given['allow_repeated_shots'] else 'forbidden'})"
        ),
        "dark_chess": lambda: f"dark_chess(size={given['board_size']})",
        "dark_hex": lambda: (
            f"dark_hex(rows={given['num_rows']},cols={given['num_cols']},"
            f"abrupt={'yes' if given['gameversion'] == 'adh' else 'no'})"
        ),
        "hearts": lambda: f"hearts(passing={'yes' if given['pass_cards'] else 'no'})",
        "kuhn_poker": lambda: "kuhn_poker",
        "leduc_poker": lambda: "leduc_poker",
        "liars_dice": lambda: f"liars_dice(dice={given['numdice']},sides={given['dice_sides']})",
        "oh_hell": lambda: (
            f"oh_hell(players={given['players']},suits={given['num_suits']},ranks={given['num_cards_per_suit']},"
            f"tricks={max(0, given['num_tricks_fixed'])})"
        ),
        "phantom_ttt": lambda: f"phantom_ttt(abrupt={'yes' if given['gameversion'] == 'abrupt' else 'no'})",
        "spades": lambda: "spades",
    }
    try:
        return texts[name]() if name in texts else ""
    except KeyError:  # a parameter that another version has under another name
        return ""


def _goofspiel(inner: Any) -> str:
    if not isinstance(inner, dict) or inner.get("name") != "goofspiel":
        return ""
    order = inner.get("points_order", "random")
    hidden = "imperfect" if inner.get("imp_info", False) else "perfect"
    return f"goofspiel(cards={inner.get('num_cards', 13)},order={order},information={hidden})"


def _situation(mover: int, player: int) -> tuple[bool, bool]:
    """Whether it is the player's turn, and whether the game is over: OpenSpiel's algorithms know both."""
    return mover == player, mover == TERMINAL


def _replayed(game: Game, state: Any) -> State:
    """Our state after the history of one of OpenSpiel's."""
    ours = State(game)
    for action in state.history():
        if action not in ours.actions():
            raise BadInput(f"{state.get_game()} and {game} go different ways after {len(ours.history())} actions")
        ours.play(action)
    return ours


def _shown(state: Any, player: int) -> str:
    """What OpenSpiel shows a player of a state."""
    if state.get_game().get_type().provides_information_state_string:
        return str(state.information_state_string(player))
    return str(state.observation_string(player))


def _unit(rng: Any) -> float:
    """A random number from 0 to below 1."""
    try:
        return float(rng() if callable(rng) else rng.random())
    except AttributeError:
        raise BadInput(f"rng must be a function or have a method `random`, and {rng!r} has none") from None
