"""What a session gives to all who watch and follow it: telemetry, and an archive for those who missed some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from daq import topics
from daq.archive.archive import Archive
from daq.archive.live import LiveStore
from daq.archive.messages import Ending
from daq.archive.server import ArchiveServer
from daq.bus.endpoint import Endpoint
from daq.bus.telemetry import Publisher
from daq.record import codec, plain
from drivers.block import Block
from drivers.stream import Stream

__all__ = ["LiveSource", "Source"]


class Source:
    """A publisher and an archive that belong together, open while inside `async with`."""

    def __init__(self, publisher: Publisher, endpoint: Endpoint, archive: Archive) -> None:
        self.publisher = publisher
        self.archive = archive
        self.server = ArchiveServer(endpoint, archive, self._tell)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.publisher)
            await stack.enter_async_context(self.server)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def publish_json(self, topic: str, value: Any) -> None:
        """Publish a JSON value; it is not archived."""
        self.publisher.publish_json(topic, value)

    def _tell(self, follower: str, what: str, value: Any) -> None:
        self.publisher.publish_json(topics.worker(follower, what), value)


class LiveSource(Source):
    """Of a session that is running. It is told what the recorder is told, by the same names.

    name       of the recording, without suffix
    store      where Blocks are kept for those who missed them
    """

    def __init__(self, telemetry: Endpoint, name: str, store: LiveStore, utc_offset_ns: int) -> None:
        publisher = Publisher(telemetry)
        archive = Archive(publisher.session, name, store, utc_offset_ns=utc_offset_ns)
        super().__init__(publisher, telemetry.archive, archive)
        self._store = store

    def describe(self, stream: Stream) -> None:
        """A stream that there will be."""
        self.archive.describe(stream)

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """A file of the session's."""
        self.archive.attach(name, media_type, data)

    def note(self, name: str, entries: Mapping[str, Any]) -> None:
        """Metadata of the session."""
        self.archive.note(name, entries)

    def begin(self) -> None:
        """All streams and files are told."""
        self.archive.begin()

    def block(self, block: Block) -> None:
        """A Block for everyone. Never waits."""
        data, last_ns = codec.encode(block), None
        if len(block):  # one without samples is not recorded either
            self._store.add(block.stream.name, data)
            last_ns = int(block.host_ns[-1])
        self.publisher.publish_encoded(block.stream, data, last_ns)

    def event(self, name: str, *, t_ns: int, **facts: Any) -> None:
        """Something that happened, at host time `t_ns` [ns]."""
        happened = {"t_ns": t_ns, "name": name, **facts}
        self.archive.event(plain.dumps(happened))
        self.publisher.publish_json(topics.EVENT, happened)

    def disown(self) -> None:
        """Something could not be recorded: from here on the archive gives what it has in memory."""
        self._store.disown()

    async def end(self, state: str, reason: str, expected: Mapping[str, Callable[[], bool]]) -> None:
        """The session is over and recorded; return when its followers have all of it (see `ArchiveServer`)."""
        self.archive.end(Ending(state, reason))
        await self.server.followed(expected)
