"""What travels inside a recording: the robot, and how its session wants to be identified."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from heft.daq.config.robot import load_robot
from heft.daq.config.session import load_identify
from heft.daq.recording import Recording
from heft.identify.errors import DataError, ModelError
from heft.identify.robot import Robot

__all__ = ["recorded_settings", "robot_of"]

#: Folder of a recording's attachments that hold the session's configuration, and the robot's file in it.
CONFIGURATION = "configuration/"
ROBOT_FILE = CONFIGURATION + "robot.yaml"
SESSION_FILE = CONFIGURATION + "session.yaml"


def robot_of(recording: Recording, robot: Robot | None = None) -> Robot:
    """The robot to read a recording as: `robot`, or the one inside it where that is None.

    `ModelError` where `robot` goes by another name than the one inside: joints of many arms are called alike.
    """
    if ROBOT_FILE not in recording.attachments:
        if robot is None:
            raise DataError(f"{recording.path}: no robot inside; name its file (--robot ROBOT.yaml)")
        return robot
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        for name in recording.attachments:
            if name.startswith(CONFIGURATION):
                (Path(folder) / Path(name).name).write_bytes(recording.attachment(name))
        own = load_robot(Path(folder) / Path(ROBOT_FILE).name)
        if robot is None:
            return Robot.from_config(own)
    if own.name != robot.name:
        raise ModelError(
            f"{recording.path}: recorded on robot {own.name!r}, but is to be read as {robot.name!r}; use recordings "
            "and files of one robot, or give both the same `name`"
        )
    return robot


def recorded_settings(recording: Recording) -> dict[str, Any]:
    """The section `identify` of the session's file inside a recording; empty where there is none."""
    if SESSION_FILE not in recording.attachments:
        return {}
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        path = Path(folder) / Path(SESSION_FILE).name
        path.write_bytes(recording.attachment(SESSION_FILE))
        return load_identify(path)
