"""The check of torques, which only identification can make: what a motion needs, by the robot's own model."""

from __future__ import annotations

import sys

import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.daq.errors import CheckError, Violation
from heft.daq.trajectory.checks import Check
from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.errors import HeftError

__all__ = ["torque_checks"]


def torque_checks(config: RobotConfig) -> list[Check]:
    """That no joint needs more than its torque limit; nothing where the model's masses are not known.

    Torques are those of the bare arm as the robot's file knows it.
    """
    from heft.identify.robot import Robot

    try:
        robot = Robot.from_config(config)
    except HeftError as exc:
        sys.stderr.write(f"heft: torques are not checked beforehand: {exc}\n")
        return []
    if robot.prior is None:
        return []
    prior, bound = robot.prior, np.array([joint.torque for joint in config.joints.values()])

    def torque(trajectory: Trajectory) -> None:
        needed = robot.torque(trajectory.position, trajectory.velocity, trajectory.acceleration, prior)
        excess = np.abs(needed) - bound
        violations, lines = [], []
        for k in np.flatnonzero(excess.max(axis=0) > 0.0):
            i = int(excess[:, k].argmax())
            worst = Violation(
                trajectory.axes[k],
                "torque",
                float(trajectory.time_s[i]),
                float(needed[i, k]),
                float(np.copysign(bound[k], needed[i, k])),
            )
            violations.append(worst)
            lines.append(
                f"{worst.joint}: torque {worst.value:.4g} N m at {worst.time_s:.3f} s, bound {worst.bound:.4g} N m; "
                "slow the motion, or choose postures that gravity pulls at less"
            )
        if lines:
            raise CheckError("\n".join(lines), violations)

    still = np.zeros((1, len(bound)))
    robot.torque(still, still, still, prior)  # compiled now, not while the arm moves
    return [torque]
