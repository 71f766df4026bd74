"""`heft identify`: from recordings to a physically consistent model of the arm."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import Progress, TaskID

from daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.options import prepared
from heft.terminal.model import describe_result
from identify.consistency import Level
from identify.estimators import METHODS
from identify.recorded import identify_recordings
from identify.report import Evidence, verdict, write_figures, write_report
from identify.result import Result
from identify.robot import Robot

__all__ = ["add", "identify_and_report", "present", "run"]

#: Lines of differences that are printed; JSON has them all.
MOST_DIFFERENCES = 10
#: Fewer replicates know a standard deviation to no better than a quarter.
LEAST_REPLICATES = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="recordings (.mcap)")
    parser.add_argument("--robot", type=Path, help="robot's file (default: the one inside the recording)")
    parser.add_argument("--method", choices=sorted(METHODS), default="sdp", help="estimator (default: sdp)")
    parser.add_argument(
        "--level", choices=get_args(Level), default="full", help="consistency (default: full)"
    )
    parser.add_argument("--validate", type=Path, metavar="FILE", help="recording to validate on")
    parser.add_argument(
        "--reproduce",
        type=Path,
        metavar="RESULT.json",
        help="make this result once more, from its recordings, and say what differs",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for result.json and report.html (default: beside the first recording)",
    )
    parser.add_argument(
        "--bootstrap",
        type=_replicates,
        default=0,
        metavar="N",
        help="check the intervals by N estimates from data drawn with replacement (200 are enough)",
    )
    parser.add_argument("--figures", action="store_true", help="write the report's figures as PNG, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Identify, print the model, write result.json and report.html; exit code 1 where the model is not consistent."""
    if arguments.reproduce is not None:
        return _reproduce(arguments)
    if not arguments.files:
        arguments.usage_error("name a recording, or a result to --reproduce")
    summary, result = identify_and_report(
        arguments.files,
        out=arguments.out or arguments.files[0].parent,
        robot=None if arguments.robot is None else Robot.load(arguments.robot),
        method=arguments.method,
        level=arguments.level,
        validate=arguments.validate,
        figures=arguments.figures,
        bootstrap=arguments.bootstrap,
        console=Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True),
    )
    if arguments.json:
        sys.stdout.write(json.dumps(summary) + "\n")
    return ExitCode.DONE if result.consistent else ExitCode.NO


def identify_and_report(
    files: list[Path],
    *,
    out: Path,
    console: Console,
    validate: Path | None = None,
    figures: bool = False,
    bootstrap: int = 0,
    **options: Any,
) -> tuple[dict[str, Any], Result]:
    """Identify recordings, print the model on `console`, write result and report into `out`; a summary for JSON."""
    for file in files:
        recording = Recording.open(file)
        if not recording.complete:
            sys.stderr.write(f"{file}: {recording.recovery}\n")
    prepared(out)
    with _progress("identifying", *(["bootstrap"] if bootstrap else [])) as (progress, *more):
        result = identify_recordings(
            files,
            validate=validate,
            progress=progress,
            bootstrap=bootstrap,
            replicating=more[0] if more else None,
            **options,
        )
    path = result.save(out / "result.json")
    return present(result, path, files, console, validate=validate, figures=figures), result


def present(
    result: Result,
    path: Path,
    files: list[Path],
    console: Console,
    *,
    validate: Path | None = None,
    figures: bool = False,
) -> dict[str, Any]:
    """Print the model that was written to `path`, and write its report beside it; a summary for JSON."""
    describe_result(result, path, console)
    evidence = Evidence.of_recordings(result, files, validate)
    found = verdict(result, evidence)
    console.print(f"verdict   {found.headline}", markup=False)
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
        "warnings": list(result.warnings),
        "verdict": {"grade": found.grade, "headline": found.headline},
        "result": str(path),
        "report": str(report),
        **({"figures": [str(figure) for figure in drawn]} if figures else {}),
    }


def _reproduce(arguments: argparse.Namespace) -> int:
    """Say `identical`, or what differs; exit code 1 where anything does."""
    from identify.reproduction import reproduce

    with _progress("identifying") as (progress,):
        again = reproduce(arguments.reproduce, arguments.files, progress)
    stream = sys.stderr if arguments.json else sys.stdout
    if again.identical:
        stream.write("identical: every number, to the last bit\n")
    else:
        largest = f", by {again.largest:.1e} of their size at most" if again.largest < 1 else ""
        stream.write(f"{len(again.differences)} values differ{largest}:\n")
        for one in again.differences[:MOST_DIFFERENCES]:
            stream.write(f"  {one}\n")
        if len(again.differences) > MOST_DIFFERENCES:
            stream.write(f"  and {len(again.differences) - MOST_DIFFERENCES} more\n")
    for one in again.versions:
        stream.write(
            f"made with other software: {one.place.rpartition('.')[2]} {one.before}, now {one.now}\n"
        )
    if arguments.json:
        differing = {one.place: [one.before, one.now] for one in (*again.differences, *again.versions)}
        answer = {"identical": again.identical, "differences": differing, "result": str(arguments.reproduce)}
        sys.stdout.write(json.dumps(answer) + "\n")
    return ExitCode.DONE if again.identical else ExitCode.NO


def _replicates(text: str) -> int:
    """A number of replicates that says something of a standard deviation."""
    if not text.isdecimal() or int(text) < LEAST_REPLICATES:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of at least {LEAST_REPLICATES}")
    return int(text)


@contextmanager
def _progress(*titles: str) -> Iterator[list[Callable[[float], None]]]:
    """A bar for each title on a terminal's standard error, and what moves it; nothing elsewhere."""
    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks = [bar.add_task(title, total=1.0) for title in titles]
        yield [partial(_move, bar, task) for task in tasks]


def _move(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)
