"""`fl.check_agent`: whether an agent plays by what its seat has observed, and by nothing else.

At the decisions of random games the agent is asked in several ways: as a player who has been there from the start, as
a new one to whom the observations are replayed, with other global random numbers, with another true world behind the
same observations, and without being told what is legal. The answers must be the same.
"""

import contextlib
import copy
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from foglight.agents import Agent, Seat, load_agent, seated
from foglight.arena.referee import IllegalAction, Timing, _ask, warm_up
from foglight.checks.alike import some_alike
from foglight.checks.positions import Play, Position, where
from foglight.checks.report import Checks
from foglight.compile import is_compiled
from foglight.games import load_game
from foglight.names import BadInput, failure
from foglight.rules import TERMINAL, Game
from foglight.state import State, replay
from foglight.worlds.filter import history_filter

Progress = Callable[[int, int], None]  # called with the games done and the games in total

_LISTED = 20_000  # worlds up to which an agent is asked without being told what is legal
_REPRODUCIBLE = ("reproducible", "global random numbers", "replayed observations", "a new game", "hidden worlds")


class _Different(Exception):
    """An answer breaks a property."""

    def __init__(self, name: str, sentence: str) -> None:
        self.property, self.sentence = name, sentence


def check_agent(
    agent: Any,
    game: Game,
    *,
    games: int = 4,
    seconds: float = 10.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Checks:
    """Check what every agent owes: legal actions, and that they follow from game, seat, seed and observations alone.

    `agent` is a text, a class or an instance; of an instance, copies play. It sits on each seat in turn of `games`
    random games, and the check stops after about `seconds`, without the time for compilation. Whether an agent with a
    time budget is reproducible cannot be checked.

        >>> class Eager(fl.Agent):
        ...     def act(self, actions=None):
        ...         return 7
        >>> fl.check_agent("first_legal", "kuhn_poker").ok
        True
        >>> fl.check_agent(Eager, "kuhn_poker").faults[0].sentence
        'Eager plays 7 after deal queen (1), deal king (2), where only [0, 1] are legal'
    """
    loaded = load_game(game)
    for name, value, low in (("games", games, 1), ("seed", seed, 0)):
        if type(value) is not int or value < low:
            raise BadInput(f"{name} must be a whole number of at least {low}, not {value!r}")
    make = _maker(agent)
    with make() as first:
        if first.at_terminal:
            raise BadInput(f"{type(first).__name__} needs somebody at the terminal, and cannot be checked")
        first.check(loaded)
        run = _Run(make, first, loaded, seed)
        with _global_randomness_kept():
            run.warm_up()
            end = time.monotonic() + seconds
            for number in range(games):
                for seat in range(run.play.seats):
                    run.one_game(number, seat, end)
                if progress is not None:
                    progress(number + 1, games)
                if time.monotonic() > end:
                    break
    return run.checks


def _maker(agent: Any) -> Callable[[], Agent]:
    """A function that makes new agents of this kind."""
    if not isinstance(agent, Agent):
        return lambda: load_agent(agent)
    try:
        untouched = copy.deepcopy(agent)
    except Exception as error:
        raise BadInput(f"{type(agent).__name__} cannot be copied ({error}); give its class or its text") from None
    return lambda: copy.deepcopy(untouched)


@contextlib.contextmanager
def _global_randomness_kept() -> Iterator[None]:
    """Give the caller's global random numbers back as they were."""
    states = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


class _Run:
    """One check of an agent: one instance that plays all games, and new ones beside it."""

    def __init__(self, make: Callable[[], Agent], lasting: Agent, game: Game, seed: int) -> None:
        self.make, self.lasting, self.game, self.seed = make, lasting, game, seed
        self.name = lasting.name or type(lasting).__name__
        self.checks = Checks(f"{self.name} in {game}")
        self.play = Play(game, is_compiled(game))
        self.rng = random.Random(seed)
        self.played = 0  # games that the lasting agent has played
        self.timed = bool(lasting.time)
        if self.timed:
            why = "the agent has a time budget, so its answers depend on the clock; give it iterations to check this"
            self.checks.skipped = dict.fromkeys(_REPRODUCIBLE, why)

    def warm_up(self) -> None:
        """Let a new agent decide on each seat, so that compilation does not count as time of the check."""
        with contextlib.ExitStack() as stack, contextlib.suppress(Exception):  # what fails, fails again in a check
            warm_up(self.game, [stack.enter_context(self.make()) for _ in range(self.play.seats)])

    def one_game(self, number: int, seat: int, end: float) -> None:
        """A random game, in which the agent is asked at each of its decisions; its answers are played."""
        seed = 1000 * self.seed + number
        position = self.play.start()
        told = Seat(self.lasting, self.game, seat, seed)
        while position.mover != TERMINAL and time.monotonic() < end:
            told.tell(position.seen_by(seat))
            if position.mover == seat:
                try:
                    action = self.decision(position, seat, seed)
                except _Different as different:
                    place = where(self.game, position)
                    self.checks.add(different.property, f"{different.sentence} {place}", position.history)
                    return
                except IllegalAction as illegal:
                    said = str(illegal).split(" played ", 1)[1].split(" after ", 1)[0]
                    only = str(illegal).rpartition("where ")[2]
                    sentence = f"{self.name} plays {said} {where(self.game, position)}, where {only}"
                    self.checks.add("legal actions", sentence, position.history)
                    return
            else:
                action = self.rng.choice(position.actions)
            position = self.play.after(position, action)
        self.played += 1

    def decision(self, position: Position, seat: int, seed: int) -> int:
        """Ask in several ways; the action of the agent that has played from the start."""
        state = replay(self.game, position.history)
        _seed_globally(1)
        action = self._answer(self.lasting, state)
        self.checks.count("legal actions")
        if not self.timed:
            self._ask_others(position, state, seat, seed, action)
        self._probabilities(state, seat, seed, action)
        return action

    def _answer(self, agent: Agent, state: State, actions: list[int] | None = None) -> int:
        try:
            if actions is None:
                return _ask(agent, state, Timing())  # as the referee does, who has the true state at hand
            return int(agent.act(actions))
        except (IllegalAction, BadInput):
            raise
        except Exception as error:
            raise _Different("running", f"{self.name} fails with {failure(error)},") from error

    def _new(self, state: State, seat: int, seed: int, randomness: int) -> Agent:
        """Another instance, to which the observations are replayed."""
        _seed_globally(randomness)
        agent = self.make()
        seated(agent, state, seat, seed)
        return agent

    def _ask_others(self, position: Position, state: State, seat: int, seed: int, action: int) -> None:
        def answer(randomness: int, world: State = state) -> int:
            with self._new(world, seat, seed, randomness) as agent:
                _seed_globally(randomness)
                return self._answer(agent, world)

        one, two, others = answer(1), answer(1), (answer(2), answer(3))
        self._same("reproducible", one, two, "in another instance with the same seed and observations,")
        for other in others:
            self._same("global random numbers", one, other, "with other global random numbers; use self.random(),")
        if self.played == 0:
            what = "in a new instance that got the same observations; keep count in `observe`, not in `act`,"
            self._same("replayed observations", action, one, what)
        else:
            self._same("a new game", action, one, "in a new instance that has played no games before,")
        for alike in some_alike(self.play, position, seat, self.rng, trials=4):
            hidden = answer(1, replay(self.game, alike.history))
            world = f"in a true world that it cannot tell from this one ({where(self.game, alike)}): it peeks,"
            self._same("hidden worlds", one, hidden, world)
        if self._few_worlds(state, seat):
            with self._new(state, seat, seed, 1) as agent:
                _seed_globally(1)
                untold = self._untold(agent)
            self._same("legal actions untold", one, untold, "when it is not told what is legal")

    def _untold(self, agent: Agent) -> int:
        try:
            return int(agent.act())
        except Exception as error:
            what = f"{self.name} fails with {failure(error)}, when it is not told what is legal; use "
            raise _Different("legal actions untold", f"{what}`actions or self.legal_actions()`,") from error

    def _few_worlds(self, state: State, seat: int) -> bool:
        """Whether the legal actions can be worked out in reasonable time."""
        try:
            return history_filter(self.game, state.observations(seat), seat, method="layers", limit=_LISTED).exists()
        except BadInput:
            return False

    def _same(self, name: str, one: int, other: int, when: str) -> None:
        self.checks.count(name)
        if one != other:
            raise _Different(name, f"{self.name} plays {one}, and {other} {when}")

    def _probabilities(self, state: State, seat: int, seed: int, action: int) -> None:
        with self._new(state, seat, seed, 1) as agent:
            _seed_globally(1)
            actions = state.actions()
            given = list(actions)
            try:
                shares = agent.probabilities(given)
                odds: Sequence[float] = [float(share) for share in shares]
            except BadInput:
                raise
            except Exception as error:
                said = f"`probabilities` of {self.name} fails with {failure(error)},"
                raise _Different("probabilities", said) from error
        self.checks.count("probabilities")
        if len(odds) != len(actions):
            said = f"{self.name} gives {len(odds)} probabilities for {len(actions)} actions"
            raise _Different("probabilities", said)
        if not all(share >= 0.0 for share in odds) or abs(sum(odds) - 1.0) > 1e-6:
            said = f"the probabilities of {self.name}, {odds}, are not numbers from 0 on that sum to 1,"
            raise _Different("probabilities", said)
        if not self.timed and odds[actions.index(action)] == 0.0:
            raise _Different("probabilities", f"{self.name} plays {action}, to which it gives the probability 0,")


def _seed_globally(number: int) -> None:
    """Set the global random numbers, which no agent should use."""
    random.seed(number)
    np.random.seed(number)
