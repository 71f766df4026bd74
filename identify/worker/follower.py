"""Follows one session: copies its recording as it grows until all of it is here, and looks at it on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from heft.daq.errors import BusError, RemoteError
from heft.daq.following.client import FollowClient
from heft.daq.following.copy import RecordingCopy
from heft.daq.following.messages import Ending, SessionInfo
from heft.drivers.clock import Clock
from heft.identify.data.recorded_robot import robot_of
from heft.identify.errors import HeftError
from heft.identify.worker.provisional import Provisional

if TYPE_CHECKING:
    from heft.identify.bodies.consistency import Level
    from heft.identify.robot import Robot

__all__ = ["Follower"]

_log = logging.getLogger("heft.worker")

#: How often a session that runs is asked [ns]; at once again where an answer was this full [byte].
EVERY_NS = 200_000_000
FULL_BYTES = 1 << 18
#: How often progress is published [ns], and a sign of life given while there is nothing else to say [s].
TELL_NS = 1_000_000_000
BEAT_S = 1.0

T = TypeVar("T")


class Follower:
    """One session, from wherever it stands to its end.

    robot    the robot to identify; None: the one that travels with the session
    gone_s   no answer for so long: the acquisition has died
    """

    def __init__(
        self,
        client: FollowClient,
        session: SessionInfo,
        folder: Path,
        clock: Clock,
        *,
        robot: Robot | None,
        method: str,
        level: Level,
        gone_s: float,
    ) -> None:
        self._client = client
        self._session = session.session
        self._folder, self._name = folder, session.name
        self._clock = clock
        self._robot, self._method, self._level = robot, method, level
        self._gone_ns = int(gone_s * 1e9)
        self._published_ns = 0
        self._over = False
        self._gone = False  # nobody is there any more
        self._copy: RecordingCopy

    @property
    def path(self) -> Path:
        """The recording as far as it is here."""
        return self._copy.path

    async def follow(self) -> Ending | None:
        """How the session ended, all of its recording being here; None where the acquisition has died."""
        self._copy = await _in_background(lambda: RecordingCopy(self._folder, self._name), "earlier copy")
        try:
            return await self._follow()
        finally:
            self._copy.close()

    async def _follow(self) -> Ending | None:
        if await self._asked(lambda: self._copy.agree(self._client, self._session)) is None:
            return None
        provisional = Provisional(self._copy.growing, self._robot_of_session, self._method, self._level)
        looking = asyncio.create_task(self._look(provisional), name="provisional")
        try:
            ended = await self._fill(provisional)
            self._over = True
            while not looking.done():  # what comes next wants the machine for itself
                await asyncio.wait({looking}, timeout=BEAT_S)
                await self.beat()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        if ended is not None:
            self._copy.finish()
        return ended

    async def meanwhile(self, work: Callable[[], T], name: str) -> T:
        """What `work` returns, from a thread, while the session hears that its follower is still there."""
        working = asyncio.create_task(_in_background(work, name), name=name)
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=BEAT_S)
                await self.beat()
            return working.result()
        finally:
            working.cancel()

    async def beat(self) -> None:
        """Be heard by the session, which waits for those who are still at work."""
        await self._try(self._client.read(self._session, self._copy.size, 0))

    async def say(self, what: str, value: Any) -> None:
        """Publish on the session's bus; not heard where nobody is there any more."""
        await self._try(self._client.tell(self._session, what, value))

    async def leave(self) -> None:
        """Nothing more is needed."""
        await self._try(self._client.leave(self._session))

    async def _try(self, request: Coroutine[Any, Any, object]) -> None:
        """Ask; one who did not answer once is not asked again."""
        if self._gone:
            request.close()
            return
        try:
            await request
        except BusError:
            self._gone = True

    async def _fill(self, provisional: Provisional) -> Ending | None:
        """Read until all is here, or nobody answers any more, or an end never comes."""
        moved_ns = self._clock.now_ns()
        while True:
            piece = await self._asked(lambda: self._client.read(self._session, self._copy.size))
            if piece is None:
                return None
            self._copy.append(piece.data)
            if piece.data or piece.ended is None:
                moved_ns = self._clock.now_ns()
            if piece.ended is not None and self._copy.size >= piece.size:
                await self.beat()  # now it is known there that nothing is lacking
                return piece.ended
            if self._clock.now_ns() - moved_ns > self._gone_ns:
                _log.warning("the session has ended at %d bytes and gives %d", piece.size, self._copy.size)
                return None
            if self._clock.now_ns() - self._published_ns > TELL_NS:
                self._published_ns = self._clock.now_ns()
                with suppress(BusError):  # the next question will show whether it is gone
                    value = {"provisional": True, **provisional.progress.to_dict()}
                    await self._client.tell(self._session, "progress", value)
            if len(piece.data) < FULL_BYTES:
                await self._clock.sleep_until(self._clock.now_ns() + EVERY_NS)

    async def _asked(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """The session's answer; None where there is none for too long, or only from another session."""
        since_ns = self._clock.now_ns()
        while self._clock.now_ns() - since_ns <= self._gone_ns:
            try:
                return await ask()
            except RemoteError as exc:
                _log.warning("%s", exc)
                break
            except BusError as exc:
                _log.debug("%s", exc)
        self._gone = True
        return None

    async def _look(self, provisional: Provisional) -> None:
        """Provisional answers, window by window, in a thread."""
        while not self._over:
            try:
                found = await _in_background(provisional.look, "provisional")
            except HeftError as exc:
                _log.warning("no provisional answers: %s", exc)
                return
            if not found:
                await self._clock.sleep_until(self._clock.now_ns() + EVERY_NS)

    def _robot_of_session(self) -> Robot:
        return robot_of(self._copy.growing.recording) if self._robot is None else self._robot


async def _in_background(function: Callable[[], T], name: str) -> T:
    """What `function` returns, from a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():  # given up meanwhile
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as exc:
            error = exc
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=work, name=name, daemon=True).start()
    return await future
