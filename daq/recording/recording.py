"""Reading a recording: whole, still `.partial`, cut off or damaged."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from mcap.exceptions import McapError

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import RecordingError
from heft.daq.record import layout
from heft.daq.record.codec import decode, decode_rows, decode_runs
from heft.daq.record.extent import Extent
from heft.daq.record.file import MAGIC
from heft.daq.recording.chunks import (
    ChunkEntry,
    DamageError,
    Encoded,
    log_offset_ns,
    messages,
    read_at,
    survey,
    uniform,
    unpack,
)
from heft.daq.recording.columns import NO_TIME, Columns
from heft.daq.recording.contents import Contents, read_attachment, read_index
from heft.daq.recording.event import Event, Segment, segments
from heft.daq.recording.recovery import DamagedChunk, Recovery
from heft.daq.recording.scan import scan
from heft.drivers.block import Block
from heft.drivers.stream import Role, Stream

__all__ = ["Recording"]

MOST_DESCRIPTION = 1 << 20  # bytes of what a channel says of its stream


class Recording:
    """One file. Nothing is kept open; each call reads what it needs, a chunk at a time, and checks every CRC.

        recording = Recording.open("session.mcap")
        motion = recording.columns("arm.motion")
        motion.host_ns, motion["joint1.position"], motion.gaps

    A damaged chunk is skipped: its samples are a gap. `recovery` says which chunks those are.
    """

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self._contents = contents
        self._damaged = {chunk.offset: chunk for chunk in contents.damaged}
        self._channels: dict[str, int] = {}
        self._event_channel: int | None = None
        streams = {}
        for number, channel in contents.channels.items():
            if channel.topic.startswith(layout.BLOCK_PREFIX):
                stream = _stream(path, channel.topic, channel.metadata)
                streams[stream.name] = stream
                self._channels[stream.name] = number
            elif channel.topic == layout.EVENT_TOPIC:
                self._event_channel = number
        self.streams: Mapping[str, Stream] = streams
        self._log_offset_ns = log_offset_ns(contents.channels)
        self._part: tuple[int, int, int] | None = None  # host times of segments, and samples around them [ns]
        self._kept: dict[str, Columns] | None = None

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open by the index where there is one, else by reading through the file; see `recovery`."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                contents = _contents(path, file)
        except OSError as exc:
            raise RecordingError(f"{path}: cannot be read: {exc.strerror or exc}; check the path") from exc
        except (McapError, struct.error, ValueError, KeyError, TypeError) as exc:
            if isinstance(exc, RecordingError):
                raise
            raise RecordingError(f"{path}: its records are not laid out as MCAP says: {exc}") from exc
        recording = cls(path, contents)
        if not recording.streams and recording._event_channel is None:
            if layout.FILE_NOTE not in contents.metadata and contents.chunks and not contents.damaged:
                raise RecordingError(
                    f"{path}: an MCAP file without Heft's channels ({layout.BLOCK_PREFIX}...); "
                    "`heft import` makes a recording of it"
                )
            raise RecordingError(
                f"{path}: nothing could be recovered: it holds no whole chunk of a recording; record again"
            )
        return recording

    @cached_property
    def recovery(self) -> Recovery:
        """What could be read and what could not. Checks every chunk of the file."""
        contents = self._contents
        notes = list(contents.notes)
        extents = contents.extents
        if not contents.surveyed:
            extents = {name: Extent() for name in self.streams}
            with self.path.open("rb") as file:
                for entry in contents.chunks:
                    data = self._unpack(file, entry)
                    if data is None:
                        continue
                    try:
                        found = survey(data, contents.channels).extents
                    except DamageError as exc:
                        self._enter_damage(entry, exc)
                        continue
                    for name, extent in found.items():
                        extents.setdefault(name, Extent()).merge(extent)
            for name in self.attachments:
                try:
                    self.attachment(name)
                except RecordingError as exc:
                    notes.append(str(exc))
        bad = self._damaged.keys() & {entry.offset for entry in contents.chunks}
        return Recovery(
            contents.complete,
            len(contents.chunks) - len(bad),
            {name: extents[name].samples if name in extents else 0 for name in self.streams},
            tuple(self._damaged[offset] for offset in sorted(self._damaged)),
            contents.lost_bytes,
            tuple(notes),
        )

    def part(self, start_ns: int, end_ns: int, around_ns: int = 0) -> Self:
        """The same recording cut to an interval of host time: its segments, and samples up to `around_ns` around it.

        For sessions that are too long to be held in memory at once.
        """
        part = type(self)(self.path, self._contents)
        part._part = (start_ns, end_ns, around_ns)
        return part

    def blocks(self, name: str, start_ns: int | None = None, end_ns: int | None = None) -> Iterator[Block]:
        """Blocks of a stream as they were recorded, cut to samples with `start_ns <= host time < end_ns`.

        One chunk is in memory at a time; chunks outside the interval are not read.
        """
        stream = self._stream(name)
        start_ns, end_ns = self._limits(start_ns, end_ns)
        for data in self._messages(name, start_ns, end_ns):
            yield from _cut(decode(data, stream), start_ns, end_ns)

    def chunks(self, name: str) -> tuple[ChunkEntry, ...]:
        """Where the chunks with Blocks of a stream are, in the order of the file."""
        self._stream(name)
        return tuple(entry for entry in self._contents.chunks if self._channels[name] in entry.channels)

    def encoded(self, name: str, entry: ChunkEntry) -> list[Encoded]:
        """A stream's Blocks in one of its chunks, as they stand there; none where it is damaged."""
        with self.path.open("rb") as file:
            data = self._unpack(file, entry)
        return [] if data is None else list(self._encoded(data, self._channels[name]))

    @property
    def event_texts(self) -> Iterator[Encoded]:
        """Events as they stand in the file, JSON texts, in its order."""
        if self._event_channel is not None:
            for data in self._read(self._event_channel, None, None):
                yield from self._encoded(data, self._event_channel)

    def columns(self, name: str, start_ns: int | None = None, end_ns: int | None = None) -> Columns:
        """All samples of a stream (with `start_ns <= host time < end_ns`) as arrays."""
        stream = self._stream(name)
        kept = self._kept if start_ns is end_ns is None else None
        if kept is not None and name in kept:
            return kept[name]
        start_ns, end_ns = self._limits(start_ns, end_ns)
        runs = self._runs(name, start_ns, end_ns)
        found = Columns.of(stream, (part for run in runs for part in _cut(run, start_ns, end_ns)))
        if kept is not None:
            kept[name] = found
        return found

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """While this lasts, streams that are read whole stay in memory: several readers cost as much as one."""
        self._kept = {}
        try:
            yield
        finally:
            self._kept = None

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What happened, in the order of time."""
        found = (Event.from_json(text.data) for text in self.event_texts)
        return tuple(sorted(found, key=lambda event: event.t_ns))

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Parts of the session with a purpose, in the order of their starts."""
        found = segments(self.events, self._measured_until_ns)
        if self._part is None:
            return found
        first_ns, last_ns, _ = self._part
        return tuple(
            replace(s, start_ns=max(s.start_ns, first_ns), end_ns=min(s.end_ns, last_ns))
            for s in found
            if s.start_ns < last_ns and s.end_ns > first_ns
        )

    @property
    def _measured_until_ns(self) -> int:
        """Host time of the last sample [ns]; setpoints do not count: they are sent ahead, after a stop in vain."""
        sent = {name for name, stream in self.streams.items() if stream.role is Role.SENT}
        extents = [extent for name, extent in self._contents.extents.items() if name not in sent]
        return max((extent.last_ns for extent in extents if extent.blocks), default=self.span_ns[1])

    @property
    def metadata(self) -> Mapping[str, Mapping[str, str]]:
        """Notes by name; each a table of texts (what was not text is JSON)."""
        return {
            name: {key: value for key, value in entries.items() if key != layout.CHECKSUM_KEY}
            for name, entries in self._contents.metadata.items()
        }

    @property
    def attachments(self) -> tuple[str, ...]:
        """Names of the attached files."""
        return tuple(self._contents.attachments)

    def attachment(self, name: str) -> bytes:
        """An attached file."""
        if name not in self._contents.attachments:
            known = ", ".join(self.attachments) or "none"
            raise RecordingError(f"{self.path}: no attached file {name!r}; there are: {known}")
        offset, length = self._contents.attachments[name]
        with self.path.open("rb") as file:
            try:
                return read_attachment(read_at(file, offset, length))[1]
            except DamageError as exc:
                raise RecordingError(
                    f"{self.path}: the attached file {name!r} at byte {offset} is damaged: {exc}"
                ) from exc

    @property
    def complete(self) -> bool:
        """Did the recorder finish it?"""
        return self._contents.complete

    @property
    def span_ns(self) -> tuple[int, int]:
        """Host times of the first and the last sample of all streams [ns]."""
        extents = [extent for extent in self._contents.extents.values() if extent.blocks]
        return min((e.first_ns for e in extents), default=0), max((e.last_ns for e in extents), default=0)

    @property
    def duration_s(self) -> float:
        """From the first to the last sample of all streams [s]."""
        first_ns, last_ns = self.span_ns
        return (last_ns - first_ns) * 1e-9

    @property
    def utc_offset_ns(self) -> int:
        """UTC minus host time [ns]."""
        try:
            return int(self._contents.metadata[layout.FILE_NOTE][layout.UTC_OFFSET_KEY])
        except (KeyError, ValueError) as exc:
            raise RecordingError(
                f"{self.path}: the offset to UTC is missing: the note {layout.FILE_NOTE!r} is damaged or lost"
            ) from exc

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what was recorded: of each stream by name, its description and its samples in order.

        It does not depend on how samples are cut into Blocks, nor on how Blocks are packed into the file.
        """
        total = hashlib.sha256()
        for name, stream in sorted(self.streams.items()):
            total.update(json.dumps(stream.to_dict()).encode())
            parts = [hashlib.sha256() for _ in range(6)]
            for run in self._runs(name, None, None):
                none = np.full(len(run), NO_TIME)
                arrays = (
                    np.arange(run.sequence, run.next_sequence),
                    run.host_ns,
                    none if run.request_ns is None else run.request_ns,
                    none if run.ticks is None else run.ticks,
                    run.values,
                    run.validity,
                )
                for part, array in zip(parts, arrays, strict=True):
                    part.update(np.ascontiguousarray(array).data)
            for part in parts:
                total.update(part.digest())
        return total.hexdigest()

    def _limits(self, start_ns: int | None, end_ns: int | None) -> tuple[int | None, int | None]:
        """Host times that samples are asked for, inside the part that this is."""
        if self._part is None:
            return start_ns, end_ns
        first_ns, last_ns, around_ns = self._part
        low, high = first_ns - around_ns, last_ns + around_ns
        return low if start_ns is None else max(low, start_ns), high if end_ns is None else min(high, end_ns)

    def _stream(self, name: str) -> Stream:
        try:
            return self.streams[name]
        except KeyError:
            known = ", ".join(self.streams) or "none"
            raise RecordingError(f"{self.path}: no stream {name!r}; there are: {known}") from None

    def _messages(self, name: str, start_ns: int | None, end_ns: int | None) -> Iterator[bytes]:
        """Blocks of a stream, encoded, from the chunks that may have samples in an interval."""
        for data in self._read(self._channels[name], start_ns, self._latest(name, end_ns)):
            yield from (message.data for message in self._encoded(data, self._channels[name]))

    def _runs(self, name: str, start_ns: int | None, end_ns: int | None) -> Iterator[Block]:
        """The same as Blocks, those joined that continue each other in a chunk."""
        channel, stream = self._channels[name], self.streams[name]
        for data in self._read(channel, start_ns, self._latest(name, end_ns)):
            rows = uniform(data, channel)
            if rows is not None:
                yield from decode_rows(rows, stream)
            else:
                yield from decode_runs((message.data for message in self._encoded(data, channel)), stream)

    def _latest(self, name: str, end_ns: int | None) -> int | None:
        """A Block is logged at its last sample, and may begin earlier by the length of the longest one."""
        return None if end_ns is None else end_ns + self._contents.extents.get(name, Extent()).longest_ns

    def _read(self, channel: int, start_ns: int | None, latest_ns: int | None) -> Iterator[bytes]:
        """Unpacked chunks with messages of a channel and log times in `start_ns <= t < latest_ns`."""
        with self.path.open("rb") as file:
            for entry in self._contents.chunks:
                if (
                    channel in entry.channels
                    and (start_ns is None or entry.end_ns >= start_ns)
                    and (latest_ns is None or entry.start_ns < latest_ns)
                ):
                    data = self._unpack(file, entry)
                    if data is not None:
                        yield data

    def _encoded(self, data: bytes, channel: int) -> Iterator[Encoded]:
        """Messages of a channel in an unpacked chunk, at host times."""
        offset_ns = self._log_offset_ns
        return (Encoded(m.log_ns, data[m.start : m.end]) for m in messages(data, channel, offset_ns))

    def _unpack(self, file: BinaryIO, entry: ChunkEntry) -> bytes | None:
        """A chunk's records; None, and entered as damaged, where they are not what was written."""
        try:
            return unpack(file, entry)
        except DamageError as exc:
            self._enter_damage(entry, exc)
            return None

    def _enter_damage(self, entry: ChunkEntry, exc: DamageError) -> None:
        streams = tuple(name for name, number in self._channels.items() if number in entry.channels)
        self._damaged[entry.offset] = DamagedChunk(
            entry.offset, str(exc), entry.start_ns, entry.end_ns, streams
        )


