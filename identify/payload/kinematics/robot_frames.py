"""Where the wrist sensor, the flange and the last link stand against each other."""

from __future__ import annotations

from typing import Literal

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot import Robot

__all__ = ["flange_on_last_link", "frame_on_link", "link_in_flange", "load_link", "sensor_in_flange"]


def frame_on_link(robot: Robot, role: Literal["sensor", "flange"]) -> tuple[str, Array]:
    """The link that a frame is fixed to, and its pose in that link's frame, shape (4, 4)."""
    name = getattr(robot, role)
    if name is None:
        raise ModelError(f"{robot.name}: its file names no `{role}`; add it")
    if robot.tree.free:
        raise ModelError(
            f"{robot.name}: its base moves freely, and pick-ups are weighed on arms whose base stands still; weigh "
            "what it carries throughout a recording (heft payload FILE --result RESULT.json --all)"
        )
    return robot.frames[name]


def load_link(robot: Robot) -> tuple[str, Array | None]:
    """The link that a load hangs on, and the flange's pose in its frame, shape (4, 4); the last link and None where
    the robot has no flange.
    """
    if robot.flange is None:
        return robot.links[len(robot.joints) - 1], None
    link, pose = robot.frames[robot.flange]
    if any(part.link >= 0 and robot.links[part.link] == link for part in robot.parts):
        raise ModelError(
            f"{robot.name}: a sensor splits {link}, which its flange {robot.flange} is on; name a flange on a link "
            "that none splits"
        )
    return link, pose


def flange_on_last_link(robot: Robot) -> tuple[str, Array]:
    """The last link, and the flange's pose in its frame, shape (4, 4)."""
    link, pose = frame_on_link(robot, "flange")
    last = robot.links[len(robot.joints) - 1]
    if link != last:
        raise ModelError(f"{robot.name}: the flange is on {link}, not on the last link {last}")
    return link, pose


def link_in_flange(robot: Robot) -> tuple[Array, Array]:
    """Rotation (3, 3) and position [m] (3,) of the last link's frame in the flange's."""
    _, pose = flange_on_last_link(robot)
    R = pose[:3, :3]
    return R.T, -R.T @ pose[:3, 3]


def sensor_in_flange(robot: Robot) -> tuple[Array, Array]:
    """Rotation (3, 3) and position [m] (3,) of the sensor's frame in the flange's."""
    (sensor_link, sensor), (flange_link, flange) = (
        frame_on_link(robot, "sensor"),
        frame_on_link(robot, "flange"),
    )
    if sensor_link != flange_link:
        raise ModelError(
            f"{robot.name}: the sensor is on {sensor_link} and the flange on {flange_link}; a payload is told in "
            "the flange's frame, so both must be on one link"
        )
    relative = np.linalg.inv(flange) @ sensor
    return relative[:3, :3], relative[:3, 3]
