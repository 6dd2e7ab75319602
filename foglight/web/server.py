"""`foglight serve`: the server as a process."""

import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from foglight.names import BadInput
from foglight.web.guard import MOST_BYTES, Guard
from foglight.web.keeper import Keeper
from foglight.web.offers import Offers
from foglight.web.watching import watched
from foglight.web.workers import Workers

HERE = "127.0.0.1"
_LOCAL = (HERE, "localhost", "::1")


def default_file() -> Path:
    """Where games are kept unless one says otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "foglight" / "page.sqlite"


def serve(
    *,
    host: str = HERE,
    port: int = 8421,
    keep: Path | None = None,
    paths: Sequence[Path] = (),
    games: Sequence[str] = (),
    agents: Sequence[str] = (),
    workers: int = 2,
    seconds: float = 10.0,
    ready: Callable[[str], None] = lambda link: None,
) -> None:
    """Serve the page until the process is told to stop; `ready` gets the link to it."""
    try:
        import uvicorn

        from foglight.web.app import Page
    except ImportError as error:
        raise BadInput(f"the page needs {error.name}; install it: pip install 'foglight[web]'") from None
    listener = _listener(host, port)
    try:
        token = "" if host in _LOCAL else secrets.token_urlsafe(18)
        file = keep or default_file()
        Keeper(file).close()  # refuses, in one line, a file that cannot be used
        stores, pictures = watched(paths)
        offers = Offers(games, agents, seconds)
        door = f"?token={token}" if token else ""
        page = Page(offers, file, Workers(workers), stores=stores, pictures=pictures, warm=True, door=door)
        application = Guard(page.application(), token=token, hosts=_LOCAL)
        config = uvicorn.Config(
            application,
            log_level=logging.WARNING,
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,
            server_header=False,
            limit_concurrency=2000,
            timeout_graceful_shutdown=2,
        )
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
        name = f"[{shown}]" if ":" in shown else shown
        ready(f"http://{name}:{listener.getsockname()[1]}/{door}")
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _listener(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 takes a free one."""
    if not 0 <= port < 65536:  # the system would take it modulo 65536
        raise BadInput(f"a port is a number from 0 to 65535, not {port}; 0 takes a free one")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)  # asyncio sends at once if the protocol says TCP
        if os.name != "nt":  # there it would let another program listen at the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)  # from now on nobody who follows the link is turned away
    except OSError as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(
            f"cannot listen at {host} port {port} ({why}); choose another port, or 0 for a free one"
        ) from None
    return listener
