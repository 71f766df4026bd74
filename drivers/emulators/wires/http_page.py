"""A web server that has one page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from heft.drivers.emulators.wires.udp_wire import HOST

__all__ = ["HttpPage"]


class HttpPage:
    """Serves what `content()` gives at `path`, on the loopback interface; 404 elsewhere.

    `port` 0 takes any free one; the one in use is in `port` inside `async with`.
    """

    def __init__(self, path: str, content: Callable[[], bytes], port: int = 0) -> None:
        self.path = path
        self.port = port
        self._content = content
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer), name=f"page {self.path}")
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
                request = await reader.readuntil(b"\r\n\r\n")
                target = request.split(b" ", 2)[1:2]
                found = target and target[0].split(b"?")[0] == self.path.encode()
                status, body = (b"200 OK", self._content()) if found else (b"404 Not Found", b"")
                head = b"HTTP/1.1 %s\r\nContent-Type: text/xml\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                writer.write(head % (status, len(body)) + body)
                await writer.drain()
        finally:
            writer.close()
