"""Whether the force that a wrist sensor shows in one pose points down: its sign may be turned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.daq.config.robot import RobotConfig
from heft.daq.probe import DeviceProbe, StreamProbe
from heft.drivers.errors import HeftError

__all__ = ["sign_notes"]

_LEAST_N = 2.0  # more than a sensor that was zeroed shows
_WITHIN_DEG = 30.0  # of straight down


def sign_notes(config: RobotConfig, probes: Sequence[DeviceProbe]) -> list[str]:
    """A sentence for each wrist sensor whose force points down where the arm stands; none where that is not known.

    One pose cannot tell a weight from a bias, so the sentence says what it would be otherwise.
    """
    streams = [stream for device in probes for stream in device.streams if stream.last is not None]
    wrenches = [stream for stream in streams if len(stream.stream.indices("force")) == 3]
    q = _positions(config, streams)
    if q is None or config.sensor is None or not wrenches:
        return []
    from heft.identify.payload.kinematics.wrist_motion import wrist_motion
    from heft.identify.robot import Robot

    try:
        robot = Robot.from_config(config)
        still = np.zeros((1, len(q)))
        to_world = wrist_motion(robot, q[None], still, still).rotation[0]
    except HeftError:
        return []  # whoever identifies says so
    down = robot.gravity / np.linalg.norm(robot.gravity)
    notes = []
    for stream in wrenches:
        assert stream.last is not None
        force = to_world @ np.nanmean(stream.last.si[:, stream.stream.indices("force")], axis=0)
        size = float(np.linalg.norm(force))
        if size > _LEAST_N and float(force @ down) > np.cos(np.radians(_WITHIN_DEG)) * size:
            notes.append(
                f"{stream.stream.device}: force points down at rest ({size:.1f} N): set `reaction`, unless the "
                "sensor was "
                "zeroed in another pose or something pulls at it"
            )
    return notes


def _positions(config: RobotConfig, streams: Sequence[StreamProbe]) -> NDArray[np.float64] | None:
    """Last positions of all joints [rad], shape (n,); None: not all of them are measured, or motors are not joints."""
    if config.motors != config.axes:
        return None
    found: dict[str, float] = {}
    for stream in streams:
        assert stream.last is not None
        for place in stream.stream.indices("position").tolist():
            found[stream.stream.columns[place].of] = float(stream.last.si[-1, place])
    q = np.array([found.get(joint, np.nan) for joint in config.axes])
    return q if np.isfinite(q).all() else None
