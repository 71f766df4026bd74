"""Robotiq FT 300: the 16-byte frames of its data stream, and its Modbus registers.

Stream frame: 0x20 0x4E | Fx Fy Fz Tx Ty Tz i16 little-endian | CRC-16/Modbus over the first 14 bytes, low
byte first. Both ways give the same counts: 0.01 N and 0.001 N m. There is no counter and no clock in either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.codecs.checksums import MODBUS
from heft.drivers.codecs.framing import Framing
from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "FIRMWARE",
    "FORCE_SCALE",
    "FRAME_BYTES",
    "HEADER",
    "SERIAL_NUMBER",
    "STOP_STREAM",
    "STREAM",
    "TORQUE_SCALE",
    "UNIT",
    "WRENCH",
    "Parser",
    "Sample",
    "Samples",
    "is_ft_sensor",
    "serial_number",
]

HEADER = b"\x20\x4e"
FRAME_BYTES = 16
FORCE_SCALE = 0.01  # [N] per count
TORQUE_SCALE = 0.001  # [N m] per count

UNIT = 9
#: First register and number of registers.
WRENCH = (180, 6)
SERIAL_NUMBER = (510, 4)
FIRMWARE = (500, 1)
#: Register and what to write there to start the stream; the write is answered before the first frame comes.
STREAM = (410, (0x0200,))

#: Ends the stream by disturbing it, 50 bytes over about 0.5 s. Send it before any Modbus request too: an
#: earlier session may have left the sensor streaming.
STOP_STREAM = b"\xff" * 50

_FRAME = Layout("FT 300 frame", "<2s6h")
_DTYPE = np.dtype([("header", "u1", 2), ("counts", "<i2", 6), ("crc", "<u2")])


def serial_number(registers: Sequence[int]) -> str:
    """Three letters and a number of 32 bits, of the four registers from `SERIAL_NUMBER`: `FTS-1234`."""
    if len(registers) != 4 or not all(0 <= r <= 0xFFFF for r in registers):
        raise ProtocolError(f"FT 300: registers {tuple(registers)}, expected four numbers of 16 bits")
    raw = b"".join(r.to_bytes(2, "big") for r in registers[:2])[:3]
    letters = "".join(chr(byte) for byte in raw if 0x20 < byte < 0x7F)
    return f"{letters}-{registers[2] << 16 | registers[3]}"


def is_ft_sensor(registers: Sequence[int]) -> bool:
    """Whether the register at `FIRMWARE` is that of an F/T sensor: its text begins with an F."""
    return len(registers) == 1 and registers[0] >> 8 == ord("F")


@dataclass(frozen=True, slots=True)
class Sample:
    """Six counts: Fx Fy Fz [0.01 N] Tx Ty Tz [0.001 N m]."""

    counts: tuple[int, ...]

    def encode(self) -> bytes:
        body = _FRAME.pack(HEADER, *self.counts)
        return body + MODBUS(body).to_bytes(2, "little")

    @classmethod
    def decode(cls, frame: bytes) -> Self:
        """A whole stream frame, from header to CRC."""
        if len(frame) != FRAME_BYTES:
            raise ProtocolError(f"FT 300 frame: {len(frame)} bytes, expected {FRAME_BYTES}")
        body, sent = frame[:-2], int.from_bytes(frame[-2:], "little")
        if (crc := MODBUS(body)) != sent:
            raise ProtocolError(f"FT 300 frame: CRC {sent:#06x}, computed {crc:#06x}")
        header, *counts = _FRAME.unpack(body)
        if header != HEADER:
            raise ProtocolError(f"FT 300 frame: begins with {header.hex(' ')}, expected {HEADER.hex(' ')}")
        return cls(tuple(counts))

    @classmethod
    def from_registers(cls, registers: Sequence[int]) -> Self:
        """The six registers from `WRENCH`, each as the unsigned number Modbus gives."""
        if len(registers) != 6 or not all(0 <= r <= 0xFFFF for r in registers):
            raise ProtocolError(f"FT 300: registers {tuple(registers)}, expected six numbers of 16 bits")
        return cls(tuple(r - 0x10000 if r & 0x8000 else r for r in registers))


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """N stream frames: `counts` (N, 6) int16; `ends`, their place in the stream (see `framing.Frames`)."""

    counts: NDArray[np.int16]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)


class Parser(Framing):
    """The sensor's byte stream; `feed` gives the frames in it."""

    def __init__(self) -> None:
        super().__init__(header=HEADER, length=FRAME_BYTES, crc=MODBUS, crc_from=0)

    def samples(self, data: bytes | bytearray | memoryview) -> Samples:
        """Feed `data` and decode what is complete."""
        frames = self.feed(data)
        return Samples(frames.rows.view(_DTYPE)[:, 0]["counts"], frames.ends)
