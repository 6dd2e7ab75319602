"""The open games of a server, each with the sockets of those who sit at it.

A game goes on by itself: after each action, outcomes of chance and moves of agents follow until a person is to move.
Each action is kept on disk before anybody is shown it. When nobody looks any more, an agent's thinking is ended; it
thinks again, to the same end, when somebody comes back.
"""

import asyncio
import functools
import logging
import secrets
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from foglight.agents import load_agent
from foglight.arena.entrants import entrant, rules_code
from foglight.arena.referee import Record
from foglight.arena.store import Match
from foglight.compile import is_compiled
from foglight.games import load_game
from foglight.names import BadInput, failure
from foglight.version import RESULTS_VERSION
from foglight.web.keeper import Keeper
from foglight.web.messages import message
from foglight.web.offers import HUMAN
from foglight.web.table import Table
from foglight.web.workers import QUICK, SLOW, Failed, Workers

log = logging.getLogger("foglight.web")
_GRACE = 3.0  # seconds after which nobody is expected back, and thinking ends
_COMPILING = 300.0  # seconds that a move may take beyond its budget: kernels may have to be compiled
_WINDOWS = 8  # in which one seat may be open at once
_LATE = 3.0  # seconds beyond an agent's budget after which people are told why they wait
_CLOSED = 500  # games that nobody looks at and that stay in memory


class Socket(Protocol):
    """What a game needs of a socket."""

    def send(self, text: str) -> None: ...


class Sitting:
    """A game in memory, with those who look at it."""

    def __init__(self, number: int, table: Table, keeper: Keeper, workers: Workers) -> None:
        self.number, self.table = number, table
        self._keeper, self._workers = keeper, workers
        self._sockets: dict[Socket, int] = {}  # their seats
        self._shown: dict[Socket, tuple[int, str]] = {}  # what each was shown last: observations seen, and the turn
        # between a person and agents that answer at once, only positions in which the person decides are shown
        self._brisk = list(table.seats).count(HUMAN) == 1 and not any(map(_searches, set(table.seats) - {HUMAN}))
        self._course: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None

    @property
    def deserted(self) -> bool:
        """Whether nobody looks, and nothing goes on."""
        return not self._sockets and (self._course is None or self._course.done())

    def join(self, socket: Socket, seat: int) -> None:
        """Show the game to somebody on this seat, from now on."""
        if list(self._sockets.values()).count(seat) >= _WINDOWS:
            raise BadInput("this seat is open in many windows already; close one of them")
        if self._ending is not None:
            self._ending.cancel()
        self._sockets[socket] = seat
        self.show(socket)
        self.go_on()

    def leave(self, socket: Socket) -> None:
        """Somebody looks no more. If nobody does, thinking ends after a while."""
        self._sockets.pop(socket, None)
        self._shown.pop(socket, None)
        if not self._sockets:
            self._ending = asyncio.get_running_loop().call_later(_GRACE, self.stop)

    def stop(self) -> None:
        """End the thinking of an agent."""
        if self._course is not None:
            self._course.cancel()

    def show(self, socket: Socket) -> None:
        """Send the present position to one socket."""
        seat = self._sockets[socket]
        self._shown[socket] = self.table.seen(seat), self.table.turn(seat)
        socket.send(message(self.table.view(seat)))

    def show_all(self) -> None:
        """Send the present position to those for whom it is new."""
        for socket, seat in list(self._sockets.items()):
            if self._shown.get(socket) != (self.table.seen(seat), self.table.turn(seat)):
                self.show(socket)

    def act(self, seat: int, action: Any, seen: Any) -> None:
        """Play the action of a person, and go on."""
        self.table.act(seat, action, seen)
        self._keep()
        if not self._brisk:
            self.show_all()
        self.go_on()

    def go_on(self) -> None:
        """Let chance and the agents play until a person is to move."""
        if self._course is None or self._course.done() or self._course.cancelling():
            self._course = asyncio.ensure_future(self._go_on())

    async def _go_on(self) -> None:
        table, state = self.table, self.table.state
        try:
            while True:
                if table.play_chance():
                    self._keep()
                if table.over:
                    self._keeper.finish(self.number, table.record(), _code(table.game, table.seats))
                    self.show_all()
                    return
                agent = table.seats[state.player]
                if agent == HUMAN:
                    self.show_all()
                    return
                action = await self._move(agent, state.player)
                table.play(action)
                self._keep()
                if not self._brisk:
                    self.show_all()
        except Exception as error:  # somebody's own game may fail in any way
            known = isinstance(error, BadInput | Failed)
            log.warning("game %d stops: %s", self.number, error if known else failure(error))
            # the reason may rest on what that seat alone knows, so it is for the log
            self._tell("error", "the game cannot go on; the server's log says why")

    def _tell(self, what: str, text: str) -> None:
        """Send a line to all sockets."""
        for socket in list(self._sockets):
            socket.send(message({"is": what, "text": text}))

    async def _move(self, agent: str, seat: int) -> int:
        """The move of an agent. A worker that dies is replaced, and the agent thinks once more."""
        state, budget = self.table.state, _budget(agent)
        seen = state.observations(seat), state.actions(), state.decisions(seat)
        question = (agent, seat, self.table.course.seed_of(seat), *seen)
        late = asyncio.get_running_loop().call_later(budget + _LATE, self._excuse)
        try:
            for again in (True, False):
                try:
                    answer = self._workers.ask(
                        SLOW if _searches(agent) else QUICK,
                        2 * budget + _COMPILING,
                        *("move", self.number, self.table.game, *question),
                        topics=(self.number, (self.table.game, agent)),
                    )
                    return int(await answer)
                except Failed as error:
                    log.warning("game %d: %s", self.number, error)
                    if not again:
                        raise
        finally:
            late.cancel()
        raise AssertionError

    def _excuse(self) -> None:
        self._tell("wait", "still thinking; what a game needs is compiled once, and that may take a minute")

    def _keep(self) -> None:
        self._keeper.save(self.number, self.table.state.history())


