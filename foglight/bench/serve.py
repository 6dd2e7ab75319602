"""`foglight bench serve`: how fast the page is, measured on a real server by WebSocket and HTTP.

The server is a process of its own with a file of its own, and this process is its only guest. A click is the time from
an order to the next view. An answer is the time from an order until it is this seat's turn again. Against `random`,
which answers at once, the next view is the answer. All kernels are loaded before anything is timed.

Many games at once are played twice. People look at the board before they click, for half a second to one and a half.
Players who click at once keep the server busy all the time; then an answer takes as long as all others need for one,
and the number of answers a second is what counts.
"""

import asyncio
import contextlib
import gzip
import importlib.util
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from foglight.bench.figures import Figure
from foglight.games import game_names, load_game
from foglight.names import BadInput, parse_spec
from foglight.rules import num_players

Progress = Callable[[int, int], None]  # measurements done, and all of them

PAGE, CLICKS, BELIEFS, CROWD = "the first page", "clicks, against random", "belief overlay", "many games at once"
OVERLAYS = {
    "dark_hex(rows=4,cols=4)": 100.0,
    "leduc_poker": 100.0,
    "oh_hell(players=4,suits=4,ranks=13,tricks=12)": 300.0,
}  # games, and the most milliseconds that the overlay may take
KINDS = ("phantom_ttt", "dark_hex", "leduc_poker", "liars_dice")  # of the games that are played at once
_START = 120.0  # seconds that a server may take to start


