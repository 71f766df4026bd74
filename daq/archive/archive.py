"""A session as it can be asked for: its description, its events and notes, its Blocks by number, its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daq.archive.messages import Attachment, Delivery, Description, Ending
from daq.archive.store import Store
from daq.errors import BusError
from daq.record import plain
from drivers.stream import Stream

__all__ = ["Archive"]

#: Blocks in one answer [byte]: some milliseconds of work, so that nobody else waits long.
DELIVERY_BYTES = 1 << 20


class Archive:
    """Told what a recorder is told, by the same names; asked by followers. It changes nothing in the session.

    session   its id, as in telemetry
    name      of its recording, without suffix
    store     where its Blocks are
    """

    def __init__(
        self, session: str, name: str, store: Store, *, utc_offset_ns: int = 0, replay: bool = False
    ) -> None:
        self.session = session
        self.name = name
        self.store = store
        self.ended: Ending | None = None
        self._replay = replay
        self._utc_offset_ns = utc_offset_ns
        self._streams: dict[str, Stream] = {}
        self._attachments: dict[str, Attachment] = {}
        self._notes: dict[str, dict[str, str]] = {}
        self._events: list[str] = []
        self._begun = False

    def describe(self, stream: Stream) -> None:
        """A stream that there will be."""
        self._streams[stream.name] = stream

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """A file."""
        self._attachments[name] = Attachment(name, media_type, data)

    def note(self, name: str, entries: Mapping[str, Any]) -> None:
        """Metadata: text as it is, all else as JSON. Of notes with one name, the last one counts."""
        self._notes[name] = {
            key: value if isinstance(value, str) else plain.dumps(value) for key, value in entries.items()
        }

    def event(self, text: str) -> None:
        """Something that happened, as JSON text."""
        self._events.append(text)

    def begin(self) -> None:
        """All streams and files are told: from here on there are answers."""
        self._begun = True

    def end(self, ending: Ending) -> None:
        """Nothing more will come."""
        self.ended = ending

    def description(self) -> Description:
        """What to know before the Blocks; BusError before the session has begun."""
        if not self._begun:
            raise BusError(f"the session {self.session} is just beginning; ask again")
        return Description(
            session=self.session,
            name=self.name,
            replay=self._replay,
            utc_offset_ns=self._utc_offset_ns,
            streams=tuple(self._streams.values()),
            attachments=tuple(self._attachments.values()),
        )

    def complete(self, blocks: Mapping[str, int], events: int) -> bool:
        """Whether so many Blocks of each stream, and so many events, are all there will ever be."""
        counts = self.store.counts
        everything = all(blocks.get(name, 0) >= count for name, count in counts.items())
        return self.ended is not None and everything and events >= len(self._events)

    async def deliver(self, blocks: Mapping[str, int], events: int) -> Delivery:
        """What follows for one who has so many Blocks of each stream and so many events; some of it, if it is much."""
        ended, happened, counts = self.ended, len(self._events), dict(self.store.counts)
        lacking = [name for name in self._streams if blocks.get(name, 0) < counts.get(name, 0)]
        share = DELIVERY_BYTES // max(len(lacking), 1)
        found = {}
        for name in lacking:
            taken = await self.store.take(name, blocks.get(name, 0), share)
            if taken:
                found[name] = b"".join(taken)
        return Delivery(
            counts=counts,
            blocks=found,
            events=tuple(self._events[events:happened]),
            event_count=happened,
            notes=self._notes if ended is not None else {},
            ended=ended,
        )
