"""A game as an environment of PettingZoo, in which agents act in turn: `fl.pettingzoo_env`.

The environment holds the true world and plays chance. What it gives to a seat is a function of the seat's information
state. Seats with opponents are played inside, by agents that get their seats' observations and nothing else.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from foglight.agents import Agent, AgentLike, Seat, load_agent
from foglight.environments.turns import BEGIN, new_outputs, new_rows, observation_size, take_turns
from foglight.environments.vectorised import check_recall
from foglight.games import load_game
from foglight.names import BadInput, listed
from foglight.randomness import generator
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    bounds,
    deal,
    max_legal,
    num_actions,
    num_players,
    num_recalled,
)
from foglight.state import State

RENDER_MODES = ("ansi", "human")
_LARGEST = 2.0  # of the features of a native game, see `sight_features`
_ILLEGAL = -1.0  # the reward for an illegal action in a game whose payoffs have no known bound


class GameEnv(AECEnv[str, Any, Any]):
    """One game by PettingZoo's protocol, with agents `seat_0`, `seat_1` and so on."""

    def __init__(
        self,
        game: str | Game,
        opponents: Mapping[int, AgentLike] | None = None,
        *,
        seed: int = 0,
        recall: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.game: Any = load_game(game)
        seats, opponents = int(num_players(self.game)), opponents or {}
        _check(self.game, seats, opponents, recall, render_mode)
        self.metadata = {"name": str(self.game), "render_modes": list(RENDER_MODES), "is_parallelizable": False}
        self.render_mode = render_mode
        self.possible_agents = [seat_name(seat) for seat in range(seats) if seat not in opponents]
        self.agents: list[str] = []
        self._opponents = {seat: load_agent(agent) for seat, agent in opponents.items()}
        self._made = [self._opponents[seat] for seat, agent in opponents.items() if not isinstance(agent, Agent)]
        for agent in self._opponents.values():
            agent.check(self.game)
            if agent.at_terminal:
                raise BadInput(
                    f"{agent} needs somebody at the terminal; give another opponent, or step its seat yourself"
                )
        recall = int(num_recalled(self.game)) if recall is None else recall
        size = observation_size(self.game, recall)
        self._rows = new_rows(self.game, 1, recall)
        self._out = new_outputs(self.game, 1, masks=True, seats=seats, size=size)
        self._nobody = np.zeros(int(num_actions(self.game)), np.int8)
        largest = _LARGEST if isinstance(self.game, tuple) else np.inf  # OpenSpiel's tensors have any numbers
        self._observation_space = spaces.Dict(
            {
                "observation": spaces.Box(-largest, largest, (size,), np.float32),
                "action_mask": spaces.Box(0, 1, self._nobody.shape, np.int8),
            }
        )
        self._action_spaces = {agent: spaces.Discrete(len(self._nobody)) for agent in self.possible_agents}
        self._seed, self._number = seed, -1
        self._illegal = False  # whether an illegal action has ended the game

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """A vector, and the mask of legal actions; the same for every seat."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """All actions of the game, each seat's own object; the mask says which are legal."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game: with a seed the first one of that seed, otherwise the next one."""
        self._seed, self._number = (self._seed, self._number + 1) if seed is None else (seed, 0)
        self._rows.random[:] = generator(self._seed, self._number, 0)
        self._story = _Story(self.game, generator(self._seed, self._number, 0))
        self._seats = [
            Seat(agent, self.game, seat, int(generator(self._seed, self._number, 1 + seat)[0]))
            for seat, agent in self._opponents.items()
        ]
        self._illegal = False
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._turn(BEGIN)
        self._answer()

    def step(self, action: Any) -> None:
        """Play an action of the agent that is to move; an illegal one ends the game, and its seat alone pays."""
        if not self.agents:
            raise BadInput("there is no game to play; call reset() first")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        played = self._whole_number(action)
        self._cumulative_rewards[agent] = 0.0
        if not self._out.masks[0, played]:
            self._refuse(agent, played)
        else:
            self._story.actions.append(played)
            self._turn(played)
            self._answer()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What a seat sees, and its legal actions: none while another is to move."""
        seat = self._seat(agent)
        return {
            "observation": self._out.observations[0, seat].copy(),
            "action_mask": self._mask() if self._out.movers[0] == seat and not self._illegal else self._nobody.copy(),
        }

    def state(self) -> np.ndarray:
        """What all seats see, one after the other, for learners with a critic that may know everything."""
        return self._out.observations[0].ravel().copy()

    def render(self) -> str | None:
        """What the agent that is to move sees, as text; printed in the mode `human`."""
        if self.render_mode is None:
            gymnasium.logger.warn("nothing is rendered; make the environment with render_mode='ansi' or 'human'")
            return None
        shown = self._text()
        if self.render_mode == "ansi":
            return shown
        print(shown)  # noqa: T201  # the mode `human` is for people at a terminal
        return None

    def position(self) -> State:
        """The true position, all of it, for people and tests."""
        if self._number < 0:
            raise BadInput("there is no position yet; call reset() first")
        return self._story.state()

    def close(self) -> None:
        """Close the opponents that were made here."""
        for agent in self._made:
            agent.close()

    def _turn(self, action: int) -> None:
        """Play an action, or begin; then chance. Rewards follow if that ends the game."""
        take_turns(self.game, self._rows, self._out, np.array([action]), 1, False, np.zeros(num_players(self.game)))
        mover = int(self._out.movers[0])
        if mover != TERMINAL:
            name = seat_name(mover)
            self.agent_selection = name if name in self.agents else self.agent_selection
            return
        payoffs = self._out.rewards[0].tolist()
        if action == BEGIN:  # the game has ended before anybody could decide anything
            payoffs = self._story.state().returns()
        self._end({agent: payoffs[self._seat(agent)] for agent in self.agents})

    def _answer(self) -> None:
        """Let opponents play as long as they are to move."""
        while (mover := int(self._out.movers[0])) in self._opponents:
            state = self._story.state()
            for seat in self._seats:
                seat.tell(state.observations(seat.number))
            action = int(self._opponents[mover].act(state.actions()))
            if not (0 <= action < len(self._nobody) and self._out.masks[0, action]):
                raise BadInput(
                    f"the opponent on seat {mover} played {action}, where only {listed(state.actions())} are legal"
                )
            self._story.actions.append(action)
            self._turn(action)

    def _end(self, rewards: dict[str, float]) -> None:
        self.rewards = rewards
        self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self._deads_step_first()

    def _refuse(self, agent: str, action: int) -> None:
        """End the game because of an illegal action, as PettingZoo's environments do."""
        low = bounds(self.game).low
        reward = float(low) if np.isfinite(low) else _ILLEGAL
        allowed = listed(np.flatnonzero(self._mask()).tolist())
        gymnasium.logger.warn(
            f"{agent} played {action}, which is not legal here; legal are {allowed}. "
            f"The game is over, and {agent} gets {reward:g}. Choose by observation['action_mask']."
        )
        self._illegal = True
        self._end({one: reward if one == agent else 0.0 for one in self.agents})

    def _mask(self) -> np.ndarray:
        return self._out.masks[0].astype(np.int8)

    def _whole_number(self, action: Any) -> int:
        actions = len(self._nobody)
        if not isinstance(action, int | np.integer) or not 0 <= action < actions:
            raise BadInput(f"{self.agent_selection} is to move: give an action from 0 to {actions - 1}, not {action!r}")
        return int(action)

    def _seat(self, agent: str) -> int:
        if agent not in self.possible_agents:
            raise BadInput(f"there is no agent {agent!r}; there are {', '.join(self.possible_agents)}")
        return int(agent.removeprefix("seat_"))

    def _text(self) -> str:
        state, seat = self.position(), self._seat(self.agent_selection)
        if self._illegal:
            end = "an illegal action has ended the game"
        elif state.player == TERMINAL:
            end = f"the game is over, returns {', '.join(f'{payoff:g}' for payoff in state.returns())}"
        else:
            end = f"{self.agent_selection} to move"
        return f"{state.information(seat)}\n{end}"

    def __repr__(self) -> str:
        return f"<GameEnv: {self.game}, agents {', '.join(self.possible_agents)}>"


class _Story:
    """The game so far as a `State`, for text and opponents; made when it is asked for, by the same draws of chance."""

    def __init__(self, game: Game, random: np.ndarray) -> None:
        self.actions: list[int] = []  # of seats
        self._game, self._random, self._told = game, random, 0
        self._state: State | None = None

    def state(self) -> State:
        """The state after all actions so far."""
        state = self._state = self._state or State(self._game)
        room = np.empty(max_legal(self._game), np.int64), np.empty(max_legal(self._game))
        while state.player == CHANCE or self._told < len(self.actions):
            if state.player == CHANCE:
                state.play(int(deal(self._game, state.world, self._random, *room)))
            else:
                state.play(self.actions[self._told])
                self._told += 1
        return state


def seat_name(seat: int) -> str:
    """The name of a seat among PettingZoo's agents."""
    return f"seat_{seat}"


def _check(
    game: Game, seats: int, opponents: Mapping[int, AgentLike], recall: int | None, render_mode: str | None
) -> None:
    wrong = [seat for seat in opponents if not isinstance(seat, int) or not 0 <= seat < seats]
    if wrong:
        raise BadInput(f"{game} has no seat {wrong[0]!r}; opponents sit on seats from 0 to {seats - 1}")
    if len(opponents) == seats:
        raise BadInput(f"all {seats} seats have opponents, and none is left to learn; leave one out")
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise BadInput(f"render_mode must be 'ansi', 'human' or None, not {render_mode!r}")
    check_recall(recall)
