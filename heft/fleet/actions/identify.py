"""`heft fleet identify`: every recording of a fleet, in parallel, by the same code as `heft identify`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from heft.daq.errors import ConfigError
from heft.exit_codes import ExitCode
from heft.fleet.answer import Job
from heft.fleet.campaign import Campaign, Tally, group, notes_of, sources_to_jobs
from heft.fleet.cluster import MEMORY, ClusterOptions, cluster_client
from heft.fleet.loads import loaded
from heft.fleet.results import results_at
from heft.fleet.sources import find_sources
from heft.fleet.store import TABLE
from heft.identify.bodies.consistency import Level
from heft.identify.data.known_load import NUMBERS
from heft.identify.estimation.estimators import ESTIMATORS
from heft.options import add_settings, positive, settings

__all__ = ["add", "run"]

#: Between two lines of progress where there is no terminal [s].
TELL_S = 30.0


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the action."""
    parser.add_argument(
        "patterns",
        nargs="+",
        metavar="RECORDINGS",
        help="recordings: paths, folders, patterns in quotes ('recordings/**/*.mcap'), or addresses (s3://bucket/...); "
        "or the triangles that were kept of them ('recordings/**/*.triangles.npz'): no recording is read then",
    )
    parser.add_argument(
        "--out",
        default="fleet",
        help="folder of results and table, or its address (s3://bucket/fleet; default: fleet)",
    )
    parser.add_argument(
        "--group-by",
        choices=("recording", "night", "arm"),
        default="recording",
        help="what is one fit: a recording, an arm's recordings of one night (noon to noon UTC), or all of an arm",
    )
    parser.add_argument(
        "--arms",
        choices=("rig", "folder"),
        default="rig",
        help="which arm a recording is of: as the rig's file inside says (cell, or name), or its folder's name",
    )
    parser.add_argument("--robot", type=Path, help="robot's file (default: the one inside each recording)")
    parser.add_argument(
        "--method", choices=sorted(ESTIMATORS), help="estimator (default: the session's, or sdp)"
    )
    parser.add_argument(
        "--level", choices=get_args(Level), help="consistency (default: the session's, or full)"
    )
    add_settings(parser)
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar=f"[SESSION=]{NUMBERS}",
        help="known load on the flange [kg, m, kg m2], as of heft identify; SESSION: a recording's name in the fleet, "
        "or a pattern of such (arm0/*); without it, of every recording",
    )
    parser.add_argument(
        "--triangles",
        choices=("beside", "out"),
        default="beside",
        help="where reduced data are kept: beside each recording where that may be written to, or below --out",
    )
    parser.add_argument("--reports", action="store_true", help="write each session's report.html, too")
    parser.add_argument("--retry", action="store_true", help="try sessions again that failed before")
    add_cluster_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Options of where to compute."""
    parser.add_argument(
        "--on",
        metavar="ADDRESS",
        help="a Dask scheduler, as tcp://host:8786 (default: processes of this machine)",
    )
    parser.add_argument("--workers", type=_count, help="local processes (default: one for each processor)")
    parser.add_argument(
        "--memory", type=positive, default=MEMORY / 1e9, metavar="GB", help="bound of each local process [GB]"
    )
    parser.add_argument("--tls-ca", type=Path, metavar="PEM", help="authority of a cluster with TLS")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="certificate for a cluster with TLS")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="key for a cluster with TLS")


def cluster_options(arguments: argparse.Namespace) -> ClusterOptions:
    """As the command line has them."""
    return ClusterOptions(
        arguments.on,
        arguments.workers,
        round(arguments.memory * 1e9),
        arguments.tls_ca,
        arguments.tls_cert,
        arguments.tls_key,
    )


def run(arguments: argparse.Namespace) -> int:
    """Identify; exit code 1 where some sessions could not be, 4 where none could."""
    from heft.identify.robot import Robot

    chosen, where = settings(arguments.set), cluster_options(arguments)
    where.check()
    out = results_at(arguments.out)
    sources = loaded(find_sources(arguments.patterns), arguments.load)
    if sources[0].reduced:
        _check_reduced(arguments)
    jobs = sources_to_jobs(
        sources,
        method=arguments.method,
        level=arguments.level,
        settings=chosen,
        robot=None if arguments.robot is None else Robot.load(arguments.robot).to_dict(),
        report=arguments.reports,
    )
    if arguments.arms == "folder":
        jobs = [_of_folder(job) for job in jobs]
    started_s = time.monotonic()
    connect = partial(cluster_client, where)
    with out.in_use(), _progress(arguments.json) as tell:
        grouped = tuple(group(connect, jobs, arguments.group_by))
        campaign = Campaign(grouped, out, arguments.triangles == "beside", arguments.retry)
        tally = campaign.run(connect, tell)
    return _told(tally, campaign, time.monotonic() - started_s, arguments.json)


def _check_reduced(arguments: argparse.Namespace) -> None:
    """`ConfigError` where options need the recordings."""
    asked = {"--robot": arguments.robot, "--load": arguments.load, "--reports": arguments.reports}
    if given := [name for name, value in asked.items() if value]:
        raise ConfigError(f"{given[0]}: triangles are as their recordings were read; give the recordings")


def _of_folder(job: Job) -> Job:
    """The job with the arm that the recording's folder is named after."""
    return replace(job, arm=PurePosixPath(job.sources[0].place).parent.name)


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[Tally], None]]:
    """A bar with the time that is left on a terminal; a line now and then elsewhere; nothing beside JSON."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal or as_json
    ) as bar:
        task = bar.add_task("identifying", total=None, said="")
        told_s = float("-inf")

        def tell(tally: Tally) -> None:
            nonlocal told_s
            bar.update(task, total=tally.total, completed=tally.done, said=_said(tally))
            if not console.is_terminal and not as_json and tally.now_s - told_s >= TELL_S:
                told_s = tally.now_s
                sys.stderr.write(f"{_said(tally)}\n")

        yield tell


def _said(tally: Tally) -> str:
    """One line of progress."""
    left = tally.remaining_s
    failed = f", {tally.counts['failed']} failed" if tally.counts["failed"] else ""
    return f"{tally.done} of {tally.total} sessions{failed}" + (
        "" if left is None else f", {_time(left)} left"
    )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _told(tally: Tally, campaign: Campaign, seconds: float, as_json: bool) -> ExitCode:
    """What became of it, and the exit code."""
    wanted = {job.session for job in campaign.jobs}
    notes = [note for note in notes_of(campaign.out) if note["rows"] and note["rows"][0]["session"] in wanted]
    failures = {note["rows"][0]["session"]: note["reason"] for note in notes if note["outcome"] == "failed"}
    grades: dict[str, int] = {}
    for note in notes:
        grade = note["rows"][0]["verdict"]
        grades[grade] = grades.get(grade, 0) + 1
    table = campaign.out.place(TABLE)
    if as_json:
        facts = {
            "sessions": tally.total,
            "identified": tally.counts["identified"],
            "unchanged": tally.counts["unchanged"],
            "failed": failures,
            "verdicts": grades,
            "seconds": seconds,
            "rate": tally.rate,
            "memory": max(tally.memory.values(), default=0),
            "out": campaign.out.place(),
            "table": table,
        }
        sys.stdout.write(json.dumps(facts) + "\n")
    else:
        sys.stdout.write(
            f"sessions  {tally.total}: {tally.counts['identified']} identified, {tally.counts['unchanged']} as they "
            f"were, {len(failures)} failed; {_time(seconds)}\n"
        )
        for session, reason in failures.items():
            sys.stdout.write(f"failed    {session}: {reason}\n")
        sys.stdout.write(f"table     {table}\n")
    if not failures:
        return ExitCode.DONE
    return ExitCode.FAILED if len(failures) == tally.total else ExitCode.NO


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of at least 1")
    return int(text)
