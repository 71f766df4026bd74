"""How the wrist sensor moves: its frame's motion from the joints' motion, for many samples at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.payload.kinematics.robot_frames import frame_on_link
from heft.identify.robot import Robot

__all__ = ["WristMotion", "frame_motion", "wrist_motion"]


@dataclass(frozen=True)
class WristMotion:
    """T samples of the motion of a frame, in its own coordinates.

    rotation              of the frame, to the world, shape (T, 3, 3)
    angular_velocity      [rad/s], shape (T, 3)
    angular_acceleration  [rad/s2], shape (T, 3)
    linear_acceleration   of the frame's origin [m/s2], without gravity, shape (T, 3)
    """

    rotation: Array
    angular_velocity: Array
    angular_acceleration: Array
    linear_acceleration: Array

    def part(self, rows: slice) -> WristMotion:
        """Some of the samples."""
        return WristMotion(*(getattr(self, field.name)[rows] for field in fields(self)))


def frame_motion(
    robot: Robot, frame: Literal["sensor", "flange"], q: Array, dq: Array, ddq: Array
) -> tuple[Array, Array, Array]:
    """Angular velocity, angular acceleration and the origin's acceleration less gravity of a frame, in its own
    coordinates, each (3, T), from the joints' positions, velocities and accelerations (n, T).

    From the link that the frame is fixed to: p'' = a + w' x r + w (w . r) - r |w|^2 at r in the link's frame.
    """
    link, place = frame_on_link(robot, frame)
    motion = robot.regressor.link_motion(robot.links.index(link), q, dq, ddq)
    turn, reach = place[:3, :3].T, place[:3, 3]
    w, dw, a = motion[:3], motion[3:6], motion[6:]
    a = a + np.cross(dw, reach, axis=0, axisb=0) + w * (reach @ w) - reach[:, None] * (w * w).sum(axis=0)
    return turn @ w, turn @ dw, turn @ a


def wrist_motion(
    robot: Robot, q: Array, dq: Array, ddq: Array, frame: Literal["sensor", "flange"] = "sensor"
) -> WristMotion:
    """Motion of the robot's `sensor` or `flange` frame from its joints' positions, velocities, accelerations (T, n)."""
    link, place = frame_on_link(robot, frame)
    w, dw, a = (np.ascontiguousarray(one.T) for one in frame_motion(robot, frame, q.T, dq.T, ddq.T))
    rotation = robot.regressor.link_rotation(robot.links.index(link), q.T) @ place[:3, :3]
    return WristMotion(rotation, w, dw, a + robot.gravity @ rotation)
