"""Blocks to bytes and back: schema `heft.Block`, version 1, as `layout.BLOCK_SCHEMA_TEXT` says. Pure."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daq.errors import RecordingError
from drivers.block import Block
from drivers.stream import Stream

__all__ = [
    "DTYPES",
    "VERSION",
    "decode",
    "decode_rows",
    "decode_runs",
    "encode",
    "host_times",
    "numbers",
    "rows",
    "size_of",
]

MAGIC = b"HEFT"
VERSION = 1
HEADER = struct.Struct("<4sHHIIq4sI")
HAS_REQUEST, HAS_TICKS, HAS_VALIDITY = 1, 2, 4
#: Blocks that are joined at most.
RUN_LIMIT = 1000

#: Types of numbers that a Block may hold, by their name in the header.
DTYPES = {
    name.encode().ljust(4, b"\0"): np.dtype(name)
    for name in ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def encode(block: Block) -> bytes:
    """A Block as one message. The stream itself is described once, in the channel."""
    flags = 0
    parts = [block.host_ns.astype("<i8", copy=False).tobytes()]
    if block.request_ns is not None:
        flags |= HAS_REQUEST
        parts.append(block.request_ns.astype("<i8", copy=False).tobytes())
    if block.ticks is not None:
        flags |= HAS_TICKS
        parts.append(block.ticks.astype("<i8", copy=False).tobytes())
    parts.append(block.values.tobytes())
    if np.count_nonzero(block.validity):
        flags |= HAS_VALIDITY
        parts.append(block.validity.tobytes())
    n, k = block.values.shape
    dtype = _NAMES[block.values.dtype]
    return b"".join((HEADER.pack(MAGIC, VERSION, flags, n, k, block.sequence, dtype, 0), *parts))


def decode(data: bytes, stream: Stream) -> Block:
    """Inverse of `encode`; arrays are read-only views of `data`. Anything else raises RecordingError."""
    flags, n, k, sequence, dtype, expected = _head(data, 0, stream)
    if len(data) != expected:
        raise RecordingError(f"{stream.name}: a Block of {len(data)} bytes, its header says {expected}")
    at = HEADER.size
    host_ns = np.frombuffer(data, "<i8", n, at)
    request_ns = ticks = None
    if flags & HAS_REQUEST:
        at += 8 * n
        request_ns = np.frombuffer(data, "<i8", n, at)
    if flags & HAS_TICKS:
        at += 8 * n
        ticks = np.frombuffer(data, "<i8", n, at)
    values = np.frombuffer(data, dtype, n * k, at + 8 * n).reshape(n, k)
    if flags & HAS_VALIDITY:
        validity = np.frombuffer(data, np.uint8, n * k, len(data) - n * k).reshape(n, k)
    else:
        validity = np.zeros((n, k), np.uint8)
    return Block(stream, sequence, host_ns, values, validity, request_ns, ticks)


def rows(joined: bytes, stream: Stream) -> Iterator[NDArray[np.uint8]]:
    """Blocks that stand one after the other, as rows of bytes (m, length): as many at a time as have one header.

    The sequence number aside. Anything that is no Block of the stream raises RecordingError.
    """
    at = 0
    while at < len(joined):
        length = _head(joined, at, stream)[-1]
        if at + length > len(joined):
            missing = at + length - len(joined)
            raise RecordingError(f"{stream.name}: the last Block is cut, {missing} bytes are missing")
        count = (len(joined) - at) // length
        found = np.frombuffer(joined, np.uint8, count * length, at).reshape(count, length)
        same = (found[:, :16] == found[0, :16]).all(axis=1) & (found[:, 24:32] == found[0, 24:32]).all(axis=1)
        alike = count if same.all() else int(np.argmin(same))
        yield found[:alike]
        at += alike * length


def numbers(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Sequence numbers of Blocks with one header (m,)."""
    return np.ascontiguousarray(rows[:, 16:24]).view("<i8")[:, 0]


