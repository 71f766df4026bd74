"""Typed configuration: robots, rigs and sessions, read once at the edge."""

from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.config.robot import RobotConfig, load_robot
from heft.daq.config.session import SessionConfig, load_session

__all__ = ["RigConfig", "RobotConfig", "SessionConfig", "load_rig", "load_robot", "load_session"]
