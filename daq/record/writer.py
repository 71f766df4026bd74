"""What a recording consists of, written in order: streams, Blocks, standard messages, events, notes, files.

Several chunks are filled at a time: one per stream with its Blocks, one with events, one with the standard
messages of all streams for viewers. So reading a stream unpacks that stream alone, and damage to one chunk
costs nothing of the others. The standard messages are packed when their chunk is closed, a stream at a time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import RecordError
from heft.daq.record import codec, layout
from heft.daq.record.chunk import Chunk
from heft.daq.record.extent import Extent
from heft.daq.record.file import McapFile, Raw
from heft.daq.record.robot_messages import RobotMessages
from heft.daq.record.standard import Standard, standard
from heft.daq.record.viewer import NO_ROBOT, Thinning, Viewer
from heft.drivers.block import Block
from heft.drivers.stream import Stream

__all__ = ["CHUNK_BYTES", "Writer"]

#: A chunk is closed at this size, uncompressed [bytes], or earlier by `flush`.
CHUNK_BYTES = 1 << 19


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


class _Rows(NamedTuple):
    """Samples for viewers: sequence numbers (N,), host times (N,) [ns], values and validity (N, k)."""

    sequence: NDArray[np.int64]
    host_ns: NDArray[np.int64]
    values: NDArray[Any]
    validity: NDArray[np.uint8]

    def taken(self, places: NDArray[np.intp]) -> _Rows:
        """Some of them."""
        return _Rows(
            self.sequence.take(places),
            self.host_ns.take(places),
            self.values.take(places, axis=0),
            self.validity.take(places, axis=0),
        )


@dataclass(slots=True)
class _Entry:
    """A stream: its section and channel of Blocks, its channel and form of standard messages, how much so far."""

    stream: Stream
    section: _Section
    blocks: int
    standard: int = 0
    messages: Standard | None = None  # none are written
    thinning: Thinning | None = None  # all are written
    extent: Extent = field(default_factory=Extent)
    unpacked: list[_Rows] = field(default_factory=list)  # their standard messages are still to be packed


class Writer:
    """Writes one recording into an unbuffered file. Used from one thread at a time.

    Log times and stamps of standard messages are UTC: host times plus `utc_offset_ns`. What Blocks and events say are
    host times.
    """

    def __init__(self, raw: Raw, utc_offset_ns: int, viewer: Viewer = NO_ROBOT) -> None:
        software = _software()
        self._utc_offset_ns, self._viewer = utc_offset_ns, viewer
        self._log_offset = {layout.LOG_OFFSET_KEY: str(utc_offset_ns)}
        self.counts: dict[str, int] = {}  # samples in complete chunks, per stream
        self._file = McapFile(raw, f"heft/{software}")
        self._events, self._display = _Section(), _Section()
        self._schemas: dict[str, tuple[int, bytes]] = {}
        self._entries: dict[str, _Entry] = {}
        self._event_count = 0
        self._unpacked_bytes = 0
        self.note(layout.FILE_NOTE, {"software": software, layout.UTC_OFFSET_KEY: str(utc_offset_ns)})
        schema, definition = self._schema(
            layout.EVENT_SCHEMA, "jsonschema", layout.EVENT_SCHEMA_TEXT.encode()
        )
        self._event_channel, record = self._file.channel(layout.EVENT_TOPIC, "json", schema, self._log_offset)
        self._events.define(definition + record)
        self._robot = RobotMessages(viewer, self._display_channel)

    def describe(self, stream: Stream) -> None:
        """Open the channels of a stream; the same stream may be described again."""
        known = self._entries.get(stream.name)
        if known is not None:
            if known.stream is not stream and known.stream != stream:
                raise RecordError(
                    f"{stream.name}: described twice, and differently; give the second another name"
                )
            return
        codec.dtype_name(stream)  # or it cannot be recorded
        section = _Section()
        schema, definition = self._schema(
            layout.BLOCK_SCHEMA, layout.BLOCK_SCHEMA_ENCODING, layout.BLOCK_SCHEMA_TEXT.encode()
        )
        metadata = {layout.STREAM_KEY: json.dumps(stream.to_dict()), **self._log_offset}
        topic = layout.block_topic(stream.name)
        blocks, record = self._file.channel(topic, layout.BLOCK_ENCODING, schema, metadata)
        section.define(definition + record)
        self._events.define(definition + record)  # a stream that stays silent is defined there
        entry = self._entries[stream.name] = _Entry(stream, section, blocks)
        if self._viewer.copies:
            messages = entry.messages = standard(stream)
            topic = layout.standard_topic(stream.name)
            entry.standard = self._display_channel(topic, messages.schema, messages.text, messages.metadata)
            entry.thinning = None if self._viewer.most_hz is None else Thinning(self._viewer.most_hz)
        self._robot.describe(stream)
        self.counts[stream.name] = 0

    def block(self, block: Block, data: bytes | None = None) -> None:
        """Add a Block and its standard messages; one without samples holds nothing to write.

        `data` is its encoding, where that has been made already.
        """
        self.describe(block.stream)
        if not len(block):
            return
        entry = self._entries[block.stream.name]
        self._add(entry, block, data or codec.encode(block))
        if self._is_shown(entry):
            sequence = np.arange(block.sequence, block.next_sequence)
            self._show(entry, _Rows(sequence, block.host_ns, block.values, block.validity))

    def rows(
        self,
        stream: Stream,
        sequence: NDArray[np.int64],
        host_ns: NDArray[np.int64],
        values: NDArray[Any],
        validity: NDArray[np.uint8],
        request_ns: NDArray[np.int64] | None = None,
        *,
        most: int,
    ) -> None:
        """Add samples with rising numbers (N,) as Blocks of `most` samples at most, cut where numbers are missing.

        The same as adding those Blocks one by one, and faster: samples for viewers are chosen once for all.
        """
        self.describe(stream)
        entry = self._entries[stream.name]
        for start, end in _pieces(sequence, most):
            block = Block(
                stream,
                int(sequence[start]),
                host_ns[start:end],
                values[start:end],
                validity[start:end],
                None if request_ns is None else request_ns[start:end],
            )
            self._add(entry, block, codec.encode(block))
        if len(sequence) and self._is_shown(entry):
            self._show(entry, _Rows(sequence, host_ns, values, validity))

    def _add(self, entry: _Entry, block: Block, data: bytes) -> None:
        """Add a Block as a message."""
        first_ns, last_ns = int(np.minimum.reduce(block.host_ns)), int(np.maximum.reduce(block.host_ns))
        log = self._utc_offset_ns
        entry.section.chunk.add(entry.blocks, block.sequence, last_ns + log, first_ns + log, data)
        entry.extent.grow(len(block), first_ns, last_ns)
        self._close_if_full(entry)

    def _is_shown(self, entry: _Entry) -> bool:
        """Whether viewers get something of a stream."""
        return entry.messages is not None or self._robot.follows(entry.stream)

    def _show(self, entry: _Entry, rows: _Rows) -> None:
        """Keep samples for viewers until there are enough of them for a chunk."""
        if entry.thinning is not None:
            rows = rows.taken(np.flatnonzero(entry.thinning.chosen(rows.host_ns)))
        if len(rows.host_ns):
            entry.unpacked.append(rows)
            size = 0 if entry.messages is None else len(entry.messages.image)
            self._unpacked_bytes += len(rows.host_ns) * (size or rows.values.itemsize * entry.stream.width)
        if self._unpacked_bytes >= CHUNK_BYTES:
            self._close_display()

    def event(self, t_ns: int, facts: str) -> None:
        """Add an event at host time `t_ns`; `facts` is its JSON text."""
        log_ns = t_ns + self._utc_offset_ns
        self._events.chunk.add(self._event_channel, self._event_count, log_ns, log_ns, facts.encode())
        self._event_count += 1

    def attach(self, name: str, media_type: str, log_ns: int, data: bytes) -> None:
        """Add a file, at host time `log_ns`."""
        self._file.attachment(name, media_type, log_ns + self._utc_offset_ns, data)

    def note(self, name: str, entries: Mapping[str, str]) -> None:
        """Add a metadata record, with a checksum."""
        self._file.metadata(name, {**entries, layout.CHECKSUM_KEY: layout.checksum(name, entries)})

    def flush(self) -> bool:
        """Close the chunks being filled: all that was added is in the file. False: there was nothing."""
        anything = bool(self._events.chunk)
        if self._events.chunk:
            self._close(self._events)
        for name, entry in self._entries.items():
            if entry.section.chunk:
                anything = True
                self._close(entry.section)
                self.counts[name] = entry.extent.samples
        if self._unpacked_bytes:
            anything = True
            self._close_display()
        return anything

    def finish(self) -> None:
        """Flush, and write how much there is of each stream, and the index."""
        self.flush()
        self.note(
            layout.EXTENTS_NOTE, {name: entry.extent.to_json() for name, entry in self._entries.items()}
        )
        self._file.finish()

    def _close_if_full(self, entry: _Entry) -> None:
        if entry.section.chunk.size >= CHUNK_BYTES:
            self._close(entry.section)
            self.counts[entry.stream.name] = entry.extent.samples

    def _close(self, section: _Section) -> None:
        self._file.chunk(section.chunk)
        section.renew()

    def _close_display(self) -> None:
        for entry in self._entries.values():
            parts, entry.unpacked = entry.unpacked, []
            if not parts:
                continue
            rows = _Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
            utc_ns = rows.host_ns + self._utc_offset_ns
            for channel, at_ns, packed in self._robot.messages(
                entry.stream, utc_ns, rows.values, rows.validity
            ):
                self._display.chunk.add_rows(channel, np.arange(len(at_ns)), at_ns, packed)
            if entry.messages is not None:
                si = Block(entry.stream, 0, utc_ns, rows.values, rows.validity).si
                self._display.chunk.add_rows(
                    entry.standard, rows.sequence, utc_ns, entry.messages.pack(utc_ns, si)
                )
        self._unpacked_bytes = 0
        if self._display.chunk:
            self._close(self._display)

    def _display_channel(self, topic: str, schema: str, text: str, metadata: Mapping[str, str]) -> int:
        """A channel of standard messages."""
        number, definition = self._schema(schema, "ros2msg", text.encode())
        channel, record = self._file.channel(topic, "cdr", number, dict(metadata))
        self._display.define(definition + record)
        return channel

    def _schema(self, name: str, encoding: str, data: bytes) -> tuple[int, bytes]:
        """Number and record of a schema, made once. A section may define it several times: alike, as MCAP asks."""
        if name not in self._schemas:
            self._schemas[name] = self._file.schema(name, encoding, data)
        return self._schemas[name]


def _pieces(sequence: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Runs of consecutive numbers, of `most` at most."""
    edges = [0, *(np.flatnonzero(np.diff(sequence) != 1) + 1).tolist(), len(sequence)]
    return [
        (at, min(at + most, end))
        for start, end in itertools.pairwise(edges)
        for at in range(start, end, most)
    ]


def _software() -> str:
    try:
        return version("heft")
    except PackageNotFoundError:
        return "unknown"
