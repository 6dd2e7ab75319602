"""What stands before every request: headers, the access token, the host and the origin, sizes and rates."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from foglight.names import BadInput

MOST_BYTES = 64 * 1024  # of a request
COOKIE = "foglight"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Guard:
    """The application behind its door.

    Without a token, only requests that name this machine as their host are answered, so that no other site can reach
    the server through a name of its own. With one, a request must have it as a cookie, which the link sets.
    """

    def __init__(self, application: Any, *, token: str = "", hosts: Sequence[str] = ()) -> None:
        self._application, self._token, self._hosts = application, token, frozenset(hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self._welcome(scope, headers):
            link = self._by_link(scope)
            if link:
                await _answer(send, 303, [(b"location", b"/"), (b"set-cookie", link.encode())])
            elif scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 4403})
            else:
                await _answer(send, 403, [])
            return

        async def with_headers(event: Any) -> None:
            if event["type"] == "http.response.start":
                fresh = [] if scope["path"].startswith("/page/") else [(b"cache-control", b"no-store")]
                event["headers"] = [*event.get("headers", []), *_HEADERS, *fresh]
            await send(event)

        await self._application(scope, receive, with_headers)

    def _welcome(self, scope: Any, headers: dict[bytes, str]) -> bool:
        host = headers.get(b"host", "")
        origin = headers.get(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            return False
        if not self._token:
            return _name_of(host) in self._hosts
        try:
            morsel = SimpleCookie(headers.get(b"cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return morsel is not None and _same(morsel.value, self._token)

    def _by_link(self, scope: Any) -> str:
        """The cookie for somebody who came by the link with the token; empty for anybody else."""
        if not self._token or scope["type"] != "http" or scope["path"] != "/":
            return ""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/" if _same(given, self._token) else ""


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())


def _name_of(host: str) -> str:
    """The name in `name:port`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def _answer(send: Any, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_HEADERS]})
    await send({"type": "http.response.body", "body": b""})


class Bucket:
    """A limit on how often something may happen: `rate` times a second, and `burst` times at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._then = burst, time.monotonic()

    def _refill(self) -> None:
        now = time.monotonic()
        self._left = min(self._burst, self._left + self._rate * (now - self._then))
        self._then = now

    def take(self) -> None:
        """Take one; BadInput if there is none left."""
        self._refill()
        if self._left < 1:
            raise BadInput("too many requests; wait a moment and try again")
        self._left -= 1

    async def wait(self) -> None:
        """Take one, after a while if there is none left."""
        self._refill()
        self._left -= 1
        if self._left < 0:
            await asyncio.sleep(-self._left / self._rate)
