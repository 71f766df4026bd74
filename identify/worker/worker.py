"""The worker: sessions at one endpoint, one after the other, each followed, identified and answered."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import BusError, NotAuthorised, UnreadableAnswer
from heft.daq.following.client import FollowClient
from heft.daq.following.messages import Ending, SessionInfo
from heft.daq.recording import Recording
from heft.drivers.clock import Clock
from heft.identify.errors import HeftError
from heft.identify.fit import identify_recordings
from heft.identify.worker.follower import Follower

if TYPE_CHECKING:
    from heft.identify.bodies.consistency import Level
    from heft.identify.result import Result
    from heft.identify.robot import Robot

__all__ = ["RESULT", "Verdict", "Worker"]

_log = logging.getLogger("heft.worker")

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
    path     its recording on the worker's disk
    result   the answer, None where there is none; `reason` says why
    """

    session: SessionInfo
    ended: Ending | None
    path: Path
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
    """Follows the sessions that serve followers at an endpoint, and keeps all it needs under `out`.

        async for verdict in Worker(endpoint, Path("work"), RealClock()).sessions():
            verdict.result

    Each session has a folder of its own, `OUT/ID/`, with its recording and its result; `OUT/result.json` is the
    latest. A worker that starts again where another was killed goes on from there.

    name     under which it is known on the bus
    robot    to identify; None: the one that travels with the session
    settings beside method and level (`heft.identify.settings`); what is not set is the session's
    gone_s   no answer for so long: the acquisition has died
    begin    called with every session that is followed
    """

    def __init__(
        self,
        endpoint: Endpoint,
        out: Path,
        clock: Clock,
        *,
        name: str = "worker",
        robot: Robot | None = None,
        method: str | None = None,
        level: Level | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
        gone_s: float = 10.0,
        begin: Callable[[SessionInfo], None] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._out = out
        self._clock = clock
        self._name = name
        self._robot = robot
        self._method = method
        self._level: Level | None = level
        self._settings = settings
        self._gone_s = gone_s
        self._begin = begin

    async def sessions(self) -> AsyncIterator[Verdict]:
        """What became of each session, for ever.

        NotAuthorised where it is not let in; UnreadableAnswer where there is nothing but garbage for `gone_s`.
        """
        answered: set[str] = set()
        unreadable_ns: int | None = None  # since when answers cannot be read
        async with FollowClient(self._endpoint, self._name, timeout_s=ANSWER_S) as client:
            while True:
                try:
                    session, unreadable_ns = await client.describe(), None
                except NotAuthorised:
                    raise
                except UnreadableAnswer as exc:
                    session, now_ns = None, self._clock.now_ns()
                    if unreadable_ns is None:
                        _log.warning("%s", exc)
                        unreadable_ns = now_ns
                    elif now_ns - unreadable_ns > self._gone_s * 1e9:
                        raise
                except BusError:
                    session, unreadable_ns = None, None
                if session is None or session.session in answered or self._is_answered(session):
                    await self._clock.sleep_until(self._clock.now_ns() + ASK_NS)
                    continue
                verdict = await self._follow(client, session)
                if verdict.ended is not None:  # else it may come back
                    answered.add(session.session)
                yield verdict

    def _folder(self, session: SessionInfo) -> Path:
        return self._out / session.session

    def _is_answered(self, session: SessionInfo) -> bool:
        """By a worker before this one."""
        folder = self._folder(session)
        return (folder / RESULT).exists() and (folder / f"{session.name}.mcap").exists()

    async def _follow(self, client: FollowClient, session: SessionInfo) -> Verdict:
        if self._begin is not None:
            self._begin(session)
        follower = Follower(
            client,
            session,
            self._folder(session),
            self._clock,
            robot=self._robot,
            method=self._method or "sdp",
            level=self._level or "full",
            gone_s=self._gone_s,
        )
        ended = await follower.follow()
        verdict = await self._judge(follower, session, ended)
        await follower.say("result", verdict.to_dict())
        await follower.leave()
        return verdict

    async def _judge(self, follower: Follower, session: SessionInfo, ended: Ending | None) -> Verdict:
        """The result of the whole recording, by the same code as from any recording."""
        if ended is not None and ended.state != DONE and not session.replay:
            why = f"the session was {ended.state} ({ended.reason}) and is not identified by itself; "
            why += f"`heft identify {follower.path}` does it"
            return Verdict(session, ended, follower.path, reason=why)
        work = partial(self._identify, follower.path)
        try:
            result = await follower.meanwhile(work, "identification")
        except HeftError as exc:
            return Verdict(session, ended, follower.path, reason=str(exc))
        self._write(result, self._folder(session))
        self._write(result, self._out)
        why = "" if ended is not None else "the acquisition has died: this is from what had arrived"
        return Verdict(session, ended, follower.path, result, why)

    def _identify(self, path: Path) -> Result:
        return identify_recordings(
            [Recording.open(path)],
            robot=self._robot,
            method=self._method,
            level=self._level,
            settings=self._settings,
        )

    def _write(self, result: Result, folder: Path) -> None:
        """Whole or not at all."""
        os.replace(result.save(folder / f".{RESULT}"), folder / RESULT)
