"""Chunks of a recording: where each is, its records unpacked and checked, and what is in it."""

from __future__ import annotations

import os
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
from mcap.exceptions import McapError
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
    "log_offset_ns",
    "messages",
    "read_at",
    "read_channel",
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

MOST_UNPACKED = 64 * 1024 * 1024  # bytes of a chunk; recorders write some 1 to 16 MB
MOST_READ = 128 * 1024 * 1024  # bytes of any other record: an attached file, an index
_LZ4_RATIO = 255  # the most that lz4 can unpack a byte to
_ZSTD_WINDOW = 1 << 27  # the most that zstd may keep of what it has unpacked


class DamageError(Exception):
    """Bytes that are not what was written; stays inside this package."""


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """Where a chunk is: `offset` and `length` of its whole record in the file, and how to unpack it.

    `start_ns` and `end_ns` bound the log times of its messages, on the host's clock; `channels` have messages in it.
    """

    offset: int
    length: int
    compression: str
    compressed: int
    uncompressed: int
    start_ns: int
    end_ns: int
    channels: frozenset[int] = frozenset()


MOST_DIGITS = 20  # of an offset in nanoseconds


class Message(NamedTuple):
    """A message in an unpacked chunk: its times on the host's clock [ns]; its data are bytes `start` to `end`."""

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


def read_at(file: BinaryIO, offset: int, length: int, most: int = MOST_READ) -> bytes:
    """Bytes of a file; DamageError where they are not there, or are more than any record has.

    Offsets and lengths come out of the file, too: nothing is allocated before they are believed.
    """
    size = file.seek(0, os.SEEK_END)
    if not (0 <= offset <= size and 0 <= length <= size - offset):
        raise DamageError(f"{length} bytes at byte {offset} are not in a file of {size}")
    if length > most:
        raise DamageError(f"{length} bytes at byte {offset}, at most {most} are read at once")
    file.seek(offset)
    data = file.read(length)
    if len(data) < length:
        raise DamageError(f"{len(data)} of {length} bytes are there")
    return data


def entry_at(file: BinaryIO, at: int) -> ChunkEntry | None:
    """The chunk at an offset, None where the lengths in its header do not agree."""
    file.seek(at)
    return _entry_of(file.read(CHUNK.size + 8 + _SIZE.size), at)


def _entry_of(head: bytes, at: int) -> ChunkEntry | None:
    """A chunk by the first bytes of its record."""
    if len(head) < CHUNK.size + _SIZE.size:
        return None
    opcode, length, start_ns, end_ns, uncompressed, _, name_length = CHUNK.unpack_from(head)
    if opcode != Opcode.CHUNK or name_length > min(8, len(head) - CHUNK.size - _SIZE.size):
        return None
    name = head[CHUNK.size : CHUNK.size + name_length]
    (compressed,) = _SIZE.unpack_from(head, CHUNK.size + name_length)
    if length != CHUNK.size - RECORD.size + name_length + _SIZE.size + compressed:
        return None
    compression = name.decode("ascii", "replace")
    return ChunkEntry(at, RECORD.size + length, compression, compressed, uncompressed, start_ns, end_ns)


def unpack(file: BinaryIO, entry: ChunkEntry) -> bytes:
    """The chunk's records, or DamageError: the CRC is always checked, and that `entry` is what its header says."""
    record = read_at(file, entry.offset, entry.length)
    own = _entry_of(record[: CHUNK.size + 8 + _SIZE.size], entry.offset)
    if own is None or (own.length, own.compression, own.uncompressed) != (
        entry.length,
        entry.compression,
        entry.uncompressed,
    ):
        raise DamageError("its header and its place in the index do not agree")
    crc = _HEAD.unpack_from(record, RECORD.size)[3]
    packed = memoryview(record)[own.length - own.compressed :]
    data = _decompress(packed, own.compression, own.uncompressed)
    if len(data) != own.uncompressed:
        raise DamageError(f"unpacks to {len(data)} bytes instead of {own.uncompressed}")
    if zlib.crc32(data) != crc:
        raise DamageError(f"its CRC is {zlib.crc32(data):08x} instead of {crc:08x}")
    return data


