"""The door: who is let in, from which page, with how much. Every refusal is said in words, and logged.

- `Host` must be one of this page's own addresses: a name that an attacker has let point here is none (DNS rebinding).
- `Origin`, where a browser sends one, must be this page's own: another site can neither post nor open a websocket.
- The token, where there is one, comes as a cookie that only this page sends, or as `Authorization: Bearer`.
- A body has an end: more is refused before it is read.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any

from heft.service.strict_json import strict_json

__all__ = ["COOKIE", "HEADERS", "Guard"]

_log = logging.getLogger("heft.service")

COOKIE = "heft_token"
MOST_BODY = 64 * 1024
MOST_IMPORT = 512 * 1024 * 1024
IMPORT_PATH = "/api/import"
#: Paths that need no token: the page itself, which then asks for it.
OPEN_PATHS = ("/", "/api/login")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Of every answer: nothing from other hosts, no frame around it, no guess of its kind.
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        b"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class _TooLongError(Exception):
    """A body has more bytes than it may."""


@dataclass(frozen=True)
class Guard:
    """Wraps an ASGI application.

    origins   the page's own, as https://HOST:PORT
    token     empty: none is asked for
    """

    app: App
    origins: frozenset[str]
    token: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or refuse in words."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        reason = self._reason(scope)
        if reason is None and scope["type"] == "http":
            await self._within_bounds(scope, receive, send)
        elif reason is None:
            await self.app(scope, receive, send)
        else:
            await self._refuse(scope, receive, send, *reason)

    def _reason(self, scope: Scope) -> tuple[int, str] | None:
        """Status and words of a refusal; None: it may come in."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = {origin.partition("://")[2] for origin in self.origins}
        host = headers.get("host", "")
        if host not in hosts:
            return 421, f"host {host[:100]!r}: this page is {', '.join(sorted(hosts))}; use one of these"
        origin = headers.get("origin")
        writes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if origin is not None and origin not in self.origins and (writes or origin != "null"):
            return 403, f"origin {origin[:100]!r}: only this page itself may ask; open it by its own address"
        if writes and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "a request of another site: only this page itself may ask"
        if scope["type"] == "http" and writes and scope["path"] != IMPORT_PATH:
            kind = headers.get("content-type", "").partition(";")[0].strip()
            if kind != "application/json":
                return 415, f"content type {kind[:100]!r}: send application/json"
        if self.token and not self._open(scope["path"]) and not self._known(headers):
            return 401, "no token, or a wrong one: give it on the page, or as `Authorization: Bearer TOKEN`"
        return None

    def _open(self, path: str) -> bool:
        return path in OPEN_PATHS or path.startswith("/assets/")

    def _known(self, headers: dict[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not given:
            cookie = SimpleCookie()
            try:
                cookie.load(headers.get("cookie", ""))
            except Exception:  # whatever a stranger sends
                return False
            given = cookie[COOKIE].value if COOKIE in cookie else ""
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def _within_bounds(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = MOST_IMPORT if scope["path"] == IMPORT_PATH else MOST_BODY
        said = dict(scope["headers"]).get(b"content-length", b"0")
        words = f"a body of {said.decode('latin-1')[:30]} bytes: at most {most} are taken"
        if not said.isdigit() or int(said) > most:
            await self._refuse(scope, receive, send, 413, words)
            return
        taken, begun = 0, False

        async def counted() -> MutableMapping[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise _TooLongError
            return message

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if taken > most and not begun:
                return  # what the application makes of it; the refusal is said below
            if message["type"] == "http.response.start":
                begun = True
                own = {name for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name, value) for name, value in HEADERS if name not in own),
                ]
            await send(message)

        try:
            await self.app(scope, counted, with_headers)
        except _TooLongError:
            if not begun:
                words = f"a body of more than {most} bytes: not taken"
                await self._refuse(scope, receive, send, 413, words)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, status: int, words: str) -> None:
        client = scope.get("client") or ("?", 0)
        _log.warning("refused %s %s of %s: %s", scope["type"], scope["path"][:200], client[0], words)
        kind = "http.response"
        if scope["type"] == "websocket":
            await receive()
            if "websocket.http.response" not in scope.get("extensions", {}):
                await send({"type": "websocket.close", "code": 4403, "reason": words[:120]})
                return
            kind = "websocket.http.response"
        body = strict_json({"error": words})
        headers: Iterable[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *HEADERS,
        ]
        await send({"type": f"{kind}.start", "status": status, "headers": list(headers)})
        await send({"type": f"{kind}.body", "body": body})
