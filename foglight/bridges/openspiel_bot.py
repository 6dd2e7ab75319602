"""Our agents in OpenSpiel's own loops: a `pyspiel.Bot` that sits on one seat.

OpenSpiel passes the true state to a bot. This bot acts as a referee: it derives the observations of its seat from the
state, and passes nothing else to the agent. It refuses a state for which the agent's action would be meaningless: a
state of another game, one in which its seat is not to move, or one that does not continue the agent's observations. A
state in which the seat has not yet acted may begin a new game; for a new game at any other state, call `restart_at`.

The bot recognises the states of its game by OpenSpiel's name and parameters, and by the history: the movers and the
legal actions must agree. For a game that `_TWINS` does not list, only the history is compared.
"""

import re
from collections.abc import Callable
from typing import Any

import pyspiel

from foglight.agents import Agent, Seat, load_agent
from foglight.bridges import openspiel
from foglight.bridges.openspiel_games import NativeGame
from foglight.chess.start import POSITION, STANDARD
from foglight.compile import snake_case
from foglight.names import BadInput
from foglight.rules import CHANCE, TERMINAL, Game, num_players
from foglight.state import State, new_state

_ORDERS = ("descending", "ascending", "random")
_TWINS: dict[str, Callable[[Any], str]] = {  # OpenSpiel's text for a game of ours
    "battleship": lambda game: (
        f"battleship(board_width={game.width},board_height={game.height},num_shots={game.shots},"
        f"ship_sizes=[{';'.join(map(str, game.ships))}],ship_values=[{';'.join('1' for _ in game.ships)}],"
        f"allow_repeated_shots={game.repeats == 0})"
    ),
    "dark_chess": lambda game: f"dark_chess(board_size={game.size}{_fen(game)})",
    "dark_hex": lambda game: (
        f"dark_hex(num_rows={game.rows},num_cols={game.cols},gameversion={'adh' if game.abrupt else 'cdh'})"
    ),
    "goofspiel": lambda game: (
        f"turn_based_simultaneous_game(game=goofspiel(num_cards={game.cards},points_order={_ORDERS[game.order]},"
        f"imp_info={game.information == 0},returns_type=win_loss))"
    ),
    "hearts": lambda game: f"hearts(pass_cards={game.passing == 0})",
    "kuhn_poker": lambda game: "kuhn_poker",
    "leduc_poker": lambda game: "leduc_poker",
    "liars_dice": lambda game: f"liars_dice(numdice={game.dice},dice_sides={game.sides})",
    "oh_hell": lambda game: (
        f"oh_hell(players={game.players},num_suits={game.suits},num_cards_per_suit={game.ranks},"
        f"num_tricks_fixed={game.tricks or -1},off_bid_penalty={game.off_bid_penalty == 1},"
        f"points_per_trick={game.points_per_trick})"
    ),
    "phantom_ttt": lambda game: f"phantom_ttt(gameversion={'abrupt' if game.abrupt else 'classical'})",
    "spades": lambda game: "spades",
}


