"""Positions, torques and the wrench of a recording: each stream by its own clock, on the instants of the positions.

No delay is taken out here: `heft.identify.estimation.alignment` finds what is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data.bridging import Interval
from heft.identify.data.deflection import Deflection
from heft.identify.data.joined_series import JoinedSeries, read_source
from heft.identify.data.link_positions import link_positions
from heft.identify.data.measured_streams import (
    WRENCH,
    JointSource,
    motion_source,
    placed_wrenches,
    temperature_stream,
    torque_source,
    wrench_streams,
)
from heft.identify.data.placed_signals import placed_signals, series_at
from heft.identify.data.resampling import at_instants
from heft.identify.data.stream_series import Series, read_series
from heft.identify.data.temperature import Temperature
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["IDENTIFICATION", "VALIDATION", "RecordedSignals", "recorded_signals"]

#: What segments of a session are for.
IDENTIFICATION, VALIDATION = "identification", "validation"
MOST_LOST = 0.5  # of a segment: with less than this nothing is identified
SAID_LOST = 0.001
FEWEST_WRENCHES = 16  # that are interpolated
LATE_S = 0.5  # by which a stream may begin after its segment or end before it without a word


class RecordedSignals(TypedDict):
    """What a `Dataset` is made of."""

    t: Array
    q: Array
    tau: Array
    wrench: Array | None
    source: str
    notes: tuple[str, ...]
    torque_stream: str
    motion_stream: str
    wrench_stream: str
    removed: Mapping[str, int]
    sent: Mapping[str, int]
    temperature: Temperature | None
    motor: Array | None
    deflection: Deflection | None
    has_torque: bool
    wrenches: Array | None
    wrench_names: tuple[str, ...]
    imu: Array | None
    imu_name: str


def recorded_signals(recording: Recording, robot: Robot, use: str | None) -> RecordedSignals:
    """Positions and torques of the parts of a session meant for `use` (None: identification, or all of it).

    Torque is measured as such, or current times gear and torque constant. Positions come from the devices that also
    tell of torque, where they tell of both: one clock. Motors that move several joints are turned into these. Where
    several devices have a part of the arm each, they are read at the instants of the first. Positions are those of
    encoders on the links, where there are any beside the motors'. Invalid samples are left out. Where no device tells
    of torque, wrenches of six-axis sensors do (`heft.identify.data.placed_signals`).
    """
    path = recording.path
    motion, torque = _joint_sources(recording, robot)
    intervals, notes = _intervals(recording, use)
    q = read_source(recording, motion, robot)
    tau = q if torque is None else read_source(recording, torque, robot)
    inside = np.zeros(len(q.t), dtype=bool)
    for start, end in intervals:
        inside |= (q.t >= start) & (q.t < end)
    if torque is None:
        torques, near = np.zeros_like(q.values), np.ones(len(q.t), dtype=bool)
    else:
        torques, near = at_instants(q.t, tau.t, torque.of_joints(tau.values, robot))
    rows = near & inside
    positions = motion.of_joints(q.values, robot)
    links = link_positions(recording, robot, q.t, positions, torques, rows, q.name)
    if links.positions is not None:
        rows &= links.known
    if not rows.any():
        raise DataError(
            f"{path}: no sample of {q.name} and {tau.name} for {use or IDENTIFICATION}; was a device off?"
        )
    t = q.t[rows]
    force, refused = _wrench(recording, robot)
    placed = placed_signals(recording, robot)
    told = [] if torque is None else tau.parts
    series = [*q.parts, *told, *links.series, *([] if force is None else [force]), *placed.series]
    notes += placed.notes
    notes += [*dict.fromkeys(note for one in series for note in one.notes), *refused, *links.notes]
    if (motion.motors or (torque is not None and torque.motors)) and np.array_equal(
        robot.drives.coupling, np.eye(len(robot.joints))
    ):
        notes.append(
            f"{q.name}, {tau.name} are of motors, and the robot's file has no `coupling`: each is taken for its joint"
        )
    notes += [*_losses(path, intervals, q, tau, t), *_endings(intervals, series)]
    removed = {f"{one.name}: {why}": n for one in series for why, n in one.removed.items() if n}
    removed |= {"outside the segments": int((~inside).sum()), "without torque": int((inside & ~near).sum())}
    if links.positions is not None:
        removed["without a link's position"] = int((inside & near & ~links.known).sum())
    return RecordedSignals(
        t=t - t[0],
        q=(positions if links.positions is None else links.positions)[rows],
        tau=torques[rows],
        wrench=None if force is None else series_at(t, force),
        source=str(path),
        notes=tuple(notes),
        torque_stream=tau.name if torque is not None else "+".join(placed.names),
        motion_stream=q.name,
        wrench_stream="" if force is None else force.name,
        removed=removed,
        sent={one.name: one.sent for one in series},
        temperature=_temperature(recording, robot, t[0]),
        motor=None if links.positions is None else positions[rows],
        deflection=links.deflection,
        has_torque=torque is not None,
        wrenches=placed.wrenches(t),
        wrench_names=placed.names,
        imu=placed.root(t),
        imu_name=placed.imu_name,
    )


def _joint_sources(recording: Recording, robot: Robot) -> tuple[JointSource, JointSource | None]:
    """What measures positions and torques or currents of all joints; no torques where wrenches are measured instead."""
    streams = recording.streams.values()
    torque, motion = torque_source(streams, robot), motion_source(streams, robot)
    instead = bool(placed_wrenches(streams, robot))
    for source, quantity in ((torque, "torque or current"), (motion, "position")):
        if source is None and not (instead and quantity != "position"):
            raise DataError(
                f"{recording.path}: no stream with {quantity} of all joints ({', '.join(robot.joints)}); "
                f"it has {', '.join(recording.streams)}: is this the right robot?"
            )
    assert motion is not None
    return motion, torque


def _wrench(recording: Recording, robot: Robot) -> tuple[Series | None, list[str]]:
    """The wrist's wrench, None without a sensor; and why one was refused."""
    refused: list[str] = []
    placed = placed_wrenches(recording.streams.values(), robot)
    wrist = [one for one in wrench_streams(recording.streams.values()) if one.device not in placed]
    if robot.sensors and robot.sensor is None:
        return None, [
            f"{one.name} is not used: {robot.name}'s file gives {one.device} no place; name it under `wrench_sensors`"
            for one in wrist
        ]
    for stream in wrist:
        try:
            series = read_series(recording, stream, list(WRENCH))
            if len(series.t) < FEWEST_WRENCHES:
                raise DataError(f"{recording.path}: {len(series.t)} samples of it can be used")
            return series, refused
        except DataError as exc:
            refused.append(f"{stream.name} is not used: {exc}")
    return None, refused


