"""The server of the page, asked as a browser would: games by HTTP and WebSocket, the door, and what interrupts."""

import asyncio
import contextlib
import json
import time

import pytest

import foglight as fl

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from foglight.arena.store import open_store
from foglight.web import tables
from foglight.web.app import Page
from foglight.web.guard import Guard
from foglight.web.keeper import Keeper
from foglight.web.offers import HUMAN, Offers
from foglight.web.server import serve
from foglight.web.workers import QUICK, SLOW, Failed, Workers

HERE = "http://127.0.0.1:8421"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.sqlite"
    offers = Offers(agents=["epimc(iterations=50)", "test_web_app:Slow"])
    page = Page(offers, path, Workers(1))
    application = page.application()
    with TestClient(Guard(application, hosts=["127.0.0.1"]), base_url=HERE) as client:
        client.page, client.path = page, path
        yield client


class Slow(fl.Agent):
    """Thinks for a minute."""

    time = 60.0
    gives_reasons = True

    def act(self, actions=None):
        time.sleep(self.time)
        return actions[0]


def begin(client, game="kuhn_poker", seats=("me", {"agent": "random"}), **parameters):
    reply = client.post("/api/games", json={"game": game, "parameters": parameters, "seats": list(seats)})
    assert reply.status_code == 200, reply.text
    return [entry["token"] for entry in reply.json()["seats"]]


def sitting(client, token):
    return client.websocket_connect(f"{HERE.replace('http', 'ws')}/api/play/{token}")


def receive(socket, kind="view"):
    content = json.loads(socket.receive_text())
    while content["is"] == "wait" != kind:  # the machine is busy
        content = json.loads(socket.receive_text())
    assert content["is"] == kind, content
    return content


def until(socket, *turns):
    """Views until it is one of these turns."""
    while (view := receive(socket))["turn"] not in turns:
        pass
    return view


def act(socket, view, choice=0):
    socket.send_text(json.dumps({"do": "act", "action": view["moves"][choice][0], "seen": view["seen"]}))


def finish(socket, view):
    """Play first moves to the end."""
    moves = 0
    while view["turn"] != "over":
        if view["turn"] == "yours":
            act(socket, view)
            moves += 1
        view = until(socket, "yours", "over")
    return view, moves


def test_a_game_is_played_left_and_looked_back_on(client):
    moves, before = 0, len(finished_games(client))
    for game, parameters in (("leduc_poker", {}), ("dark_hex", {"rows": "2", "cols": "2"}), ("phantom_ttt", {})):
        (token,) = begin(client, game, **parameters)
        with sitting(client, token) as socket:
            view = until(socket, "yours")
            act(socket, view)
            after = until(socket, "yours", "over")
        with sitting(client, token) as socket:  # the page was loaded again
            assert receive(socket) == after
            last, more = finish(socket, after)
        moves += 1 + more
        replay = client.get(f"/api/replay/t.{token}").json()
        assert replay["returns"] == last["over"]["returns"] and replay["seat"] == 0
        state = fl.new_state(replay["game"])
        for step, played in enumerate(replay["steps"]):
            shown = client.get(f"/api/replay/t.{token}/{step}").json()
            assert shown["mover"] == played["mover"] == state.player and len(shown["seats"]) == 2
            state.play(state.parse_action(played["action"]))
        assert client.get(f"/api/replay/t.{token}/{len(replay['steps'])}").json()["over"]
        assert client.get(f"/api/replay/t.{token}/{len(replay['steps']) + 1}").status_code == 400
    assert moves >= 5 and len(finished_games(client)) == before + 3


def finished_games(client):
    with contextlib.closing(open_store(client.path)) as store:
        return list(store.games())


