"""The page under attack by twins, nonsense, kills and strangers: nothing hidden leaves it, and no game is lost."""

import asyncio
import contextlib
import http.client
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

import foglight as fl

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from starlette.testclient import TestClient
from test_pieces import is_running
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from foglight.arena.referee import Course
from foglight.checks.alike import some_alike
from foglight.checks.positions import Play
from foglight.rules import TERMINAL
from foglight.web import conversation, guard, tables, workers
from foglight.web.app import Page
from foglight.web.conversation import Conversation
from foglight.web.guard import MOST_BYTES, Bucket, Guard
from foglight.web.keeper import Keeper
from foglight.web.messages import order as parsed
from foglight.web.offers import HUMAN, Offers
from foglight.web.table import Table
from foglight.web.workers import Workers

HERE = "http://127.0.0.1:8421"
ADVISER = "pimc(iterations=8)"
SEED = 5_120_384_907_112_233  # of all games of the twins
PATIENCE = 300  # seconds: kernels may have to be compiled

# Twins ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Two servers that share nothing, on which chance does what a test says."""
    script, folder = [], tmp_path_factory.mktemp("twins")
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setattr(tables.secrets, "randbits", lambda bits: SEED)
        patch.setattr(conversation, "PATIENCE", float(PATIENCE))
        drawn = Course.outcome
        patch.setattr(Course, "outcome", lambda course: script.pop(0) if script else drawn(course))
        clients = []
        for i in range(2):
            page = Page(Offers(agents=[ADVISER]), folder / f"{i}.sqlite", Workers(1))
            guarded = Guard(page.application(), hosts=["127.0.0.1"])
            clients.append(stack.enter_context(TestClient(guarded, base_url=HERE)))
            clients[-1].page = page
        yield clients, script