def _contents(path: Path, file: BinaryIO) -> Contents:
    size = path.stat().st_size
    if size == 0:
        raise RecordingError(f"{path}: the file is empty; the recorder was stopped before it wrote anything")
    if file.read(len(MAGIC)) != MAGIC:
        raise RecordingError(
            f"{path}: not an MCAP file: it does not begin with {MAGIC!r}; `heft import` reads other files"
        )
    try:
        return read_index(file, size)
    except DamageError as exc:
        contents = scan(file, size)
        if contents.complete:
            contents.notes.append(f"read without the index: {exc}")
        return contents


def _stream(path: Path, topic: str, metadata: Mapping[str, str]) -> Stream:
    try:
        stream = Stream.from_dict(bounded_json(metadata[layout.STREAM_KEY], most=MOST_DESCRIPTION))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise RecordingError(f"{path}: {topic}: its description of the stream cannot be read: {exc}") from exc
    if layout.block_topic(stream.name) != topic:
        raise RecordingError(f"{path}: {topic}: describes another stream, {stream.name!r}")
    return stream


def _cut(block: Block, start_ns: int | None, end_ns: int | None) -> Iterator[Block]:
    """The runs of a Block's samples that lie in an interval of host time."""
    if start_ns is None and end_ns is None:
        yield block
        return
    inside = np.ones(len(block), np.bool_)
    if start_ns is not None:
        inside &= block.host_ns >= start_ns
    if end_ns is not None:
        inside &= block.host_ns < end_ns
    if inside.all():
        yield block
        return
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2):
        part = slice(int(first), int(last))
        yield replace(
            block,
            sequence=block.sequence + int(first),
            host_ns=block.host_ns[part],
            values=block.values[part],
            validity=block.validity[part],
            request_ns=None if block.request_ns is None else block.request_ns[part],
            ticks=None if block.ticks is None else block.ticks[part],
        )
