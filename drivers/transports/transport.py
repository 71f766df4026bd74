"""The seam between a driver and its wire.

    async with SerialPort("wrist", clock, port="/dev/ttyUSB0", baudrate=460800) as port:
        sent_ns = await port.send(b"R")
        for chunk in await port.receive():
            decoder.feed(chunk.data, chunk.host_ns)

A transport moves bytes, datagrams or frames and knows nothing of what they mean. Whatever it receives is stamped
with host time as early as it can be. Closing is immediate and never awaits, so that a cancelled driver cannot
leave a port open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from heft.drivers.clock import Clock
from heft.drivers.errors import DeviceLost, HeftError
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.inbox import Inbox

__all__ = ["Address", "ByteStream", "CanLine", "Chunk", "Datagram", "Datagrams", "Transport"]

In = TypeVar("In")
Out = TypeVar("Out")

#: Host and port of an IP peer.
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a stream as they came out of the line; its borders mean nothing. `host_ns`: when it was received."""

    data: bytes
    host_ns: int


@dataclass(frozen=True, slots=True)
class Datagram:
    """One whole datagram, when it was received [ns, host clock], and who sent it."""

    data: bytes
    host_ns: int
    peer: Address


class Transport(ABC, Generic[In, Out]):
    """One end of a line that yields `In` and takes `Out`; `device` is the name that its errors carry.

    Life: `async with` opens it (ConnectError) and closes it. It can be opened again after that.
    """

    def __init__(self, device: str, clock: Clock) -> None:
        self.device = device
        self.clock = clock
        self._inbox: Inbox[In] = Inbox(device)
        #: What came in and was not for this device, or cannot be.
        self.refused = 0

    @property
    @abstractmethod
    def where(self) -> str:
        """The line in words, for messages: `/dev/ttyUSB0 at 460800 baud`."""

    @abstractmethod
    async def send(self, item: Out) -> int:
        """Hand `item` to the line; the host time [ns] just before it left, or DeviceLost.

        A cancelled `send` of a byte stream may have put a part of its bytes on the line.
        """

    async def receive(self) -> list[In]:
        """Everything that has arrived since the last call, oldest first, at least one item; waits for it.

        Raises DeviceLost when the line is gone, after all that came before has been given out. Being cancelled
        loses nothing.
        """
        return await self._inbox.take()

    def close(self) -> None:
        """Release the line at once. May be called twice; a pending `receive` raises DeviceLost."""
        self._inbox.fail(DeviceLost(self.device, f"{self.where} was closed by this program"))
        self._release()

    async def __aenter__(self) -> Self:
        """Open the line, or raise ConnectError with nothing left open."""
        self._inbox = Inbox(self.device)
        try:
            await self._acquire()
        except BaseException:
            self._release()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    def _unavailable(self) -> HeftError:
        """Why nothing can be sent on a line that is not open."""
        return self._inbox.error or DeviceLost(
            self.device, f"{self.where} is not open; use it inside `async with`"
        )

    @abstractmethod
    async def _acquire(self) -> None:
        """Open the line; what was opened before a failure is released by `_release`."""

    @abstractmethod
    def _release(self) -> None:
        """Release whatever is held; nothing if there is nothing."""


ByteStream = Transport[Chunk, bytes]
Datagrams = Transport[Datagram, bytes]
CanLine = Transport[CanFrame, CanFrame]
