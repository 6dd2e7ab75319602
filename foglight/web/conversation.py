"""One socket of a seat: what it orders, and what it is answered.

What is sent waits in an outbox, so that nobody waits for a window that does not read.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from foglight.names import BadInput
from foglight.web.guard import MOST_BYTES, Bucket
from foglight.web.messages import message, order, whole
from foglight.web.offers import Offers
from foglight.web.tables import Sitting, belief_lane
from foglight.web.workers import SLOW, Failed, Workers

PATIENCE = 120.0  # seconds for a belief, which may have to be compiled first
_SOON = 2.0  # seconds that a belief may go on when nobody waits for it
_SENDING = 20.0  # seconds after which a socket that takes nothing is given up
_WAITING = 64  # messages to a socket that may wait


class Conversation:
    """A socket and the game that it looks at."""

    def __init__(self, websocket: WebSocket, sitting: Sitting, seat: int, offers: Offers, workers: Workers) -> None:
        self._websocket, self._sitting, self._seat = websocket, sitting, seat
        self._offers, self._workers = offers, workers
        self._bucket = Bucket(50.0, 200.0)
        self._outbox: asyncio.Queue[str] = asyncio.Queue(_WAITING)
        self._running: asyncio.Task[Any] | None = None
        self._given_up = False
        self._advice: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._next_look: Coroutine[Any, Any, None] | None = None

    def send(self, text: str) -> None:
        """Send a text when the socket takes it; a socket for which too much waits is given up."""
        try:
            self._outbox.put_nowait(text)
        except asyncio.QueueFull:
            self._give_up()

    def _give_up(self) -> None:
        if self._running is not None and not self._given_up:
            self._given_up = True
            self._running.cancel()

    async def run(self) -> None:
        """Listen and answer until the socket closes."""
        self._running = asyncio.current_task()
        writer = asyncio.ensure_future(self._write())
        try:
            await self._listen()
        except asyncio.CancelledError:
            if not self._given_up:
                raise
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the socket is gone
        finally:
            self._running = None
            self._sitting.leave(self)
            self._stop()
            writer.cancel()

    async def _write(self) -> None:
        try:
            while True:
                text = await self._outbox.get()
                await asyncio.wait_for(self._websocket.send_text(text), _SENDING)
                self._outbox.task_done()
        except Exception:  # the socket is gone, or takes nothing
            self._give_up()

    async def _listen(self) -> None:
        try:
            self._sitting.join(self, self._seat)
        except BadInput as error:
            await self._websocket.send_text(message({"is": "error", "text": str(error)}))
            await self._websocket.close()
            return
        while True:
            await self._outbox.join()  # who does not read is not listened to
            event = await self._websocket.receive()
            if event["type"] == "websocket.disconnect":
                return
            await self._bucket.wait()
            try:
                self._answer(event.get("text"))
            except BadInput as error:
                self.send(message({"is": "error", "text": str(error)}))
                self._sitting.show(self)

    def _stop(self) -> None:
        if self._advice is not None:
            self._advice.cancel()
        self._replace_look(None)
        if self._looking is not None:  # ending it ends its worker, which others wait for, so it may finish soon
            asyncio.get_running_loop().call_later(_SOON, self._looking.cancel)

    def _answer(self, text: Any) -> None:
        if not isinstance(text, str) or len(text) > MOST_BYTES:
            raise BadInput("an order is a short text")
        given = order(text)
        match given.get("do"):
            case "act":
                self._sitting.act(self._seat, given.get("action"), given.get("seen"))
            case "belief":
                self._look(given, "belief")
            case "world":
                self._look(given, "world", whole(given, "index", 1_000_000))
            case "ask":
                self._ask(given)
            case "stop":
                if self._advice is not None:
                    self._advice.cancel()
            case _:
                raise BadInput("this order is not known")

    def _look(self, given: dict[str, Any], what: str, *more: Any) -> None:
        """Answer with a belief or one of its worlds, one after the other; a newer question replaces one that waits."""
        table = self._sitting.table
        table.check_seen(self._seat, given.get("seen"))
        question = (*table.question(self._seat), *more)
        self._replace_look(self._reply(what, given["seen"], belief_lane(table.game), PATIENCE, *question))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look_on())

    def _replace_look(self, look: Coroutine[Any, Any, None] | None) -> None:
        if self._next_look is not None:
            self._next_look.close()
        self._next_look = look

    async def _look_on(self) -> None:
        while self._next_look is not None:
            look, self._next_look = self._next_look, None
            await look

    def _ask(self, given: dict[str, Any]) -> None:
        """Answer with an agent's advice."""
        table = self._sitting.table
        table.check_seen(self._seat, given.get("seen"))
        if table.turn(self._seat) != "yours":
            raise BadInput("an agent can be asked when it is your turn")
        agent = self._offers.agent(given.get("agent"), given.get("seconds", 1.0), table.game)
        if self._advice is not None:
            self._advice.cancel()
        choices = {action: names[0] for action, names in table.state.choices().items()}
        game, seat, observations, _ = table.question(self._seat)
        question = (game, seat, observations, list(choices), list(choices.values()), agent)
        limit = PATIENCE + 2 * self._offers.most_seconds
        self._advice = asyncio.ensure_future(self._reply("advice", given["seen"], SLOW, limit, *question))

    async def _reply(self, what: str, seen: int, lane: str, limit: float, *question: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            try:
                answer = await self._workers.ask(lane, limit, what, *question)
                content = {"is": what, "seen": seen, **answer}
            except (BadInput, Failed) as error:
                content = {"is": "error", "text": str(error), "about": what}
            self.send(message(content))
