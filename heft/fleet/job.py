"""One session's identification, as it runs on a worker of the cluster: recordings in, bytes of files out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heft.fleet.sources import Source, digest_of, fetched

__all__ = ["Answer", "Job", "identify_job", "look"]


@dataclass(frozen=True)
class Job:
    """What is asked of a worker.

    session    the session's name, where its results go
    sources    the recordings of one fit
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
    triangles   bytes of each recording's kept triangles
    rows        of the table, as plain JSON values
    seconds     that it took; `memory` the most that its process ever held [bytes]
    """

    session: str
    outcome: str
    digest: str = ""
    reason: str = ""
    result: bytes = b""
    report: bytes = b""
    triangles: tuple[bytes, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    memory: int = 0
    process: int = 0


def look(source: Source) -> tuple[str, float, str]:
    """Arm, time [s UTC] and reason of failure of a recording, for grouping."""
    from heft.daq.recording import Recording
    from heft.drivers.errors import HeftError
    from heft.identify.fleet.session_facts import SessionFacts

    try:
        with fetched(source) as path:
            facts = SessionFacts.of(Recording.open(path), brief=True)
            return facts.arm, facts.utc_s, ""
    except (HeftError, OSError) as exc:
        return "", float("nan"), str(exc)
    except Exception as exc:  # one strange file must not end the others' run
        return "", float("nan"), f"internal error: {type(exc).__name__}: {exc}"


def identify_job(job: Job) -> Answer:
    """Identify; whatever goes wrong is this session's alone, and said in its answer."""
    from heft import __version__
    from heft.drivers.errors import HeftError
    from heft.identify.fleet.table import failed_row

    digest = ""
    try:
        with ExitStack() as stack:
            paths = [stack.enter_context(fetched(source)) for source in job.sources]
            digest = "+".join(digest_of(path) for path in paths)
            if digest == job.known:
                return Answer(job.session, "unchanged", digest)
            return _identified(job, paths, digest)
    except HeftError as exc:
        reason = str(exc)
    except Exception as exc:  # one strange file must not end the others' run
        reason = f"internal error: {type(exc).__name__}: {exc}; please report it with the recording"
    for (
        source
    ) in job.sources:  # a place of this machine only: what it is called elsewhere is no part of the reason
        reason = reason.replace(source.place, source.name)
    row = failed_row(
        session=job.session,
        source=",".join(source.place for source in job.sources),
        digest=digest,
        reason=reason,
        software=__version__,
        arm=job.arm,
        time_s=float("nan"),
    )
    return Answer(job.session, "failed", digest, reason, rows=(row.to_dict(),), process=os.getpid())


def _identified(job: Job, paths: list[Path], digest: str) -> Answer:
    """The answer of recordings that can be identified."""
    from dataclasses import replace

    import numpy as np

    from heft.daq.recording import Recording
    from heft.daq.temporary import temporary_folder
    from heft.identify.data.known_load import KnownLoad
    from heft.identify.fit import identify_recordings
    from heft.identify.fleet.session_facts import SessionFacts
    from heft.identify.fleet.session_rows import rows_of
    from heft.identify.fleet.triangles import KeptTriangles, kept_of
    from heft.identify.result.report import Evidence, write_report
    from heft.identify.robot import Robot

    recordings = [Recording.open(path) for path in paths]
    facts = SessionFacts.of(recordings[0])
    if job.arm:
        facts = replace(facts, arm=job.arm)
    kept: list[KeptTriangles] = []
    result = identify_recordings(
        recordings,
        robot=None if job.robot is None else Robot.from_dict(job.robot),
        method=job.method,
        level=job.level,  # type: ignore[arg-type]
        settings=job.settings,
        loads={
            recording: KnownLoad.from_numbers(source.load)
            for recording, source in zip(recordings, job.sources, strict=True)
            if source.load
        },
        keep=lambda alignment: kept.extend(
            kept_of(alignment, {"session": job.session, "arm": facts.arm, "utc_s": facts.utc_s})
        ),
    )
    measured = [one.temperature for one in kept if np.isfinite(one.temperature).all()]
    n = len(result.robot.joints)
    rows = rows_of(
        result,
        facts,
        session=job.session,
        source=",".join(source.place for source in job.sources),
        digest=digest,
        path=f"{job.session}/result.json",
        temperature=np.mean(measured, axis=0) if measured else np.full(n, np.nan),
    )
    with temporary_folder() as folder:
        saved = result.save(folder / "result.json").read_bytes()
        page = b""
        if job.report:
            evidence = Evidence.of_recordings(result, recordings, ())
            page = write_report(result, folder / "report.html", evidence).read_bytes()
    return Answer(
        job.session,
        "identified",
        digest,
        result=saved,
        report=page,
        triangles=tuple(one.encoded() for one in kept),
        rows=tuple(row.to_dict() for row in rows),
        memory=_most_memory(),
        process=os.getpid(),
    )


def _most_memory() -> int:
    """The most memory that this process has held [bytes]."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
