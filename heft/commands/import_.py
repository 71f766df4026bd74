"""`heft import`: files of other tools become one recording."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from heft.daq.importing.import_map import ImportMap
from heft.daq.whole_file import write_whole
from heft.exit_codes import ExitCode
from heft.importing import describe_import, import_files
from heft.options import add_log_options

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CSV, NPZ, Parquet, ROS 2 bags, data sets of LeRobot",
    )
    parser.add_argument(
        "--as",
        dest="into",
        type=Path,
        metavar="FILE.mcap",
        help="the recording (default: only show what is in the files)",
    )
    add_log_options(parser)
    parser.add_argument(
        "--map-out", type=Path, metavar="MAP.yaml", help="write the whole map, to edit and use again"
    )
    parser.add_argument(
        "--rate", type=_rate, metavar="HZ", help="rows come at this rate, whatever their stamps say"
    )
    parser.add_argument(
        "--validate",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="files to validate on",
    )
    parser.add_argument(
        "--hold-back",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="of the end of a single run, to validate on: 0.33 is a third (default: none)",
    )
    parser.add_argument(
        "--no-viewer", action="store_true", help="leave out the copies for Foxglove and other viewers"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there already")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Import, or only look; print what each column was taken for."""
    for path in (arguments.into, arguments.map_out):
        if path is not None and path.exists() and not arguments.overwrite:
            arguments.usage_error(f"{path}: is there already; choose another name, or say --overwrite")
    done = import_files(
        arguments.files,
        arguments.into,
        robot=arguments.robot,
        map_file=arguments.map,
        changes={} if arguments.rate is None else {"rate_hz": arguments.rate},
        validate=arguments.validate,
        hold_back=arguments.hold_back,
        replace_file=arguments.overwrite,
        viewer=not arguments.no_viewer,
    )
    if arguments.map_out is not None:
        write_whole(arguments.map_out, ImportMap.of(done.map).to_yaml().encode(), replace=arguments.overwrite)
    if arguments.json:
        sys.stdout.write(json.dumps(done.to_dict()) + "\n")
        return ExitCode.DONE
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    describe_import(done, console)
    if arguments.into is None:
        console.print(
            "nothing written: --as FILE.mcap makes a recording, --map-out MAP.yaml writes the map",
            markup=False,
        )
    return ExitCode.DONE


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r}: give a rate above 0 [Hz]")
    return rate


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 0.9:
        raise argparse.ArgumentTypeError(f"{text!r}: give a share from 0 to 0.9")
    return share
