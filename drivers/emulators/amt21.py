"""Emulated AMT21 encoders on one RS-485 line.

One byte asks: the address for the position, the address + 1 for the turns. Two bytes answer, low byte first: 14 bits,
and above them two check bits, the inverted parity of the odd and of the even bits. 12-bit models send their
position shifted left by two.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator, EmulatorOptions
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options
from heft.drivers.plant.faults import Stuck
from heft.drivers.plant.plant import Plant

__all__ = ["Amt21", "Amt21Options", "EncoderOptions"]


class EncoderOptions(Options):
    """One encoder on the line."""

    #: A byte whose last two bits are 0.
    address: Annotated[int, Field(ge=0, le=0xFC, multiple_of=4)] = 0x54
    bits: Literal[12, 14] = 14
    #: Does it count turns?
    multi_turn: bool = False
    #: Position of the joint at which it reads zero [rad]; turns of the encoder per turn of the joint.
    zero: float = 0.0
    ratio: float = 1.0


class Amt21Options(EmulatorOptions):
    """A line with its encoders, by the joints that they are on."""

    baud: Literal[2_000_000, 115_200, 57_600, 38_400, 19_200, 9600] = 2_000_000
    encoders: dict[str, EncoderOptions] = Field(
        default_factory=lambda: {"joint1": EncoderOptions()}, min_length=1
    )


class Amt21(Emulator[Any, SerialWire]):
    """All encoders of one line; each answers to its own address."""

    Options: ClassVar[type[Amt21Options]] = Amt21Options

    def __init__(self, name: str, options: Amt21Options, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._encoders: dict[int, tuple[int, EncoderOptions]] = {}
        for joint, encoder in options.encoders.items():
            if joint not in plant.axes:
                raise OptionError(f"{name}.encoders.{joint}: no such joint; known: {', '.join(plant.axes)}")
            self._encoders[encoder.address] = plant.axes.index(joint), encoder
        self._last: dict[int, bytes] = {}
        self.declare({}, dict.fromkeys(options.encoders, 0.0))

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        while True:
            for chunk in await self.wire.receive():
                for byte in chunk.data:
                    address, what = byte & 0xFC, byte & 0x03
                    if address in self._encoders and what < 2:
                        await self.wire.send(self._answer(address, turns=what == 1))

    def _answer(self, address: int, *, turns: bool) -> bytes:
        axis, encoder = self._encoders[address]
        if self.active(Stuck) and not turns and address in self._last:
            return self._last[address]
        position = self.plant.joint_positions(np.array([self.plant.now()]))[0, axis]
        counts = round((position - encoder.zero) * encoder.ratio / (2.0 * np.pi) * (1 << encoder.bits))
        if turns:
            value = (counts >> encoder.bits) & 0x3FFF if encoder.multi_turn else 0
        else:
            value = (counts & ((1 << encoder.bits) - 1)) << (14 - encoder.bits)
        answer = (value | self._check(value) << 14).to_bytes(2, "little")
        if not turns:
            self._last[address] = answer
        return answer

    @staticmethod
    def _check(value: int) -> int:
        """K1 K0: with each, the odd or the even bits of the 16 have odd parity."""
        odd, even = (value & 0x2AAA).bit_count(), (value & 0x1555).bit_count()
        return (1 - odd % 2) << 1 | (1 - even % 2)
