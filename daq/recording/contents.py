"""The contents of a recording's file, from its index where there is one."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import BinaryIO

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import AttachmentIndex, Channel, Metadata, MetadataIndex

from heft.daq.record import layout
from heft.daq.record.extent import Extent
from heft.daq.record.file import MAGIC
from heft.daq.recording.chunks import RECORD, ChunkEntry, DamageError, log_offset_ns, read_at, read_channel
from heft.daq.recording.recovery import DamagedChunk

__all__ = ["Contents", "read_attachment", "read_index", "read_metadata"]

_FOOTER = struct.Struct("<BQQQI")  # opcode, length, summary's start, offsets' start, CRC
_CHUNK_INDEX = struct.Struct("<QQQQI")  # first and last log time, offset, length, bytes of channels
_CHANNEL = struct.Struct("<HQ")  # number, offset of its index
_NAME = struct.Struct("<QI")  # length of the indexes, length of the compression's name
_SIZES = struct.Struct("<QQ")  # compressed, uncompressed
_ATTACHMENT = struct.Struct("<QQI")  # log time, create time, length of the name


@dataclass(slots=True)
class Contents:
    """What a file holds and where; filled by `read_index` or, record by record, by `scan`.

    `attachments` are (offset, length) of the records. `surveyed`: every chunk has been unpacked and checked.
    """

    complete: bool
    surveyed: bool
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkEntry] = field(default_factory=list)
    attachments: dict[str, tuple[int, int]] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    extents: dict[str, Extent] = field(default_factory=dict)
    damaged: list[DamagedChunk] = field(default_factory=list)
    lost_bytes: int = 0
    notes: list[str] = field(default_factory=list)


def read_index(file: BinaryIO, size: int) -> Contents:
    """The contents by the summary at the end of the file; DamageError if it is missing or not as written."""
    try:
        return _read_index(file, size)
    except (McapError, struct.error, ValueError, KeyError, TypeError, OverflowError, MemoryError) as exc:
        raise DamageError(f"the index cannot be read ({exc})") from exc


def _read_index(file: BinaryIO, size: int) -> Contents:
    contents = Contents(complete=True, surveyed=False)
    metadata: list[MetadataIndex] = []
    for opcode, body in _summary(file, size):
        stream = ReadDataStream(BytesIO(body))
        match opcode:
            case Opcode.CHANNEL:
                channel = read_channel(body)
                contents.channels[channel.id] = channel
            case Opcode.CHUNK_INDEX:
                contents.chunks.append(_entry(body))
            case Opcode.ATTACHMENT_INDEX:
                attachment = AttachmentIndex.read(stream)
                contents.attachments[attachment.name] = (attachment.offset, attachment.length)
            case Opcode.METADATA_INDEX:
                metadata.append(MetadataIndex.read(stream))
    offset_ns = log_offset_ns(contents.channels)
    contents.chunks = [
        replace(entry, start_ns=entry.start_ns - offset_ns, end_ns=entry.end_ns - offset_ns)
        for entry in contents.chunks
    ]
    for index in metadata:
        try:
            contents.metadata[index.name] = read_metadata(read_at(file, index.offset, index.length))[1]
        except DamageError as exc:
            contents.notes.append(f"the note {index.name!r} at byte {index.offset} is damaged: {exc}")
    extents = contents.metadata.get(layout.EXTENTS_NOTE)
    if extents is None:
        raise DamageError(f"the note {layout.EXTENTS_NOTE!r} is missing or damaged")
    contents.extents = {
        name: Extent.from_json(text) for name, text in extents.items() if name != layout.CHECKSUM_KEY
    }
    return contents


def _summary(file: BinaryIO, size: int) -> list[tuple[int, bytes]]:
    """Opcode and body of every record of the summary section, after checking its CRC."""
    tail = _FOOTER.size + len(MAGIC)
    if size < tail + len(MAGIC):
        raise DamageError("the file was not finished")
    end = read_at(file, size - tail, tail)
    opcode, length, start, _, crc = _FOOTER.unpack_from(end)
    if not end.endswith(MAGIC) or opcode != Opcode.FOOTER or length != _FOOTER.size - RECORD.size:
        raise DamageError("the file was not finished")
    if not len(MAGIC) <= start <= size - tail:
        raise DamageError(f"the index begins at byte {start} of {size}" if start else "there is no index")
    data = read_at(file, start, size - tail - start)
    if zlib.crc32(data + end[: _FOOTER.size - 4]) != crc:
        raise DamageError("the index does not have the CRC that was written")
    records, at = [], 0
    while at < len(data):
        opcode, length = RECORD.unpack_from(data, at)
        at += RECORD.size + length
        records.append((opcode, data[at - length : at]))
    return records


def _entry(body: bytes) -> ChunkEntry:
    """A ChunkIndex record's body. The library's reader takes many times as long, and there are many."""
    start_ns, end_ns, offset, length, channels_size = _CHUNK_INDEX.unpack_from(body)
    at = _CHUNK_INDEX.size + channels_size
    channels = frozenset(channel for channel, _ in _CHANNEL.iter_unpack(body[_CHUNK_INDEX.size : at]))
    _, name_size = _NAME.unpack_from(body, at)
    at += _NAME.size + name_size
    compressed, uncompressed = _SIZES.unpack_from(body, at)
    compression = body[at - name_size : at].decode()
    return ChunkEntry(offset, length, compression, compressed, uncompressed, start_ns, end_ns, channels)


def read_metadata(record: bytes) -> tuple[str, dict[str, str]]:
    """Name and entries of a metadata record, or DamageError: only those with Heft's checksum are believed."""
    opcode, length = RECORD.unpack_from(record.ljust(RECORD.size, b"\0"))
    if opcode != Opcode.METADATA or RECORD.size + length != len(record):
        raise DamageError("it is not a metadata record")
    try:
        metadata = Metadata.read(ReadDataStream(BytesIO(record[RECORD.size :])))
    except (McapError, struct.error, ValueError, OverflowError, MemoryError) as exc:
        raise DamageError(f"it cannot be read ({exc})") from exc
    entries = metadata.metadata
    if layout.CHECKSUM_KEY not in entries:
        raise DamageError("it has no checksum")
    if entries[layout.CHECKSUM_KEY] != layout.checksum(metadata.name, entries):
        raise DamageError("its checksum is not the one that was written")
    return metadata.name, entries


def read_attachment(record: bytes) -> tuple[str, bytes]:
    """Name and data of an attachment record, or DamageError."""
    opcode, length = RECORD.unpack_from(record.ljust(RECORD.size, b"\0"))
    body = record[RECORD.size :]
    if opcode != Opcode.ATTACHMENT or length != len(body) or length < _ATTACHMENT.size + 16:
        raise DamageError("it is not an attachment")
    if zlib.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
        raise DamageError("its CRC is not the one that was written")
    try:
        stream = ReadDataStream(BytesIO(body))
        stream.read(16)
        name = stream.read_prefixed_string()
        stream.read_prefixed_string()
        return name, stream.read(stream.read8())
    except (McapError, struct.error, ValueError, OverflowError, MemoryError) as exc:
        raise DamageError(f"it cannot be read ({exc})") from exc
