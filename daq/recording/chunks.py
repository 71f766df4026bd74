"""Chunks of a recording: where each is, its records unpacked and checked, and what is in it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, NamedTuple

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel
from numpy.typing import NDArray

from heft.daq.record import layout
from heft.daq.record.extent import Extent

__all__ = [
    "CHUNK",
    "RECORD",
    "ChunkEntry",
    "DamageError",
    "Encoded",
    "Message",
    "Survey",
    "entry_at",
    "messages",
    "survey",
    "uniform",
    "unpack",
]

RECORD = struct.Struct("<BQ")  # opcode, length of the body
CHUNK = struct.Struct("<BQQQQII")  # opcode, length, first and last log time, size, CRC, length of compression
_SIZE = struct.Struct("<Q")
_HEAD = struct.Struct("<QQQI")  # of a chunk: first and last log time, uncompressed size, CRC
_MESSAGE = struct.Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time
_SAMPLES = struct.Struct("<I")  # of a Block, after magic, version and flags
_SAMPLES_AT = 8


class DamageError(Exception):
    """Bytes that are not what was written; stays inside this package."""


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """Where a chunk is: `offset` and `length` of its whole record in the file, and how to unpack it.

    `start_ns` and `end_ns` bound the log times of its messages; `channels` have messages in it.
    """

    offset: int
    length: int
    compression: str
    compressed: int
    uncompressed: int
    start_ns: int
    end_ns: int
    channels: frozenset[int] = frozenset()


class Message(NamedTuple):
    """A message in an unpacked chunk: its data are bytes `start` to `end`."""

    channel: int
    log_ns: int
    publish_ns: int
    start: int
    end: int


class Encoded(NamedTuple):
    """A message by itself: its log time, host clock [ns], and its data."""

    log_ns: int
    data: bytes


@dataclass(slots=True)
class Survey:
    """What is in a chunk: the channels it defines, those with messages, and how much of each stream."""

    defined: dict[int, Channel] = field(default_factory=dict)
    channels: set[int] = field(default_factory=set)
    start_ns: int = 0
    end_ns: int = 0
    extents: dict[str, Extent] = field(default_factory=dict)


def entry_at(file: BinaryIO, at: int) -> ChunkEntry | None:
    """The chunk at an offset, None where the lengths in its header do not agree."""
    file.seek(at)
    head = file.read(CHUNK.size + 8 + _SIZE.size)
    if len(head) < CHUNK.size + 8 + _SIZE.size:
        return None
    opcode, length, start_ns, end_ns, uncompressed, _, name_length = CHUNK.unpack_from(head)
    if opcode != Opcode.CHUNK or name_length > 8:
        return None
    name = head[CHUNK.size : CHUNK.size + name_length]
    (compressed,) = _SIZE.unpack_from(head, CHUNK.size + name_length)
    if length != CHUNK.size - RECORD.size + name_length + _SIZE.size + compressed:
        return None
    compression = name.decode("ascii", "replace")
    return ChunkEntry(at, RECORD.size + length, compression, compressed, uncompressed, start_ns, end_ns)


def unpack(file: BinaryIO, entry: ChunkEntry) -> bytes:
    """The chunk's records, or DamageError: the CRC is always checked."""
    file.seek(entry.offset)
    record = file.read(entry.length)
    if len(record) < entry.length:
        raise DamageError(f"{len(record)} of {entry.length} bytes are there")
    crc = _HEAD.unpack_from(record, RECORD.size)[3]
    packed = memoryview(record)[entry.length - entry.compressed :]
    data = _decompress(packed, entry.compression, entry.uncompressed)
    if len(data) != entry.uncompressed:
        raise DamageError(f"unpacks to {len(data)} bytes instead of {entry.uncompressed}")
    if zlib.crc32(data) != crc:
        raise DamageError(f"its CRC is {zlib.crc32(data):08x} instead of {crc:08x}")
    return data


def _decompress(packed: memoryview, compression: str, size: int) -> bytes:
    """`size` bounds the memory that damaged data can ask for, and is bounded itself by what lz4 can do."""
    if compression == "lz4" and size > 255 * len(packed):
        raise DamageError(f"{len(packed)} bytes cannot unpack to {size}")
    try:
        match compression:
            case "lz4":
                data: bytes = lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=size)
                return data
            case "zstd":
                return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
            case "":
                return bytes(packed)
    except (RuntimeError, MemoryError, OverflowError, zstandard.ZstdError) as exc:
        raise DamageError(f"does not unpack ({exc})") from exc
    raise DamageError(f"its compression {compression!r} is unknown")


def messages(data: bytes, channel: int | None = None) -> Iterator[Message]:
    """Messages in an unpacked chunk (of one channel), in file order."""
    size, head = len(data), _MESSAGE.size
    unpack_from = _MESSAGE.unpack_from
    end = 0
    while end + head <= size:
        start = end + head
        opcode, length, number, _, log_ns, publish_ns = unpack_from(data, end)
        end += RECORD.size + length
        if opcode == Opcode.MESSAGE and (channel is None or number == channel) and start <= end <= size:
            yield Message(number, log_ns, publish_ns, start, end)


def uniform(data: bytes, channel: int) -> NDArray[np.uint8] | None:
    """All messages of an unpacked chunk as rows of bytes, where they are of one channel and length; else None.

    So it is with Blocks of one length, and then nothing is done for each of them.
    """
    at = 0
    while at + _MESSAGE.size <= len(data):
        opcode, length = RECORD.unpack_from(data, at)
        if opcode == Opcode.MESSAGE:
            break
        at += RECORD.size + length
    else:
        return None
    size = RECORD.size + length
    if (len(data) - at) % size or size <= _MESSAGE.size:
        return None
    rows = np.frombuffer(data, np.uint8, offset=at).reshape(-1, size)
    head = RECORD.size + 2  # and the channel
    if _MESSAGE.unpack_from(data, at)[2] != channel or (rows[:, :head] != rows[0, :head]).any():
        return None
    return rows[:, _MESSAGE.size :]


def survey(data: bytes, known: Mapping[int, Channel]) -> Survey:
    """Look through an unpacked chunk; `known` are channels that earlier chunks have defined.

    Messages of a chunk that defines its own channels, none of them Heft's, are not looked at.
    """
    found = Survey()
    at = 0
    while at + RECORD.size <= len(data):
        opcode, length = RECORD.unpack_from(data, at)
        at += RECORD.size + length
        if opcode == Opcode.CHANNEL and at <= len(data):
            channel = Channel.read(ReadDataStream(BytesIO(data[at - length : at])))
            found.defined[channel.id] = channel
    if found.defined and not any(c.topic.startswith("/heft/") for c in found.defined.values()):
        return found
    topics = {number: c.topic for number, c in {**known, **found.defined}.items()}
    for m in messages(data):
        found.start_ns = min(found.start_ns, m.log_ns) if found.channels else m.log_ns
        found.end_ns = max(found.end_ns, m.log_ns)
        found.channels.add(m.channel)
        topic = topics.get(m.channel, "")
        if topic.startswith(layout.BLOCK_PREFIX) and m.start + _SAMPLES_AT + _SAMPLES.size <= m.end:
            stream = topic.removeprefix(layout.BLOCK_PREFIX)
            (samples,) = _SAMPLES.unpack_from(data, m.start + _SAMPLES_AT)
            found.extents.setdefault(stream, Extent()).grow(samples, m.publish_ns, m.log_ns)
    return found
