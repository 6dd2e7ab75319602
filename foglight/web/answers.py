"""What workers compute. Arguments and results are plain data, and a result depends on its arguments alone."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from foglight.agents import Agent, Seat, load_agent
from foglight.arena.referee import warm_up
from foglight.games import load_game
from foglight.names import BadInput
from foglight.state import new_state

_BRIEF = 0.01  # seconds
_REMEMBERED = 32  # agents of games in progress

_seats: OrderedDict[tuple[Any, ...], Seat] = OrderedDict()


def move(
    table: int, game: str, agent: str, seat: int, seed: int, observations: Sequence[int], actions: Sequence[int]
) -> int:
    """The action of an agent. An agent that has played this game before gets only what is new."""
    key = (table, game, agent, seat, seed)
    place = _seats.pop(key, None)
    if place is None or list(place.observations) != list(observations[: len(place.observations)]):
        if place is not None:
            place.agent.close()
        place = Seat(load_agent(agent), load_game(game), seat, seed)
    place.tell(list(observations))
    action = place.agent.act(list(actions))
    if action not in actions:
        raise BadInput(f"{agent} played {action!r}, which is not legal here")
    _seats[key] = place
    while len(_seats) > _REMEMBERED:
        _seats.popitem(last=False)[1].agent.close()
    return int(action)


def prepare(game: str, agents: Sequence[str]) -> None:
    """Compile and load what a game and its agents need; they think as briefly as they can."""
    new_state(game)
    made: list[Agent] = [load_agent(agent) for agent in agents]
    for agent in made:
        agent.time = min(agent.time, _BRIEF)
    try:
        if made:
            warm_up(load_game(game), made)
    finally:
        for agent in made:
            agent.close()


ANSWERS: dict[str, Callable[..., Any]] = {"move": move, "prepare": prepare}
