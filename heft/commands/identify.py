"""`heft identify`: from recordings to a physically consistent model of the arm."""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path
from typing import get_args

from rich.console import Console

from heft.daq.importing.open_file import is_foreign
from heft.daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.identification import identify_and_report
from heft.identify.bodies.consistency import Level
from heft.identify.data.known_load import NUMBERS
from heft.identify.estimation.estimators import ESTIMATORS
from heft.identify.estimation.friction.choice import FRICTION_TERMS
from heft.identify.fit import identify_recordings
from heft.identify.information.fit_data import SHARED
from heft.identify.robot import Robot
from heft.identify.settings import Settings
from heft.importing import HELD_BACK, recording_of
from heft.known_loads import known_loads
from heft.options import add_log_options, add_settings, prepared, settings
from heft.terminal.progress import progress_bars

__all__ = ["add", "run"]

#: Lines of differences that are printed; JSON has them all.
MOST_DIFFERENCES = 10
#: Fewer replicates know a standard deviation to no better than a quarter.
LEAST_REPLICATES = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="recordings (.mcap); other files are imported first",
    )
    add_log_options(parser)
    parser.add_argument(
        "--method", choices=sorted(ESTIMATORS), help="estimator (default: the session's, or sdp)"
    )
    parser.add_argument(
        "--level", choices=get_args(Level), help="consistency (default: the session's, or full)"
    )
    add_settings(parser)
    parser.add_argument(
        "--second-opinion", action="store_true", help="solve sdp a second time, through cvxpy, and compare"
    )
    parser.add_argument(
        "--validate",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="recordings to validate on",
    )
    parser.add_argument(
        "--common",
        type=_shared,
        default=(),
        metavar="WHAT",
        help="what several recordings have in common: offsets, delay or both, by comma (default: each has its own)",
    )
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar=f"[FILE=]{NUMBERS}",
        help="known load on the flange in a recording [kg, m, kg m2]: centre in the flange's frame, moments about it "
        "(default: a point); FILE where there are several",
    )
    parser.add_argument(
        "--friction",
        metavar="auto|file|TERMS",
        help="auto: terms and velocities of each joint's friction from the data; file: as the robot's file says; or "
        f"terms for all joints, as viscous,coulomb (of {', '.join(FRICTION_TERMS)}); default: the session's, or auto",
    )
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
    parser.add_argument(
        "--force", action="store_true", help="exit code 0 also where the model is not fit for use"
    )
    parser.add_argument("--figures", action="store_true", help="write the report's figures as PNG, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Identify, print the model, write result.json and report.html; exit code 1 where it is not fit for use."""
    chosen = settings(arguments.set)
    if arguments.second_opinion:
        chosen["method.second_opinion"] = True
    if arguments.friction is not None:
        chosen |= Settings.parse([f"friction={arguments.friction}"]).to_dict()
    if arguments.reproduce is not None:
        if chosen:
            arguments.usage_error("--reproduce makes a result with its own settings; leave --set out")
        return _reproduce(arguments)
    if not arguments.files:
        arguments.usage_error("name a recording, or a result to --reproduce")
    out = arguments.out or arguments.files[0].parent
    console = Console(file=sys.stderr if arguments.json else sys.stdout, highlight=False, soft_wrap=True)

    @cache  # a file that is named twice, too
    def opened(file: Path) -> Recording:
        lone = len(arguments.files) == 1 and not arguments.validate
        return Recording.open(
            recording_of(
                file,
                prepared(out) if is_foreign(file) else out,
                among=[*arguments.files, *arguments.validate],
                robot=arguments.robot,
                map_file=arguments.map,
                hold_back=HELD_BACK if lone else 0.0,
                console=console,
            )
        )

    loads = known_loads(arguments.load, [*arguments.files, *arguments.validate])
    recordings = [opened(file) for file in arguments.files]
    given = arguments.robot is not None and not all(map(is_foreign, arguments.files))
    summary, result = identify_and_report(
        recordings,
        out=out,
        robot=Robot.load(arguments.robot) if given else None,
        method=arguments.method,
        level=arguments.level,
        settings=chosen,
        common=arguments.common,
        loads={opened(file): load for file, load in loads.items()},
        validate=[opened(file) for file in arguments.validate],
        figures=arguments.figures,
        bootstrap=arguments.bootstrap,
        console=console,
    )
    if arguments.json:
        sys.stdout.write(json.dumps(summary) + "\n")
    return ExitCode.NO if result.verdict.grade == "unfit" and not arguments.force else ExitCode.DONE


def _reproduce(arguments: argparse.Namespace) -> int:
    """Say `identical`, or what differs; exit code 1 where anything does."""
    from heft.identify.result.reproduction import reproduce

    opened = cache(Recording.open)
    recordings = [opened(file) for file in arguments.files]
    with progress_bars("identifying") as (progress,):
        again = reproduce(arguments.reproduce, identify_recordings, recordings, progress)
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


def _shared(text: str) -> tuple[str, ...]:
    """What recordings have in common."""
    wanted = tuple(part.strip() for part in text.split(","))
    for part in wanted:
        if part not in SHARED:
            raise argparse.ArgumentTypeError(f"{part!r}: choose of {', '.join(SHARED)}, or both by comma")
    return wanted


def _replicates(text: str) -> int:
    """A number of replicates that says something of a standard deviation."""
    if not text.isdecimal() or int(text) < LEAST_REPLICATES:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of at least {LEAST_REPLICATES}")
    return int(text)
