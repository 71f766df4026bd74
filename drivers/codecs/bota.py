"""Bota SensONE, Rokubi and MiniONE over serial: 37-byte frames, and the configuration commands.

Frame, little-endian: 0xAA | status u16 | Fx Fy Fz Tx Ty Tz f32 [N, N m] | timestamp u32 [us] | temperature
f32 [deg C] | CRC-16/X-25 u16 over the 34 bytes between header and CRC.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.codecs.checksums import X25
from heft.drivers.codecs.framing import Framing
from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "BAUD_CODES",
    "CONFIGURE",
    "FRAME_BYTES",
    "HEADER",
    "OLD_HEADER",
    "RUN",
    "SAVE",
    "SINC_LENGTHS",
    "STARTED",
    "TICK_BITS",
    "TICK_HZ",
    "Parser",
    "Sample",
    "Samples",
    "Status",
    "acknowledgement",
    "communication",
    "filters",
    "line_rate_hz",
    "sample_period_s",
]

HEADER = 0xAA
FRAME_BYTES = 37
#: The timestamp: microseconds in 32 bits; it wraps after 71.6 minutes.
TICK_HZ = 1_000_000
TICK_BITS = 32

#: Modes. The sensor needs 0.5 s after CONFIGURE before it takes a command.
CONFIGURE, RUN = b"C", b"R"
#: Command of the configuration mode: keep the settings beyond power-off.
SAVE = b"s"

#: Begins the frames of the first Rokubi, of 26 bytes at 230 400 baud, which are not decoded here.
OLD_HEADER = b"\xff\xfa\xfa\xff"

#: What the sensor says when it has started.
STARTED = b"App Init"

#: Shortest and longest sinc filter that the maker's driver takes from the standard sensor.
SINC_LENGTHS = (64, 2048)

BAUD_CODES = {9600: 0, 57600: 1, 115200: 2, 230400: 3, 460800: 4}

_PAYLOAD = Layout("Bota payload", "<H6fIf")
_DTYPE = np.dtype(
    [
        ("header", "u1"),
        ("status", "<u2"),
        ("wrench", "<f4", 6),
        ("timestamp_us", "<u4"),
        ("temperature_c", "<f4"),
        ("crc", "<u2"),
    ]
)


class Status(IntFlag):
    """Bits of the status word; 4 to 15 are reserved."""

    SKIPPED = 1  # the sensor's loop took too long and left samples out
    OVERRANGE = 2
    INVALID = 4  # saturated, short or open gauge
    RAW = 8  # uncalibrated gauge values instead of a wrench


@dataclass(frozen=True, slots=True)
class Sample:
    """One frame. `wrench` is Fx Fy Fz [N] Tx Ty Tz [N m]."""

    status: int
    wrench: tuple[float, ...]
    timestamp_us: int
    temperature_c: float

    def encode(self) -> bytes:
        payload = _PAYLOAD.pack(self.status, *self.wrench, self.timestamp_us, self.temperature_c)
        return bytes([HEADER]) + payload + X25(payload).to_bytes(2, "little")

    @classmethod
    def decode(cls, frame: bytes) -> Self:
        """A whole frame, from header to CRC."""
        if len(frame) != FRAME_BYTES:
            raise ProtocolError(f"Bota frame: {len(frame)} bytes, expected {FRAME_BYTES}")
        if frame[0] != HEADER:
            raise ProtocolError(f"Bota frame: begins with {frame[0]:#04x}, expected {HEADER:#04x}")
        payload, sent = frame[1:-2], int.from_bytes(frame[-2:], "little")
        if (crc := X25(payload)) != sent:
            raise ProtocolError(f"Bota frame: CRC {sent:#06x}, computed {crc:#06x}")
        status, *wrench, timestamp_us, temperature_c = _PAYLOAD.unpack(payload)
        return cls(status, tuple(wrench), timestamp_us, temperature_c)


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """N frames of a stream.

    status         `Status` bits, shape (N,) uint16
    wrench         [N] and [N m], shape (N, 6) float32
    timestamp_us   raw counter, wraps at 2**32, shape (N,) int64
    temperature_c  shape (N,) float32
    ends           place in the stream, see `framing.Frames`, shape (N,) int64
    """

    status: NDArray[np.uint16]
    wrench: NDArray[np.float32]
    timestamp_us: NDArray[np.int64]
    temperature_c: NDArray[np.float32]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)


class Parser(Framing):
    """The sensor's byte stream; `feed` gives the frames in it."""

    def __init__(self) -> None:
        super().__init__(header=bytes([HEADER]), length=FRAME_BYTES, crc=X25, crc_from=1)

    def samples(self, data: bytes | bytearray | memoryview) -> Samples:
        """Feed `data` and decode what is complete."""
        frames = self.feed(data)
        records = frames.rows.view(_DTYPE)[:, 0]
        return Samples(
            status=records["status"],
            wrench=records["wrench"],
            timestamp_us=records["timestamp_us"].astype(np.int64),
            temperature_c=records["temperature_c"],
            ends=frames.ends,
        )


def communication(
    *, baud: int, temperature_compensated: bool = False, calibrated: bool = True, csv: bool = False
) -> bytes:
    """Command of the configuration mode: what is sent and how fast. A new baud rate counts from RUN on."""
    if baud not in BAUD_CODES:
        raise ProtocolError(f"Bota: {baud} baud; the sensor knows {', '.join(map(str, BAUD_CODES))}")
    return f"c,{temperature_compensated:d},{calibrated:d},{csv:d},{BAUD_CODES[baud]}".encode()


def filters(*, sinc: int, chop: bool = False, fast: bool = False, skip: bool = True) -> bytes:
    """Command of the configuration mode: the sinc filter's length sets the rate, see `sample_period_s`.

    `skip` leaves out the FIR filter behind it.
    """
    shortest, longest = SINC_LENGTHS
    if not shortest <= sinc <= longest:
        raise ProtocolError(f"Bota: sinc filter length {sinc}, expected {shortest} to {longest}")
    return f"f,{sinc},{chop:d},{fast:d},{skip:d}".encode()


def acknowledgement(command: bytes) -> bytes:
    """What newer firmware answers to a command: `r,0,` and its letter; older says nothing."""
    return b"r,0," + command[:1] + b",0"


def sample_period_s(sinc: int) -> float:
    """Time between samples [s] for a sinc filter of this length: 512 gives 100 Hz, 64 gives 800 Hz."""
    return 1.953125e-5 * sinc


def line_rate_hz(baud: int) -> float:
    """How many frames per second the line can carry: ten bits per byte on the wire."""
    return baud / (10 * FRAME_BYTES)
