"""The arm that a page draws, as JSON; nothing where the robot's model cannot be read."""

from __future__ import annotations

from typing import Any

from heft.daq.config.robot import RobotConfig
from heft.drivers.errors import HeftError
from heft.identify.excitation.drawn_shapes import drawn_arm
from heft.identify.robot import Robot

__all__ = ["arm_of_config", "arm_of_robot", "robot_of_config"]


def robot_of_config(config: RobotConfig) -> Robot | None:
    """The robot of a file; None where it cannot be read by identification."""
    try:
        return Robot.from_config(config)
    except HeftError:
        return None


def arm_of_config(config: RobotConfig) -> dict[str, Any] | None:
    """The arm of a robot's file, with the shapes of its model."""
    try:
        return drawn_arm(config, Robot.from_config(config))
    except HeftError:
        return None


def arm_of_robot(robot: Robot) -> dict[str, Any]:
    """The arm of a robot whose file is not at hand: capsules along its links."""
    return drawn_arm(None, robot)
