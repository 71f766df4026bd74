"""Files of other tools into recordings: opened, mapped, given their robot, written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from heft.daq.errors import ConfigError
from heft.daq.importing.guessing.guess import guess, require
from heft.daq.importing.guessing.guessed import Guess, RobotFacts
from heft.daq.importing.import_map import ImportMap, merged, read_map
from heft.daq.importing.open_file import is_foreign, is_recording, open_file
from heft.daq.importing.table import Source
from heft.daq.importing.write import IMPORT_NOTE, Imported, stem_among, write_recording
from heft.daq.recording import Recording
from heft.identify.data.recorded_robot import ROBOT_JSON
from heft.identify.robot import Robot
from heft.identify.robot.model_file import tied_joints
from heft.identify.robot.model_text import MODEL_SUFFIXES
from heft.viewing import viewer_of

__all__ = ["HELD_BACK", "Import", "describe_import", "import_files", "recording_of"]

#: Share of a lone file that `heft identify` holds back to validate on, where nothing else is given for that.
HELD_BACK = 1 / 3
#: Copies for viewers in an imported recording, at most [Hz]: its numbers are there anyway.
VIEWER_HZ = 100.0
#: Joints of a hand, by their names.
HAND = re.compile(r"grip|finger|hand|knuckle|thumb|jaw", re.IGNORECASE)


@dataclass(frozen=True)
class Import:
    """What was done: the recording (None: only looked at), the whole map, the reasons, the robot, what was written."""

    path: Path | None
    map: dict[str, Any]
    guess: Guess
    robot: Robot | None
    locked: tuple[str, ...]
    written: Imported
    oddities: tuple[str, ...] = ()  # what the first file holds beside columns of numbers

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "recording": None if self.path is None else str(self.path),
            "map": self.map,
            "columns": [one.to_dict() for one in self.guess.columns],
            "robot": None if self.robot is None else self.robot.name,
            "locked": list(self.locked),
            "not_read": list(self.oddities),
            **self.written.to_dict(),
        }


def import_files(
    files: Sequence[Path],
    into: Path | None,
    *,
    robot: Path | None = None,
    map_file: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    validate: Sequence[Path] = (),
    hold_back: float = 0.0,
    replace_file: bool = False,
    viewer: bool = True,
) -> Import:
    """Files of one layout as one recording; `into` None: only the map is made.

    robot     YAML, URDF or MJCF; it travels inside. Joints of a URDF or MJCF that the files lack are held at zero
    map_file  a map, whole or in part, over what is guessed; `changes` over that
    validate  further files, to validate on
    """
    every = [file.resolve() for file in (*files, *validate)]
    twice = next((file for file in every if every.count(file) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice}: is given twice; a file is to fit or to validate on")
    known, tied = _loaded(robot)
    sources = [_opened(file) for file in (*files, *validate)]
    found = _guessed(sources[0], known)
    data = found.map
    for change in (None if map_file is None else read_map(map_file), changes):
        data = merged(data, change or {})
    if validate:
        names = [file.name for file in (*files, *validate)]
        given = [
            {"file": file.name if names.count(file.name) == 1 else str(file), "use": "validate"}
            for file in validate
        ]
        data = merged(data, {"segments": [*given, *data.get("segments", [])]})
    require(data, str(files[0]), [*found.notes, *sources[0].oddities])
    mapped, odd = ImportMap.of(data), tuple(sources[0].oddities)
    known, locked = _with_joints(robot, known, mapped, tied)
    if known is not None and mapped.robot.gravity is not None:
        known = replace(known, tree=replace(known.tree, gravity=np.array(mapped.robot.gravity)))
    if into is None:
        return Import(None, mapped.to_dict(), found, known, locked, Imported(), odd)
    attachments = {} if known is None else {ROBOT_JSON: json.dumps(known.to_dict()).encode()}
    if robot is not None:
        attachments[f"import/{robot.name}"] = robot.read_bytes()
    written = write_recording(
        into,
        sources,
        mapped,
        hold_back=hold_back,
        attachments=attachments,
        reasons=[one.to_dict() for one in found.columns],
        replace=replace_file,
        viewer=viewer_of(known, copies=viewer, most_hz=VIEWER_HZ),
    )
    return Import(into, mapped.to_dict(), found, known, locked, written, odd)


def recording_of(
    file: Path,
    out: Path,
    *,
    among: Sequence[Path] = (),
    robot: Path | None = None,
    map_file: Path | None = None,
    hold_back: float = 0.0,
    console: Console | None = None,
) -> Path:
    """The recording of a file: itself where it is one, else what it is imported to in the folder `out`.

    A recording that an earlier import has left there is replaced; any other file of that name is not.

    among     all files of this command: the recordings of those whose names are alike have more of their paths
    map_file  `ConfigError` where there is nothing to import
    """
    if not is_foreign(file):
        if map_file is not None and not any(is_foreign(one) for one in among):
            raise ConfigError(
                f"--map {map_file}: {file} is a recording of Heft, whose columns are known; a map is of files that are "
                "imported"
            )
        return file
    into = out / f"{stem_among(file, among)}.imported.mcap"
    if into.exists() and not _imported(into):
        raise ConfigError(
            f"{into}: is there already, and no import made it; move it away, or choose another --out"
        )
    done = import_files([file], into, robot=robot, map_file=map_file, hold_back=hold_back, replace_file=True)
    if console is not None:
        describe_import(done, console)
    return into


def describe_import(done: Import, console: Console) -> None:
    """The columns with their meanings and reasons, what was left out, and what was written."""
    table = Table("column", "meaning", "unit", "why", box=None, pad_edge=False)
    for said, alike in groupby(done.guess.columns, key=lambda one: (one.meaning, one.unit, one.reason)):
        names = [one.column for one in alike]
        table.add_row(", ".join(names) if len(names) < 3 else f"{names[0]} ... {names[-1]}", *said)
    console.print(table, markup=False)
    for line in done.oddities:
        console.print(f"not read  {line}", markup=False)
    if done.locked:
        console.print(f"held      {', '.join(done.locked)}: not in the file, held at zero", markup=False)
    for line in done.written.broken:
        console.print(f"skipped   {line}", markup=False)
    dropped = sum(done.written.dropped.values())
    if dropped > len(done.written.broken):
        console.print(f"skipped   {dropped} rows in all", markup=False)
    for line in done.written.notes:
        console.print(f"note      {line}", markup=False)
    for segment in done.written.segments:
        seconds = (segment["end_ns"] - segment["start_ns"]) * 1e-9
        console.print(f"segment   {segment['segment']}: {seconds:.1f} s for {segment['use']}", markup=False)
    if done.path is not None:
        rows = ", ".join(f"{count} rows of {name}" for name, count in done.written.rows.items())
        console.print(f"recording {done.path}: {rows}", markup=False)


def _opened(file: Path) -> Source:
    if file.suffix == ".mcap" and file.is_file() and is_recording(file):
        raise ConfigError(f"{file}: a recording of Heft already; `heft identify` takes it as it is")
    return open_file(file)


def _loaded(path: Path | None) -> tuple[Robot | None, tuple[str, ...]]:
    """A robot's file, and its joints that are held because they move with others: the fingers of a hand."""
    if path is None:
        return None, ()
    tied = tied_joints(path) if path.suffix in MODEL_SUFFIXES else ()
    return Robot.load(path, locked=tied), tied


