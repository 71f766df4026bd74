"""What a recording of a robot holds for viewers."""

from __future__ import annotations

import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.daq.record import LinkFrames, Viewer
from heft.drivers.errors import HeftError
from heft.identify.robot import Robot
from heft.identify.robot.drawing import base_name, drawing_frames, urdf_text

__all__ = ["viewer_of", "viewer_of_config"]


def viewer_of_config(config: RobotConfig, *, copies: bool = True) -> Viewer:
    """The same for a robot's file; the robot is left out where it cannot be read."""
    try:
        return viewer_of(Robot.from_config(config) if copies else None, copies=copies)
    except HeftError:  # whoever needs the model says so
        return Viewer(copies)


def viewer_of(robot: Robot | None, *, copies: bool = True, most_hz: float | None = None) -> Viewer:
    """Copies of the streams for viewers, and the robot, drawn; nothing at all without `copies`."""
    if robot is None or not copies:
        return Viewer(copies, most_hz)
    tree = robot.tree
    names = (base_name(robot), *robot.links)
    frames = LinkFrames(
        joints=robot.joints,
        parents=tuple(names[int(parent) + 1] for parent in tree.parents),
        children=robot.links[: len(robot.joints)],
        placement=drawing_frames(tree),
        axis=np.asarray(tree.axis),
        prismatic=np.asarray(tree.prismatic),
    )
    return Viewer(copies, most_hz, urdf_text(robot), frames)
