"""What a telemetry message is, and its bytes. Pure.

    part 0   topic, UTF-8
    part 1   header: char[2] "HB", u8 version, u8 flags, u64 sequence (little-endian), then the session's id
    part 2   a Block: its stream's description (JSON, zlib); otherwise: the value as JSON, and no further part
    part 3   a Block: as in the recording (`heft.Block`)

Every Block travels with its stream's description, some 300 bytes that are packed once: whoever joins late can
read the first message that comes.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import BusError, RecordingError
from heft.daq.record import codec
from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["Descriptions", "Header", "Message", "decode", "encode_block", "encode_json"]

MAGIC = b"HB"
VERSION = 1
_HEADER = struct.Struct("<2sBBQ")
_REPLAY, _BLOCK = 1, 2

#: The longest JSON of a message and of a stream's description, unpacked [byte]; descriptions that are remembered.
MOST_JSON = 1 << 24
MOST_DESCRIPTION = 1 << 20
MOST_TOPICS = 1000


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a subscriber gets it.

    sequence   number of the message within its topic and session, from 0
    lost       messages of this topic that were published since the last one received here and never arrived
    replay     it comes from a recording, not from devices
    block      the Block, under a topic of Blocks; None elsewhere
    json       the value, under any other topic; None elsewhere
    """

    topic: str
    session: str
    sequence: int
    replay: bool = False
    lost: int = 0
    block: Block | None = None
    json: Any = None


@dataclass(frozen=True, slots=True)
class Header:
    """What every message says of itself."""

    session: str
    sequence: int
    replay: bool
    is_block: bool

    def encode(self) -> bytes:
        """As bytes."""
        flags = _REPLAY * self.replay | _BLOCK * self.is_block
        return _HEADER.pack(MAGIC, VERSION, flags, self.sequence) + self.session.encode()

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """Inverse of `encode`; BusError for anything else."""
        if len(data) < _HEADER.size:
            raise BusError(f"a telemetry header of {len(data)} bytes, expected at least {_HEADER.size}")
        magic, version, flags, sequence = _HEADER.unpack_from(data)
        if magic != MAGIC or version != VERSION or flags & ~(_REPLAY | _BLOCK):
            raise BusError(
                f"a telemetry header {data[:4]!r}, expected {MAGIC!r} version {VERSION}; "
                "is it another program's endpoint, or another version of Heft?"
            )
        try:
            session = data[_HEADER.size :].decode()
        except UnicodeDecodeError as exc:
            raise BusError(f"a telemetry header whose session is not UTF-8: {exc}") from exc
        return cls(session, sequence, bool(flags & _REPLAY), bool(flags & _BLOCK))


class Descriptions:
    """Streams to bytes and back, each packed and unpacked once."""

    def __init__(self) -> None:
        self._packed: dict[str, tuple[Stream, bytes]] = {}
        self._streams: dict[str, tuple[bytes, Stream]] = {}

    def pack(self, stream: Stream) -> bytes:
        """The description of a stream."""
        known = self._packed.get(stream.name)
        if known is not None and (known[0] is stream or known[0] == stream):
            return known[1]
        packed = zlib.compress(json.dumps(stream.to_dict(), separators=(",", ":")).encode(), 9)
        self._packed[stream.name] = (stream, packed)
        return packed

    def unpack(self, topic: str, packed: bytes) -> Stream:
        """Inverse of `pack`; remembers the last description of each topic."""
        known = self._streams.get(topic)
        if known is not None and known[0] == packed:
            return known[1]
        try:
            stream = Stream.from_dict(bounded_json(_unpacked(packed), most=MOST_DESCRIPTION))
        except (AttributeError, OverflowError, zlib.error, ValueError, TypeError, KeyError) as exc:
            raise BusError(f"topic {topic!r}: the stream's description cannot be read ({exc})") from exc
        if len(self._streams) >= MOST_TOPICS:
            self._streams.clear()
        self._streams[topic] = (packed, stream)
        return stream


def encode_block(
    stream: Stream, data: bytes, header: bytes, topic: bytes, descriptions: Descriptions
) -> tuple[bytes, ...]:
    """Parts of a message that carries a Block of a stream, `data` being its bytes as in the recording."""
    return topic, header, descriptions.pack(stream), data


def encode_json(value: Any, header: bytes, topic: bytes) -> tuple[bytes, ...]:
    """Parts of a message that carries a JSON value; what JSON cannot say (NaN, infinity) becomes null."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return topic, header, text.encode()


def decode(parts: Sequence[bytes], descriptions: Descriptions) -> Message:
    """A message from its parts, `lost` not yet known; BusError for anything else."""
    if len(parts) < 3:
        raise BusError(f"a telemetry message of {len(parts)} parts, expected 3 or 4; is it Heft's endpoint?")
    header = Header.decode(parts[1])
    if len(parts) != 3 + header.is_block:
        raise BusError(f"a telemetry message of {len(parts)} parts, its header says {3 + header.is_block}")
    block, value = None, None
    try:
        topic = parts[0].decode()
        if header.is_block:
            block = codec.decode(parts[3], descriptions.unpack(topic, parts[2]))
        else:
            value = bounded_json(parts[2], most=MOST_JSON)
    except (RecordingError, ValueError) as exc:
        raise BusError(f"a telemetry message under {parts[0][:100]!r} cannot be read: {exc}") from exc
    return Message(topic, header.session, header.sequence, header.replay, block=block, json=value)


def _unpacked(packed: bytes) -> bytes:
    """What zlib has packed, if that is no more than a description may have."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, MOST_DESCRIPTION)
    if not unpacking.eof:
        raise ValueError(f"cut off, or more than {MOST_DESCRIPTION} bytes when unpacked")
    return data


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be published as JSON; convert it first")


def _finite(value: Any) -> Any:
    """The same value with None for every float that is not finite."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
