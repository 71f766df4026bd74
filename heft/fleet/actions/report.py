"""`heft fleet report`: one page of a fleet, that needs nothing else to be read."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from heft.daq.whole_file import write_whole
from heft.exit_codes import ExitCode
from heft.fleet.actions.drift import add_drift_options, drift_of
from heft.fleet.campaign import REPORT, RESULT
from heft.fleet.kept_job import ESTIMATE
from heft.fleet.results import results_at
from heft.identify.fleet.page import render

__all__ = ["add", "run"]

PAGE = "fleet.html"


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the action."""
    parser.add_argument(
        "folder", nargs="?", default="fleet", help="of the run, or its address (default: fleet)"
    )
    add_drift_options(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help=f"the page (default: {PAGE} in the run's folder)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    events, reports = drift_of(arguments)
    results = results_at(arguments.folder)

    def link(session: str) -> str | None:
        """The session's page, its result, or its estimate, as seen from this one."""
        for name in (REPORT, RESULT, ESTIMATE):
            if results.has(f"{session}/{name}"):
                here = arguments.out is None
                return f"{session}/{name}" if here else results.place(f"{session}/{name}")
        return None

    page = render(events, reports, link).encode()
    path = results.write(PAGE, page) if arguments.out is None else str(write_whole(arguments.out, page))
    facts = {"page": path, "arms": len({one.series.arm for one in reports}), "events": len(events)}
    sys.stdout.write((json.dumps(facts) if arguments.json else f"page      {path}") + "\n")
    return ExitCode.DONE