def pairs(game, wanted, seed):
    """A viewer and two histories that it cannot tell apart, several times; at half of the positions it is to move."""
    play, rng = Play(fl.load_game(game), True), random.Random(f"{game} {seed}")
    found = []
    for _ in range(30 * wanted):
        inner = [position for position in play.random_game(rng, 60) if position.mover >= 0]
        if not inner:
            continue
        position = rng.choice(inner)
        viewer = rng.choice([position.mover, rng.randrange(play.seats)])
        others = [
            other
            for other in [*detours(play, position, viewer, rng), *some_alike(play, position, viewer, rng, 6)]
            if other.mover >= 0 and (other.mover == viewer) == (position.mover == viewer)
        ]
        if others:  # rather one that another number of actions has led to
            other = max(others, key=lambda other: len(other.history) != len(position.history))
            found.append((viewer, position.history, other.history))
        if len(found) == 6 * wanted:
            break
    longer = [pair for pair in found if len(pair[1]) != len(pair[2])][: (wanted + 1) // 2]
    return [*longer, *(pair for pair in found if pair not in longer)][:wanted]


def detours(play, position, viewer, rng):
    """The same history with a try of somebody else in it that the viewer does not notice, if there is one."""
    here = play.start()
    for step, action in enumerate(position.history):
        for other in rng.sample(here.actions, len(here.actions)) if here.mover not in (viewer, *range(-9, 0)) else ():
            there = play.after(here, other)
            if there.mover == here.mover and there.seen_by(viewer) == here.seen_by(viewer):
                for rest in position.history[step:]:
                    if rest not in there.actions:
                        break
                    there = play.after(there, rest)
                else:
                    if there.seen_by(viewer) == position.seen_by(viewer):
                        yield there
                        return
        here = play.after(here, action)


class Watcher:
    """A socket, and all that it was sent."""

    def __init__(self, client, token, stack):
        address = f"{HERE.replace('http', 'ws')}/api/play/{token}"
        self.socket, self.sent, self.view = stack.enter_context(client.websocket_connect(address)), [], None

    def receive(self):
        text = self.socket.receive_text()
        self.sent.append(text)
        content = json.loads(text)
        if content["is"] == "view":
            self.view = content
        return content

    def catch_up(self, seen, turn):
        """Receive until this position is shown."""
        while self.view is None or (self.view["seen"], self.view["turn"]) != (seen, turn):
            assert self.receive()["is"] in ("view", "belief"), self.sent[-1]

    def say(self, **order):
        self.socket.send_text(json.dumps(order))


def streamed(client, script, game, viewer, history, curious):
    """All that the viewer is sent while people play this history; and its belief, some worlds and advice at the end.

    A `curious` viewer also asks for its belief on the way: that must not change what it is told later.
    """
    state = fl.new_state(game)
    movers = []
    for action in history:
        movers.append(state.player)
        state.play(action)
    script[:] = [action for mover, action in zip(movers, history, strict=True) if mover < 0]
    spec = fl.names.parse_spec(game)
    seats = ["me" if seat == viewer else "person" for seat in range(state.num_players)]
    order = {"game": spec.name, "parameters": dict(spec.arguments), "seats": seats}
    reply = client.post("/api/games", json=order)
    assert reply.status_code == 200 and reply.json()["game"] == game, reply.text
    with contextlib.ExitStack() as stack:
        # the viewer comes first, before chance plays
        state, people = fl.new_state(game), {}
        left = list(zip(movers, history, strict=True))

        def let_chance_play():
            while left and left[0][0] < 0:
                state.play(left.pop(0)[1])

        def place(seat):
            turn = "over" if state.player == TERMINAL else "yours" if state.player == seat else "waiting"
            return len(state.observations(seat)), turn

        for entry in sorted(reply.json()["seats"], key=lambda entry: entry["seat"] != viewer):
            people[entry["seat"]] = Watcher(client, entry["token"], stack)
        own = people[viewer]
        let_chance_play()
        while left:
            mover, action = left.pop(0)
            people[mover].catch_up(*place(mover))
            if curious:
                own.catch_up(*place(viewer))
                own.say(do="belief", seen=own.view["seen"])
                while own.receive()["is"] == "view":
                    pass
            people[mover].say(do="act", action=action, seen=people[mover].view["seen"])
            state.play(action)
            let_chance_play()
        own.catch_up(*place(viewer))
        views = [text for text in own.sent if json.loads(text)["is"] == "view"]
        own.sent.clear()
        seen = own.view["seen"]
        own.say(do="nonsense")
        own.receive(), own.receive()
        orders = [
            {"do": "belief"},
            {"do": "world", "index": 0},
            {"do": "world", "index": 1},
            {"do": "world", "index": 199},
        ]
        orders += [{"do": "ask", "agent": ADVISER}] if own.view["turn"] == "yours" else []
        kinds = Counter()
        for order in orders:
            own.say(**order, seen=seen)
            kinds[own.receive()["is"]] += 1
        return views, own.sent, kinds


GAMES = sorted(fl.game_names())
assert len(GAMES) == 15


@pytest.mark.parametrize("name", GAMES)
def test_twins_are_sent_the_same_bytes(twins, name, record_property, wanted=2):
    """Two worlds behind the same observations: every view on the way, belief, worlds and advice are equal."""
    (first, second), script = twins
    game, sizes, different, kinds = str(fl.load_game(name)), [0, 0], 0, Counter()
    found = pairs(game, wanted, seed=1)
    for viewer, history, other in found:
        views, answers, some = streamed(first, script, game, viewer, history, curious=len(history) < 16)
        again, same, _ = streamed(second, script, game, viewer, other, curious=False)
        assert views == again and len(views) >= 1
        assert answers == same
        sizes[0] += sum(map(len, views))
        sizes[1] += sum(map(len, answers))
        different += len(history) != len(other)
        kinds += some
    record_property("pairs", len(found))
    record_property("bytes of views", sizes[0])
    record_property("bytes of answers", sizes[1])
    record_property("pairs of other length", different)
    assert len(found) == wanted and sizes[0] > 500 * wanted and kinds["belief"] == wanted, kinds
    assert kinds["world"] >= wanted or name in ("unseen_rps",), kinds
    assert different >= (name == "phantom_ttt"), "silent tries of the other"


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
def test_many_twins_are_sent_the_same_bytes(twins, name, record_property):
    test_twins_are_sent_the_same_bytes(twins, name, record_property, wanted=20)


# A real server --------------------------------------------------------------------------------------------------------


class Server:
    """`foglight serve` as a process of its own, after some lines of Python, and what it wrote."""

    def __init__(self, folder, *arguments, first=""):
        self.log = folder / "log.txt"
        program = f"{first}\nfrom foglight.cli import main\nmain()"
        command = [sys.executable, "-c", program, "serve", "--port", "0", "--no-open", "--workers", "1"]
        command += ["--keep", str(folder / "page.sqlite"), *arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )
        line = self.process.stdout.readline().decode()
        assert "foglight is at http" in line, line + self.log.read_text()
        self.link = line.split()[3]
        self.port = urlsplit(self.link).port

    def request(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def post(self, path, content):
        status, body = self.request("POST", path, json.dumps(content).encode())
        return status, json.loads(body)

    def begin(self, game, seats, **parameters):
        status, reply = self.post("/api/games", {"game": game, "parameters": parameters, "seats": seats})
        assert status == 200, reply
        return [entry["token"] for entry in reply["seats"]]

    def sit(self, token, **options):
        return connect(
            f"ws://127.0.0.1:{self.port}/api/play/{token}",
            compression=None,
            max_size=2**24,
            open_timeout=PATIENCE,
            **options,
        )

    def workers(self):
        """The process ids of the workers, which have the server as their parent."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid and b"spawn_main" in (stat.parent / "cmdline").read_bytes():
                    found.append(int(stat.parent.name))
        return found

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        """Stop it and read its log: whatever it was sent, there is no traceback in it."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.kill()
        text = self.log.read_text(errors="replace")
        assert "Traceback" not in text and "Error" not in text, text[-4000:]


@pytest.fixture
def serve(tmp_path):
    """Starts servers, which are stopped at the end."""
    servers = []

    def start(*arguments, **options):
        servers.append(Server(tmp_path, *arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.close()


def receive(socket):
    return json.loads(socket.recv(timeout=PATIENCE))


def until(socket, *turns):
    """Views until it is one of these turns; other messages are left out."""
    while True:
        content = receive(socket)
        if content["is"] == "view" and content["turn"] in turns:
            return content


def act(socket, view, choice=0):
    socket.send(json.dumps({"do": "act", "action": view["moves"][choice][0], "seen": view["seen"]}))


def finish(socket, view):
    while view["turn"] != "over":
        if view["turn"] == "yours":
            act(socket, view)
        view = until(socket, "yours", "over")
    return view


# Nonsense -------------------------------------------------------------------------------------------------------------

STRINGS = [
    "", "me", "act", "../../etc/passwd", "/etc/passwd", "__import__('os').system('x')", "epimc(time=1e9)", "\u0000",
    "policy(file='/etc/passwd')", "os:system", "\ud800", "\ud83d\ude00" * 40, "%00", "'; DROP TABLE games; --",
    "openspiel:efg_game(filename=/etc/passwd)", "openspiel:nfg_game", "openspiel:repeated_game(stage_game=x())",
    "kuhn_poker(", "dark_hex(rows=9999999999)", "dark_hex(rows=1e309)", "x" * 5000, "[" * 990,
    "human", "\n", "{", "null", "١٢",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 7, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.0, 1.0, 0.5, 1e308, -0.0, True, False, None]
WORDS = ["do", "act", "action", "seen", "belief", "world", "index", "ask", "agent", "seconds", "stop", "game", "seats"]
WORDS += ["parameters", "seat", "options", "rows", "time", "file", "__class__", "cards"]
NAMES = ["kuhn_poker", "leduc_poker", "phantom_ttt", "liars_dice", "goofspiel", "dark_hex", "openspiel:tic_tac_toe"]
AGENTS = ["random", "first_legal", "epimc", "policy", "human", "scout", "pimc(iterations=10)", "uci", "ismcts"]


# what has gone wrong, or might easily
NASTY = [
    (f"/api/{path}", b"") for path in (f"stores/0/{'9' * 5000}", f"replay/t.x/{'9' * 5000}", "replay/s.0.1.\u0661")
]
NASTY = [(path.replace("\u0661", "%d9%a1"), body) for path, body in NASTY]
NASTY += [
    ("/api/position", json.dumps({"game": game, "seat": 0, "seen": seen}).encode())
    for game in (
        "[" * 990,
        "kuhn_poker(" + "[" * 900,
        "\ud800",
        "os:system",
        "openspiel:efg_game(filename=/etc/passwd)",
    )
    for seen in ([], [2**64])
]
NASTY += [
    ("/api/games", b"[" * 60_000),
    ("/api/games", b'{"game":' * 9_000),
    ("/api/games", b"\xff\xfe"),
    ("/api/games", b"9" * 5000),
]
NASTY += [
    (
        "/api/games",
        json.dumps({"game": "unseen_rps", "parameters": {"leave_value": what}, "seats": ["me", "person"]}).encode(),
    )
    for what in (float("nan"), float("inf"), "nan", "1e999", [[]], {})
]


def value(rng, depth=0):
    """Something that JSON can say."""
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return rng.choice(NUMBERS)
    if kind < 4:
        return rng.choice(STRINGS)
    if kind == 4:
        return rng.choice([*NAMES, *AGENTS, *WORDS])
    if kind < 7:
        return [value(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 5]))]
    return {rng.choice([*WORDS, *STRINGS]): value(rng, depth + 1) for _ in range(rng.choice([0, 1, 3]))}


def nonsense(rng):
    """A text or bytes of a message that no page would send."""
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(["[" * 60_000, '{"do":' * 9_000, "x" * 70_000, '{"do":"act","action":' + "9" * 6000 + "}"])
    if kind == 1:
        return rng.randbytes(rng.choice([0, 1, 50, 3000]))
    if kind == 2:
        return rng.choice(
            ['{"do":"act","action":NaN,"seen":NaN}', '{"do":"act","seen":1e999}', "NaN", '"\\ud800"', "{}"]
        )
    if kind == 3:
        return "".join(chr(rng.choice([*range(128), 0x2028, 0x1F600])) for _ in range(rng.randrange(60)))
    return json.dumps(value(rng))


def order(rng, view):
    """An order that is wrong in one or a few parts; now and then it is right, but no legal move."""
    content = {"do": rng.choice(["act", "act", "belief", "world", "ask", "stop", "sing"]), "seen": view["seen"]}
    content |= {"action": rng.choice([*NUMBERS, float(view["moves"][0][0]) if view["moves"] else 0.0])}
    content |= {"index": rng.choice(NUMBERS), "agent": rng.choice(AGENTS), "seconds": rng.choice([*NUMBERS, 0.01])}
    for key in rng.sample(sorted(content), rng.choice([0, 1, 1, 2])):
        content[key] = value(rng)
    if content["do"] == "act":
        legal = [action for action, _ in view["moves"]]
        if type(content["action"]) is int and content["action"] in legal:
            content["action"] = -7
    return json.dumps(content)


def request(rng, tokens):
    """A request by HTTP: method, path, body."""
    kind = rng.randrange(6)
    token = rng.choice([*tokens, "guess", rng.choice(STRINGS)])
    number = rng.choice(["0", "1", "-1", "9" * 30, "9" * 5000, "1.5", "١", "x", "%2e%2e", "0x1"])
    if kind == 0:
        body = {
            "game": rng.choice([*NAMES, *STRINGS]),
            "seats": rng.choice([["me", {"agent": rng.choice(AGENTS)}], value(rng)]),
        }
        body |= {"parameters": rng.choice([{}, {}, {"rows": rng.choice([*STRINGS, *NUMBERS])}, value(rng)])}
        return "POST", "/api/games", json.dumps(body)
    if kind == 1:
        seen = rng.choice([[], [1], [1, 2, 3], [10**400], ["1"], [1.0], list(range(3000)), value(rng)])
        body = {"game": rng.choice([*NAMES, *STRINGS]), "seat": rng.choice([0, 1, *NUMBERS]), "seen": seen}
        body |= {"agent": rng.choice(AGENTS), "seconds": rng.choice([0.01, *NUMBERS])}
        return "POST", rng.choice(["/api/position", "/api/position/ask"]), json.dumps(body)
    if kind == 2:
        content = nonsense(rng)
        return "POST", rng.choice(["/api/games", "/api/position", "/api/position/ask"]), content
    source = rng.choice([f"t.{token}", f"s.0.1.{number}", f"s.{number}.1.0", token, f"t.{number}"])
    if kind == 3:
        tail = rng.choice(["", f"/{number}", f"/{number}/belief/{number}", f"/{number}/verdict", "/file", "/0/verdict"])
        return rng.choice(["GET", "GET", "DELETE"]), f"/api/replay/{source}{tail}", ""
    paths = [
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "//etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/api/pictures/0",
        "/api",
    ]
    paths += [f"/api/stores/{number}", f"/api/stores/0/{number}?from={number}", f"/api/pictures/{number}", "/page/"]
    return rng.choice(["GET", "GET", "PUT", "POST", "HEAD"]), rng.choice(paths), ""


def sendable(path):
    """A path as bytes that an HTTP client sends."""
    return re.sub(
        r"[^!-~]", lambda found: "".join(f"%{byte:02x}" for byte in found[0].encode("utf-8", "replace")), path
    )


def fuzzed(serve, tmp_path, messages, seed=0):
    """Send nonsense by WebSocket and HTTP; then play all games to their ends. Returns how much was answered how."""
    rng = random.Random(seed)
    server = serve("--agent", "pimc(iterations=10)")
    counts = Counter()
    games = [(name, ["me", {"agent": "random"}]) for name in NAMES] + [("kuhn_poker", ["me", "person"])]
    tables_ = []  # tokens of each game
    for name, seats in games:
        tables_.append(server.begin(name, seats))
    tokens = [token for group in tables_ for token in group]
    secrets = hidden(tmp_path / "page.sqlite", tokens)
    for path, body in NASTY:
        status, content = server.request("POST" if body else "GET", path, body)
        assert status in (400, 404), (path[:200], body[:200], content)
        counts["sent"] += 1
    while counts["sent"] < messages:
        token = rng.choice(tokens)
        with contextlib.suppress(ConnectionClosed), server.sit(token) as socket:
            view, unknown = receive(socket), 0
            for _ in range(rng.choice([1, 20, 60])):
                content = nonsense(rng) if rng.random() < 0.4 else order(rng, view)
                counts["sent"] += 1
                socket.send(content)
                unknown += is_unknown(content)
                if rng.random() < 0.9:  # else it sends on without listening
                    counts += heard(socket, secrets[token], unknown)
                    unknown = 0
        counts["sockets"] += 1
        for _ in range(rng.choice([1, 10, 20])):
            method, path, body = request(rng, tokens)
            counts["sent"] += 1
            body = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
            status, content = server.request(method, sendable(path), body)
            counts[f"status {status}"] += 1
            assert status in (200, 400, 403, 404, 405, 409), (method, path[:200], body[:200], content[:200])
            if b"/api/replay/t." in path.encode("utf-8", "surrogatepass") and status == 200:
                raise AssertionError("no game is over")
            if method != "POST":
                assert not any(secret in content for secret in secrets[None]), (path, content)
    for (name, seats), group in zip(games, tables_, strict=True):
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(server.sit(token)) for token in group]
            views = [receive(socket) for socket in sockets]
            while any(view["turn"] != "over" for view in views):
                for i, socket in enumerate(sockets):
                    if views[i]["turn"] == "yours":
                        act(socket, views[i])
                        views[i] = until(socket, "waiting", "yours", "over")
                    elif views[i]["turn"] == "waiting" and views[1 - i if len(views) > 1 else i]["turn"] != "yours":
                        views[i] = until(socket, "yours", "over")
            counts["played to the end"] += 1
            assert len(views[0]["over"]["returns"]) == len(seats), name
    server.close()
    return counts


def hidden(path, tokens):
    """What no reply may contain, by the token that was used, and by None for requests without one."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    seeds = [str(seed).encode() for (seed,) in connection.execute("SELECT seed FROM page_games")]
    connection.close()
    assert len(seeds) == len(NAMES) + 1 and all(len(seed) > 10 for seed in seeds)
    always = [*seeds, str(path).encode(), b"Traceback", b'File "', b"root:x:"]
    return {token: [*always, *(other.encode() for other in tokens if other != token)] for token in [*tokens, None]}


def is_unknown(content):
    """Whether a message is an order, but none that the server knows."""
    if not isinstance(content, str) or len(content) > MOST_BYTES:
        return False
    try:
        return parsed(content).get("do") not in ("act", "belief", "world", "ask", "stop")
    except fl.BadInput:
        return False


def heard(socket, secrets, unknown):
    """Replies to what was sent, with so many unknown orders in it; none says what is hidden.

    They end with the reply to one more unknown order, an error and a view, for orders are answered one after the other.
    """
    socket.send(json.dumps({"do": "sing"}))
    counts, content = Counter(error=-1, view=-1), {}
    while unknown >= 0 or content["is"] != "view":
        text = socket.recv(timeout=PATIENCE)
        assert not any(secret in text.encode() for secret in secrets), text[:2000]
        content = json.loads(text)
        counts[content["is"]] += 1
        unknown -= content.get("text") == "this order is not known"
        assert content.get("over") is None, "nobody has played to the end"
    return counts


def test_nonsense_is_answered_in_one_line_and_costs_no_game(serve, tmp_path):
    counts = fuzzed(serve, tmp_path, 300)
    assert counts["sent"] >= 300 and counts["played to the end"] == 8
    assert counts["error"] > 50 and counts["view"] > 50 and counts["status 400"] > 30, counts


@pytest.mark.long
def test_ten_thousand_messages_of_nonsense(serve, tmp_path):
    counts = fuzzed(serve, tmp_path, 10_000, seed=1)
    assert counts["sent"] >= 10_000 and counts["played to the end"] == 8, counts
    sys.stdout.write(f"{dict(counts)}\n")


def test_many_questions_at_once_do_not_end_the_worker_that_all_games_share(serve):
    """Ending a thought ends its process. Whoever leafs through worlds quickly must not do that to everybody else."""
    # a belief that nobody waits for any more may go on for ten minutes, not for two seconds
    server = serve(first="from foglight.web import conversation; conversation._SOON = 600.0")
    (token,) = server.begin("phantom_ttt", ["me", {"agent": "random"}])
    with server.sit(token) as socket:
        view = until(socket, "yours")
        before = sorted(server.workers())
        for index in range(150):
            order = {"do": "belief"} if index % 2 else {"do": "world", "index": index}
            socket.send(json.dumps({**order, "seen": view["seen"]}))
        socket.send(json.dumps({"do": "world", "index": 0, "seen": view["seen"]}))
        while (reply := receive(socket)).get("index") != 0 or reply["is"] != "world":
            assert reply["is"] in ("belief", "world", "error"), reply
    with server.sit(token) as socket:  # leaving in the middle of a question does no harm either
        view = receive(socket)
        socket.send(json.dumps({"do": "belief", "seen": view["seen"]}))
    with server.sit(token) as socket:
        finish(socket, receive(socket))
    assert sorted(server.workers()) == before and len(before) == 2


# Kills ----------------------------------------------------------------------------------------------------------------

THINKER = "epimc(depth=2,iterations=30000)"  # some tenths of a second a move
BOARD = "dark_hex(rows=4,cols=3)"


def test_kill_9_of_server_and_workers_changes_nothing(serve, tmp_path):
    """One game is played in peace, and the same one with kills in the middle of moves and between them."""
    keeper = Keeper(tmp_path / "page.sqlite")
    peace, war = (keeper.add(BOARD, (THINKER, HUMAN), 11)[1][1] for _ in range(2))
    keeper.close()
    server = serve("--agent", THINKER)
    with server.sit(peace) as socket:
        expected = finish(socket, until(socket, "yours"))
    kills, shown = Counter(), 0
    view = {"turn": "waiting"}
    while view["turn"] != "over":
        with server.sit(war) as socket:
            view = until(socket, "waiting", "yours", "over")
            assert view["seen"] >= shown, "what was shown before the kill is still there"
            view = until(socket, "yours", "over") if view["turn"] == "waiting" else view
            if view["turn"] == "yours" and not kills["between moves"]:
                server.kill()
                kills["between moves"] += 1
            elif view["turn"] == "yours":
                act(socket, view)
                view = until(socket, "waiting", "yours", "over")
                shown = view["seen"]
                if view["turn"] == "waiting" and kills["workers"] < 2:
                    for worker in server.workers():  # one of them thinks
                        os.kill(worker, signal.SIGKILL)
                        kills["workers"] += 1
                    view = until(socket, "yours", "over")
                elif view["turn"] == "waiting" and not kills["server"]:
                    orphans = server.workers()
                    server.kill()
                    kills["server"] += 1
                    assert orphans and gone(orphans)
        if server.process.poll() is not None:
            server = serve("--agent", THINKER)
    assert view == expected and view["over"]["returns"] in ([1.0, -1.0], [-1.0, 1.0])
    assert kills["between moves"] == 1 and kills["server"] == 1 and kills["workers"] >= 2, kills
    server.close()


class Deaf:
    """A socket that says nothing, and takes nothing that it is sent."""

    async def send_text(self, text):
        await asyncio.sleep(3600)

    async def receive(self):
        await asyncio.sleep(3600)


class FirstLegal:
    """Workers whose agents play their first legal move."""

    async def ask(self, lane, limit, name, *arguments, topics=()):
        await asyncio.sleep(0)
        return arguments[-2][0]  # the first legal action


def test_nobody_waits_for_a_window_that_does_not_read(tmp_path):
    """Two people play, one of whom takes nothing; the other's game goes on, and the deaf window is given up."""

    async def all_of_it():
        keeper = Keeper(tmp_path / "page.sqlite")
        number, _ = keeper.add("dark_hex(rows=3,cols=3)", (HUMAN, HUMAN), 3)
        table = Table("dark_hex(rows=3,cols=3)", (HUMAN, HUMAN), 3)
        sitting = tables.Sitting(number, table, keeper, FirstLegal())
        deaf = Conversation(Deaf(), sitting, 1, Offers(), FirstLegal())
        running = asyncio.ensure_future(deaf.run())
        for _ in range(4):
            await asyncio.sleep(0)
        moves = 0
        while not table.over:
            seat = table.state.player
            sitting.act(seat, table.state.actions()[0], table.seen(seat))
            await asyncio.sleep(0)
            moves += 1
        assert moves >= 5 and not sitting.deserted
        for _ in range(100):
            deaf.send("more")
        await asyncio.wait_for(running, PATIENCE)
        keeper.close()
        return sitting.deserted

    assert asyncio.run(all_of_it())


def test_a_game_goes_on_if_somebody_comes_back_while_its_thinking_is_being_ended(tmp_path):
    class Thinking:
        thoughts = 0

        async def ask(self, lane, limit, name, *arguments, topics=()):
            self.thoughts += 1
            if self.thoughts == 1:
                await asyncio.sleep(60)
            return arguments[-2][0]  # the first legal action

    class Window:
        turn = ""

        def send(self, text):
            self.turn = json.loads(text)["turn"]

    async def all_of_it():
        keeper = Keeper(tmp_path / "page.sqlite")
        number, _ = keeper.add("phantom_ttt", ("random", HUMAN), 3)
        sitting = tables.Sitting(number, Table("phantom_ttt", ("random", HUMAN), 3), keeper, Thinking())
        first, second = Window(), Window()
        sitting.join(first, 1)
        for _ in range(5):
            await asyncio.sleep(0)
        sitting.leave(first)
        sitting.stop()
        sitting.join(second, 1)
        for _ in range(50):
            await asyncio.sleep(0)
        keeper.close()
        return second.turn

    assert asyncio.run(all_of_it()) == "yours"


def test_no_worker_is_lost_however_questions_are_cancelled(monkeypatch):
    """200 questions at once, half of them cancelled at any moment: the lane has as many workers as before."""

    class Worker:
        alive = True

        def __init__(self):
            self.topics = set()

        def end(self):
            pass

    monkeypatch.setattr(workers, "_Worker", Worker)

    async def all_of_it():
        lane, rng, done = workers._Lane(2), random.Random(7), 0
        await lane.start()

        async def question(steps):
            nonlocal done
            async with lane.worker([]):
                for _ in range(steps):
                    await asyncio.sleep(0)
            done += 1

        for _ in range(10):
            tasks = [asyncio.ensure_future(question(rng.randrange(4))) for _ in range(200)]
            for _ in range(100):
                for _ in range(rng.randrange(3)):
                    await asyncio.sleep(0)
                left = [task for task in tasks if not task.done()]
                rng.choice(left[:4]).cancel()  # those that have a worker, get one or give it back
            await asyncio.wait(tasks, timeout=PATIENCE)
            assert all(task.done() for task in tasks), "some wait for ever"
            await asyncio.gather(*lane._additions)
        return done, len(lane._free), len(lane._all)

    done, free, everyone = asyncio.run(all_of_it())
    assert done >= 500 and (free, everyone) == (2, 2)


def test_workers_that_died_while_they_were_idle_are_replaced_before_they_are_asked():
    async def all_of_it():
        crew = Workers(2)
        await crew.start()
        try:
            for lane in crew._lanes.values():
                for worker in list(lane._all):
                    os.kill(worker._process.pid, signal.SIGKILL)
                    worker._process.join()
            question = "move", 1, "kuhn_poker", "first_legal", 0, 0, [1], [0, 1]
            return [await crew.ask(lane, PATIENCE, *question) for lane in (workers.SLOW, workers.QUICK)]
        finally:
            crew.close()

    assert asyncio.run(all_of_it()) == [0, 0]


def gone(pids):
    """Whether these processes end."""
    end = time.monotonic() + PATIENCE
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_running, pids))


