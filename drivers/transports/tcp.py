"""A TCP connection to a device."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

from heft.drivers.clock import Clock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.transport import Address, Chunk, Transport

__all__ = ["TcpLine"]


class TcpLine(Transport[Chunk, bytes]):
    """A byte stream over TCP, without Nagle's delay; `timeout_s` is how long connecting may take [s]."""

    def __init__(self, device: str, clock: Clock, *, remote: Address, timeout_s: float = 2.0) -> None:
        super().__init__(device, clock)
        self.remote = remote
        self._timeout_s = timeout_s
        self._protocol: _Protocol | None = None

    @property
    def where(self) -> str:
        return f"tcp {self.remote[0]}:{self.remote[1]}"

    async def send(self, item: bytes) -> int:
        """Hand all bytes to the kernel; the host time [ns] just before."""
        if self._protocol is None or self._protocol.transport is None:
            raise self._unavailable()
        await self._protocol.writable.wait()
        if self._protocol is None or self._protocol.transport is None:
            raise self._unavailable()
        sent_ns = self.clock.now_ns()
        self._protocol.transport.write(item)
        return sent_ns

    async def _acquire(self) -> None:
        host, port = self.remote
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                _, self._protocol = await loop.create_connection(lambda: _Protocol(self), host, port)
        except TimeoutError:
            raise ConnectError(
                self.device,
                f"{self.where}: no answer within {self._timeout_s:g} s; check the address and the network",
            ) from None
        except OSError as exc:
            raise ConnectError(
                self.device,
                f"{self.where}: {exc.strerror or exc}; check that it is on, its address and its port",
            ) from exc

    def _release(self) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None and protocol.transport is not None:
            protocol.transport.abort()

    def received(self, data: bytes) -> None:
        """What has come in; called by the protocol."""
        self._inbox.put((Chunk(data, self.clock.now_ns()),))

    def lost(self, exc: Exception | None) -> None:
        """The connection is gone; called by the protocol."""
        why = "closed by the device" if exc is None else str(exc)
        self._inbox.fail(
            DeviceLost(self.device, f"{self.where} is gone ({why}); check the cable and the device")
        )
        self._protocol = None


class _Protocol(asyncio.Protocol):
    """Hands everything to its line."""

    def __init__(self, line: TcpLine) -> None:
        self._line = line
        self.transport: asyncio.Transport | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._line.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.writable.set()
        self._line.lost(exc)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
