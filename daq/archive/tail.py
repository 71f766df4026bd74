"""A recording that is still being written: what has been added to it, without unpacking what is known."""

from __future__ import annotations

import os
import struct

from mcap.opcode import Opcode

from daq.archive.shelf import Shelf
from daq.record import layout
from daq.record.file import MAGIC
from daq.recording.chunks import RECORD, ChunkEntry, DamageError, entry_at, survey, unpack

__all__ = ["Tail"]

_INDEX = struct.Struct("<BQHI")  # opcode, length, channel, bytes of entries
_ENTRY_BYTES = 16  # of a message in an index


class Tail:
    """Goes along a growing file, record by record, and puts its chunks of Blocks on a shelf.

    The recorder writes, behind each chunk, an index of every channel in it: that tells how many Blocks there are. Only
    a channel's first chunk is unpacked, to learn its stream.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._at = len(MAGIC)
        self._entry: ChunkEntry | None = None  # the last chunk passed; its indexes follow
        self._streams: dict[int, str] = {}  # by channel; "" for those that hold no Blocks

    def advance(self) -> None:
        """Take in all records that are complete by now."""
        file = self._shelf.file
        size = os.fstat(file.fileno()).st_size
        while self._at + _INDEX.size <= size:
            file.seek(self._at)
            head = file.read(_INDEX.size)
            opcode, length = RECORD.unpack_from(head)
            if self._at + RECORD.size + length > size or opcode == Opcode.DATA_END:
                return
            if opcode == Opcode.CHUNK:
                self._entry = entry_at(file, self._at)
            elif opcode == Opcode.MESSAGE_INDEX and self._entry is not None:
                _, _, channel, entries = _INDEX.unpack(head)
                self._put(self._entry, channel, entries // _ENTRY_BYTES)
            self._at += RECORD.size + length

    def _put(self, entry: ChunkEntry, channel: int, count: int) -> None:
        if channel not in self._streams:
            self._learn(entry)
        stream = self._streams.setdefault(channel, "")
        if stream:
            self._shelf.put(stream, entry, channel, count)

    def _learn(self, entry: ChunkEntry) -> None:
        try:
            defined = survey(unpack(self._shelf.file, entry), {}).defined
        except DamageError:  # found again, and said, by whoever asks for its Blocks
            return
        for number, channel in defined.items():
            topic = channel.topic
            blocks = topic.startswith(layout.BLOCK_PREFIX)
            self._streams[number] = topic.removeprefix(layout.BLOCK_PREFIX) if blocks else ""
