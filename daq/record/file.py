"""An MCAP file being written, record by record; what is complete is in the kernel's hands at once.

The `mcap` library's own writer takes one message per call, which is too slow for standard messages at many
times real time; its record types are used for everything that comes seldom.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Protocol

import lz4.frame
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from heft.daq.record.chunk import Chunk

__all__ = ["MAGIC", "McapFile", "Raw"]

MAGIC = b"\x89MCAP0\r\n"
_LZ4 = b"lz4"
# Opcode, length, first and last log time, size, CRC, length and name of the compression, compressed size.
_CHUNK = struct.Struct(f"<BQQQQII{len(_LZ4)}sQ")


class Raw(Protocol):
    """An unbuffered binary file, as `open(path, "xb", buffering=0)` gives."""

    def write(self, data: memoryview, /) -> int | None: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


class McapFile:
    """Writes profile `ros2`: chunks (lz4, with CRC), attachments, metadata, and at the end the summary."""

    def __init__(self, raw: Raw, library: str) -> None:
        self._raw = raw
        self._position = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._messages: dict[int, int] = {}
        self._write(MAGIC + _bytes(Header(profile="ros2", library=library)))

    def schema(self, name: str, encoding: str, data: bytes) -> tuple[int, bytes]:
        """A new schema: its number, and its record for the chunks."""
        schema = Schema(id=len(self._schemas) + 1, name=name, encoding=encoding, data=data)
        self._schemas.append(schema)
        return schema.id, _bytes(schema)

    def channel(self, topic: str, encoding: str, schema: int, metadata: dict[str, str]) -> tuple[int, bytes]:
        """A new channel: its number, and its record for the chunks."""
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding=encoding,
            schema_id=schema,
            metadata=metadata,
        )
        self._channels.append(channel)
        return channel.id, _bytes(channel)

    def chunk(self, chunk: Chunk) -> None:
        """Write a chunk and the indexes of its channels."""
        data = chunk.data
        compressed = lz4.frame.compress(data)
        head = _CHUNK.pack(
            Opcode.CHUNK,
            _CHUNK.size - 9 + len(compressed),
            chunk.start_ns,
            chunk.end_ns,
            len(data),
            zlib.crc32(data),
            len(_LZ4),
            _LZ4,
            len(compressed),
        )
        length = len(head) + len(compressed)
        at = self._position + length
        indexes, offsets = [], {}
        for channel in chunk.messages:
            offsets[channel] = at
            indexes.append(chunk.index(channel))
            at += len(indexes[-1])
        entry = ChunkIndex(
            message_start_time=chunk.start_ns,
            message_end_time=chunk.end_ns,
            chunk_start_offset=self._position,
            chunk_length=length,
            message_index_offsets=offsets,
            message_index_length=sum(map(len, indexes)),
            compression="lz4",
            compressed_size=len(compressed),
            uncompressed_size=len(data),
        )
        self._write(b"".join((head, compressed, *indexes)))
        self._chunks.append(entry)
        for channel, count in chunk.messages.items():
            self._messages[channel] = self._messages.get(channel, 0) + count

    def attachment(self, name: str, media_type: str, log_ns: int, data: bytes) -> None:
        """Write an attachment."""
        record = _bytes(
            Attachment(create_time=0, log_time=log_ns, name=name, media_type=media_type, data=data)
        )
        index = AttachmentIndex(
            offset=self._position,
            length=len(record),
            log_time=log_ns,
            create_time=0,
            data_size=len(data),
            name=name,
            media_type=media_type,
        )
        self._write(record)
        self._attachments.append(index)

    def metadata(self, name: str, entries: Mapping[str, str]) -> None:
        """Write a metadata record."""
        record = _bytes(Metadata(name=name, metadata=dict(entries)))
        index = MetadataIndex(offset=self._position, length=len(record), name=name)
        self._write(record)
        self._metadata.append(index)

    def finish(self) -> None:
        """Write the summary and the footer: the file is whole."""
        self._write(_bytes(DataEnd(data_section_crc=0)))
        start = self._position
        groups: list[tuple[Opcode, list[McapRecord]]] = [
            (Opcode.SCHEMA, [*self._schemas]),
            (Opcode.CHANNEL, [*self._channels]),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, [*self._chunks]),
            (Opcode.ATTACHMENT_INDEX, [*self._attachments]),
            (Opcode.METADATA_INDEX, [*self._metadata]),
        ]
        summary, offsets = b"", []
        for opcode, records in groups:
            group = b"".join(map(_bytes, records))
            if group:
                offsets.append(
                    SummaryOffset(
                        group_opcode=opcode, group_start=start + len(summary), group_length=len(group)
                    )
                )
            summary += group
        offset_start = start + len(summary)
        summary += b"".join(map(_bytes, offsets))
        crc = zlib.crc32(summary + struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start))
        footer = Footer(summary_start=start, summary_offset_start=offset_start, summary_crc=crc)
        self._write(summary + _bytes(footer) + MAGIC)

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self._messages,
            chunk_count=len(self._chunks),
            message_count=sum(self._messages.values()),
            metadata_count=len(self._metadata),
            message_start_time=min((c.message_start_time for c in self._chunks), default=0),
            message_end_time=max((c.message_end_time for c in self._chunks), default=0),
            schema_count=len(self._schemas),
        )

    def _write(self, data: bytes) -> None:
        """Write all of `data`; an unbuffered file may take less at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        self._position += len(data)


def _bytes(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    data: bytes = builder.end()  # type: ignore[no-untyped-call]
    return data
