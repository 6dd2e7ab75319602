"""A Ray cluster of three nodes on this machine: tournaments, studies and training give there what one process gives,
whatever is killed.

`ray.cluster_utils` starts real nodes: each has processes of its own, and is killed by ending them.
"""

import contextlib
import itertools
import os
import platform
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # as foglight sets it before it imports Ray
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
ray = pytest.importorskip("ray", reason="a cluster needs Ray, the extra foglight[cluster]")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="a cluster needs Ray, the extra foglight[cluster]")

from test_pieces import died_and_done, dying  # noqa: E402

import foglight as fl  # noqa: E402
from foglight.bench.pieces import players  # noqa: E402
from foglight.pieces import Lot, Where, on_ray, opened  # noqa: E402

GAMES, AGENTS = ["kuhn_poker", "phantom_ttt"], ["random", "first_legal", "pimc(iterations=20)"]
EACH, SEED = 60, 4
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_log_monitor": False}
HEAD = {**NODE, "include_dashboard": False, "no_monitor": True}


@pytest.fixture(scope="module")
def cluster():
    # the head has no core, so that every node that works can be killed
    cluster = cluster_utils.Cluster(True, head_node_args={**HEAD, "num_cpus": 0})
    for _ in range(2):
        cluster.add_node(**NODE)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The tournament of one process: its result, and what it has stored."""
    store = tmp_path_factory.mktemp("alone") / "games.sqlite"
    return fl.play_tournament(GAMES, AGENTS, EACH, SEED, store=store), stored(store)


def stored(path):
    """Matches and games in a store, in the order of their keys."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        matches = connection.execute("SELECT * FROM matches ORDER BY match").fetchall()
        games = connection.execute("SELECT * FROM games ORDER BY match, number").fetchall()
        assert connection.execute("SELECT count(DISTINCT match || ' ' || number) FROM times").fetchone() == (
            len(games),
        )
    return matches, games


def test_a_tournament_survives_the_death_of_a_node(cluster, table, tmp_path, monkeypatch):
    victim, killed_at = cluster.add_node(**NODE), []
    # a second between two looks at the clock, so that progress is told after each batch, and not 20 times a second
    monkeypatch.setattr("foglight.arena.match.time", SimpleNamespace(monotonic=itertools.count(1).__next__))

    def progress(done, total):
        if done > total // 3 and not killed_at:
            killed_at.append(done)
            cluster.remove_node(victim, allow_graceful=False)

    store = tmp_path / "games.sqlite"
    result = fl.play_tournament(GAMES, AGENTS, EACH, SEED, cluster.address, store, progress)
    assert killed_at and killed_at[0] < result.played == 360
    assert (result, stored(store)) == table
    assert str(result) == str(table[0])
    assert not ray.is_initialized()


@dataclass
class Slow(fl.Agent):
    """It plays its first legal action, 30 ms later as long as the folder `mark` is there."""

    mark: str = ""

    def act(self, actions=None):
        if Path(self.mark).is_dir():
            time.sleep(0.03)
        return (actions or self.legal_actions())[0]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("place", ["the cluster", pytest.param("one process", marks=pytest.mark.long)])
def test_a_driver_that_is_killed_is_resumed_by_the_same_command(cluster, run, tmp_path, place):
    mark, store, alone = tmp_path / "mark", tmp_path / "games.sqlite", tmp_path / "alone.sqlite"
    command = ["tournament", f"{__name__}:Slow(mark={mark})", "random", "first_legal", "--game", "kuhn_poker"]
    command += ["--games", "40", "--seed", str(SEED), "--json"]
    expected = run(*command, "--store", str(alone))
    mark.mkdir()
    far = [*command, "--store", str(store), "--on", cluster.address]
    driver = subprocess.Popen([sys.executable, "halting.py", "90", *far], cwd=Path(__file__).parent)
    while driver.poll() is None and count(store) < 30:
        time.sleep(0.01)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL and 30 <= count(store) <= 90
    kept = stored(store)[1]
    limit = time.monotonic() + 120
    while (left := players(b"ray::_Actor")) and time.monotonic() < limit:
        time.sleep(0.01)
    assert not left, "workers of a dead driver keep their cores"
    mark.rmdir()
    assert run(*(far if place == "the cluster" else far[:-2])) == expected and expected[0] == 0
    assert stored(store) == stored(alone) and set(kept) < set(stored(store)[1])


def count(store):
    try:
        return len(stored(store)[1])
    except (sqlite3.OperationalError, AssertionError):  # not there yet
        return 0


