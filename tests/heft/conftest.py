"""A small arm, and a motion of it as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.identify import Robot

URDF = """<robot name="pendulums"><link name="root"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
  <inertia ixx="0.005" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="finger"><inertial><mass value="0.1"/>
  <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder_joint" type="revolute"><parent link="root"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" velocity="10" effort="100"/></joint>
<joint name="elbow_joint" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="10" effort="100"/></joint>
<joint name="finger_joint" type="prismatic"><parent link="lower"/><child link="finger"/><origin xyz="0.3 0 0"/>
  <axis xyz="0 1 0"/><limit lower="0" upper="0.05" velocity="1" effort="10"/></joint>
<gazebo><plugin filename="x.so" name="x"/></gazebo></robot>"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


@pytest.fixture
def table(urdf: Path) -> Any:
    """Time, positions, velocities, torques of an arm with friction, 20 s at 100 Hz (N, 7)."""
    robot = Robot.load(urdf, locked=["finger_joint"])
    t = np.arange(2000) / 100
    rng = np.random.default_rng(2)
    w, a = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None, None], rng.uniform(-0.2, 0.2, (5, 1, 2))
    p = rng.uniform(0, 6, (5, 1, 2))
    angle = w * t[None, :, None] + p
    q, dq = (a * np.sin(angle)).sum(0), (a * w * np.cos(angle)).sum(0)
    ddq = (-a * w**2 * np.sin(angle)).sum(0)
    prior = dict(zip(robot.parameter_names, robot.prior, strict=True)) | {
        f"{joint}.{term}": value
        for joint in robot.joints
        for term, value in (("viscous", 0.5), ("coulomb", 0.3))
    }
    tau = robot.torque(q, dq, ddq, [prior[name] for name in robot.parameter_names])
    return np.column_stack([t, q, dq, tau + 0.02 * rng.standard_normal(tau.shape)])
