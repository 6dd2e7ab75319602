"""One person against agents, all in this process: what a cell of a notebook needs of a game.

The table is the page's own. What the person may be shown is a function of the observations of the seat, and so is when
it is shown anew: only after the number of observations or the turn has changed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from foglight.agents import Agent, Seat, load_agent, seated
from foglight.arena.match import check_whole
from foglight.arena.referee import warm_up
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import Game, num_players
from foglight.web import answers
from foglight.web.offers import HUMAN
from foglight.web.table import Table


class Sitting:
    """A person on one seat of a game, and agents on the others, over one game after the other."""

    def __init__(self, game: Game, vs: Any, seat: int, seed: int) -> None:
        self.game = load_game(game)
        seats = num_players(self.game)
        if type(seat) is not int or not 0 <= seat < seats:
            raise BadInput(f"{self.game} has seats 0 to {seats - 1}, not {seat}")
        check_whole("seed", seed, 0)
        given = list(vs) if isinstance(vs, list | tuple) else [vs] * (seats - 1)
        if len(given) != seats - 1:
            raise BadInput(f"{self.game} has {seats - 1} seats beside yours, and {len(given)} agents are given")
        self.seat = seat
        self._agents = _checked([load_agent(agent) for agent in given])
        self._made = [agent for one, agent in zip(given, self._agents, strict=True) if one is not agent]
        texts = [one if isinstance(one, str) else str(agent) for one, agent in zip(given, self._agents, strict=True)]
        self._texts = [*texts[:seat], HUMAN, *texts[seat:]]
        warm_up(self.game, [*self._agents[:seat], load_agent("random"), *self._agents[seat:]])
        self._seed, self._shown = seed, (-1, "")
        self._sit()

    def _sit(self) -> None:
        self.table = Table(self.game, self._texts, self._seed)
        others = [i for i in range(len(self._texts)) if i != self.seat]
        course, state = self.table.course, self.table.state
        self._seats: dict[int, Seat] = {
            i: seated(agent, state, i, course.seed_of(i)) for i, agent in zip(others, self._agents, strict=True)
        }

    def again(self) -> None:
        """Begin another game, with the next seed."""
        self._seed, self._shown = self._seed + 1, (-1, "")
        self._sit()

    def act(self, action: Any, seen: Any) -> None:
        """Play the action of the person, who was shown `seen` observations."""
        self.table.act(self.seat, action, seen)

    def views(self) -> Iterator[dict[str, Any]]:
        """Let chance and the agents play until the person is to move; what to show on the way, and in the end."""
        table, state = self.table, self.table.state
        while not table.over:
            table.play_chance()
            if table.over or state.player == self.seat:
                break
            yield from self._news()
            place = self._seats[state.player]
            place.tell(state.observations(place.number), state.decisions(place.number))
            table.play(_asked(place.agent, state.actions()))
        yield from self._news()

    def _news(self) -> Iterator[dict[str, Any]]:
        now = self.table.seen(self.seat), self.table.turn(self.seat)
        if now != self._shown:
            self._shown = now
            yield self.table.view(self.seat)

    def belief(self) -> dict[str, Any]:
        """What the person may hold possible now, as a picture and as numbers."""
        _, seat, observations, to_move = self.table.question(self.seat)
        return {"seen": len(observations), **answers.belief(self.game, seat, observations, to_move)}

    def close(self) -> None:
        """Close the agents that were made here."""
        for agent in self._made:
            agent.close()


def _checked(agents: Sequence[Agent]) -> list[Agent]:
    if len({id(agent) for agent in agents}) < len(agents):
        raise BadInput("one agent cannot sit on several seats; give its text, or one agent for each seat")
    for agent in agents:
        if agent.at_terminal:
            raise BadInput(f"{agent} needs somebody at the terminal; give another agent")
    return list(agents)


def _asked(agent: Agent, actions: Sequence[int]) -> int:
    action = agent.act(list(actions))
    if action not in actions:
        raise BadInput(f"{agent} played {action!r}, which is not legal here")
    return int(action)
