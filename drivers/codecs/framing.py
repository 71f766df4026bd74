"""Fixed-length frames in a byte stream: header, payload, CRC-16 with the low byte first.

The rule: a place is a frame when the header stands there and the checksum is right; otherwise ONE byte is
dropped and the next place is tried. A parser that drops a whole frame's length instead can lock on to a
header byte that happens to be constant inside the payload. As all frames have one length, a good frame is
given out with its last byte, however the stream was cut into reads, and whatever stood before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.codecs.checksums import Crc16

__all__ = ["Frames", "Framing"]


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Frames found in a stream, in order.

    rows   the bytes of each frame, header and checksum included, shape (N, L) uint8
    ends   for each frame the number of bytes of the stream up to and with its last one, shape (N,) int64;
           against `Framing.fed` this says how many bytes came after the frame, hence how long ago it ended
    """

    rows: NDArray[np.uint8]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)


class Framing:
    """Cuts a byte stream into frames; feed it whatever was read.

    fed       bytes fed so far
    accepted  frames given out
    rejected  bytes known to belong to no good frame
    breaks    runs of such bytes: how often the frames were interrupted (joining in mid-frame counts as one)
    """

    def __init__(self, *, header: bytes, length: int, crc: Crc16, crc_from: int) -> None:
        """`crc_from` is the first byte that the checksum covers; it ends where the checksum itself begins."""
        self.length = length
        self.fed = 0
        self.accepted = 0
        self.breaks = 0
        self._header = header
        self._crc = crc
        self._crc_from = crc_from
        self._span = np.arange(length)
        self._pending = b""
        self._broken = False

    @property
    def rejected(self) -> int:
        return self.fed - self.accepted * self.length - len(self._pending)

    def feed(self, data: bytes | bytearray | memoryview) -> Frames:
        """The frames that are complete now."""
        self.fed += len(data)
        buffer = np.frombuffer(self._pending + bytes(data), dtype=np.uint8)
        length = self.length
        if len(buffer) < length:
            self._pending = buffer.tobytes()
            return Frames(np.empty((0, length), np.uint8), np.empty(0, np.int64))
        starts, rows = self._good(buffer)
        end = int(starts[-1]) + length if len(starts) else 0
        undecided = max(end, len(buffer) - length + 1)
        self._count_breaks(starts, end, undecided)
        self.accepted += len(starts)
        self._pending = buffer[undecided:].tobytes()
        return Frames(rows, starts + (self.fed - len(buffer) + length))

    def reset(self) -> None:
        """Forget an unfinished frame (the line was flushed or reopened); its bytes count as rejected."""
        if self._pending:
            self._pending = b""
            self.breaks += not self._broken
            self._broken = True

    def _good(self, buffer: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Where frames begin, and their bytes: the first good place, then the first one after its end, ..."""
        places = (buffer[: len(buffer) - self.length + 1] == self._header[0]).nonzero()[0]
        for i, byte in enumerate(self._header[1:], start=1):
            places = places[buffer[places + i] == byte]
        rows = buffer[places[:, None] + self._span]
        sent = rows[:, -2] + (rows[:, -1].astype(np.uint16) << 8)
        good = self._crc.rows(rows[:, self._crc_from : -2]) == sent
        starts, rows = places[good], rows[good]
        if len(starts) > 1 and (starts[1:] - starts[:-1]).min() < self.length:
            kept = self._first_come(starts)
            starts, rows = starts[kept], rows[kept]
        return starts, rows

    def _first_come(self, places: NDArray[np.int64]) -> list[int]:
        """Of good places that overlap, each earlier one wins: the numbers of those that stay."""
        kept: list[int] = []
        end = 0
        for number, place in enumerate(places.tolist()):
            if place >= end:
                kept.append(number)
                end = place + self.length
        return kept

    def _count_breaks(self, starts: NDArray[np.int64], end: int, undecided: int) -> None:
        if end > len(starts) * self.length:
            before = np.concatenate(([0], starts[:-1] + self.length))
            gaps = starts > before
            self.breaks += int(np.count_nonzero(gaps)) - (self._broken and bool(gaps[0]))
        if len(starts):
            self._broken = False
        if undecided > end and not self._broken:
            self.breaks += 1
            self._broken = True
