"""A small robot with a free base, sensors and truth, and data of it by Pinocchio's inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot

AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
WALKER = """<mujoco model="walker">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <inertial mass="8" pos="0.01 0.02 0.1" fullinertia="0.2 0.18 0.1 0.004 -0.003 0.002"/>
      <site name="imu" pos="0.05 -0.02 0.1" quat="0.9238795 0 0.3826834 0"/>
      <site name="hook" pos="0 0.01 0.3"/>
      <body name="left_thigh" pos="0 0.1 -0.1">
        <joint name="left_hip" axis="0 1 0" range="-1 1"/>
        <inertial mass="3" pos="0.01 0 -0.15" fullinertia="0.03 0.03 0.006 0.0005 0.0004 0.0003"/>
        <body name="left_shank" pos="0 0 -0.3">
          <joint name="left_knee" axis="1 0 0" range="-1 1"/>
          <inertial mass="2" pos="0 0.01 -0.12" fullinertia="0.02 0.02 0.003 0.0002 0.0001 0.0003"/>
          <site name="left_sole" pos="0.02 0 -0.3"/>
          <body name="left_boot" pos="0.01 0 -0.2">
            <inertial mass="0.7" pos="0.03 0 -0.05" fullinertia="0.002 0.003 0.002 0 0 0"/>
            <site name="boot_ft"/>
          </body>
        </body>
      </body>
      <body name="right_thigh" pos="0 -0.1 -0.1">
        <joint name="right_hip" axis="0 1 0" range="-1 1"/>
        <inertial mass="3" pos="0.01 0 -0.15" fullinertia="0.03 0.03 0.006 0.0005 0.0004 0.0003"/>
        <body name="right_shank" pos="0 0 -0.3">
          <joint name="right_knee" axis="1 0 0" range="-1 1"/>
          <inertial mass="2" pos="0 -0.01 -0.12" fullinertia="0.02 0.02 0.003 0.0002 0.0001 0.0003"/>
          <site name="right_sole" pos="0.02 0 -0.3"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def walker_file(folder: Path) -> Path:
    path = folder / "walker.xml"
    path.write_text(WALKER)
    return path


