"""The kinds of jobs by name, and the one that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heft.daq.errors import ConfigError
from heft.service.command_jobs import FindingsJob, ImportJob
from heft.service.job import Job, Place
from heft.service.probe_job import ProbeJob
from heft.service.replay_job import ReplayJob
from heft.service.session_job import SessionJob
from heft.service.weighing_job import WeighingJob

__all__ = ["KINDS", "make_job"]

KINDS: dict[str, Any] = {
    job.kind: job for job in (SessionJob, WeighingJob, ProbeJob, ReplayJob, FindingsJob, ImportJob)
}


def make_job(kind: str, place: Place, request: Mapping[str, Any]) -> Job:
    """The job that is asked for; ConfigError where there is no such kind, or a key is wrong."""
    if kind not in KINDS:
        raise ConfigError(f"{kind[:100]!r}: not a job; one of {', '.join(KINDS)}")
    made = KINDS[kind]
    job: Job = made(place, made.request.read(kind, request))
    return job
