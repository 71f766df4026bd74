"""An emulated Robotiq 2F gripper: Modbus RTU, three registers to write at 0x03E8, three to read at 0x07D0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.fingers import FingerOptions, Fingers
from heft.drivers.emulators.protocols.modbus_slave import IllegalAddress, ModbusSlave
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.plant.plant import Plant

__all__ = ["GripperOptions", "Robotiq2f"]

_ACTION, _STATUS = 0x03E8, 0x07D0
_ACTIVATE, _GO = 0x01, 0x08


class GripperOptions(FingerOptions):
    """One gripper on a serial line of its own."""

    baud: Literal[115200] = 115200
    unit: Annotated[int, Field(ge=1, le=247)] = 9
    #: How long it takes to carry out a request [s].
    response_s: Annotated[float, Field(ge=0)] = 0.004


class Robotiq2f(Emulator[Any, SerialWire]):
    """Fingers behind registers; rACT is bit 0 and rGTO bit 3 of the first byte."""

    Options: ClassVar[type[GripperOptions]] = GripperOptions

    def __init__(self, name: str, options: GripperOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._slave = ModbusSlave(options.unit, self._read, self._write)
        self._fingers = Fingers(options, plant)
        self.declare({}, {"state": 0.0})

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        while True:
            for chunk in await self.wire.receive():
                responses = self._slave.feed(chunk.data, chunk.host_ns)
                if responses:
                    await self.clock.sleep_until(chunk.host_ns + round(self.options.response_s * 1e9))
                for response in responses:
                    await self.wire.send(response)

    def slip(self) -> None:
        """Lose what is held: the fingers close on nothing."""
        self._fingers.slip()

    def _read(self, address: int, count: int) -> Sequence[int]:
        if not _STATUS <= address <= address + count <= _STATUS + 3:
            raise IllegalAddress
        self._fingers.fault = self.status
        s = self._fingers.state()
        flags = s.activate | s.go << 3 | s.activation << 4 | s.object << 6
        words = [flags << 8, s.fault << 8 | s.requested, s.position << 8 | s.current]
        return words[address - _STATUS :][:count]

    def _write(self, address: int, registers: Sequence[int]) -> None:
        if address != _ACTION or len(registers) != 3:
            raise IllegalAddress
        flags = registers[0] >> 8
        self._fingers.command(
            activate=bool(flags & _ACTIVATE),
            go=bool(flags & _GO),
            position=registers[1] & 0xFF,
            speed=registers[2] >> 8,
        )
