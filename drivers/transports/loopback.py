"""A line in memory, with faults on command."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from drivers.clock import Clock
from drivers.errors import DeviceLost
from drivers.transports.can_frame import CanFrame
from drivers.transports.faults import Delivery, FaultInjector, Faults
from drivers.transports.inbox import Inbox
from drivers.transports.receive_time import ReceiveTime
from drivers.transports.transport import Chunk, Datagram, Transport

__all__ = ["Loopback", "loopback_bytes", "loopback_can", "loopback_datagrams"]

In = TypeVar("In")
Out = TypeVar("Out", bytes, CanFrame)


class Loopback(Transport[In, Out]):
    """One end of a pair; made by `loopback_bytes`, `loopback_datagrams` or `loopback_can`.

    `faults` are those of what this end sends. What is sent while the other end is closed is lost. Items arrive
    when the clock says so: a delay passes in simulated or manual time as in real time. It imitates no rate.
    """

    def __init__(self, device: str, clock: Clock, wrap: Callable[[Out, int], In], seed: int) -> None:
        super().__init__(device, clock)
        self._wrap: Callable[[Out, int], In] = wrap
        self._injector: FaultInjector[Out] = FaultInjector(seed)
        self._time = ReceiveTime(clock)
        self._peer: Loopback[In, Out] | None = None
        self._open = False
        self._lost: DeviceLost | None = None
        self._arrivals: Inbox[Delivery[Out]] = Inbox(device)
        self._under_way: deque[Delivery[Out]] = deque()

    @property
    def where(self) -> str:
        return "loopback line"

    @property
    def faults(self) -> Faults:
        """What goes wrong with what this end sends; set it at any time."""
        return self._injector.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._injector.faults = faults

    def disconnect(self) -> None:
        """Pull the cable: both ends get what is under way to them, then DeviceLost."""
        for end in (self, self._peer):
            if end is not None:
                end._hang_up("was unplugged; check its cable")

    async def send(self, item: Out) -> int:
        """Put an item on the line; the host time [ns] just before."""
        if self._lost is not None:
            raise self._lost
        if not self._open:
            raise self._unavailable()
        now_ns = self.clock.now_ns()
        deliveries = self._injector.pass_on(item, now_ns)
        if self._peer is not None and self._peer._open:
            self._peer._arrivals.put(deliveries)
        return now_ns

    async def receive(self) -> list[In]:
        """Everything that is due, at least one item; waits for it by the clock."""
        if not self._under_way:
            self._under_way.extend(await self._arrivals.take())
        if self._under_way[0].due_ns > self.clock.now_ns():
            await self.clock.sleep_until(self._under_way[0].due_ns)
        now_ns = self.clock.now_ns()
        items = []
        while self._under_way and self._under_way[0].due_ns <= now_ns:
            item = self._under_way.popleft().item
            items.append(self._wrap(item, self._time.host_ns()))
        return items

    async def _acquire(self) -> None:
        self._arrivals = Inbox(self.device)
        self._under_way.clear()
        self._lost = None
        self._open = True

    def _release(self) -> None:
        if self._open:
            self._open = False
            self._arrivals.fail(DeviceLost(self.device, f"{self.where} was closed by this program"))
            if self._peer is not None:
                self._peer._hang_up("was closed at the other end; check that it runs")

    def _hang_up(self, why: str) -> None:
        if self._open and self._lost is None:
            self._lost = DeviceLost(self.device, f"{self.where} {why}")
            self._arrivals.fail(self._lost)


def loopback_bytes(
    device: str, clock: Clock, *, seed: int = 0
) -> tuple[Loopback[Chunk, bytes], Loopback[Chunk, bytes]]:
    """Both ends of a byte stream."""
    return _pair(device, clock, Chunk, seed)


def loopback_datagrams(
    device: str, clock: Clock, *, seed: int = 0
) -> tuple[Loopback[Datagram, bytes], Loopback[Datagram, bytes]]:
    """Both ends of a line for datagrams."""
    return _pair(device, clock, lambda data, host_ns: Datagram(data, host_ns, ("loopback", 0)), seed)


def loopback_can(
    device: str, clock: Clock, *, seed: int = 0
) -> tuple[Loopback[CanFrame, CanFrame], Loopback[CanFrame, CanFrame]]:
    """Both ends of a CAN bus with two nodes."""
    return _pair(device, clock, lambda frame, host_ns: replace(frame, host_ns=host_ns), seed)


def _pair(
    device: str, clock: Clock, wrap: Callable[[Out, int], In], seed: int
) -> tuple[Loopback[In, Out], Loopback[In, Out]]:
    near: Loopback[In, Out] = Loopback(device, clock, wrap, seed)
    far: Loopback[In, Out] = Loopback(device, clock, wrap, seed + 1)
    near._peer, far._peer = far, near
    return near, far
