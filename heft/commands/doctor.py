"""`heft doctor`: what killed sessions have left behind, and cleaning it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from heft.daq.errors import ConfigError
from heft.exit_codes import ExitCode
from heft.leftovers import leftovers
from heft.log_file import log_path

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="where to look for recordings (default: here)"
    )
    parser.add_argument(
        "--clean", action="store_true", help="remove what is of no use, and make cut-off recordings whole"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List it, or clean it; exit code 1 where something is left."""
    folders = arguments.folders or [Path()]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: no such folder; give one to look into")
    lines, found, left = [], [], 0
    for one in leftovers(folders):
        failure = one.clean() if arguments.clean else "not cleaned"
        left += bool(failure)
        found.append({**one.to_dict(), "cleaned": not failure, "failure": failure if arguments.clean else ""})
        then = one.remedy if not failure else f"--clean: {one.remedy}" if not arguments.clean else failure
        lines.append(f"{one.path}: {one.what}; {then}")
    if arguments.json:
        sys.stdout.write(json.dumps({"found": found, "left": left, "log": str(log_path())}) + "\n")
    else:
        for line in lines or ["nothing is left of killed sessions"]:
            sys.stdout.write(f"{line}\n")
        sys.stdout.write(f"log: {log_path()}\n")
    return ExitCode.NO if left else ExitCode.DONE
