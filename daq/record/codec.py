"""Blocks to bytes and back: schema `heft.Block`, version 1, as `layout.BLOCK_SCHEMA_TEXT` says. Pure."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import RecordError, RecordingError
from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = [
    "DTYPES",
    "VERSION",
    "decode",
    "decode_rows",
    "decode_runs",
    "dtype_name",
    "encode",
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


def dtype_name(stream: Stream) -> bytes:
    """The type of a stream's numbers as a Block's header has it; RecordError where it cannot be recorded."""
    try:
        return _NAMES[np.dtype(stream.dtype)]
    except KeyError:
        raise RecordError(
            f"{stream.name}: numbers of type {stream.dtype!r} cannot be recorded; "
            f"use one of {', '.join(dtype.str for dtype in _NAMES)}"
        ) from None


@lru_cache(maxsize=1)
def encode(block: Block) -> bytes:
    """A Block as one message. The stream itself is described once, in the channel.

    The last one is remembered: the recorder, telemetry and others who take the same Block one after the other share
    its bytes.
    """
    flags = 0
    parts = [block.host_ns.astype("<i8", copy=False)]
    if block.request_ns is not None:
        flags |= HAS_REQUEST
        parts.append(block.request_ns.astype("<i8", copy=False))
    if block.ticks is not None:
        flags |= HAS_TICKS
        parts.append(block.ticks.astype("<i8", copy=False))
    parts.append(block.values)
    if np.count_nonzero(block.validity):
        flags |= HAS_VALIDITY
        parts.append(block.validity)
    n, k = block.values.shape
    head = HEADER.pack(MAGIC, VERSION, flags, n, k, block.sequence, dtype_name(block.stream), 0)
    return b"".join((head, *(np.ascontiguousarray(one).data for one in parts)))


def decode(data: bytes, stream: Stream) -> Block:
    """Inverse of `encode`; arrays are read-only views of `data`. Anything else raises RecordingError."""
    flags, n, k, sequence, dtype, expected = _head(data, stream)
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
    sequence = np.ascontiguousarray(rows[:, 16:24]).view("<i8")[:, 0]
    edges = [0, *(np.flatnonzero(np.diff(sequence) != n) + 1).tolist(), len(rows)]
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


def _head(data: bytes, stream: Stream) -> tuple[int, int, int, int, np.dtype[Any], int]:
    """Flags, N, k, sequence number, type and length in bytes of a Block."""
    if len(data) < HEADER.size:
        raise RecordingError(
            f"{stream.name}: a Block of {len(data)} bytes, its header alone has {HEADER.size}"
        )
    magic, version, flags, n, k, sequence, name, zero = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise RecordingError(f"{stream.name}: a Block begins with {magic!r}, expected {MAGIC!r}")
    if version != VERSION:
        raise RecordingError(
            f"{stream.name}: a Block of version {version}, this program reads {VERSION}; "
            "read it with the version of Heft that wrote it (see the recording's metadata)"
        )
    dtype = DTYPES.get(name)
    if dtype is None or dtype != np.dtype(stream.dtype) or k != stream.width or zero or flags & ~7:
        raise RecordingError(
            f"{stream.name}: a Block of {k} columns {name!r} with flags {flags:#x}, "
            f"the channel describes {stream.width} columns {stream.dtype!r}"
        )
    times = 1 + bool(flags & HAS_REQUEST) + bool(flags & HAS_TICKS)
    length = HEADER.size + n * (8 * times + k * (dtype.itemsize + bool(flags & HAS_VALIDITY)))
    return flags, n, k, sequence, dtype, length