@pytest.mark.long
def test_a_package_that_is_not_installed_travels(cluster, tmp_path, monkeypatch):
    package = tmp_path / "travelling"
    package.mkdir()
    (tmp_path / "luggage.py").write_text("PLACE = -1\n")
    (package / "__init__.py").write_text("")
    (package / "bots.py").write_text(
        textwrap.dedent("""
        import foglight as fl
        import luggage

        class Last(fl.Agent):
            def act(self, actions=None):
                return (actions or self.legal_actions())[luggage.PLACE]

        class Wrong(fl.Agent):
            def act(self, actions=None):
                raise KeyError("mine")
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    here = fl.play_match("kuhn_poker", ["travelling.bots:Last", "random"], 40)
    assert fl.play_match("kuhn_poker", ["travelling.bots:Last", "random"], 40, workers=cluster.address) == here
    with pytest.raises(KeyError, match="mine") as raised:
        fl.play_match("kuhn_poker", ["travelling.bots:Wrong", "random"], 40, workers=cluster.address)
    assert "Wrong fails on seat" in raised.value.__notes__[0]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("travelling", "luggage")]:
        del sys.modules[name]


@pytest.mark.long
def test_a_file_that_an_option_names_travels(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fl.solve("kuhn_poker", 50).save("table.npz")
    agents = ["policy(table.npz)", "random"]
    here = fl.play_match("kuhn_poker", agents, 40, SEED, store="here.sqlite")
    monkeypatch.setattr(on_ray.os, "getcwd", lambda: "/nowhere")  # so that workers do not find the file by its path
    assert fl.play_match("kuhn_poker", agents, 40, SEED, cluster.address, "there.sqlite") == here
    assert stored("there.sqlite") == stored("here.sqlite")


# Pieces ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_workers_that_are_killed_lose_nothing(cluster, tmp_path):
    with opened(cluster.address, modules=["test_pieces"]) as place:
        assert died_and_done(place, tmp_path, 40) == 4


# At greater length ----------------------------------------------------------------------------------------------


def test_a_node_is_refused_after_three_failures_in_a_row(monkeypatch, capsys):
    """Failures of a long run do not add up: here a worker starts after every second one."""
    dead, alive = Future(), Future()
    dead.set_exception(ray.exceptions.RayActorError())
    alive.set_result(on_ray._versions())
    monkeypatch.setattr(ray, "nodes", lambda: [{"NodeID": "n", "Alive": True, "NodeManagerAddress": "10.0.0.9"}])
    monkeypatch.setattr(ray, "kill", lambda actor: None)
    cluster = object.__new__(on_ray.Cluster)
    cluster._ray, cluster._crew, cluster._failures, cluster._refused = ray, [], Counter(), {}
    for future in [dead, dead, alive] * 2 + [dead] * 3:
        assert not cluster._refused
        hand = on_ray.Actor(actor=None, node="n")
        cluster._crew.append(hand)
        cluster._outcome(hand, None, future)
    assert "node 10.0.0.9 is not used, for workers cannot start there" in cluster._refused["n"]
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.long
def test_no_more_workers_than_allowed(cluster, tmp_path):
    for piece in range(40):
        (tmp_path / str(piece)).touch()  # so that nothing dies
    with opened(Where(cluster.address, 1), modules=["test_pieces"]) as place:
        assert {len(place._crew) for _ in place.run(dying, [Lot(str(tmp_path), range(40))])} == {1}


@pytest.mark.long
def test_a_node_with_another_version_is_refused(cluster, table, tmp_path, monkeypatch, capfd):
    """Its foglight is ours in all but the version."""
    package, empty = Path(fl.__file__).parent, tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)  # workers can import what is in the driver's folder
    shutil.copytree(package, tmp_path / "foglight", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "foglight" / "version.py").write_text('__version__ = RESULTS_VERSION = "0.0.1"\n')
    node = cluster.add_node(**NODE, env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        assert fl.play_tournament(GAMES, AGENTS, EACH, SEED, cluster.address) == table[0]
    finally:
        cluster.remove_node(node, allow_graceful=False)
    line = f"is not used, for it has foglight 0.0.1, and not {fl.__version__}; install there what is here"
    assert line in capfd.readouterr().err


@pytest.mark.long
def test_a_ray_that_is_started_here_and_ended_and_a_cluster_after_it(cluster, run):
    command = ["tournament", *AGENTS[:2], "--game", GAMES[0], "--games", str(EACH), "--seed", str(SEED)]
    expected = run(*command, "--json")
    assert run(*command, "--json", "--on", "ray", "--workers", "2") == expected and expected[0] == 0
    assert not ray.is_initialized()
    assert run(*command, "--json", "--on", cluster.address) == expected


@pytest.mark.long
def test_a_client_outside_of_the_cluster():
    pytest.importorskip("grpc", reason="a client needs gRPC, the extra foglight[cluster]")
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = cluster_utils.Cluster(True, head_node_args={**HEAD, "ray_client_server_port": port})
    limit = time.monotonic() + 120
    try:
        while time.monotonic() < limit:  # Ray does not wait for it
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        far = fl.play_match("kuhn_poker", AGENTS[:2], 200, SEED, f"ray://127.0.0.1:{port}")
    finally:
        cluster.shutdown()
    assert far == fl.play_match("kuhn_poker", AGENTS[:2], 200, SEED)


@pytest.mark.long
def test_training_and_studies_give_what_they_give_here(cluster, tmp_path):
    pytest.importorskip("torch", reason="value networks need PyTorch, the extra foglight[values]")
    from foglight.studies import run_study
    from foglight.values.self_play.experience import Plan
    from foglight.values.self_play.learning import learn

    request = fl.DatasetRequest("goofspiel(cards=4)", depth=4, strategies=60)
    plan = Plan("goofspiel(cards=4)", rounds=2, games=4, steps=5, iterations=5, base=8, width=16)
    contents = []
    for where in (1, cluster.address):
        folder = tmp_path / str(len(contents))
        fl.generate_dataset(request, folder / "data", where)
        learn(plan, folder / "learned", where)
        run_study("filtering_sizes", folder / "study", True, 0, workers=where)
        names = ["data/shard-0002.npz", "learned/network.safetensors", "learned/points-0001.npz", "study/table.md"]
        contents.append([(folder / name).read_bytes() for name in names])
    assert contents[0] == contents[1]


def test_a_cluster_that_is_not_there_gets_one_line(run):
    code, out, err = run("match", "random", "random", "--game", "kuhn_poker", "--games", "3", "--on", "127.0.0.1:9")
    assert (code, out) == (2, "") and err.startswith("cannot join the cluster at 127.0.0.1:9 (")
    assert err.count("\n") == 1


@pytest.mark.parametrize("answer", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b""])
def test_a_port_where_something_else_listens_gets_one_line(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        address = "{}:{}".format(*server.getsockname())
        with pytest.raises(fl.BadInput, match=f"cannot join the cluster at {address} .what listens there is not Ray"):
            opened(address)
        thread.join()


def test_another_python_than_the_cluster_has_gets_one_line(cluster, monkeypatch):
    monkeypatch.setattr("ray._private.utils.compute_version_info", lambda: (ray.__version__, "3.9.1"))
    with pytest.raises(fl.BadInput, match=r"cannot join the cluster at .*Version mismatch") as raised:
        opened(cluster.address)
    line = str(raised.value)
    assert "Python: 3.9.1" in line and f"Python: {platform.python_version()}" in line and "\n" not in line


@pytest.mark.parametrize(
    ("needs", "words"), [({"threads": 64}, "64 cores"), ({"memory": 2**50}, "1 core and 1048576.0 GiB")]
)
def test_more_than_any_node_has_gets_one_line(cluster, needs, words):
    line = f"no node of the cluster has {words}; add one, or ask for less"
    with pytest.raises(fl.BadInput, match=line), opened(cluster.address, **needs) as place:
        list(place.run(dying, [Lot("", [1])]))


@pytest.mark.long
def test_a_cluster_that_goes_away_gets_one_line_and_the_match_goes_on_here(tmp_path):
    short = cluster_utils.Cluster(True, head_node_args={**HEAD, "num_cpus": 0})
    node, left = short.add_node(**NODE), [1]
    store, agents = tmp_path / "games.sqlite", ["foglight.bench.pieces:Sleeper", "random"]

    def progress(done, total):
        if done > 20 and left:
            left.clear()
            short.remove_node(node, allow_graceful=False)

    try:
        with pytest.raises(fl.BadInput, match="no node of the cluster has 1 core; add one, or ask for less"):
            fl.play_match("kuhn_poker", agents, 400, SEED, short.address, store, progress)
    finally:
        short.shutdown()
    assert 20 < count(store) < 400
    assert fl.play_match("kuhn_poker", agents, 400, SEED, store=store).games == 400
    assert not ray.is_initialized()


def test_without_ray_a_line_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, out, err = run("match", "random", "random", "--game", "kuhn_poker", "--games", "3", "--on", "ray")
    assert (code, out, err) == (2, "", "a cluster needs Ray; install it with: pip install 'foglight[cluster]'\n")
