"""Encoders on the links against those on the motors: how far joints bend, and how stiff they are.

    link - motor = offset - torque / stiffness - delay * velocity

with `torque` what goes through the joint: the motor's, less what the robot's file says of its rotor and friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot

__all__ = ["Deflection", "compare", "follows"]

FOLLOWS = 0.5  # of a joint's motion: encoders that differ by more do not measure the same joint
STILL = 0.01  # [rad, m]: of a joint that stands, this says nothing
BLOCKS = 10  # of time, each with an own estimate: their scatter is the uncertainty
SMOOTH_S = 0.02  # torques are averaged over, so that their noise does not flatten the slope
CERTAIN = 2.0  # standard deviations from zero, beyond which a slope is one


@dataclass(frozen=True)
class Deflection:
    """Per joint with an encoder on its link: position of the link less that of the motor [rad, m].

    joints          names, m of them
    stream, motors  what measured the links, and the motors
    delay_s         how old positions of the links are against those of the motors [s]; it is taken out
    offset          between the zeros, without load
    rms, largest    of the deflection, zeros taken out
    stiffness       [N m/rad, N/m]: torque over deflection; infinite where none is seen
    stiffness_std   its standard deviation
    """

    joints: tuple[str, ...]
    stream: str
    motors: str
    delay_s: float
    offset: tuple[float, ...]
    rms: tuple[float, ...]
    largest: tuple[float, ...]
    stiffness: tuple[float, ...]
    stiffness_std: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what is infinite is null."""
        return {
            key: [None if not np.isfinite(x) else x for x in value]
            if key in ("stiffness", "stiffness_std")
            else list(value)
            if isinstance(value, tuple)
            else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        for key in ("stiffness", "stiffness_std"):
            values[key] = tuple(np.inf if x is None else x for x in values[key])
        return cls(**values)


def compare(
    robot: Robot,
    places: Sequence[int],
    t: Array,
    link: Array,
    motor: Array,
    torque: Array,
    *,
    stream: str,
    motors: str,
) -> Deflection:
    """How links and motors differ.

    t        [s], increasing, shape (N,)
    link     positions of the joints at `places` [rad, m], shape (N, m)
    motor    positions of the motors as those of all joints [rad, m], shape (N, n)
    torque   of the motors on all joints [N m, N], shape (N, n)
    """
    places = list(places)
    speed = np.gradient(motor, t, axis=0)
    taken = _drive_torque(robot, places, speed, np.gradient(speed, t, axis=0))
    through = _smooth(t, torque[:, places] - taken)
    velocity, apart = speed[:, places], link - motor[:, places]
    blocks = np.array_split(np.arange(len(t)), BLOCKS)
    m = len(places)
    offset, slope, lag = np.zeros(m), np.zeros(m), np.zeros(m)
    slope_std, lag_std = np.full(m, np.inf), np.full(m, np.inf)
    for j in range(m):
        columns = np.stack([np.ones(len(t)), -through[:, j], -velocity[:, j]], axis=1)
        offset[j], slope[j], lag[j] = np.linalg.lstsq(columns, apart[:, j], rcond=None)[0]
        parts = np.array([np.linalg.lstsq(columns[b], apart[b, j], rcond=None)[0] for b in blocks])
        _, slope_std[j], lag_std[j] = parts.std(axis=0, ddof=1) / np.sqrt(len(parts))
    delay_s = _weighted_median(lag, 1.0 / np.maximum(lag_std, 1e-9) ** 2)
    bent = apart - offset + delay_s * velocity
    seen = slope > CERTAIN * slope_std
    stiffness = np.where(seen, 1.0 / np.where(seen, slope, 1.0), np.inf)
    slope = np.where(seen, slope, np.inf)
    return Deflection(
        joints=tuple(robot.joints[place] for place in places),
        stream=stream,
        motors=motors,
        delay_s=delay_s,
        offset=tuple(offset.tolist()),
        rms=tuple(np.sqrt((bent**2).mean(axis=0)).tolist()),
        largest=tuple(np.abs(bent).max(axis=0).tolist()),
        stiffness=tuple(stiffness.tolist()),
        stiffness_std=tuple(np.where(seen, slope_std / slope**2, np.inf).tolist()),
    )


def follows(link: Array, motor: Array) -> NDArray[np.bool_]:
    """Which links move with their motors, shape (m,), from positions [rad, m], shape (N, m) each."""
    apart, moved = (link - motor).std(axis=0), motor.std(axis=0)
    return np.asarray(apart <= np.maximum(FOLLOWS * moved, STILL))


def _drive_torque(robot: Robot, places: Sequence[int], velocity: Array, acceleration: Array) -> Array:
    """What rotors and friction take of the torque on some joints, by the robot's file [N m, N], shape (N, m).

    velocity, acceleration   of the motors as those of all joints, shape (N, n)
    """
    torque = np.zeros((len(velocity), len(places)))
    if robot.prior is None:
        return torque
    known = dict(zip(robot.parameter_names, robot.prior, strict=True))
    signals = robot.drives.signals(velocity.T, acceleration.T)
    for j, place in enumerate(places):
        for column in robot.drives.columns(place):
            if not column.by_load and not column.parameter.endswith(".offset"):
                torque[:, j] += column.weight * known[column.parameter] * signals[column.signal]
    return torque


def _smooth(t: Array, values: Array) -> Array:
    """Moving average over about `SMOOTH_S`, shape as values."""
    reach = max(1, round(SMOOTH_S / float(np.median(np.diff(t)))))
    if len(t) <= reach:
        return values
    window = np.ones(reach) / reach
    weight = np.convolve(np.ones(len(t)), window, "same")
    return np.stack([np.convolve(column, window, "same") / weight for column in values.T], axis=1)


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, 0.5 * share[-1])])