class Tables:
    """All games of a server."""

    def __init__(self, keeper: Keeper, workers: Workers, most: int) -> None:
        self._keeper, self._workers, self._most = keeper, workers, most
        self._open: OrderedDict[int, Sitting] = OrderedDict()
        self._known: set[str] = set()  # games whose rules are loaded here
        self._prepared: set[tuple[str, str]] = set()  # games with agents whose kernels are loaded, or will be
        self._preparing: set[asyncio.Task[Any]] = set()

    async def add(self, game: str, seats: Sequence[str]) -> dict[int, str]:
        """Begin a game; the token of each person's seat."""
        await self._load_rules(game)
        _, tokens = self._keeper.add(game, seats, secrets.randbits(62))
        for agent in {who for who in seats if who != HUMAN and _budget(who)}:
            if (game, agent) in self._prepared:
                continue
            self._prepared.add((game, agent))
            self._in_background(self._workers.ask(SLOW, _COMPILING, "prepare", game, [agent], topics=[(game, agent)]))
        return tokens

    def warm(self, games: Sequence[str]) -> None:
        """Compile and load the rules of these games in the background."""

        async def one_by_one() -> None:
            for game in games:
                await self._load_rules(game, SLOW)

        self._in_background(one_by_one())

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._forget)
        self._preparing.add(task)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._preparing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("not prepared: %s", task.exception())

    async def _load_rules(self, game: str, lane: str = QUICK) -> None:
        """Load the rules of a game. A worker compiles them first, so that nobody here waits for that."""
        if game not in self._known:
            await self._workers.ask(lane, _COMPILING, "prepare", game, [])
            await asyncio.to_thread(Table, game, (), 0)
            self._known.add(game)

    async def sitting(self, token: str) -> tuple[Sitting, int]:
        """The game and the seat of a token."""
        number, seat = self._keeper.seat(token)
        if number not in self._open:
            kept = self._keeper.load(number)
            await self._load_rules(kept.game)
        if number not in self._open:  # not opened meanwhile by somebody else
            self._make_room()
            table = Table(kept.game, kept.seats, kept.seed, kept.actions)
            self._open[number] = Sitting(number, table, self._keeper, self._workers)
        self._open.move_to_end(number)
        return self._open[number], seat

    def kept_game(self, token: str) -> tuple[Match, int, Record]:
        """The game of a token, which is over, as a store has it: its match, its number there, its record."""
        number, _ = self._keeper.seat(token)
        table = self._open[number].table
        code = tuple(_code(table.game, table.seats))
        return Match(table.game, table.seats, table.seed, RESULTS_VERSION, code), 0, table.record()

    def _make_room(self) -> None:
        deserted = [number for number, sitting in self._open.items() if sitting.deserted]
        for number in deserted[: max(0, len(deserted) - _CLOSED)]:
            del self._open[number]
        if len(self._open) - len(deserted) >= self._most:
            raise BadInput(f"{self._most} games are being played here; come back when one has ended")

    def close(self) -> None:
        """Stop all thinking."""
        for task in self._preparing:
            task.cancel()
        for sitting in self._open.values():
            sitting.stop()


@functools.cache
def belief_lane(game: str) -> str:
    """The lane for beliefs of a game: those of interpreted games may take long."""
    return QUICK if is_compiled(load_game(game)) else SLOW


@functools.cache
def _searches(agent: str) -> bool:
    """Whether an agent may think for long."""
    with load_agent(agent) as loaded:
        return "time" in loaded.options() or loaded.gives_reasons


@functools.cache
def _budget(agent: str) -> float:
    with load_agent(agent) as loaded:
        return loaded.time


@functools.cache
def _code(game: str, seats: tuple[str, ...]) -> list[str]:
    """The fingerprints of the game and of each seat's agent; a person has none."""
    loaded = load_game(game)
    return [rules_code(loaded), *("" if who == HUMAN else entrant(who, [loaded]).code for who in seats)]
