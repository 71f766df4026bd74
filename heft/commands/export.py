"""`heft export`: an identified model as URDF, MJCF, CSV or YAML; a recording as CSV, Parquet or a bag."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heft.exit_codes import ExitCode
from heft.identify.result import load
from heft.identify.result.export import Export, export_model, objections, write_csv, write_yaml
from heft.identify.robot.model_text import Format
from heft.recording_export import export_recording, is_recording

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "result",
        type=Path,
        metavar="RESULT.json|RECORDING.mcap",
        help="what `heft identify` wrote, or a recording",
    )
    parser.add_argument("--urdf", type=Path, metavar="OUT", help="a URDF file")
    parser.add_argument("--mjcf", type=Path, metavar="OUT", help="an MJCF file")
    parser.add_argument(
        "--csv", type=Path, metavar="OUT", help="parameters, or a recording's samples, as a table"
    )
    parser.add_argument("--parquet", type=Path, metavar="OUT", help="a recording's samples as Parquet")
    parser.add_argument("--bag", type=Path, metavar="FOLDER", help="a recording as a bag of ROS 2 (MCAP)")
    parser.add_argument(
        "--stream",
        nargs="+",
        default=[],
        metavar="NAME",
        help="streams of a recording (default: all measured ones)",
    )
    parser.add_argument("--yaml", type=Path, metavar="OUT", help="parameters as keys of a robot's file")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="model file to copy (default: the one the robot was read from)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also a model that is not fit for use, or not consistent at level full",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there already")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Write what is asked for; exit code 1 where it is a model that should not be used and is not forced."""
    if is_recording(arguments.result):
        return export_recording(arguments)
    if arguments.parquet is not None or arguments.bag is not None or arguments.stream:
        arguments.usage_error("--parquet, --bag and --stream are of recordings (.mcap)")
    asked: tuple[tuple[Format, Path | None], ...] = (("urdf", arguments.urdf), ("mjcf", arguments.mjcf))
    models = {format: path for format, path in asked if path is not None}
    if not models and arguments.csv is None and arguments.yaml is None:
        arguments.usage_error("say what to write: --urdf, --mjcf, --csv or --yaml")
    if arguments.into is not None and len(models) != 1:
        arguments.usage_error("--into goes with one of --urdf and --mjcf")
    if not arguments.overwrite:
        _refuse_existing(arguments, models)
    result = load(arguments.result)
    reasons = objections(result)
    if reasons and (models or arguments.yaml is not None) and not arguments.force:
        for reason in reasons:
            sys.stderr.write(f"heft export: {reason}; or say --force\n")
        return ExitCode.NO
    said: dict[str, Any] = {"objections": list(reasons), "verdict": result.verdict.to_dict()}
    for format, path in models.items():
        export = export_model(
            result,
            path,
            format,
            into=arguments.into,
            force=arguments.force,
            overwrite=arguments.overwrite,
        )
        said[format] = _summary(export)
        if not arguments.json:
            _tell(export)
    for name, write in (("csv", write_csv), ("yaml", write_yaml)):
        path = getattr(arguments, name)
        if path is not None:
            said[name] = str(write(result, path, overwrite=arguments.overwrite))
            if not arguments.json:
                sys.stdout.write(f"{name:<10}{path}\n")
    if arguments.json:
        sys.stdout.write(json.dumps(said) + "\n")
    return ExitCode.DONE


def _refuse_existing(arguments: argparse.Namespace, models: Mapping[Format, Path]) -> None:
    """A usage error where a file that would be written is there; a model has a sidecar beside it."""
    tables = [path for path in (arguments.csv, arguments.yaml) if path is not None]
    sidecars = [path.with_name(path.name + ".json") for path in models.values()]
    for path in (*models.values(), *sidecars, *tables):
        if os.path.lexists(path):
            arguments.usage_error(f"{path}: is there already; choose another name, or say --overwrite")


def _summary(export: Export) -> dict[str, Any]:
    return {
        "path": str(export.path),
        "sidecar": str(export.sidecar),
        "rigid_body_torque_difference": export.difference,
        "left_out": [term["name"] for term in export.omissions.terms],
        "notes": list(export.omissions.notes),
    }


def _tell(export: Export) -> None:
    """The file, that it was checked, and what it cannot say."""
    lines = [
        f"{export.format:<10}{export.path}",
        f"checked   read back, rigid-body torques are the same (difference {export.difference:.1g} of the largest)",
    ]
    by_reason: dict[str, list[str]] = {}
    for term in export.omissions.terms:
        by_reason.setdefault(term["why"], []).append(term["name"])
    lines += [f"left out  {_few(names)}: {why}" for why, names in by_reason.items()]
    lines += [f"note      {note}" for note in export.omissions.notes]
    lines.append(f"sidecar   {export.sidecar}")
    sys.stdout.write("\n".join(lines) + "\n")


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} ... {names[-1]} ({len(names)})"
