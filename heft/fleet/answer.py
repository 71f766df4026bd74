"""What is asked of a worker of the cluster, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heft.fleet.sources import Source

__all__ = ["Answer", "Job", "most_memory"]


@dataclass(frozen=True)
class Job:
    """What is asked of a worker.

    session    the session's name, where its results go
    sources    the recordings of one fit, or the triangles that were kept of them
    arm        the arm's name, where it is not as the recording says
    settings   of the identification by key; `method` and `level` as of `identify_recordings`
    robot      the robot's file as the text of `Robot.to_dict`; None: as the recordings have it
    known      digest of the recordings that results are there of already; empty: none
    report     whether to write the page of the session, too
    """

    session: str
    sources: tuple[Source, ...]
    arm: str = ""
    method: str | None = None
    level: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    robot: Mapping[str, Any] | None = None
    known: str = ""
    report: bool = False


@dataclass(frozen=True)
class Answer:
    """What became of a job.

    outcome     identified, failed, or unchanged (`Job.known` holds)
    reason      why it failed
    result      bytes of result.json, as `heft identify` writes it; `report` of report.html
    estimate    bytes of estimate.json, in place of both where triangles were given
    triangles   bytes of each recording's kept triangles
    rows        of the table, as plain JSON values
    memory      the most that its process, of this number, ever held [bytes]
    """

    session: str
    outcome: str
    digest: str = ""
    reason: str = ""
    result: bytes = b""
    report: bytes = b""
    estimate: bytes = b""
    triangles: tuple[bytes, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    memory: int = 0
    process: int = 0


def most_memory() -> int:
    """The most memory that this process has held [bytes]."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
