"""How the wrist sensor moves: its frame's motion from the joints' motion, for many samples at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from identify.arrays import Array
from identify.errors import ModelError
from identify.robot import Robot

__all__ = ["WristMotion", "sensor_in_flange", "wrist_motion"]


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


def wrist_motion(
    robot: Robot, q: Array, dq: Array, ddq: Array, frame: Literal["sensor", "flange"] = "sensor"
) -> WristMotion:
    """Motion of the robot's `sensor` or `flange` frame from its joints' positions, velocities and accelerations (T, n).

    Velocities and accelerations are carried from link to link in the links' own frames (Featherstone's recursion);
    the last step adds w x v, which turns the spatial acceleration into that of the origin.
    """
    link, place = _frame(robot, frame)
    tree, count = robot.tree, len(q)
    world = np.broadcast_to(np.eye(3), (count, 3, 3))
    w, v, dw, a = (np.zeros((count, 3)) for _ in range(4))
    for i in tree.support(robot.links.index(link)):
        k, screw = tree.coefficients[i], tree.screws[i]
        c = q[:, i] if tree.prismatic[i] else np.cos(q[:, i])
        s = np.zeros(count) if tree.prismatic[i] else np.sin(q[:, i])
        flat = k[0] + c[:, None] * k[1] + s[:, None] * k[2]
        R = flat[:, :9].reshape(-1, 3, 3)
        world = world @ R
        w, v, dw, a = _carried(R, flat[:, 9:], w, v, dw, a)
        rate, push = dq[:, i, None], ddq[:, i, None]
        turn, slide = screw[:3] * rate, screw[3:] * rate
        w, v = w + turn, v + slide
        dw = dw + screw[:3] * push + np.cross(w, turn)
        a = a + screw[3:] * push + np.cross(w, slide) + np.cross(v, turn)
    R = np.broadcast_to(place[:3, :3], (count, 3, 3))
    w, v, dw, a = _carried(R, np.broadcast_to(place[:3, 3], (count, 3)), w, v, dw, a)
    return WristMotion(world @ R, w, dw, a + np.cross(w, v))


def sensor_in_flange(robot: Robot) -> tuple[Array, Array]:
    """Rotation (3, 3) and position [m] (3,) of the sensor's frame in the flange's."""
    (sensor_link, sensor), (flange_link, flange) = _frame(robot, "sensor"), _frame(robot, "flange")
    if sensor_link != flange_link:
        raise ModelError(
            f"{robot.name}: the sensor is on {sensor_link} and the flange on {flange_link}; a payload is told in "
            "the flange's frame, so both must be on one link"
        )
    relative = np.linalg.inv(flange) @ sensor
    return relative[:3, :3], relative[:3, 3]


def _carried(
    R: Array, p: Array, w: Array, v: Array, dw: Array, a: Array
) -> tuple[Array, Array, Array, Array]:
    """Spatial velocity and acceleration in a frame that stands at `p`, turned by `R`, in the present one."""
    back = np.swapaxes(R, 1, 2)
    shifted = v + np.cross(w, p), a + np.cross(dw, p)
    turned = [np.einsum("tij,tj->ti", back, x) for x in (w, shifted[0], dw, shifted[1])]
    return turned[0], turned[1], turned[2], turned[3]


def _frame(robot: Robot, role: str) -> tuple[str, Array]:
    name = getattr(robot, role)
    if name is None:
        raise ModelError(f"{robot.name}: its file names no `{role}`; payloads need `sensor` and `flange`")
    return robot.frames[name]
