"""The application: what the server answers to the page."""

import asyncio
import contextlib
import gzip
import importlib.util
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from foglight.drawing.svg import stylesheet
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import num_players
from foglight.version import __version__
from foglight.web.guard import MOST_BYTES, Bucket
from foglight.web.keeper import Keeper
from foglight.web.offers import HUMAN, Offers
from foglight.web.replays import Finished
from foglight.web.sharing import game_file
from foglight.web.table import message
from foglight.web.tables import Sitting, Tables
from foglight.web.watching import Pictures, StoredGame, WatchedStore
from foglight.web.workers import QUICK, SLOW, Failed, Workers

log = logging.getLogger("foglight.web")


class Count(IntegerConvertor):
    """A number in a path. Python refuses to read thousands of digits; SQLite, more than 63 bits."""

    regex = "[0-9]{1,18}"


register_url_convertor("count", Count())
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PATIENCE = 120.0  # seconds for a belief, which may have to be compiled first
_SOON = 2.0  # seconds that a belief may go on when nobody waits for it
_SENDING = 20.0  # seconds after which a socket that takes nothing is given up

Handler = Callable[[Request], Awaitable[Response]]


class Conflict(BadInput):
    """Something that is not possible yet."""


class Page:
    """One server's offers, games and workers."""

    tables: Tables

    def __init__(
        self,
        offers: Offers,
        keep: Path,
        workers: Workers,
        *,
        stores: Sequence[WatchedStore] = (),
        pictures: Pictures | None = None,
        most_games: int = 500,
        warm: bool = False,
    ) -> None:
        self.offers, self.workers = offers, workers
        self.stores, self.pictures = stores, pictures or Pictures([])
        self._keep, self._most_games, self._warm = keep, most_games, warm
        self._new_games = Bucket(20.0, 400.0)
        self._questions = Bucket(50.0, 400.0)  # by HTTP that a worker answers

    def application(self) -> Starlette:
        """The routes; the workers live as long as it does."""
        return Starlette(
            routes=[
                Route("/", _file("index.html")),
                *(Route(f"/page/{name}", _file(name)) for name in _FILES),
                Route("/api/offers", _answering(self.all_offers)),
                Route("/api/offers/openspiel", _answering(self.openspiel)),
                Route("/api/games", _answering(self.begin), methods=["POST"]),
                Route("/api/position", _answering(self.position), methods=["POST"]),
                Route("/api/position/ask", _answering(self.ask_position), methods=["POST"]),
                Route("/api/replay/{source}", _answering(self.replay)),
                Route("/api/replay/{source}/{step:count}", _answering(self.replay_step)),
                Route("/api/replay/{source}/{step:count}/belief/{seat:count}", _answering(self.replay_belief)),
                Route("/api/replay/{source}/{step:count}/verdict", _answering(self.verdict)),
                Route("/api/replay/{source}/file", _answering(self.replay_file)),
                Route("/api/stores/{index:count}", _answering(self.store)),
                Route("/api/stores/{index:count}/{match:count}", _answering(self.stored_games)),
                Route("/api/pictures", _answering(self.all_pictures)),
                Route("/api/pictures/{index:count}", _answering(self.picture)),
                WebSocketRoute("/api/play/{token}", self.play),
            ],
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, application: Starlette) -> AsyncIterator[None]:
        keeper = Keeper(self._keep)
        await self.workers.start()
        self.tables = Tables(keeper, self.workers, self._most_games)
        if self._warm:
            self.tables.warm(self.offers.texts())
        try:
            yield
        finally:
            self.tables.close()
            self.workers.close()
            keeper.close()

    # Choosing ---------------------------------------------------------------------------------------------------------

    async def all_offers(self, request: Request) -> Any:
        return {
            "version": __version__,
            **self.offers.data(),
            "stores": [{"index": index, "name": store.name} for index, store in enumerate(self.stores)],
            "pictures": len(self.pictures),
            "openspiel": _has_openspiel(),
        }

    async def openspiel(self, request: Request) -> Any:
        return {"games": await asyncio.to_thread(self.offers.openspiel)}

    async def begin(self, request: Request) -> Any:
        """Begin a game."""
        self._new_games.take()
        order = await _body(request)
        game = self.offers.game(order.get("game"), order.get("parameters", {}))
        chosen = order.get("seats")
        if not isinstance(chosen, list) or len(chosen) > 20:
            raise BadInput("seats must be a list with one entry for each seat")
        seats = [self._seat(who, game) for who in chosen]
        if len(seats) != (needed := num_players(load_game(game))):
            raise BadInput(f"{game} has {needed} seats, not {len(seats)}")
        if HUMAN not in seats or chosen.count("me") > 1:
            raise BadInput("a person must sit on one seat at least, and you on one at most")
        tokens = await self.tables.add(game, seats)
        return {"game": game, "seats": [{"seat": i, "who": chosen[i], "token": t} for i, t in tokens.items()]}

    def _seat(self, who: Any, game: str) -> str:
        if who in ("me", "person"):
            return HUMAN
        if not isinstance(who, dict):
            raise BadInput('a seat is "me", "person" or an agent')
        return self.offers.agent(who.get("agent"), who.get("seconds", 1.0), game)

    # Playing ----------------------------------------------------------------------------------------------------------

    async def play(self, websocket: WebSocket) -> None:
        """The socket of one seat."""
        try:
            sitting, seat = await self.tables.sitting(websocket.path_params["token"])
        except (BadInput, Failed) as error:
            await websocket.accept()
            await websocket.send_text(message({"is": "error", "text": str(error), "gone": True}))
            await websocket.close()
            return
        await websocket.accept()
        await _Conversation(self, websocket, sitting, seat).run()

    # Looking back -----------------------------------------------------------------------------------------------------

    async def _finished(self, request: Request) -> Finished:
        kind, _, rest = request.path_params["source"].partition(".")
        if kind == "s":
            stored = await self._stored(rest)
            # the file may come from somebody else: only what is on offer is loaded by its name
            game = await asyncio.to_thread(self.offers.known, stored.match.game)
            return Finished(game, stored.agents, stored.record.returns, stored.record.actions)
        if kind != "t":
            raise BadInput("there is no such game here")
        sitting, seat = await self.tables.sitting(rest)
        table = sitting.table
        if not table.over:
            raise Conflict("this game is not over")
        record = table.record()
        return Finished(table.game, table.seats, record.returns, record.actions, seat)

    async def replay(self, request: Request) -> Any:
        return (await self._finished(request)).summary()

    async def replay_step(self, request: Request) -> Any:
        return (await self._finished(request)).position(request.path_params["step"])

    async def replay_belief(self, request: Request) -> Any:
        self._questions.take()
        game, step, seat = await self._finished(request), request.path_params["step"], request.path_params["seat"]
        game.state(step).observations(seat)  # refuses what is not there
        return await self.workers.ask(QUICK, _PATIENCE, "replay_belief", game.game, list(game.actions), step, seat)

    async def verdict(self, request: Request) -> Any:
        self._questions.take()
        game, step = await self._finished(request), request.path_params["step"]
        if step >= len(game.actions) or game.state(step).player < 0:
            raise BadInput("nobody decides here")
        return await self.workers.ask(SLOW, _PATIENCE, "verdict", game.game, list(game.actions), step)

    async def replay_file(self, request: Request) -> Any:
        kind, _, rest = request.path_params["source"].partition(".")
        if kind == "s":
            stored = await self._stored(rest)
        else:
            await self._finished(request)
            stored = StoredGame(*self.tables.kept_game(rest))
        content = await asyncio.to_thread(game_file, *stored)
        name = re.sub(r"\W", "_", stored.match.game.partition("(")[0], flags=re.ASCII)
        return Response(
            content,
            media_type="application/vnd.sqlite3",
            headers={"content-disposition": f'attachment; filename="{name}.sqlite"'},
        )

    # Watching ---------------------------------------------------------------------------------------------------------

    def _store(self, index: int) -> WatchedStore:
        if index >= len(self.stores):
            raise BadInput(f"there is no store {index} here")
        return self.stores[index]

    async def _stored(self, rest: str) -> StoredGame:
        """A game of a store, from the `I.MATCH.NUMBER` of its source."""
        numbers = re.fullmatch(r"(\d{1,6})\.(\d{1,18})\.(\d{1,18})", rest, re.ASCII)
        if numbers is None:
            raise BadInput("there is no such game here")
        index, match, number = map(int, numbers.groups())
        return await asyncio.to_thread(self._store(index).game, match, number)

    async def store(self, request: Request) -> Any:
        store = self._store(request.path_params["index"])
        content = await asyncio.to_thread(store.summary, request.query_params.get("tag", ""))
        return Response(status_code=304) if content is None else content

    async def stored_games(self, request: Request) -> Any:
        store, match = self._store(request.path_params["index"]), request.path_params["match"]
        start = request.query_params.get("from", "0")
        if not re.fullmatch(r"\d{1,18}", start, re.ASCII):
            raise BadInput("from must be a whole number of at least 0")
        return await asyncio.to_thread(store.games, match, int(start))

    async def all_pictures(self, request: Request) -> Any:
        return await asyncio.to_thread(self.pictures.listed)

    async def picture(self, request: Request) -> Any:
        content, kind = await asyncio.to_thread(self.pictures.content, request.path_params["index"])
        return Response(
            content, media_type=kind, headers={"content-security-policy": "sandbox"}
        )  # if it is opened alone

    # Positions by link ------------------------------------------------------------------------------------------------

    async def _place(self, request: Request) -> tuple[dict[str, Any], tuple[str, int, list[int]]]:
        self._questions.take()
        order = await _body(request)
        game, seat, seen = order.get("game"), order.get("seat"), order.get("seen")
        if not isinstance(seen, list) or not all(type(code) is int and abs(code) < 2**63 for code in seen):
            raise BadInput("seen must be a list of observations")
        if not isinstance(seat, int) or isinstance(seat, bool):
            raise BadInput("seat must be a whole number")
        return order, (self.offers.known(game), seat, seen)

    async def position(self, request: Request) -> Any:
        _, place = await self._place(request)
        return await self.workers.ask(QUICK, _PATIENCE, "position", *place)

    async def ask_position(self, request: Request) -> Any:
        order, place = await self._place(request)
        agent = self.offers.agent(order.get("agent"), order.get("seconds", 1.0), place[0])
        return await self.workers.ask(SLOW, _PATIENCE, "position_advice", *place, agent)