def _decompress(packed: memoryview, compression: str, size: int) -> bytes:
    """`size` bounds the memory that damaged data can ask for, and is bounded itself.

    A zstd frame that states its own size is unpacked to that size whatever is allowed: it must be the chunk's.
    """
    if size > MOST_UNPACKED:
        raise DamageError(f"unpacks to {size} bytes, at most {MOST_UNPACKED} are read at once")
    if compression == "lz4" and size > _LZ4_RATIO * len(packed):
        raise DamageError(f"{len(packed)} bytes cannot unpack to {size}")
    try:
        match compression:
            case "lz4":
                data: bytes = lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=size)
                return data
            case "zstd":
                stated = zstandard.frame_content_size(packed)
                if stated not in (-1, size):  # -1: the frame does not say
                    raise DamageError(f"its frame states {stated} bytes, the chunk {size}")
                unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
                return unpacker.decompress(packed, max_output_size=size) if size else b""
            case "":
                return bytes(packed)
    except (RuntimeError, MemoryError, OverflowError, ValueError, zstandard.ZstdError) as exc:
        raise DamageError(f"does not unpack ({exc})") from exc
    raise DamageError(f"its compression {compression!r} is unknown")


def log_offset_ns(channels: Mapping[int, Channel]) -> int:
    """Log times minus host times of a recording [ns], as its channels state; 0: they are host times."""
    for channel in channels.values():
        text = channel.metadata.get(layout.LOG_OFFSET_KEY, "")
        if text.removeprefix("-").isdecimal() and len(text) <= MOST_DIGITS:
            return int(text)
    return 0


def messages(data: bytes, channel: int | None = None, offset_ns: int = 0) -> Iterator[Message]:
    """Messages in an unpacked chunk (of one channel), in file order; `offset_ns` is taken off their times."""
    size, head = len(data), _MESSAGE.size
    unpack_from = _MESSAGE.unpack_from
    end = 0
    while end + head <= size:
        start = end + head
        opcode, length, number, _, log_ns, publish_ns = unpack_from(data, end)
        end += RECORD.size + length
        if opcode == Opcode.MESSAGE and (channel is None or number == channel) and start <= end <= size:
            yield Message(number, log_ns - offset_ns, publish_ns - offset_ns, start, end)


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


def read_channel(body: bytes) -> Channel:
    """A channel by its record's body, or DamageError."""
    try:
        channel: Channel = Channel.read(ReadDataStream(BytesIO(body)))
        return channel
    except (McapError, struct.error, ValueError, OverflowError, MemoryError) as exc:
        raise DamageError(f"a channel cannot be read ({exc})") from exc


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
            channel = read_channel(data[at - length : at])
            found.defined[channel.id] = channel
    if found.defined and not any(c.topic.startswith("/heft/") for c in found.defined.values()):
        return found
    topics = {number: c.topic for number, c in {**known, **found.defined}.items()}
    offset_ns = log_offset_ns({**known, **found.defined})
    for m in messages(data, offset_ns=offset_ns):
        found.start_ns = min(found.start_ns, m.log_ns) if found.channels else m.log_ns
        found.end_ns = max(found.end_ns, m.log_ns)
        found.channels.add(m.channel)
        topic = topics.get(m.channel, "")
        if topic.startswith(layout.BLOCK_PREFIX) and m.start + _SAMPLES_AT + _SAMPLES.size <= m.end:
            stream = topic.removeprefix(layout.BLOCK_PREFIX)
            (samples,) = _SAMPLES.unpack_from(data, m.start + _SAMPLES_AT)
            found.extents.setdefault(stream, Extent()).grow(samples, m.publish_ns, m.log_ns)
    return found
