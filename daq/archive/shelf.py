"""Blocks in a recording's file, by stream and number."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from daq.errors import RecordingError
from daq.recording.chunks import ChunkEntry, DamageError, messages, unpack

__all__ = ["Shelf"]


@dataclass(slots=True)
class _Row:
    """One stream: its chunks, the number of the first Block in each, and the chunk that was read last."""

    firsts: list[int] = field(default_factory=list)
    chunks: list[tuple[ChunkEntry, int]] = field(default_factory=list)  # and the stream's channel in it
    count: int = 0
    open: int = -1
    blocks: list[bytes] = field(default_factory=list)


class Shelf:
    """Knows which chunk of a file holds which Blocks, and reads them; `take` is for one thread at a time.

    The file is opened once and kept open: it may be renamed meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rows: dict[str, _Row] = {}

    @property
    def file(self) -> BinaryIO:
        """The file, opened when it is first needed."""
        if self._file is None:
            self._file = self._path.open("rb")
        return self._file

    def count(self, stream: str) -> int:
        """Blocks of a stream that are known here."""
        row = self._rows.get(stream)
        return 0 if row is None else row.count

    def put(self, stream: str, entry: ChunkEntry, channel: int, count: int) -> None:
        """The stream's next chunk: `count` Blocks in it, under that channel."""
        row = self._rows.setdefault(stream, _Row())
        row.firsts.append(row.count)
        row.chunks.append((entry, channel))
        row.count += count

    def take(self, stream: str, first: int, limit: int) -> list[bytes]:
        """Blocks from number `first` on, until they have `limit` bytes or there are no more."""
        taken: list[bytes] = []
        row = self._rows.get(stream)
        while row is not None and limit > 0 and first < row.count:
            place = bisect_right(row.firsts, first) - 1
            for data in self._blocks(row, place)[first - row.firsts[place] :]:
                taken.append(data)
                first += 1
                limit -= len(data)
                if limit <= 0:
                    break
        return taken

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _blocks(self, row: _Row, place: int) -> list[bytes]:
        """All Blocks of a chunk; the last one read is kept, for those who ask in small portions."""
        if row.open != place:
            entry, channel = row.chunks[place]
            try:
                data = unpack(self.file, entry)
            except DamageError as exc:
                raise RecordingError(
                    f"{self._path}: the chunk at byte {entry.offset} is damaged: {exc}"
                ) from exc
            row.blocks = [data[m.start : m.end] for m in messages(data, channel)]
            row.open = place
        return row.blocks