class Server:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "foglight", "serve", "--port", "0", "--no-open"]
        self._log = (folder / "log.txt").open("wb")
        self._process = subprocess.Popen(
            [*command, "--keep", str(folder / "page.sqlite")],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        found = re.search(rb"http://([\w.]+:\d+)/", self._process.stdout.readline())
        if found is None:
            self.close()
            raise BadInput(f"the server does not start: {(folder / 'log.txt').read_text()[-300:]!r}")
        self.host = found[1].decode()

    def get(self, path: str, compressed: bool = True) -> tuple[bytes, int]:
        """The content at a path, and how many bytes of it travelled."""
        headers = {"Accept-Encoding": "gzip"} if compressed else {}
        request = urllib.request.Request(f"http://{self.host}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=_START) as reply:
            content = reply.read()
            size = len(content) + len(str(reply.headers))
            return (gzip.decompress(content) if reply.headers["content-encoding"] == "gzip" else content), size

    def begin(self, game: str, others: str = "random") -> str:
        """Begin a game on seat 0 against an agent; the seat's token."""
        spec = parse_spec(str(load_game(game)))
        seats = ["me", *[{"agent": others}] * (num_players(load_game(game)) - 1)]
        order = {"game": spec.name, "parameters": dict(spec.arguments), "seats": seats}
        request = urllib.request.Request(f"http://{self.host}/api/games", json.dumps(order).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=_START) as reply:
            return str(json.load(reply)["seats"][0]["token"])

    def close(self) -> None:
        """Stop it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


@contextlib.contextmanager
def _server() -> Iterator[Server]:
    """A server on which a game of each kind has been played, so that all rules are loaded."""
    with tempfile.TemporaryDirectory(prefix="foglight-") as folder:
        server = Server(Path(folder))
        try:
            for name in [*game_names(), *OVERLAYS]:
                asyncio.run(_played(server, server.begin(name), random.Random(0)))
            yield server
        finally:
            server.close()


class _Seat:
    """A person who plays random moves, and how long things took."""

    def __init__(self, socket: Any, rng: random.Random, thinks: bool = False) -> None:
        self._socket, self._rng, self._thinks = socket, rng, thinks
        self.clicks: list[float] = []  # seconds from an order to the view after it
        self.answers: list[float] = []  # seconds from an order to the next turn
        self.view: dict[str, Any] = {}

    async def receive(self, *turns: str) -> dict[str, Any]:
        """The next view, of one of these turns if any are named."""
        while True:
            content = json.loads(await self._socket.recv())
            if content["is"] == "view":
                self.view = content
                if not turns or content["turn"] in turns:
                    return self.view
            elif content["is"] == "error":
                raise RuntimeError(content["text"])

    async def play(self) -> dict[str, Any]:
        """Play to the end."""
        await self.receive("yours", "over")
        while self.view["turn"] != "over":
            action = self._rng.choice(self.view["moves"])[0]
            if self._thinks:
                await asyncio.sleep(self._rng.uniform(0.5, 1.5))
            begin = time.perf_counter()
            await self._socket.send(json.dumps({"do": "act", "action": action, "seen": self.view["seen"]}))
            await self.receive()
            self.clicks.append(time.perf_counter() - begin)
            if self.view["turn"] == "waiting":
                await self.receive("yours", "over")
            self.answers.append(time.perf_counter() - begin)
        return self.view

    async def overlay(self) -> float:
        """Seconds from the wish for a belief to its picture."""
        begin = time.perf_counter()
        await self._socket.send(json.dumps({"do": "belief", "seen": self.view["seen"]}))
        while True:
            content = json.loads(await self._socket.recv())
            if content["is"] == "belief" and "none" not in content:
                return time.perf_counter() - begin
            if content["is"] in ("error", "belief"):
                raise RuntimeError(content.get("text") or content["none"])


def _sit(server: Server, token: str) -> Any:
    from websockets.asyncio.client import connect

    return connect(f"ws://{server.host}/api/play/{token}", compression=None, max_size=2**24, open_timeout=_START)


async def _played(server: Server, token: str, rng: random.Random, thinks: bool = False) -> _Seat:
    async with _sit(server, token) as socket:
        seat = _Seat(socket, rng, thinks)
        await seat.play()
        return seat


def run(games: int = 200, seed: int = 0, progress: Progress | None = None) -> dict[str, list[Figure]]:
    """Take all measurements on one server: tables by their titles."""
    if games < 1:
        raise BadInput(f"games must be at least 1, not {games}")
    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    for needed in ("starlette", "uvicorn", "websockets"):
        if importlib.util.find_spec(needed) is None:
            raise BadInput(f"the page needs {needed}; install it: pip install 'foglight[web]'")
    tables: dict[str, list[Figure]] = {}
    with _server() as server:
        work: list[tuple[str, Callable[[], list[Figure]]]] = [(PAGE, partial(_first_page, server))]
        work += [(CLICKS, partial(_clicks, server, name, seed)) for name in game_names()]
        work += [(BELIEFS, partial(_overlays, server, game, most, seed)) for game, most in OVERLAYS.items()]
        work += [(CROWD, partial(_crowd, server, games, seed))]
        for done, (title, measure) in enumerate(work):
            if progress is not None:
                progress(done, len(work))
            tables.setdefault(title, []).extend(measure())
    return tables


def _first_page(server: Server) -> list[Figure]:
    """Everything that the first page loads, one after the other, as a browser with an empty cache does at worst."""
    times, size, number = [], 0, 0
    for _ in range(5):
        begin = time.perf_counter()
        paths, todo = {"/", "/api/offers"}, ["/", "/api/offers"]
        size = 0
        while todo:
            path = todo.pop()
            content, travelled = server.get(path)
            size += travelled
            for more in _needed(path, content.decode()):
                if more not in paths:
                    paths.add(more)
                    todo.append(more)
        times.append(time.perf_counter() - begin)
        number = len(paths)
    return [
        Figure(f"time, {number} files, median of 5", 1000 * statistics.median(times), " ms", at_most=300.0),
        Figure("bytes that travel, compressed, headers included", size / 1000, " kB", at_most=300.0),
    ]


def _needed(path: str, content: str) -> list[str]:
    """The files that a page, a module or a style sheet loads at once."""
    if path.startswith("/api"):
        return []
    found = re.findall(r'(?:src|href)="(/page/[\w.]+|page/[\w.]+)"', content) if path == "/" else []
    if path.endswith(".js"):
        found += re.findall(r'(?:from|import)\s+"\./([\w.]+)"', content)
    if path.endswith(".css"):
        found += re.findall(r'@import\s+(?:url\()?"([\w./]+)"', content)
    return [f"/page/{name.rpartition('/')[2]}" for name in found]


def _clicks(server: Server, name: str, seed: int, games: int = 20, enough: int = 200) -> list[Figure]:
    """Games of one game, played to the end one after the other."""
    rng, clicks = random.Random(f"{name} {seed}"), [0.0][:0]
    for _ in range(games):
        if len(clicks) < enough:
            clicks += asyncio.run(_played(server, server.begin(name), rng)).clicks
    return [
        Figure(f"{name}, {len(clicks)} clicks, median", 1000 * statistics.median(clicks), " ms", at_most=50.0),
        Figure(f"{name}, 95 % are below", 1000 * _high(clicks), " ms"),
    ]


def _overlays(server: Server, game: str, most: float, seed: int, games: int = 5) -> list[Figure]:
    """The belief at every turn of some games, each asked for the first time there."""
    rng, times = random.Random(f"{game} {seed}"), [0.0][:0]

    async def one() -> list[float]:
        async with _sit(server, server.begin(game)) as socket:
            seat, found = _Seat(socket, rng), []
            await seat.receive("yours", "over")
            while seat.view["turn"] != "over":
                found.append(await seat.overlay())
                action = rng.choice(seat.view["moves"])[0]
                await socket.send(json.dumps({"do": "act", "action": action, "seen": seat.view["seen"]}))
                if (await seat.receive())["turn"] == "waiting":
                    await seat.receive("yours", "over")
            return found

    asyncio.run(one())  # loads the kernels of the belief
    for _ in range(games):
        times += asyncio.run(one())
    return [
        Figure(f"{game}, {len(times)} beliefs, median", 1000 * statistics.median(times), " ms", at_most=most),
        Figure(f"{game}, 95 % are below", 1000 * _high(times), " ms"),
    ]


def _crowd(server: Server, games: int, seed: int) -> list[Figure]:
    """Many games at once, all played to the end."""

    async def all_of_them(tokens: Sequence[str], thinks: bool) -> list[_Seat | BaseException]:
        seats = [_played(server, token, random.Random(f"{seed} {i}"), thinks) for i, token in enumerate(tokens)]
        return await asyncio.gather(*seats, return_exceptions=True)

    figures = []
    for thinks, how in ((True, "by people who think"), (False, "by players who click at once")):
        tokens = [server.begin(KINDS[i % len(KINDS)]) for i in range(games)]
        begin = time.perf_counter()
        seats = asyncio.run(all_of_them(tokens, thinks))
        seconds = time.perf_counter() - begin
        played = [seat for seat in seats if isinstance(seat, _Seat) and seat.view["turn"] == "over"]
        answers = [answer for seat in played for answer in seat.answers]
        most = 100.0 if thinks else None
        figures += [
            Figure(f"{games} games {how}, played to the end", float(len(played)), "", at_least=float(games)),
            Figure(f"{len(answers)} answers, median", 1000 * statistics.median(answers), " ms", at_most=most),
            Figure("95 % of the answers are below", 1000 * _high(answers), " ms"),
            Figure("answers a second", len(answers) / seconds, "/s"),
        ]
    return figures


def _high(times: Sequence[float]) -> float:
    """The time that 95 % of them do not exceed."""
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]
