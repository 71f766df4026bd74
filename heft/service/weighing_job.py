"""The job that weighs whatever is picked up, as `heft payload --live` does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from heft.daq.errors import ConfigError, SafetyStop
from heft.daq.motion.plan import Leg
from heft.payload_run import Operator, PayloadJob, PayloadOrder, payload_job, serve_payload
from heft.service.job import Job, Place, planned_path
from heft.service.job_request import JobRequest, Speed

__all__ = ["WeighingJob", "WeighingRequest"]


class WeighingRequest(JobRequest):
    """With a session's file: while it runs. `arm`: the wrist may be moved; the other keys are those of the command."""

    session: str | None = None
    arm: bool = False
    bare: str | None = None
    result: str | None = None
    objects: str = "configs/objects"
    out: str | None = None
    speed: Speed = 1.0
    seed: Annotated[int | None, Field(ge=0)] = None
    find_gravity: bool = False
    gain_spread: float | None = None
    apply: bool = False
    dimensions: Annotated[tuple[float, float, float] | None, Field(strict=False)] = None
    density: float | None = None


class WeighingJob(Job):
    """Weighs whatever is picked up, as `heft payload --live` does: on the rig that stands by, or during a session."""

    kind = "payload"
    request = WeighingRequest

    def __init__(self, place: Place, request: WeighingRequest) -> None:
        super().__init__(place, "weighing" if request.session is None else Path(request.session).stem)
        self._order = PayloadOrder(
            live=Path(request.session) if request.session else place.rig.path,
            arm=place.rig.robot.name if request.arm else None,
            bare=_path(request.bare),
            result=_path(request.result),
            objects=Path(request.objects),
            out=_path(request.out),
            root=place.data,
            speed=request.speed,
            seed=place.seed if request.seed is None else request.seed,
            find_gravity=request.find_gravity,
            gain_spread=request.gain_spread,
            apply=request.apply,
            dimensions=request.dimensions,
            density=request.density,
        )
        self._armed = request.arm
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


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
