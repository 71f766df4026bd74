"""ATI Net F/T and Axia over UDP ("RDT"), and the OnRobot HEX compute box, which speaks the same records.

Request, 8 bytes big-endian: 0x1234 u16 | command u16 | sample count u32 (0: without end).
Record, 36 bytes big-endian: rdt_sequence u32 | ft_sequence u32 | status u32 | Fx Fy Fz Tx Ty Tz i32 [counts].
A datagram holds one record, or several in buffered mode. The box answers to where the request came from, one
client at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError

__all__ = [
    "PORT",
    "RECORD_BYTES",
    "SEQUENCE_BITS",
    "Command",
    "Record",
    "Records",
    "Request",
    "decode_records",
]

PORT = 49152
MAGIC = 0x1234
RECORD_BYTES = 36
#: Both sequence numbers go from 2**32 - 1 to 0.
SEQUENCE_BITS = 32

_REQUEST = Layout("RDT request", ">HHI")
_RECORD = Layout("RDT record", ">III6i")
_DTYPE = np.dtype([("rdt", ">u4"), ("ft", ">u4"), ("status", ">u4"), ("counts", ">i4", 6)])


class Command(IntEnum):
    """Net F/T manual 9620-05, table 10.1, and what the OnRobot box adds."""

    STOP = 0x0000
    START_REALTIME = 0x0002
    START_BUFFERED = 0x0003
    START_MULTI_UNIT = 0x0004
    RESET_LATCH = 0x0041
    BIAS = 0x0042  # OnRobot: count 0xFF on, 0 off
    FILTER = 0x0081  # OnRobot: count is the index of the cut-off frequency
    PERIOD = 0x0082  # OnRobot: count is the period [ms]


@dataclass(frozen=True, slots=True)
class Request:
    """A command. `count` is the number of samples wanted (0: without end), or the command's argument."""

    command: int
    count: int = 0

    def encode(self) -> bytes:
        return _REQUEST.pack(MAGIC, self.command, self.count)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        magic, command, count = _REQUEST.unpack(data)
        if magic != MAGIC:
            raise ProtocolError(f"RDT request: begins with {magic:#06x}, expected {MAGIC:#06x}")
        return cls(command, count)


@dataclass(frozen=True, slots=True)
class Record:
    """One sample. `rdt_sequence` counts the records sent since the request, `ft_sequence` the samples taken
    inside the box since it was switched on; both wrap at 2**32."""

    rdt_sequence: int
    ft_sequence: int
    status: int
    counts: tuple[int, ...]

    def encode(self) -> bytes:
        return _RECORD.pack(self.rdt_sequence, self.ft_sequence, self.status, *self.counts)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Exactly one record."""
        rdt, ft, status, *counts = _RECORD.unpack(data)
        return cls(rdt, ft, status, tuple(counts))


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """N samples out of a batch of datagrams.

    rdt_sequence, ft_sequence  raw counters, shape (N,) int64
    status                     shape (N,) uint32
    counts                     Fx Fy Fz Tx Ty Tz, shape (N, 6) int32
    datagram                   which datagram of the batch each came in, shape (N,) intp
    rejected                   how many datagrams were not whole records, and were left out
    """

    rdt_sequence: NDArray[np.int64]
    ft_sequence: NDArray[np.int64]
    status: NDArray[np.uint32]
    counts: NDArray[np.int32]
    datagram: NDArray[np.intp]
    rejected: int

    def __len__(self) -> int:
        return len(self.status)


def decode_records(datagrams: Sequence[bytes]) -> Records:
    """All records of a batch of datagrams, in order. A datagram of another length is left out and counted."""
    sizes = np.fromiter(map(len, datagrams), dtype=np.intp, count=len(datagrams))
    whole = (sizes % RECORD_BYTES == 0) & (sizes > 0)
    if whole.all():
        joined = b"".join(datagrams)
    else:
        joined = b"".join(d for d, good in zip(datagrams, whole.tolist(), strict=True) if good)
    records = np.frombuffer(joined, dtype=_DTYPE)
    return Records(
        rdt_sequence=records["rdt"].astype(np.int64),
        ft_sequence=records["ft"].astype(np.int64),
        status=records["status"].astype(np.uint32),
        counts=records["counts"].astype(np.int32),
        datagram=np.repeat(np.flatnonzero(whole), sizes[whole] // RECORD_BYTES),
        rejected=int(len(datagrams) - np.count_nonzero(whole)),
    )
