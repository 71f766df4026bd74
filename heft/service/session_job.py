"""The job that runs a session, as `heft run` does it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from heft.daq.config.session import load_session
from heft.daq.errors import ConfigError, RecordError
from heft.daq.motion.plan import Leg
from heft.daq.motion.state import State
from heft.drivers.errors import CommandError
from heft.options import settings as checked_settings
from heft.output_folder import OutputFolder, recording_names
from heft.preflight import Preflight
from heft.rehearsed import rehearsal_state
from heft.service.command_jobs import CommandJob
from heft.service.job import Job, Place, planned_path
from heft.service.job_request import JobRequest, Speed, Texts
from heft.session_run import SessionOrder, SessionRun
from heft.worker_process import REPORT, RESULT

__all__ = ["SessionJob", "SessionRequest"]


class SessionRequest(JobRequest):
    """A session's file, and how it is run; `viewer`: with copies for viewers in the recording."""

    session: str
    out: str | None = None
    speed: Speed = 1.0
    seed: Annotated[int | None, Field(ge=0)] = None
    identify: bool = True
    settings: Texts = ()
    unrehearsed: bool = False
    viewer: bool = True


class SessionJob(Job):
    """A session of this rig, as `heft run` does it; the worker beside it, the report in a process of its own."""

    kind = "run"
    request = SessionRequest

    def __init__(self, place: Place, request: SessionRequest) -> None:
        super().__init__(place, Path(request.session).stem)
        self._request = request
        self._stack = ExitStack()
        self._running: SessionRun | None = None
        self._command: CommandJob | None = None
        self._stopped = ""

    def prepare(self) -> None:
        request = self._request
        config = load_session(Path(request.session))
        own, asked = self.place.rig.path.resolve(), config.rig.path.resolve()
        if own != asked:
            raise ConfigError(f"{request.session}: a session of the rig {asked}; this service owns {own}")
        if request.speed != 1.0 and not config.rig.simulated:
            raise ConfigError(
                f"{asked}: speed {request.speed:g}: real and emulated devices run at speed 1 only"
            )
        checked_settings(request.settings)
        self._config = config
        self._with_result = request.identify and any(step.use == "identification" for step in config.steps)
        movers = bool(self.place.arming.movers)
        self._rehearsal = rehearsal_state(config, needed=movers, unrehearsed=request.unrehearsed)
        self._preflight = Preflight(config.rig, config.scene)
        self.label = config.name
        names = recording_names(config.name) + ([RESULT, REPORT] if self._with_result else [])
        given = None if request.out is None else Path(request.out)
        self._folder = OutputFolder.given_or_new(given, config.name, names, root=self.place.data)
        self._stack.enter_context(self._folder)

    async def run(self) -> dict[str, Any]:
        request = self._request
        order = SessionOrder(
            self._config,
            self._folder,
            self._with_result,
            rehearsal=self._rehearsal,
            speed=request.speed,
            seed=self.place.seed if request.seed is None else request.seed,
            settings=request.settings,
            copies=request.viewer,
        )
        self.place.arming.outlook = self._preflight.outlook
        self._running = SessionRun(order, self.place.endpoints, self._confirm, self._preflight)
        if self._stopped:
            self._running.session.stop(self._stopped)
        try:
            outcome, self._failure = await self._running.run()
        except RecordError as exc:  # the recording could not be begun, and nothing has moved
            raise ConfigError(f"--out {self._folder.path}: {exc}") from exc
        return {**outcome.to_dict(), "rehearsal": self._rehearsal}

    async def finish(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The identified model's report; where the worker has no result, the recording is identified anew."""
        if facts["state"] != State.DONE or not self._with_result or facts["file"] is None:
            return facts
        words = [facts["file"], str(self._folder.path), self._failure, json.dumps(self._request.settings)]
        self._command = CommandJob(self.place, ["-m", "heft.service.finishing", *words], "identification")
        return {**facts, "identification": await self._command.run()}

    def close(self) -> None:
        self._stack.close()

    def stop(self, reason: str) -> None:
        self._stopped = reason
        if self._command is not None:
            self._command.stop(reason)
        elif self._running is not None:
            self._running.session.stop(reason)

    def pause(self) -> None:
        self._session().session.pause()

    def resume(self) -> None:
        self._session().session.resume()

    def _session(self) -> SessionRun:
        if self._running is None:
            raise CommandError(self.place.rig.name, "the session has not begun yet; wait a moment")
        return self._running

    async def _confirm(self, plan: Sequence[Leg], unreferenced: Mapping[str, str]) -> None:
        if self.place.robot is not None:
            self.path = await asyncio.to_thread(planned_path, self.place.robot, plan)
        await self.place.arming.confirm(plan, unreferenced)
