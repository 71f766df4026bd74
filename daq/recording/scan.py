"""The contents of a file without a usable index: record by record, past damage, up to where it is cut.

Chunks, attachments and Heft's metadata carry checksums and are believed only with them; other records have
no business between them, but for indexes with the right length. The places where a chunk seems to begin are
looked up first: behind a record that cannot be believed, or that claims to reach across such a place, reading
goes on at the next chunk. So a damaged length costs its own record and what little stands before that chunk.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from mcap.opcode import Opcode

from heft.daq.record.extent import Extent
from heft.daq.record.file import MAGIC
from heft.daq.recording.chunks import (
    CHUNK,
    RECORD,
    DamageError,
    entry_at,
    log_offset_ns,
    read_at,
    survey,
    unpack,
)
from heft.daq.recording.contents import Contents, read_attachment, read_metadata
from heft.daq.recording.recovery import DamagedChunk

__all__ = ["scan", "scan_on"]

_INDEX = struct.Struct("<BQHI")  # opcode, length, channel, bytes of entries
_COMPRESSIONS = (b"lz4", b"zstd")
_WINDOW = 1 << 20
_CHECKED = frozenset({Opcode.CHUNK, Opcode.ATTACHMENT, Opcode.METADATA})


def scan(file: BinaryIO, size: int) -> Contents:
    """The contents of everything that is whole."""
    contents = Contents(complete=False, surveyed=True)
    anchors = sorted(_anchors(file, size))
    at = len(MAGIC)
    while at < size:
        head = _read(file, at, RECORD.size)
        if len(head) < RECORD.size:
            break
        opcode, length = RECORD.unpack(head)
        end = at + RECORD.size + length
        place = bisect_right(anchors, at)
        anchor = anchors[place] if place < len(anchors) else None
        if opcode == Opcode.DATA_END and length == 4 and anchor is None:
            contents.complete = True
            return contents
        if end <= size:
            believed = _take(contents, file, opcode, at, end)
            named = opcode in _CHECKED and (anchor is None or end <= anchor)
            if believed or named:
                at = end
                continue
        if anchor is None:
            break
        _lose(contents, at, anchor)
        at = anchor
    _lose(contents, at, size)
    return contents


def scan_on(contents: Contents, file: BinaryIO, at: int, size: int) -> int:
    """Take in whole records from offset `at` on, of a file that may still grow; where they end.

    That is before a record that is not complete yet or cannot be believed, or before the end of the data.
    """
    if at == 0:
        if _read(file, 0, len(MAGIC)) != MAGIC:
            return 0
        at = len(MAGIC)
    while at + RECORD.size <= size:
        opcode, length = RECORD.unpack(_read(file, at, RECORD.size))
        end = at + RECORD.size + length
        if opcode == Opcode.DATA_END and length == 4:
            contents.complete = True
        if contents.complete or end > size or not _take(contents, file, opcode, at, end):
            break
        at = end
    return at


def _lose(contents: Contents, start: int, end: int) -> None:
    if end > start:
        contents.notes.append(f"bytes {start} to {end} are no whole record")
        contents.lost_bytes += end - start


def _take(contents: Contents, file: BinaryIO, opcode: int, at: int, end: int) -> bool:
    """Take a record into the contents. True where it can be believed; damage is entered where it is named."""
    match opcode:
        case Opcode.HEADER:
            return at == len(MAGIC)
        case Opcode.MESSAGE_INDEX:  # not used, but where it ends the next record begins
            head = _read(file, at, _INDEX.size)
            return len(head) == _INDEX.size and _INDEX.unpack(head)[3] == end - at - _INDEX.size
        case Opcode.CHUNK:
            return _take_chunk(contents, file, at, end)
        case Opcode.ATTACHMENT:
            try:
                name, _ = read_attachment(read_at(file, at, end - at))
            except DamageError as exc:
                contents.notes.append(f"the attachment at byte {at} is damaged: {exc}")
                return False
            contents.attachments[name] = (at, end - at)
            return True
        case Opcode.METADATA:
            try:
                name, entries = read_metadata(read_at(file, at, end - at))
            except DamageError as exc:
                contents.notes.append(f"the note at byte {at} is damaged: {exc}")
                return False
            contents.metadata[name] = entries
            return True
    return False


def _take_chunk(contents: Contents, file: BinaryIO, at: int, end: int) -> bool:
    entry = entry_at(file, at)
    if entry is None or entry.offset + entry.length != end:
        contents.damaged.append(DamagedChunk(at, "its header is damaged"))
        return False
    try:
        found = survey(unpack(file, entry), contents.channels)
    except DamageError as exc:
        offset_ns = log_offset_ns(contents.channels)
        contents.damaged.append(
            DamagedChunk(at, str(exc), entry.start_ns - offset_ns, entry.end_ns - offset_ns)
        )
        return False
    contents.channels |= found.defined
    contents.chunks.append(
        replace(entry, start_ns=found.start_ns, end_ns=found.end_ns, channels=frozenset(found.channels))
    )
    for name, extent in found.extents.items():
        contents.extents.setdefault(name, Extent()).merge(extent)
    return True


def _anchors(file: BinaryIO, size: int) -> Iterator[int]:
    """Offsets where a chunk seems to begin: its compression's name, in a header whose lengths agree."""
    for name in _COMPRESSIONS:
        mark = struct.pack("<I", len(name)) + name
        for start in range(0, size, _WINDOW):
            window = _read(file, start, _WINDOW + len(mark) - 1)
            hit = window.find(mark)
            while hit >= 0:
                at = start + hit - (CHUNK.size - 4)
                if at >= len(MAGIC) and entry_at(file, at) is not None:
                    yield at
                hit = window.find(mark, hit + 1)


def _read(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)
