"""A CAN bus without hardware, that carries no more bits than a real one.

python-can's `virtual` and `udp_multicast` have neither bit rate nor arbitration. Here all wires of one process on one
channel share a `BusBudget`: what they send waits for its turn, and a bus that is asked for more than it can carry loses
frames, which `overrun` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from heft.drivers.emulators.wires.wire import BACKLOG_NS, Wire
from heft.drivers.emulators.wires.wire_faults import BusOff, active
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_bus import CanSettings
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

__all__ = ["BusBudget", "CanWire"]

_BUS_OFF = 0x40  # class bit of an error frame, linux/can/error.h
_budgets: WeakValueDictionary[tuple[str, ...], BusBudget] = WeakValueDictionary()


class BusBudget:
    """The bits of one bus: a frame begins when the one before it has ended.

    frames, busy_ns   carried so far, and for how long [ns]
    owner             the wire that counts what others send too: it hears everything, so the others count nothing
    """

    def __init__(self, settings: CanSettings) -> None:
        self._settings = settings
        self.frames = 0
        self.busy_ns = 0
        self.free_ns = 0
        self.owner: CanWire | None = None

    @classmethod
    def of(cls, settings: CanSettings) -> BusBudget:
        """The one of this channel, in this process."""
        key = (settings.interface, settings.channel, str(sorted(settings.options.items())))
        budget = _budgets.get(key)
        if budget is None:
            budget = _budgets[key] = cls(settings)
        return budget

    def duration_ns(self, frame: CanFrame) -> int:
        """Time on the bus with the stuff bits of an average frame (a tenth of what can be stuffed) [ns].

        A classic frame of n bytes has 47 + 8 n bits with the gap behind it (67 + 8 n with a long identifier). In an FD
        frame with bit rate switch the payload and its checksum of about 30 bits go at the faster rate.
        """
        length = len(frame.data)
        head = 67 if frame.extended else 47
        if frame.fd and frame.bitrate_switch:
            slow, fast = head - 17, 1.1 * (8 * length + 30)
            return round(1e9 * (slow / self._settings.bitrate + fast / self._settings.data_bitrate))
        return round(1e9 * (head + 8 * length + 0.1 * (head - 13 + 8 * length)) / self._settings.bitrate)

    def occupy(self, frame: CanFrame, now_ns: int) -> int:
        """Put a frame on the bus; when it has passed [ns, host time], far ahead if the bus is full."""
        duration_ns = self.duration_ns(frame)
        end_ns = max(self.free_ns, now_ns) + duration_ns
        if end_ns - now_ns <= BACKLOG_NS:
            self.free_ns = end_ns
            self.frames += 1
            self.busy_ns += duration_ns
        return end_ns


class CanWire(Wire[CanFrame, CanFrame]):
    """One or more emulated nodes on a bus; `settings` say which. Bus-off on command ends the line for the host."""

    CHECKED = True
    #: The answers of a whole cycle go out together: spread over the cycle by the loop's timers, the last of them would
    #: come after the next request on a busy host, as they never do on a real bus.
    SLACK_NS = 4_000_000

    def __init__(self, name: str, plant: Plant, settings: CanSettings) -> None:
        super().__init__(name, plant, CanLink(name, plant.clock, settings))
        self.settings = settings
        self.budget = BusBudget.of(settings)
        if self.budget.owner is None:
            self.budget.owner = self
        self._off = False

    @property
    def endpoint(self) -> Mapping[str, str | int]:
        port = self.settings.options.get("port")
        more = {"multicast_port": port} if isinstance(port, int) else {}
        return {"interface": self.settings.interface, "channel": self.settings.channel, **more}

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(*exc)
        if self.budget.owner is self:
            self.budget.owner = None

    async def receive(self) -> list[CanFrame]:
        """What the host (and other nodes) have sent."""
        frames = await super().receive()
        if self.budget.owner is self:
            now_ns = self._clock.now_ns()
            for frame in frames:
                self.budget.occupy(frame, now_ns)
        return frames

    async def send(self, item: CanFrame, to: Any = None, *, at: float | None = None) -> None:
        """As on every wire; inside this process a frame that was sent at `at` also arrives with that stamp."""
        faults = self._plant.faults(self.name)
        if not faults and not self._off and not self._outbox:  # the short way
            now_ns = self._clock.now_ns()
            sent_ns = now_ns if at is None else min(now_ns, self._plant.nanoseconds(at))
            belated = now_ns - sent_ns > self.SLACK_NS // 4  # it had its turn while this process stalled
            if belated or self.budget.free_ns - now_ns < self.SLACK_NS // 2:
                self._pace(item, sent_ns)
                await self._put(item if at is None else item.received(sent_ns), to)
                return
        off = bool(faults and active(faults, BusOff, self._plant.seconds(self._clock.now_ns())))
        if off and not self._off:
            await self._transmit(CanFrame(_BUS_OFF, bytes(8), error=True), None)
        self._off = off
        await super().send(item, to, at=at)

    def _pace(self, item: CanFrame, due_ns: int) -> int:
        if self.budget.owner is self:
            return self.budget.occupy(item, due_ns)
        return max(due_ns, self.budget.free_ns) + self.budget.duration_ns(item)
