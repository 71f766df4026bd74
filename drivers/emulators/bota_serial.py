"""An emulated Bota SensONE.

Frame, little-endian: 0xAA, status u16, Fx Fy Fz Tx Ty Tz f32, timestamp u32 [us], temperature f32 [deg C], CRC-16/X-25
of the 34 bytes in between. `C` enters the configuration mode, `R` runs, `I` and `#` restart. The sensor restarts too
when
a program opens its port (the maker's driver waits 3 s for it), forgets what was not saved, and says `App Init` when
it is up. It reports what its load does to it: at rest the force of a weight points down.
"""

from __future__ import annotations

import asyncio
import re
import struct
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.sampling import Samples
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.protocols.checksums import x25
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.options import NonNegative
from heft.drivers.plant.faults import Saturate, Stuck
from heft.drivers.plant.plant import Plant

__all__ = ["BotaOptions", "BotaSerial"]

_BAUD = (9600, 57600, 115200, 230400, 460800)
_PERIOD_S = 1.953125e-5  # times the length of the sinc filter
_OVERRANGE = 0x0002
_RESOLUTION = 1e-6  # [N], [N m]: finer than the noise; the values are floats
_COMMAND = re.compile(rb"c,\d,\d,\d,\d|f,\d+,\d,\d,\d|b(?:,[-+.\de]+){6}|[slwCRI#]")


class BotaOptions(WrenchOptions):
    """What is stored in the sensor, and its errors."""

    baud: Literal[9600, 57600, 115200, 230400, 460800] = 460800
    sinc: Annotated[int, Field(ge=64, le=2048)] = 512
    #: How long it takes to start, also when its port is opened [s]: within the 3 s that the maker waits. 0: its line
    #: has no wire that resets it.
    boot_s: NonNegative = 2.8
    #: It reports what its load does to it.
    reaction: bool = True
    #: Does it stream as soon as it has power?
    runs: bool = True
    #: Newer firmware answers commands.
    acknowledges: bool = True
    temperature_c: float = 27.0


class BotaSerial(Emulator[Any, SerialWire]):
    """One sensor; its clock counts microseconds in 32 bits."""

    Options: ClassVar[type[BotaOptions]] = BotaOptions
    TICK_HZ = 1e6

    def __init__(self, name: str, options: BotaOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._running = asyncio.Event()
        self._offset = np.zeros(6)
        self._stuck: int | None = None
        self._up_ns = 0  # host time at which it has started
        self._stored: tuple[int, int] = (options.baud, options.sinc)
        self._set_filter(options.sinc)
        if options.runs:
            self._running.set()

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} commands")
            tasks.create_task(self._restart_when_opened(), name=f"emulator {self.name} power")
            tasks.create_task(self._stream(), name=f"emulator {self.name} frames")

    # -- start --------------------------------------------------------------------------------------------------------

    async def _restart_when_opened(self) -> None:
        if self.options.boot_s == 0.0:
            return
        opened = self.wire.opened()
        try:
            while True:
                await opened.wait()
                await self._restart()
        finally:
            opened.close()

    async def _restart(self) -> None:
        """Silent and deaf while it starts; then as it was saved."""
        self._running.clear()
        self._up_ns = self.clock.now_ns() + round(self.options.boot_s * 1e9)
        await self.clock.sleep_until(self._up_ns)
        self.wire.baud, sinc = self._stored
        self._set_filter(sinc)
        await self.wire.send(b"App Init\r\n")
        if self.options.runs:
            self._running.set()

    # -- commands -----------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            for chunk in await self.wire.receive():
                if chunk.host_ns >= self._up_ns:
                    for match in _COMMAND.finditer(chunk.data):
                        await self._handle_command(match.group())

    async def _handle_command(self, command: bytes) -> None:
        if self._running.is_set() and command not in (b"C", b"I", b"#"):
            return
        match command[:1]:
            case b"C":
                self._running.clear()
            case b"R":
                await self._acknowledge(command)
                self._running.set()
                return
            case b"I" | b"#":
                await self._restart()
                return
            case b"c":
                self.wire.baud = _BAUD[int(command.split(b",")[4])]
            case b"f":
                sinc = int(command.split(b",")[1])
                if not 64 <= sinc <= 2048:
                    return  # what it says then is not known
                self._set_filter(sinc)
            case b"b":
                self._offset = np.array([float(x) for x in command.split(b",")[1:]])
            case b"s":
                self._stored = (self.wire.baud, self._sinc)
        await self._acknowledge(command)

    async def _acknowledge(self, command: bytes) -> None:
        if self.options.acknowledges:
            await self.wire.send(b"r,0," + command[:1] + b",0\r\n")

    def _set_filter(self, sinc: int) -> None:
        self._sinc = sinc
        self._sampling = self.sampling(1.0 / (_PERIOD_S * sinc))
        self._model = WrenchModel(
            self.name,
            self.options,
            self.plant,
            period_s=self._sampling.period_s,
            resolution=np.full(6, _RESOLUTION),
        )
        self.declare({"wrench": self._model.sensor}, {"wrench": self._model.delay_s})

    # -- frames -------------------------------------------------------------------------------------------------------

    async def _stream(self) -> None:
        while True:
            await self._running.wait()
            sampling = self._sampling
            async for samples in sampling.due():
                if not self._running.is_set() or self._sampling is not sampling:
                    break
                await self._send(samples)

    async def _send(self, samples: Samples) -> None:
        counts, saturated = self._model.read(samples.t)
        wrench: NDArray[np.float64] = counts * _RESOLUTION - self._offset
        status = self.status
        for fault in self.active(Saturate):
            columns = slice(None) if fault.column is None else fault.column
            wrench[:, columns] = self.options.force_range
            status |= _OVERRANGE
        stamps = self.ticker.ticks(samples.t)
        if not self.active(Stuck):
            self._stuck = None
        elif self._stuck is None:
            self._stuck = int(stamps[0])
        rows = zip(wrench.tolist(), saturated.tolist(), stamps.tolist(), samples.t.tolist(), strict=True)
        for row, at_limit, stamp, t in rows:
            payload = struct.pack(
                "<H6fIf",
                status | (_OVERRANGE if at_limit else 0),
                *row,
                stamp if self._stuck is None else self._stuck,
                self.options.temperature_c,
            )
            await self.wire.send(b"\xaa" + payload + x25(payload).to_bytes(2, "little"), at=t)
