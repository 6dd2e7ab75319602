"""Agents: one file each, found by name. An agent gets observations, never a state."""

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np

from foglight.addresses import AGENTS, named_class, names_of, spec_of, text_of
from foglight.games import load_game
from foglight.names import BadInput, Spec, construct, listed, parse_spec
from foglight.randomness import fold
from foglight.rules import Game
from foglight.text import html_table
from foglight.worlds.consistent import legal_actions


@dataclass
class Explanation:
    """The result of `agent.explain()`: the last action of an agent and the facts it was chosen by.

    >>> state = fl.new_state("kuhn_poker")
    >>> for action in (0, 1):  # the jack for seat 0, the queen for seat 1
    ...     state.play(action)
    >>> agent = fl.load_agent("pimc(iterations=40)")
    >>> seat = fl.Seat(agent, state.game, 0, seed=0, observations=state.observations(0))
    >>> action = agent.act(state.actions())
    >>> why = agent.explain()
    >>> why.action == action, why.actions, why.visits, why.worlds, why.exact
    (True, [0, 1], [20, 20], 2, True)
    """

    action: int  # the action played
    actions: list[int]  # all legal actions
    values: list[float] = field(default_factory=list)  # by action: the expected payoff to the seat; nan if unknown
    visits: list[int] = field(default_factory=list)  # by action: how often the search tried it
    worlds: int = 0  # number of worlds in the belief
    exact: bool = False  # whether the belief holds every possible world
    iterations: int = 0  # of the search
    seconds: float = 0.0  # of thinking
    notes: dict[str, Any] = field(default_factory=dict)  # the agent's own facts, by name

    def __post_init__(self) -> None:
        self.values = self.values or [math.nan] * len(self.actions)
        self.visits = self.visits or [0] * len(self.actions)

    def __repr__(self) -> str:
        worth = self.values[self.actions.index(self.action)]
        parts = [f"action {self.action} of {listed(self.actions)}"]
        if not math.isnan(worth):
            parts.append(f"value {worth:+.3f}")
        if self.worlds:
            parts.append(f"{self.worlds:,} worlds, {'all there are' if self.exact else 'a sample'}")
        if self.iterations:
            parts.append(f"{self.iterations:,} iterations")
        return f"<Explanation: {'; '.join([*parts, f'{1000 * self.seconds:,.1f} ms'])}>"

    def _repr_html_(self) -> str:
        columns = (self.actions, self.values, self.visits)
        rows = [
            {"action": action, "value": f"{value:+.3f}", "visits": f"{visits:,}"}
            for action, value, visits in zip(*columns, strict=True)
        ]
        return html_table(rows, repr(self)[1:-1])


@dataclass(frozen=True)
class View:
    """The text that a person on a seat may read when it is to move; it reveals no more than the seat's observations."""

    information: str  # the information state: what the seat sees, and all observations
    sight: str  # what the seat sees
    choices: Mapping[int, Sequence[str]]  # the names of the legal actions
    log: Sequence[str]  # the observations so far, in words
    why_not: Callable[[str], str]  # from the name of an action that is not legal to the reason, empty if unknown