# Strangers ------------------------------------------------------------------------------------------------------------


def test_strangers_get_nothing_and_seats_get_their_own(serve, tmp_path):
    server = serve("--host", "0.0.0.0")
    token = re.search(r"token=([\w-]+)", server.link)[1]
    host = {"Host": f"127.0.0.1:{server.port}"}
    paths = [
        "/",
        "/page/main.js",
        "/page/drawing.css",
        "/api/offers",
        "/api/offers/openspiel",
        "/api/stores/0",
        "/nothing",
    ]
    paths += ["/?token=", "/?token=guess", f"/?token={token[:-1]}", f"/api/offers?token={token}", "/api/pictures"]
    silent = 0
    for path in paths:
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            for headers in (
                {},
                {"Cookie": "foglight=guess"},
                {"Cookie": f"foglight={token}x"},
                {"Authorization": token},
            ):
                status, content = server.request(method, path, b"{}", headers)
                assert (status, content) == (403, b""), (method, path, headers)
                silent += 1
    assert silent == 12 * 4 * 4
    cookie = {"Cookie": f"foglight={token}"}
    assert server.request("GET", f"/?token={token}")[0] == 303
    assert server.request("GET", "/api/offers", headers=cookie)[0] == 200
    evil = {**cookie, **host, "Origin": "https://evil.example"}
    assert server.request("POST", "/api/games", b"{}", evil) == (403, b"")
    body = json.dumps({"game": "kuhn_poker", "seats": ["me", "person"]}).encode()
    first, second = (
        entry["token"] for entry in json.loads(server.request("POST", "/api/games", body, cookie)[1])["seats"]
    )
    assert first != second and min(len(first), len(second)) >= 20
    for headers in ({}, {"Cookie": "foglight=x"}, {**cookie, "Origin": "https://evil.example"}):
        with pytest.raises(InvalidStatus) as refused, server.sit(first, additional_headers=headers):
            pass
        assert refused.value.response.status_code == 403
    with server.sit(first, additional_headers=cookie) as one, server.sit(second, additional_headers=cookie) as other:
        views = [until(one, "yours"), until(other, "waiting")]
        assert [view["seat"] for view in views] == [0, 1] and views[1]["moves"] == []
        assert views[0]["text"] != views[1]["text"]
        other.send(json.dumps({"do": "act", "action": views[0]["moves"][0][0], "seen": views[1]["seen"]}))
        assert receive(other) == {"is": "error", "text": "it is not your turn"} and receive(other) == views[1]
    offers = server.request("GET", "/api/offers", headers=cookie)[1]
    for secret in (token, first, second, str(tmp_path)):
        assert secret.encode() not in offers
    assert server.request("POST", "/api/games", b"x" * 100_000, cookie)[0] == 400
    with pytest.raises(ConnectionClosed), server.sit(first, additional_headers=cookie) as one:
        receive(one)
        one.send("x" * 1_000_000)
        receive(one)
    server.close()


