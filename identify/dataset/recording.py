"""A dataset from a recording: each stream by its own clock, on the instants of the positions.

No delay is taken out here: `identify.alignment` finds what is left of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daq.recording import Recording
from drivers.stream import Role, Stream
from identify.arrays import Array
from identify.dataset.bridging import bridged
from identify.dataset.dataset import Dataset
from identify.dataset.resampling import at_instants
from identify.dataset.stream_series import Series, read_series
from identify.errors import DataError

if TYPE_CHECKING:
    from identify.robot import Robot

__all__ = ["read_recording"]

IDENTIFICATION = "identification"
MOST_LOST = 0.5  # of a segment: with less than this nothing is identified
SAID_LOST = 0.001
WRENCH_BRIDGED_S = 0.02
LATE_S = 0.5  # by which a stream may begin after its segment or end before it without a word


def read_recording(recording: Recording, robot: Robot, use: str | None) -> Dataset:
    """Positions and torques of the parts of a session meant for `use` (None: identification, or all of it).

    Torque is measured as such, or current times gear and torque constant. Positions come from the device that also
    tells of torque, where it tells of both: one clock. Invalid samples are left out.
    """
    path = recording.path
    torque = _find(recording, robot, ("torque", "current"), None)
    motion = _find(recording, robot, ("position",), torque[0].device)
    intervals, notes = _intervals(recording, use)
    q, tau = (
        read_series(recording, stream, [f"{joint}.{quantity}" for joint in robot.joints])
        for stream, quantity in (motion, torque)
    )
    inside = np.zeros(len(q.t), dtype=bool)
    for start, end in intervals:
        inside |= (q.t >= start) & (q.t < end)
    values = robot.torque_from_current(tau.values) if torque[1] == "current" else tau.values
    torques, near = at_instants(q.t, tau.t, values)
    rows = near & inside
    if not rows.any():
        raise DataError(
            f"{path}: no sample of {q.name} and {tau.name} for {use or IDENTIFICATION}; was a device off?"
        )
    t = q.t[rows]
    force, refused = _wrench(recording)
    series = [q, tau, *([] if force is None else [force])]
    notes += [*dict.fromkeys(note for one in series for note in one.notes), *refused]
    notes += [*_losses(path, intervals, q, tau, t), *_endings(intervals, series)]
    removed = {f"{one.name}: {why}": n for one in series for why, n in one.removed.items() if n}
    removed |= {"outside the segments": int((~inside).sum()), "without torque": int((inside & ~near).sum())}
    return Dataset(
        t - t[0],
        q.values[rows],
        torques[rows],
        wrench=None if force is None else _at(t, force),
        source=str(path),
        notes=tuple(notes),
        torque_stream=tau.name,
        motion_stream=q.name,
        wrench_stream="" if force is None else force.name,
        removed=removed,
        sent={one.name: one.sent for one in series},
    )


def _find(
    recording: Recording, robot: Robot, quantities: tuple[str, ...], device: str | None
) -> tuple[Stream, str]:
    """The measured stream that has one of these quantities for every joint; of `device` rather than of another."""
    found = []
    for quantity in quantities:
        for stream in recording.streams.values():
            has = {column.of for column in stream.columns if column.quantity == quantity}
            if stream.role == Role.MEASURED and has >= set(robot.joints):
                found.append((stream, quantity))
    if not found:
        known = ", ".join(recording.streams)
        raise DataError(
            f"{recording.path}: no stream with {' or '.join(quantities)} of all joints ({', '.join(robot.joints)}); "
            f"it has {known}: is this the right robot?"
        )
    return min(found, key=lambda item: item[0].device != device)


def _wrench(recording: Recording) -> tuple[Series | None, list[str]]:
    """The wrist's wrench, None without a sensor; and why one was refused."""
    names = [f"{axis}.{quantity}" for quantity in ("force", "torque") for axis in "xyz"]
    refused: list[str] = []
    for stream in recording.streams.values():
        if stream.role == Role.MEASURED and {column.name for column in stream.columns} >= set(names):
            try:
                return read_series(recording, stream, names), refused
            except DataError as exc:
                refused.append(f"{stream.name} is not used: {exc}")
    return None, refused


def _at(t: Array, force: Series) -> Array:
    """The wrench at other instants t [s] (N,): (N, 6), NaN where it is not known."""
    same = Dataset(force.t, force.values, force.values)  # its gaps are bridged like those of positions
    whole, _ = bridged(same, WRENCH_BRIDGED_S)
    values, near = at_instants(t, whole.t, whole.q)
    return np.where(near[:, None], values, np.nan)


def _intervals(recording: Recording, use: str | None) -> tuple[list[tuple[float, float]], list[str]]:
    """Host times [s] of the segments for a use."""
    wanted = use or IDENTIFICATION
    found = [(s.start_ns * 1e-9, s.end_ns * 1e-9) for s in recording.segments if s.use == wanted]
    if found:
        return found, []
    if use is not None:
        has = ", ".join(sorted({segment.use for segment in recording.segments})) or "none"
        raise DataError(f"{recording.path}: no segment for {use}; its segments are for: {has}")
    return [(-np.inf, np.inf)], ["the recording has no segment for identification: all of it is used"]


def _losses(
    path: Path, intervals: list[tuple[float, float]], q: Series, tau: Series, used: Array
) -> list[str]:
    """What is missing of the segments, refused where it is too much."""
    notes = []
    first, last = min(q.t[0], tau.t[0]), max(q.t[-1], tau.t[-1])
    expected = sum(min(end, last) - max(start, first) for start, end in intervals) * q.rate_hz
    whole = sum(end - start for start, end in intervals) * q.rate_hz
    if np.isfinite(whole):
        expected = whole
    share = 1 - len(used) / max(expected, 1.0)
    if share > MOST_LOST:
        raise DataError(
            f"{path}: {100 * share:.0f} % of the samples of {q.name} with {tau.name} are missing or invalid, at most "
            f"{100 * MOST_LOST:.0f} % may be; record again on a better line"
        )
    if share > SAID_LOST:
        notes.append(
            f"{100 * share:.1f} % of the samples are missing or invalid: short gaps are bridged, others cut out"
        )
    return notes


def _endings(intervals: list[tuple[float, float]], series: list[Series]) -> list[str]:
    """Streams that begin after a segment does, or end before it."""
    notes = []
    for one in series:
        for start, end in intervals:
            early, late = end - one.t[-1], one.t[0] - start
            if np.isfinite(end) and early > LATE_S and one.t[-1] > start:
                notes.append(
                    f"{one.name} ends {early:.1f} s before its segment does: what came until then is used"
                )
            if np.isfinite(start) and late > LATE_S and one.t[0] < end:
                notes.append(f"{one.name} begins {late:.1f} s after its segment does: what came then is used")
    return notes
