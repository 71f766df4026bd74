"""A CAN bus on the event loop."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from functools import partial

import can

from heft.drivers.clock import Clock
from heft.drivers.errors import DeviceLost
from heft.drivers.transports.bridge import Bridge
from heft.drivers.transports.can_bus import CanSettings, open_bus
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.descriptor import Descriptor
from heft.drivers.transports.process_bus import Posted, ProcessBus
from heft.drivers.transports.receive_time import ReceiveTime
from heft.drivers.transports.throttle import Throttle
from heft.drivers.transports.transport import Transport

__all__ = ["CanLink"]

#: Frames read at one wake-up before the loop gets its turn, and per second: more than a bus can carry.
_BURST = 256
_PER_SECOND = 40_000.0
#: Interfaces whose frames carry system time; of others the stamp may be the adapter's own clock.
_SYSTEM_STAMPED = frozenset({"socketcan", "udp_multicast", "virtual"})
_FULL = (errno.ENOBUFS, errno.EAGAIN)


class CanLink(Transport[CanFrame, CanFrame]):
    """A python-can bus, read until it is empty at every wake-up.

    (python-can's own Notifier takes one frame per turn of the loop and loses bursts.) Error frames come in like
    others, with `error` set; bus-off ends the line. A bus has no peer that could be missed: a silent node is for
    its driver to notice.

    retry_s   how long a full transmit queue is waited for [s] before the bus counts as lost
    """

    RETRY_NS = 1_000_000

    def __init__(self, device: str, clock: Clock, settings: CanSettings, *, retry_s: float = 0.1) -> None:
        super().__init__(device, clock)
        self.settings = settings
        self._retry_ns = int(retry_s * 1e9)
        self._bus: can.BusABC | None = None
        self._descriptor: Descriptor | None = None
        self._bridge: Bridge[can.Message] | None = None
        self._time = ReceiveTime(clock)
        self._throttle = Throttle(clock, _PER_SECOND)
        #: Frames that came in and cannot exist: a length that CAN FD does not have.
        self.malformed = 0

    @property
    def where(self) -> str:
        return self.settings.where

    @property
    def dropped(self) -> int | None:
        """Frames that the kernel threw away because this program did not read in time; None: not reported."""
        dropped: int | None = getattr(self._bus, "dropped", None)
        return dropped

    async def send(self, item: CanFrame) -> int:
        """Put one frame into the transmit queue; the host time [ns] just before."""
        if isinstance(self._bus, ProcessBus):
            sent_ns = self.clock.now_ns()
            self._bus.post(item, item.host_ns or sent_ns)
            return sent_ns
        message = _to_message(item)
        give_up_ns = self.clock.now_ns() + self._retry_ns
        while True:
            if self._bus is None:
                raise self._unavailable()
            sent_ns = self.clock.now_ns()
            try:
                self._bus.send(message, timeout=0)
            except can.CanError as exc:
                if not _is_full(exc):
                    raise self._lost(_failed(exc)) from exc
                if sent_ns >= give_up_ns:
                    raise self._lost(
                        f"transmit queue full for {self._retry_ns / 1e9:g} s: no node acknowledges; "
                        "check cable, termination, bit rate and the devices' power",
                    ) from exc
                await self.clock.sleep_until(sent_ns + self.RETRY_NS)
            else:
                return sent_ns

    async def _acquire(self) -> None:
        self._bus = bus = open_bus(self.device, self.settings)
        if _has_descriptor(bus):
            self._descriptor = Descriptor(bus.fileno(), self._read)
        else:
            self._bridge = Bridge(f"{self.device} {self.where}", bus.recv, self._deliver, self._fail)

    def _release(self) -> None:
        if self._descriptor is not None:
            self._descriptor.forget(DeviceLost(self.device, f"{self.where} was closed by this program"))
            self._descriptor = None
        if self._bridge is not None:
            self._bridge.stop()
            self._bridge = None
        if self._bus is not None:
            self._bus.shutdown()
            self._bus = None

    def _read(self) -> None:
        """Take in everything that waits."""
        bus = self._bus
        if bus is None or self._descriptor is None:
            return
        room = self._throttle.room(_BURST)
        if room < 1:
            self._descriptor.pause(Throttle.PAUSE_S)
            return
        take = bus.take if isinstance(bus, ProcessBus) else partial(bus.recv, timeout=0)
        arrived: list[can.Message | Posted] = []
        try:
            while len(arrived) < room and (message := take()) is not None:
                arrived.append(message)
        except can.CanError as exc:
            self._deliver(arrived)
            self._fail(exc)
        else:
            self._throttle.take(len(arrived))
            self._deliver(arrived)

    def _deliver(self, messages: Sequence[can.Message | Posted]) -> None:
        frames = []
        for message in messages:
            try:
                frames.append(self._to_frame(message))
            except ValueError:
                self.malformed += 1
        self._inbox.put(frames)
        if any(frame.bus_off for frame in frames):
            self._lost("the controller is bus-off; check wiring, termination and bit rate, then restart it")

    def _fail(self, exc: Exception) -> None:
        self._lost(_failed(exc))

    def _lost(self, why: str) -> DeviceLost:
        """Release the line, fail the pending `receive`, and return the error to raise."""
        error = DeviceLost(self.device, f"{self.where}: {why}")
        self._inbox.fail(error)
        self._release()
        return error

    def _to_frame(self, message: can.Message | Posted) -> CanFrame:
        if isinstance(message, Posted):
            return message.frame.received(self._time.not_before(message.sent_ns))
        stamped = message.timestamp and self.settings.interface in _SYSTEM_STAMPED
        kernel_ns = round(message.timestamp * 1e9) if stamped else None
        return CanFrame(
            id=message.arbitration_id,
            data=bytes(message.data),
            extended=message.is_extended_id,
            remote=message.is_remote_frame,
            fd=message.is_fd,
            bitrate_switch=message.bitrate_switch,
            error=message.is_error_frame,
            host_ns=self._time.host_ns(kernel_ns),
        )


def _to_message(frame: CanFrame) -> can.Message:
    return can.Message(
        arbitration_id=frame.id,
        data=frame.data,
        is_extended_id=frame.extended,
        is_remote_frame=frame.remote,
        is_error_frame=frame.error,
        is_fd=frame.fd,
        bitrate_switch=frame.bitrate_switch,
    )


def _has_descriptor(bus: can.BusABC) -> bool:
    try:
        return bus.fileno() >= 0
    except NotImplementedError:
        return False


def _failed(exc: Exception) -> str:
    return f"failed ({exc}); check that the interface is up and its adapter is plugged in"


def _is_full(exc: can.CanError) -> bool:
    """The transmit queue has no place at the moment; socketcan says it in two ways."""
    return exc.error_code in _FULL or "buffer full" in str(exc).lower()
