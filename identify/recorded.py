"""Identification of recordings: what `heft identify`, `heft run` and the worker all do, by the same code.

Equal recordings give equal results, to the last bit of every number: whatever their names, however their samples are
cut into Blocks, live, replayed or from the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from identify.blas import one_thread
from identify.errors import DataError

if TYPE_CHECKING:
    from identify.consistency import Level
    from identify.dataset import Dataset
    from identify.result import Result
    from identify.robot import Robot

__all__ = ["identify_recordings", "robot_of"]

#: Folder of a recording's attachments that hold the session's configuration, and the robot's file in it.
CONFIGURATION = "configuration/"
ROBOT_FILE = CONFIGURATION + "robot.yaml"
#: What segments of a session are for.
IDENTIFICATION, VALIDATION = "identification", "validation"


@one_thread()
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
    from identify.fit import fit
    from identify.result.provenance import RecordingOrigin

    robot = robot_of(files[0]) if robot is None else robot
    data = [_dataset(file, robot, IDENTIFICATION) for file in files]
    recordings = [RecordingOrigin.of(file, IDENTIFICATION) for file in files]
    if validate is not None:
        unseen = [_dataset(validate, robot, None)]
        recordings.append(RecordingOrigin.of(validate, VALIDATION))
    else:
        unseen = [_dataset(file, robot, VALIDATION) for file in files if _has(file, VALIDATION)]
    result = fit(robot, data, method, level, validate=unseen or None, progress=progress)
    return replace(result, provenance=replace(result.provenance, recordings=tuple(recordings)))


def _dataset(file: Path, robot: Robot, use: str | None) -> Dataset:
    """Known by the recording's name alone: where it lies, and on which machine, is no part of the answer."""
    from identify.dataset import Dataset

    return replace(Dataset.from_recording(file, robot, use), source=file.name)


def _has(file: Path, use: str) -> bool:
    from daq.recording import Recording

    return any(segment.use == use for segment in Recording.open(file).segments)


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
