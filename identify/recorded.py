"""Identification of recordings: what `heft identify`, `heft run` and the worker all do, by the same code.

Equal recordings give equal results, to the last bit of every number: whatever their names, however their samples are
cut into Blocks, live, replayed or from the file.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from identify.blas import one_thread
from identify.errors import DataError, ModelError

if TYPE_CHECKING:
    from daq.recording import Segment
    from identify.consistency import Level
    from identify.dataset import Dataset
    from identify.result import Result
    from identify.result.provenance import RecordingOrigin
    from identify.robot import Robot

__all__ = ["check_robot", "datasets_of", "identify_recordings", "robot_of", "sections"]

#: Folder of a recording's attachments that hold the session's configuration, and the robot's file in it.
CONFIGURATION = "configuration/"
ROBOT_FILE = CONFIGURATION + "robot.yaml"
#: What segments of a session are for.
IDENTIFICATION, VALIDATION = "identification", "validation"
#: Data that are held in memory at once [ns of session], and read around them to place their edges.
SECTION_NS = 120_000_000_000
AROUND_NS = 1_000_000_000


@one_thread()
def identify_recordings(
    files: Sequence[Path],
    *,
    robot: Robot | None = None,
    method: str = "sdp",
    level: Level = "full",
    validate: Path | None = None,
    progress: Callable[[float], None] | None = None,
    bootstrap: int = 0,
    replicating: Callable[[float], None] | None = None,
) -> Result:
    """Fit the segments marked for identification; validate on those marked for validation, or on another file.

    robot       None: the one that travels inside the first recording
    bootstrap   replicates that check the intervals, and `replicating` the share that is done (`identify.fit`)
    """
    from identify.fit import fit
    from identify.result.provenance import RecordingOrigin

    robot = robot_of(files[0]) if robot is None else robot
    for file in [*files, *([] if validate is None else [validate])]:
        check_robot(file, robot)
    data = [part for file in files for part in datasets_of(file, robot, IDENTIFICATION)]
    recordings = [RecordingOrigin.of(file, IDENTIFICATION) for file in files]
    if validate is not None:
        unseen = datasets_of(validate, robot, None)
        recordings.append(RecordingOrigin.of(validate, VALIDATION))
    else:
        marked = [file for file in files if _has(file, VALIDATION)]
        unseen = [part for file in marked for part in datasets_of(file, robot, VALIDATION)]
    _apart(recordings)
    result = fit(
        robot,
        data,
        method,
        level,
        validate=unseen or None,
        progress=progress,
        bootstrap=bootstrap,
        replicating=replicating,
    )
    return replace(result, provenance=replace(result.provenance, recordings=tuple(recordings)))


def _apart(recordings: Sequence[RecordingOrigin]) -> None:
    """`DataError` where the same data are given twice: they would count as two, or as unseen."""
    first: dict[str, RecordingOrigin] = {}
    for one in recordings:
        before = first.setdefault(one.digest, one)
        if before is not one:
            why = "it is no news" if one.use == IDENTIFICATION else "nothing of it is unseen"
            raise DataError(f"{one.name} holds the same data as {before.name}: {why}; give it once")


def datasets_of(file: Path, robot: Robot, use: str | None) -> list[Dataset]:
    """A recording's data for a use, known by its name alone: where it lies is no part of the answer.

    Of a long session it is several, on disk and on one axis of time: it needs no more memory than a short one.
    """
    import numpy as np

    from daq.recording import Recording
    from identify.dataset import Dataset
    from identify.dataset.motion import LEAST_TRAVEL

    recording = Recording.open(file)
    parts = sections(recording.segments, use or IDENTIFICATION)
    if len(parts) <= 1:
        return [replace(Dataset.from_recording(recording, robot, use), source=file.name)]
    found: list[Dataset] = []
    refused: list[str] = []
    for start_ns, end_ns in parts:
        try:
            data = Dataset.from_recording(recording.part(start_ns, end_ns, AROUND_NS), robot, use)
            travel = float(np.ptp(data.q, axis=0).max())
            if travel < LEAST_TRAVEL:
                raise DataError(f"{file}: no joint moves more than {travel:.2g} rad")
        except DataError as exc:
            refused.append(str(exc))
        else:
            since_s = (start_ns - parts[0][0]) * 1e-9
            found.append(replace(data, t=since_s + data.t, source=file.name).on_disk())
    if not found:
        raise DataError(refused[0])
    if refused:
        note = f"{len(refused)} of {len(parts)} sections of the session are not used: {refused[0]}"
        found[0] = replace(found[0], notes=(*found[0].notes, note))
    return found


def sections(segments: Sequence[Segment], use: str) -> list[tuple[int, int]]:
    """Host times [ns] from and to, of the segments for a use: cut evenly where they are longer than a section."""
    found = []
    for segment in segments:
        if segment.use == use:
            count = max(1, -(-(segment.end_ns - segment.start_ns) // SECTION_NS))
            edges = [
                segment.start_ns + i * (segment.end_ns - segment.start_ns) // count for i in range(count + 1)
            ]
            found += list(itertools.pairwise(edges))
    whole = sum(end_ns - start_ns for start_ns, end_ns in found)
    return found if whole > SECTION_NS else found[:1]


def _has(file: Path, use: str) -> bool:
    from daq.recording import Recording

    return any(segment.use == use for segment in Recording.open(file).segments)


def robot_of(file: Path) -> Robot:
    """The robot that travels inside a recording."""
    from identify.robot import Robot

    with _robot_file(file) as path:
        if path is None:
            raise DataError(f"{file}: no robot inside; name its file (--robot ROBOT.yaml)")
        return Robot.load(path)


def check_robot(file: Path, robot: Robot) -> None:
    """`ModelError` where the robot inside a recording goes by another name: joints of many arms are called alike."""
    from daq.config.robot import load_robot

    with _robot_file(file) as path:
        own = robot.name if path is None else load_robot(path).name
    if own != robot.name:
        raise ModelError(
            f"{file}: recorded on robot {own!r}, but is to be read as {robot.name!r}; use recordings and files of one "
            "robot, or give both the same `name`"
        )


@contextmanager
def _robot_file(file: Path) -> Iterator[Path | None]:
    """The robot's file inside a recording, with what it refers to, in a folder of its own; None where there is none."""
    from daq.recording import Recording

    recording = Recording.open(file)
    if ROBOT_FILE not in recording.attachments:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        for name in recording.attachments:
            if name.startswith(CONFIGURATION):
                (Path(folder) / Path(name).name).write_bytes(recording.attachment(name))
        yield Path(folder) / Path(ROBOT_FILE).name
