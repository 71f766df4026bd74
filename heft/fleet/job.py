"""One session's identification, as it runs on a worker of the cluster: recordings in, bytes of files out."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from heft.fleet.answer import Answer, Job, most_memory
from heft.fleet.sources import Source, digest_of, fetched

__all__ = ["identify_job", "look"]


def look(source: Source) -> tuple[str, float, str]:
    """Arm, time [s UTC] and reason of failure of a recording or its triangles, for grouping."""
    from heft.daq.recording import Recording
    from heft.drivers.errors import HeftError
    from heft.identify.fleet.session_facts import SessionFacts
    from heft.identify.fleet.triangles import KeptTriangles

    try:
        with fetched(source) as path:
            if source.reduced:
                facts = SessionFacts.of_kept(KeptTriangles.decoded(path.read_bytes(), source.name).facts)
            else:
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
    from heft.fleet.kept_job import estimated
    from heft.identify.fleet.table import failed_row

    digest = ""
    try:
        with ExitStack() as stack:
            paths = [stack.enter_context(fetched(source)) for source in job.sources]
            digest = "+".join(digest_of(path) for path in paths)
            if digest == job.known:
                return Answer(job.session, "unchanged", digest)
            if job.sources[0].reduced:
                return estimated(job, paths, digest)
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
        memory=most_memory(),
        process=os.getpid(),
    )