def test_two_people_play_each_other(client):
    first, second = begin(client, "kuhn_poker", ("me", "person"))
    with sitting(client, first) as one, sitting(client, second) as other:
        views = [until(one, "yours"), until(other, "waiting")]
        assert [view["seat"] for view in views] == [0, 1] and views[0]["text"] != views[1]["text"]
        act(one, views[0])
        assert receive(one)["turn"] == "waiting"
        act(other, until(other, "yours"))
        assert until(one, "over")["over"] == until(other, "over")["over"]


def test_what_is_out_of_order_is_answered_and_the_game_goes_on(client):
    (token,) = begin(client)
    with sitting(client, token) as socket:
        view = until(socket, "yours")
        bad = [
            "",
            "[]",
            "{}",
            "null",
            '{"do":"fly"}',
            '{"do":"act"}',
            json.dumps({"do": "act", "action": 0, "seen": 9}),
        ]
        bad += ['{"do":"ask","seen":1,"agent":"epimc(time=99)"}', '{"do":"world","seen":1,"index":-1}', "[" * 30_000]
        for text in bad:
            socket.send_text(text)
            assert receive(socket, "error")["text"] and receive(socket) == view
        socket.send_bytes(b"\x00\xff")
        assert receive(socket, "error")["text"] and receive(socket) == view
        assert finish(socket, view)[1] >= 1
    assert client.get(f"/api/replay/t.{begin(client)[0]}").status_code == 409  # it is not over
    with sitting(client, "guess") as socket:
        assert receive(socket, "error")["gone"]
    assert client.get("/api/replay/t.guess").status_code == 400
    assert client.get("/api/replay/x.y").status_code == 400


@pytest.mark.parametrize(
    "order",
    [
        [],
        {"game": "kuhn_poker"},
        {"game": "kuhn_poker", "seats": ["me"]},
        {"game": "kuhn_poker", "seats": ["me", "me"]},
        {"game": "kuhn_poker", "seats": ["me", 7]},
        {"game": "kuhn_poker", "seats": [{"agent": "random"}, {"agent": "random"}]},
        {"game": "kuhn_poker", "seats": ["me", {"agent": "epimc", "seconds": 1e9}]},
        {"game": "kuhn_poker", "seats": ["me"] * 5000},
    ],
)
def test_games_that_cannot_begin_are_refused_with_a_line(client, order):
    reply = client.post("/api/games", json=order)
    assert reply.status_code == 400 and "\n" not in reply.json()["error"]


def test_too_much_is_refused(client):
    assert client.post("/api/games", content=b"x" * 100_000).json()["error"] == "this is too long"


def test_the_files_of_the_page_come_with_a_policy_that_forbids_the_world(client):
    reply = client.get("/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert ".foglight" in client.get("/page/drawing.css").text
    assert client.get("/page/../app.py").status_code == 404
    assert client.get("/api/offers").headers["cache-control"] == "no-store"


# The door -------------------------------------------------------------------------------------------------------------


def test_only_this_machine_and_this_origin_are_answered(client):
    assert client.get("/api/offers").status_code == 200
    assert client.get("/api/offers", headers={"host": "evil.example:8421"}).status_code == 403
    assert client.get("/api/offers", headers={"host": "127.0.0.1.evil.example"}).status_code == 403
    assert client.post("/api/games", json={}, headers={"origin": "https://evil.example"}).status_code == 403
    assert client.post("/api/games", json={}, headers={"origin": "null"}).status_code == 403
    assert client.post("/api/games", json={}, headers={"origin": HERE}).status_code == 400  # the door is open
    (token,) = begin(client)
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"/api/play/{token}", headers={"origin": "https://evil.example"}),
    ):
        pass


