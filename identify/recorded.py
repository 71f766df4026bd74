"""Identification of recordings: what `heft identify`, `heft run` and the worker all do, by the same code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from identify.errors import DataError

if TYPE_CHECKING:
    from identify.consistency import Level
    from identify.result import Result
    from identify.robot import Robot

__all__ = ["identify_recordings", "robot_of"]

#: Folder of a recording's attachments that hold the session's configuration, and the robot's file in it.
CONFIGURATION = "configuration/"
ROBOT_FILE = CONFIGURATION + "robot.yaml"


def identify_recordings(
    files: Sequence[Path],
    *,
    robot: Robot | None = None,
    method: str = "sdp",
    level: Level = "full",
    validate: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Fit the segments marked for identification; validate on those marked for validation, or on another file.

    robot   None: the one that travels inside the first recording
    """
    from daq.recording import Recording
    from identify.dataset import Dataset
    from identify.fit import fit

    robot = robot_of(files[0]) if robot is None else robot
    data = [Dataset.from_recording(file, robot, "identification") for file in files]
    if validate is not None:
        unseen = [Dataset.from_recording(validate, robot)]
    else:
        marked = [f for f in files if any(s.use == "validation" for s in Recording.open(f).segments)]
        unseen = [Dataset.from_recording(file, robot, "validation") for file in marked]
    return fit(robot, data, method, level, validate=unseen or None, progress=progress)


def robot_of(file: Path) -> Robot:
    """The robot that travels inside a recording."""
    from daq.recording import Recording
    from identify.robot import Robot

    recording = Recording.open(file)
    if ROBOT_FILE not in recording.attachments:
        raise DataError(f"{file}: no robot inside; name its file (--robot ROBOT.yaml)")
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        for name in recording.attachments:
            if name.startswith(CONFIGURATION):
                (Path(folder) / Path(name).name).write_bytes(recording.attachment(name))
        return Robot.load(Path(folder) / Path(ROBOT_FILE).name)
