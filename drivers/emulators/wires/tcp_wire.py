"""TCP on the loopback interface: a server with any number of clients."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from heft.drivers.clock import Clock
from heft.drivers.emulators.wires.udp_wire import HOST
from heft.drivers.emulators.wires.wire import Wire
from heft.drivers.errors import ConnectError
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.transport import Transport

__all__ = ["Client", "Received", "TcpWire"]


class Client(asyncio.Protocol):
    """One connection; `gone` once it is closed."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.transport: asyncio.Transport | None = None
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.clients.add(self)
        if self._server.greeting:
            self.transport.write(self._server.greeting)

    def data_received(self, data: bytes) -> None:
        self._server.received(data, self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self._server.clients.discard(self)
        self._server.received(b"", self)


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes of one client; none: it has gone."""

    data: bytes
    host_ns: int
    peer: Client


class _Server(Transport[Received, bytes]):
    """Listens on `port` of `host`; 0: any free one. Who connects is sent the `greeting`."""

    def __init__(self, device: str, clock: Clock, host: str, port: int, greeting: bytes) -> None:
        super().__init__(device, clock)
        self.host, self.port, self.greeting = host, port, greeting
        self.clients: set[Client] = set()
        self._listening: asyncio.Server | None = None

    @property
    def where(self) -> str:
        return f"tcp port {self.port} of {self.host}"

    async def send(self, item: bytes) -> int:
        raise ValueError(f"{self.where}: say to whom")

    def received(self, data: bytes, client: Client) -> None:
        self._inbox.put((Received(data, self.clock.now_ns(), client),))

    async def _acquire(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._listening = await loop.create_server(lambda: Client(self), self.host, self.port)
        except OSError as exc:
            taken = "another program listens there" if exc.errno == errno.EADDRINUSE else str(exc)
            raise ConnectError(self.device, f"{self.where}: {taken}; choose another port") from exc
        self.port = self._listening.sockets[0].getsockname()[1]

    def _release(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for client in list(self.clients):
            if client.transport is not None:
                client.transport.abort()


class TcpWire(Wire[Received, bytes]):
    """A server on `port`; 0: any free one. `send` needs the client; to one that has gone nothing is sent."""

    CHECKED = True

    def __init__(
        self, name: str, plant: Plant, port: int = 0, host: str = HOST, greeting: bytes = b""
    ) -> None:
        self._server = _Server(name, plant.clock, host, port, greeting)
        super().__init__(name, plant, self._server)

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        return {"host": self._server.host, "port": self._server.port}

    @property
    def clients(self) -> tuple[Client, ...]:
        """Who is connected."""
        return tuple(self._server.clients)

    async def reply(self, item: bytes, to: Client) -> None:
        """An answer: TCP loses none, whatever happens to the data."""
        await self._transmit(item, to)

    async def _transmit(self, item: bytes, to: Any) -> None:
        if not to.gone and to.transport is not None:
            to.transport.write(item)