def _guessed(source: Source, robot: Robot | None) -> Guess:
    """What columns are; where they are too few for all joints, of the arm without its hand."""
    named = getattr(source, "named", True)
    every = () if robot is None else range(len(robot.joints))
    found = guess(source.tables, _facts(robot, every), source.comments, named=named)
    arm = [k for k in every if robot is not None and not HAND.search(robot.joints[k])]
    if "position" not in found.map and 0 < len(arm) < len(every):
        again = guess(source.tables, _facts(robot, arm), source.comments, named=named)
        return again if "position" in again.map else found
    return found


def _facts(robot: Robot | None, joints: Sequence[int]) -> RobotFacts:
    """What a guess may know of some joints of a robot."""
    if robot is None or robot.limits is None:
        return RobotFacts()
    return RobotFacts(
        tuple(robot.joints[k] for k in joints),
        tuple(bool(robot.tree.prismatic[k]) for k in joints),
        np.asarray(robot.limits.position)[list(joints)],
    )


def _with_joints(
    path: Path | None, robot: Robot | None, mapped: ImportMap, tied: tuple[str, ...]
) -> tuple[Robot | None, tuple[str, ...]]:
    """The robot with the joints that the columns are of; `ConfigError` where that cannot be."""
    if robot is None or path is None or mapped.joints is None:
        return robot, tied
    unknown = [joint for joint in mapped.joints if joint not in robot.joints]
    if unknown:
        raise ConfigError(
            f"joints: {unknown[0]!r} is none of the robot's ({', '.join(robot.joints)}); "
            "name them in the map (`joints`)"
        )
    missing = tuple(joint for joint in robot.joints if joint not in mapped.joints)
    if not missing:
        return robot, tied
    if path.suffix not in MODEL_SUFFIXES:
        raise ConfigError(
            f"the file has columns of {len(mapped.joints)} joints, the robot {len(robot.joints)} "
            f"(not {', '.join(missing[:3])}); name those that stand still under `locked` in {path.name}"
        )
    held = (*missing, *tied)
    return Robot.load(path, locked=held), held


def _imported(path: Path) -> bool:
    """Whether a recording was made by an import."""
    try:
        return IMPORT_NOTE in Recording.open(path).metadata
    except (ValueError, OSError):
        return False