class Agent:
    """A player: it gets the observations of its seat and is asked for actions.

    Its actions depend only on the game, the seat, the seed and the observations, so another instance that gets the same
    observations plays on in the same way. An agent that `remembers` keeps what it has found at earlier decisions of the
    game. Another instance plays on in the same way if it is also asked for an action at each of these, before it
    observes which one was played; a caller that knows the observations alone gets an agent that starts afresh. Asked
    twice at one decision, such an agent answers the same and learns nothing more, unless its budget is in seconds.

    A subclass implements `act`; everything else has a default. By default an agent plays every game, has no time
    budget, starts no other program, needs no terminal, remembers no searches and explains nothing.

        >>> class Highest(fl.Agent):
        ...     def act(self, actions=None):
        ...         return max(actions or self.legal_actions())
        >>> record, state = fl.play_game("kuhn_poker", [Highest(), fl.load_agent("first_legal")], seed=0)
        >>> state.history()[2:], record.returns  # a bet, and a pass to it
        ([1, 0], (1.0, -1.0))
    """

    name: str = ""  # in tables and stores; by default the text of the agent, with the options that are not defaults
    time: float = 0.0  # budget per move in seconds; 0: no time budget
    iterations: int = 0  # budget per move in iterations; 0: the agent's default, if it has iterations
    seconds_left: float = math.inf  # for the rest of the game; a caller that keeps such a clock sets it before `act`
    threads: int = 1  # that it keeps busy while it decides; a cluster gives its worker so many cores
    memory_bytes: int = 0  # that it needs besides what every process needs; a cluster chooses machines by it
    at_terminal: bool = False  # whether it needs a person at the terminal; if so, `read` is called before `act`
    gives_reasons: bool = False  # whether each `act` leaves an `explanation`
    explanation: Explanation | None = None  # of the last action
    remembers: bool = False  # whether a decision also depends on searches at earlier decisions
    strength: str = ""  # how strong it is, in a few words, for people who choose an opponent
    can_stop: bool = False  # whether a decision with a time budget asks `stopped`, and ends early if it says so
    stopped: Callable[[], bool] = staticmethod(lambda: False)  # set by a caller that may want the answer before time

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Agent.__repr__  # type: ignore[method-assign]  # else @dataclass would write one of its own

    def __repr__(self) -> str:
        """`Epimc(depth=3,subgame=cfr+)`: the options that differ from their defaults, as people write them."""
        name = type(self).__name__
        try:
            options = spec_of(self).arguments
        except BadInput:  # it does not keep its options
            return f"{name}(...)"
        return str(Spec(name, options)) if options else f"{name}()"

    def check(self, game: Game) -> None:
        """Raise a BadInput that says why, if the agent cannot play this game."""

    def start(self, game: str | Game, seat: int, seed: int) -> None:
        """Begin a new game on this seat."""
        self.game = load_game(game)
        self.check(self.game)
        self.seat = seat
        self.seed = seed
        self.observations: list[int] = []
        self.seconds_left = math.inf
        self.explanation = None
        self._hash = 0

    def observe(self, observation: int) -> None:
        """Take the next observation of the seat; the seat's own actions are part of its observations."""
        self.observations.append(observation)
        self._hash = fold(self._hash, observation)

    def read(self, view: "View") -> None:
        """Take what a person on the seat is shown; called before each `act` of an agent that is `at_terminal`."""

    def act(self, actions: Sequence[int] | None = None) -> int:
        """The action to play. The referee passes the legal actions; the observations determine them, too."""
        raise NotImplementedError

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        """The probability of each legal action at this decision; by default 1 for the action of `act`."""
        actions = actions or self.legal_actions()
        choice = self.act(actions)
        return np.array([float(action == choice) for action in actions])

    def exact_policy(self, game: Game) -> Any:
        """The policy that the agent plays, if that is known exactly: one of `foglight.policies`; None if it is not."""
        return None

    def explain(self) -> Explanation:
        """The explanation of the last action."""
        if not self.gives_reasons:
            raise BadInput(f"{type(self).__name__} does not say why it plays what it plays; ask an agent that searches")
        if self.explanation is None:
            raise BadInput("nothing has been played yet, so there is nothing to explain")
        return self.explanation

    def fusion(self) -> tuple[int, int] | None:
        """Strategy fusion below the last decision, or None if the agent cannot tell.

        The first number counts the information states with strategy fusion, the second all that were looked at.
        """
        return None

    def close(self) -> None:
        """End other programs that the agent has started, such as a chess engine.

        The caller that made the agent closes it. A closed agent may play again, and then restarts what it needs.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def options(cls) -> list[str]:
        """The names of the agent's options, in the order of positional arguments."""
        return list(inspect.signature(cls).parameters)

    def __str__(self) -> str:
        return self.name or text_of(self)

    @property
    def key(self) -> int:
        """The key of the information state; in a native game it equals the seat's key in the worlds."""
        return fold(self._hash, self.seat)

    def legal_actions(self) -> list[int]:
        """The legal actions, derived from the observations; for callers that do not pass them to `act`."""
        return legal_actions(self.game, self.observations, self.seat)

    def random(self) -> np.ndarray:
        """A random generator for this decision; it depends only on the seed and the information state."""
        return np.array([fold(self.key, self.seed)], np.uint64)


AgentLike: TypeAlias = str | Spec | type[Agent] | Agent  # whatever `load_agent` takes


Decision: TypeAlias = tuple[int, Sequence[int]]  # of one seat: how many observations came before, the legal actions


