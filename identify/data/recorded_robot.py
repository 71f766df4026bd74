"""What travels inside a recording: the robot, and how its session wants to be identified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from heft.daq.bounded_json import bounded_json
from heft.daq.config.robot import load_robot, travel_path
from heft.daq.config.session import load_identify
from heft.daq.errors import RecordingError
from heft.daq.recording import Recording
from heft.daq.temporary import temporary_folder
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["ROBOT_FILE", "ROBOT_JSON", "recorded_settings", "robot_of"]

#: Folder of a recording's attachments that hold the session's configuration, and the robot's file in it.
CONFIGURATION = "configuration/"
ROBOT_FILE = CONFIGURATION + "robot.yaml"
#: A robot as `Robot.to_dict` has it, where the recording is an import and the robot may come from any kind of file.
ROBOT_JSON = CONFIGURATION + "robot.json"
SESSION_FILE = CONFIGURATION + "session.yaml"
MOST_ROBOT = 1 << 26  # bytes of a robot with its model's text


def robot_of(recording: Recording, robot: Robot | None = None) -> Robot:
    """The robot to read a recording as: `robot`, or the one inside it where that is None.

    `robot` goes before what is inside, which need not even be readable then. `DataError` where it goes by another
    name than the one inside: joints of many arms are called alike.
    """
    if ROBOT_FILE not in recording.attachments:
        return _imported_robot(recording) if robot is None else robot
    if robot is None:
        with temporary_folder() as folder:
            return Robot.from_config(load_robot(_unpacked(recording, folder)))
    own = _robot_file(recording).get("name", robot.name)
    if own != robot.name:
        raise DataError(
            f"{recording.path}: recorded on robot {own!r}, but is to be read as {robot.name!r}; use recordings "
            "and files of one robot, or give both the same `name`"
        )
    return robot


def _imported_robot(recording: Recording) -> Robot:
    """The robot that was given when the recording was imported."""
    if ROBOT_JSON not in recording.attachments:
        raise DataError(
            f"{recording.path}: no robot inside; name its file (--robot ROBOT.yaml, a URDF or an MJCF)"
        )
    try:
        data = bounded_json(recording.attachment(ROBOT_JSON), most=MOST_ROBOT)
        return Robot.from_dict(data)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as exc:
        if isinstance(exc, RecordingError):
            raise
        raise DataError(
            f"{recording.path}: the robot inside cannot be read: {exc}; name its file (--robot ROBOT.yaml)"
        ) from exc


def _robot_file(recording: Recording) -> dict[str, Any]:
    """The keys of the robot's file inside; none where it cannot be read."""
    try:
        data = yaml.safe_load(recording.attachment(ROBOT_FILE))
    except (yaml.YAMLError, UnicodeDecodeError, RecordingError):
        return {}
    return data if isinstance(data, dict) else {}


def _unpacked(recording: Recording, folder: Path) -> Path:
    """The robot's file in `folder`, and its model where that file says, but never outside of the folder.

    A recording of an earlier version has the model under its bare name.
    """
    path = folder / Path(ROBOT_FILE).name
    path.write_bytes(recording.attachment(ROBOT_FILE))
    model = _robot_file(recording).get("model")
    if not isinstance(model, str):
        return path
    place = travel_path(model)
    names = (CONFIGURATION + place.as_posix(), CONFIGURATION + place.name)
    held = next((name for name in names if name in recording.attachments), None)
    if held is None or not place.name or (folder / place) == path:
        raise DataError(
            f"{recording.path}: the model {model} of its robot is not inside; "
            "name the robot's file (--robot ROBOT.yaml)"
        )
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_bytes(recording.attachment(held))
    if Path(model) != place:
        text = yaml.safe_dump({**_robot_file(recording), "model": place.as_posix()}, sort_keys=False)
        path.write_text(text, encoding="utf-8")
    return path


def recorded_settings(recording: Recording) -> dict[str, Any]:
    """The section `identify` of the session's file inside a recording; empty where there is none."""
    if SESSION_FILE not in recording.attachments:
        return {}
    with temporary_folder() as folder:
        path = folder / Path(SESSION_FILE).name
        path.write_bytes(recording.attachment(SESSION_FILE))
        return load_identify(path)
