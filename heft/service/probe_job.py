"""The job that probes the devices of the rig."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from heft.daq.clock import clock_of
from heft.daq.probe import probe
from heft.daq.rig import Rig
from heft.service.job import Job, Place
from heft.service.job_request import JobRequest

__all__ = ["ProbeJob", "ProbeRequest"]


class ProbeRequest(JobRequest):
    """How long each device is listened to [s]."""

    seconds: Annotated[float, Field(gt=0, le=60)] = 1.0


class ProbeJob(Job):
    """Identity, rate, clock and one value of every device; nothing moves."""

    kind = "probe"
    request = ProbeRequest

    def __init__(self, place: Place, request: ProbeRequest) -> None:
        super().__init__(place, "probe")
        self._seconds = request.seconds
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