def walker(folder: Path, **options: object) -> Robot:
    """The robot with a hook, a sensor above the left boot and an IMU."""
    sensors = {"crane": {"frame": "hook", "contact": True}, "boot": {"frame": "boot_ft"}}
    return Robot.from_mjcf(
        walker_file(folder),
        **{"wrench_sensors": sensors, "imu": {"imu": "imu"}, **options},  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Swing:
    """Motion of a robot and of its root: pose (T, 7), twist and acceleration (T, 6) as Pinocchio has them."""

    t: Array
    q: Array
    dq: Array
    ddq: Array
    pose: Array
    twist: Array
    acceleration: Array

    @property
    def rotation(self) -> Array:
        return np.array([pin.Quaternion(one[3:]).toRotationMatrix() for one in self.pose])

    def root(self, gravity: Array) -> Array:
        """(T, 9): rate, angular acceleration, specific force."""
        proper = self.acceleration[:, :3] + np.cross(self.twist[:, 3:], self.twist[:, :3])
        proper = proper - np.swapaxes(self.rotation, 1, 2) @ gravity
        return np.concatenate([self.twist[:, 3:], self.acceleration[:, 3:], proper], axis=1)

    def imu(self, robot: Robot, name: str = "imu") -> Array:
        """What an ideal IMU measures, (T, 6)."""
        rate, turning, proper = np.split(self.root(robot.gravity), 3, axis=1)
        rotation, lever = robot.imus[name][1][:3, :3], robot.imus[name][1][:3, 3]
        force = proper + np.cross(turning, lever) + np.cross(rate, np.cross(rate, lever))
        return np.concatenate([rate @ rotation, force @ rotation], axis=1)


def swing(joints: int, seconds: float, rate_hz: float = 200.0, seed: int = 0, tilt: float = 0.3) -> Swing:
    """Sines of several frequencies in all joints, and a root that turns and moves by others."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, 1 / rate_hz)

    def series(count: int, size: float) -> tuple[Array, Array, Array]:
        value, first, second = (np.zeros((len(t), count)) for _ in range(3))
        for k in range(1, 6):
            turn = 2 * np.pi * 0.17 * k
            phase = turn * t[:, None] + rng.uniform(0, 2 * np.pi, count)
            part = size * rng.normal(size=count) / k
            value += part * np.sin(phase)
            first += part * turn * np.cos(phase)
            second -= part * turn**2 * np.sin(phase)
        return value, first, second

    q, dq, ddq = series(joints, 0.5)
    place, velocity, push = series(3, 0.05)
    angle, rate, turning = series(3, tilt)  # rotation vector of small angles: exact by the derivative of exp
    pose, twist, acceleration = np.zeros((len(t), 7)), np.zeros((len(t), 6)), np.zeros((len(t), 6))
    step = 1e-5
    for i in range(len(t)):
        before, here, after = (
            pin.exp3(angle[i] + rate[i] * h + turning[i] * h * h / 2) for h in (-step, 0.0, step)
        )
        right = pin.Jexp3(angle[i]) @ rate[i]
        ahead = pin.Jexp3(angle[i] + rate[i] * step + turning[i] * step**2 / 2) @ (
            rate[i] + turning[i] * step
        )
        behind = pin.Jexp3(angle[i] - rate[i] * step + turning[i] * step**2 / 2) @ (
            rate[i] - turning[i] * step
        )
        pose[i] = [*place[i], *pin.Quaternion(here).coeffs()]
        body = here.T @ velocity[i]
        twist[i] = [*body, *right]
        acceleration[i, 3:] = (ahead - behind) / (2 * step)
        acceleration[i, :3] = here.T @ push[i] - np.cross(right, body)
        del before, after
    return Swing(t, q, dq, ddq, pose, twist, acceleration)


def standing(
    robot: Robot,
    sensor: str,
    seconds: float,
    foot: Callable[[Array], Array] | None = None,
    rock: Callable[[Array], Array] | None = None,
    rate_hz: float = 200.0,
    seed: int = 0,
    size: float = 0.25,
) -> Swing:
    """Sines in all joints, and the root where they hold it, the sensor's frame being upright on the ground.

    foot   where that frame is in the world [m], (T, 3) at times (T,); rock: its rotation vector [rad], likewise
    """
    rng = np.random.default_rng(seed)
    t, n, h = np.arange(0, seconds, 1 / rate_hz), len(robot.joints), 1e-3
    assert robot.limits is not None
    low, high = np.clip(robot.limits.position, -1.5, 1.5).T
    part = size * rng.normal(size=(4, n)) * (high - low) / np.arange(2, 6)[:, None]
    phase = rng.uniform(0, 2 * np.pi, (4, n))

    def joints(at: Array) -> Array:
        turns = 2 * np.pi * 0.11 * np.arange(1, 5)[:, None] * at[:, None, None]
        return np.asarray((low + high) / 2 + (part * np.sin(turns + phase)).sum(axis=1))

    place = robot.sensors[sensor].place

    def root(at: Array) -> tuple[Array, Array]:
        turn, position = robot.tree.link_pose(robot.sensors[sensor].link, joints(at).T)
        turn, position = turn @ place[:3, :3], position + turn @ place[:3, 3]
        tilt = np.zeros((len(at), 3)) if rock is None else rock(at)
        upright = np.array([pin.exp3(one) for one in tilt])
        rotation = upright @ np.swapaxes(turn, 1, 2)
        origin = np.zeros((len(at), 3)) if foot is None else foot(at)
        return rotation, origin - (rotation @ position[:, :, None])[:, :, 0]

    def twist(at: Array) -> Array:
        (before, a), (here, _), (after, b) = root(at - h), root(at), root(at + h)
        velocity = (np.swapaxes(here, 1, 2) @ ((b - a) / (2 * h))[:, :, None])[:, :, 0]
        rate = [pin.log3(one.T @ other) / (2 * h) for one, other in zip(before, after, strict=True)]
        return np.hstack([velocity, rate])

    rotation, origin = root(t)
    quaternions = [pin.Quaternion(one).coeffs() for one in rotation]
    q, ahead, behind = joints(t), joints(t + h), joints(t - h)
    return Swing(
        t,
        q,
        (ahead - behind) / (2 * h),
        (ahead - 2 * q + behind) / h**2,
        np.hstack([origin, quaternions]),
        twist(t),
        (twist(t + h) - twist(t - h)) / (2 * h),
    )


def truth_of(robot: Robot, seed: int = 1, size: float = 0.1) -> Array:
    """Links' ten numbers (10 links,): the robot's own, heavier or lighter by some of `size`, and moved a little."""
    from heft.identify.bodies import transform

    rng = np.random.default_rng(seed)
    count = len(robot.links)
    assert robot.prior is not None
    links = robot.prior[: 10 * count].reshape(count, 10).copy()
    for i in range(count):
        links[i] = transform(
            links[i] * np.exp(size * rng.normal()), np.eye(3), 0.1 * size * rng.normal(size=3)
        )
    return links.ravel()


def readings(robot: Robot, motion: Swing, links: Array, sources: tuple[str, ...]) -> dict[str, Array]:
    """Torques (`joints`) and wrenches of sensors without noise and bias, by name."""
    measuring = robot.measuring(("joints", *(name for name in sources if name != "joints")))
    bare = measuring.with_terms(())
    parameters = np.zeros(len(bare.parameter_names))
    parameters[: len(links)] = links
    rows = bare.regressor.torque(
        motion.q, motion.dq, motion.ddq, parameters, motion.root(robot.gravity) if robot.tree.free else None
    )
    found = {"joints": rows[:, : len(robot.joints)]}
    for name in sources:
        if name != "joints":
            found[name] = rows[:, [bare.rows.index(f"{name}.{axis}") for axis in AXES]]
    return found
