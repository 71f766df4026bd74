"""`heft export` of a recording: tables and bags that other tools read."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from heft.daq.exporting.tables import chosen_streams, export_tables
from heft.daq.recording import Recording
from heft.exit_codes import ExitCode

__all__ = ["export_recording", "is_recording"]


def is_recording(path: Path) -> bool:
    """Whether this is a recording, by its name; a result is JSON."""
    return path.suffix in (".mcap", ".partial")


def export_recording(arguments: argparse.Namespace) -> int:
    """Write what is asked for."""
    asked = {kind: getattr(arguments, kind) for kind in ("csv", "parquet", "bag")}
    if not any(asked.values()) or arguments.urdf or arguments.mjcf or arguments.yaml:
        arguments.usage_error(
            "a recording is written as --csv, --parquet or --bag; other forms are of results"
        )
    for path in filter(None, asked.values()):
        if os.path.lexists(path) and not arguments.overwrite:
            arguments.usage_error(f"{path}: is there already; choose another name, or say --overwrite")
    recording = Recording.open(arguments.result)
    streams = chosen_streams(recording, arguments.stream)
    said: dict[str, Any] = {}
    for kind in ("csv", "parquet"):
        if asked[kind] is not None:
            paths = export_tables(recording, asked[kind], streams, kind, replace=arguments.overwrite)
            said[kind] = [str(path) for path in paths]
    if asked["bag"] is not None:
        from heft.daq.exporting.bag import export_bag

        said["bag"] = [str(export_bag(recording, asked["bag"], streams, replace=arguments.overwrite))]
    if arguments.json:
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        sys.stdout.write("".join(f"{kind:<10}{path}\n" for kind, paths in said.items() for path in paths))
    return ExitCode.DONE
