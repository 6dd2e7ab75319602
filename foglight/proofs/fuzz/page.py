"""What the page sends: orders on the socket of a seat, and requests by HTTP through the guard."""

import asyncio
import contextlib
import functools
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from foglight.proofs.fuzz.changes import FINE, REFUSED, Input, changed, damaged, is_one_line, other_json
from foglight.proofs.fuzz.files import good_files
from foglight.web import answers
from foglight.web.app import Page
from foglight.web.conversation import Conversation
from foglight.web.guard import Bucket, Guard
from foglight.web.keeper import Keeper
from foglight.web.offers import HUMAN, Offers
from foglight.web.table import Table
from foglight.web.tables import Sitting, Tables
from foglight.web.watching import WatchedStore


class _Answers:
    """Workers that answer at once, in this process."""

    async def ask(self, lane: str, limit: float, name: str, *arguments: Any, topics: Any = ()) -> Any:

        if name == "move":
            _, _, _, _, _, _, actions, *_ = arguments  # as in `answers.move`
            return actions[0]
        if name in ("advice", "position_advice", "verdict"):  # these think for seconds
            return {}
        return getattr(answers, name)(*arguments)

    async def start(self) -> None:
        pass

    def close(self) -> None:
        pass


@contextlib.contextmanager
def orders() -> Iterator[Input]:
    """Orders on the socket of a seat, at games that go on as far as they let them."""

    loop, offers = asyncio.new_event_loop(), Offers()
    workers: Any = _Answers()
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeper(Path(folder) / "page.sqlite")

        def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
            game = rng.choice(("kuhn_poker", "phantom_ttt", "leduc_poker"))
            seats = rng.choice((("random", HUMAN), (HUMAN, "first_legal"), (HUMAN, HUMAN)))
            texts = []
            for _ in range(4):
                order = rng.choice((
                    {"do": "act", "action": rng.randrange(3), "seen": rng.randrange(4)},
                    {"do": "belief", "seen": rng.randrange(4)},
                    {"do": "world", "index": rng.randrange(3), "seen": rng.randrange(4)},
                    {"do": "ask", "agent": rng.choice(("random", "pimc")), "seconds": 0.1, "seen": rng.randrange(4)},
                    {"do": "stop"},
                ))  # fmt: skip
                text = json.dumps(other_json(order, rng) if rng.random() < 0.6 else order)
                texts.append(changed(text, rng) if rng.random() < 0.3 else text)
            number, _ = keeper.add(game, seats, rng.randrange(2**40))

            async def talk() -> str:
                sitting = Sitting(number, Table(game, seats, 1), keeper, workers)
                socket = _Socket(texts)
                seat = seats.index(HUMAN)
                await Conversation(socket, sitting, seat, offers, workers).run()  # type: ignore[arg-type]
                for _ in range(5):
                    await asyncio.sleep(0)
                sitting.stop()
                replies = [json.loads(text) for text in socket.sent]
                errors = [reply["text"] for reply in replies if reply["is"] == "error"]
                if not replies:
                    return "no answer at all"
                if any("the game cannot go on" in error for error in errors):
                    return "the game stops"
                wrong = [error for error in errors if not is_one_line(error)]
                return f"not one helpful line: {wrong[0]!r}" if wrong else REFUSED if errors else FINE

            return f"{game} {texts}", lambda: loop.run_until_complete(talk())

        try:
            yield make
        finally:
            keeper.close()
            loop.close()


class _Socket:
    """A socket that sends these texts one after the other, and then closes."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts, self.sent = list(texts), list[str]()

    async def send_text(self, text: str) -> None:
        self.sent.append(text)

    async def close(self) -> None:
        pass

    async def receive(self) -> dict[str, Any]:
        for _ in range(5):
            await asyncio.sleep(0)
        if self._texts:
            return {"type": "websocket.receive", "text": self._texts.pop(0)}
        return {"type": "websocket.disconnect"}


_PATHS = (
    "/", "/page/main.js", "/api/offers", "/api/games", "/api/position", "/api/position/ask", "/api/replay/s.0.1.0",
    "/api/replay/s.0.1.0/2", "/api/replay/s.0.1.0/2/belief/0", "/api/replay/s.0.1.0/1/verdict",
    "/api/replay/s.0.1.0/file", "/api/stores/0", "/api/stores/0/1", "/api/pictures", "/api/pictures/0",
    "/api/replay/t.token",
)  # fmt: skip
_BODIES = (
    {"game": "kuhn_poker", "seats": ["me", {"agent": "random"}]},
    {"game": "dark_hex", "parameters": {"rows": 3, "cols": 3}, "seats": ["me", "person"]},
    {"game": "kuhn_poker", "seat": 0, "seen": [1]},
    {"game": "phantom_ttt", "seat": 1, "seen": [1, 2], "agent": "pimc", "seconds": 0.1},
)


@contextlib.contextmanager
def requests() -> Iterator[Input]:
    """Requests by HTTP to the whole application behind its guard."""

    loop = asyncio.new_event_loop()
    workers: Any = _Answers()
    with tempfile.TemporaryDirectory() as folder:
        good_files(Path(folder))
        page = Page(
            Offers(), Path(folder) / "page.sqlite", workers, stores=[WatchedStore(Path(folder) / "games.sqlite")]
        )
        keeper = Keeper(Path(folder) / "page.sqlite")
        page.tables = Tables(keeper, workers, 10**6)
        page._new_games = page._questions = Bucket(1e9, 1e9)
        doors = [Guard(page.application(), hosts=["127.0.0.1"]), Guard(page.application(), token="secret")]

        def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
            path = rng.choice(_PATHS)
            path = changed(path, rng, _PATHS) if rng.random() < 0.5 else path
            method = rng.choice(("GET", "POST", "POST", "HEAD", "PUT", "X"))
            body: Any = rng.choice(_BODIES)
            body = json.dumps(other_json(body, rng) if rng.random() < 0.7 else body).encode()
            body = damaged(body, rng) if rng.random() < 0.2 else body
            host = "127.0.0.1:8421" if rng.random() < 0.9 else changed("127.0.0.1:8421", rng)
            headers = [(b"host", host.encode("utf-8", "ignore"))]
            if rng.random() < 0.2:
                origin = changed("http://127.0.0.1:8421", rng).encode("utf-8", "ignore")
                headers.append((b"origin", origin))
            door = doors[rng.random() < 0.2]
            if door is doors[1]:
                headers.append((b"cookie", changed("foglight=secret", rng).encode("utf-8", "ignore")))
            query = changed("token=secret&from=0", rng).encode("utf-8", "ignore") if rng.random() < 0.3 else b""
            use = functools.partial(_request, loop, door, method, path, query, headers, body)
            return f"{method} {path} {query!r} {headers} {body!r}", use

        try:
            yield make
        finally:
            page.tables.close()
            keeper.close()
            loop.close()


def _request(
    loop: asyncio.AbstractEventLoop, door: Any, method: str, path: str, query: bytes, headers: Any, body: bytes
) -> str:
    """Send a request; what became of it by its status."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "root_path": "",
        "raw_path": path.encode("utf-8", "ignore"), "query_string": query,
        "headers": headers, "scheme": "http", "server": ("127.0.0.1", 8421),
        "client": ("127.0.0.1", 5),
    }  # fmt: skip
    loop.run_until_complete(door(scope, receive, send))
    status = sent[0]["status"]
    content = b"".join(event.get("body", b"") for event in sent[1:])
    if status == 400 and not is_one_line(json.loads(content)["error"]):
        return f"not one helpful line: {content!r}"
    return FINE if status < 400 else REFUSED if status < 500 else f"status {status}"
