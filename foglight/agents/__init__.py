"""Agents: one file each, found by name. An agent gets observations and never a state."""

import contextlib
import importlib
import inspect
import math
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from foglight.compile import snake_case
from foglight.games import load_game
from foglight.names import BadInput, Spec, construct, parse_spec, unknown
from foglight.randomness import fold
from foglight.rules import Game
from foglight.worlds.consistent import legal_actions


@dataclass
class Explanation:
    """Why an agent played an action: what `agent.explain()` gives.

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

    action: int
    actions: list[int]  # the legal ones
    values: list[float] = field(default_factory=list)  # by action: the expected payoff to the seat; nan if unknown
    visits: list[int] = field(default_factory=list)  # by action: how often the search tried it
    worlds: int = 0  # how many the decision rests on
    exact: bool = False  # whether these are all worlds there are
    iterations: int = 0
    seconds: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)  # the agent's own facts, by name

    def __post_init__(self) -> None:
        self.values = self.values or [math.nan] * len(self.actions)
        self.visits = self.visits or [0] * len(self.actions)


class Agent:
    """A player: it is told what its seat observes, and asked for an action.

    What it plays depends on the game, the seat, the seed and the observations alone, so that an agent to which the same
    observations are replayed goes on as the first one would. A subclass implements `act`. All else has a default: that
    of an agent for every game, without a clock, an engine or a terminal, that gives no reasons.

        >>> class Highest(fl.Agent):
        ...     def act(self, actions=None):
        ...         return max(actions or self.legal_actions())
        >>> record, state = fl.play_game("kuhn_poker", [Highest(), fl.load_agent("first_legal")], seed=0)
        >>> state.history()[2:], record.returns  # a bet, and a pass to it
        ([1, 0], (1.0, -1.0))
    """

    time: float = 0.0  # seconds that it may think about a move; 0: it does not go by the clock
    iterations: int = 0  # the same budget counted in iterations; 0: it has none of its own
    seconds_left: float = math.inf  # on its clock for the whole game; whoever keeps such a clock sets it before `act`
    at_terminal: bool = False  # whether it needs a person at the terminal; if so, `read` is called before `act`
    gives_reasons: bool = False  # whether each `act` leaves an `explanation`
    explanation: Explanation | None = None  # of the last action

    def check(self, game: Game) -> None:
        """Refuse a game that the agent cannot play: a BadInput with one line that says why."""

    def start(self, game: str | Game, seat: int, seed: int) -> None:
        """A new game begins."""
        self.game = load_game(game)
        self.check(self.game)
        self.seat = seat
        self.seed = seed
        self.observations: list[int] = []
        self.seconds_left = math.inf
        self.explanation = None
        self._hash = 0

    def observe(self, observation: int) -> None:
        """The seat learns something, its own actions included."""
        self.observations.append(observation)
        self._hash = fold(self._hash, observation)

    def read(self, information: str, choices: Mapping[int, Sequence[str]]) -> None:
        """Before each action of an agent at a terminal: the seat's information as text, and the names of actions."""

    def act(self, actions: Sequence[int] | None = None) -> int:
        """The action to play. The referee passes the legal ones, which the observations determine anyway."""
        raise NotImplementedError

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        """How likely each legal action is at this decision; an agent that only acts is sure of what it does."""
        actions = actions or self.legal_actions()
        chosen = self.act(actions)
        return np.array([float(action == chosen) for action in actions])

    def explain(self) -> Explanation:
        """Why the last action was played."""
        if not self.gives_reasons:
            raise BadInput(f"{type(self).__name__} does not say why it plays what it plays; ask an agent that searches")
        if self.explanation is None:
            raise BadInput("nothing has been played yet, so there is nothing to explain")
        return self.explanation

    def fusion(self) -> tuple[int, int] | None:
        """Strategy fusion below the last decision: at how many information states, and of how many; None if unknown."""
        return None

    def close(self) -> None:
        """End what the agent has started, such as an engine. Whoever made the agent calls it; it may play on later."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def options(cls) -> list[str]:
        """The names of its options, in the order in which they may be written."""
        return list(inspect.signature(cls).parameters)

    @property
    def key(self) -> int:
        """The identity of the information state, the same as in the worlds of a native game."""
        return fold(self._hash, self.seat)

    def legal_actions(self) -> list[int]:
        """The legal actions, worked out from the observations, for when nobody says."""
        return legal_actions(self.game, self.observations, self.seat)

    def random(self) -> np.ndarray:
        """This decision's random generator, the same whenever seed and information state are."""
        return np.array([fold(self.key, self.seed)], np.uint64)


class Seat:
    """A seat of a game, and the agent on it, who is told what the seat has observed so far.

    `observations` are all observations of the seat; `seed` is the agent's own.

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

    def __init__(self, agent: Agent, game: Game, number: int, seed: int, observations: Sequence[int] = ()) -> None:
        self.agent, self.number = agent, number
        self.observations: Sequence[int] = ()  # those that the agent has been told
        agent.start(game, number, seed)
        self.tell(observations)

    def tell(self, observations: Sequence[int]) -> None:
        """Tell the agent what is new among all observations of the seat so far."""
        for observation in observations[len(self.observations) :]:
            self.agent.observe(observation)
        self.observations = observations


def agent_names() -> list[str]:
    """The names of the agents, ascending.

    >>> [name for name in fl.agent_names() if "mc" in name]
    ['epimc', 'iimc', 'ismcts', 'pimc']
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def agent_class(name: str) -> type[Agent]:
    """The class of the agent of that name."""
    if name not in agent_names():
        raise BadInput(unknown("agent", name, agent_names()))
    module = importlib.import_module(f"{__name__}.{name}")
    return next(
        value for value in vars(module).values() if isinstance(value, type) and snake_case(value.__name__) == name
    )


def load_agent(agent: str | Spec) -> Agent:
    """The agent of a text such as `epimc(depth=3)`, its options checked.

    Common options: `time`, seconds for each decision, or `iterations`; `docs/search.md` has the others. An agent that
    may have an engine is to be closed, by `close()` or as here.

        >>> with fl.load_agent("epimc(depth=3,time=0.1)") as agent:
        ...     agent.depth, agent.time
        (3, 0.1)
        >>> fl.load_agent("epimk")
        Traceback (most recent call last):
        foglight.names.BadInput: unknown agent 'epimk'; did you mean 'epimc'?
    """
    spec = parse_spec(agent) if isinstance(agent, str) else agent
    loaded = construct(agent_class(spec.name), spec)
    assert isinstance(loaded, Agent)
    return loaded


@contextlib.contextmanager
def opened(agents: Sequence[str | Agent]) -> Iterator[list[Agent]]:
    """Agents for a while: those given as text are loaded, and closed at the end. Who made an instance closes it."""
    with contextlib.ExitStack() as stack:
        yield [agent if isinstance(agent, Agent) else stack.enter_context(load_agent(agent)) for agent in agents]