def test_too_many_requests_are_refused_and_too_many_orders_wait(twins, monkeypatch):
    client = twins[0][0]
    slow = Bucket(0.001, 3.0)
    monkeypatch.setattr(client.page, "_new_games", slow)
    monkeypatch.setattr(client.page, "_questions", slow)
    order = {"game": "kuhn_poker", "seats": ["me", "person"]}
    replies = [client.post("/api/games", json=order) for _ in range(5)]
    assert [reply.status_code for reply in replies[:3]] == [200] * 3
    assert all(reply.status_code in (400, 429) and "too many" in reply.json()["error"] for reply in replies[3:])
    assert client.post("/api/position", json={"game": "kuhn_poker", "seat": 0, "seen": []}).status_code in (400, 429)
    waits, now = [], time.monotonic()
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: now))  # all orders come at the same moment
    monkeypatch.setattr(asyncio, "sleep", lambda seconds, sleep=asyncio.sleep: waits.append(seconds) or sleep(0))
    token = replies[0].json()["seats"][0]["token"]
    with client.websocket_connect(f"{HERE.replace('http', 'ws')}/api/play/{token}") as socket:
        socket.receive_text()
        for _ in range(300):
            socket.send_text("")
        for _ in range(600):
            socket.receive_text()
    slowed = sorted(seconds for seconds in waits if seconds)
    assert slowed == pytest.approx([n / 50 for n in range(1, 101)]), "to 50 a second after the first 200"


