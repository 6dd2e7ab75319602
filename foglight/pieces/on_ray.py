"""Pieces on Ray: workers are actors, one for each core that a node of the cluster offers.

An actor belongs to one node and dies with it. New nodes are noticed, and get actors. A new actor first says which
versions it has, and gets pieces only if they are ours: so a node with other versions is refused, and pieces never wait
for a node that does not answer. Ray repeats nothing by itself; what died with an actor is sent to another one.
"""

import contextlib
import os
import queue
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foglight.fingerprints import local_paths
from foglight.names import BadInput
from foglight.pieces import DEATHS, Batch, Crew, Hand, Outcome, Worker
from foglight.pieces.luggage import packed, unpack
from foglight.version import __version__

_LOOK = 1.0  # seconds between two looks at the nodes of the cluster
_PATIENCE = 10.0  # seconds that workers get to close what they have open
_STORE = 512 * 2**20  # bytes of shared memory of a Ray that we start
_AGAIN = "start it, and give the same command again: what is done stays done"
_AUTH = "RAY_AUTH_MODE"  # environment variable: whether this process and its children show a token to others
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and no settings
_SETTINGS = b"\4"  # the kind of frame that a server of HTTP/2, which gRPC is made of, answers with
_LARGE = 100_000  # bytes from which something is put into shared memory, and not sent to each worker


@dataclass(eq=False, kw_only=True)
class Actor(Hand):
    """An actor on a node."""

    actor: Any
    node: str
    ready: bool = False  # whether it has said hello
    gone: bool = False  # whether it counts as dead; if it still answers, that is void


