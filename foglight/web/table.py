"""One game of the page: who sits where, what each seat is shown, and what it may do.

Whatever a seat is shown before the end follows from its observations: not from the true world, the length of the
history or the seed. That is why `seen`, the number of observations of the seat, numbers its positions.
"""

from collections.abc import Sequence
from typing import Any

from foglight.arena.referee import LONGEST, Course, Record
from foglight.drawing.svg import markup
from foglight.names import BadInput
from foglight.rules import CHANCE, TERMINAL, Game, title
from foglight.web.offers import HUMAN


class Table:
    """A game in progress. `seats` has the text of an agent for each seat, or HUMAN for a person."""

    def __init__(self, game: str | Game, seats: Sequence[str], seed: int, actions: Sequence[int] = ()) -> None:
        self.game, self.seats, self.seed = str(game), tuple(seats), seed
        self.course = Course(game, seed, actions=actions)
        self.state = self.course.state

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.state.player == TERMINAL

    def play_chance(self) -> bool:
        """Play outcomes of chance until somebody decides; whether there were any."""
        played = False
        while self.state.player == CHANCE:
            self._play(self.course.outcome())
            played = True
        return played

    def play(self, action: int) -> None:
        """Play the action of an agent."""
        self._play(action)

    def _play(self, action: int) -> None:
        if len(self.state.history()) >= LONGEST:
            raise BadInput(f"this game has not ended after {LONGEST:,} actions and is stopped")
        self.state.play(action)

    def seen(self, seat: int) -> int:
        """How many observations the seat has made."""
        return len(self.state.observations(seat))

    def turn(self, seat: int) -> str:
        """Whether the seat is to move: `yours`, `waiting` or `over`."""
        return "over" if self.over else "yours" if self.state.player == seat else "waiting"

    def act(self, seat: int, action: Any, seen: Any) -> None:
        """Play the action of a person, who was shown `seen` observations."""
        self.check_seen(seat, seen)
        if self.turn(seat) != "yours":
            raise BadInput("the game is over" if self.over else "it is not your turn")
        if type(action) is not int or action not in self.state.actions():
            raise BadInput("this is not a legal move here")
        self._play(action)

    def check_seen(self, seat: int, seen: Any) -> None:
        """Refuse an order that was given in another position than the present one."""
        if type(seen) is not int or seen != self.seen(seat):
            raise BadInput("the position has changed meanwhile; here is the present one")

    def view(self, seat: int) -> dict[str, Any]:
        """What the seat is shown: a function of its observations, until the game is over."""
        state, turn = self.state, self.turn(seat)
        mine = turn == "yours"
        return {
            "is": "view",
            "game": self.game,
            "title": title(state.game),
            "seat": seat,
            "players": [
                "you" if i == seat else "a person" if who == HUMAN else who for i, who in enumerate(self.seats)
            ],
            "seen": self.seen(seat),
            "turn": turn,
            "svg": markup(state.drawing(seat, choices=mine)),
            "moves": [[action, names[0]] for action, names in state.choices().items()] if mine else [],
            "log": state.log(seat),
            "observations": ".".join(map(str, state.observations(seat))),  # as text: JavaScript rounds large numbers
            "text": state.sight(seat),
            "over": self._truth() if self.over else None,
        }

    def _truth(self) -> dict[str, Any]:
        return {"returns": self.state.returns(), "svg": markup(self.state.drawing()), "text": str(self.state)}

    def question(self, seat: int) -> tuple[str, int, list[int], bool]:
        """What a belief is computed from: the game, the seat, its observations, and whether it is to move."""
        return self.game, seat, self.state.observations(seat), self.turn(seat) == "yours"

    def record(self) -> Record:
        """The finished game."""
        return Record(tuple(self.state.returns()), tuple(self.state.history()))
