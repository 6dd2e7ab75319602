"""The application: what the server answers to the page."""

import asyncio
import contextlib
import gzip
import importlib.util
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from foglight.drawing.svg import stylesheet
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import num_players
from foglight.version import __version__
from foglight.web.conversation import PATIENCE, Conversation
from foglight.web.guard import MOST_BYTES, Bucket
from foglight.web.keeper import Keeper
from foglight.web.messages import message, order
from foglight.web.offers import HUMAN, Offers
from foglight.web.replays import Finished
from foglight.web.sharing import game_file
from foglight.web.tables import Tables, belief_lane
from foglight.web.watching import Pictures, StoredGame, WatchedStore
from foglight.web.workers import SLOW, Failed, Workers


class Count(IntegerConvertor):
    """A number in a path. Python refuses to read thousands of digits; SQLite, more than 63 bits."""

    regex = "[0-9]{1,18}"


register_url_convertor("count", Count())
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

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
        door: str = "",
    ) -> None:
        self.offers, self.workers = offers, workers
        self.stores, self.pictures = stores, pictures or Pictures([])
        self._keep, self._most_games, self._warm = keep, most_games, warm
        self._door = door  # what a link needs so that others get in
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
        given = await _body(request)
        game = self.offers.game(given.get("game"), given.get("parameters", {}))
        chosen = given.get("seats")
        if not isinstance(chosen, list) or len(chosen) > 20:
            raise BadInput("seats must be a list with one entry for each seat")
        seats = [self._seat(who, game) for who in chosen]
        if len(seats) != (needed := num_players(load_game(game))):
            raise BadInput(f"{game} has {needed} seats, not {len(seats)}")
        if HUMAN not in seats or chosen.count("me") > 1:
            raise BadInput("a person must sit on one seat at least, and you on one at most")
        tokens = await self.tables.add(game, seats)
        seated = [{"seat": seat, "who": chosen[seat], "token": token} for seat, token in tokens.items()]
        return {"game": game, "seats": seated, "door": self._door}

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
        await Conversation(websocket, sitting, seat, self.offers, self.workers).run()

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
        question = "replay_belief", game.game, list(game.actions), step, seat
        return await self.workers.ask(belief_lane(game.game), PATIENCE, *question)

    async def verdict(self, request: Request) -> Any:
        self._questions.take()
        game, step = await self._finished(request), request.path_params["step"]
        if step >= len(game.actions) or game.state(step).player < 0:
            raise BadInput("nobody decides here")
        return await self.workers.ask(SLOW, PATIENCE, "verdict", game.game, list(game.actions), step)

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
        given = await _body(request)
        game, seat, seen = given.get("game"), given.get("seat"), given.get("seen")
        if not isinstance(seen, list) or not all(type(code) is int and abs(code) < 2**63 for code in seen):
            raise BadInput("seen must be a list of observations")
        if not isinstance(seat, int) or isinstance(seat, bool):
            raise BadInput("seat must be a whole number")
        return given, (self.offers.known(game), seat, seen)

    async def position(self, request: Request) -> Any:
        _, place = await self._place(request)
        return await self.workers.ask(belief_lane(place[0]), PATIENCE, "position", *place)

    async def ask_position(self, request: Request) -> Any:
        given, place = await self._place(request)
        agent = self.offers.agent(given.get("agent"), given.get("seconds", 1.0), place[0])
        return await self.workers.ask(SLOW, PATIENCE, "position_advice", *place, agent)


def _has_openspiel() -> bool:
    return importlib.util.find_spec("pyspiel") is not None


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a request has as its body."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise BadInput("this is too long")
    return order(content)


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
