"""`heft identify`: from recordings to a physically consistent model of the arm."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.progress import Progress

from heft.exit_codes import ExitCode
from heft.terminal.model import describe_result
from identify.consistency import Level
from identify.estimators import METHODS
from identify.recorded import identify_recordings
from identify.result import Result
from identify.robot import Robot

__all__ = ["add", "identify_and_report", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recordings (.mcap)")
    parser.add_argument("--robot", type=Path, help="robot's file (default: the one inside the recording)")
    parser.add_argument("--method", choices=sorted(METHODS), default="sdp", help="estimator (default: sdp)")
    parser.add_argument(
        "--level", choices=get_args(Level), default="full", help="consistency (default: full)"
    )
    parser.add_argument("--validate", type=Path, metavar="FILE", help="recording to validate on")
    parser.add_argument(
        "--out", type=Path, help="folder for result.json (default: beside the first recording)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Identify, print the model, write result.json; exit code 1 where the model is not consistent."""
    summary, result = identify_and_report(
        arguments.files,
        out=arguments.out or arguments.files[0].parent,
        robot=None if arguments.robot is None else Robot.load(arguments.robot),
        method=arguments.method,
        level=arguments.level,
        validate=arguments.validate,
        console=Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True),
    )
    if arguments.json:
        sys.stdout.write(json.dumps(summary) + "\n")
    return ExitCode.DONE if result.consistent else ExitCode.NO


def identify_and_report(
    files: list[Path], *, out: Path, console: Console, **options: Any
) -> tuple[dict[str, Any], Result]:
    """Identify recordings, print the model on `console`, write `result.json` into `out`; a summary for JSON."""
    with _progress() as progress:
        result = identify_recordings(files, progress=progress, **options)
    out.mkdir(parents=True, exist_ok=True)
    path = result.save(out / "result.json")
    describe_result(result, path, console)
    return _summary(result, path), result


def _summary(result: Result, path: Path) -> dict[str, Any]:
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
        "result": str(path),
    }


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on a terminal's standard error; nothing elsewhere."""
    console = Console(file=sys.stderr)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("identifying", total=1.0)
        yield lambda share: bar.update(task, completed=share)
