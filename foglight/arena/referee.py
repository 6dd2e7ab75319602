"""The referee: the only holder of the true world. It passes observations to agents and asks them for actions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foglight.agents import Agent, Seat, View, seated
from foglight.names import BadInput, note
from foglight.randomness import below, generator, weighted
from foglight.rules import CHANCE, TERMINAL, Game
from foglight.state import State

LONGEST = 200_000  # actions after which a game counts as one that never ends


class IllegalAction(RuntimeError):
    """An agent has played an illegal action; the message says which agent, when, and what is legal.

    >>> class Cheat(fl.Agent):
    ...     def act(self, actions=None):
    ...         return 7
    >>> fl.play_game("kuhn_poker", [Cheat(), Cheat()], seed=0)
    Traceback (most recent call last):
    foglight.arena.referee.IllegalAction: Cheat on seat 0 played 7 after 2 actions, where only [0, 1] are legal
    """


@dataclass
class Timing:
    """The thinking time of one seat: the seconds spent inside `act`. Time spent inside `observe` is not counted.

    An overrun is a move that took longer than 1.2 times the budget plus 5 ms.

        >>> timing = fl.Timing()
        >>> timing.add(seconds=0.25, budget=0.1)
        >>> timing.summary()
        {'moves': 1, 'mean_ms': 250.0, 'longest_ms': 250.0, 'overruns': 1}
    """

    moves: int = 0
    seconds: float = 0.0  # over all moves
    longest: float = 0.0  # seconds of the longest move
    overruns: int = 0

    def add(self, seconds: float, budget: float) -> None:
        """Count one more move. A budget of 0 is none, and cannot be overrun."""
        self.moves += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        self.overruns += budget > 0 and seconds > 1.2 * budget + 0.005

    def join(self, other: "Timing") -> None:
        """Add the moves of another Timing to this one."""
        self.moves += other.moves
        self.seconds += other.seconds
        self.longest = max(self.longest, other.longest)
        self.overruns += other.overruns

    def summary(self) -> dict[str, Any]:
        """The counts, and the mean and longest move in milliseconds, as plain data."""
        mean = 1000 * self.seconds / self.moves if self.moves else 0.0
        return {"moves": self.moves, "mean_ms": mean, "longest_ms": 1000 * self.longest, "overruns": self.overruns}


@dataclass(frozen=True)
class Record:
    """One finished game. Records of the same actions and returns are equal, whatever their timing.

    >>> record = fl.play_match("kuhn_poker", ["first_legal", "first_legal"], games=1, seed=0).records[0]
    >>> record == fl.Record(record.returns, record.actions), record.actions[2:]
    (True, (0, 0))
    """

    returns: tuple[float, ...]  # payoffs by seat
    actions: tuple[int, ...]  # outcomes of chance included
    timing: tuple[Timing, ...] = field(default=(), compare=False)  # by seat; empty if it was not measured


def play_game(game: Game, agents: Sequence[Agent], seed: int, number: int = 0) -> tuple[Record, State]:
    """Play one game with an agent on each seat. All random numbers follow from the seed and the game's number.

    The agents are not closed: they may play another game, and the caller closes them.

        >>> agents = [fl.load_agent("first_legal"), fl.load_agent("first_legal")]
        >>> record, state = fl.play_game("kuhn_poker", agents, seed=0)
        >>> state.player == fl.TERMINAL, state.history() == list(record.actions)
        (True, True)
    """
    return Referee(game, agents, seed, number).finish()


class Course:
    """One game in progress without its players: the true state, and nature, which draws the outcomes of chance.

    `actions` are those already played, outcomes of chance included: later outcomes are those of a game that was never
    interrupted.
    """

    def __init__(self, game: Game, seed: int, number: int = 0, actions: Sequence[int] = ()) -> None:
        self.state = State(game)
        self._seed, self._number = seed, number
        self._nature = generator(seed, number, 0)
        for action in actions:
            if self.state.player == CHANCE:
                _outcome(self.state, self._nature)  # drawn again, so that later draws are the same
            self.state.play(action)

    def seed_of(self, seat: int) -> int:
        """The seed of the agent on this seat."""
        return int(generator(self._seed, self._number, 1 + seat)[0])

    def outcome(self) -> int:
        """Draw the outcome of chance, which is to move."""
        return _outcome(self.state, self._nature)


class Referee:
    """One game in progress. `actions` are those already played, outcomes of chance included: the game goes on from
    there exactly as if it had never been interrupted, because agents are restored by their observations, and those that
    remember are asked again at each of their decisions.
    """

    def __init__(
        self, game: Game, agents: Sequence[Agent], seed: int, number: int = 0, actions: Sequence[int] = ()
    ) -> None:
        self.agents = agents
        self._course = Course(game, seed, number, actions)
        self._state = self._course.state
        self._seats = [seated(agent, self._state, i, self._course.seed_of(i)) for i, agent in enumerate(agents)]
        self._timing = [Timing() for _ in agents]

    def finish(self) -> tuple[Record, State]:
        """Play to the end."""
        state, played = self._state, len(self.actions())
        while state.player != TERMINAL:
            if played == LONGEST:
                raise BadInput(f"{state.game} has not ended after {LONGEST:,} actions; foglight check-game says more")
            played += 1
            self.play(self.ask())
        return Record(tuple(state.returns()), tuple(state.history()), tuple(self._timing)), state

    def actions(self) -> list[int]:
        """The actions so far, outcomes of chance included."""
        return self._state.history()

    def ask(self) -> int:
        """The action that the seat to move chooses, or an outcome of chance; it is not played yet."""
        state = self._state
        if state.player == CHANCE:
            return self._course.outcome()
        return _ask(self.agents[state.player], state, self._timing[state.player])

    def play(self, action: int) -> None:
        """Play an action, and pass to every seat what it observes."""
        self._state.play(action)
        _tell(self._seats, self._state)


def warm_up(game: Game, agents: Sequence[Agent | None]) -> None:
    """Let each agent decide in a game that is not recorded, so that its kernels are compiled and loaded.

    An agent that remembers decides twice: the second time it begins with what it remembers, by other kernels. All moves
    of this game are random. A seat without an agent, or that never has a choice in it, is not asked.
    """
    state = State(game)
    random = generator(0, 0, 0)
    seats = [Seat(agent, state.game, i, 0) for i, agent in enumerate(agents) if agent is not None]
    crew = {seat.number: seat.agent for seat in seats}
    left = {number: 2 if agent.remembers else 1 for number, agent in crew.items()}  # decisions
    while any(left.values()) and state.player != TERMINAL:
        if state.player == CHANCE:
            action = _outcome(state, random)
        else:
            actions, mover = state.actions(), state.player
            if left.get(mover) and len(actions) > 1:
                crew[mover].act(list(actions))
                left[mover] -= 1
            action = actions[below(random, len(actions))]
        state.play(action)
        _tell(seats, state)


def _outcome(state: State, random: Any) -> int:
    outcomes = state.chance()
    return outcomes[weighted(random, [odds for _, odds in outcomes], len(outcomes))][0]


def _tell(seats: Sequence[Seat], state: State) -> None:
    for seat in seats:
        seat.tell(state.observations(seat.number))


def _ask(agent: Agent, state: State, timing: Timing) -> int:
    actions = state.actions()
    if agent.at_terminal:
        seat = state.player
        agent.read(View(state.information(seat), state.sight(seat), state.choices(), state.log(seat), state.why_not))
    options = list(actions)  # a copy, which the agent may change
    begin = time.perf_counter()
    try:
        action = agent.act(options)
    except Exception as error:
        note(error, f"{type(agent).__name__} fails on seat {state.player} after {len(state.history())} actions")
        raise
    timing.add(time.perf_counter() - begin, agent.time)
    if action not in actions:
        raise IllegalAction(
            f"{type(agent).__name__} on seat {state.player} played {action!r} after {len(state.history())} actions, "
            f"where only {actions} are legal"
        )
    return int(action)
