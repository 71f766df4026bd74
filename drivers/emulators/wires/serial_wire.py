"""A serial line on a pseudo-terminal, as slow as its baud rate."""

from __future__ import annotations

import os
import random
import termios
from typing import Any

from heft.drivers.emulators.wires.opened import Opened
from heft.drivers.emulators.wires.wire import SLACK_NS, Wire
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.pty_port import PtyPort
from heft.drivers.transports.transport import Chunk

__all__ = ["SerialWire"]

_BITS_PER_BYTE = 10  # 8N1: start bit and stop bit
_SPEED = 5  # of what tcgetattr gives: output speed


class _DevicePort(PtyPort):
    """The device's end: it never waits for a host that does not read."""

    def offer(self, data: bytes) -> None:
        """Put bytes on the line; what finds no place is lost, as on a line that nobody listens to."""
        if self._descriptor is not None:
            try:
                os.write(self._descriptor.fd, data)
            except BlockingIOError:
                pass
            except OSError as exc:
                self._lost(exc)

    @property
    def baudrate(self) -> int:
        """The code of the speed that the host has set on its end."""
        speed: int = termios.tcgetattr(self._files[1])[_SPEED]
        return speed


class SerialWire(Wire[Chunk, bytes]):
    """8N1 at `baud` [bit/s].

    A pseudo-terminal has no baud rate, but it keeps the one that the host sets: where that is another than the
    device's, bytes are garbled in both directions as they would be on a real line.
    """

    def __init__(self, name: str, plant: Plant, baud: int) -> None:
        self._port = _DevicePort(name, plant.clock)
        super().__init__(name, plant, self._port)
        self.baud = baud
        self._noise = random.Random(baud)

    @property
    def baud(self) -> int:
        """Of the device [bit/s]; it may change its mind."""
        return self._baud

    @baud.setter
    def baud(self, baud: int) -> None:
        self._baud = baud
        self._code: int = getattr(termios, f"B{baud}")

    @property
    def endpoint(self) -> dict[str, str | int]:
        return {"pty": self._port.path}

    def opened(self) -> Opened:
        """Tells when a program opens the port, as the control lines of a real one would."""
        return Opened(self._port.path)

    async def receive(self) -> list[Chunk]:
        """What the host has sent, once its last bit has passed the line."""
        chunks = await super().receive()
        taken_ns = sum(self._duration_ns(chunk.data) for chunk in chunks)
        if taken_ns > SLACK_NS:
            await self._clock.sleep_until(chunks[-1].host_ns + taken_ns)
        if self._port.baudrate != self._code:
            return [Chunk(self._garbled(chunk.data), chunk.host_ns) for chunk in chunks]
        return chunks

    def pause(self, seconds: float) -> None:
        """Nothing is sent for so long: a device takes its time to answer."""
        self._free_ns = max(self._free_ns, self._clock.now_ns()) + round(seconds * 1e9)

    def _duration_ns(self, item: bytes) -> int:
        return len(item) * _BITS_PER_BYTE * 1_000_000_000 // self._baud

    async def _transmit(self, item: bytes, to: Any) -> None:
        if self._port.path:
            matches = self._port.baudrate == self._code
            self._port.offer(item if matches else self._garbled(item))

    def _garbled(self, data: bytes) -> bytes:
        """Other bytes; none of them a letter, lest garbage be a command by chance."""
        return bytes(byte ^ self._noise.randrange(1, 256) | 0x80 for byte in data)
