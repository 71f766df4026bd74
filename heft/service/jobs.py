"""The kinds of jobs: sessions, weighing, probes, replays; and commands (`command_jobs`)."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heft.daq.clock import RealClock, clock_of
from heft.daq.config.session import load_session
from heft.daq.errors import ConfigError, RecordError, SafetyStop
from heft.daq.motion.plan import Leg
from heft.daq.motion.state import State
from heft.daq.probe import probe
from heft.daq.recording import Recording
from heft.daq.replay.replay import Replay
from heft.daq.rig import Rig
from heft.drivers.errors import CommandError, HeftError
from heft.identify.data.recorded_robot import robot_of
from heft.options import settings as checked_settings
from heft.options import speed as _speed_option
from heft.output_folder import OutputFolder, recording_names
from heft.payload_run import Operator, PayloadJob, PayloadOrder, payload_job, serve_payload
from heft.preflight import Preflight
from heft.rehearsed import rehearsal_state
from heft.service.command_jobs import CommandJob, FindingsJob, ImportJob
from heft.service.drawing import arm_of_robot
from heft.service.job import Job, Place, planned_path
from heft.session_run import SessionOrder, SessionRun
from heft.worker_process import REPORT, RESULT

__all__ = ["KINDS", "ProbeJob", "ReplayJob", "SessionJob", "WeighingJob", "make_job"]


def make_job(kind: str, place: Place, request: Mapping[str, Any]) -> Job:
    """The job that is asked for; ConfigError where there is no such kind, or a key is wrong."""
    if kind not in KINDS:
        raise ConfigError(f"{kind!r}: not a job; one of {', '.join(KINDS)}")
    try:
        job: Job = KINDS[kind](place, **request)
    except TypeError as exc:
        raise ConfigError(f"{kind}: {str(exc).partition('__init__() ')[2] or exc}; see /api") from exc
    return job


def _speed(given: float | str) -> float:
    """Times real time; infinite for `max`."""
    try:
        return _speed_option(str(given))
    except argparse.ArgumentTypeError as exc:
        raise ConfigError(str(exc)) from exc


class SessionJob(Job):
    """A session of this rig, as `heft run` does it; the worker beside it, the report in a process of its own."""

    kind = "run"

    def __init__(
        self,
        place: Place,
        session: str,
        *,
        out: str | None = None,
        speed: float | str = 1.0,
        seed: int | None = None,
        identify: bool = True,
        settings: Sequence[str] = (),
        unrehearsed: bool = False,
        viewer: bool = True,
    ) -> None:
        super().__init__(place, Path(session).stem)
        self._file, self._out, self._speed = Path(session), out, _speed(speed)
        self._seed = place.seed if seed is None else seed
        self._identify, self._settings = identify, tuple(settings)
        self._unrehearsed, self._viewer = unrehearsed, viewer
        self._stack = ExitStack()
        self._running: SessionRun | None = None
        self._command: CommandJob | None = None
        self._stopped = ""

    def prepare(self) -> None:
        config = load_session(self._file)
        own, asked = self.place.rig.path.resolve(), config.rig.path.resolve()
        if own != asked:
            raise ConfigError(f"{self._file}: a session of the rig {asked}; this service owns {own}")
        if self._speed != 1.0 and not config.rig.simulated:
            raise ConfigError(
                f"{asked}: speed {self._speed:g}: real and emulated devices run at speed 1 only"
            )
        checked_settings(self._settings)
        self._config = config
        self._with_result = self._identify and any(step.use == "identification" for step in config.steps)
        movers = bool(self.place.arming.movers)
        self._rehearsal = rehearsal_state(config, needed=movers, unrehearsed=self._unrehearsed)
        self._preflight = Preflight(config.rig, config.scene)
        self.label = config.name
        names = recording_names(config.name) + ([RESULT, REPORT] if self._with_result else [])
        given = None if self._out is None else Path(self._out)
        self._folder = OutputFolder.given_or_new(given, config.name, names, root=self.place.data)
        self._stack.enter_context(self._folder)

    async def run(self) -> dict[str, Any]:
        order = SessionOrder(
            self._config,
            self._folder,
            self._with_result,
            rehearsal=self._rehearsal,
            speed=self._speed,
            seed=self._seed,
            settings=self._settings,
            copies=self._viewer,
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
        words = [facts["file"], str(self._folder.path), self._failure, json.dumps(list(self._settings))]
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


class WeighingJob(Job):
    """Weighs whatever is picked up, as `heft payload --live` does: on the rig that stands by, or during a session."""

    kind = "payload"

    def __init__(
        self,
        place: Place,
        session: str | None = None,
        *,
        arm: bool = False,
        bare: str | None = None,
        result: str | None = None,
        objects: str = "configs/objects",
        out: str | None = None,
        speed: float | str = 1.0,
    ) -> None:
        super().__init__(place, "weighing" if session is None else Path(session).stem)
        self._order = PayloadOrder(
            live=Path(session) if session else place.rig.path,
            arm=place.rig.robot.name if arm else None,
            bare=None if bare is None else Path(bare),
            result=None if result is None else Path(result),
            objects=Path(objects),
            out=None if out is None else Path(out),
            root=place.data,
            speed=_speed(speed),
            seed=place.seed,
            json=True,
        )
        self._armed = arm
        self._operator: Operator | None = None
        self._stopped = ""
        #: The latest of each pick-up, by number.
        self.payloads: dict[int, dict[str, Any]] = {}

    def prepare(self) -> None:
        arming = self.place.arming
        if self._armed and arming.movers and not arming.seconds_left:
            raise SafetyStop(
                f"not armed: the wrist would move, and nobody has typed the robot's name, "
                f"{self.place.rig.robot.name}, within the last {arming.window_s:g} s; arm it first"
            )
        self._job: PayloadJob = payload_job(self._order, self)
        if self._job.rig.path.resolve() != self.place.rig.path.resolve():
            raise ConfigError(
                f"{self._order.live}: of the rig {self._job.rig.path}; this service owns {self.place.rig.path}"
            )

    async def run(self) -> dict[str, Any]:
        self._operator = Operator()
        if self._stopped:
            return {"state": "aborted", "reason": self._stopped, "payloads": []}
        try:
            end = await serve_payload(self._job, self._operator, self.place.endpoints, self._tell)
        except asyncio.CancelledError:
            if not self._operator.reason:
                raise
            task = asyncio.current_task()
            while task is not None and task.uncancel():
                pass
            return {
                "state": "aborted",
                "reason": f"{self._operator.reason}; nothing has moved",
                "payloads": [],
            }
        return {
            "state": str(end.state),
            "reason": end.reason,
            "folder": str(self._job.folder.path),
            "payloads": list(self.payloads.values()),
        }

    async def confirm(self, plan: Sequence[Leg], unreferenced: Mapping[str, str] | None = None) -> None:
        """As `Consent`: the plan is shown, then the operator decides."""
        if self.place.robot is not None:
            self.path = await asyncio.to_thread(planned_path, self.place.robot, plan)
        await self.place.arming.confirm(plan, unreferenced)

    def announce(self, what: str) -> None:
        """As `Consent`."""
        self.place.arming.announce(what)

    def refusal(self) -> str:
        """As `Consent`."""
        return self.place.arming.refusal()

    def _tell(self, facts: dict[str, Any]) -> None:
        self.payloads[facts["number"]] = facts

    def stop(self, reason: str) -> None:
        self._stopped = reason
        if self._operator is not None:
            self._operator.ask(reason)

    def details(self) -> dict[str, Any]:
        return {"weighed": len(self.payloads)}


class ProbeJob(Job):
    """Identity, rate, clock and one value of every device; nothing moves."""

    kind = "probe"

    def __init__(self, place: Place, seconds: float = 1.0) -> None:
        super().__init__(place, "probe")
        if not 0 < seconds <= 60:
            raise ConfigError(f"probe: seconds {seconds:g}: give more than 0 and at most 60")
        self._seconds = seconds
        self._task: asyncio.Task[Any] | None = None
        self._stopped = ""

    async def run(self) -> dict[str, Any]:
        if self._stopped:
            return {"state": "aborted", "reason": self._stopped, "devices": {}}
        self._task = asyncio.current_task()
        clock = clock_of(1.0, simulated=self.place.rig.simulated)
        async with Rig(self.place.rig, clock, self.place.seed, name=self.place.rig.name) as rig:
            found = await probe(rig, self._seconds)
        devices = {
            one.device: {
                "identity": asdict(one.identity),
                "counters": asdict(one.counters),
                "streams": {
                    s.stream.name: {"rate_hz": s.rate_hz, "samples": s.samples, "clock": s.clock}
                    for s in one.streams
                },
            }
            for one in found
        }
        return {"state": "done", "reason": "", "devices": devices}

    def stop(self, reason: str) -> None:
        if self._task is not None and not self._stopped:  # once: the devices are being released
            self._task.cancel()
        self._stopped = self._stopped or reason


class ReplayJob(Job):
    """A recording on the bus of the rig, which stands aside meanwhile."""

    kind = "replay"

    def __init__(self, place: Place, file: str, *, speed: float | str = 1.0, loop: bool = False) -> None:
        super().__init__(place, Path(file).stem)
        self._file, self._speed, self._loop = Path(file), _speed(speed), loop
        self._replay: Replay | None = None
        self._stopped = False

    def prepare(self) -> None:
        self._recording = Recording.open(self._file)
        with suppress(HeftError):
            robot = robot_of(self._recording)
            if self.place.robot is None or robot.name != self.place.robot.name:
                self.scene = arm_of_robot(robot)

    async def run(self) -> dict[str, Any]:
        clock = None if self._speed == float("inf") else RealClock(self._speed)
        async with Replay(self._recording, self.place.endpoints.telemetry, clock) as replay:
            self._replay = replay
            replay.looping = self._loop
            if self._stopped:
                replay.stop()
            await replay.play()
        return {
            "state": "aborted" if replay.stopped else "done",
            "reason": "stopped" if replay.stopped else "",
            "seconds": replay.seconds,
        }

    def stop(self, reason: str) -> None:
        self._stopped = True
        if self._replay is not None:
            self._replay.stop()

    def pause(self) -> None:
        if self._replay is not None and not self._replay.paused:
            self._replay.pause()

    def resume(self) -> None:
        if self._replay is not None and self._replay.paused:
            self._replay.pause()

    def seek(self, seconds: float) -> None:
        if self._replay is not None:
            self._replay.seek(seconds)

    def details(self) -> dict[str, Any]:
        if self._replay is None:
            return {}
        return {
            "replay": {
                "file": str(self._file),
                "seconds": self._replay.seconds,
                "duration": self._replay.duration_s,
                "paused": self._replay.paused,
            }
        }


KINDS: dict[str, Any] = {
    job.kind: job for job in (SessionJob, WeighingJob, ProbeJob, ReplayJob, FindingsJob, ImportJob)
}
