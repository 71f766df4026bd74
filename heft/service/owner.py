"""The owner of a rig: stands by, does one job at a time on request, and comes back whatever becomes of it.

    stand by  ->  a job that needs the rig  ->  stand by  ->  ...

A device that is lost is connected again after a while, and told. What a job leaves to do without the rig (a report, an
identification) is done in another process while the rig stands by again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

from heft.daq.clock import clock_of
from heft.daq.motion.state import State
from heft.daq.priority import ahead_of_others
from heft.daq.session.sink import Sink
from heft.daq.session.standby import Standby
from heft.drivers.errors import CommandError, HeftError
from heft.exit_codes import ExitCode, of_error
from heft.service.catalogue import Catalogue
from heft.service.job import Job, Place
from heft.service.jobs import make_job

__all__ = ["RigOwner"]

_log = logging.getLogger("heft.service")

#: Waits between two attempts to connect [s]; the last one again and again.
PAUSES_S = (0.5, 1.0, 2.0, 5.0)
#: Finished jobs whose outcome is kept, and lines of news.
KEPT = 50


class _Connected(Sink):
    """Hears that every device is connected."""

    def __init__(self, owner: RigOwner) -> None:
        self._owner = owner

    def state(self, state: str, reason: str) -> None:
        if state == State.CONNECTED:
            self._owner.on_connected()


class RigOwner:
    """`await run()` until `end`; requests come in between, in the same loop."""

    def __init__(self, place: Place, catalogue: Catalogue, scene: dict[str, Any] | None) -> None:
        self._place, self._catalogue = place, catalogue
        self._scene = scene
        self._standby: Standby | None = None
        self._job: Job | None = None
        self._stopped: Job | None = None  # the last one that somebody has stopped
        self._number = 0
        self._phase = ""
        self._ready = False  # the job waits for the rig
        self._ending = ""
        self._wake = asyncio.Event()
        self._beside: set[asyncio.Task[None]] = set()
        self._outcomes: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._trouble = ""
        self._attempts = 0
        self.news: deque[dict[str, Any]] = deque(maxlen=KEPT)

    # -- what others ask ----------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Where it stands, as plain JSON values."""
        job, arming = self._job, self._place.arming
        waiting = None if arming.pending is None else dict(arming.pending)
        return {
            "rig": self._place.rig.name,
            "robot": self._place.rig.robot.name,
            "real": bool(arming.movers),
            "state": self._state(),
            "trouble": self._trouble,
            "attempts": self._attempts,
            "job": None
            if job is None
            else {
                "number": self._number,
                "kind": job.kind,
                "label": job.label,
                "phase": self._phase,
                "path": job.path is not None,
                "scene": job.scene is not None,
                **job.details(),
            },
            "armed_s": round(arming.seconds_left, 1),
            "waiting": waiting,
            "news": list(self.news)[-10:],
        }

    def scene(self) -> dict[str, Any] | None:
        """The arm to draw."""
        return self._job.scene if self._job is not None and self._job.scene is not None else self._scene

    def path(self) -> dict[str, Any] | None:
        """The flange's way ahead, where a job knows it."""
        return None if self._job is None else self._job.path

    async def submit(self, kind: str, request: Mapping[str, Any]) -> int:
        """Begin a job and return its number; what is wrong with it is raised before anything is done."""
        if self._ending:
            raise CommandError(self._place.rig.name, f"the service ends: {self._ending}")
        if self._job is not None:
            raise CommandError(
                self._place.rig.name,
                f"busy: {self._job.kind} {self._job.label} ({self._phase}); one thing at a time: wait for its "
                "end, or stop it",
            )
        job = make_job(kind, self._place, request)
        self._job, self._phase, self._ready = job, "checking", False
        self._number += 1
        number = self._number
        try:
            await asyncio.to_thread(job.prepare)
        except BaseException:
            self._drop(job)
            raise
        self._tell(f"{job.kind} {job.label} begins")
        if job.needs_rig:
            self._phase, self._ready = "waiting for the rig", True
            if self._standby is not None:
                self._standby.stop(f"{job.kind} {job.label} is asked for")
            self._wake.set()
        else:
            self._begin_beside(self._perform(job, number), job.label)
        return number

    def outcome(self, number: int) -> dict[str, Any] | None:
        """Of a finished job; None while it is under way."""
        if number not in self._outcomes and not (self._job is not None and number == self._number):
            raise CommandError(self._place.rig.name, f"job {number} is not known here")
        return self._outcomes.get(number)

    def stop(self, reason: str) -> bool:
        """Stop what is under way; whether there was anything."""
        if self._job is None:
            return False
        if self._stopped is not self._job:  # a page asks on two ways
            self._stopped = self._job
            self._tell(f"{self._job.kind} {self._job.label} is stopped: {reason}")
        self._job.stop(reason)
        return True

    def job(self) -> Job:
        """What is under way; CommandError where that is nothing."""
        if self._job is None:
            raise CommandError(self._place.rig.name, "nothing is under way")
        return self._job

    def end(self, reason: str) -> None:
        """Stop all in order, and return from `run`."""
        self._ending = self._ending or reason
        if self._job is not None:
            self._job.stop(reason)
        if self._standby is not None:
            self._standby.stop(reason)
        self._wake.set()

    # -- the rig ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Stand by and serve until `end`."""
        with ahead_of_others():
            try:
                while not self._ending:
                    if self._job is not None and self._ready:
                        self._ready = False
                        await self._perform(self._job, self._number)
                    else:
                        await self._stand_by()
            finally:
                for task in self._beside:
                    task.cancel()
                await asyncio.gather(*self._beside, return_exceptions=True)

    async def _stand_by(self) -> None:
        """Read the devices until a job wants them; where they are lost, wait a little."""
        place = self._place
        self._wake.clear()
        clock = clock_of(1.0, simulated=place.rig.simulated)
        standby = Standby(
            place.rig, clock=clock, endpoints=place.endpoints, seed=place.seed, sinks=[_Connected(self)]
        )
        self._standby = standby
        end = await standby.run()
        self._standby = None
        if end.state is not State.FAILED or self._ending or self._ready:
            return
        self._attempts += 1
        if end.reason != self._trouble:
            self._trouble = end.reason
            self._tell(f"lost: {end.reason}; trying again")
        pause_s = PAUSES_S[min(self._attempts, len(PAUSES_S)) - 1]
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    def on_connected(self) -> None:
        """Every device is connected."""
        if self._trouble:
            self._tell(f"connected again after {self._attempts} attempts")
        self._trouble, self._attempts = "", 0

    # -- jobs ---------------------------------------------------------------------------------------------------------

    async def _perform(self, job: Job, number: int) -> None:
        """Run a job; what follows it without the rig goes on beside."""
        self._phase = "running"
        try:
            facts = await job.run()
        except asyncio.CancelledError:
            if job is not self._job or (not self._ending and asyncio.current_task() in self._beside):
                raise
            _uncancel()
            self._end_job(job, number, {"state": "aborted", "reason": "stopped"})
            return
        except Exception as exc:
            self._end_job(job, number, _failure(exc))
            return
        self._phase = "finishing"
        if job.needs_rig:
            self._begin_beside(self._finish(job, number, facts), job.label)
        else:
            await self._finish(job, number, facts)

    async def _finish(self, job: Job, number: int, facts: dict[str, Any]) -> None:
        try:
            facts = await job.finish(facts)
        except Exception as exc:
            facts = {**facts, "identification": {"error": str(exc)}}
            if not isinstance(exc, HeftError):
                _log.error("internal error", exc_info=exc)
        job.close()
        try:
            await asyncio.to_thread(self._catalogue.refresh)
        except Exception as exc:  # a full disk costs the index, which is made anew from the files
            self._tell(f"the catalogue could not be written: {exc}")
        self._end_job(job, number, facts)

    def _end_job(self, job: Job, number: int, facts: dict[str, Any]) -> None:
        self._outcomes[number] = facts
        while len(self._outcomes) > KEPT:
            self._outcomes.popitem(last=False)
        reason = facts.get("reason") or facts.get("error") or ""
        self._tell(f"{job.kind} {job.label}: {facts.get('state', 'done')}{f': {reason}' if reason else ''}")
        self._drop(job)

    def _drop(self, job: Job) -> None:
        job.close()
        if self._job is job:
            self._job, self._phase, self._ready = None, "", False

    def _begin_beside(self, work: Any, name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work, name=f"beside {name}")
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def _state(self) -> str:
        if self._ending:
            return "ending"
        if self._job is not None and self._phase in ("running", "waiting for the rig"):
            return self._job.kind
        if self._trouble:
            return "lost"
        return "standing by" if self._standby is not None else "starting"

    def _tell(self, text: str) -> None:
        _log.info("%s", text)
        self.news.append({"at": time.strftime("%H:%M:%S"), "text": text})


def _failure(exc: Exception) -> dict[str, Any]:
    """What ended a job, as facts."""
    if isinstance(exc, HeftError):
        code = of_error(exc)
        state = "aborted" if code is ExitCode.ABORTED else "failed"
        return {"state": state, "reason": str(exc), "error": str(exc), "exit_code": int(code)}
    if isinstance(exc, OSError):
        text = f"{exc.filename or ''}: {exc.strerror or exc}; check the disk and the path"
        return {"state": "failed", "reason": text, "error": text, "exit_code": int(ExitCode.FAILED)}
    _log.error("internal error", exc_info=exc)
    text = f"internal error: {type(exc).__name__}: {exc}"
    return {"state": "failed", "reason": text, "error": text, "exit_code": int(ExitCode.FAILED)}


def _uncancel() -> None:
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
