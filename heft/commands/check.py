"""`heft check`: what is wrong with a log or with a robot's model, and the line that cures it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from heft.daq.config.robot import load_robot
from heft.daq.errors import ConfigError
from heft.daq.importing.binding import own_columns
from heft.daq.importing.import_map import ImportMap
from heft.daq.importing.open_file import is_foreign, open_file
from heft.daq.importing.write import IMPORT_NOTE, MAP_FILE
from heft.daq.recording import Recording
from heft.daq.temporary import temporary_folder
from heft.daq.whole_file import write_whole
from heft.exit_codes import ExitCode
from heft.identify.data.recorded_robot import ROBOT_FILE, ROBOT_JSON, robot_of
from heft.identify.diagnosis.cure import SIGNALS, merged, of_map
from heft.identify.diagnosis.diagnose import diagnose
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.fixes import fix_of
from heft.identify.diagnosis.import_checks import check_import
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.model_checks import check_bodies, check_limits_of, check_meshes
from heft.identify.diagnosis.recorded_log import recorded_log
from heft.identify.fit import one_thread
from heft.identify.result.report.findings_page import write_findings
from heft.identify.robot import Robot
from heft.identify.robot.limit_check import check_limits
from heft.identify.robot.model_text import MODEL_SUFFIXES
from heft.importing import recording_of
from heft.options import add_log_options
from heft.terminal.findings import describe_findings

__all__ = ["add", "run"]

ROBOTS = (".yaml", ".yml")


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="recording, or a log of another tool (as of `heft import`); or a robot's file (.yaml), URDF or MJCF",
    )
    add_log_options(parser)
    parser.add_argument(
        "--fix",
        type=Path,
        metavar="MAP.yaml",
        help="write the map with the lines that cure it; may be that of --map",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write the findings as a page, with figures"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


@one_thread()
def run(arguments: argparse.Namespace) -> int:
    """Print the findings, worst first; exit code 1 where one of them makes identification meaningless."""
    file: Path = arguments.file
    log: Log | None = None
    mapped: Any = {}
    if file.suffix.lower() in (*ROBOTS, *MODEL_SUFFIXES):
        found = _model(file)
    else:
        with temporary_folder() as folder:
            log, robot, mapped, note = _log(file, folder, arguments)
        found = sorted([*check_import(note), *diagnose(log, robot)], key=lambda one: one.rank)
    answer: dict[str, Any] = {"file": str(file), "findings": [one.to_dict() for one in found]}
    if arguments.fix is not None:
        answer["fix"] = _write_fix(arguments.fix, fix_of(found), file, mapped, log)
    if arguments.html is not None:
        answer["html"] = str(write_findings(found, arguments.html, file.name, log))
    if arguments.json:
        sys.stdout.write(json.dumps(answer) + "\n")
    else:
        console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        describe_findings(found, console)
        for key in ("fix", "html"):
            if answer.get(key):
                console.print(f"{key:9} {answer[key]}", markup=False)
    return ExitCode.NO if any(one.severity == "fatal" for one in found) else ExitCode.DONE


def _log(
    file: Path, folder: Path, arguments: argparse.Namespace
) -> tuple[Log, Robot | None, Any, Mapping[str, str]]:
    """The log, its robot where one is known, the map that it was imported by, and what the import said of it."""
    recording = Recording.open(recording_of(file, folder, robot=arguments.robot, map_file=arguments.map))
    if arguments.robot is not None and not is_foreign(file):
        robot: Robot | None = Robot.load(arguments.robot)
    else:
        inside = {ROBOT_FILE, ROBOT_JSON} & set(recording.attachments)
        robot = robot_of(recording) if inside else None
    mapped = {}
    if MAP_FILE in recording.attachments:
        mapped = yaml.safe_load(recording.attachment(MAP_FILE))
    return recorded_log(recording, robot), robot, mapped, recording.metadata.get(IMPORT_NOTE, {})


def _model(path: Path) -> list[Finding]:
    """Of a robot's file: bodies, limits, meshes; its regressor is held against inverse dynamics as it is read."""
    found: list[Finding] = []
    if path.suffix.lower() in ROBOTS:
        config = load_robot(path)
        for doubt in check_limits(config):
            where, _, text = doubt.removeprefix(f"{path}: ").partition(": ")
            found.append(
                Finding(
                    "model_limits",
                    "serious",
                    where,
                    text,
                    "motion is planned by these limits",
                    "correct the one that is wrong",
                    None,
                    50.0,
                )
            )
        robot = Robot.from_config(config)
        meshes = [] if config.model is None else check_meshes(config.model_file)
    else:
        robot, meshes = Robot.load(path), check_meshes(path)
    found += [*check_bodies(robot), *check_limits_of(robot), *meshes]
    return sorted(found, key=lambda one: one.rank)


def _write_fix(path: Path, fix: dict[str, Any], file: Path, mapped: Any, log: Log | None) -> str | None:
    """The map with all fixes merged into it, written; None, and nothing written, where there is none."""
    if not fix:
        return None
    if mapped and log is not None:
        columns = {key: part["columns"] for key, part in mapped.items() if key in SIGNALS}
        if is_foreign(file):
            columns = own_columns(ImportMap.of(mapped), open_file(file).tables)
        elif any(len(columns[key]) != len(log.joints) for key in columns if "columns" in fix.get(key, {})):
            raise ConfigError(f"--fix {path}: {file} was made of arrays; check the file that it was made of")
        fix, mapped = of_map(fix, mapped, log.joints, columns)
    text = yaml.safe_dump(merged(mapped, fix), sort_keys=False, default_flow_style=None)
    return str(write_whole(path, text.encode()))