class _Conversation:
    """What one socket says, and what it is answered."""

    def __init__(self, page: Page, websocket: WebSocket, sitting: Sitting, seat: int) -> None:
        self._page, self._websocket, self._sitting, self._seat = page, websocket, sitting, seat
        self._bucket = Bucket(50.0, 200.0)
        self._advice: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._next_look: Coroutine[Any, Any, None] | None = None

    async def send(self, text: str) -> None:
        await asyncio.wait_for(self._websocket.send_text(text), _SENDING)

    async def run(self) -> None:
        """Answer until the socket closes."""
        try:
            await self._sitting.join(self, self._seat)
            while True:
                event = await self._websocket.receive()
                if event["type"] == "websocket.disconnect":
                    return
                await self._bucket.wait()
                await self._answer(event.get("text"))
        except BadInput as error:
            with contextlib.suppress(Exception):
                await self.send(message({"is": "error", "text": str(error)}))
                await self._websocket.close()
        except (WebSocketDisconnect, TimeoutError, RuntimeError, OSError):
            pass  # the socket is gone
        finally:
            self._sitting.leave(self)
            self._stop()

    def _stop(self) -> None:
        if self._advice is not None:
            self._advice.cancel()
        self._replace_look(None)
        if self._looking is not None:  # ending it ends its worker, which others wait for, so it may finish soon
            asyncio.get_running_loop().call_later(_SOON, self._looking.cancel)

    async def _answer(self, text: Any) -> None:
        try:
            order = _order(text)
            match order.get("do"):
                case "act":
                    await self._sitting.act(self._seat, order.get("action"), order.get("seen"))
                case "belief":
                    self._look(order, "belief")
                case "world":
                    self._look(order, "world", _whole(order, "index", 1_000_000))
                case "ask":
                    self._ask(order)
                case "stop":
                    if self._advice is not None:
                        self._advice.cancel()
                case _:
                    raise BadInput("this order is not known")
        except BadInput as error:
            await self._refuse(str(error))

    async def _refuse(self, text: str) -> None:
        await self.send(message({"is": "error", "text": text}))
        await self._sitting.show(self)

    def _look(self, order: dict[str, Any], what: str, *more: Any) -> None:
        """Answer with a belief or one of its worlds, one after the other; a newer question replaces one that waits."""
        self._sitting.table.check_seen(self._seat, order.get("seen"))
        question = (*self._sitting.table.question(self._seat), *more)
        self._replace_look(self._reply(what, order["seen"], QUICK, _PATIENCE, what, *question))
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

    def _ask(self, order: dict[str, Any]) -> None:
        """Answer with an agent's advice."""
        table = self._sitting.table
        table.check_seen(self._seat, order.get("seen"))
        if table.turn(self._seat) != "yours":
            raise BadInput("an agent can be asked when it is your turn")
        agent = self._page.offers.agent(order.get("agent"), order.get("seconds", 1.0), table.game)
        if self._advice is not None:
            self._advice.cancel()
        choices = {action: names[0] for action, names in table.state.choices().items()}
        game, seat, observations, _ = table.question(self._seat)
        question = (game, seat, observations, list(choices), list(choices.values()), agent)
        limit = _PATIENCE + 2 * self._page.offers.most_seconds
        self._advice = asyncio.ensure_future(self._reply("advice", order["seen"], SLOW, limit, "advice", *question))

    async def _reply(self, what: str, seen: int, lane: str, limit: float, name: str, *question: Any) -> None:
        try:
            answer = await self._page.workers.ask(lane, limit, name, *question)
            content = {"is": what, "seen": seen, **answer}
        except (BadInput, Failed) as error:
            content = {"is": "error", "text": str(error), "about": what}
        with contextlib.suppress(Exception):  # the socket may be gone
            await self.send(message(content))


