"""An emulated Robotiq FT 300: Modbus registers, and a stream of frames once 0x0200 is written to register 410.

Stream frame: 0x20 0x4E, six i16 little-endian (0.01 N, 0.001 N m), CRC-16/Modbus of these 14 bytes. While it streams it
answers no request; fifty 0xFF bytes end it.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.protocols.checksums import modbus
from heft.drivers.emulators.protocols.modbus_slave import IllegalAddress, ModbusSlave
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.options import Positive, RateHz
from heft.drivers.plant.faults import Saturate, Stuck
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import per_wrench

__all__ = ["Ft300Options", "RobotiqFt300"]

_WRENCH, _SERIAL, _FIRMWARE, _START = 180, 510, 500, 410
_STREAM = 0x0200
_ENOUGH = 40  # bytes 0xFF that end the stream
_FULL_SCALE = 0x7FFF
_FRAME_BITS = 160


class Ft300Options(WrenchOptions):
    """One sensor, and its errors."""

    baud: Literal[19200] = 19200
    unit: Annotated[int, Field(ge=1, le=247)] = 9
    rate_hz: RateHz = 100.0
    #: What registers 510 to 513 say: three letters and a number; register 500: two letters.
    letters: Annotated[str, Field(min_length=3, max_length=3)] = "FTS"
    serial: Annotated[int, Field(ge=0, lt=1 << 32)] = 300001
    firmware: Annotated[str, Field(min_length=2, max_length=2)] = "FT"
    #: Was it left streaming by an earlier program?
    streaming: bool = False
    force_range: Positive = 300.0
    torque_range: Positive = 30.0


class RobotiqFt300(Emulator[Any, SerialWire]):
    """One sensor; it has no clock and no counter."""

    Options: ClassVar[type[Ft300Options]] = Ft300Options

    def __init__(self, name: str, options: Ft300Options, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._sampling = self.sampling(options.rate_hz)
        self._model = WrenchModel(
            name, options, plant, period_s=self._sampling.period_s, resolution=per_wrench(0.01, 0.001)
        )
        on_the_line_s = _FRAME_BITS / options.baud
        self.declare({"wrench": self._model.sensor}, {"wrench": self._model.delay_s + on_the_line_s})
        self._slave = ModbusSlave(options.unit, self._read, self._write)
        self._counts = np.zeros(6, dtype=np.int64)
        self._streaming = options.streaming
        self._stop_bytes = 0

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} requests")
            tasks.create_task(self._stream(), name=f"emulator {self.name} frames")

    async def _listen(self) -> None:
        while True:
            for chunk in await self.wire.receive():
                if self._streaming:
                    self._count_stop_bytes(chunk.data)
                    continue
                for response in self._slave.feed(chunk.data, chunk.host_ns):
                    await self.wire.send(response)

    def _count_stop_bytes(self, data: bytes) -> None:
        self._stop_bytes += data.count(0xFF)
        if self._stop_bytes >= _ENOUGH:
            self._streaming = False
            self._stop_bytes = 0

    def _read(self, address: int, count: int) -> Sequence[int]:
        o = self.options
        serial = struct.unpack(">4H", struct.pack(">3sxI", o.letters.encode("ascii"), o.serial))
        firmware = struct.unpack(">H", o.firmware.encode("ascii"))
        registers = dict(enumerate(self._counts.tolist(), _WRENCH)) | dict(enumerate(serial, _SERIAL))
        registers |= dict(enumerate(firmware, _FIRMWARE))
        try:
            return [registers[address + i] for i in range(count)]
        except KeyError:
            raise IllegalAddress from None

    def _write(self, address: int, registers: Sequence[int]) -> None:
        if address != _START or len(registers) != 1:
            raise IllegalAddress
        self._streaming = registers[0] == _STREAM

    async def _stream(self) -> None:
        async for samples in self._sampling.due():
            counts, _ = self._model.read(samples.t)
            for row, t in zip(counts, samples.t.tolist(), strict=True):
                self._measure(row)
                if self._streaming:
                    body = struct.pack("<2B6h", 0x20, 0x4E, *self._counts.tolist())
                    await self.wire.send(body + modbus(body).to_bytes(2, "little"), at=t)

    def _measure(self, counts: NDArray[np.int64]) -> None:
        if self.active(Stuck):
            return
        self._counts = np.clip(counts, -_FULL_SCALE, _FULL_SCALE)
        for fault in self.active(Saturate):
            self._counts[slice(None) if fault.column is None else fault.column] = _FULL_SCALE
