"""What is doubtful about a robot's file, told before anything moves."""

from __future__ import annotations

import sys

from heft.daq.config.robot import RobotConfig

__all__ = ["tell_doubts"]


def tell_doubts(robot: RobotConfig, command: str) -> None:
    """Lines on standard error about limits beyond the model's; `ConfigError` where they must be of another unit."""
    from heft.identify.robot.limit_check import check_limits  # heavy imports

    for doubt in check_limits(robot):
        sys.stderr.write(f"{command}: {doubt}\n")
