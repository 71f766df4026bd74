"""The job that replays a recording on the bus of the rig."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from heft.daq.clock import RealClock
from heft.daq.recording import Recording
from heft.daq.replay.replay import Replay
from heft.drivers.errors import HeftError
from heft.identify.data.recorded_robot import robot_of
from heft.service.drawing import arm_of_robot
from heft.service.job import Job, Place
from heft.service.job_request import JobRequest, Speed

__all__ = ["ReplayJob", "ReplayRequest"]


class ReplayRequest(JobRequest):
    """A recording, and how it is replayed."""

    file: str
    speed: Speed = 1.0
    loop: bool = False


class ReplayJob(Job):
    """A recording on the bus of the rig, which stands aside meanwhile."""

    kind = "replay"
    request = ReplayRequest

    def __init__(self, place: Place, request: ReplayRequest) -> None:
        super().__init__(place, Path(request.file).stem)
        self._file, self._speed, self._loop = Path(request.file), request.speed, request.loop
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
