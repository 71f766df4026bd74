"""The device's end of its line.

What the device sends passes three things on its way: the faults that are active for the device, the pace of the line
(its baud or bit rate), and delivery in order. A frame that is due now goes out at once; one that is due later waits
in the outbox, which its own task empties. The loop times to about a millisecond, so a shorter wait is none.
"""

from __future__ import annotations

import asyncio
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self, TypeVar

from heft.drivers.emulators.wires.wire_faults import WireFaults
from heft.drivers.errors import DeviceLost
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.transport import Transport

__all__ = ["Wire"]

In = TypeVar("In")
Out = TypeVar("Out", bytes, CanFrame)

#: Waits shorter than this are none [ns].
SLACK_NS = 1_000_000
#: How far the line may fall behind before frames are lost, as in a device's transmit buffer [ns].
BACKLOG_NS = 50_000_000


class Wire(ABC, Generic[In, Out]):
    """One line of one emulated device; used inside `async with`.

    overrun   frames that the device could not get rid of, because the line is too slow for them
    CHECKED   the line has a checksum of its own (UDP, CAN): what is corrupted on it does not arrive
    SLACK_NS  waits shorter than this are none [ns]
    """

    CHECKED: ClassVar[bool] = False
    SLACK_NS: ClassVar[int] = SLACK_NS

    def __init__(self, name: str, plant: Plant, transport: Transport[In, Out]) -> None:
        self.name = name
        self.overrun = 0
        self._plant = plant
        self._clock = plant.clock
        self._transport: Transport[In, Out] = transport
        self._faults: WireFaults[Out] = WireFaults(zlib.crc32(name.encode()), checked=self.CHECKED)
        self._outbox: deque[tuple[int, Out, Any]] = deque()
        self._filled = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._free_ns = 0

    @property
    @abstractmethod
    def endpoint(self) -> Mapping[str, str | int]:
        """How to reach the device, as plain JSON values; valid inside `async with`."""

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        self._sender = asyncio.create_task(self._empty_outbox(), name=f"wire {self.name}")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)
            self._sender = None
        self.unplug()

    def unplug(self) -> None:
        """Pull the cable: the line is gone at once."""
        self._transport.close()
        self._outbox.clear()

    async def receive(self) -> list[In]:
        """What the host has sent, at least one item."""
        return await self._transport.receive()

    async def send(self, item: Out, to: Any = None, *, at: float | None = None) -> None:
        """Let the device send one frame (to a peer, where the line has several).

        `at` [s] is when it did, where this process comes late: what a device has sent while its host stalled is there
        all at once, and has not waited in line since.
        """
        now_ns = self._clock.now_ns()
        sent_ns = now_ns if at is None else min(now_ns, self._plant.nanoseconds(at))
        faults = self._plant.faults(self.name)
        for delivery in self._faults.pass_on(item, self._plant.seconds(sent_ns), sent_ns, faults):
            due_ns = self._pace(delivery.item, delivery.due_ns)
            if due_ns - delivery.due_ns > BACKLOG_NS:
                self.overrun += 1
            elif self._outbox or due_ns - now_ns > self.SLACK_NS:
                self._outbox.append((due_ns, delivery.item, to))
                self._filled.set()
            else:
                await self._put(delivery.item, to)

    async def _empty_outbox(self) -> None:
        while True:
            await self._filled.wait()
            while self._outbox:
                due_ns, item, to = self._outbox[0]
                if due_ns - self._clock.now_ns() > self.SLACK_NS:
                    await self._clock.sleep_until(due_ns)
                    continue  # the cable may have been pulled meanwhile
                self._outbox.popleft()
                await self._put(item, to)
            self._filled.clear()

    async def _put(self, item: Out, to: Any) -> None:
        with suppress(DeviceLost):  # the cable was pulled; the device does not know
            await self._transmit(item, to)

    def _pace(self, item: Out, due_ns: int) -> int:
        """When the last bit of an item has passed the line, which carries one at a time [ns, host time]."""
        end_ns = max(self._free_ns, due_ns) + self._duration_ns(item)
        if end_ns - due_ns <= BACKLOG_NS:
            self._free_ns = end_ns
        return end_ns

    def _duration_ns(self, item: Out) -> int:
        """How long an item occupies the line [ns]."""
        return 0

    async def _transmit(self, item: Out, to: Any) -> None:
        await self._transport.send(item)
