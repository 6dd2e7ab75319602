"""An agent as a policy: a table of its action probabilities at every information state of a small game.

A policy identifies an information state by its key, but an agent needs the observations. So all worlds of the game are
visited, each once. At the first world of an information state an agent is started, gets the seat's observations, and is
asked for its probabilities; one that remembers is asked at the seat's earlier decisions as well. An agent that only has
`act` gets probability 1 for that action. The seed is the same at all information states; the generator `random()` of an
agent follows from the seed and the information state. What an agent plays over many games is its mean over many seeds.
With few of them it looks purer than it is, and a best response to them too good: a best response to the mean over some
seeds, valued against the mean over others, has no such bias.
"""

from collections.abc import Sequence

import numpy as np

from foglight.agents import Agent, AgentLike, opened, seated
from foglight.games import load_game
from foglight.names import BadInput, Spec
from foglight.policies import Tabular, tabular
from foglight.rules import Game, key
from foglight.state import State


def agent_policy(
    agent: AgentLike | Sequence[AgentLike],
    game: str | Game,
    *,
    seed: int = 0,
    seeds: int = 1,
    limit: int = 1_000_000,
) -> Tabular:
    """The policy of an agent for all seats, or of one agent per seat, at every information state.

    `seed` is the agent's seed at each of them; with more `seeds`, it is the mean over so many, from `seed` on. A game
    of more than `limit` worlds is refused.

        >>> policy = fl.agent_policy("first_legal", "kuhn_poker")  # passes always
        >>> len(policy.keys), fl.policy_values("kuhn_poker", policy)
        (12, [0.0, 0.0])
    """
    game = load_game(game)
    start = State(game)
    alone = isinstance(agent, str | Spec | type | Agent)
    team: list[AgentLike] = [agent] * start.num_players if alone else list(agent)  # type: ignore[list-item, arg-type]
    if len(team) != start.num_players:
        raise BadInput(f"{game} has {start.num_players} seats, and {len(team)} agents were given; give one for each")
    if seeds < 1:
        raise BadInput(f"seeds must be at least 1, not {seeds}")
    with opened(team) as agents:
        if any(one.at_terminal for one in agents):
            raise BadInput("a person cannot be asked at every information state; give another agent")
        return tabular(_answers(agents, start, range(seed, seed + seeds), limit))


def _answers(agents: Sequence[Agent], start: State, seeds: range, limit: int) -> dict[int, list[float]]:
    """The agents' probabilities at every information state of the game, by key."""
    game, table = start.game, dict[int, list[float]]()
    worlds, frontier = {start.world.tobytes()}, [start]
    while frontier:
        state = frontier.pop()
        if state.player >= 0:
            number = int(key(game, state.world, state.player))
            if number not in table:
                answers = [_answer(agents[state.player], state, seed) for seed in seeds]
                table[number] = answers[0] if len(seeds) == 1 else np.mean(answers, axis=0).tolist()
        for action in state.actions():
            after = state.clone()
            after.play(action)
            if after.world.tobytes() not in worlds:
                worlds.add(after.world.tobytes())
                frontier.append(after)
        if len(worlds) > limit:
            raise BadInput(
                f"{game} has more than {limit} worlds, and {len(table)} information states so far; "
                "take a smaller game, or raise the limit"
            )
    return table


def _answer(agent: Agent, state: State, seed: int) -> list[float]:
    """The agent's probabilities of the legal actions, after it got the observations of the seat to move."""
    seated(agent, state, state.player, seed)
    odds = np.asarray(agent.probabilities(state.actions()), np.float64)
    if odds.shape != (len(state.actions()),) or (odds < 0.0).any() or not np.isclose(odds.sum(), 1.0):
        raise BadInput(
            f"{type(agent).__name__} gives {odds.tolist()} for the {len(state.actions())} legal actions; "
            "probabilities are not negative and add up to 1"
        )
    return [float(share) for share in odds / odds.sum()]