class Seat:
    """A seat of a game with an agent on it; it passes the observations of the seat to the agent.

    `observations` are all observations of the seat so far; `seed` is the agent's seed. `decisions` are those of the
    seat so far, `state.decisions(seat)`. An agent that remembers, with a budget in iterations, is asked at each of them
    on the way. Without decisions it starts afresh.

        >>> state = fl.new_state("kuhn_poker")
        >>> for action in (2, 0, 1):  # the king, the jack, a bet
        ...     state.play(action)
        >>> agent = fl.load_agent("first_legal")
        >>> seat = fl.Seat(agent, state.game, 1, seed=0, observations=state.observations(1))
        >>> agent.act()  # it knows that it may pass or bet
        0
        >>> state.play(0)
        >>> seat.tell(state.observations(1))  # only what is new
        >>> agent.observations == state.observations(1)
        True
    """

    def __init__(
        self,
        agent: Agent,
        game: Game,
        number: int,
        seed: int,
        observations: Sequence[int] = (),
        decisions: Sequence[Decision] = (),
    ) -> None:
        self.agent, self.number = agent, number
        self.observations: Sequence[int] = ()  # those that the agent has got
        agent.start(game, number, seed)
        self.tell(observations, decisions)

    def tell(self, observations: Sequence[int], decisions: Sequence[Decision] = ()) -> None:
        """Pass new observations to the agent; both arguments are all of the seat's so far."""
        choices = dict(decisions) if self.agent.remembers and not self.agent.time else {}
        for at in range(len(self.observations), len(observations)):
            if at in choices:
                self.agent.act(list(choices[at]))
            self.agent.observe(observations[at])
        self.observations = observations


def seated(agent: Agent, state: Any, number: int, seed: int) -> Seat:
    """A seat at the position of a `State`, with an agent that has got the seat's observations, and remembers."""
    decisions = state.decisions(number) if agent.remembers else ()
    return Seat(agent, state.game, number, seed, state.observations(number), decisions)


def agent_names() -> list[str]:
    """The names of the agents, ascending: the native ones, and those that installed packages offer.

    >>> [name for name in fl.agent_names() if "mc" in name]
    ['epimc', 'iimc', 'ismcts', 'pimc']
    """
    return names_of(AGENTS)


def agent_class(name: str) -> type[Agent]:
    """The class of the agent of that name or address."""
    made = named_class(AGENTS, name)
    if not issubclass(made, Agent):
        raise BadInput(f"{name} is no agent; an agent is a subclass of foglight.Agent")
    return made


def load_agent(agent: AgentLike) -> Agent:
    """The agent described by a text such as `epimc(depth=3)`, a class of agents, or an agent; options are checked.

    A class of your own may be named by its address, `package.module:Class(options)`. An instance is returned as it is.
    The options `time`, in seconds per decision, and `iterations` are common to most agents. `foglight agents` lists all
    options. Close an agent that may have started an engine, by `close()` or by a `with` statement.

        >>> with fl.load_agent("epimc(depth=3,time=0.1)") as agent:
        ...     agent.depth, agent.time
        (3, 0.1)
        >>> fl.load_agent("epimk")
        Traceback (most recent call last):
        foglight.names.BadInput: unknown agent 'epimk'; did you mean 'epimc'?
    """
    if isinstance(agent, Agent):
        _check_act(type(agent))
        return agent
    if isinstance(agent, type) and issubclass(agent, Agent):
        _check_act(agent)
        return construct(agent, Spec(agent.__name__))
    if not isinstance(agent, str | Spec):
        raise BadInput(f"{agent!r} is no agent; give its text, such as 'epimc', a subclass of Agent or an instance")
    spec = parse_spec(agent) if isinstance(agent, str) else agent
    made = agent_class(spec.name)
    _check_act(made)
    return construct(made, spec)


def _check_act(made: type[Agent]) -> None:
    """Refuse a class whose agents cannot be asked for an action."""
    if made.act is Agent.act:
        raise BadInput(f"{made.__name__} does not say how it acts; write: def act(self, actions=None)")
    try:
        inspect.signature(made.act).bind(None, [])
    except TypeError:
        raise BadInput(
            f"{made.__name__}.act cannot be given the legal actions; write: def act(self, actions=None)"
        ) from None


@dataclass(frozen=True)
class Another:
    """The limits of an option that names another agent."""

    def __str__(self) -> str:
        return "an agent, such as ismcts(iterations=1000), or none"

    def check(self, kind: type, value: Any) -> Any:
        if value in ("", "none"):
            return ""
        if not isinstance(value, str | Spec):
            raise BadInput(f"must be {self}, not {value}")
        with load_agent(value) as agent:  # refuses what is no agent
            if agent.at_terminal:
                raise BadInput(f"{value} needs somebody at the terminal; give another agent")
        return value


@contextlib.contextmanager
def opened(agents: Sequence[AgentLike]) -> Iterator[list[Agent]]:
    """Agents for the time of a `with` statement. Those that are made here are closed at its end.

    Instances are not closed: that is left to the caller that made them.
    """
    with contextlib.ExitStack() as stack:
        yield [agent if isinstance(agent, Agent) else stack.enter_context(load_agent(agent)) for agent in agents]
