"""What a session gives to all who watch and follow it: telemetry, and its recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from heft.daq import topics
from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.telemetry import Publisher
from heft.daq.following.messages import Ending, SessionInfo
from heft.daq.following.server import FollowServer

__all__ = ["Source"]


class Source:
    """A publisher and a server for followers that belong together, open while inside `async with`.

    telemetry       where to publish; followers are served beside it
    name            of the recording, without suffix
    utc_offset_ns   UTC minus host time [ns]
    replay          what is published comes from a recording
    patient         telemetry drops nothing (see `Publisher`)
    visible         bytes of the recording that followers may read while the session goes on; None: all
    """

    def __init__(
        self,
        telemetry: Endpoint,
        name: str,
        utc_offset_ns: int,
        *,
        replay: bool = False,
        patient: bool = False,
        visible: Callable[[], int] | None = None,
    ) -> None:
        self.publisher = Publisher(telemetry, replay=replay, patient=patient)
        info = SessionInfo(self.publisher.session, name, replay, utc_offset_ns)
        self.server = FollowServer(telemetry.following, info, self._tell, visible=visible)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.publisher)
            await stack.enter_async_context(self.server)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def begin(self, recording: Path) -> None:
        """The file of the recording is there; followers get it from now on."""
        self.server.begin(recording)

    async def end(self, state: str, reason: str, expected: Mapping[str, Callable[[], bool]]) -> None:
        """The session is over and recorded; return when its followers have all of it (`FollowServer.followed`)."""
        self.server.end(Ending(state, reason))
        await self.server.followed(expected)

    def _tell(self, follower: str, what: str, text: bytes) -> None:
        self.publisher.publish_text(topics.worker(follower, what), text)
