"""White noise of what is measured of a free base, row by row of the regression: of wrench sensors, and of the IMU that
every row of an instant is made with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import skew
from heft.identify.robot import Robot

__all__ = ["imu_noise", "wrench_noise"]

SHARE = 0.01  # of the weight beyond a sensor, where nothing says what its noise is
LEVER = 0.1  # [m] at which that weight acts: a size of limbs
CUTOFF_HZ = (
    10.0  # of the filter that angular rates are differentiated with: fits of large robots choose 7 to 12 Hz
)


def wrench_noise(robot: Robot, sensors: Mapping[str, tuple[float, float]]) -> Array:
    """Standard deviations of the rows of wrenches, (rows - n,) [N, N m]; a sum of contacts has all their noise.

    sensors   force [N] and torque [N m] by sensor; of others 1 % of the weight beyond them
    """
    assert robot.prior is not None
    mass = robot.prior[: 10 * len(robot.links) : 10]
    weigh = float(np.linalg.norm(robot.gravity))
    parts = []
    for cut in robot.regressor.layout.cuts:
        contacts = [one.name for one in robot.regressor.contacts] if cut.summed else [cut.name]
        weight = SHARE * weigh * float(mass[list(cut.bodies)].sum())
        own = np.array([sensors.get(name, (weight, LEVER * weight)) for name in contacts])
        parts.append(np.repeat(np.linalg.norm(own, axis=0), 3))
    return np.concatenate(parts)


def imu_noise(robot: Robot, q: Array, name: str, gyro: float, accelerometer: float) -> Array:
    """What noise of an IMU adds to the rows of wrenches at posture q (n,), standard deviations (rows - n,).

    gyro, accelerometer   [rad/s], [m/s2]. Differentiated up to a cutoff f, white noise of the rate counts as much as
                          white noise 2 pi f / sqrt(3) times as large of the angular acceleration
    """
    assert robot.prior is not None
    n = len(q)
    link, place = robot.imus[name]
    turn, origin = robot.tree.link_pose(link, q[:, None])
    lever = origin[0] + turn[0] @ place[:3, 3]
    rest = np.concatenate([np.zeros(6), -robot.gravity])
    base = np.vstack([rest, rest + np.eye(9)])
    still = np.zeros((10, n))
    rows = robot.regressor.torque(np.tile(q, (10, 1)), still, still, robot.prior, base)[:, n:]
    by_rate, by_turning, by_moving = np.split((rows[1:] - rows[0]).T, 3, axis=1)
    by_turning = by_turning + by_moving @ skew(lever)  # the root's origin: a - alpha x r
    turning = gyro * 2.0 * np.pi * CUTOFF_HZ / np.sqrt(3.0)
    squares = (by_rate**2).sum(axis=1) * gyro**2 + (by_turning**2).sum(axis=1) * turning**2
    return np.asarray(np.sqrt(squares + (by_moving**2).sum(axis=1) * accelerometer**2))
