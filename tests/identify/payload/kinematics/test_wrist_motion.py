"""The wrist's motion against differences of its pose, which knows nothing of velocities."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from heft.identify.payload.kinematics.robot_frames import frame_on_link
from heft.identify.payload.kinematics.wrist_motion import wrist_motion
from heft.identify.robot import Robot

ROBOTS = Path(__file__).parents[4] / "configs" / "robots"
STEP_S = 1e-3


@pytest.mark.parametrize("frame", ["sensor", "flange"])
@pytest.mark.parametrize("name", ["wam7", "panda"])
def test_it_is_the_derivative_of_the_pose(name: str, frame: Literal["sensor", "flange"]) -> None:
    robot = Robot.load(ROBOTS / f"{name}.yaml")
    n, rng = len(robot.joints), np.random.default_rng(1)
    size, speed, phase = rng.uniform(0.2, 1.0, n), rng.uniform(0.5, 3.0, n), rng.uniform(0, 6, n)
    t = STEP_S * np.arange(131)  # more than the kernel takes at a time
    angle = speed * t[:, None] + phase
    q, dq, ddq = size * np.sin(angle), size * speed * np.cos(angle), -size * speed**2 * np.sin(angle)
    moved = wrist_motion(robot, q, dq, ddq, frame)

    link, place = frame_on_link(robot, frame)
    poses = np.array([robot.tree.poses(one)[robot.links.index(link)] @ place for one in q])
    R, p = poses[:, :3, :3], poses[:, :3, 3]
    np.testing.assert_allclose(moved.rotation, R, atol=1e-13)
    turned = np.swapaxes(R, 1, 2) @ np.gradient(R, STEP_S, axis=0)  # [w x]
    w = np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=1)
    acceleration = np.diff(p, 2, axis=0) / STEP_S**2
    inner = slice(1, -1)
    np.testing.assert_allclose(moved.angular_velocity[inner], w[inner], atol=1e-4)
    np.testing.assert_allclose(
        moved.angular_acceleration[inner],
        np.gradient(moved.angular_velocity, STEP_S, axis=0)[inner],
        atol=1e-3,
    )
    np.testing.assert_allclose(
        moved.linear_acceleration[inner], np.einsum("tij,ti->tj", R[inner], acceleration), atol=1e-3
    )
