"""The door of the Foxglove server: which pages of a browser may connect.

The SDK's server lets in whoever connects, and any web site that a browser of this host has open could: a websocket asks
no permission. So the SDK listens at an address of the loopback that nobody can guess, and this gate at the port that
was asked for. It looks at the origin that a browser states, and passes on what it lets in, byte by byte.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import socket
from contextlib import suppress
from urllib.parse import urlsplit

__all__ = ["FoxgloveGate", "hidden_address", "lets_in"]

_log = logging.getLogger("heft.service")

#: Sites of the app itself.
SITE = "foxglove.dev"
MOST_HEAD = 16_384
PATIENCE_S = 10.0
PIECE = 65_536


def hidden_address() -> str:
    """One of the sixteen million addresses of the loopback."""
    return str(ipaddress.IPv4Address((127 << 24) + 2 + secrets.randbelow((1 << 24) - 3)))


def lets_in(origin: str | None) -> bool:
    """Whether what states this origin may connect: programs, the app, pages of this host; no other site."""
    if origin is None:
        return True
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https"):
        return origin != "null"  # an app of its own, not a site
    name = parts.hostname or ""
    if name == SITE or name.endswith(f".{SITE}"):
        return parts.scheme == "https"
    return name in ("localhost", "127.0.0.1", "::1")


class FoxgloveGate:
    """Listens at a port of the loopback from now on, until `close`; `inner` is where the SDK listens."""

    def __init__(self, listening: socket.socket, inner: tuple[str, int]) -> None:
        self._inner = inner
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._listening = listening
        self._starting = asyncio.get_running_loop().create_task(self._start(), name="foxglove gate")

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._connected, sock=self._listening, limit=MOST_HEAD)

    def close(self) -> None:
        """Let go of the port and of all connections."""
        self._starting.cancel()
        if self._server is not None:
            self._server.close()
        self._listening.close()
        for task in self._tasks:
            task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            async with asyncio.timeout(PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
            origin = _origin(head)
            if lets_in(origin):
                await self._pass_on(head, reader, writer)
            else:
                words = f"origin {origin!r:.110}: a web site may not connect; the Foxglove app may"
                _log.warning("refused foxglove: %s", words)
                body = words.encode()
                writer.write(
                    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it has gone, or never said what it wanted
        finally:
            writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_inner, to_inner = await asyncio.open_connection(*self._inner)
        try:
            to_inner.write(head)
            ways = [
                asyncio.create_task(_copy(*way), name="foxglove")
                for way in ((reader, to_inner), (from_inner, writer))
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            to_inner.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one end is closed."""
    with suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()


def _origin(head: bytes) -> str | None:
    """What a request states; `null` where it states several."""
    found = [
        value.strip().decode("latin-1")
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        if name.strip().lower() == b"origin"
    ]
    return None if not found else found[0] if len(found) == 1 else "null"