def _temperature(recording: Recording, robot: Robot, start_s: float) -> Temperature | None:
    """Of the joints, on a time that begins at host time `start_s` [s]; None where no stream has all of them."""
    stream = temperature_stream(recording.streams.values(), robot)
    if stream is None:
        return None
    try:
        series = read_series(recording, stream, [f"{joint}.temperature" for joint in robot.joints])
    except DataError:  # a part of a recording may hold no two samples of it
        return None
    return Temperature(series.t - start_s, series.values)


def _intervals(recording: Recording, use: str | None) -> tuple[list[Interval], list[str]]:
    """Host times [s] of the segments for a use."""
    wanted = use or IDENTIFICATION
    intervals = [(s.start_ns * 1e-9, s.end_ns * 1e-9) for s in recording.segments if s.use == wanted]
    if intervals:
        return intervals, []
    if use is not None:
        has = ", ".join(sorted({segment.use for segment in recording.segments})) or "none"
        raise DataError(f"{recording.path}: no segment for {use}; its segments are for: {has}")
    return [(-np.inf, np.inf)], ["the recording has no segment for identification: all of it is used"]


def _losses(
    path: Path, intervals: list[Interval], q: JoinedSeries, tau: JoinedSeries, used: Array
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


def _endings(intervals: list[Interval], series: list[Series]) -> list[str]:
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