def test_with_a_token_nothing_answers_without_it(client):
    guarded = TestClient(Guard(client.app._application, token="secret"), base_url="http://there:80")
    for path in ("/", "/api/offers", "/page/drawing.css", "/?token=guess", "/api/offers?token=secret"):
        reply = guarded.get(path, follow_redirects=False)
        assert reply.status_code == 403 and reply.content == b""
    with pytest.raises(WebSocketDisconnect), guarded.websocket_connect("/api/play/x"):
        pass
    reply = guarded.get("/?token=secret", follow_redirects=False)
    assert reply.status_code == 303 and reply.headers["location"] == "/"
    assert "HttpOnly" in reply.headers["set-cookie"] and "SameSite=Strict" in reply.headers["set-cookie"]
    guarded.cookies.clear()
    for cookie, status in (("foglight=secret", 200), ("foglight=secret2", 403), ("foglight=", 403), ("\x00=", 403)):
        assert guarded.get("/api/offers", headers={"cookie": cookie}).status_code == status


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_port_that_does_not_exist_is_refused(port, tmp_path):
    with pytest.raises(fl.BadInput, match=f"from 0 to 65535, not {port}"):
        serve(port=port, keep=tmp_path / "page.sqlite")


# Interrupting ---------------------------------------------------------------------------------------------------------


def test_leaving_ends_the_thinking_and_a_dead_worker_is_replaced(client, monkeypatch):
    monkeypatch.setattr(tables, "_GRACE", 0.05)
    (token,) = begin(client, "kuhn_poker", ({"agent": "test_web_app:Slow", "seconds": 1.0}, "me"))
    with sitting(client, token) as socket:
        assert receive(socket)["turn"] == "waiting"
    # the only slow worker slept for a minute; it answers another game's agent now
    (token,) = begin(client, "kuhn_poker", ({"agent": "epimc(iterations=50)"}, "me"))
    with sitting(client, token) as socket:
        assert until(socket, "yours")["moves"]


def test_workers_answer_fail_and_are_replaced():
    async def all_of_it():
        workers = Workers(1)
        await workers.start()
        try:
            question = "move", 1, "kuhn_poker", "first_legal", 0, 0, [1], [0, 1]
            assert await workers.ask(QUICK, 600.0, *question) == 0
            with pytest.raises(fl.BadInput, match="unknown agent"):
                await workers.ask(QUICK, 600.0, "move", 1, "kuhn_poker", "epimk", 0, 0, [1], [0, 1])
            with pytest.raises(Failed, match="KeyError"):
                await workers.ask(QUICK, 600.0, "nothing")
            with pytest.raises(Failed, match="no answer after"):
                await workers.ask(SLOW, 0.2, "move", 1, "kuhn_poker", "test_web_app:Slow", 0, 0, [1], [0, 1])
            task = asyncio.ensure_future(workers.ask(SLOW, 600.0, *question[:3], "test_web_app:Slow", *question[4:]))
            await asyncio.sleep(0.1)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert await workers.ask(SLOW, 600.0, *question) == 0
            assert await workers.ask(QUICK, 600.0, *question) == 0
        finally:
            workers.close()

    asyncio.run(all_of_it())


def test_a_game_goes_on_in_a_new_server(tmp_path):
    """The second server knows nothing but the file; the agent with iterations plays as if nothing had happened."""
    path = tmp_path / "page.sqlite"
    seats, plays = ("epimc(iterations=50)", HUMAN), []
    keeper = Keeper(path)
    number, tokens = keeper.add("dark_hex(rows=2,cols=2)", seats, 11)
    whole, halves = keeper.add("dark_hex(rows=2,cols=2)", seats, 11), (number, tokens)
    keeper.close()
    for _, given in (whole, halves):
        view = None
        for stop in (99,) if given is whole[1] else (1, 1, 99):
            page = Page(Offers(agents=["epimc(iterations=50)"]), path, Workers(1))
            guarded = Guard(page.application(), hosts=["127.0.0.1"])
            with TestClient(guarded, base_url=HERE) as client, sitting(client, given[1]) as socket:
                view = until(socket, "yours", "over")
                for _ in range(stop):
                    if view["turn"] == "over":
                        break
                    act(socket, view)
                    view = until(socket, "yours", "over")
        plays.append(view)
    assert plays[0] == plays[1] and plays[0]["turn"] == "over"
