"""A session on the worker's own disk: a recording with the same Blocks, filled in the order they were made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from daq.archive.messages import Delivery, Description
from daq.errors import RecordingError
from daq.record import Writer
from daq.recording import Recording
from drivers.stream import Stream
from identify.errors import DataError

__all__ = ["Spool", "Tap"]

#: Sees every Block on its way into the spool: the stream, and Blocks one after the other, encoded.
Tap = Callable[[Stream, bytes], None]


class Spool:
    """`FOLDER/NAME.mcap`, with `.partial` until the session has ended and all of it is here.

    What a worker that was killed had spooled is taken over; the rest is asked for. `tap` sees all of it.
    """

    def __init__(self, folder: Path, session: Description, tap: Tap) -> None:
        self._final = folder / f"{session.name}.mcap"
        self._partial = self._final.with_name(self._final.name + ".partial")
        self._streams = {stream.name: stream for stream in session.streams}
        self._tap = tap
        self._counts = dict.fromkeys(self._streams, 0)
        self._events = 0
        folder.mkdir(parents=True, exist_ok=True)
        before = self._partial.with_name(self._final.name + ".before")
        for earlier in (self._final, self._partial):
            if earlier.exists() and not before.exists():  # else it is a copy that was not completed
                earlier.rename(before)
        self._raw = self._partial.open("wb", buffering=0)
        self._writer = Writer(self._raw, session.utc_offset_ns)
        for attachment in session.attachments:
            self._writer.attach(attachment.name, attachment.media_type, 0, attachment.data)
        for stream in session.streams:
            self._writer.describe(stream)
        if before.exists():
            self._take_over(before)
            self._writer.flush()
            before.unlink()

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._final if self._final.exists() else self._partial

    @property
    def counts(self) -> Mapping[str, int]:
        """Blocks that are here, by stream."""
        return MappingProxyType(self._counts)

    @property
    def events(self) -> int:
        """Events that are here."""
        return self._events

    def add(self, delivery: Delivery) -> None:
        """What the archive has delivered for `counts` and `events`."""
        for name, joined in delivery.blocks.items():
            if name not in self._streams:
                raise DataError(
                    f"the archive delivers {name!r}, which it has not described; restart the worker"
                )
            self._write(name, joined)
        for text in delivery.events:
            self._writer.event(int(json.loads(text)["t_ns"]), text)
            self._events += 1

    def holds(self, delivery: Delivery) -> bool:
        """Whether all that there was at the time of a delivery is here."""
        counts = all(self._counts.get(name, 0) >= count for name, count in delivery.counts.items())
        return counts and self._events >= delivery.event_count

    def flush(self) -> None:
        """What is here can be read, and outlives this process."""
        self._writer.flush()

    def finish(self, notes: Mapping[str, Mapping[str, str]]) -> Path:
        """The session is whole: write its notes and the index, and give the file its name."""
        for name, note in notes.items():
            self._writer.note(name, note)
        self._writer.finish()
        self._raw.close()
        return self._partial.rename(self._final)

    def close(self) -> None:
        """Leave it as it is; may be called twice."""
        if not self._raw.closed:
            self._writer.flush()
            self._raw.close()

    def _write(self, name: str, joined: bytes) -> None:
        stream = self._streams[name]
        self._counts[name] += self._writer.encoded(stream, joined)
        self._tap(stream, joined)

    def _take_over(self, path: Path) -> None:
        """Blocks of an earlier spool of this session; of none, where they cannot be trusted to be in order."""
        try:
            before = Recording.open(path)
        except RecordingError:
            return
        if before.recovery.damaged or {**before.streams} != self._streams:
            return
        for name in before.streams:
            for entry in before.chunks(name):
                self._write(name, b"".join(block.data for block in before.encoded(name, entry)))