class Cluster(Crew):
    """A Ray cluster: one that is started here for the time being, or one that is running."""

    def __init__(
        self, place: str, most: int | None, threads: int, memory: int, modules: Sequence[str], files: Sequence[str]
    ) -> None:
        contents = packed(files)
        self._auth = os.environ.get(_AUTH)
        self._ray, self._ours = _connected(place, modules)
        self.dumps = self._ray.cloudpickle.dumps
        self._most, self._threads, self._memory = most, threads, memory
        self._crew: list[Actor] = []
        self._failures: Counter[str] = Counter()  # actors in a row that did not start, by node
        self._refused: dict[str, str] = {}  # the reason, by node
        self._seen = -_LOOK  # when the nodes were last looked at
        self._answers: queue.SimpleQueue[tuple[Actor, Batch | None, Any]] = queue.SimpleQueue()
        self._heads: tuple[bytes, Any] = (b"", None)  # the last large one, and where it is in shared memory
        self._remote = self._ray.remote(_Actor)
        # once in shared memory; Ray brings them to every node that asks
        self._luggage = [list(contents), *map(self._ray.put, contents.values())] if contents else []

    def hands(self, pieces: int) -> Sequence[Actor]:
        if time.monotonic() - self._seen > _LOOK or not self._crew:
            self._look(pieces)
            self._seen = time.monotonic()
        return [actor for actor in self._crew if actor.ready]

    def _look(self, pieces: int) -> None:
        """Give every node as many actors as it has room for."""
        try:
            nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        except Exception as error:  # whatever Ray raises when its head is gone
            raise BadInput(f"the cluster is out of reach ({_last_line(error)}); {_AGAIN}") from None
        if not nodes:
            raise BadInput(f"no node of the cluster is alive any more; {_AGAIN}")
        slots = {name: self._slots(node) for name, node in nodes.items() if name not in self._refused}
        if not sum(slots.values()):
            if reasons := [reason for name, reason in self._refused.items() if name in nodes]:
                raise BadInput(f"no node of the cluster can be used: {reasons[0]}")
            cores = f"{self._threads} core{'s' * (self._threads > 1)}"
            need = cores + (f" and {self._memory / 2**30:.1f} GiB" if self._memory else "")
            if not any(actor.node in nodes for actor in self._crew):
                raise BadInput(f"no node of the cluster has {need}; add one, or ask for less")
        for actor in self._crew:
            if actor.node in slots:
                slots[actor.node] -= 1
        wanted = min(pieces, self._most or pieces) - len(self._crew)
        while wanted > 0 and (free := [name for name, room in slots.items() if room > 0]):
            for name in free[:wanted]:
                slots[name] -= 1
                wanted -= 1
                self._begin(name)

    def _slots(self, node: dict[str, Any]) -> int:
        """How many actors a node has room for when nothing else runs on it."""
        room = int(node["Resources"].get("CPU", 0) // self._threads)
        return min(room, int(node["Resources"].get("memory", 0) // self._memory)) if self._memory else room

    def _begin(self, node: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._remote.options(
            num_cpus=self._threads,
            memory=self._memory or None,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(os.getcwd(), *self._luggage)
        hand = Actor(actor=actor, node=node)
        self._crew.append(hand)
        self._call(hand, None, actor.hello.remote())

    def _call(self, hand: Actor, batch: Batch | None, reference: Any) -> None:
        """Take note of a call; its answer may come after that of a later call."""
        reference.future().add_done_callback(lambda future: self._answers.put((hand, batch, future)))

    def send(self, hand: Hand, batch: Batch, head: bytes, pieces: bytes) -> None:
        assert isinstance(hand, Actor)
        given: Any = head  # with each batch: Ray need not keep the order of calls
        if len(head) > _LARGE:
            if self._heads[0] is not head:
                self._heads = head, self._ray.put(head)
            given = self._heads[1]
        self._call(hand, batch, hand.actor.answer.remote(given, pieces))

    def wait(self) -> list[Outcome]:
        answers = []
        with contextlib.suppress(queue.Empty):
            answers.append(self._answers.get(timeout=_LOOK))
            while True:
                answers.append(self._answers.get_nowait())
        return [outcome for answer in answers if (outcome := self._outcome(*answer))]

    def _outcome(self, hand: Actor, batch: Batch | None, future: Any) -> Outcome | None:
        try:
            content = future.result()
        except self._ray.exceptions.RayTaskError as error:  # it lives, but cannot read what it was sent
            raise BadInput(f"a worker of the cluster cannot read its work ({_last_line(error)})") from None
        except self._ray.exceptions.RayError as error:
            if hand.gone:
                return None  # its other call has failed, too
            hand.gone = True
            self._crew.remove(hand)
            with contextlib.suppress(Exception):
                self._ray.kill(hand.actor)  # it may be alive, and out of reach
            alive = any(node["NodeID"] == hand.node and node["Alive"] for node in self._ray.nodes())
            if alive and batch is None:
                self._failures[hand.node] += 1
                if self._failures[hand.node] == DEATHS:
                    self._refuse(hand.node, f"workers cannot start there ({_last_line(error)})")
            return Outcome(hand, None, blameless=not alive or batch is None)
        if batch is not None:
            return None if hand.gone else Outcome(hand, batch, content)
        hand.ready = content == _versions()
        self._failures[hand.node] = 0
        if not hand.ready:
            self._crew.remove(hand)
            self._ray.kill(hand.actor)
            name = next(name for name, own in _versions().items() if content[name] != own)
            self._refuse(hand.node, f"it has {name} {content[name]}, and not {_versions()[name]}")
        return None

    def _refuse(self, node: str, why: str) -> None:
        if node not in self._refused:
            address = next((n["NodeManagerAddress"] for n in self._ray.nodes() if n["NodeID"] == node), node)
            self._refused[node] = f"node {address} is not used, for {why}; install there what is here"
            sys.stderr.write(f"{self._refused[node]}\n")

    def end(self) -> None:
        closing = [actor.actor.close.remote() for actor in self._crew if actor.ready]
        if closing:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.wait(closing, num_returns=len(closing), timeout=_PATIENCE)
        self.kill()

    def kill(self) -> None:
        for actor in self._crew:
            with contextlib.suppress(Exception):
                self._ray.kill(actor.actor)
        self._crew = []
        if self._ours:
            self._ray.shutdown()
            _restore(self._auth)


class _Actor:
    """A worker as a Ray actor."""

    def __init__(self, folder: str, paths: Sequence[str] = (), *contents: bytes) -> None:
        with contextlib.suppress(OSError):  # another machine need not have the driver's folder
            os.chdir(folder)
        for path, content in zip(paths, contents, strict=True):
            unpack(path, content)
        self._worker = Worker()

    def hello(self) -> dict[str, str]:
        return _versions()

    def answer(self, head: bytes, pieces: bytes) -> bytes:
        return self._worker.answer(head, pieces)

    def close(self) -> None:
        self._worker.close()


def _versions() -> dict[str, str]:
    return {"foglight": __version__, "Python": "{}.{}".format(*sys.version_info)}


def _connected(place: str, modules: Sequence[str]) -> tuple[Any, bool]:
    """Ray, connected to a cluster, and whether we have to disconnect it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of its next default
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # else the death of a node prints pages, and on stdout
    try:
        import ray
    except ImportError:
        raise BadInput("a cluster needs Ray; install it with: pip install 'foglight[cluster]'") from None
    if ray.is_initialized():
        if place == "ray":
            return ray, False
        raise BadInput(
            f"this process is connected to a cluster already; say ray for that, or ray.shutdown() before {place}"
        )
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if paths := local_paths(modules):
        options["runtime_env"] = {"py_modules": list(map(str, paths))}
    if place == "ray":
        options |= {"address": "local", "include_dashboard": False, "object_store_memory": _STORE}
    else:
        options["address"] = place
        _check_reachable(place)
    try:
        ray.init(**options)
    except Exception as error:  # whatever keeps Ray from it
        what = "start Ray" if place == "ray" else f"join the cluster at {place}"
        # Ray shows a token of this machine's only to a cluster that it has found by itself
        advice = f"; if it asks for a token, set {_AUTH}=token" if isinstance(error, ConnectionError) else ""
        raise BadInput(f"cannot {what} ({_last_line(error)}){advice}") from None
    return ray, True


def _restore(auth: str | None) -> None:
    """Set back what starting a Ray has changed: with its token, this process could not join a cluster without one."""
    if auth is None and os.environ.pop(_AUTH, ""):
        with contextlib.suppress(ImportError):  # Ray offers no other way, and older versions have no tokens
            from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

            Config.initialize("")
            AuthenticationTokenLoader.instance().reset_cache()


def _check_reachable(address: str) -> None:
    """Raise BadInput if nobody answers at an address as a server of gRPC does: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE) as connection:
            if os.environ.get("RAY_USE_TLS", "0") in ("0", "false"):
                connection.sendall(_GREETING)
                strange = connection.recv(9)[3:4] != _SETTINGS
            else:
                strange = False  # it would have to be greeted in cipher
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot join the cluster at {address} ({error}); write HOST:PORT or ray://HOST:PORT") from None
    if strange:
        raise BadInput(f"cannot join the cluster at {address} (what listens there is not Ray); look up its port")


def _last_line(error: Exception) -> str:
    """What an error of Ray says, without the tracebacks before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].startswith("Version mismatch"):  # of Ray or Python; all lines are needed to see which
        return " ".join(lines)
    return lines[-1] if lines else type(error).__name__
