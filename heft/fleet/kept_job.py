"""An estimate of sessions together from their kept triangles, as it runs on a worker; no recording is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from heft.fleet.answer import Answer, Job, most_memory

if TYPE_CHECKING:
    from heft.identify.fleet.together import TogetherEstimate
    from heft.identify.fleet.triangles import KeptTriangles
    from heft.identify.settings.choices import Choices

__all__ = ["ESTIMATE", "estimated"]

ESTIMATE = "estimate.json"


def estimated(job: Job, paths: list[Path], digest: str) -> Answer:
    """The answer of triangles that can be added."""
    import json

    import numpy as np

    from heft import __version__
    from heft.identify.fleet.session_facts import SessionFacts
    from heft.identify.fleet.session_rows import rows_of_estimate
    from heft.identify.fleet.triangles import KeptTriangles

    kept = [
        KeptTriangles.decoded(path.read_bytes(), source.name)
        for path, source in zip(paths, job.sources, strict=True)
    ]
    found, level = _fitted(job, kept)
    facts = SessionFacts.of_kept(kept[0].facts)
    rows = rows_of_estimate(
        found,
        kept[0],
        SessionFacts(job.arm or facts.arm, facts.utc_s),
        session=job.session,
        source=",".join(source.place for source in job.sources),
        digest=digest,
        result=f"{job.session}/{ESTIMATE}",
        temperature=np.mean([one.temperature for one in kept], axis=0),
        level=level,
        software=__version__,
    )
    return Answer(
        job.session,
        "identified",
        digest,
        estimate=json.dumps({**found.to_dict(), "level": level}, allow_nan=False).encode(),
        rows=tuple(row.to_dict() for row in rows),
        memory=most_memory(),
        process=os.getpid(),
    )


def _fitted(job: Job, kept: list[KeptTriangles]) -> tuple[TogetherEstimate, str]:
    """The estimate as the job's settings want it, and its level."""
    from dataclasses import replace

    from heft.identify.estimation.estimators import Method
    from heft.identify.fleet.together import fit_kept
    from heft.identify.settings import Settings
    from heft.identify.settings.choices import Choices

    wanted = Choices(kept[0].robot, Method(job.method or "sdp"), job.level or "full")  # type: ignore[arg-type]
    choices = Settings.of(job.settings).applied(wanted)
    _check(choices, kept[0])
    spread, constraints = choices.robot.spread, choices.robot.constraints
    found = fit_kept(
        [replace(one, robot=replace(one.robot, spread=spread, constraints=constraints)) for one in kept],
        choices.method,
        choices.level,
        choices.prior,
        bounds=choices.bounds_of(),
        common=choices.common,
        delay_s=choices.delay_s,
    )
    return found, choices.level


def _check(choices: Choices, kept: KeptTriangles) -> None:
    """`DataError` where settings need the recordings."""
    from heft.identify.errors import DataError

    processing = kept.processing
    asked = {
        "terms": choices.robot.parameter_names != kept.robot.parameter_names,
        "friction": choices.friction not in ("auto", "file"),
        "smoothing_velocity": choices.robot.drives is not kept.robot.drives,
        "unmeasured": choices.robot.unmeasured != kept.robot.unmeasured,
        "cutoff_hz": choices.cutoff_hz not in (None, processing.cutoff_hz),
        **{f"filter.{name}": value != getattr(processing, name) for name, value in choices.filter.items()},
    }
    other = [name for name, differs in asked.items() if differs]
    if other:
        raise DataError(
            f"setting {other[0]}: triangles have what their sessions were reduced with; leave it out, or give the "
            "recordings"
        )