class AgentBot(pyspiel.Bot):
    """An agent as a bot of OpenSpiel. Each game that it starts gets its own seed, counted up from the given one.

    `close` ends other programs that the agent may have started, such as an engine.
    """

    def __init__(self, agent: Any, game: Game, seat: int, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self.agent, self.seat, self.seed = agent if isinstance(agent, Agent) else load_agent(agent), seat, seed
        self.referee: State = new_state(game)
        if self.agent.at_terminal:
            raise BadInput(f"{agent} needs somebody at the terminal and cannot be an OpenSpiel bot")
        if not 0 <= seat < num_players(self.referee.game):
            raise BadInput(f"{self.referee.game} has seats 0 to {num_players(self.referee.game) - 1}, not {seat}")
        self.twin = twin_of(self.referee.game)
        self.accepted = ""  # OpenSpiel's text of the game that was recognised as ours
        self.started = 0  # games
        self.restart()

    def restart(self) -> None:
        """Begin a new game."""
        self.referee = State(self.referee.game)
        self.place = Seat(self.agent, self.referee.game, self.seat, self.seed + self.started)
        self.started += 1

    def close(self) -> None:
        """End other programs that the agent has started; the bot may play again."""
        self.agent.close()

    def restart_at(self, state: Any) -> None:
        """Begin a new game at this state, whichever seat moves there."""
        self._check_game(state)
        referee = self._played(State(self.referee.game), state)
        self.restart()
        self._tell(referee)

    def step(self, state: Any) -> int:
        """The agent's action where its seat is to move."""
        self._go_to(state)
        return int(self.agent.act(self.referee.actions()))

    def provides_policy(self) -> bool:
        return True

    def get_policy(self, state: Any) -> list[tuple[int, float]]:
        """The probability of each legal action where the agent's seat is to move."""
        self._go_to(state)
        actions = self.referee.actions()
        return list(zip(actions, map(float, self.agent.probabilities(actions)), strict=True))

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """The probability of each legal action, and the agent's action.

        An agent that gives no probabilities of its own plays its action with probability 1; it is asked once.
        """
        if type(self.agent).probabilities is not Agent.probabilities:
            return self.get_policy(state), self.step(state)
        action = self.step(state)
        return [(other, float(other == action)) for other in self.referee.actions()], action

    def _go_to(self, state: Any) -> None:
        """Pass what the seat has observed up to this state, at which it is to move, to the agent."""
        self._check_game(state)
        if state.current_player() != self.seat:
            raise BadInput(f"this bot sits on seat {self.seat}, and {_situation(state)}; ask it where its seat moves")
        self._tell(self._follow(state))

    def inform_action(self, state: Any, player: int, action: int) -> None:
        """Do nothing: `step` reads the history of the state."""

    def _check_game(self, state: Any) -> None:
        """Refuse a state of another game."""
        theirs = state.get_game()
        if str(theirs) == self.accepted:
            return
        kind = theirs.get_type()
        if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            raise BadInput(f"in {kind.short_name} all move at once; give states of pyspiel.convert_to_turn_based(game)")
        alike = theirs.num_players() == num_players(self.referee.game)
        if isinstance(theirs, NativeGame) and theirs.game == self.referee.game:
            self.accepted = str(theirs)
            return
        if not alike or (self.twin is not None and twin_facts(theirs) != twin_facts(self.twin)):
            raise BadInput(f"this bot plays {self.referee.game}, and the state is of {theirs}; {_advice(theirs)}")
        self.accepted = str(theirs)

    def _follow(self, state: Any) -> State:
        """The referee's position after OpenSpiel's history; a new game is started if the history begins one."""
        history, past = state.full_history(), self.referee.history()
        if [item.action for item in history[: len(past)]] == past:
            return self._played(self.referee.clone(), state)
        referee = self._played(State(self.referee.game), state)
        if all(item.player != self.seat for item in history):
            self.restart()
        elif referee.observations(self.seat)[: len(self.place.observations)] != list(self.place.observations):
            raise BadInput(
                f"this state does not go on from what seat {self.seat} has seen; "
                "call restart_at(state) if another game is played"
            )
        return referee

    def _played(self, referee: State, state: Any) -> State:
        """The referee's position after the rest of OpenSpiel's history; BadInput if that is no history of our game."""
        for item in state.full_history()[len(referee.history()) :]:
            if referee.player != _mover(item.player) or item.action not in referee.actions():
                self._part(referee, state)
            referee.play(item.action)
        if (referee.player, referee.actions()) != (_mover(state.current_player()), state.legal_actions()):
            self._part(referee, state)
        return referee

    def _part(self, referee: State, state: Any) -> None:
        """Raise the BadInput that says where the two games differ."""
        n = len(referee.history())
        raise BadInput(
            f"{referee.game} and OpenSpiel's {state.get_game()} go different ways after {n} actions; "
            f"{_advice(state.get_game())}"
        )

    def _tell(self, referee: State) -> None:
        """Pass the observations of the seat up to this position to the agent."""
        self.place.tell(referee.observations(self.seat), referee.decisions(self.seat) if self.agent.remembers else ())
        self.referee = referee


def twin_of(game: Game) -> Any:
    """OpenSpiel's version of a game, or None if it is unknown."""
    if isinstance(game, openspiel.OpenSpiel):
        return openspiel.loaded(game)
    text = _TWINS.get(snake_case(type(game).__name__))
    return None if text is None else pyspiel.load_game(text(game))


def _fen(game: Any) -> str:
    """The position that a game of dark chess starts from, as OpenSpiel's parameter; nothing for the standard one."""
    return "" if game.start == STANDARD else f",fen={POSITION.written(game.start).replace('_', ' ')}"


def twin_facts(game: "pyspiel.Game") -> tuple[str, dict[str, Any]]:
    """The name and all parameters of a game of OpenSpiel, defaults included; games are the same if these are."""
    kind = game.get_type()
    parameters = {**kind.parameter_specification, **game.get_parameters()}
    if "num_rows" in parameters:
        parameters.pop("board_size", None)  # it is only the default of rows and columns
    return kind.short_name, {key: _value(value) for key, value in parameters.items()}


def _value(value: Any) -> Any:
    """A parameter in a form that can be compared: in a list, 1 and 1.0 become the same."""
    return re.sub(r"\.0(?=[;\]])", "", value) if isinstance(value, str) else value


def _mover(theirs: int) -> int:
    """OpenSpiel's number of a mover as ours."""
    return {pyspiel.PlayerId.CHANCE: CHANCE, pyspiel.PlayerId.TERMINAL: TERMINAL}.get(theirs, theirs)


def _situation(state: Any) -> str:
    if state.is_terminal():
        return "the game is over"
    return "chance is to move" if state.is_chance_node() else f"seat {state.current_player()} is to move"


def _advice(game: Game) -> str:
    return f"make a bot for 'openspiel:{game}', or give it states of its own game"
