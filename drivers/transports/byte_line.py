"""A byte stream on a file descriptor: what serial ports and pseudo-terminals share."""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod

from heft.drivers.clock import Clock
from heft.drivers.errors import DeviceLost
from heft.drivers.transports.descriptor import Descriptor
from heft.drivers.transports.receive_time import ReceiveTime
from heft.drivers.transports.throttle import Throttle
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["ByteLine"]

#: Bytes read at one turn of the loop, and per second: more than any serial line delivers.
_READ_SIZE = 16_384
_PER_SECOND = 2e6


class ByteLine(Transport[Chunk, bytes]):
    """Reads whatever is there at each wake-up; writes without blocking the loop.

    A terminal offers no receive stamps: a chunk carries the time at which the loop found it.
    """

    def __init__(self, device: str, clock: Clock) -> None:
        super().__init__(device, clock)
        self._descriptor: Descriptor | None = None
        self._time = ReceiveTime(clock)
        self._throttle = Throttle(clock, _PER_SECOND)
        self._sending = asyncio.Lock()

    async def send(self, item: bytes) -> int:
        """Write all bytes, waiting where the line is slower; the host time [ns] just before the first."""
        async with self._sending:
            descriptor = self._descriptor
            if descriptor is None:
                raise self._unavailable()
            rest = memoryview(item)
            sent_ns = self.clock.now_ns()
            while rest:
                try:
                    rest = rest[os.write(descriptor.fd, rest) :]
                except BlockingIOError:
                    await descriptor.writable()
                except OSError as exc:
                    raise self._lost(exc) from exc
            return sent_ns

    def _watch(self, fd: int) -> None:
        """Begin to read from an open, non-blocking descriptor."""
        self._descriptor = Descriptor(fd, self._read)

    def _release(self) -> None:
        if self._descriptor is not None:
            self._descriptor.forget(DeviceLost(self.device, f"{self.where} was closed by this program"))
            self._descriptor = None
        self._close_files()

    @abstractmethod
    def _close_files(self) -> None:
        """Close what `_acquire` opened; nothing if there is nothing."""

    def _read(self) -> None:
        if self._descriptor is None:
            return
        host_ns = self._time.host_ns()
        room = self._throttle.room(_READ_SIZE)
        if room < 1:
            self._descriptor.pause(Throttle.PAUSE_S)
            return
        try:
            data = os.read(self._descriptor.fd, room)
        except BlockingIOError:
            return
        except OSError as exc:
            self._lost(exc)
            return
        self._throttle.take(len(data))
        if data:
            self._inbox.put((Chunk(data, host_ns),))
        else:
            self._lost(None)

    def _lost(self, exc: OSError | None) -> DeviceLost:
        """Release the line, fail the pending `receive`, and return the error to raise."""
        why = "end of file" if exc is None else (exc.strerror or str(exc))
        error = DeviceLost(
            self.device, f"{self.where} is gone ({why}); check the cable and the device's power"
        )
        self._inbox.fail(error)
        self._release()
        return error
