"""An agent as a policy: asked once at every information state of a small game, and its answers written down.

Kernels know an information state by its key alone, and an agent wants the observations. So all worlds of the game are
gone through, each once, and at the first one of an information state an agent is started, told what its seat has
observed, and asked. An agent that only acts is taken to be sure of what it does. The seed is the same everywhere; what
an agent draws by `random()` follows from the seed and the information state.
"""

from collections.abc import Sequence

import numpy as np

from foglight.agents import Agent, Seat, opened
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Tabular, tabular
from foglight.rules import Game, key
from foglight.state import State


def agent_policy(
    agent: str | Agent | Sequence[str | Agent], game: str | Game, *, seed: int = 0, limit: int = 1_000_000
) -> Tabular:
    """The policy of an agent, or of one for each seat, in every information state.

    `seed` is the agent's in each of them. A game of more than `limit` worlds is refused.

        >>> policy = fl.agent_policy("first_legal", "kuhn_poker")  # passes always
        >>> len(policy.keys), fl.policy_values("kuhn_poker", policy)
        (12, [0.0, 0.0])
    """
    game = load_game(game)
    start = State(game)
    given = [agent] * start.num_players if isinstance(agent, str | Agent) else list(agent)
    if len(given) != start.num_players:
        raise BadInput(f"{game} has {start.num_players} seats, and {len(given)} agents were given; give one for each")
    with opened(given) as agents:
        if any(one.at_terminal for one in agents):
            raise BadInput("a person cannot be asked at every information state; give another agent")
        return tabular(_answers(agents, start, seed, limit))


def _answers(agents: Sequence[Agent], start: State, seed: int, limit: int) -> dict[int, list[float]]:
    """By key, the probabilities that the agents give at every information state of the game."""
    game, table = start.game, dict[int, list[float]]()
    met, front = {start.world.tobytes()}, [start]
    while front:
        state = front.pop()
        if state.player >= 0:
            number = int(key(game, state.world, state.player))
            if number not in table:
                table[number] = _answer(agents[state.player], state, seed)
        for action in state.actions():
            after = state.clone()
            after.play(action)
            if after.world.tobytes() not in met:
                met.add(after.world.tobytes())
                front.append(after)
        if len(met) > limit:
            raise BadInput(
                f"{game} has more than {limit} worlds, and {len(table)} information states so far; "
                "take a smaller game, or raise the limit"
            )
    return table


def _answer(agent: Agent, state: State, seed: int) -> list[float]:
    """The probabilities that an agent gives who knows the seat's observations and the legal actions."""
    Seat(agent, state.game, state.player, seed, state.observations(state.player))
    odds = np.asarray(agent.probabilities(state.actions()), np.float64)
    if odds.shape != (len(state.actions()),) or (odds < 0.0).any() or not np.isclose(odds.sum(), 1.0):
        raise BadInput(
            f"{type(agent).__name__} gives {odds.tolist()} for the {len(state.actions())} legal actions; "
            "probabilities are not negative and add up to 1"
        )
    return [float(share) for share in odds / odds.sum()]
