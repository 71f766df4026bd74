"""The worker: sessions at one endpoint, one after the other, each followed, identified and answered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daq.archive.client import ArchiveClient
from daq.archive.messages import Description, Ending
from daq.bus.endpoint import Endpoint
from daq.errors import BusError
from drivers.clock import Clock
from identify.errors import HeftError
from identify.recorded import identify_recordings
from identify.worker.background import in_background
from identify.worker.follower import BEAT_S, Follower

if TYPE_CHECKING:
    from identify.consistency import Level
    from identify.result import Result
    from identify.robot import Robot

__all__ = ["RESULT", "Verdict", "Worker"]

RESULT = "result.json"
#: The states of a session that was carried out as planned.
DONE = "done"
#: How often to ask whether there is a session [ns], and how long to wait for an answer [s].
ASK_NS = 500_000_000
ANSWER_S = 2.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a session.

    ended    how it ended; None where the acquisition died
    spool    its recording on the worker's disk
    result   the answer, None where there is none; `reason` says why
    """

    session: Description
    ended: Ending | None
    spool: Path
    result: Result | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, for the bus."""
        return {
            "session": self.session.session,
            "name": self.session.name,
            "state": "died" if self.ended is None else self.ended.state,
            "reason": self.reason,
            "result": None if self.result is None else self.result.to_dict(),
        }


class Worker:
    """Follows the sessions whose archive is at an endpoint, and keeps all it needs under `out`.

        async for verdict in Worker(endpoint, Path("work"), RealClock()).sessions():
            verdict.result

    Each session has a folder of its own, `OUT/ID/`, with its recording and its result; `OUT/result.json` is the
    latest. A worker that starts again where another was killed goes on from there.

    name     under which it is known on the bus
    robot    to identify; None: the one that travels with the session
    gone_s   no answer for so long: the acquisition has died
    begin    told of every session that is followed
    """

    def __init__(
        self,
        archive: Endpoint,
        out: Path,
        clock: Clock,
        *,
        name: str = "worker",
        robot: Robot | None = None,
        method: str = "sdp",
        level: Level = "full",
        gone_s: float = 10.0,
        begin: Callable[[Description], None] | None = None,
    ) -> None:
        self._endpoint = archive
        self._out = out
        self._clock = clock
        self._name = name
        self._robot = robot
        self._method = method
        self._level: Level = level
        self._gone_s = gone_s
        self._begin = begin

    async def sessions(self) -> AsyncIterator[Verdict]:
        """What became of each session, for ever."""
        answered: set[str] = set()
        async with ArchiveClient(self._endpoint, self._name, timeout_s=ANSWER_S) as archive:
            while True:
                try:
                    session = await archive.describe()
                except BusError:
                    session = None
                if session is None or session.session in answered or self._is_answered(session):
                    await self._clock.sleep_until(self._clock.now_ns() + ASK_NS)
                    continue
                verdict = await self._follow(archive, session)
                if verdict.ended is not None:  # else it may come back
                    answered.add(session.session)
                yield verdict

    def _folder(self, session: Description) -> Path:
        return self._out / session.session

    def _is_answered(self, session: Description) -> bool:
        """By a worker before this one."""
        folder = self._folder(session)
        return (folder / RESULT).exists() and (folder / f"{session.name}.mcap").exists()

    async def _follow(self, archive: ArchiveClient, session: Description) -> Verdict:
        if self._begin is not None:
            self._begin(session)
        follower = Follower(
            archive,
            session,
            self._folder(session),
            self._clock,
            robot=self._robot,
            method=self._method,
            level=self._level,
            gone_s=self._gone_s,
        )
        ended = await follower.follow()
        verdict = await self._judge(follower, session, ended)
        await follower.say("result", verdict.to_dict())
        await follower.leave()
        return verdict

    async def _judge(self, follower: Follower, session: Description, ended: Ending | None) -> Verdict:
        """The final pass over all raw Blocks, by the same code as from any recording."""
        if ended is not None and ended.state != DONE and not session.replay:
            why = f"the session was {ended.state} ({ended.reason}) and is not identified by itself; "
            why += f"`heft identify {follower.spool}` does it"
            return Verdict(session, ended, follower.spool, reason=why)
        work = partial(
            identify_recordings, [follower.spool], robot=self._robot, method=self._method, level=self._level
        )
        identifying = asyncio.create_task(in_background(work, "identification"), name="identification")
        try:
            while not identifying.done():
                await asyncio.wait({identifying}, timeout=BEAT_S)
                await follower.beat()
            result = identifying.result()
        except HeftError as exc:
            return Verdict(session, ended, follower.spool, reason=str(exc))
        finally:
            identifying.cancel()
        self._write(result, self._folder(session))
        self._write(result, self._out)
        why = "" if ended is not None else "the acquisition has died: this is from what had arrived"
        return Verdict(session, ended, follower.spool, result, why)

    def _write(self, result: Result, folder: Path) -> None:
        """Whole or not at all."""
        os.replace(result.save(folder / f".{RESULT}"), folder / RESULT)