def host_times(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Host times [ns] of Blocks with one header, (m, N)."""
    n = HEADER.unpack_from(rows[0].tobytes())[3]
    return np.ascontiguousarray(rows[:, HEADER.size : HEADER.size + 8 * n]).view("<i8").reshape(len(rows), n)


def decode_runs(messages: Iterable[bytes], stream: Stream) -> Iterator[Block]:
    """Blocks as `decode` gives them, with those joined that continue each other: faster where Blocks are short."""
    for _, group in itertools.groupby(messages, len):
        run = iter(group)
        while part := list(itertools.islice(run, RUN_LIMIT)):
            rows = np.frombuffer(b"".join(part), np.uint8).reshape(len(part), -1)
            if rows.shape[1] < HEADER.size:
                decode(part[0], stream)  # raises
            yield from decode_rows(rows, stream)


def decode_rows(rows: NDArray[np.uint8], stream: Stream) -> Iterator[Block]:
    """Blocks of one length, one per row (m, length): those with one header that continue each other are joined."""
    if not len(rows):
        return
    first = decode(rows[0].tobytes(), stream)
    n = len(first)
    same = (rows[:, :16] == rows[0, :16]).all(axis=1) & (rows[:, 24:32] == rows[0, 24:32]).all(axis=1)
    if not n or not same.all():
        yield from (decode(row.tobytes(), stream) for row in rows)
        return
    edges = [0, *(np.flatnonzero(np.diff(numbers(rows)) != n) + 1).tolist(), len(rows)]
    for start, end in itertools.pairwise(edges):
        yield _joined(rows[start:end], first)


def _joined(rows: NDArray[np.uint8], first: Block) -> Block:
    """One Block of Blocks that have the same header as `first` (but for the sequence number) and length."""
    n, k = first.values.shape
    _, _, flags, _, _, sequence, _, _ = HEADER.unpack_from(rows[0].tobytes())
    at = HEADER.size

    def take(dtype: np.dtype[Any], width: int) -> NDArray[Any]:
        nonlocal at
        start, at = at, at + n * width * dtype.itemsize
        return np.ascontiguousarray(rows[:, start:at]).view(dtype).reshape(len(rows) * n, width)

    time = np.dtype("<i8")
    host_ns = take(time, 1)[:, 0]
    request_ns = take(time, 1)[:, 0] if flags & HAS_REQUEST else None
    ticks = take(time, 1)[:, 0] if flags & HAS_TICKS else None
    values = take(first.values.dtype, k)
    validity = take(np.dtype(np.uint8), k) if flags & HAS_VALIDITY else np.zeros(values.shape, np.uint8)
    return Block(first.stream, sequence, host_ns, values, validity, request_ns, ticks)


def _head(data: bytes, at: int, stream: Stream) -> tuple[int, int, int, int, np.dtype[Any], int]:
    """Flags, N, k, sequence number, type and length in bytes of the Block that begins at `at`."""
    if len(data) - at < HEADER.size:
        raise RecordingError(
            f"{stream.name}: a Block of {len(data) - at} bytes, its header alone has {HEADER.size}"
        )
    magic, version, flags, n, k, sequence, dtype_name, zero = HEADER.unpack_from(data, at)
    if magic != MAGIC:
        raise RecordingError(f"{stream.name}: a Block begins with {magic!r}, expected {MAGIC!r}")
    if version != VERSION:
        raise RecordingError(
            f"{stream.name}: a Block of version {version}, this program reads {VERSION}; "
            "read it with the version of Heft that wrote it (see the recording's metadata)"
        )
    dtype = DTYPES.get(dtype_name)
    if dtype is None or dtype != np.dtype(stream.dtype) or k != stream.width or zero or flags & ~7:
        raise RecordingError(
            f"{stream.name}: a Block of {k} columns {dtype_name!r} with flags {flags:#x}, "
            f"the channel describes {stream.width} columns {stream.dtype!r}"
        )
    return flags, n, k, sequence, dtype, size_of(n, k, dtype.itemsize, flags)


def size_of(n: int, k: int, itemsize: int, flags: int) -> int:
    """Length in bytes of a Block of n samples and k columns."""
    times = 1 + bool(flags & HAS_REQUEST) + bool(flags & HAS_TICKS)
    return HEADER.size + n * (8 * times + k * (itemsize + bool(flags & HAS_VALIDITY)))