def _has_openspiel() -> bool:
    return importlib.util.find_spec("pyspiel") is not None


def _order(text: Any) -> dict[str, Any]:
    """An order of the page: a JSON object."""
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise BadInput("an order is a short text")
    return _object(text)


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput("this is not JSON") from None
    if not isinstance(content, dict):
        raise BadInput("this is not a JSON object")
    return content


def _whole(order: dict[str, Any], key: str, below: int) -> int:
    value = order.get(key)
    if type(value) is not int or not 0 <= value < below:
        raise BadInput(f"{key} must be a whole number of at least 0")
    return value


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a request has as its body."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise BadInput("this is too long")
    return _object(content)


def _answering(handler: Callable[[Request], Awaitable[Any]]) -> Handler:
    """A handler whose result is sent as JSON, and whose refusals as one line."""

    async def answer(request: Request) -> Response:
        try:
            content = await handler(request)
            return (
                content if isinstance(content, Response) else Response(message(content), media_type="application/json")
            )
        except Conflict as error:
            return JSONResponse({"error": str(error)}, 409)
        except (BadInput, Failed) as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


# The files of the page, read once -------------------------------------------------------------------------------------


def _read_files() -> dict[str, tuple[bytes, str]]:
    folder = resources.files("foglight.web") / "page"
    files = {}
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        ending = entry.name[entry.name.rfind(".") :]
        if ending in _KINDS:
            files[entry.name] = (entry.read_bytes(), _KINDS[ending])
    files["drawing.css"] = (stylesheet().encode(), "text/css")
    return files


_FILES = _read_files()


def _file(name: str) -> Handler:
    content, kind = _FILES.get(name, (b"", "text/plain"))
    small = gzip.compress(content, mtime=0)

    async def answer(request: Request) -> Response:
        headers = {"cache-control": "no-cache", "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(small, media_type=kind, headers={**headers, "content-encoding": "gzip"})
        return Response(content, media_type=kind, headers=headers)

    return answer
