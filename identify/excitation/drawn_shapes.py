"""An arm as something to draw: its joints, and the solids of its links as boxes, capsules, cylinders, balls, meshes."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.identify.bodies.arrays import Array
from heft.identify.excitation.shapes import link_shapes
from heft.identify.robot import Robot
from heft.identify.robot.drawing import drawing_frames

__all__ = ["drawn_arm", "flange_path"]

DIGITS = 5  # of a coordinate [m]: a hundredth of a millimetre


def drawn_arm(config: RobotConfig | None, robot: Robot) -> dict[str, Any]:
    """Joints and shapes as plain JSON values; poses are rows of a 4 x 4 matrix.

    A joint's `place` is its pose at zero in the frame of its parent (-1: the base), a shape's that in the moved frame
    of its joint. `flange` is the pose of the flange, or of the last link, in the frame of its joint.
    """
    tree = robot.tree
    shapes = []
    for link, shape in link_shapes(config, robot):
        solid = _solid(shape.geometry, np.asarray(shape.meshScale).ravel())
        if solid is not None:
            joint = robot.links.index(link)
            shapes.append({"joint": joint, "place": _rows(shape.placement.homogeneous), **solid})
    joint, place = _flange(robot)
    return {
        "name": robot.name,
        "joints": [
            {
                "name": name,
                "link": robot.links[i],
                "parent": int(tree.parents[i]),
                "place": _rows(pose),
                "axis": [round(float(v), DIGITS) for v in tree.axis[i]],
                "prismatic": bool(tree.prismatic[i]),
            }
            for i, (name, pose) in enumerate(zip(robot.joints, drawing_frames(tree), strict=True))
        ],
        "shapes": shapes,
        "flange": {"joint": joint, "place": _rows(place)},
        "gravity": [float(v) for v in robot.gravity],
    }


def flange_path(robot: Robot, positions: Array) -> list[list[float]]:
    """Where the flange is [m] at each of the joint positions (T, n), in the frame of the base; (T, 3) as lists."""
    joint, place = _flange(robot)
    in_link = np.linalg.inv(robot.tree.link_in_joint[joint]) @ place
    return [
        [round(float(v), 4) for v in (robot.tree.poses(position)[joint] @ in_link)[:3, 3]]
        for position in positions
    ]


def _flange(robot: Robot) -> tuple[int, Array]:
    """The joint that carries the flange, and its pose in the joint's moved frame."""
    if robot.flange is None:
        last = len(robot.links) - 1
        return last, np.asarray(robot.tree.link_in_joint[last])
    link, place = robot.frames[robot.flange]
    joint = robot.links.index(link)
    return joint, np.asarray(robot.tree.link_in_joint[joint] @ place)


def _solid(geometry: Any, scale: Array) -> dict[str, Any] | None:
    """Kind and size [m] of a shape; None of one that cannot be drawn."""
    if isinstance(geometry, coal.Box):
        return {"kind": "box", "size": _numbers(2 * np.asarray(geometry.halfSide).ravel() * scale)}
    if isinstance(geometry, coal.Sphere):
        return {"kind": "sphere", "size": _numbers([geometry.radius])}
    if isinstance(geometry, coal.Ellipsoid):
        return {"kind": "ellipsoid", "size": _numbers(np.asarray(geometry.radii).ravel())}
    if isinstance(geometry, coal.Capsule):
        return {"kind": "capsule", "size": _numbers([geometry.radius, 2 * geometry.halfLength])}
    if isinstance(geometry, coal.Cylinder):
        return {"kind": "cylinder", "size": _numbers([geometry.radius, 2 * geometry.halfLength])}
    if isinstance(geometry, coal.Convex):
        points = np.array([geometry.point(i) for i in range(geometry.num_points)]) * scale
        faces = [[int(geometry.polygons(i)[k]) for k in range(3)] for i in range(geometry.num_polygons)]
        return {"kind": "mesh", "points": [_numbers(point) for point in points], "faces": faces}
    return None


def _rows(pose: Array) -> list[float]:
    return [round(float(v), 6) for v in np.asarray(pose)[:3].ravel()]


def _numbers(values: Any) -> list[float]:
    return [round(float(v), DIGITS) for v in values]
