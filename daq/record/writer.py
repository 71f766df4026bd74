"""What a recording consists of, written in order: streams, Blocks, standard messages, events, notes, files.

Two chunks are filled at a time: one with the truth (Blocks and events), one with the standard messages for
viewers. So reading the truth does not unpack the rest, and damage to the one costs nothing of the other. The
standard messages are packed when their chunk is closed, a stream at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from daq.errors import RecordError
from daq.record import layout
from daq.record.chunk import Chunk
from daq.record.codec import DTYPES, encode
from daq.record.extent import Extent
from daq.record.file import McapFile, Raw
from daq.record.standard import Standard, standard
from drivers.block import Block
from drivers.stream import Stream

__all__ = ["CHUNK_BYTES", "Writer"]

#: A chunk is closed at this size, uncompressed [bytes], or earlier by `flush`.
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Channels:
    """A stream's two channels."""

    stream: Stream
    blocks: int
    standard: int
    messages: Standard


class _Section:
    """A chunk being filled, and the definitions that it and every later one begins with."""

    def __init__(self) -> None:
        self.definitions = b""
        self.chunk = Chunk()

    def define(self, record: bytes) -> None:
        self.definitions += record
        self.chunk.define(record)

    def renew(self) -> None:
        self.chunk = Chunk(self.definitions)


class Writer:
    """Writes one recording into an unbuffered file. Used from one thread at a time."""

    def __init__(self, raw: Raw, utc_offset_ns: int) -> None:
        software = _software()
        self.counts: dict[str, int] = {}  # samples in complete chunks, per stream
        self._file = McapFile(raw, f"heft/{software}")
        self._truth, self._display = _Section(), _Section()
        self._schemas: dict[str, int] = {}
        self._streams: dict[str, _Channels] = {}
        self._extents: dict[str, Extent] = {}
        self._events = 0
        self._unpacked: dict[str, list[Block]] = {}  # of streams whose standard messages are not packed yet
        self._unpacked_bytes = 0
        self.note(layout.FILE_NOTE, {"software": software, layout.UTC_OFFSET_KEY: str(utc_offset_ns)})
        schema = self._schema(
            self._truth, layout.EVENT_SCHEMA, "jsonschema", layout.EVENT_SCHEMA_TEXT.encode()
        )
        self._event_channel = self._channel(self._truth, layout.EVENT_TOPIC, "json", schema, {})

    def describe(self, stream: Stream) -> None:
        """Open the channels of a stream; the same stream may be described again."""
        known = self._streams.get(stream.name)
        if known is not None:
            if known.stream is not stream and known.stream != stream:
                raise RecordError(
                    f"{stream.name}: described twice, and differently; give the second another name"
                )
            return
        if np.dtype(stream.dtype) not in DTYPES.values():
            raise RecordError(
                f"{stream.name}: numbers of type {stream.dtype!r} cannot be recorded; "
                f"use one of {', '.join(d.str for d in DTYPES.values())}"
            )
        messages = standard(stream)
        block_schema = self._schema(
            self._truth, layout.BLOCK_SCHEMA, layout.BLOCK_SCHEMA_ENCODING, layout.BLOCK_SCHEMA_TEXT.encode()
        )
        standard_schema = self._schema(self._display, messages.schema, "ros2msg", messages.text.encode())
        self._streams[stream.name] = _Channels(
            stream,
            self._channel(
                self._truth,
                layout.block_topic(stream.name),
                layout.BLOCK_ENCODING,
                block_schema,
                {layout.STREAM_KEY: json.dumps(stream.to_dict())},
            ),
            self._channel(
                self._display,
                layout.standard_topic(stream.name),
                "cdr",
                standard_schema,
                messages.metadata,
            ),
            messages,
        )
        self._extents[stream.name] = Extent()
        self.counts[stream.name] = 0

    def block(self, block: Block) -> None:
        """Add a Block and its standard messages; a Block without samples holds nothing to write."""
        name, samples = block.stream.name, len(block)
        self.describe(block.stream)
        if not samples:
            return
        channels = self._streams[name]
        first_ns, last_ns = int(np.minimum.reduce(block.host_ns)), int(np.maximum.reduce(block.host_ns))
        self._truth.chunk.add(channels.blocks, block.sequence, last_ns, first_ns, encode(block))
        self._extents[name].grow(samples, first_ns, last_ns)
        if self._truth.chunk.size >= CHUNK_BYTES:
            self._close_truth()
        self._unpacked.setdefault(name, []).append(block)
        self._unpacked_bytes += samples * len(channels.messages.image)
        if self._unpacked_bytes >= CHUNK_BYTES:
            self._close_display()

    def event(self, t_ns: int, facts: str) -> None:
        """Add an event at host time `t_ns`; `facts` is its JSON text."""
        self._truth.chunk.add(self._event_channel, self._events, t_ns, t_ns, facts.encode())
        self._events += 1

    def attach(self, name: str, media_type: str, log_ns: int, data: bytes) -> None:
        """Add a file."""
        self._file.attachment(name, media_type, log_ns, data)

    def note(self, name: str, entries: Mapping[str, str]) -> None:
        """Add a metadata record, with a checksum."""
        self._file.metadata(name, {**entries, layout.CHECKSUM_KEY: layout.checksum(name, entries)})

    def flush(self) -> bool:
        """Close the chunks being filled: all that was added is in the file. False: there was nothing."""
        nothing = not self._truth.chunk  # then there are no samples either
        if self._truth.chunk:
            self._close_truth()
        if self._unpacked:
            self._close_display()
        return not nothing

    def finish(self) -> None:
        """Flush, and write how much there is of each stream, and the index."""
        self.flush()
        self.note(layout.EXTENTS_NOTE, {name: extent.to_json() for name, extent in self._extents.items()})
        self._file.finish()

    def _close_truth(self) -> None:
        self._file.chunk(self._truth.chunk)
        self._truth.renew()
        self.counts |= {name: extent.samples for name, extent in self._extents.items()}

    def _close_display(self) -> None:
        for name, blocks in self._unpacked.items():
            channels = self._streams[name]
            host_ns = np.concatenate([b.host_ns for b in blocks])
            values = np.concatenate([b.values for b in blocks])
            validity = np.concatenate([b.validity for b in blocks])
            sequence = np.concatenate([np.arange(b.sequence, b.next_sequence) for b in blocks])
            si = Block(channels.stream, 0, host_ns, values, validity).si
            rows = channels.messages.pack(host_ns, si)
            self._display.chunk.add_rows(channels.standard, sequence, host_ns, rows)
        self._unpacked, self._unpacked_bytes = {}, 0
        self._file.chunk(self._display.chunk)
        self._display.renew()

    def _schema(self, section: _Section, name: str, encoding: str, data: bytes) -> int:
        if name not in self._schemas:
            self._schemas[name], record = self._file.schema(name, encoding, data)
            section.define(record)
        return self._schemas[name]

    def _channel(
        self, section: _Section, topic: str, encoding: str, schema: int, metadata: dict[str, str]
    ) -> int:
        channel, record = self._file.channel(topic, encoding, schema, metadata)
        section.define(record)
        return channel


def _software() -> str:
    try:
        return version("heft")
    except PackageNotFoundError:
        return "unknown"
