"""The datasets of a recording for a use; of a long session several, each of a section, for the sake of memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heft.daq.recording import Recording, Segment
from heft.identify.data.dataset import Dataset
from heft.identify.data.motion import LEAST_TRAVEL
from heft.identify.data.recorded_signals import IDENTIFICATION, VALIDATION
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["AROUND_NS", "IDENTIFICATION", "VALIDATION", "datasets_of", "sections"]

#: Data that are held in memory at once [ns of session], and read around them to place their edges.
SECTION_NS = 120_000_000_000
AROUND_NS = 1_000_000_000


def datasets_of(recording: Recording, robot: Robot, use: str | None) -> list[Dataset]:
    """A recording's data for a use, known by its file's name alone: where it lies is no part of the answer.

    Of a long session it is several, on disk and on one axis of time.
    """
    path = recording.path
    parts = sections(recording.segments, use or IDENTIFICATION)
    known: dict[str, Any] = {
        "source": path.name,
        "part_of": recording.digest,
        "drift_from_s": _drift_from(recording.segments, parts),
    }
    if len(parts) <= 1:
        return [replace(Dataset.from_recording(recording, robot, use), **known)]
    datasets: list[Dataset] = []
    refused: list[str] = []
    for start_ns, end_ns in parts:
        try:
            data = Dataset.from_recording(recording.part(start_ns, end_ns, AROUND_NS), robot, use)
            travel = float(np.ptp(data.q, axis=0).max())
            if travel < LEAST_TRAVEL:
                raise DataError(f"{path}: no joint moves more than {travel:.2g} rad")
        except DataError as exc:
            refused.append(str(exc))
        else:
            since_s = (start_ns - parts[0][0]) * 1e-9
            datasets.append(replace(data, t=since_s + data.t, **known).on_disk())
    if not datasets:
        raise DataError(refused[0])
    if refused:
        note = f"{len(refused)} of {len(parts)} sections of the session are not used: {refused[0]}"
        datasets[0] = replace(datasets[0], notes=(*datasets[0].notes, note))
    return datasets


def _drift_from(segments: Sequence[Segment], parts: Sequence[tuple[int, int]]) -> float | None:
    """The middle of all that is for identification, on the time that begins with the first part [s]; None: no such."""
    used = [(one.start_ns, one.end_ns) for one in segments if one.use == IDENTIFICATION]
    if not used or not parts:
        return None
    return ((min(start for start, _ in used) + max(end for _, end in used)) / 2 - parts[0][0]) * 1e-9


def sections(segments: Sequence[Segment], use: str) -> list[tuple[int, int]]:
    """Host times [ns] from and to, of the segments for a use: cut evenly where they are longer than a section."""
    parts = []
    for segment in segments:
        if segment.use == use:
            count = max(1, -(-(segment.end_ns - segment.start_ns) // SECTION_NS))
            edges = [
                segment.start_ns + i * (segment.end_ns - segment.start_ns) // count for i in range(count + 1)
            ]
            parts += list(itertools.pairwise(edges))
    whole = sum(end_ns - start_ns for start_ns, end_ns in parts)
    return parts if whole > SECTION_NS else parts[:1]
