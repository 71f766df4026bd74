"""Recordings in; on the terminal and as files the identified model, its verdict and its report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.daq.recording import Recording
from heft.identify.certainty.bootstrap import Bootstrap
from heft.identify.fit import identify_recordings
from heft.identify.result import Result
from heft.identify.result.report import Evidence, write_figures, write_report
from heft.options import prepared
from heft.terminal.model import describe_result, describe_verdict
from heft.terminal.progress import progress_bars

__all__ = ["identify_and_report", "present"]


def identify_and_report(
    recordings: list[Recording],
    *,
    out: Path,
    console: Console,
    validate: Sequence[Recording] = (),
    figures: bool = False,
    bootstrap: int = 0,
    **options: Any,
) -> tuple[dict[str, Any], Result]:
    """Identify recordings, print the model on `console`, write result and report into `out`; a summary for JSON."""
    for recording in recordings:
        if not recording.complete:
            sys.stderr.write(f"{recording.path}: {recording.recovery}\n")
    prepared(out)
    with progress_bars("identifying", *(["bootstrap"] if bootstrap else [])) as (progress, *more):
        result = identify_recordings(
            recordings,
            validate=validate,
            progress=progress,
            bootstrap=Bootstrap(bootstrap, progress=more[0]) if bootstrap else None,
            **options,
        )
    path = result.save(out / "result.json")
    return present(result, path, recordings, console, validate=validate, figures=figures), result


def present(
    result: Result,
    path: Path,
    recordings: list[Recording],
    console: Console,
    *,
    validate: Sequence[Recording] = (),
    figures: bool = False,
) -> dict[str, Any]:
    """Print the model that was written to `path`, and write its report beside it; a summary for JSON."""
    describe_result(result, path, console)
    evidence = Evidence.of_recordings(result, recordings, validate)
    describe_verdict(result.verdict, console)
    report = write_report(result, path.with_name("report.html"), evidence)
    console.print(f"report    {report}", markup=False)
    drawn = write_figures(result, path.with_name("figures"), evidence) if figures else []
    for figure in drawn:
        console.print(f"figure    {figure}", markup=False)
    validation = None if result.validation is None else result.validation.total
    return {
        "method": result.method,
        "level": result.level,
        "consistent": result.consistent,
        "margin": result.consistency().margin,
        "relative_error": {"fit": result.fit.total, "validation": validation},
        "rank": result.rank,
        "condition_number": result.condition_number,
        "total_mass": result.total_mass,
        "deflections": [one.to_dict() for one in result.deflections],
        "warnings": list(result.warnings),
        "verdict": result.verdict.to_dict(),
        "result": str(path),
        "report": str(report),
        **({"figures": [str(figure) for figure in drawn]} if figures else {}),
    }
