"""Follows one session: asks for what is missing until all of it is in the spool, and looks at it on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daq.archive.client import ArchiveClient
from daq.archive.messages import Delivery, Description, Ending
from daq.errors import BusError, RemoteError
from drivers.clock import Clock
from identify.errors import HeftError
from identify.recorded import robot_of
from identify.worker.background import in_background
from identify.worker.provisional import Provisional
from identify.worker.spool import Spool

if TYPE_CHECKING:
    from identify.consistency import Level
    from identify.robot import Robot

__all__ = ["Follower"]

_log = logging.getLogger("heft.worker")

#: How often a session that runs is asked [ns]; at once again where an answer was this full [byte].
EVERY_NS = 200_000_000
FULL_BYTES = 1 << 18
#: How often progress is told [ns], and a sign of life given while there is nothing else to say [s].
TELL_NS = 1_000_000_000
BEAT_S = 1.0


class Follower:
    """One session, from wherever it stands to its end.

    robot    the robot to identify; None: the one that travels with the session
    gone_s   no answer for so long: the acquisition has died
    """

    def __init__(
        self,
        archive: ArchiveClient,
        session: Description,
        folder: Path,
        clock: Clock,
        *,
        robot: Robot | None,
        method: str,
        level: Level,
        gone_s: float,
    ) -> None:
        self._archive = archive
        self._session = session.session
        self._clock = clock
        self._gone_ns = int(gone_s * 1e9)
        self._told_ns = 0
        self._over = False
        self._gone = False  # nobody is there any more
        load = (lambda: robot_of(self._spool.path)) if robot is None else (lambda: robot)
        self._provisional = Provisional(load, method, level)
        self._spool: Spool = Spool(folder, session, self._provisional.take)

    @property
    def spool(self) -> Path:
        """The session as far as it is here."""
        return self._spool.path

    async def follow(self) -> Ending | None:
        """How the session ended, all of it being in the spool; None where the acquisition has died."""
        looking = asyncio.create_task(self._look(), name="provisional")
        try:
            ended = await self._fill()
            self._over = True
            while not looking.done():  # what comes next wants the machine for itself
                await asyncio.wait({looking}, timeout=BEAT_S)
                await self.beat()
            return ended
        finally:
            self._spool.close()
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def beat(self) -> None:
        """Be heard by the archive, which waits for those who are still at work."""
        await self._try(self._archive.fetch(self._session, self._spool.counts, self._spool.events))

    async def say(self, what: str, value: Any) -> None:
        """Publish on the session's bus; not heard where nobody is there any more."""
        await self._try(self._archive.tell(self._session, what, value))

    async def leave(self) -> None:
        """Nothing more is needed."""
        await self._try(self._archive.leave(self._session))

    async def _try(self, request: Coroutine[Any, Any, object]) -> None:
        """Ask; one who did not answer once is not asked again."""
        if self._gone:
            request.close()
            return
        try:
            await request
        except BusError:
            self._gone = True

    async def _fill(self) -> Ending | None:
        """Fetch until all is here, or nobody answers any more."""
        while True:
            delivery = await self._fetch()
            if delivery is None:
                return None
            self._spool.add(delivery)
            self._provisional.happened(delivery.events)
            if delivery.ended is not None and self._spool.holds(delivery):
                self._spool.finish(delivery.notes)
                return delivery.ended
            if self._clock.now_ns() - self._told_ns > TELL_NS:
                self._told_ns = self._clock.now_ns()
                self._spool.flush()
                await self._tell()
            if sum(map(len, delivery.blocks.values())) < FULL_BYTES:
                await self._clock.sleep_until(self._clock.now_ns() + EVERY_NS)

    async def _tell(self) -> None:
        with suppress(BusError):  # the next question will show whether it is gone
            value = {"provisional": True, **self._provisional.progress.to_dict()}
            await self._archive.tell(self._session, "progress", value)

    async def _fetch(self) -> Delivery | None:
        """What follows; None where there is no answer for too long, or only from another session."""
        since_ns = self._clock.now_ns()
        while self._clock.now_ns() - since_ns <= self._gone_ns:
            try:
                return await self._archive.fetch(self._session, self._spool.counts, self._spool.events)
            except RemoteError as exc:
                _log.warning("%s", exc)
                break
            except BusError as exc:
                _log.debug("%s", exc)
        self._gone = True
        return None

    async def _look(self) -> None:
        """Provisional answers, window by window, in a thread."""
        while not self._over:
            window = self._provisional.cut()
            if window is None:
                await self._clock.sleep_until(self._clock.now_ns() + EVERY_NS)
                continue
            try:
                needed_ns = await in_background(partial(self._provisional.reduce, window), "provisional")
            except HeftError as exc:
                _log.warning("no provisional answers: %s", exc)
                return
            self._provisional.forget(needed_ns)