def test_what_a_seat_is_shown_does_not_depend_on_what_others_do_unseen():
    """A table whose other seat tries and fails, beside one where it has not: equal views."""
    quiet, busy = Table("phantom_ttt", (HUMAN, HUMAN), 1), Table("phantom_ttt", (HUMAN, HUMAN), 1)
    for action in (4, 0):
        quiet.play(action)
    for action in (4, 4, 0):  # the second player runs into the first one
        busy.play(action)
    assert quiet.view(0) == busy.view(0) and quiet.view(1) != busy.view(1)


def test_a_log_that_is_asked_for_after_every_action_is_that_of_the_end():
    lines = 0
    for game in ("phantom_ttt", "leduc_poker", "dark_hex"):
        state, rng = fl.new_state(game), random.Random(game)
        while state.player != TERMINAL:
            other = state.clone()
            before = [state.log(viewer) for viewer in (-1, 0, 1)]
            state.play(rng.choice(state.actions()))
            state.log(0).append("this is the caller's list")
            other.play(rng.choice(other.actions()))
            assert [fl.state.replay(game, other.history()).log(viewer) for viewer in (-1, 0, 1)] == [
                other.log(viewer) for viewer in (-1, 0, 1)
            ]
            fresh = fl.state.replay(game, state.history())
            for viewer, lines_before in zip((-1, 0, 1), before, strict=True):
                assert state.log(viewer) == fresh.log(viewer) and fresh.log(viewer)[: len(lines_before)] == lines_before
                lines += len(lines_before)
    assert lines > 50
