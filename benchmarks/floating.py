"""Robots with a free base and data of them: what `large.py` measures on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heft.identify import Dataset, Robot
from heft.identify.bodies import transform

Array = NDArray[np.float64]
AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
HUMANOID = Path(__file__).parents[1] / "configs" / "robots" / "humanoid.yaml"
RATE_HZ = 200.0
FORCE_NOISE, TORQUE_NOISE = 0.5, 0.02  # [N, N m] per sample
GYRO_NOISE, FORCE_FELT = 2e-3, 2e-2  # [rad/s, m/s2] per sample, of an IMU on a chip
ENCODER = 1e-5  # [rad]


@dataclass(frozen=True)
class Motion:
    """Joints (T, n) and the root's motion (T, 9) as the regressor wants it."""

    t: Array
    q: Array
    dq: Array
    ddq: Array
    root: Array


def series(rng: np.random.Generator, t: Array, count: int, size: Array | float) -> tuple[Array, Array, Array]:
    """Sums of ten sines of 0.1 to 1 Hz with random phases, and their derivatives, (T, count) each."""
    value, first, second = (np.zeros((len(t), count)) for _ in range(3))
    for k in range(1, 11):
        turn = 2 * np.pi * 0.1 * k
        phase = turn * t[:, None] + rng.uniform(0, 2 * np.pi, count)
        part = size * rng.normal(size=count) / np.sqrt(10)
        value += part * np.sin(phase)
        first += part * turn * np.cos(phase)
        second -= part * turn**2 * np.sin(phase)
    return value, first, second


def swing(robot: Robot, seconds: float, seed: int, tilt: float = 0.25) -> Motion:
    """All joints about the middles of their ranges, and a root that hangs: it turns and moves."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1 / RATE_HZ)
    assert robot.limits is not None
    low, high = np.clip(robot.limits.position, -2.0, 2.0).T
    q, dq, ddq = series(rng, t, len(robot.joints), 0.3 * (high - low))
    angle, rate, turning = series(rng, t, 3, tilt)
    _, _, push = series(rng, t, 3, 0.05)
    roll, pitch, yaw = angle.T
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(one), np.sin(one)) for one in (roll, pitch, yaw))
    to_world = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    ).transpose(2, 0, 1)
    zero, one = np.zeros_like(roll), np.ones_like(roll)
    E = np.array([[one, zero, -sp], [zero, cr, sr * cp], [zero, -sr, cr * cp]]).transpose(2, 0, 1)
    dr, dp, _ = rate.T
    dE = np.array(
        [
            [zero, zero, -cp * dp],
            [zero, -sr * dr, cr * dr * cp - sr * sp * dp],
            [zero, -cr * dr, -sr * dr * cp - cr * sp * dp],
        ]
    ).transpose(2, 0, 1)
    spin = (E @ rate[:, :, None])[:, :, 0]
    change = (E @ turning[:, :, None] + dE @ rate[:, :, None])[:, :, 0]
    felt = (np.swapaxes(to_world, 1, 2) @ (push - robot.gravity)[:, :, None])[:, :, 0]
    return Motion(t, (low + high) / 2 + q, dq, ddq, np.concatenate([spin, change, felt], axis=1))


def drawn(robot: Robot, seed: int, size: float = 0.1) -> Array:
    """Links' ten numbers (10 links,) of a true robot: as far from the file's as a spread of `size` says."""
    rng = np.random.default_rng(1000 + seed)
    count = len(robot.links)
    assert robot.prior is not None
    links = robot.prior[: 10 * count].reshape(count, 10).copy()
    for i, link in enumerate(robot.links):
        half = np.ptp(robot.extents[link], axis=0) / 2
        links[i] = transform(
            links[i] * np.exp(2 * size * rng.normal()), np.eye(3), 0.4 * size * half * rng.normal(size=3)
        )
    return links.ravel()


def recorded(robot: Robot, motion: Motion, links: Array, sources: tuple[str, ...], seed: int) -> Dataset:
    """What the sensors `sources` and an IMU (or a given motion, where the robot has none) tell, with noise and bias."""
    rng = np.random.default_rng(2000 + seed)
    bare = robot.measuring(sources)
    parameters = np.zeros(len(bare.parameter_names))
    parameters[: len(links)] = links
    rows = bare.regressor.torque(motion.q, motion.dq, motion.ddq, parameters, motion.root)
    noise = np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)
    wrenches = {}
    for name in sources:
        ideal = rows[:, [bare.rows.index(f"{name}.{axis}") for axis in AXES]]
        own = np.random.default_rng(3000 + sources.index(name))  # of the sensor, the same in every motion
        bias = 0.0 if name == "base" else own.normal(size=6) * np.array([2.0] * 3 + [0.2] * 3)
        wrenches[name] = ideal + bias + noise * rng.normal(size=ideal.shape)
    rate, turning, felt = np.split(motion.root, 3, axis=1)
    place = next(iter(robot.imus.values()))[1]
    turn, lever = place[:3, :3], place[:3, 3]
    force = felt + np.cross(turning, lever) + np.cross(rate, np.cross(rate, lever))
    imu = np.concatenate([rate @ turn, force @ turn], axis=1)
    imu += rng.normal(size=imu.shape) * np.array([GYRO_NOISE] * 3 + [FORCE_FELT] * 3)
    positions = motion.q + ENCODER * rng.normal(size=motion.q.shape)
    return Dataset.from_arrays(motion.t, positions, wrenches=wrenches, imu={next(iter(robot.imus)): imu})


def tree_file(links: int, path: Path) -> Path:
    """An MJCF robot of `links` links: a root with limbs of seven links each, of even boxes."""
    body = '<body name="{0}" pos="{1}"><joint name="{0}_joint" axis="{2}" range="-1.5 1.5"/>{3}'
    inertial = '<inertial mass="{}" pos="0.01 0.005 -0.06" fullinertia="{} {} {} 1e-4 1e-4 -1e-4"/>'
    text = inertial.format(10, 0.3, 0.25, 0.2) + '<site name="imu" pos="0.05 0 0.1"/>'
    left, limb = links - 1, 0
    while left > 0:
        count = min(7, left)
        for k in range(count):
            axis = ("0 1 0", "1 0 0", "0 0 1")[k % 3]
            place = f"{0.05 * limb - 0.1} {0.1 * (-1) ** limb} 0" if k == 0 else "0.01 0 -0.12"
            mass = 2.0 / (1 + k)
            text += body.format(f"limb{limb}_{k}", place, axis, inertial.format(mass, *[0.006 * mass] * 3))
        text += "</body>" * count
        left, limb = left - count, limb + 1
    path.write_text(
        '<mujoco model="tree"><compiler angle="radian"/><worldbody><body name="root"><freejoint/>'
        f"{text}</body></worldbody></mujoco>"
    )
    return path
